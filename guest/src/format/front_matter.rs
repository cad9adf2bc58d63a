//! The front matter of a markdown file: where its block lies, what it says, what had to be repaired.
//! Knows no store, no key and no field: what the fields mean is `skill.rs`'s.
//!
//! The body's bytes are never touched. The block's values come from gray_matter, which sees it only
//! after the event pass of `events.rs` has bounded it; order, line numbers and the text of scalars come
//! from that pass, because gray_matter's map has no order, no lines, and numbers without their digits.

mod events;
mod json;
mod repair;
mod value;

use gray_matter::Pod;
use gray_matter::engine::{Engine, YAML};

use crate::limits::FRONT_MATTER_BYTES_MAX;
use crate::types::{Problem, ProblemKind};

use events::Fault;
pub use json::{from_json, without_trailing_commas};
pub use value::{Node, ScalarKind, Value, json_of};

/// A problem of a file whose key the format does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub kind: ProblemKind,
    /// Counted from 1, in the file.
    pub line: Option<u32>,
    pub message: String,
}

impl Finding {
    pub fn new(
        kind: ProblemKind,
        line: impl Into<Option<u32>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            line: line.into(),
            message: message.into(),
        }
    }

    /// The same, as a problem of the object under `key`.
    pub fn at(self, key: &str) -> Problem {
        Problem {
            kind: self.kind,
            key: key.to_owned(),
            line: self.line,
            message: self.message,
        }
    }
}

/// What a file's front matter says.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// The file does not begin with a block.
    Absent,
    /// The entries in the order of the file; none for an empty block.
    Read(Vec<(String, Node)>),
    /// There is a block and it cannot be read; a finding says why.
    Unreadable,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FrontMatter<'a> {
    pub block: Block,
    /// Everything after the block, byte for byte; empty after a block that never ends.
    pub body: &'a str,
    pub body_start_bytes: usize,
    /// The line of the file on which the body begins.
    pub body_start_line: u32,
    pub findings: Vec<Finding>,
}

/// Where the block lies. `head` and `body` together are the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split<'a> {
    pub head: &'a str,
    /// What stands between the delimiters; none without a block, or when it never ends.
    pub block: Option<&'a str>,
    pub body: &'a str,
    /// The first line opens a block and no line closes it.
    pub unclosed: bool,
}

/// Find the block: an optional byte order mark, `---` as the first line, and the next line that is
/// `---`, blanks behind either allowed, with LF or CRLF.
pub fn split(text: &str) -> Split<'_> {
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let line_end = |from: usize| {
        text.get(from..)
            .and_then(|rest| rest.find('\n'))
            .map_or(text.len(), |at| from + at + 1)
    };
    let is_delimiter = |from: usize, to: usize| {
        text.get(from..to)
            .is_some_and(|line| line.trim_end_matches([' ', '\t', '\r', '\n']) == "---")
    };
    let divide = |at: usize, block, unclosed| {
        let (head, body) = text.split_at_checked(at).unwrap_or((text, ""));
        Split {
            head,
            block,
            body,
            unclosed,
        }
    };
    let block_start = line_end(start);
    if !is_delimiter(start, block_start) {
        return divide(0, None, false);
    }
    let mut at = block_start;
    while at < text.len() {
        let next = line_end(at);
        if is_delimiter(at, next) {
            return divide(next, text.get(block_start..at), false);
        }
        at = next;
    }
    divide(text.len(), None, true)
}

/// Read the front matter of a file's text. Never fails: what cannot be read is a finding.
pub fn parse(text: &str) -> FrontMatter<'_> {
    let parts = split(text);
    let mut findings = Vec::new();
    let block = match parts.block {
        Some(block) => match read_block(block) {
            Ok((entries, repairs)) => {
                findings = repairs;
                Block::Read(entries)
            }
            Err(fault) => {
                findings.push(Finding::new(
                    ProblemKind::Unreadable,
                    fault.line.saturating_add(1),
                    format!("the front matter cannot be read: {}", fault.message),
                ));
                Block::Unreadable
            }
        },
        None if parts.unclosed => {
            findings.push(Finding::new(
                ProblemKind::Unreadable,
                1,
                "the front matter opened by the first line is never closed by a line `---`",
            ));
            Block::Unreadable
        }
        None => Block::Absent,
    };
    FrontMatter {
        block,
        body: parts.body,
        body_start_bytes: parts.head.len(),
        body_start_line: 1 + u32_of(parts.head.matches('\n').count()),
        findings,
    }
}

type Entries = Vec<(String, Node)>;

/// The entries of a block; lines of faults count from the block's first, those of findings and nodes
/// in the file, where the block begins on line 2.
fn read_block(block: &str) -> Result<(Entries, Vec<Finding>), Fault> {
    if block.len() > FRONT_MATTER_BYTES_MAX {
        return Err(Fault::limit(
            1,
            format!(
                "it has {} bytes and may have {FRONT_MATTER_BYTES_MAX}",
                block.len()
            ),
        ));
    }
    if let Some((before, _)) = block.split_once('\0') {
        // The YAML scanner takes a NUL for the end and would drop what follows without a word.
        let line = 1 + u32_of(before.matches('\n').count());
        return Err(Fault::limit(line, "a NUL character".to_owned()));
    }
    // In YAML a line end is a line end; only the body's bytes matter.
    let block = block.replace("\r\n", "\n");
    let mut repairs = Vec::new();
    let (text, outline) = match events::outline(&block) {
        Ok(outline) => (block, outline),
        Err(fault) if fault.limit => return Err(fault),
        Err(fault) => {
            let repaired = repair::repair(&block).ok_or(fault)?;
            let outline = events::outline(&repaired.text)?;
            repairs = repaired
                .notes
                .into_iter()
                .map(|(line, note)| {
                    Finding::new(ProblemKind::Repaired, line.saturating_add(1), note)
                })
                .collect();
            (repaired.text, outline)
        }
    };
    let Some(outline) = outline else {
        return Ok((Vec::new(), repairs));
    };
    let line = outline.line;
    let pod: Pod = YAML::parse(&text).map_err(|error| Fault::syntax(line, error.to_string()))?;
    match value::merge(pod, outline)?.value {
        Value::Map(entries) => Ok((entries, repairs)),
        Value::Scalar {
            kind: ScalarKind::Null,
            ..
        } => Ok((Vec::new(), repairs)),
        Value::Scalar { .. } | Value::List(_) => Err(Fault::syntax(
            line,
            "it is not a mapping of names to values".to_owned(),
        )),
    }
}

fn u32_of(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
