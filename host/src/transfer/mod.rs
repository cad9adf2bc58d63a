//! Copying what lies in one store into another: what is equal is passed over, what is there and different
//! is kept unless told otherwise, what was written is read back. Prints nothing; knows no command line.
//!
//! Every object is settled by itself, so that a copy that was stopped goes on when it is run again.

mod compare;
mod object;
pub(crate) mod read;
pub(crate) mod write;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Semaphore;

pub use self::compare::Difference;
use crate::store::check::{self, error};
use crate::store::key::{key_problem, shown};
use crate::store::{
    Answer, BlobStore, Entry, Error, ErrorCode, ListRequest, Listing, Request, Skipped,
};

/// Memory that the bytes under way may take.
pub const BUDGET_BYTES: u64 = 128 << 20;
/// Objects of up to this size are replaced in one step with the check of what they replace.
pub const ONE_STEP_BYTES_MAX: u64 = check::CONCAT_CONDITION_BYTES_MAX;

/// What is to be copied, and how.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// Only keys below this one; none means all.
    pub prefix: Option<String>,
    /// Exactly these, in the place of what the source lists.
    pub only: Option<Vec<Entry>>,
    /// Write over objects that are there and differ.
    pub replace: bool,
    /// Find out what would be done, and write nothing.
    pub dry_run: bool,
    /// Objects under way at the same time, at least 1; large ones are fewer, by [`BUDGET_BYTES`].
    pub objects_at_once: usize,
}

impl Default for CopyOptions {
    fn default() -> Self {
        CopyOptions {
            prefix: None,
            only: None,
            replace: false,
            dry_run: false,
            objects_at_once: 64,
        }
    }
}

/// What became of one object; in a dry run, what would.
#[derive(Clone, Debug)]
pub enum Outcome {
    Copied,
    /// Written over another object; `in_one_step` with the check that it was still the one looked at.
    Replaced {
        in_one_step: bool,
    },
    Equal,
    /// Another object lies there, and was kept.
    Different(Difference),
    /// Deleted between being listed and being read.
    Gone,
    Failed(Error),
}

/// What happens during a copy, in the order in which it does.
pub enum Event<'a> {
    /// So much more was found in the source.
    Listed { objects: u64, bytes: u64 },
    /// So many more of the listed bytes are settled.
    Bytes(u64),
    /// An object is settled.
    Settled {
        key: &'a str,
        size_bytes: u64,
        outcome: &'a Outcome,
    },
    /// Something in the source is no object, or could not be listed.
    Skipped(&'a Skipped),
}

/// Objects, and their bytes as they were listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub objects: u64,
    pub bytes: u64,
}

/// How a copy ended. What happened to which key is told by events.
#[derive(Debug, Default)]
pub struct Summary {
    pub copied: Count,
    pub replaced: Count,
    pub equal: Count,
    pub different: Count,
    pub failed: Count,
    /// Deleted from the source meanwhile.
    pub gone: Count,
    /// Things in the source that are no objects, or could not be listed.
    pub skipped: u64,
    /// The first failure of an object.
    pub first_failure: Option<Error>,
    /// Why the rest of the source is not known.
    pub unlisted: Option<Error>,
}

impl Summary {
    /// Everything that was found in the source.
    pub fn looked_at(&self) -> u64 {
        let settled = [
            self.copied,
            self.replaced,
            self.equal,
            self.different,
            self.failed,
            self.gone,
        ];
        let objects: u64 = settled.iter().map(|count| count.objects).sum();
        objects + self.skipped
    }

    fn note(&mut self, size_bytes: u64, outcome: &Outcome) {
        let count = match outcome {
            Outcome::Copied => &mut self.copied,
            Outcome::Replaced { .. } => &mut self.replaced,
            Outcome::Equal => &mut self.equal,
            Outcome::Different(_) => &mut self.different,
            Outcome::Gone => &mut self.gone,
            Outcome::Failed(error) => {
                self.first_failure.get_or_insert_with(|| error.clone());
                &mut self.failed
            }
        };
        count.objects += 1;
        count.bytes += size_bytes;
    }
}

/// A copy under way.
struct Transfer<'a> {
    from: &'a dyn BlobStore,
    to: &'a dyn BlobStore,
    options: &'a CopyOptions,
    tell: &'a (dyn Fn(Event<'_>) + Sync),
    /// Both stores are of one kind, so that their versions may mean the same.
    same_kind: bool,
    /// In KiB, because a semaphore counts in 32 bits.
    budget: Semaphore,
}

/// Copy from one store to another and `tell` what happens. The two must not be the same store, nor one
/// a part of the other: a copy would then meet its own output.
///
/// An error before anything is done: options that cannot be. What goes wrong later is in the summary.
pub async fn copy(
    from: &dyn BlobStore,
    to: &dyn BlobStore,
    options: &CopyOptions,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Summary, Error> {
    let prefix = match options.prefix.as_deref() {
        None => String::new(),
        Some(prefix) => folder(prefix)?,
    };
    let transfer = Transfer {
        from,
        to,
        options,
        tell,
        same_kind: kind(from) == kind(to),
        budget: Semaphore::new((BUDGET_BYTES >> 10) as usize),
    };
    let mut summary = Summary::default();
    let mut running = FuturesUnordered::new();
    let mut request = ListRequest {
        prefix,
        delimiter: false,
        start_after: None,
        cursor: None,
        limit: None,
    };
    loop {
        let page = match page(from, &request, options).await {
            Ok(page) => page,
            Err(error) => {
                summary.unlisted = Some(error);
                break;
            }
        };
        tell(Event::Listed {
            objects: page.entries.len() as u64,
            bytes: page.entries.iter().map(|entry| entry.size_bytes).sum(),
        });
        for skipped in &page.skipped {
            summary.skipped += 1;
            tell(Event::Skipped(skipped));
        }
        for entry in page.entries {
            while running.len() >= options.objects_at_once.max(1) {
                if let Some((size_bytes, outcome)) = running.next().await {
                    summary.note(size_bytes, &outcome);
                }
            }
            running.push(transfer.settle(entry));
        }
        match page.cursor {
            Some(cursor) => request.cursor = Some(cursor),
            None => break,
        }
    }
    while let Some((size_bytes, outcome)) = running.next().await {
        summary.note(size_bytes, &outcome);
    }
    Ok(summary)
}

/// A prefix ends at a slash: `a` means what lies below `a/`.
fn folder(prefix: &str) -> Result<String, Error> {
    let name = prefix.strip_suffix('/').unwrap_or(prefix);
    match key_problem(name) {
        None => Ok(format!("{name}/")),
        Some((code, rule)) => Err(error(code, format!("the prefix {}: {rule}", shown(name)))),
    }
}

fn kind(store: &dyn BlobStore) -> Option<String> {
    let mut described = store.describe().into_iter();
    described.find_map(|(name, value)| (name == "kind").then_some(value))
}

/// What is named, else a page of what the source lists.
async fn page(
    store: &dyn BlobStore,
    request: &ListRequest,
    options: &CopyOptions,
) -> Result<Listing, Error> {
    if let Some(only) = &options.only {
        return Ok(Listing {
            entries: only.clone(),
            prefixes: Vec::new(),
            skipped: Vec::new(),
            cursor: None,
        });
    }
    match store.read(vec![Request::List(request.clone())]).await.pop() {
        Some(Ok(Answer::Listing(listing))) => Ok(listing),
        Some(Err(error)) => Err(error),
        _ => Err(read::unanswered("a list")),
    }
}

/// The same object was written by somebody else, or read while it was.
fn unsettled(key: &str, what: &str) -> Error {
    error(
        ErrorCode::Conflict,
        format!("key {}: {what}; copy again when it is at rest", shown(key)),
    )
}
