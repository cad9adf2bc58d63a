//! A message as text for the summarising model. Every line of the conversation is indented, so that
//! nothing that was said looks like a heading or an end. Pure.

use super::estimate::message_tokens;
use super::{Tier, Window};
use crate::format::message::{Block, Content, Message, Role};
use crate::limits::TOOL_RESULT_CHARACTERS_MAX;

/// Something that the model does not see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// Characters of a tool's result, and how many of them are shown.
    ResultCut { total: u64, kept: u64 },
    /// A whole message of this many tokens.
    Message { tokens: u64 },
}

/// A message's text, ending with a newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    pub text: String,
    pub left_out: Option<LeftOut>,
}

/// `message` as the model of this window sees it in this tier.
pub fn render(message: &Message<'_>, tier: Tier, window: Window) -> Rendered {
    let tokens = message_tokens(message);
    if tier != Tier::Full && tokens > window.oversize_tokens() {
        let mut text = format!("{}:\n", speaker(message));
        let note = format!(
            "[A message of about {tokens} tokens ({} bytes) is left out here: it is too long to be \
             summarised.]",
            message.line.len()
        );
        indent(&mut text, &note);
        return Rendered {
            text,
            left_out: Some(LeftOut::Message { tokens }),
        };
    }
    match message.role {
        Role::ToolResult => result(message),
        _ => Rendered {
            text: speech(message),
            left_out: None,
        },
    }
}

/// `text` with every line indented, and ended.
pub fn indent(to: &mut String, text: &str) {
    for line in text.trim_end_matches('\n').split('\n') {
        to.push_str("  ");
        to.push_str(line);
        to.push('\n');
    }
}

fn speaker(message: &Message<'_>) -> String {
    match message.role {
        Role::User => "User".to_owned(),
        Role::Assistant => "Assistant".to_owned(),
        Role::ToolResult => {
            let failed = if message.is_error {
                ", which failed"
            } else {
                ""
            };
            let tool = message.tool_name.as_deref().unwrap_or("a tool");
            format!("Result of {}{failed}", on_one_line(tool))
        }
        Role::Unknown => "Other".to_owned(),
    }
}

/// Names come from the conversation too, and stand in headings.
fn on_one_line(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn speech(message: &Message<'_>) -> String {
    let speaker = speaker(message);
    let mut text = String::new();
    let mut say = |heading: String, body: &str| {
        text.push_str(&heading);
        text.push_str(":\n");
        indent(&mut text, body);
    };
    match &message.content {
        Content::Text(body) => say(speaker, body),
        Content::Other(json) => say(speaker, json),
        Content::Blocks(blocks) if !blocks.is_empty() => {
            for block in blocks {
                let heading = match block {
                    Block::Thinking(_) => format!("{speaker}, thinking"),
                    Block::ToolCall { name, .. } => {
                        format!("{speaker} calls {}", on_one_line(name))
                    }
                    Block::Text(_) | Block::Media(_) | Block::Other(_) => speaker.clone(),
                };
                say(heading, &body_of(block));
            }
        }
        Content::Blocks(_) | Content::Absent => say(speaker, "[nothing]"),
    }
    text
}

fn body_of(block: &Block<'_>) -> String {
    match block {
        Block::Text(text) | Block::Thinking(text) => text.clone().into_owned(),
        Block::ToolCall { arguments, .. } => (*arguments).to_owned(),
        Block::Media(media) => match &media.mime_type {
            Some(mime_type) => format!("[{}: {}]", media.kind.name(), on_one_line(mime_type)),
            None => format!("[{}]", media.kind.name()),
        },
        Block::Other(json) => (*json).to_owned(),
    }
}

/// The blocks of a tool's result together, to [`TOOL_RESULT_CHARACTERS_MAX`].
fn result(message: &Message<'_>) -> Rendered {
    let body = match &message.content {
        Content::Text(body) => body.clone().into_owned(),
        Content::Other(json) => (*json).to_owned(),
        Content::Blocks(blocks) => blocks.iter().map(body_of).collect::<Vec<_>>().join("\n"),
        Content::Absent => "[nothing]".to_owned(),
    };
    let mut text = format!("{}:\n", speaker(message));
    let end = body.char_indices().nth(TOOL_RESULT_CHARACTERS_MAX);
    let Some((kept, gone)) = end.and_then(|(end, _)| body.split_at_checked(end)) else {
        indent(&mut text, &body);
        return Rendered {
            text,
            left_out: None,
        };
    };
    let gone = gone.chars().count() as u64;
    let kept_characters = TOOL_RESULT_CHARACTERS_MAX as u64;
    indent(&mut text, kept);
    indent(
        &mut text,
        &format!("[{gone} more characters of this result are left out here]"),
    );
    Rendered {
        text,
        left_out: Some(LeftOut::ResultCut {
            total: kept_characters + gone,
            kept: kept_characters,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(line: &str, tier: Tier) -> Rendered {
        let window = Window::new(2_000).unwrap();
        render(&Message::parse(line).unwrap(), tier, window)
    }

    #[test]
    fn every_kind_of_content_is_shown() {
        for (line, expected) in [
            (
                r#"{"role":"user","content":"a\nUser:\n"}"#,
                "User:\n  a\n  User:\n",
            ),
            (r#"{"role":"user","content":[]}"#, "User:\n  [nothing]\n"),
            (r#"{"role":"user"}"#, "User:\n  [nothing]\n"),
            (r#"{"role":"user","content":""}"#, "User:\n  \n"),
            (
                r#"{"role":"x","content":{"a": 1}}"#,
                "Other:\n  {\"a\": 1}\n",
            ),
            (
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"b"},{"type":"toolCall","id":"i","name":"Ba\nsh","arguments":{"command": "ls"}},{"type":"new"}]}"#,
                "Assistant, thinking:\n  hm\nAssistant:\n  b\nAssistant calls Ba sh:\n  {\"command\": \"ls\"}\nAssistant:\n  {\"type\":\"new\"}\n",
            ),
            (
                r#"{"role":"user","content":[{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"audio"}]}"#,
                "User:\n  [image: image/png]\nUser:\n  [audio]\n",
            ),
            (
                r#"{"role":"toolResult","toolName":"Bash","isError":true,"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
                "Result of Bash, which failed:\n  a\n  b\n",
            ),
            (
                r#"{"role":"toolResult"}"#,
                "Result of a tool:\n  [nothing]\n",
            ),
        ] {
            let shown = rendered(line, Tier::Full);
            assert_eq!((shown.text.as_str(), shown.left_out), (expected, None));
        }
    }

    #[test]
    fn a_result_is_cut_after_2000_characters() {
        let of = |length: usize| {
            let body = "é".repeat(length);
            rendered(
                &format!(r#"{{"role":"toolResult","toolName":"R","content":"{body}"}}"#),
                Tier::Full,
            )
        };
        assert_eq!(of(2_000).left_out, None);
        let cut = of(2_003);
        let expected = format!(
            "Result of R:\n  {}\n  [3 more characters of this result are left out here]\n",
            "é".repeat(2_000)
        );
        assert_eq!(cut.text, expected);
        let left_out = LeftOut::ResultCut {
            total: 2_003,
            kept: 2_000,
        };
        assert_eq!(cut.left_out, Some(left_out));
        // A user's words are never cut.
        let user = rendered(
            &format!(r#"{{"role":"user","content":"{}"}}"#, "é".repeat(2_003)),
            Tier::Full,
        );
        assert_eq!(user.left_out, None);
    }

    #[test]
    fn partial_leaves_out_what_is_over_half_the_window() {
        let line = |length: usize| {
            let frame = r#"{"role":"user","content":""}"#.len();
            format!(
                r#"{{"role":"user","content":"{}"}}"#,
                "x".repeat(length - frame)
            )
        };
        // 3,333 units are 1,000 tokens, half of 2,000.
        assert_eq!(rendered(&line(3_333), Tier::Partial).left_out, None);
        assert_eq!(rendered(&line(3_334), Tier::Full).left_out, None);
        let note = rendered(&line(3_334), Tier::Partial);
        assert_eq!(note.left_out, Some(LeftOut::Message { tokens: 1_001 }));
        assert_eq!(
            note.text,
            "User:\n  [A message of about 1001 tokens (3334 bytes) is left out here: it is too long to be summarised.]\n"
        );
    }
}
