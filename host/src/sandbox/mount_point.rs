//! A directory of the store that has to be there while something is bound on it, and is nothing afterwards. Several runs may
//! hold one at a time; the last one removes it. Knows directories only.

use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{self, AtFlags, CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

/// Held until dropped; then removed, where it is empty and nobody else holds it.
pub struct MountPoint {
    path: PathBuf,
    directory: OwnedFd,
}

impl MountPoint {
    /// None where something else than a directory lies, which a bind hides as well.
    pub fn hold(path: &Path) -> Result<Option<Self>, Errno> {
        loop {
            match fs::mkdir(path, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                // What it lies in is another run's, which removed it.
                Err(Errno::NOENT) => {
                    std::fs::create_dir_all(path.parent().unwrap_or(path))
                        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
                    continue;
                }
                Err(errno) => return Err(errno),
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let directory = match fs::open(path, flags, Mode::empty()) {
                Ok(directory) => directory,
                Err(Errno::NOENT) => continue,
                Err(Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                Err(errno) => return Err(errno),
            };
            // Mounts of buckets may have no locks: then a run may remove what another would like to see listed.
            let _ = fs::flock(&directory, FlockOperation::LockShared);
            if is_at(&directory, path) {
                let path = path.to_owned();
                return Ok(Some(Self { path, directory }));
            }
        }
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        let last = fs::flock(&self.directory, FlockOperation::NonBlockingLockExclusive);
        if last != Err(Errno::WOULDBLOCK) {
            // One that is not empty has become part of the store.
            let _ = fs::rmdir(&self.path);
        }
    }
}

/// Whether it still has its name: between opening and locking it may have been removed.
fn is_at(directory: &OwnedFd, path: &Path) -> bool {
    let named = fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW);
    match (fs::fstat(directory), named) {
        (Ok(open), Ok(named)) => (open.st_dev, open.st_ino) == (named.st_dev, named.st_ino),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_removes_it_and_only_when_it_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/usr");
        let first = MountPoint::hold(&path).unwrap().unwrap();
        let second = MountPoint::hold(&path).unwrap().unwrap();
        drop(first);
        assert!(path.is_dir(), "the second still holds it");
        drop(second);
        assert!(!path.exists());

        let held = MountPoint::hold(&path).unwrap().unwrap();
        std::fs::write(path.join("file"), "of the store").unwrap();
        drop(held);
        assert!(path.join("file").is_file());
    }

    #[test]
    fn what_is_no_directory_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("usr");
        std::fs::write(&path, "a file").unwrap();
        assert!(MountPoint::hold(&path).unwrap().is_none());
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc", &path).unwrap();
        assert!(MountPoint::hold(&path).unwrap().is_none());
    }
}
