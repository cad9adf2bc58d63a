//! What went wrong on a disk, as a store's error that says how to go on. Touches nothing but to find
//! out which part of a name was to blame.

use rustix::fs::FileType;
use rustix::io::Errno;

use super::beneath::Root;
use crate::store::check::error;
use crate::store::key::{clash, shown};
use crate::store::{Error, ErrorCode};

/// `errno` came back when `doing` something (“reading”, “writing”) with `key`.
pub fn failed(root: &Root, key: &str, doing: &str, errno: Errno) -> Error {
    let path = root.path_of(key);
    let path = path.display();
    let (code, what) = match errno {
        Errno::LOOP => {
            let link = root.symlink_in(key).unwrap_or(key);
            return refused(link, FileType::Symlink);
        }
        Errno::NOTDIR => {
            let object = root.first_above(key, FileType::RegularFile);
            return clash(key, object.unwrap_or(key));
        }
        Errno::ACCESS | Errno::PERM => (
            ErrorCode::Denied,
            format!(
                "permission denied; let this user into {path} (`ls -ld` shows whose it is), or run \
                 as its owner"
            ),
        ),
        Errno::ROFS => (
            ErrorCode::Denied,
            format!("{path} is on a read-only file system; mount it writable or use another store"),
        ),
        // ENXIO is what opening a socket answers.
        Errno::NXIO => return refused(key, FileType::Socket),
        Errno::NOSPC | Errno::DQUOT => (
            ErrorCode::Other,
            format!("no space left for {path}; free some and repeat the call"),
        ),
        Errno::MFILE | Errno::NFILE => (
            ErrorCode::Unavailable,
            "too many open files; raise `ulimit -n`".to_owned(),
        ),
        Errno::NAMETOOLONG | Errno::INVAL | Errno::ILSEQ => (
            ErrorCode::Invalid,
            format!(
                "the file system of {path} does not take this name; use a plainer or shorter one"
            ),
        ),
        errno => (ErrorCode::Other, format!("{path}: {errno}")),
    };
    error(code, format!("{doing} key {}: {what}", shown(key)))
}

/// Something lies at `key` that no object may be.
pub fn refused(key: &str, found: FileType) -> Error {
    let way_out = if found == FileType::Symlink {
        "links are never followed; replace it by what it points to"
    } else {
        "move it away"
    };
    let message = format!("key {}: {} lies there; {way_out}", shown(key), named(found));
    error(ErrorCode::Denied, message)
}

/// What a directory entry is, for people.
pub fn named(found: FileType) -> &'static str {
    match found {
        FileType::RegularFile => "a file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something that is no file",
    }
}

/// A file with a second name, where the store's options forbid them.
pub fn hard_linked(key: &str) -> Error {
    error(
        ErrorCode::Denied,
        format!(
            "key {}: the file has another name too (a hard link), which this store forbids; copy \
             it (`cp`) and put the copy in its place",
            shown(key)
        ),
    )
}

/// Someone holds a lock for longer than anyone should.
pub fn locked(key: &str, path: &std::path::Path) -> Error {
    Error {
        retry_after_ms: Some(1_000),
        ..error(
            ErrorCode::Unavailable,
            format!(
                "key {}: another process holds the lock on {}; `lslocks` shows which",
                shown(key),
                path.display()
            ),
        )
    }
}
