//! Lines of a gsv session's live log, a documented extension of the reference's layout: what each is, and
//! how it is written. Knows no store, and of a message only that it is JSON.
//!
//! ```text
//! {"id":"<request>.open","open":{"format":1,"sessionId":"…","sessionKey":"…"}}   the first line
//! {"id":"<request>.<n>","message":{…}}                                           the message verbatim
//! {"id":"m<n>","message":{…}}                            the same, of a session that its host keeps itself
//! {"id":"part<ms>.summary","compaction":{"summary":"…","firstKept":"<id>","partMs":…,"request":"…"}}
//! {"id":"<request>.close","close":{"format":1}}                                  the last line
//! ```
//!
//! A log that has no first line is none, and behind the last line nothing is appended: so a session that
//! is being reset takes no message that its archive would not have.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::entries::{Entry, EntryFormat, JsonLines};
use super::json_member::check_depth;
use crate::types::{Error, ErrorCode, Result};

/// The number of this format; a higher one is refused.
pub const FORMAT: u64 = 1;

/// The lines of a live log, as the log protocol takes them.
#[derive(Debug, Clone, Copy)]
pub struct SessionLines;

impl EntryFormat for SessionLines {
    fn content_type(&self) -> &'static str {
        JsonLines.content_type()
    }

    fn footing(&self, piece: &[u8]) -> Option<usize> {
        JsonLines.footing(piece)
    }

    fn entries<'a>(&self, piece: &'a [u8]) -> Vec<Entry<'a>> {
        JsonLines.entries(piece)
    }

    fn count(&self, piece: &[u8]) -> usize {
        JsonLines.count(piece)
    }

    fn separator(&self, end: &[u8]) -> &'static [u8] {
        JsonLines.separator(end)
    }

    fn is_opened(&self) -> bool {
        true
    }

    fn closes(&self, content: &[u8]) -> bool {
        matches!(parse(content), Ok(line) if line.what == What::Close)
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Line<'a> {
    /// None on a line that another program wrote.
    pub id: Option<Cow<'a, str>>,
    pub what: What<'a>,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq)]
pub enum What<'a> {
    Open(Open),
    /// A message, byte for byte as it was given.
    Message(&'a str),
    Compaction(Compaction),
    Close,
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Open {
    pub format: u64,
    pub session_id: String,
    pub session_key: String,
}

/// What stands for the messages before `first_kept`, which lie in a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    pub summary: String,
    /// The id of the oldest line that a model still gets; none when none before this line is kept.
    pub first_kept: Option<String>,
    /// The timestamp in the name of the part.
    pub part_ms: u64,
    /// The request that published it, by which its repeat is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

/// The members that mean something.
#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    role: Option<&'a RawValue>,
    #[serde(default)]
    open: Option<Open>,
    #[serde(default)]
    compaction: Option<Compaction>,
    #[serde(default)]
    close: Option<Close>,
}

#[derive(Serialize, Deserialize)]
struct Close {
    format: u64,
}

/// What a line's content, without its end, says. A bare message that another program appended counts as one.
///
/// The error says why it cannot be read; `unsupported` for a newer format.
pub fn parse(content: &[u8]) -> Result<Line<'_>> {
    let text = std::str::from_utf8(content)
        .map_err(|error| Error::invalid(format!("not UTF-8 from byte {} on", error.valid_up_to())))?
        .trim();
    let members: Members<'_> = serde_json::from_str(text)
        .map_err(|error| Error::invalid(format!("no line of a live log: {error}")))?;
    let id = members
        .id
        .and_then(|id| serde_json::from_str(id.get()).ok());
    let what = match members {
        Members {
            message: Some(message),
            role: None,
            ..
        } => What::Message(message.get()),
        Members {
            open: Some(open), ..
        } => {
            check_format(open.format)?;
            What::Open(open)
        }
        Members {
            close: Some(close), ..
        } => {
            check_format(close.format)?;
            What::Close
        }
        Members {
            compaction: Some(compaction),
            ..
        } => What::Compaction(compaction),
        Members { role: Some(_), .. } => What::Message(text),
        _ => {
            return Err(Error::invalid(
                "no line of a live log: it has neither message, compaction, open nor close",
            ));
        }
    };
    Ok(Line { id, what })
}

fn check_format(format: u64) -> Result<()> {
    if format <= FORMAT {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::Unsupported,
        format!(
            "the live log has format {format}, and this version knows up to {FORMAT}; use a newer haversack"
        ),
    ))
}

/// The line, with its end, of a message. `invalid` when it is no JSON object on one line.
pub fn message_line(id: &str, message: &str) -> Result<Vec<u8>> {
    check_message(message)?;
    let id = Value::from(id);
    Ok(format!("{{\"id\":{id},\"message\":{}}}\n", message.trim()).into_bytes())
}

fn check_message(message: &str) -> Result<()> {
    if message.contains(['\n', '\r']) {
        return Err(Error::invalid(
            "a message is one line: write it without line ends between its members",
        ));
    }
    if !message.trim_start().starts_with('{') {
        return Err(Error::invalid(
            "a message is a JSON object, such as {\"role\":\"user\",\"content\":\"Hello\"}",
        ));
    }
    serde_json::from_str::<&RawValue>(message)
        .map_err(|error| Error::invalid(format!("a message is not JSON: {error}")))?;
    check_depth("a message", message, 1)
}

/// The first line, with its end.
pub fn open_line(id: &str, session_id: &str, session_key: &str) -> Vec<u8> {
    let open = Open {
        format: FORMAT,
        session_id: session_id.to_owned(),
        session_key: session_key.to_owned(),
    };
    line(id, "open", serde_json::to_string(&open))
}

/// The line, with its end, of a compaction.
pub fn compaction_line(id: &str, compaction: &Compaction) -> Vec<u8> {
    line(id, "compaction", serde_json::to_string(compaction))
}

/// The last line, with its end.
pub fn close_line(id: &str) -> Vec<u8> {
    line(
        id,
        "close",
        serde_json::to_string(&Close { format: FORMAT }),
    )
}

/// Of plain structs, which always have a JSON form.
fn line(id: &str, name: &str, value: serde_json::Result<String>) -> Vec<u8> {
    let (id, value) = (Value::from(id), value.unwrap_or_default());
    format!("{{\"id\":{id},\"{name}\":{value}}}\n").into_bytes()
}

/// The ids of lines: `{request}.{n}` for messages.
pub fn message_id(request: &str, number: usize) -> String {
    format!("{request}.{number}")
}

/// The id of the message at a place, from 0, of a session that its host keeps itself. It has no dot, and so is
/// never one of an append.
pub fn place_id(place: u64) -> String {
    format!("m{place}")
}

/// The place that an id of [`place_id`] says; none for every other id.
pub fn place_of(id: &str) -> Option<u64> {
    let place = id.strip_prefix('m')?.parse().ok()?;
    (place_id(place) == id).then_some(place)
}

pub fn open_id(request: &str) -> String {
    format!("{request}.open")
}

/// By its part, so that of two hosts which publish one part the log takes one.
pub fn summary_id(part_ms: u64) -> String {
    format!("part{part_ms}.summary")
}

pub fn close_id(request: &str) -> String {
    format!("{request}.close")
}

/// The request that a line was appended under; none for a line of another program.
pub fn request_of(id: &str) -> Option<&str> {
    id.rsplit_once('.').map(|(request, _)| request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_byte_for_byte() {
        for message in [
            r#"{"role":"user","content":"Hello","timestamp":1708300000000}"#,
            r#"{"x":1e400, "role" : "a\u0000\ud800", "id":"other","message":{"id":7}}"#,
            "{}",
        ] {
            let line = message_line("r.0", message).unwrap();
            assert_eq!(SessionLines.entries(&line)[0].id.as_deref(), Some("r.0"));
            let parsed = parse(line.trim_ascii_end()).unwrap();
            assert_eq!(parsed.id.as_deref(), Some("r.0"));
            assert_eq!(parsed.what, What::Message(message));
        }
    }

    #[test]
    fn lines_of_the_log_itself() {
        let open = open_line("r.open", "s", "agent:hera:main");
        assert_eq!(
            std::str::from_utf8(&open).unwrap(),
            "{\"id\":\"r.open\",\"open\":{\"format\":1,\"sessionId\":\"s\",\"sessionKey\":\"agent:hera:main\"}}\n"
        );
        assert!(matches!(parse(&open).unwrap().what, What::Open(open) if open.session_id == "s"));
        let compaction = Compaction {
            summary: "they \"met\"\n".to_owned(),
            first_kept: Some("r.7".to_owned()),
            part_ms: 5,
            request: Some("c1".into()),
        };
        let line = compaction_line("r.summary", &compaction);
        assert_eq!(parse(&line).unwrap().what, What::Compaction(compaction));
        let close = close_line("r.close");
        assert!(SessionLines.closes(close.trim_ascii_end()));
        assert!(!SessionLines.closes(open.trim_ascii_end()));
        assert_eq!(request_of("r.close"), Some("r"));
    }

    #[test]
    fn places_and_their_ids() {
        for place in [0, 7, 10, u64::MAX] {
            assert_eq!(place_of(&place_id(place)), Some(place));
        }
        for other in [
            "m",
            "m01",
            "m+1",
            "m-1",
            "7",
            "m7.0",
            "M7",
            "m18446744073709551616",
        ] {
            assert_eq!(place_of(other), None, "{other}");
        }
        assert_eq!(request_of(&place_id(7)), None);
    }

    #[test]
    fn what_another_program_wrote() {
        let bare = r#"{"role":"user","content":"x"}"#;
        assert_eq!(parse(bare.as_bytes()).unwrap().what, What::Message(bare));
        for wrong in [
            "",
            "7",
            "{}",
            "{\"id\":\"x\"}",
            "{\"message\":",
            "\u{feff}{}",
        ] {
            assert!(parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
        let newer = br#"{"id":"r.close","close":{"format":2}}"#;
        assert_eq!(parse(newer).unwrap_err().code, ErrorCode::Unsupported);
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let deep =
            |levels: usize| format!("{}{}", "{\"a\":".repeat(levels) + "1", "}".repeat(levels));
        assert!(message_line("r.0", &deep(126)).is_ok());
        for wrong in ["", "7", "[]", "{", "{}{}", "{\n}", &deep(127)] {
            assert!(message_line("r.0", wrong).is_err(), "{wrong}");
        }
    }
}
