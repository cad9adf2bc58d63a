//! Lists: a walk of directories in the byte order of the keys below them, no further than the page
//! needs. Opens no file.

use std::ffi::CString;
use std::ops::ControlFlow;

use rustix::fd::OwnedFd;
use rustix::fs::{self, AtFlags, Dir, FileType};
use rustix::io::Errno;

use super::Disk;
use super::beneath::open_listed;
use super::errors::named;
use super::stamp::Stamp;
use crate::store::check::{self, LIST_PAGE_MAX};
use crate::store::key::{KEY_BYTES_MAX, RESERVED, segment_problem};
use crate::store::{Entry, Error, ListRequest, Listing, Skipped, value};

/// A page in the making. Positions are bytes, because names on a disk need not be UTF-8.
struct Page {
    prefix: Vec<u8>,
    delimiter: bool,
    after: Vec<u8>,
    /// The last thing on the page, or on the page before: a key, or a directory with its slash, which
    /// then is passed as a whole. In hexadecimal it is the cursor.
    last: Vec<u8>,
    limit: usize,
    deny_hard_links: bool,
    listing: Listing,
}

/// A name in a directory, sorted as the keys are that it stands for or leads to.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    /// With a slash behind a directory's name.
    sorted: Vec<u8>,
    name: CString,
}

impl Disk {
    pub fn page(&self, request: ListRequest) -> Result<Listing, Error> {
        check::check_list(&request)?;
        let last = match request.cursor {
            None => Vec::new(),
            Some(cursor) => value::unhex(&cursor)
                .filter(|last| last.starts_with(request.prefix.as_bytes()))
                .ok_or_else(|| check::not_a_cursor(&cursor))?,
        };
        let mut page = Page {
            prefix: request.prefix.clone().into_bytes(),
            delimiter: request.delimiter,
            after: request.start_after.unwrap_or_default().into_bytes(),
            last,
            limit: request.limit.unwrap_or(LIST_PAGE_MAX) as usize,
            deny_hard_links: self.options.deny_hard_links,
            listing: check::empty_page(),
        };
        // The deepest directory that the prefix names is where the walk begins.
        let directory = match request.prefix.rsplit_once('/') {
            None => "",
            Some((directory, _)) => {
                let possible = directory.split('/').all(|s| segment_problem(s).is_none())
                    && directory.split('/').next() != Some(RESERVED)
                    && directory.len() < KEY_BYTES_MAX;
                if !possible || self.other_spelling(directory)?.is_some() {
                    return Ok(page.listing);
                }
                directory
            }
        };
        match self.root.list(directory) {
            Ok(opened) => {
                let mut at = directory.to_owned().into_bytes();
                if !at.is_empty() {
                    at.push(b'/');
                }
                let _ = walk(opened, &at, &mut page);
            }
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(Errno::LOOP) => {
                let link = self.root.symlink_in(directory).unwrap_or(directory);
                let _ = page.skip(link.as_bytes(), "a symbolic link, which is not followed");
            }
            Err(errno) => {
                let _ = page.skip(directory.as_bytes(), &unreadable(errno));
            }
        }
        Ok(page.listing)
    }
}

/// Add what lies in the directory `at` (a path with a slash at its end, or nothing for the root).
fn walk(directory: OwnedFd, at: &[u8], page: &mut Page) -> ControlFlow<()> {
    let (directory, mut names) = match names_in(directory, at) {
        Ok(names) => names,
        Err(errno) => return page.skip(at, &unreadable(errno)),
    };
    names.retain(|name| page.wants(&[at, &name.sorted].concat()));
    names.sort_unstable();
    for Name { sorted, name } in names {
        let full = [at, &sorted].concat();
        if let Some(cause) = problem(&full, name.to_bytes()) {
            page.skip(&full, cause)?;
            continue;
        }
        if full.ends_with(b"/") {
            match directory.fd().and_then(|parent| open_listed(parent, &name)) {
                Ok(child) if page.delimiter => match holds_key(child, &full, &page.after) {
                    Ok(true) => page.fold(&full)?,
                    Ok(false) => {}
                    Err(errno) => page.skip(&full, &unreadable(errno))?,
                },
                Ok(child) => walk(child, &full, page)?,
                // Removed, or replaced by something else, since its name was read.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(errno) => page.skip(&full, &unreadable(errno))?,
            }
            continue;
        }
        let stat = directory
            .fd()
            .and_then(|parent| fs::statat(parent, &name, AtFlags::SYMLINK_NOFOLLOW));
        match stat.map(|stat| Stamp::new(&stat)) {
            Ok(stamp) => page.add(&full, &stamp)?,
            Err(Errno::NOENT) => {}
            Err(errno) => page.skip(&full, &unreadable(errno))?,
        }
    }
    ControlFlow::Continue(())
}

impl Page {
    /// Whether `full`, a key or a directory with its slash, is or may lead to something on this page.
    fn wants(&self, full: &[u8]) -> bool {
        // Everything below a directory comes before a position that is after and outside it.
        let before = |position: &[u8]| {
            full <= position && !(full.ends_with(b"/") && position.starts_with(full))
        };
        let passed = self.last.ends_with(b"/") && full.starts_with(&self.last);
        full.starts_with(&self.prefix) && !before(&self.after) && !before(&self.last) && !passed
    }

    fn add(&mut self, full: &[u8], stamp: &Stamp) -> ControlFlow<()> {
        match stamp.kind {
            FileType::RegularFile if self.deny_hard_links && stamp.links > 1 => {
                return self.skip(
                    full,
                    "a file with another name (a hard link), forbidden here",
                );
            }
            FileType::RegularFile => {}
            // It was a file when its name was read; whoever made it a directory has just begun.
            FileType::Directory => return ControlFlow::Continue(()),
            other => return self.skip(full, named(other)),
        }
        self.room_for(full)?;
        self.listing.entries.push(Entry {
            key: text(full),
            size_bytes: stamp.size,
            modified_ms: stamp.modified_ms(),
            version: stamp.is_large().then(|| stamp.identity().version),
        });
        ControlFlow::Continue(())
    }

    fn fold(&mut self, full: &[u8]) -> ControlFlow<()> {
        self.room_for(full)?;
        self.listing.prefixes.push(text(full));
        ControlFlow::Continue(())
    }

    fn skip(&mut self, full: &[u8], cause: &str) -> ControlFlow<()> {
        self.room_for(full)?;
        self.listing.skipped.push(Skipped {
            key: text(full),
            cause: cause.to_owned(),
        });
        ControlFlow::Continue(())
    }

    /// What is skipped counts too: a directory of a million links does not make one endless page.
    fn room_for(&mut self, full: &[u8]) -> ControlFlow<()> {
        let Listing {
            entries,
            prefixes,
            skipped,
            cursor,
        } = &mut self.listing;
        if entries.len() + prefixes.len() + skipped.len() == self.limit {
            *cursor = Some(value::hex(&self.last));
            return ControlFlow::Break(());
        }
        full.clone_into(&mut self.last);
        ControlFlow::Continue(())
    }
}

/// Whether anything after `after` lies in `directory`, whose path is `at`. Stops at the first. An error
/// when there is nothing but something could not be looked at. A link or a pipe counts, although it is
/// no key: who then asks for it learns the cause, where a folder left out would hide it without a word.
fn holds_key(directory: OwnedFd, at: &[u8], after: &[u8]) -> Result<bool, Errno> {
    let (directory, names) = names_in(directory, at)?;
    let parent = directory.fd()?;
    let mut directories = Vec::new();
    for Name { sorted, name } in names {
        let full = [at, &sorted].concat();
        if problem(&full, name.to_bytes()).is_some() {
            continue;
        }
        if full.ends_with(b"/") {
            directories.push((full, name));
            continue;
        }
        let stat = fs::statat(parent, &name, AtFlags::SYMLINK_NOFOLLOW);
        let lies_there = stat.is_ok_and(|stat| Stamp::new(&stat).kind != FileType::Directory);
        if lies_there && *full > *after {
            return Ok(true);
        }
    }
    let mut unreadable = None;
    for (full, name) in directories {
        match open_listed(parent, &name).and_then(|child| holds_key(child, &full, after)) {
            Ok(true) => return Ok(true),
            Ok(false) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(errno) => unreadable = Some(errno),
        }
    }
    unreadable.map_or(Ok(false), Err)
}

/// The names in a directory, unsorted, without the store's own folder.
fn names_in(directory: OwnedFd, at: &[u8]) -> Result<(Dir, Vec<Name>), Errno> {
    let mut directory = Dir::new(directory)?;
    let mut names = Vec::new();
    while let Some(entry) = directory.read() {
        let entry = entry?;
        let name = entry.file_name();
        let bytes = name.to_bytes();
        if bytes == b"." || bytes == b".." || (at.is_empty() && bytes == RESERVED.as_bytes()) {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            kind = match fs::statat(directory.fd()?, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => continue,
            };
        }
        let mut sorted = bytes.to_owned();
        if kind == FileType::Directory {
            sorted.push(b'/');
        }
        let name = name.to_owned();
        names.push(Name { sorted, name });
    }
    Ok((directory, names))
}

/// Why what lies at `full` cannot be or hold an object.
fn problem(full: &[u8], name: &[u8]) -> Option<&'static str> {
    let Ok(name) = std::str::from_utf8(name) else {
        return Some("its name is not UTF-8; rename it");
    };
    if let Some((_, rule)) = segment_problem(name) {
        return Some(rule);
    }
    let room = if full.ends_with(b"/") {
        KEY_BYTES_MAX - 1
    } else {
        KEY_BYTES_MAX
    };
    (full.len() > room).then_some("its path is over 1,024 bytes; move it up")
}

fn unreadable(errno: Errno) -> String {
    match errno {
        Errno::ACCESS | Errno::PERM => {
            "permission denied; let this user into it, or run as its owner".to_owned()
        }
        errno => format!("it cannot be read: {errno}"),
    }
}

/// Names that are not UTF-8 as near as can be.
fn text(full: &[u8]) -> String {
    String::from_utf8_lossy(full).into_owned()
}
