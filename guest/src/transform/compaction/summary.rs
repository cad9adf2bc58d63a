//! The message that stands for what a compaction removed. Knows no model.

use std::borrow::Cow;

use serde_json::Value;

use crate::format::message::{Block, Content, Message, Role};
use crate::limits::COMPACTION_SUMMARY_BYTES_MAX;

/// What the message begins with (spec: gsv, Compaction).
pub const HEADER: &str = "[Conversation summary from automatic context compaction]";

const BLANK_LINE: &str = "\n\n";

/// A summary that is not too long to be kept, with a marker where it was cut.
pub fn bounded(text: &str) -> String {
    if text.len() <= COMPACTION_SUMMARY_BYTES_MAX {
        return text.to_owned();
    }
    let marker = format!(
        "\n[part of this summary, which has {} bytes, is left out here]",
        text.len()
    );
    let end = text.floor_char_boundary(COMPACTION_SUMMARY_BYTES_MAX - marker.len());
    format!("{}{marker}", text.get(..end).unwrap_or_default())
}

/// The line of the one user message that holds `summary`.
pub fn message_line(summary: &str, timestamp_ms: u64) -> String {
    let content = Value::from(format!("{HEADER}{BLANK_LINE}{summary}"));
    format!(r#"{{"role":"user","content":{content},"timestamp":{timestamp_ms}}}"#)
}

/// The summary that a message holds; none when it is any other message.
pub fn text_of<'m>(message: &'m Message<'_>) -> Option<&'m str> {
    if message.role != Role::User {
        return None;
    }
    let text: &Cow<'_, str> = match &message.content {
        Content::Text(text) => text,
        Content::Blocks(blocks) => match blocks.as_slice() {
            [Block::Text(text)] => text,
            _ => return None,
        },
        _ => return None,
    };
    text.strip_prefix(HEADER)?.strip_prefix(BLANK_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_known_again() {
        let line = message_line("a \"b\"\n\né", 1_708_300_000_000);
        assert_eq!(
            line,
            "{\"role\":\"user\",\"content\":\"[Conversation summary from automatic context compaction]\
             \\n\\na \\\"b\\\"\\n\\né\",\"timestamp\":1708300000000}"
        );
        let message = Message::parse(&line).unwrap();
        assert_eq!(text_of(&message), Some("a \"b\"\n\né"));
        assert_eq!(message.timestamp_ms, Some(1_708_300_000_000));
        let blocks = line
            .replace("\"[Conv", "[{\"type\":\"text\",\"text\":\"[Conv")
            .replace("é\",", "é\"}],");
        assert_eq!(
            text_of(&Message::parse(&blocks).unwrap()),
            Some("a \"b\"\n\né")
        );
        for other in [
            line.replace("\"user\"", "\"assistant\""),
            line.replace("[Conv", " [Conv"),
            r#"{"role":"user","content":"x"}"#.to_owned(),
        ] {
            assert_eq!(text_of(&Message::parse(&other).unwrap()), None, "{other}");
        }
    }
}
