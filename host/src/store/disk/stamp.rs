//! What the file system says of a file, and the versions made of that or of its content. Opens
//! nothing.

use rustix::fs::{FileType, Stat};

use crate::store::check::VALUE_BYTES_MAX;
use crate::store::value;

/// One moment's `stat` of a file, times in nanoseconds since the epoch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub kind: FileType,
    pub size: u64,
    pub links: u64,
    pub permissions: u32,
    modified_ns: i128,
    changed_ns: i128,
    inode: u64,
    device: u64,
}

impl Stamp {
    // The fields' types differ between platforms.
    #[allow(clippy::unnecessary_cast)]
    pub fn new(stat: &Stat) -> Self {
        let ns = |seconds: i128, ns: i128| seconds * 1_000_000_000 + ns;
        Stamp {
            kind: FileType::from_raw_mode(stat.st_mode),
            size: stat.st_size as u64,
            links: stat.st_nlink as u64,
            permissions: stat.st_mode as u32 & 0o777,
            modified_ns: ns(stat.st_mtime as i128, stat.st_mtime_nsec as i128),
            changed_ns: ns(stat.st_ctime as i128, stat.st_ctime_nsec as i128),
            inode: stat.st_ino as u64,
            device: stat.st_dev as u64,
        }
    }

    pub fn modified_ns(&self) -> i128 {
        self.modified_ns
    }

    pub fn modified_ms(&self) -> u64 {
        u64::try_from(self.modified_ns / 1_000_000).unwrap_or(0)
    }

    /// Too big to be hashed at each look.
    pub fn is_large(&self) -> bool {
        self.size > VALUE_BYTES_MAX
    }

    /// The identity of a large file's content.
    pub fn identity(&self) -> Identity {
        let Stamp {
            size,
            modified_ns,
            changed_ns,
            inode,
            ..
        } = self;
        Identity {
            version: format!("{size}-{modified_ns}-{changed_ns}-{inode}"),
            metadata_name: format!("{size}-{modified_ns}"),
        }
    }
}

/// Which content a file has: its version, and what its metadata file is called (without `.json`).
/// Metadata is written before the rename that changes ctime, so a large file's name leaves it out.
pub struct Identity {
    pub version: String,
    pub metadata_name: String,
}

impl Identity {
    /// Of content up to the value limit.
    pub fn of(content: &[u8]) -> Self {
        Identity::hashed(value::version(content))
    }

    pub fn hashed(version: String) -> Self {
        Identity {
            metadata_name: version.clone(),
            version,
        }
    }
}
