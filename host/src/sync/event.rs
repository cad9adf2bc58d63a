//! What a sync tells while it runs, and how it ended. As JSON each is one object.

use serde::Serialize;

use super::decide::Step;
use crate::store::Error;

/// The directory, or the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    Here,
    There,
}

/// What happens, in the order in which it does.
#[derive(Clone, Debug, Serialize)]
#[serde(
    tag = "event",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case"
)]
pub enum Event {
    /// So many more paths are to be looked at.
    Found { paths: u64 },
    /// Bytes were written, on one side or the other.
    Bytes { bytes: u64 },
    /// A path is settled; in a dry run, would be.
    Settled {
        key: String,
        step: Step,
        why: &'static str,
        size_bytes: u64,
        /// What was here, and is kept beside.
        kept_as: Option<String>,
    },
    /// Something that is no file or has no possible name: it is passed over.
    Skipped {
        side: Side,
        path: String,
        cause: String,
    },
    /// It did not work; both sides are as they were.
    Failed { key: String, message: String },
    /// Everything was compared and nothing is left to do: from here on changes are waited for.
    AtRest { files: u64 },
    /// The sync was told to stop, and looks whether something is left.
    Stopping,
}

/// How a sync ended. What happened to which path is told by events.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub uploaded: u64,
    pub downloaded: u64,
    pub deleted_there: u64,
    pub deleted_here: u64,
    pub conflicts: u64,
    /// Found the same without having been known to be.
    pub recorded: u64,
    /// Bytes written on either side.
    pub bytes: u64,
    /// Files that are the same on both sides now.
    pub files: u64,
    pub skipped: u64,
    /// What did not work at its last try, by key.
    pub failed: Vec<(String, Error)>,
    /// Paths that there was no time for.
    pub left: u64,
}

impl Summary {
    pub(super) fn note(&mut self, step: Step, size_bytes: u64) {
        match step {
            Step::Upload => self.uploaded += 1,
            Step::Download => self.downloaded += 1,
            Step::DeleteThere => self.deleted_there += 1,
            Step::DeleteHere => self.deleted_here += 1,
            Step::Conflict => self.conflicts += 1,
            Step::Record => self.recorded += 1,
            Step::Nothing | Step::Look { .. } | Step::Forget => {}
        }
        if matches!(step, Step::Upload | Step::Download | Step::Conflict) {
            self.bytes += size_bytes;
        }
    }
}

impl Serialize for Step {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Step {
    /// In one word or two.
    pub fn name(self) -> &'static str {
        match self {
            Step::Nothing => "nothing",
            Step::Look { .. } => "look",
            Step::Record => "record",
            Step::Forget => "forget",
            Step::Upload => "upload",
            Step::Download => "download",
            Step::DeleteThere => "delete-there",
            Step::DeleteHere => "delete-here",
            Step::Conflict => "conflict",
        }
    }
}
