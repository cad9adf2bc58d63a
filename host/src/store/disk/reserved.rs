//! The folder `.haversack/` at a store's root: its format number, its parts, their making with the
//! first write. Knows nothing of objects.

use std::fs::File;
use std::io::Read;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::beneath::Root;
use super::errors::failed;
use super::scratch::Scratch;
use crate::store::check::error;
use crate::store::{Error, ErrorCode};

const FORMAT: &str = ".haversack/format";
const FORMAT_NOW: u32 = 1;
pub const LOCKS: &str = ".haversack/locks";
pub const METADATA: &str = ".haversack/meta";
pub const SCRATCH: &str = ".haversack/scratch";

/// The folder's parts, open.
pub struct Reserved {
    pub locks: OwnedFd,
    pub metadata: OwnedFd,
    pub scratch: OwnedFd,
}

impl Reserved {
    /// The parts, made where they are missing. By name at each write, because people remove the
    /// folder under a running program (`git clean -fdx`).
    pub fn open_or_make(root: &Root) -> Result<Self, Error> {
        let known = check_format(root)?;
        let part = |name| {
            let made = root.make(name);
            made.map_err(|errno| failed(root, name, "making", errno))
        };
        let reserved = Reserved {
            locks: part(LOCKS)?,
            metadata: part(METADATA)?,
            scratch: part(SCRATCH)?,
        };
        if !known {
            let folder = part(".haversack")?;
            let write = |name: &str, content: &str| -> Result<(), Errno> {
                let mut file = Scratch::create(&reserved.scratch)?;
                file.write(content.as_bytes())?;
                file.sync()?;
                file.place(&folder, name)?;
                super::beneath::sync(&folder)
            };
            // The format comes last: it says that the rest is there.
            write(".gitignore", "*\n")
                .and_then(|()| write("format", &format!("{FORMAT_NOW}\n")))
                .map_err(|errno| failed(root, FORMAT, "writing", errno))?;
        }
        Ok(reserved)
    }
}

/// Whether the folder has a format number; an error when it is one that this program cannot know.
pub fn check_format(root: &Root) -> Result<bool, Error> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match root.open_at(FORMAT, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(false),
        Err(errno) => return Err(failed(root, FORMAT, "reading", errno)),
    };
    let mut text = String::new();
    let path = root.path_of(FORMAT);
    let path = path.display();
    if let Err(cause) = File::from(file).take(64).read_to_string(&mut text) {
        let message = format!("reading {path}: {cause}");
        return Err(error(ErrorCode::Other, message));
    }
    match text.trim().parse::<u32>() {
        Ok(FORMAT_NOW) => Ok(true),
        Ok(newer) if newer > FORMAT_NOW => Err(error(
            ErrorCode::Unsupported,
            format!(
                "{path} says format {newer}; this program knows {FORMAT_NOW}: use a newer haversack"
            ),
        )),
        _ => Err(error(
            ErrorCode::Other,
            format!(
                "{path} holds {text:?}, not a format number; if only haversack wrote here, put \
                 `{FORMAT_NOW}` into it"
            ),
        )),
    }
}
