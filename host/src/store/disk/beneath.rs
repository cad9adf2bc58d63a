//! Opening, making and removing things below a store's root and nowhere else; no symbolic link is
//! followed. Knows names and directories, not objects. Names are relative, with `/` between segments.

use std::ffi::CStr;
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use unicode_normalization::UnicodeNormalization;

/// For directories that are only passed through: needs no permission to read them.
#[cfg(target_os = "linux")]
const PASSED: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const PASSED: OFlags = LISTED;
/// For directories that are listed or synced.
const LISTED: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

pub struct Root {
    directory: OwnedFd,
    path: PathBuf,
    /// Check each segment ourselves, because the kernel has no `openat2` (or none is wanted).
    by_segment: bool,
}

/// The directory part without its slash (empty for the root) and the last segment.
pub fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or(("", name))
}

impl Root {
    pub fn open(path: &Path, by_segment: bool) -> Result<Self, Errno> {
        let directory = fs::open(path, LISTED, Mode::empty())?;
        let mut root = Root {
            directory,
            path: path.to_owned(),
            by_segment,
        };
        // Old kernels answer ENOSYS, some containers' filters EPERM.
        if let Err(Errno::NOSYS | Errno::PERM) = root.open_at("", PASSED, Mode::empty()) {
            root.by_segment = true;
        }
        Ok(root)
    }

    /// Where `name` lies, for messages.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Open `name`. `LOOP` when a symbolic link is on the way or at its end.
    pub fn open_at(&self, name: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        let name = if name.is_empty() { "." } else { name };
        #[cfg(target_os = "linux")]
        if !self.by_segment {
            let resolve = fs::ResolveFlags::BENEATH
                | fs::ResolveFlags::NO_SYMLINKS
                | fs::ResolveFlags::NO_MAGICLINKS;
            loop {
                match fs::openat2(&self.directory, name, flags, mode, resolve) {
                    // EAGAIN: something was renamed meanwhile and the kernel is not sure.
                    Err(Errno::AGAIN | Errno::INTR) => continue,
                    result => return result,
                }
            }
        }
        let (directory, last) = split(name);
        let mut parent: Option<OwnedFd> = None;
        for segment in directory.split('/').filter(|segment| !segment.is_empty()) {
            let next = open_child(parent.as_ref().unwrap_or(&self.directory), segment, PASSED);
            parent = Some(next?);
        }
        let parent = parent.as_ref().unwrap_or(&self.directory);
        open_child_with(parent, last, flags, mode)
    }

    /// A directory to pass through.
    pub fn pass(&self, name: &str) -> Result<OwnedFd, Errno> {
        self.open_at(name, PASSED, Mode::empty())
    }

    /// A directory to list or sync.
    pub fn list(&self, name: &str) -> Result<OwnedFd, Errno> {
        self.open_at(name, LISTED, Mode::empty())
    }

    /// What lies at `name`, a symbolic link included; none when nothing does.
    pub fn stat(&self, name: &str) -> Result<Option<Stat>, Errno> {
        let (directory, last) = split(name);
        let found = self
            .pass(directory)
            .and_then(|parent| fs::statat(parent, last, AtFlags::SYMLINK_NOFOLLOW));
        match found {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// The directory `name`, made with all that lead to it where missing, each durably.
    pub fn make(&self, name: &str) -> Result<OwnedFd, Errno> {
        match self.list(name) {
            Err(Errno::NOENT) if !name.is_empty() => {}
            found => return found,
        }
        let (directory, last) = split(name);
        let parent = self.make(directory)?;
        match fs::mkdirat(&parent, last, Mode::from_raw_mode(0o777)) {
            Ok(()) => sync(&parent)?,
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        open_child(&parent, last, LISTED)
    }

    /// Remove the directory `name` and those above it, as far as they are empty.
    pub fn remove_empty(&self, name: &str) {
        let mut name = name;
        while !name.is_empty() {
            let (directory, last) = split(name);
            let removed = self
                .pass(directory)
                .and_then(|parent| fs::unlinkat(parent, last, AtFlags::REMOVEDIR));
            // One that is gone was removed by someone who may have stopped there.
            if !matches!(removed, Ok(()) | Err(Errno::NOENT)) {
                return;
            }
            name = directory;
        }
    }

    /// The first symbolic link on the way to `name` or at its end.
    pub fn symlink_in<'a>(&self, name: &'a str) -> Option<&'a str> {
        self.first_above(name, FileType::Symlink)
    }

    /// The first part of `name` that is a `wanted`.
    pub fn first_above<'a>(&self, name: &'a str, wanted: FileType) -> Option<&'a str> {
        let ends = name.match_indices('/').map(|(at, _)| at);
        ends.chain([name.len()])
            .map(|end| &name[..end])
            .find(|part| {
                let stat = self.stat(part).ok().flatten();
                stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == wanted)
            })
    }

    /// On a disk that ignores case: the name that lies where `name` asks for another spelling.
    pub fn other_spelling(&self, name: &str) -> Result<Option<String>, Errno> {
        let mut directory = String::new();
        for segment in name.split('/') {
            let listed = match self.list(&directory) {
                Ok(listed) => listed,
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
                Err(errno) => return Err(errno),
            };
            let folded = fold(segment);
            let mut other = None;
            for entry in fs::Dir::new(listed)? {
                let entry = entry?;
                let found = entry.file_name().to_string_lossy();
                if found == segment {
                    other = None;
                    break;
                }
                if fold(&found) == folded {
                    other = Some(found.into_owned());
                }
            }
            if !directory.is_empty() {
                directory.push('/');
            }
            if let Some(other) = other {
                return Ok(Some(directory + &other));
            }
            directory.push_str(segment);
        }
        Ok(None)
    }
}

/// As disks that ignore case compare names, near enough to find the one that is there.
fn fold(name: &str) -> String {
    name.nfc().flat_map(char::to_lowercase).collect()
}

/// The directory `segment` in `parent`; `LOOP` when it is a symbolic link.
pub fn open_child(parent: &impl AsFd, segment: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    open_child_with(parent, segment, flags, Mode::empty())
}

fn open_child_with(
    parent: &impl AsFd,
    segment: &str,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let opened = fs::openat(parent, segment, flags | OFlags::NOFOLLOW, mode);
    // Asked for a directory, the kernel says NOTDIR of a symbolic link.
    if let Err(Errno::NOTDIR) = opened {
        let stat = fs::statat(parent, segment, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return Err(Errno::LOOP);
        }
    }
    opened
}

/// The directory of a listing's walk: one segment below `parent`, whatever its bytes are.
pub fn open_listed(parent: impl AsFd, segment: &CStr) -> Result<OwnedFd, Errno> {
    fs::openat(parent, segment, LISTED | OFlags::NOFOLLOW, Mode::empty())
}

/// Make a directory's entries durable.
pub fn sync(directory: &impl AsFd) -> Result<(), Errno> {
    match fs::fsync(directory) {
        // Some network file systems have no such thing for directories.
        Err(Errno::INVAL) => Ok(()),
        result => result,
    }
}

/// Make the directory at `path`, and those above it, where missing.
pub fn create_root(path: &Path) -> Result<(), Errno> {
    match fs::mkdirat(CWD, path, Mode::from_raw_mode(0o777)) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Ok(()),
        Err(Errno::NOENT) => {
            let parent = path.parent().ok_or(Errno::NOENT)?;
            create_root(parent)?;
            match fs::mkdirat(CWD, path, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(errno) => return Err(errno),
    }
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    sync(&fs::open(parent, LISTED, Mode::empty())?)
}
