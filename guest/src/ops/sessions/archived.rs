//! The lines of an archive, one after the other in bounded memory, whatever wrote it. Knows no export.

use std::ops::ControlFlow;

use crate::format::gzip::{Damage, Decoder, Footing};
use crate::limits::{ARCHIVE_READ_BYTES, ARCHIVE_STEP_RAW_BYTES, VALUE_BYTES_MAX};
use crate::protocol::archive::footings_of;
use crate::store::{BodyKind, GetRequest, Metered, Range};
use crate::types::{Problem, ProblemKind, Result};

/// A line of an archive that is not blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchivedLine<'a> {
    /// Counted from 1; blank lines count.
    pub number: u32,
    /// Without its end; none for a line over 8 MiB, which is not held.
    pub bytes: Option<&'a [u8]>,
    /// Where reading can begin to come to this line.
    pub from: Begin,
}

/// Where the lines of an archive are read from: its beginning, or behind a piece of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Begin {
    /// Lines before it.
    pub lines: u32,
    pub footing: Footing,
}

/// How reading went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadLines {
    /// Whether there is such an object.
    pub found: bool,
    /// What is wrong with it; not looked for behind an early end.
    pub damage: Option<Damage>,
}

impl ReadLines {
    /// As a problem of this object.
    pub fn problem(&self, key: &str) -> Option<Problem> {
        let damage = self.damage.as_ref()?;
        let message =
            format!("the archive is damaged, and what was saved of it is given: {damage}");
        Some(Problem::new(ProblemKind::Unreadable, key, message))
    }
}

/// Show `see` every line from `begin` on, until it breaks off.
pub fn each_line(
    store: &Metered<'_>,
    key: &str,
    begin: Begin,
    mut see: impl FnMut(ArchivedLine<'_>) -> ControlFlow<()>,
) -> Result<ReadLines> {
    let broken_off = ReadLines {
        found: true,
        damage: None,
    };
    let mut decoder = Decoder::at(begin.footing);
    let mut raw = vec![0; ARCHIVE_STEP_RAW_BYTES];
    let mut lines = Splitter::from(begin);
    let mut offset = begin.footing.offset_bytes;
    loop {
        let request = GetRequest {
            key: key.to_owned(),
            range: Range::Span {
                start_bytes: offset,
                length_bytes: ARCHIVE_READ_BYTES,
            },
            kind: BodyKind::Binary,
        };
        let Some(blob) = store.get(request)? else {
            return Ok(ReadLines {
                found: false,
                damage: None,
            });
        };
        let footings = footings_of(&blob.stat.metadata);
        let mut rest = blob.body.as_bytes();
        let end = offset + rest.len() as u64;
        let is_last = rest.is_empty() || end >= blob.stat.size_bytes;
        while !rest.is_empty() {
            let footing = footings.iter().find(|at| **at > offset && **at <= end);
            let length = footing.map_or(rest.len(), |at| (at - offset) as usize);
            let (mut part, behind) = rest.split_at(length.min(rest.len()));
            loop {
                let progress = decoder.feed(part, &mut raw);
                let written = raw.get(..progress.written_bytes).unwrap_or_default();
                if lines.take(written, &mut see).is_break() {
                    return Ok(broken_off);
                }
                part = part.get(progress.consumed_bytes..).unwrap_or_default();
                if part.is_empty() && progress.written_bytes < raw.len() {
                    break;
                }
            }
            if footing.is_some() {
                lines.set_begin(decoder.footing());
            }
            offset += length as u64;
            rest = behind;
        }
        if is_last || decoder.is_damaged() {
            let damage = decoder.finish().damage;
            if lines.end(&mut see).is_break() {
                return Ok(broken_off);
            }
            return Ok(ReadLines {
                found: true,
                damage,
            });
        }
    }
}

/// Cuts what comes in steps of any size into lines.
#[derive(Default)]
struct Splitter {
    line: Vec<u8>,
    is_over: bool,
    ended: u32,
    begin: Begin,
}

impl Splitter {
    fn from(begin: Begin) -> Self {
        Self {
            ended: begin.lines,
            begin,
            ..Self::default()
        }
    }

    /// Reading can begin here, if a line does.
    fn set_begin(&mut self, footing: Option<Footing>) {
        let begins_line = self.line.is_empty() && !self.is_over;
        if let Some(footing) = footing.filter(|_| begins_line) {
            self.begin = Begin {
                lines: self.ended,
                footing,
            };
        }
    }

    fn take(
        &mut self,
        mut raw: &[u8],
        see: &mut impl FnMut(ArchivedLine<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while let Some(end) = raw.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = raw.split_at(end);
            self.push(line);
            self.end(see)?;
            raw = rest.get(1..).unwrap_or_default();
        }
        self.push(raw);
        ControlFlow::Continue(())
    }

    fn push(&mut self, part: &[u8]) {
        if (self.line.len() + part.len()) as u64 > VALUE_BYTES_MAX {
            self.is_over = true;
            self.line.clear();
        }
        if !self.is_over {
            self.line.extend_from_slice(part);
        }
    }

    fn end(
        &mut self,
        see: &mut impl FnMut(ArchivedLine<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.ended = self.ended.saturating_add(1);
        let is_over = std::mem::take(&mut self.is_over);
        let line = std::mem::take(&mut self.line);
        let bytes = line.trim_ascii();
        let seen = match (is_over, bytes.is_empty()) {
            (true, _) => see(ArchivedLine {
                number: self.ended,
                bytes: None,
                from: self.begin,
            }),
            (false, true) => ControlFlow::Continue(()),
            (false, false) => see(ArchivedLine {
                number: self.ended,
                bytes: Some(bytes),
                from: self.begin,
            }),
        };
        self.line = line;
        self.line.clear();
        seen
    }
}

/// The message that a line is, or what to say of one that is none.
pub fn message_line_of(key: &str, line: &ArchivedLine<'_>) -> std::result::Result<String, Problem> {
    use crate::format::message::{Fault, Message};
    let fault =
        |message: String| Problem::new(ProblemKind::Unreadable, key, message).on_line(line.number);
    let Some(bytes) = line.bytes else {
        return Err(fault(format!(
            "the line has over {VALUE_BYTES_MAX} bytes, more than is read"
        )));
    };
    let text = std::str::from_utf8(bytes)
        .map_err(|error| fault(Fault::NotUtf8(error.valid_up_to()).to_string()))?
        .trim_start_matches('\u{feff}');
    match Message::parse(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(cause) => Err(fault(cause.to_string())),
    }
}
