//! Gets and heads: one object at one moment, with the metadata that belongs to its bytes. Writes
//! nothing, and makes nothing.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;

use rustix::fs::{self, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::Disk;
use super::errors::{failed, hard_linked, refused};
use super::lock;
use super::metadata::{Kept, Reader};
use super::scratch::errno;
use super::stamp::{Identity, Stamp};
use crate::store::check::{check_read, error};
use crate::store::key::{check_key, shown};
use crate::store::{Blob, Error, ErrorCode, GetRequest, Range, Stat, value};

/// How often an object that is replaced under our eyes is looked at again. Each replacement takes its
/// writer several syncs, each look a few microseconds.
const LOOKS_MAX: usize = 16;

/// An object's file, at the moment of `stamp`. Later appends add behind `stamp.size`, which nobody
/// looks at; later puts replace the name, not this file.
pub struct Opened {
    pub file: File,
    pub stamp: Stamp,
}

impl Disk {
    /// None when there is no object under the key, a directory among others.
    pub fn open_object(&self, key: &str) -> Result<Option<Opened>, Error> {
        let fail = |errno| failed(&self.root, key, "reading", errno);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match self.root.open_at(key, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(fail(errno)),
        };
        let stat = lock::between_appends(&self.root, key, &file, || fs::fstat(&file))?;
        let stamp = Stamp::new(&stat.map_err(fail)?);
        match stamp.kind {
            FileType::RegularFile => {}
            FileType::Directory => return Ok(None),
            other => return Err(refused(key, other)),
        }
        if self.options.deny_hard_links && stamp.links > 1 {
            return Err(hard_linked(key));
        }
        if self.other_spelling(key)?.is_some() {
            return Ok(None);
        }
        let file = file.into();
        Ok(Some(Opened { file, stamp }))
    }

    /// `left` is what remains of the wave's bytes.
    pub fn get(
        &self,
        metadata: Option<&Reader>,
        request: GetRequest,
        left: &mut u64,
    ) -> Result<Option<Blob>, Error> {
        let GetRequest { key, range, kind } = request;
        check_key(&key)?;
        self.look(metadata, &key, |opened| {
            let size = opened.stamp.size;
            let (start, length) = value::resolve(&range, size);
            let mut left_then = *left;
            check_read(&key, length, &mut left_then)?;
            let everything = length == size || range == Range::Whole;
            // The version of a part would cost reading the whole. Worth it only where metadata needs
            // it: logs that are appended to have none, and those are what is read in parts.
            let wants_version = metadata.is_some_and(|metadata| metadata.has(&key));
            let (bytes, content) = if opened.stamp.is_large() {
                let bytes = opened.read(&self.root, &key, start, length)?;
                (bytes, Some(opened.stamp.identity()))
            } else if everything || wants_version {
                let bytes = opened.read(&self.root, &key, 0, size)?;
                let content = Identity::of(&bytes);
                let bytes = if everything {
                    bytes
                } else {
                    value::cut(&bytes, &range).to_vec()
                };
                (bytes, Some(content))
            } else {
                (opened.read(&self.root, &key, start, length)?, None)
            };
            *left = left_then;
            Ok((value::body(bytes, kind), content))
        })
        .map(|found| found.map(|(body, stat)| Blob { body, stat }))
    }

    pub fn head(&self, metadata: Option<&Reader>, key: &str) -> Result<Option<Stat>, Error> {
        check_key(key)?;
        let found = self.look(metadata, key, |opened| {
            Ok(((), Some(opened.identity(&self.root, key)?)))
        })?;
        Ok(found.map(|((), stat)| stat))
    }

    /// Read an object by `read`, and find the metadata of what it read.
    ///
    /// The two lie in two files. Metadata is written before the bytes' rename and kept for one more
    /// generation, so what is found belongs; what is not found may have been removed meanwhile, and
    /// the object is read again when its file is not the same any more.
    fn look<T>(
        &self,
        metadata: Option<&Reader>,
        key: &str,
        mut read: impl FnMut(&Opened) -> Result<(T, Option<Identity>), Error>,
    ) -> Result<Option<(T, Stat)>, Error> {
        for _ in 0..LOOKS_MAX {
            let Some(opened) = self.open_object(key)? else {
                return Ok(None);
            };
            let (read, content) = read(&opened)?;
            let mut kept = None;
            if let Some(metadata) = metadata {
                if let Some(content) = &content {
                    kept = metadata.find(key, content)?;
                }
                if kept.is_none() && self.replaced(key, &opened)? {
                    continue;
                }
            }
            let kept = kept.unwrap_or_else(Kept::default);
            let stat = Stat {
                version: content.map_or_else(String::new, |content| content.version),
                content_type: kept.content_type,
                metadata: kept.metadata,
                size_bytes: opened.stamp.size,
                modified_ms: opened.stamp.modified_ms(),
            };
            return Ok(Some((read, stat)));
        }
        Err(error(
            ErrorCode::Unavailable,
            format!(
                "key {}: it changed each of the {LOOKS_MAX} times it was read; try again",
                shown(key)
            ),
        ))
    }

    /// Whether another file, or the same one changed, lies under the key now.
    fn replaced(&self, key: &str, opened: &Opened) -> Result<bool, Error> {
        match self.root.stat(key) {
            Ok(stat) => Ok(stat.is_none_or(|stat| Stamp::new(&stat) != opened.stamp)),
            Err(Errno::NOTDIR) => Ok(true),
            Err(errno) => Err(failed(&self.root, key, "reading", errno)),
        }
    }
}

impl Opened {
    /// `length` bytes from `start` on; fewer when someone cut the file since it was opened.
    pub fn read(
        &self,
        root: &super::beneath::Root,
        key: &str,
        start: u64,
        length: u64,
    ) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; length as usize];
        let mut filled = 0;
        while filled < bytes.len() {
            match self
                .file
                .read_at(&mut bytes[filled..], start + filled as u64)
            {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(failed(root, key, "reading", errno(cause))),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// Which content this is; reads the whole unless it is large.
    pub fn identity(&self, root: &super::beneath::Root, key: &str) -> Result<Identity, Error> {
        if self.stamp.is_large() {
            return Ok(self.stamp.identity());
        }
        Ok(Identity::of(&self.read(root, key, 0, self.stamp.size)?))
    }

    /// The bytes of the moment of `stamp`, as a stream.
    pub fn stream(&self) -> impl Read + '_ {
        (&self.file).take(self.stamp.size)
    }
}
