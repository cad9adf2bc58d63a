//! Files in the making, in `.haversack/scratch/`: written, synced, then renamed to where they belong.
//! Each is locked by its writer, so that one left over is known by its free lock. Knows no keys.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, AtFlags, Dir, FlockOperation, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;

/// `D` is the scratch directory: borrowed for the length of a call, or owned by what outlives one.
pub struct Scratch<D: AsFd> {
    directory: D,
    name: String,
    file: File,
    placed: bool,
}

impl<D: AsFd> Scratch<D> {
    pub fn create(directory: D) -> Result<Self, Errno> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}-{number}", std::process::id());
            let file = match fs::openat(&directory, &name, flags, Mode::from_raw_mode(0o666)) {
                Ok(file) => file,
                // Left by a process that had our id before.
                Err(Errno::EXIST) => continue,
                Err(errno) => return Err(errno),
            };
            // Between the two calls a sweep may have come, taken the lock, and removed the file.
            match fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if fs::fstat(&file)?.st_nlink > 0 => {}
                Ok(()) | Err(Errno::WOULDBLOCK) => continue,
                Err(errno) => return Err(errno),
            }
            return Ok(Scratch {
                directory,
                name,
                file: file.into(),
                placed: false,
            });
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        self.file.write_all(bytes).map_err(errno)
    }

    /// Take over another file's permissions.
    pub fn permit(&self, permissions: u32) -> Result<(), Errno> {
        fs::fchmod(&self.file, Mode::from_raw_mode(permissions))
    }

    pub fn sync(&self) -> Result<(), Errno> {
        fs::fsync(&self.file)
    }

    /// Fix the time of modification now, so that nothing after this moves it.
    pub fn fix_modified(&self) -> Result<(), Errno> {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: fs::UTIME_NOW,
        };
        fs::futimens(
            &self.file,
            &Timestamps {
                last_access: now,
                last_modification: now,
            },
        )
    }

    pub fn stat(&self) -> Result<fs::Stat, Errno> {
        fs::fstat(&self.file)
    }

    /// Rename to `name` in `target`, over what is there. Not durable before `target` is synced.
    pub fn place(&mut self, target: &impl AsFd, name: &str) -> Result<(), Errno> {
        fs::renameat(&self.directory, &self.name, target, name)?;
        self.placed = true;
        Ok(())
    }
}

impl<D: AsFd> Drop for Scratch<D> {
    fn drop(&mut self) {
        if !self.placed {
            // Nothing to tell if this fails: the next sweep takes it.
            let _ = fs::unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
    }
}

/// Remove files whose writers are gone. What cannot be removed now stays for the next sweep.
pub fn sweep(directory: &OwnedFd) {
    let Ok(entries) = Dir::read_from(directory) else {
        return;
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let Ok(file) = fs::openat(directory, name, flags, Mode::empty()) else {
            continue;
        };
        if fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::unlinkat(directory, name, AtFlags::empty());
        }
    }
}

/// The number in an error of the standard library.
pub fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
