//! Locks between processes: a key's stripe for writers, and the moment of an append for readers. Both
//! are `flock`s, which end with the process that holds them, however it ends.

use std::time::{Duration, Instant};

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::beneath::Root;
use super::errors::{failed, locked};
use super::reserved::{LOCKS, Reserved};
use crate::store::{Error, value};

/// A write holds its stripe for some fsyncs or a concat of gigabytes, never for this long in a
/// queue that moves.
const STRIPE_WAIT: Duration = Duration::from_secs(60);
/// An append holds its file for one write to the page cache.
const FILE_WAIT: Duration = Duration::from_secs(5);

/// The right to write a key, until dropped.
pub struct Stripe {
    _file: OwnedFd,
}

impl Stripe {
    /// The lock files are never removed: a process could then wait on one that has no name any more.
    pub fn take(root: &Root, reserved: &Reserved, key: &str) -> Result<Self, Error> {
        let name = value::hex(&Sha256::digest(key)[..1]);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let opened = fs::openat(&reserved.locks, &name, flags, Mode::from_raw_mode(0o666));
        let file = opened.map_err(|errno| failed(root, key, "locking", errno))?;
        match wait(&file, FlockOperation::NonBlockingLockExclusive, STRIPE_WAIT) {
            Ok(()) => Ok(Stripe { _file: file }),
            Err(Errno::WOULDBLOCK) => Err(locked(key, &root.path_of(&format!("{LOCKS}/{name}")))),
            Err(errno) => Err(failed(root, key, "locking", errno)),
        }
    }
}

/// Keep readers from looking at a file while it grows. Ends when the file is closed or released.
pub fn hold(root: &Root, key: &str, file: &impl AsFd) -> Result<(), Error> {
    file_lock(root, key, file, FlockOperation::NonBlockingLockExclusive)
}

/// Run `look` on a file at a moment when no append is half done.
pub fn between_appends<T>(
    root: &Root,
    key: &str,
    file: &impl AsFd,
    look: impl FnOnce() -> T,
) -> Result<T, Error> {
    file_lock(root, key, file, FlockOperation::NonBlockingLockShared)?;
    let seen = look();
    release(file);
    Ok(seen)
}

pub fn release(file: &impl AsFd) {
    // If this fails, closing the file does it.
    let _ = fs::flock(file, FlockOperation::Unlock);
}

fn file_lock(
    root: &Root,
    key: &str,
    file: &impl AsFd,
    operation: FlockOperation,
) -> Result<(), Error> {
    match wait(file, operation, FILE_WAIT) {
        Ok(()) => Ok(()),
        // A file system without locks, or a read-only network mount: nothing appends there.
        Err(Errno::NOTSUP | Errno::NOLCK | Errno::BADF | Errno::INVAL) => Ok(()),
        Err(Errno::WOULDBLOCK) => Err(locked(key, &root.path_of(key))),
        Err(errno) => Err(failed(root, key, "locking", errno)),
    }
}

/// Polls instead of blocking, so that a stopped process elsewhere becomes an error and no hang.
fn wait(file: &impl AsFd, operation: FlockOperation, at_most: Duration) -> Result<(), Errno> {
    let mut pause = Duration::from_micros(50);
    let mut since = None;
    loop {
        match fs::flock(file, operation) {
            Err(Errno::INTR) => continue,
            Err(Errno::WOULDBLOCK) => {}
            result => return result,
        }
        if since.get_or_insert_with(Instant::now).elapsed() > at_most {
            return Err(Errno::WOULDBLOCK);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}
