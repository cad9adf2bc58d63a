//! The messages that a compaction removes, read from the log in order: for the model, for a check that they
//! are what they were, and for the archive.

use super::conversation::hash_of;
use super::state::Removed;
use crate::format::live_log::{self, What};
use crate::format::message::Message;
use crate::limits::COMPACTION_PIECE_BYTES;
use crate::protocol::archive::{RawSource, Run};
use crate::protocol::log::{Forward, ForwardEntry, Log, Position};
use crate::types::{Error, ErrorCode, Result};

/// The lines of a log between two positions.
pub struct Part<'a> {
    forward: Forward<'a>,
    from: Position,
    end: Position,
    key: String,
}

/// Some lines of a part, and where the next ones begin; none at its end.
pub struct Lines {
    pub lines: Vec<Line>,
    pub next: Option<Position>,
}

/// A line, whatever it says.
pub struct Line {
    pub position: Position,
    entry: ForwardEntry,
}

impl Line {
    /// The message in it; none where there is none.
    pub fn message(&self) -> Option<Message<'_>> {
        let Ok(What::Message(line)) = live_log::parse(&self.entry.content).map(|line| line.what)
        else {
            return None;
        };
        Message::parse(line).ok()
    }

    /// What of it is archived: the message as it was given, or what cannot be read, as it stands. Lines that
    /// the log is managed by are not.
    fn archived(&self) -> Option<&[u8]> {
        match live_log::parse(&self.entry.content).map(|line| line.what) {
            Ok(What::Message(line)) => Some(line.as_bytes()),
            Ok(_) => None,
            Err(_) => Some(&self.entry.content),
        }
    }
}

impl<'a> Part<'a> {
    /// `conflict` when the log is gone or a piece of it is missing.
    pub fn of(log: Log<'a>, removed: &Removed) -> Result<Self> {
        let key = log.keys.head().to_owned();
        let forward = Forward::of(log)?.ok_or_else(|| changed(&key, "it is not there any more"))?;
        Ok(Self {
            forward,
            from: removed.from.at()?,
            end: removed.end.at()?,
            key,
        })
    }

    /// Lines from a position on, at most `bytes_max` of them, and at least one.
    pub fn lines(&self, from: Position, bytes_max: u64) -> Result<Lines> {
        let run = self.forward.run_at(Some(from), bytes_max)?;
        let mut lines = Vec::new();
        for entry in run.entries {
            if entry.position >= self.end {
                return Ok(Lines { lines, next: None });
            }
            lines.push(Line {
                position: entry.position,
                entry,
            });
        }
        match run.next {
            Some(next) if next >= self.end => Ok(Lines { lines, next: None }),
            Some(next) => Ok(Lines {
                lines,
                next: Some(next),
            }),
            None => Err(changed(&self.key, "it ends before the messages to keep")),
        }
    }

    /// `conflict` when the messages are not those that the compaction began with.
    pub fn check(&self, removed: &Removed) -> Result<()> {
        let (mut messages, mut hash) = (0u64, 0u64);
        let mut at = Some(self.from);
        while let Some(from) = at {
            let lines = self.lines(from, COMPACTION_PIECE_BYTES)?;
            for message in lines.lines.iter().filter_map(Line::message) {
                messages += 1;
                hash = hash.wrapping_add(hash_of(message.line));
            }
            at = lines.next;
        }
        if (messages, hash) != (removed.messages, removed.hash) {
            return Err(changed(&self.key, "its messages are not what they were"));
        }
        Ok(())
    }
}

impl RawSource for Part<'_> {
    fn run_at(&mut self, position: Option<&str>) -> Result<Run> {
        let from = position.map_or(Ok(self.from), Position::parse)?;
        let lines = self.lines(from, COMPACTION_PIECE_BYTES)?;
        let mut run = Run {
            raw: Vec::new(),
            entries: 0,
            next: lines.next.map(Position::to_text),
        };
        for line in lines.lines.iter().filter_map(Line::archived) {
            run.raw.extend_from_slice(line);
            run.raw.push(b'\n');
            run.entries += 1;
        }
        Ok(run)
    }
}

/// The log is not what the compaction began with.
pub fn changed(key: &str, how: &str) -> Error {
    Error::new(
        ErrorCode::Conflict,
        format!(
            "{key} changed since the compaction began: {how}; nothing was removed: begin again"
        ),
    )
    .at(key)
}
