//! A session's log or archive as messages in order, with what could not be read beside them. Knows no
//! key; memory is proportional to the input.

use super::{Fault, Message};
use crate::format::jsonl::{Line, lines};
use crate::types::{Problem, ProblemKind};

/// A message, and where its line stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<'a> {
    /// Counted from 1; blank lines count.
    pub number: u32,
    pub offset_bytes: usize,
    pub message: Message<'a>,
}

/// A line that is no message, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineFault {
    pub number: u32,
    pub offset_bytes: usize,
    pub length_bytes: usize,
    pub fault: Fault,
}

impl LineFault {
    /// The problem, in the object of this key.
    pub fn at(&self, key: &str) -> Problem {
        let kind = match self.fault {
            Fault::Torn(_) => ProblemKind::Truncated,
            _ => ProblemKind::Unreadable,
        };
        Problem::new(kind, key, self.fault.to_string()).on_line(self.number)
    }
}

/// Every line of a text that is not blank is in exactly one of the two, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Log<'a> {
    pub entries: Vec<Entry<'a>>,
    pub faults: Vec<LineFault>,
}

impl Log<'_> {
    /// The last line, if its writer was stopped in it.
    pub fn torn(&self) -> Option<&LineFault> {
        self.faults
            .last()
            .filter(|last| matches!(last.fault, Fault::Torn(_)))
    }
}

/// The lines of a JSON Lines text one after the other, in the memory of one: a message, or why it is none.
pub fn entries(text: &[u8]) -> impl Iterator<Item = Result<Entry<'_>, LineFault>> {
    lines(text).map(|line| match message_of(line) {
        Ok(message) => Ok(Entry {
            number: line.number,
            offset_bytes: line.offset_bytes,
            message,
        }),
        Err(fault) => Err(LineFault {
            number: line.number,
            offset_bytes: line.offset_bytes,
            length_bytes: line.bytes.len(),
            fault,
        }),
    })
}

/// Read JSON Lines whole. A line that is no message is reported and the rest is kept. Parsed messages take
/// many times the bytes of very short lines: for what may be long, take [`entries`].
pub fn read(text: &[u8]) -> Log<'_> {
    let mut log = Log::default();
    for entry in entries(text) {
        match entry {
            Ok(entry) => log.entries.push(entry),
            Err(fault) => log.faults.push(fault),
        }
    }
    log
}

fn message_of(line: Line<'_>) -> Result<Message<'_>, Fault> {
    let read = std::str::from_utf8(line.bytes)
        .map_err(|error| Fault::NotUtf8(error.valid_up_to()))
        .and_then(Message::parse);
    read.map_err(|fault| match fault {
        Fault::NotUtf8(_) | Fault::NotJson(_) if !line.ended => Fault::Torn(fault.to_string()),
        _ => fault,
    })
}
