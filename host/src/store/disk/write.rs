//! Puts, appends and deletes: each under its key's lock stripe, each durable before it is answered.
//! Knows objects and conditions, not what is in them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;

use rustix::fd::AsFd;
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::Disk;
use super::beneath::{self, split};
use super::errors::{failed, hard_linked, refused};
use super::lock::{self, Stripe};
use super::metadata::{self, Kept};
use super::reserved::{METADATA, Reserved};
use super::scratch::{Scratch, errno};
use super::stamp::{Identity, Stamp};
use crate::store::check::{self, error};
use crate::store::key::{check_key, clash, shown};
use crate::store::{Body, Condition, Error, ErrorCode, PutOptions, value};

/// How often a directory that a deleter removes under a writer is made again.
const DIRECTORIES_MADE_MAX: usize = 100;

impl Disk {
    pub fn put(&self, key: &str, body: &Body, options: PutOptions) -> Result<String, Error> {
        check::check_put(key, body, &options)?;
        let reserved = self.reserved()?;
        let _stripe = Stripe::take(&self.root, &reserved, key)?;
        let old = self.check_place(key)?;
        self.check_condition(key, &options.condition)?;
        let bytes = value::bytes(body);
        let mut file = self.scratch(&reserved.scratch, key)?;
        file.write(bytes)
            .map_err(|errno| failed(&self.root, key, "writing", errno))?;
        let version = value::version(bytes);
        self.commit(&reserved, file, key, Some(version), options, old)
    }

    pub fn append(&self, key: &str, body: &Body, at_bytes: u64) -> Result<u64, Error> {
        check::check_append(true, key, body)?;
        let reserved = self.reserved()?;
        let _stripe = Stripe::take(&self.root, &reserved, key)?;
        let old = self.check_place(key)?;
        let size = old.map_or(0, |old| old.size);
        check::check_size(key, at_bytes, size)?;
        let bytes = value::bytes(body);
        let grown = size + bytes.len() as u64;
        let fail = |errno| failed(&self.root, key, "appending to", errno);
        if old.is_none() {
            let mut file = self.scratch(&reserved.scratch, key)?;
            file.write(bytes).map_err(fail)?;
            let options = check::plain(Condition::Always);
            self.commit(
                &reserved,
                file,
                key,
                Some(value::version(bytes)),
                options,
                None,
            )?;
            return Ok(grown);
        }
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = self.root.open_at(key, flags, Mode::empty()).map_err(fail)?;
        lock::hold(&self.root, key, &file)?;
        // Editors take no locks: this is the last moment to see that one has been here.
        let found = fs::fstat(&file).map_err(fail)?.st_size as u64;
        check::check_size(key, at_bytes, found)?;
        let mut file = File::from(file);
        if let Err(cause) = file.write_all(bytes) {
            // All or nothing where it can be: only a kill in here leaves a part.
            let _ = file.set_len(size);
            return Err(fail(errno(cause)));
        }
        lock::release(&file);
        file.sync_all()
            .map_err(|cause| self.unsettled(key, errno(cause)))?;
        metadata::forget(&reserved.metadata, key);
        Ok(grown)
    }

    pub fn delete(&self, keys: &[String]) -> Vec<Result<(), Error>> {
        let mut touched = BTreeSet::new();
        let mut answers: Vec<_> = keys
            .iter()
            .map(|key| {
                if self.unlink(key)? {
                    touched.insert(split(key).0);
                }
                Ok(())
            })
            .collect();
        let mut failure = None;
        for directory in touched {
            // One that is gone went with its entries; the one above is synced below.
            let synced = self.root.list(directory).and_then(|fd| beneath::sync(&fd));
            if let Err(errno @ (Errno::IO | Errno::ACCESS)) = synced {
                failure = Some(self.unsettled(directory, errno));
            }
            if !self.options.keep_directories {
                self.root.remove_empty(directory);
            }
        }
        if let Some(failure) = failure {
            for answer in answers.iter_mut().filter(|answer| answer.is_ok()) {
                *answer = Err(failure.clone());
            }
        }
        answers
    }

    /// Whether there was something.
    fn unlink(&self, key: &str) -> Result<bool, Error> {
        check_key(key)?;
        let fail = |errno| failed(&self.root, key, "deleting", errno);
        // Looked at first without a lock, so that deleting nothing makes nothing.
        if !self.deletable(key)? {
            return Ok(false);
        }
        let reserved = self.reserved()?;
        let _stripe = Stripe::take(&self.root, &reserved, key)?;
        if !self.deletable(key)? {
            return Ok(false);
        }
        let (directory, name) = split(key);
        let removed = self
            .root
            .pass(directory)
            .and_then(|parent| fs::unlinkat(parent, name, AtFlags::empty()));
        match removed {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(fail(errno)),
        }
        metadata::forget(&reserved.metadata, key);
        Ok(true)
    }

    fn deletable(&self, key: &str) -> Result<bool, Error> {
        let stat = match self.root.stat(key) {
            Ok(stat) => stat,
            Err(Errno::NOTDIR) => None,
            Err(errno) => return Err(failed(&self.root, key, "deleting", errno)),
        };
        let kind = stat.map(|stat| FileType::from_raw_mode(stat.st_mode));
        match kind {
            None | Some(FileType::Directory) => Ok(false),
            Some(FileType::RegularFile) => Ok(self.other_spelling(key)?.is_none()),
            Some(other) => Err(refused(key, other)),
        }
    }

    /// The folder of the store's own, made with the first write; the first time, swept.
    pub fn reserved(&self) -> Result<Reserved, Error> {
        let reserved = Reserved::open_or_make(&self.root)?;
        self.swept
            .get_or_init(|| super::scratch::sweep(&reserved.scratch));
        Ok(reserved)
    }

    pub fn scratch<D: AsFd>(&self, directory: D, key: &str) -> Result<Scratch<D>, Error> {
        Scratch::create(directory).map_err(|errno| failed(&self.root, key, "writing", errno))
    }

    /// What a write would replace; an error when it may not.
    pub fn check_place(&self, key: &str) -> Result<Option<Stamp>, Error> {
        let fail = |errno| failed(&self.root, key, "writing", errno);
        if let Some(other) = self.other_spelling(key)? {
            return Err(error(
                ErrorCode::Invalid,
                format!(
                    "key {}: this disk ignores case, and {} lies there; use that spelling or \
                     another name",
                    shown(key),
                    shown(&other)
                ),
            ));
        }
        let Some(stat) = self.root.stat(key).map_err(fail)? else {
            return Ok(None);
        };
        let stamp = Stamp::new(&stat);
        match stamp.kind {
            FileType::RegularFile if self.options.deny_hard_links && stamp.links > 1 => {
                Err(hard_linked(key))
            }
            FileType::RegularFile => Ok(Some(stamp)),
            FileType::Directory => {
                // An empty one holds no key, so it is in nobody's way.
                let (directory, name) = split(key);
                let removed = self
                    .root
                    .pass(directory)
                    .and_then(|parent| fs::unlinkat(parent, name, AtFlags::REMOVEDIR));
                match removed {
                    Ok(()) | Err(Errno::NOENT) => Ok(None),
                    Err(_) => Err(clash(&format!("{key}/…"), key)),
                }
            }
            other => Err(refused(key, other)),
        }
    }

    pub fn check_condition(&self, key: &str, condition: &Condition) -> Result<(), Error> {
        if *condition == Condition::Always {
            return Ok(());
        }
        let current = match self.open_object(key)? {
            Some(opened) => Some(opened.identity(&self.root, key)?.version),
            None => None,
        };
        check::check_condition(key, condition, current)
    }

    /// Give a written file its place. `version` is known unless the content is large.
    pub fn commit(
        &self,
        reserved: &Reserved,
        mut file: Scratch<impl AsFd>,
        key: &str,
        version: Option<String>,
        options: PutOptions,
        old: Option<Stamp>,
    ) -> Result<String, Error> {
        let fail = |errno| failed(&self.root, key, "writing", errno);
        if let Some(old) = old {
            file.permit(old.permissions).map_err(fail)?;
        }
        let content = match version {
            Some(version) => Identity::hashed(version),
            None => {
                file.fix_modified().map_err(fail)?;
                Stamp::new(&file.stat().map_err(fail)?).identity()
            }
        };
        file.sync().map_err(fail)?;
        let kept = Kept::new(key, options.content_type, options.metadata);
        metadata::write(reserved, key, &content, &kept)
            .map_err(|errno| failed(&self.root, METADATA, "writing", errno))?;

        let (directory, name) = split(key);
        let mut tries = 0;
        let parent = loop {
            let made = self.root.make(directory);
            match made.and_then(|parent| file.place(&parent, name).map(|()| parent)) {
                Ok(parent) => break parent,
                // Someone deleted the last object beside us, and the directory with it.
                Err(Errno::NOENT) if tries < DIRECTORIES_MADE_MAX => tries += 1,
                Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => {
                    return Err(clash(&format!("{key}/…"), key));
                }
                Err(Errno::XDEV) => {
                    return Err(error(
                        ErrorCode::Other,
                        format!(
                            "key {}: another file system is mounted there; open a store below the \
                             mount instead",
                            shown(key)
                        ),
                    ));
                }
                Err(errno) => return Err(fail(errno)),
            }
        };
        beneath::sync(&parent).map_err(|errno| self.unsettled(key, errno))?;
        metadata::prune(reserved, key, &content);
        if content.version == content.metadata_name {
            return Ok(content.version);
        }
        // The rename moved the time of change, which is part of a large file's version.
        let stat = file.stat().map_err(|errno| self.unsettled(key, errno))?;
        Ok(Stamp::new(&stat).identity().version)
    }

    /// The write has happened, but the disk did not confirm that it will stay.
    fn unsettled(&self, key: &str, errno: Errno) -> Error {
        let path = self.root.path_of(key);
        error(
            ErrorCode::OutcomeUnknown,
            format!(
                "key {}: written, but syncing {} failed ({errno}); read it back, and look at the \
                 disk (`dmesg`)",
                shown(key),
                path.display()
            ),
        )
    }
}
