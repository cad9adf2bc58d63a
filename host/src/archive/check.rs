//! Whether an archive is what its own manifest says: begun for this user, every file summed, ended whole. Pure.

use std::collections::HashMap;

use super::manifest::{
    self, BEGIN, Begin, END, End, FILES_PER_PART_MAX, FOLDER, Line, Sum, part_name, wrong,
};
use super::{NAMED_MAX, Owner};
use crate::store::key::shown;
use crate::store::{Error, value};

/// What was in an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    pub files: u64,
    pub bytes: u64,
    /// Whether it says what its files hash to; they do then.
    pub has_sums: bool,
    /// Files that changed while they were exported.
    pub changed: u64,
    /// What the export could not take, with the cause: the first hundred, and how many.
    pub left_out: Vec<(String, String)>,
    pub left_out_count: u64,
}

/// What was read of an archive so far, in its order.
pub struct Check<'a> {
    owner: &'a Owner,
    state: State,
    /// Size and SHA-256 of files that no part of the sums has named yet.
    unsummed: HashMap<String, (u64, [u8; 32])>,
    parts: u64,
    found: Unpacked,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing was read yet.
    Awaited,
    /// Somebody else's tar: nothing to check by.
    None,
    Begun,
    Ended,
}

impl<'a> Check<'a> {
    pub fn new(owner: &'a Owner) -> Self {
        Check {
            owner,
            state: State::Awaited,
            unsummed: HashMap::new(),
            parts: 0,
            found: Unpacked::default(),
        }
    }

    /// Before a file is taken: whether one of this name may stand here.
    pub fn admit(&mut self, path: &str) -> Result<(), Error> {
        if self.state == State::Awaited && path != BEGIN {
            self.state = State::None;
        }
        let Owner { user, prefix } = self.owner;
        match self.state {
            State::Ended => Err(wrong(format!("{} stands behind its end", shown(path)))),
            State::None if path.starts_with(FOLDER) => Err(wrong(format!(
                "{} stands without {BEGIN} at its beginning; a part of it is missing",
                shown(path)
            ))),
            _ if path.starts_with(FOLDER) || path.starts_with(prefix) => Ok(()),
            _ => Err(wrong(format!(
                "it holds {}, which is not below {prefix}: it is not, or not only, of {user} (--from-user names \
                 whose it is; by hand, `tar czf FILE -C STORE {}` makes one)",
                shown(path),
                prefix.trim_end_matches('/')
            ))),
        }
    }

    /// A file of the user was read.
    pub fn file(&mut self, path: &str, size_bytes: u64, hash: [u8; 32]) -> Result<(), Error> {
        self.found.files += 1;
        self.found.bytes += size_bytes;
        if self.state == State::None {
            return Ok(());
        }
        self.unsummed.insert(path.to_owned(), (size_bytes, hash));
        match self.unsummed.len() <= FILES_PER_PART_MAX {
            true => Ok(()),
            false => Err(wrong(format!(
                "over {FILES_PER_PART_MAX} files have no sums behind them"
            ))),
        }
    }

    /// An entry of the manifest was read.
    pub fn manifest(&mut self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        match path {
            BEGIN if self.state == State::Awaited => {
                let begin = Begin::parse(bytes)?;
                let Owner { user, prefix } = self.owner;
                if begin.user != *user || begin.prefix != *prefix {
                    return Err(wrong(format!(
                        "it is of user {}, not of {user}; --from-user {} imports it all the same",
                        shown(&begin.user),
                        begin.user.escape_debug()
                    )));
                }
                self.state = State::Begun;
                self.found.has_sums = true;
                Ok(())
            }
            END => {
                let end: End = manifest::parse(path, bytes)?;
                self.all_summed()?;
                let Unpacked { files, bytes, .. } = self.found;
                if (end.files, end.bytes) != (files, bytes) {
                    return Err(wrong(format!(
                        "it should hold {} files of {} bytes, and holds {files} of {bytes}",
                        end.files, end.bytes
                    )));
                }
                self.state = State::Ended;
                Ok(())
            }
            path if path == part_name(self.parts + 1) => {
                self.parts += 1;
                for line in manifest::parse_lines(path, bytes)? {
                    self.line(line)?;
                }
                self.all_summed()
            }
            path => Err(wrong(format!("{} has no place there", shown(path)))),
        }
    }

    fn line(&mut self, line: Line) -> Result<(), Error> {
        let sum = match line {
            Line::File(sum) => sum,
            Line::LeftOut { path, left_out } => {
                self.found.left_out_count += 1;
                if self.found.left_out.len() < NAMED_MAX {
                    self.found.left_out.push((path, left_out));
                }
                return Ok(());
            }
        };
        let Sum {
            path,
            size_bytes,
            sha256,
            changed,
            ..
        } = sum;
        self.found.changed += u64::from(changed);
        match self.unsummed.remove(&path) {
            None => Err(wrong(format!(
                "it has a sum of {}, and no such file",
                shown(&path)
            ))),
            Some((size, _)) if size != size_bytes => Err(wrong(format!(
                "{} should have {size_bytes} bytes, and has {size}",
                shown(&path)
            ))),
            Some((_, hash)) if value::hex(&hash) != sha256 => Err(wrong(format!(
                "{} has other bytes than were exported: its SHA-256 is another",
                shown(&path)
            ))),
            Some(_) => Ok(()),
        }
    }

    fn all_summed(&self) -> Result<(), Error> {
        match self.unsummed.keys().next() {
            None => Ok(()),
            Some(path) => Err(wrong(format!("it has no sum of {}", shown(path)))),
        }
    }

    /// The archive has ended.
    pub fn end(self) -> Result<Unpacked, Error> {
        match self.state {
            State::Begun => Err(wrong(format!(
                "it ends without {END}, so something cut it off; export it again"
            ))),
            _ if self.found.files == 0 => {
                let prefix = &self.owner.prefix;
                Err(wrong(format!("it holds no file below {prefix}")))
            }
            _ => Ok(self.found),
        }
    }
}
