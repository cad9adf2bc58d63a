//! A directory and a part of a store kept the same: every save is written through, everything is compared at the start
//! and from time to time, and what changed on both sides is kept in both versions. Prints nothing; knows no layout.
//!
//! The directory is a store too, a [`DiskStore`], so that both sides keep the same promises: whole or not at all, under
//! a condition, no link followed out. What both had when they were last the same is the [`manifest`]; what that means for
//! a path, [`decide`] says; [`settle`] does it, one path at a time, so that a kill at any moment is made good by the next
//! look. [`survey`] finds the paths to look at, [`feed`] hears of them, [`pending`] waits until they are quiet, and
//! [`order`] is the order in which all that happens.

mod beside;
mod decide;
mod event;
mod feed;
mod folders;
mod manifest;
mod order;
mod pending;
mod run;
mod settle;
mod survey;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;

pub use self::decide::{Decision, Last, Seen, Step, decide};
pub use self::event::{Event, Side, Summary};
pub use self::folders::{Folder, Folders};
pub use self::manifest::{FOLDER, Owner};
use self::manifest::{Files, State};
pub use self::run::run;
use crate::store::{BlobStore, DiskStore};
use crate::transfer::BUDGET_BYTES;

/// A file this much older than a look at it has got another time by any later change, on every file system.
const YOUNG_MS: u64 = 2_000;

/// What is kept the same.
pub struct Job {
    /// Made where it is missing.
    pub directory: PathBuf,
    /// The user's part of the store: keys of [`Job::folders`] are below it.
    pub store: Arc<dyn BlobStore>,
    pub folders: Folders,
    pub owner: Owner,
}

/// How.
#[derive(Clone, Debug)]
pub struct SyncOptions {
    /// Compare everything once, and end.
    pub once: bool,
    /// Say what would be done, and change nothing; it ends after that.
    pub dry_run: bool,
    /// Time between two looks at everything.
    pub every: Duration,
    /// Look at the directory so often, in the place of listening to the operating system.
    pub poll: Option<Duration>,
    /// Look into every file here, also where size and time are as they were.
    pub checksum: bool,
    /// After this time a sync that was told to stop ends with what is left undone.
    pub stop_within: Duration,
    /// Paths under way at the same time, at least 1.
    pub at_once: usize,
}

impl Default for SyncOptions {
    /// For ever; everything each 5 minutes; 30 s to stop; 16 paths.
    fn default() -> Self {
        SyncOptions {
            once: false,
            dry_run: false,
            every: Duration::from_secs(300),
            poll: None,
            checksum: false,
            stop_within: Duration::from_secs(30),
            at_once: 16,
        }
    }
}

/// The two sides, and what is known of both.
struct Sides<'a> {
    directory: PathBuf,
    here: &'a DiskStore,
    there: &'a dyn BlobStore,
    folders: Folders,
    options: SyncOptions,
    key_bytes_max: usize,
    tell: &'a (dyn Fn(Event) + Sync),
    /// Memory for the bytes under way, in KiB, because a semaphore counts in 32 bits.
    budget: Semaphore,
    state: State,
    files: Mutex<Files>,
    /// The files changed since they were saved.
    unsaved: AtomicBool,
    /// What was said of a path, so that it is not said again.
    said: Mutex<BTreeMap<(Side, String), String>>,
}

impl Sides<'_> {
    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change_files(&self, change: impl FnOnce(&mut Files)) {
        change(&mut self.files());
        self.unsaved.store(true, Ordering::Release);
    }

    /// Whether this was not said of the path last.
    fn is_new(&self, side: Side, path: &str, what: &str) -> bool {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let before = said.insert((side, path.to_owned()), what.to_owned());
        before.as_deref() != Some(what)
    }

    /// Nothing is wrong with the path any more.
    fn is_well(&self, path: &str) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.remove(&(Side::Here, path.to_owned()));
    }
}

/// The time of a file's last change, where a later change is sure to have another.
fn at_rest(modified_ms: u64, now_ms: u64) -> Option<u64> {
    (modified_ms.saturating_add(YOUNG_MS) <= now_ms).then_some(modified_ms)
}

/// Milliseconds since the Unix epoch.
fn now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

fn budget() -> Semaphore {
    Semaphore::new((BUDGET_BYTES >> 10) as usize)
}

#[cfg(test)]
mod tests {
    use super::at_rest;

    #[test]
    fn a_young_file_is_looked_at_again() {
        assert_eq!(at_rest(1_000, 2_999), None);
        assert_eq!(at_rest(1_000, 3_000), Some(1_000));
        assert_eq!(at_rest(5_000, 1_000), None);
        assert_eq!(at_rest(u64::MAX, 1_000), None);
    }
}
