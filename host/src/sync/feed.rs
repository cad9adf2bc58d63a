//! What the operating system tells of changes in the directory, as keys. Knows `notify`; what becomes of a change is
//! not its business.
//!
//! Where something may have been missed it says so, and everything is to be looked at.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use notify::event::{AccessKind, AccessMode, MetadataKind, ModifyKind};
use notify::{Config, ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::folders::Folders;
use crate::store::check::error;
use crate::store::{Error, ErrorCode};

/// Changes that wait to be heard; after these everything is looked at.
const CHANGES_MAX: usize = 16_384;

/// What happened.
#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    /// Something at this key, or below it.
    At(String),
    /// Nobody knows where.
    Anywhere,
}

/// The directory's folders, watched.
pub struct Feed {
    root: PathBuf,
    folders: Folders,
    watcher: RecommendedWatcher,
    changes: Receiver<PathBuf>,
    missed: Arc<AtomicBool>,
    /// The folders by their places, as device and inode: one that was replaced is watched anew.
    watched: BTreeMap<String, (u64, u64)>,
}

impl Feed {
    /// `root` is the directory without links. Watches nothing yet.
    pub fn new(root: PathBuf, folders: Folders) -> Result<Self, Error> {
        let (sender, changes) = channel(CHANGES_MAX);
        let missed = Arc::new(AtomicBool::new(false));
        let hears = Arc::clone(&missed);
        let hear = move |told: notify::Result<notify::Event>| heard(told, &sender, &hears);
        let config = Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(hear, config);
        Ok(Feed {
            watcher: watcher.map_err(|cause| not_watched(&root, &cause))?,
            root,
            folders,
            changes,
            missed,
            watched: BTreeMap::new(),
        })
    }

    /// Watch the folders that are there and not watched yet.
    pub fn watch(&mut self) -> Result<(), Error> {
        for folder in &self.folders.0 {
            let path = self.root.join(&folder.place);
            let Ok(found) = std::fs::symlink_metadata(&path) else {
                continue;
            };
            let identity = (found.dev(), found.ino());
            if !found.is_dir() || self.watched.get(&folder.place) == Some(&identity) {
                continue;
            }
            if self.watched.remove(&folder.place).is_some() {
                // It may have gone with the folder.
                let _ = self.watcher.unwatch(&path);
            }
            match self.watcher.watch(&path, RecursiveMode::Recursive) {
                Ok(()) => {
                    self.watched.insert(folder.place.clone(), identity);
                }
                // Deleted since: as if it had not been there.
                Err(_) if std::fs::symlink_metadata(&path).is_err() => {}
                Err(cause) => return Err(not_watched(&path, &cause)),
            }
        }
        Ok(())
    }

    /// The next change. Waits for one.
    pub async fn next(&mut self) -> Change {
        loop {
            let path = self.changes.recv().await;
            if self.missed.swap(false, Ordering::AcqRel) {
                // What waits is found anyway.
                while self.changes.try_recv().is_ok() {}
                return Change::Anywhere;
            }
            let Some(path) = path else {
                // The watcher has ended, which it does not do; the interval goes on without it.
                return std::future::pending().await;
            };
            if let Some(change) = change(&self.root, &self.folders, &path) {
                return change;
            }
        }
    }
}

/// On the watcher's own thread.
fn heard(told: notify::Result<notify::Event>, sender: &Sender<PathBuf>, missed: &AtomicBool) {
    let paths = match told {
        Ok(event) if event.need_rescan() => Vec::new(),
        Ok(event) if !says_something(&event.kind) => return,
        Ok(event) => event.paths,
        Err(_) => Vec::new(),
    };
    if paths.is_empty() {
        missed.store(true, Ordering::Release);
        // Full means that somebody is woken already.
        let _ = sender.try_send(PathBuf::new());
    }
    for path in paths {
        if sender.try_send(path).is_err() {
            missed.store(true, Ordering::Release);
        }
    }
}

/// Reading a file is not a change; without this, looking at one would be one.
fn says_something(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        EventKind::Modify(ModifyKind::Metadata(MetadataKind::AccessTime)) => false,
        _ => true,
    }
}

fn change(root: &Path, folders: &Folders, path: &Path) -> Option<Change> {
    // A name that is not UTF-8 cannot be a key; the interval reports it.
    let here = path.strip_prefix(root).ok()?.to_str()?;
    if let Some(key) = folders.key(here) {
        return Some(Change::At(key));
    }
    // A folder itself, or what it lies in, was made, moved or removed.
    let above = format!("{here}/");
    let is_above = here.is_empty() || folders.0.iter().any(|it| it.place.starts_with(&above));
    is_above.then_some(Change::Anywhere)
}

fn not_watched(path: &Path, cause: &notify::Error) -> Error {
    let is_full = match &cause.kind {
        ErrorKind::MaxFilesWatch => true,
        // No space for another watch, and no other instance.
        ErrorKind::Io(io) => matches!(io.raw_os_error(), Some(28 | 24)),
        _ => false,
    };
    let way_out = match is_full {
        true => {
            "the system's limit is reached; raise fs.inotify.max_user_watches and max_user_instances \
             (`sysctl`), or use --poll 5s"
        }
        false => "use --poll 5s, which looks instead of listening",
    };
    let (path, cause) = (path.display(), shown(&cause.kind));
    let message = format!("cannot watch {path}: {cause}; {way_out}");
    error(ErrorCode::Unavailable, message)
}

/// Without the paths, which the message names already.
fn shown(kind: &ErrorKind) -> String {
    match kind {
        ErrorKind::Io(cause) => cause.to_string(),
        ErrorKind::Generic(text) => text.clone(),
        ErrorKind::PathNotFound => "it is not there".to_owned(),
        kind => format!("{kind:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::folders::Folder;
    use super::*;
    use notify::event::{CreateKind, Flag};

    fn folders() -> Folders {
        Folders(vec![Folder {
            prefix: "workspace/".to_owned(),
            place: "root/clawd/workspace/".to_owned(),
        }])
    }

    #[test]
    fn paths_become_keys() {
        let of = |path: &str| change(Path::new("/d"), &folders(), Path::new(path));
        let at = |key: &str| Some(Change::At(key.to_owned()));
        assert_eq!(of("/d/root/clawd/workspace/a/b"), at("workspace/a/b"));
        assert_eq!(of("/d/root/clawd/workspace"), Some(Change::Anywhere));
        assert_eq!(of("/d/root/clawd"), Some(Change::Anywhere));
        assert_eq!(of("/d"), Some(Change::Anywhere));
        assert_eq!(of("/d/root/clawd/other"), None);
        assert_eq!(of("/d/.haversack-sync/manifest.json"), None);
        assert_eq!(of("/elsewhere"), None);
    }

    #[test]
    fn reading_is_no_change() {
        use AccessKind::*;
        assert!(!says_something(&EventKind::Access(Open(AccessMode::Any))));
        assert!(!says_something(&EventKind::Access(Close(AccessMode::Read))));
        assert!(says_something(&EventKind::Access(Close(AccessMode::Write))));
        assert!(says_something(&EventKind::Create(CreateKind::File)));
    }

    #[tokio::test]
    async fn what_was_missed_is_said() {
        let create = || notify::Event::new(EventKind::Create(CreateKind::File));
        let directory = tempfile::tempdir().unwrap();
        let mut feed = Feed::new(directory.path().to_owned(), folders()).unwrap();
        let (sender, changes) = channel(2);
        feed.changes = changes;
        let missed = Arc::clone(&feed.missed);
        let path = |name: &str| feed_path(directory.path(), name);
        // As many as there is room for, then one more.
        for name in ["a", "b"] {
            heard(Ok(create().add_path(path(name))), &sender, &missed);
        }
        assert_eq!(feed.next().await, Change::At("workspace/a".to_owned()));
        assert_eq!(feed.next().await, Change::At("workspace/b".to_owned()));
        for name in ["a", "b", "c"] {
            heard(Ok(create().add_path(path(name))), &sender, &missed);
        }
        assert_eq!(feed.next().await, Change::Anywhere);
        heard(Ok(create().add_path(path("d"))), &sender, &missed);
        assert_eq!(feed.next().await, Change::At("workspace/d".to_owned()));
        let overflow = notify::Event::new(EventKind::Other).set_flag(Flag::Rescan);
        heard(Ok(overflow), &sender, &missed);
        assert_eq!(feed.next().await, Change::Anywhere);
        heard(Err(notify::Error::generic("gone")), &sender, &missed);
        assert_eq!(feed.next().await, Change::Anywhere);
    }

    fn feed_path(root: &Path, name: &str) -> PathBuf {
        root.join("root/clawd/workspace").join(name)
    }
}
