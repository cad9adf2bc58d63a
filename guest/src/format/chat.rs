//! A line of a chat log: a message with id, role, content and timestamp, as it is written, and as real logs
//! hold it. Knows no store and no key.

use serde_json::value::RawValue;

use super::json_member::find;
use crate::limits::MESSAGE_ID_BYTES_MAX;
use crate::types::{Error, Result};

/// A message as a caller gives it, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    pub id: String,
    /// Milliseconds since 1970.
    pub timestamp_ms: u64,
    /// The message and a line end.
    pub line: Vec<u8>,
}

impl NewMessage {
    /// `invalid` unless it is one JSON object on one line with a string `id`, a string `role`, a `content` and
    /// a whole `timestamp`. Blanks around it are left out, every other byte stays.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim_matches([' ', '\t', '\r', '\n']);
        let wrong = |what: &str| {
            let shown: String = text.chars().take(80).collect();
            Error::invalid(format!(
                "a message {what}: {shown:?}; it is one JSON object on one line, like \
                 {{\"id\":\"msg_1\",\"role\":\"user\",\"content\":\"Hello\",\"timestamp\":1706572800000}}"
            ))
        };
        if text.contains(['\n', '\r']) {
            return Err(wrong("has a line end in it"));
        }
        let json: &RawValue =
            serde_json::from_str(text).map_err(|error| wrong(&format!("is not JSON ({error})")))?;
        if !text.starts_with('{') {
            return Err(wrong("is no JSON object"));
        }
        let id = string(json, "id").ok_or_else(|| wrong("has no `id` that is a string"))?;
        if id.is_empty() || id.len() > MESSAGE_ID_BYTES_MAX {
            return Err(wrong(&format!(
                "has an `id` of {} bytes, and 1 to {MESSAGE_ID_BYTES_MAX} are allowed",
                id.len()
            )));
        }
        string(json, "role").ok_or_else(|| wrong("has no `role` that is a string"))?;
        find(json, &["content"]).ok_or_else(|| wrong("has no `content`"))?;
        let timestamp_ms = find(json, &["timestamp"])
            .and_then(|number| number.parse().ok())
            .ok_or_else(|| wrong("has no `timestamp` in whole milliseconds since 1970"))?;
        Ok(Self {
            id,
            timestamp_ms,
            line: [text.as_bytes(), b"\n"].concat(),
        })
    }
}

/// A message as a log holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The message itself, byte for byte, also where the line wraps it.
    pub json: &'a str,
    /// The object around it; the message itself where there is none.
    line: &'a str,
}

impl<'a> Message<'a> {
    /// None for a line that is no message: an object with a `role`, or one whose `message` is such an object.
    pub fn read(line: &'a [u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let line = line
            .trim_start_matches('\u{feff}')
            .trim_matches([' ', '\t', '\r', '\n']);
        let outer = object(line)?;
        if string(outer, "role").is_some() {
            return Some(Self { json: line, line });
        }
        let json = find(outer, &["message"])?;
        string(object(json)?, "role")?;
        Some(Self { json, line })
    }

    pub fn id(&self) -> Option<String> {
        self.parts().find_map(|part| string(part, "id"))
    }

    /// Milliseconds since 1970; none where it has none in whole milliseconds.
    pub fn timestamp_ms(&self) -> Option<u64> {
        let mut found = self
            .parts()
            .filter_map(|part| find(part, &["timestamp"])?.parse().ok());
        found.next()
    }

    fn parts(&self) -> impl Iterator<Item = &'a RawValue> {
        [self.line, self.json].into_iter().filter_map(object)
    }
}

fn object(text: &str) -> Option<&RawValue> {
    let value: &RawValue = serde_json::from_str(text).ok()?;
    value.get().starts_with('{').then_some(value)
}

fn string(json: &RawValue, name: &str) -> Option<String> {
    serde_json::from_str(find(json, &[name])?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_four_members() {
        let text = r#" {"id":"a","role":"user","content":null,"timestamp":1706572800000,"x":1e400}
"#;
        let message = NewMessage::parse(text).unwrap();
        assert_eq!(
            (message.id.as_str(), message.timestamp_ms),
            ("a", 1_706_572_800_000)
        );
        assert_eq!(message.line, format!("{}\n", text.trim()).into_bytes());
        let longest = "x".repeat(MESSAGE_ID_BYTES_MAX);
        for (text, cause) in [
            ("", "not JSON"),
            ("[]", "no JSON object"),
            ("{}", "`id`"),
            (
                r#"{"id":7,"role":"user","content":"","timestamp":1}"#,
                "`id`",
            ),
            (
                r#"{"id":"","role":"user","content":"","timestamp":1}"#,
                "0 bytes",
            ),
            (r#"{"id":"a","content":"","timestamp":1}"#, "`role`"),
            (r#"{"id":"a","role":"user","timestamp":1}"#, "`content`"),
            (r#"{"id":"a","role":"user","content":""}"#, "`timestamp`"),
            (
                r#"{"id":"a","role":"user","content":"","timestamp":"1"}"#,
                "`timestamp`",
            ),
            (
                r#"{"id":"a","role":"user","content":"","timestamp":-1}"#,
                "`timestamp`",
            ),
            (
                "{\"id\":\"a\",\n\"role\":\"user\",\"content\":\"\",\"timestamp\":1}",
                "line end",
            ),
            (
                &format!(r#"{{"id":"{longest}x","role":"u","content":"","timestamp":1}}"#),
                "257 bytes",
            ),
        ] {
            let error = NewMessage::parse(text).unwrap_err();
            assert!(error.message.contains(cause), "{text}: {}", error.message);
        }
        let fine = format!(r#"{{"id":"{longest}","role":"u","content":"","timestamp":1}}"#);
        assert!(NewMessage::parse(&fine).is_ok());
    }

    #[test]
    fn real_logs_wrap_some_lines() {
        let read = |line: &'static str| {
            Message::read(line.as_bytes())
                .map(|message| (message.json, message.id(), message.timestamp_ms()))
        };
        let a = Some("a".to_owned());
        let plain = r#"{"id":"a","role":"user","timestamp":5}"#;
        assert_eq!(read(plain), Some((plain, a.clone(), Some(5))));
        assert_eq!(
            read(r#"{"type":"message","message": {"role":"user","id":"a"} ,"timestamp":7}"#),
            Some((r#"{"role":"user","id":"a"}"#, a, Some(7)))
        );
        assert_eq!(
            read("\u{feff}{\"role\":\"user\"}\r\n"),
            Some(("{\"role\":\"user\"}", None, None))
        );
        for line in [
            "",
            "nonsense",
            "[]",
            "{}",
            r#"{"role":7}"#,
            r#"{"message":"a"}"#,
            r#"{"message":{"id":"a"}}"#,
            r#"{"id":"a","role":"us"#,
        ] {
            assert_eq!(read(line), None, "{line}");
        }
        assert_eq!(Message::read(b"{\"role\":\"\xff\"}"), None);
    }
}
