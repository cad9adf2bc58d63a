//! metadata.json of a chat session: what is known of it without reading its messages, all of it derived.
//! Members that it does not know stay byte for byte. Knows no store and no key.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::json_member::{find, parse, set_member};
use super::utc;
use crate::types::{Error, Result};

/// The number of this form; a higher one is left alone.
const FORMAT: u64 = 1;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatMetadata {
    pub session_key: String,
    /// Time of the first message, in milliseconds since 1970.
    pub created_ms: Option<u64>,
    /// Time of the last message.
    pub updated_ms: Option<u64>,
    /// None where part of the log was never counted.
    pub message_count: Option<u64>,
    /// Of the log, but for what no fold has taken over yet.
    pub size_bytes: u64,
    pub last_message_id: Option<String>,
    /// What the next count need not look at again.
    pub counted: Option<Counted>,
}

/// A part of a log that does not change any more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// The number of the first entry behind it; none for the beginning of a single file.
    pub first: Option<u64>,
    pub bytes: u64,
    pub messages: Option<u64>,
}

impl ChatMetadata {
    /// Errors: `invalid` for what is no JSON object, `unsupported` for a newer format. A member that is not
    /// as it should be counts as missing, because all of it can be computed anew.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let json = parse("metadata.json", text)?;
        if !json.get().starts_with('{') {
            return Err(Error::invalid("metadata.json is no JSON object"));
        }
        let value =
            |name: &str| -> Option<Value> { serde_json::from_str(find(json, &[name])?).ok() };
        let number = |name: &str| value(name).and_then(|value| value.as_u64());
        let text = |name: &str| value(name).and_then(|value| value.as_str().map(str::to_owned));
        let format = number("format").unwrap_or(FORMAT);
        if format > FORMAT {
            return Err(Error::unsupported(format!(
                "metadata.json has format {format}, and this version knows up to {FORMAT}; use a newer haversack"
            )));
        }
        let moment = |name: &str| text(name).and_then(|text| utc::parse(&text));
        Ok(Self {
            session_key: text("sessionKey").unwrap_or_default(),
            created_ms: moment("createdAt"),
            updated_ms: moment("updatedAt"),
            message_count: number("messageCount"),
            size_bytes: number("bytes").unwrap_or_default(),
            last_message_id: text("lastMessageId"),
            counted: value("counted").and_then(|value| serde_json::from_value(value).ok()),
        })
    }

    /// The document with these values; of `before` everything stays that is not one of them.
    pub fn render(&self, before: Option<&str>) -> Result<String> {
        let moment = |ms: Option<u64>| json!(ms.and_then(utc::print));
        let members = [
            ("format", json!(FORMAT)),
            ("sessionKey", json!(self.session_key)),
            ("createdAt", moment(self.created_ms)),
            ("updatedAt", moment(self.updated_ms)),
            ("messageCount", json!(self.message_count)),
            ("bytes", json!(self.size_bytes)),
            ("lastMessageId", json!(self.last_message_id)),
            ("counted", json!(self.counted)),
        ];
        if let Some(before) = before {
            return members
                .iter()
                .try_fold(before.to_owned(), |text, (name, value)| {
                    set_member(&text, &format!("/{name}"), &value.to_string())
                });
        }
        let lines = members.map(|(name, value)| format!("  \"{name}\": {value}"));
        Ok(format!("{{\n{}\n}}\n", lines.join(",\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> ChatMetadata {
        ChatMetadata {
            session_key: "main".to_owned(),
            created_ms: Some(1_706_572_800_000),
            updated_ms: Some(1_706_572_801_000),
            message_count: Some(2),
            size_bytes: 170,
            last_message_id: Some("msg_\"2\"".to_owned()),
            counted: Some(Counted {
                first: Some(0),
                bytes: 0,
                messages: Some(0),
            }),
        }
    }

    #[test]
    fn what_is_rendered_is_read() -> Result<()> {
        for metadata in [some(), ChatMetadata::default()] {
            assert_eq!(ChatMetadata::parse(&metadata.render(None)?)?, metadata);
        }
        Ok(())
    }

    #[test]
    fn unknown_members_stay_byte_for_byte() -> Result<()> {
        let before = "{\r\n \"title\":  \"Tea\", \"messageCount\":1,\r\n \"n\": 1e400\r\n}\r\n";
        let text = some().render(Some(before))?;
        assert_eq!(ChatMetadata::parse(&text)?, some());
        assert!(
            text.starts_with("{\r\n \"title\":  \"Tea\", \"messageCount\":2,\r\n \"n\": 1e400"),
            "{text}"
        );
        Ok(())
    }

    #[test]
    fn what_is_broken_counts_as_missing_and_what_is_newer_is_refused() -> Result<()> {
        let text =
            r#"{"sessionKey":7,"createdAt":"yesterday","messageCount":-1,"counted":{"first":"a"}}"#;
        assert_eq!(ChatMetadata::parse(text)?, ChatMetadata::default());
        for (text, word) in [
            ("", "not JSON"),
            ("[]", "no JSON object"),
            (r#"{"format":2}"#, "format 2"),
        ] {
            let error = ChatMetadata::parse(text).unwrap_err();
            assert!(error.message.contains(word), "{}", error.message);
        }
        Ok(())
    }
}
