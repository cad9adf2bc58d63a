//! What both sides had when they were last the same, as a file in the directory, and the lock that keeps a second
//! sync out. Knows the folder of its own in the directory; decides nothing.
//!
//! `.haversack-sync/manifest.json` is written whole: a temporary file, synced, renamed. It may lag behind: what it does
//! not know is compared by content, and what it still has and neither side has is forgotten. Without it nothing is lost.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::decide::Last;
use crate::store::check::error;
use crate::store::{Error, ErrorCode};

/// The folder in the directory that is the sync's own.
pub const FOLDER: &str = ".haversack-sync";
/// In it, what must lie on this disk for a moment.
pub const PARTS: &str = ".haversack-sync/parts";
const FORMAT: u32 = 1;

/// Whose files these are, and in which store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub user: String,
    /// The store, spelled the same at every run.
    pub store: String,
}

/// A path as it was when both sides were last the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Known {
    pub here: String,
    pub there: String,
    /// SHA-256, in hexadecimal.
    pub digest: String,
    pub size_bytes: u64,
    /// Of the file here. None where it was so young that a change might not have moved it on.
    pub modified_ms: Option<u64>,
}

impl Known {
    pub fn last(&self) -> Last {
        Last {
            version_here: self.here.clone(),
            version_there: self.there.clone(),
            digest: self.digest.clone(),
        }
    }
}

/// The paths by their keys.
pub type Files = BTreeMap<String, Known>;

#[derive(Deserialize)]
struct Read {
    format: u32,
    user: String,
    store: String,
    files: Files,
}

#[derive(Serialize)]
struct Written<'m> {
    format: u32,
    user: &'m str,
    store: &'m str,
    files: &'m Files,
}

/// The folder of the sync's own, held against others as long as this lives.
pub struct State {
    folder: PathBuf,
    owner: Owner,
    _lock: Option<File>,
}

impl State {
    /// Take the directory for `owner`, and answer what is known of it. A second sync of it is refused, and so is
    /// another's manifest. What an earlier run left unfinished is removed.
    pub fn take(directory: &Path, owner: Owner) -> Result<(Self, Files), Error> {
        let folder = directory.join(FOLDER);
        let fail = |what: &str, cause| failed(what, &folder, &cause);
        match std::fs::create_dir(&folder) {
            Err(cause) if cause.kind() != ErrorKind::AlreadyExists => {
                return Err(fail("make", cause));
            }
            _ => {}
        }
        let found = std::fs::symlink_metadata(&folder).map_err(|cause| fail("look at", cause))?;
        if !found.is_dir() {
            let message = format!(
                "{} is not a directory; move it away, it is where a sync keeps what it knows",
                folder.display()
            );
            return Err(error(ErrorCode::Invalid, message));
        }
        let lock = File::create(folder.join("lock")).map_err(|cause| fail("lock", cause))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!(
                    "another sync is at work on {}; end that one first, or let it do the work",
                    directory.display()
                );
                return Err(error(ErrorCode::Unavailable, message));
            }
            Err(TryLockError::Error(cause)) => return Err(fail("lock", cause)),
        }
        // No other sync is here, so these are nobody's.
        let _ = std::fs::remove_dir_all(directory.join(PARTS));
        let files = read(&folder, &owner)?;
        let state = State {
            folder,
            owner,
            _lock: Some(lock),
        };
        Ok((state, files))
    }

    /// What is known of the directory, for who only looks: nothing is made and nobody is kept out.
    pub fn look(directory: &Path, owner: Owner) -> Result<(Self, Files), Error> {
        let folder = directory.join(FOLDER);
        let files = read(&folder, &owner)?;
        let state = State {
            folder,
            owner,
            _lock: None,
        };
        Ok((state, files))
    }

    /// Whether this one may write.
    pub fn is_held(&self) -> bool {
        self._lock.is_some()
    }

    /// Put the manifest in the place of the one before, durably.
    pub fn save(&self, files: &Files) -> Result<(), Error> {
        let written = Written {
            format: FORMAT,
            user: &self.owner.user,
            store: &self.owner.store,
            files,
        };
        let save = || -> std::io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
            let mut out = std::io::BufWriter::new(file.as_file_mut());
            serde_json::to_writer(&mut out, &written)?;
            out.write_all(b"\n")?;
            out.flush()?;
            drop(out);
            file.as_file().sync_all()?;
            file.persist(self.folder.join("manifest.json"))?;
            File::open(&self.folder)?.sync_all()
        };
        save().map_err(|cause| failed("write the manifest in", &self.folder, &cause))
    }
}

fn read(folder: &Path, owner: &Owner) -> Result<Files, Error> {
    let path = folder.join("manifest.json");
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(Files::new()),
        Err(cause) => return Err(failed("read", &path, &cause)),
    };
    let refuse = |why: String| {
        let message = format!(
            "{}: {why}; to begin anew remove it (both sides are then compared, and nothing is lost)",
            path.display()
        );
        Err(error(ErrorCode::Invalid, message))
    };
    // What a later version may have changed is not looked at before its number.
    let format = serde_json::from_slice::<serde_json::Value>(&bytes)
        .ok()
        .and_then(|json| json.get("format")?.as_u64());
    if format.is_some_and(|format| format > u64::from(FORMAT)) {
        return refuse(format!(
            "its format is newer than {FORMAT}, which this haversack knows; use the newer one"
        ));
    }
    let read: Read = match serde_json::from_slice(&bytes) {
        Ok(read) => read,
        Err(cause) => return refuse(format!("it is no manifest ({cause})")),
    };
    if read.format != FORMAT {
        return refuse(format!("it has format {}, which never was", read.format));
    }
    if read.user != owner.user {
        return refuse(format!(
            "this directory is that of {}, not of {}; give each user a directory of their own",
            read.user, owner.user
        ));
    }
    if read.store != owner.store {
        return refuse(format!(
            "this directory was kept the same with {}, not with {}; name that store",
            read.store, owner.store
        ));
    }
    Ok(read.files)
}

fn failed(what: &str, path: &Path, cause: &std::io::Error) -> Error {
    let code = match cause.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => ErrorCode::Denied,
        _ => ErrorCode::Other,
    };
    let message = format!(
        "cannot {what} {}: {cause}; a sync needs to write there",
        path.display()
    );
    error(code, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(user: &str, store: &str) -> Owner {
        Owner {
            user: user.to_owned(),
            store: store.to_owned(),
        }
    }

    fn refused(directory: &Path, owner: Owner, names: &[&str]) {
        let error = State::take(directory, owner).err().unwrap();
        assert_eq!(error.code, ErrorCode::Invalid);
        for name in names {
            assert!(error.message.contains(name), "{}", error.message);
        }
    }

    #[test]
    fn what_is_saved_is_there_again_for_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let known = Known {
            here: "1".to_owned(),
            there: "2".to_owned(),
            digest: "3".to_owned(),
            size_bytes: 4,
            modified_ms: None,
        };
        let files = Files::from([("workspace/a".to_owned(), known)]);
        let (state, found) = State::take(path, owner("a", "s")).unwrap();
        assert!(found.is_empty() && state.is_held());
        state.save(&files).unwrap();
        let second = State::take(path, owner("a", "s")).err().unwrap();
        assert_eq!(second.code, ErrorCode::Unavailable);
        assert_eq!(State::look(path, owner("a", "s")).unwrap().1, files);
        drop(state);
        assert_eq!(State::take(path, owner("a", "s")).unwrap().1, files);
        refused(path, owner("b", "s"), &["that of a, not of b"]);
        refused(path, owner("a", "t"), &["with s, not with t"]);
        let manifest = path.join(FOLDER).join("manifest.json");
        for (text, name) in [
            ("{\"format\":2}", "newer than 1"),
            ("{\"format\":0}", "no manifest"),
            ("", "no manifest"),
        ] {
            std::fs::write(&manifest, text).unwrap();
            refused(path, owner("a", "s"), &[name, "remove it"]);
        }
    }

    #[test]
    fn a_link_in_its_place_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let link = directory.path().join(FOLDER);
        std::os::unix::fs::symlink(elsewhere.path(), link).unwrap();
        refused(directory.path(), owner("a", "s"), &["not a directory"]);
    }
}
