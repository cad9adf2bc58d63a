//! What lies beside the bytes: `.haversack/meta/{hash of the key}/{content}.json`. Bound to content, so
//! a file edited by hand has none, and one restored has its own again. Knows nothing of objects.

use std::fs::File;
use std::io::Read;

use rustix::fd::OwnedFd;
use rustix::fs::{self, AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::beneath::{self, Root, open_child};
use super::errors::failed;
use super::reserved::{METADATA, Reserved};
use super::scratch::{Scratch, errno};
use super::stamp::{Identity, Stamp};
use crate::store::check::error;
use crate::store::{Error, ErrorCode, value};

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// A metadata file.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Kept {
    /// For people: the directory's name is only a hash of it.
    key: String,
    pub content_type: Option<String>,
    pub metadata: Vec<(String, String)>,
}

impl Kept {
    pub fn new(key: &str, content_type: Option<String>, metadata: Vec<(String, String)>) -> Self {
        Kept {
            key: key.to_owned(),
            content_type,
            metadata,
        }
    }

    fn is_empty(&self) -> bool {
        self.content_type.is_none() && self.metadata.is_empty()
    }
}

/// The first 128 bits of the SHA-256 of the key.
fn directory_of(key: &str) -> String {
    value::hex(&Sha256::digest(key)[..16])
}

fn path_of(key: &str, name: &str) -> String {
    format!("{METADATA}/{}/{name}", directory_of(key))
}

/// The metadata of a store that has some.
pub struct Reader<'a> {
    root: &'a Root,
    directory: OwnedFd,
}

impl<'a> Reader<'a> {
    /// None while nothing was ever written through haversack.
    pub fn open(root: &'a Root) -> Result<Option<Self>, Error> {
        match root.pass(METADATA) {
            Ok(directory) => Ok(Some(Reader { root, directory })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(failed(root, METADATA, "reading", errno)),
        }
    }

    /// Whether any content of `key` has or had metadata.
    pub fn has(&self, key: &str) -> bool {
        let found = fs::statat(
            &self.directory,
            directory_of(key),
            AtFlags::SYMLINK_NOFOLLOW,
        );
        found.is_ok()
    }

    /// What was put with this content of `key`.
    pub fn find(&self, key: &str, content: &Identity) -> Result<Option<Kept>, Error> {
        let name = format!("{}.json", content.metadata_name);
        let fail = |errno| failed(self.root, &path_of(key, &name), "reading", errno);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let opened = open_child(&self.directory, &directory_of(key), DIRECTORY)
            .and_then(|directory| open_child(&directory, &name, flags));
        let file = match opened {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(fail(errno)),
        };
        let mut text = Vec::new();
        let read = File::from(file).read_to_end(&mut text);
        read.map_err(|error| fail(errno(error)))?;
        serde_json::from_slice(&text).map(Some).map_err(|cause| {
            let path = self.root.path_of(&path_of(key, &name));
            let message = format!(
                "{}: {cause}; remove the file to go on without this object's metadata",
                path.display()
            );
            error(ErrorCode::Other, message)
        })
    }
}

/// Write `kept` durably before the content that it belongs to is renamed into place. Where it is empty
/// nothing may lie there either: the same content may have had metadata before.
pub fn write(reserved: &Reserved, key: &str, content: &Identity, kept: &Kept) -> Result<(), Errno> {
    let name = format!("{}.json", content.metadata_name);
    let directory = directory_of(key);
    if kept.is_empty() {
        let removed = open_child(&reserved.metadata, &directory, DIRECTORY)
            .and_then(|directory| fs::unlinkat(&directory, &name, AtFlags::empty()));
        return match removed {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        };
    }
    match fs::mkdirat(&reserved.metadata, &directory, Mode::from_raw_mode(0o777)) {
        Ok(()) => beneath::sync(&reserved.metadata)?,
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let directory = open_child(&reserved.metadata, &directory, DIRECTORY)?;
    let mut text = serde_json::to_vec(kept).map_err(|_| Errno::INVAL)?;
    text.push(b'\n');
    let mut file = Scratch::create(&reserved.scratch)?;
    file.write(&text)?;
    file.sync()?;
    file.place(&directory, &name)?;
    beneath::sync(&directory)
}

/// Keep the metadata of `content` and the newest other: readers of the content just replaced need it.
/// Failing costs some bytes and nothing else.
pub fn prune(reserved: &Reserved, key: &str, content: &Identity) {
    let Ok(directory) = open_child(&reserved.metadata, &directory_of(key), DIRECTORY) else {
        return;
    };
    let Ok(entries) = Dir::read_from(&directory) else {
        return;
    };
    let kept = format!("{}.json", content.metadata_name);
    let mut others = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !name.to_bytes().ends_with(b".json") || name.to_bytes() == kept.as_bytes() {
            continue;
        }
        if let Ok(stat) = fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            others.push((Stamp::new(&stat).modified_ns(), name.to_owned()));
        }
    }
    others.sort();
    others.pop();
    for (_, name) in others {
        let _ = fs::unlinkat(&directory, &name, AtFlags::empty());
    }
}

/// Remove all metadata of `key`, whose content has just gone or grown.
pub fn forget(metadata: &OwnedFd, key: &str) {
    let name = directory_of(key);
    let Ok(directory) = open_child(metadata, &name, DIRECTORY) else {
        return;
    };
    if let Ok(entries) = Dir::read_from(&directory) {
        for entry in entries.flatten() {
            let _ = fs::unlinkat(&directory, entry.file_name(), AtFlags::empty());
        }
    }
    let _ = fs::unlinkat(metadata, &name, AtFlags::REMOVEDIR);
}
