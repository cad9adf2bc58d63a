//! What logs are made of: entries with an id, in pieces of bytes that may begin or end anywhere. Knows
//! no store and no key.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// One entry of a log, with its end where that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    pub bytes: &'a [u8],
    /// What two copies of it have in common; of a line, all but its end.
    pub content: &'a [u8],
    /// None where it has none, or cannot be read; then `problem` says why.
    pub id: Option<String>,
    /// What is wrong with it, for people.
    pub problem: Option<&'static str>,
    /// Whether its end is there; what has none is ended before another entry follows.
    pub is_ended: bool,
}

/// How a kind of log is divided into entries.
pub trait EntryFormat {
    fn content_type(&self) -> &'static str;

    /// Where the first whole entry begins in a piece that begins anywhere in a log; none when no entry
    /// begins in it.
    fn footing(&self, piece: &[u8]) -> Option<usize>;

    /// The entries of a piece that begins with one, or with the log itself, in order; what is no entry stays in,
    /// with its problem. Joined, their bytes are the piece, but for what the format puts between entries.
    fn entries<'a>(&self, piece: &'a [u8]) -> Vec<Entry<'a>>;

    /// How many entries that is.
    fn count(&self, piece: &[u8]) -> usize {
        self.entries(piece).len()
    }

    /// What has to be written behind `end`, the last bytes of a log from the beginning of an entry on, so that
    /// an entry can follow: it ends what is torn, and parts the two.
    fn separator(&self, end: &[u8]) -> &'static [u8];

    /// Whether a log of this kind begins with an entry that opens it: one that is not there is over, and
    /// takes no entry.
    fn is_opened(&self) -> bool {
        false
    }

    /// Whether an entry of this content is the last of its log, which takes none behind it.
    fn closes(&self, _content: &[u8]) -> bool {
        false
    }
}

/// JSON objects, one a line, with a string `id`, also inside `message`.
#[derive(Debug, Clone, Copy)]
pub struct JsonLines;

impl EntryFormat for JsonLines {
    fn content_type(&self) -> &'static str {
        "application/jsonl"
    }

    fn footing(&self, piece: &[u8]) -> Option<usize> {
        let end = piece.iter().position(|byte| *byte == b'\n')?;
        Some(end + 1)
    }

    fn entries<'a>(&self, piece: &'a [u8]) -> Vec<Entry<'a>> {
        written_lines(piece).map(entry).collect()
    }

    fn count(&self, piece: &[u8]) -> usize {
        written_lines(piece).count()
    }

    fn separator(&self, end: &[u8]) -> &'static [u8] {
        match end.last() {
            None | Some(b'\n') => b"",
            Some(_) => b"\n",
        }
    }
}

/// Lines that are not blank, with their ends.
fn written_lines(piece: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = piece.split_inclusive(|byte| *byte == b'\n');
    lines.filter(|line| !line.trim_ascii().is_empty())
}

/// The members that matter here; a value of any type, because real logs hold any.
#[derive(Deserialize)]
struct Identified<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

fn entry(line: &[u8]) -> Entry<'_> {
    let parsed: Option<Identified<'_>> = std::str::from_utf8(line)
        .ok()
        .filter(|text| text.trim_start_matches('\u{feff}').starts_with('{'))
        .and_then(|text| serde_json::from_str(text.trim_start_matches('\u{feff}')).ok());
    let Some(parsed) = parsed else {
        let problem = if line.ends_with(b"\n") {
            "not a JSON object"
        } else {
            "torn: the line has no end"
        };
        return Entry {
            bytes: line,
            content: line.trim_ascii_end(),
            id: None,
            problem: Some(problem),
            is_ended: line.ends_with(b"\n"),
        };
    };
    let inner = || {
        let message = parsed.message?.get();
        serde_json::from_str::<Identified<'_>>(message).ok()?.id
    };
    let id = parsed.id.or_else(inner);
    Entry {
        bytes: line,
        content: line.trim_ascii_end(),
        id: id
            .and_then(|id| serde_json::from_str::<Cow<'_, str>>(id.get()).ok())
            .map(Cow::into_owned),
        problem: None,
        is_ended: line.ends_with(b"\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_their_ids() {
        let piece = b"{\"id\":\"a\",\"x\":1e400}\n\r\n{\"message\":{\"id\":\"b\\u00e9\"}}\r\n{\"id\":7}\nnonsense\n{\"id\":\"c\"}";
        let entries = JsonLines.entries(piece);
        let ids: Vec<_> = entries.iter().map(|entry| entry.id.as_deref()).collect();
        assert_eq!(ids, [Some("a"), Some("b\u{e9}"), None, None, Some("c")]);
        let problems: Vec<_> = entries.iter().filter_map(|entry| entry.problem).collect();
        assert_eq!(problems, ["not a JSON object"]);
        let torn = JsonLines.entries(b"{\"id\":\"a\"}\n{\"id\":\"b");
        assert_eq!(torn[1].problem, Some("torn: the line has no end"));
        assert_eq!(torn[1].id, None);
    }

    #[test]
    fn footing_is_behind_a_line_end() {
        assert_eq!(JsonLines.footing(b"rest\n{}\n"), Some(5));
        assert_eq!(JsonLines.footing(b"rest\n"), Some(5));
        assert_eq!(JsonLines.footing(b"rest"), None);
    }

    #[test]
    fn a_log_is_ended_before_an_entry_follows() {
        assert_eq!(JsonLines.separator(b""), b"");
        assert_eq!(JsonLines.separator(b"{}\n"), b"");
        assert_eq!(JsonLines.separator(b"{}"), b"\n");
    }
}
