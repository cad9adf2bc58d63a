//! A gsv message: what a line of a session's log or archive says (spec: gsv, Messages). Read leniently
//! and never printed: the line is kept, and is what gets written. Knows no session and no store.

mod content;
pub(super) mod json;
mod log;
mod media_blocks;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::json_member::check_depth;
pub use content::{Block, Content, Media, MediaKind, MediaSource};
pub use log::{Entry, LineFault, Log, entries, read};
pub use media_blocks::{MediaBlock, media_blocks, with_replaced};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    User,
    Assistant,
    ToolResult,
    /// No role, or one that the reference does not have.
    Unknown,
}

/// What a model's provider counted for one answer, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage<'a> {
    /// Without what was read from or written to a cache.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub total_tokens: u64,
    /// JSON as it stands in the line: nobody here calculates with money.
    pub cost: Option<&'a str>,
}

impl Usage<'_> {
    /// What the model was given, cached tokens included.
    pub fn input_with_cached(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }
}

/// A message over the line that it was read from. A member of the wrong type counts as absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Message<'a> {
    /// The line as it was read, without its end.
    pub line: &'a str,
    pub role: Role,
    pub content: Content<'a>,
    pub tool_call_id: Option<Cow<'a, str>>,
    pub tool_name: Option<Cow<'a, str>>,
    pub is_error: bool,
    pub usage: Option<Usage<'a>>,
    pub timestamp_ms: Option<u64>,
    pub stop_reason: Option<Cow<'a, str>>,
}

/// Why a line is no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Offset in the line of the first byte that is not UTF-8.
    NotUtf8(usize),
    /// The parser's cause.
    NotJson(String),
    NotAnObject,
    /// Nested deeper than [`crate::limits::JSON_DEPTH_MAX`].
    TooDeep(String),
    /// The last line, without an end and not whole; the cause.
    Torn(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotUtf8(at) => write!(f, "the line is not UTF-8 from byte {at} on"),
            Self::NotJson(cause) => write!(f, "the line is not JSON: {cause}"),
            Self::NotAnObject => f.write_str("the line is JSON, but no object and so no message"),
            Self::TooDeep(cause) => f.write_str(cause),
            Self::Torn(cause) => write!(
                f,
                "the last line was torn off while it was written: {cause}"
            ),
        }
    }
}

impl<'a> Message<'a> {
    /// Read one line, `{"role":…}` or wrapped `{"message":{"role":…}}`.
    pub fn parse(line: &'a str) -> Result<Self, Fault> {
        Ok(Members::of_message(line)?.into_message(line))
    }

    /// The calls that an assistant asks for; none in any other role.
    pub fn tool_calls(&self) -> impl Iterator<Item = (&str, &str)> {
        let blocks = match (&self.content, self.role) {
            (Content::Blocks(blocks), Role::Assistant) => blocks.as_slice(),
            _ => &[],
        };
        blocks.iter().filter_map(|block| match block {
            Block::ToolCall { id, name, .. } => Some((id.as_ref(), name.as_ref())),
            _ => None,
        })
    }

    /// Images, audio, video and documents in the content.
    pub fn media(&self) -> impl Iterator<Item = &Media<'a>> {
        let blocks = match &self.content {
            Content::Blocks(blocks) => blocks.as_slice(),
            _ => &[],
        };
        blocks.iter().filter_map(|block| match block {
            Block::Media(media) => Some(media),
            _ => None,
        })
    }
}

/// The members that mean something, as they stand in the line. Of repeated ones the last counts, as in
/// JavaScript.
#[derive(Default, Clone, Copy)]
struct Members<'a> {
    role: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
    tool_call_id: Option<&'a RawValue>,
    tool_name: Option<&'a RawValue>,
    is_error: Option<&'a RawValue>,
    usage: Option<&'a RawValue>,
    timestamp: Option<&'a RawValue>,
    stop_reason: Option<&'a RawValue>,
}

impl<'a> Members<'a> {
    /// Of the message itself, wrapped or not.
    fn of_message(line: &'a str) -> Result<Self, Fault> {
        let outer = Self::of(line)?;
        match (outer.role, outer.message) {
            (None, Some(message)) if message.get().starts_with('{') => Self::of(message.get()),
            _ => Ok(outer),
        }
    }

    fn of(json: &'a str) -> Result<Self, Fault> {
        let not_json = |error: serde_json::Error| Fault::NotJson(error.to_string());
        if !json.trim_start().starts_with('{') {
            serde_json::from_str::<&RawValue>(json).map_err(not_json)?;
            return Err(Fault::NotAnObject);
        }
        let mut members = Self::default();
        json::each_member(json, |name, value| {
            let place = match name {
                "role" => &mut members.role,
                "content" => &mut members.content,
                "message" => &mut members.message,
                "toolCallId" => &mut members.tool_call_id,
                "toolName" => &mut members.tool_name,
                "isError" => &mut members.is_error,
                "usage" => &mut members.usage,
                "timestamp" => &mut members.timestamp,
                "stopReason" => &mut members.stop_reason,
                _ => return,
            };
            *place = Some(value);
        })
        .map_err(not_json)?;
        check_depth("the message", json, 0).map_err(|error| Fault::TooDeep(error.message))?;
        Ok(members)
    }

    fn into_message(self, line: &'a str) -> Message<'a> {
        let role = match self.role.and_then(json::text).as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("toolResult") => Role::ToolResult,
            _ => Role::Unknown,
        };
        Message {
            line,
            role,
            content: self.content.map_or(Content::Absent, Content::of),
            tool_call_id: self.tool_call_id.and_then(json::text),
            tool_name: self.tool_name.and_then(json::text),
            is_error: self.is_error.is_some_and(|value| value.get() == "true"),
            usage: self.usage.and_then(usage_of),
            timestamp_ms: self.timestamp.and_then(json::whole_number),
            stop_reason: self.stop_reason.and_then(json::text),
        }
    }
}

/// None when it is no object: an empty one would claim that zero tokens were used.
fn usage_of(value: &RawValue) -> Option<Usage<'_>> {
    let mut usage = Usage::default();
    json::each_member(value.get(), |name, value| {
        let count = json::whole_number(value).unwrap_or(0);
        match name {
            "input" => usage.input = count,
            "output" => usage.output = count,
            "cacheRead" => usage.cache_read = count,
            "cacheWrite" => usage.cache_write = count,
            "totalTokens" => usage.total_tokens = count,
            "cost" => usage.cost = Some(value.get()),
            _ => {}
        }
    })
    .ok()?;
    Some(usage)
}
