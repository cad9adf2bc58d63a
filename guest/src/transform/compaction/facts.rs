//! What a compaction has to know of a message, without its text.

use super::{estimate, summary};
use crate::format::message::{Message, Role};

/// A tool call, by its id and the tool's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    pub id: String,
    pub name: String,
}

/// A message without its text: as many as a compaction looks at lie in memory together, so every byte counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub role: Role,
    /// Estimated; see [`estimate::message_tokens`].
    pub tokens: u64,
    pub images: u32,
    pub timestamp_ms: Option<u64>,
    /// What an assistant asks for.
    pub calls: Vec<Call>,
    /// The call that a tool's result is of; none when it names none.
    pub answers: Option<Box<Call>>,
    /// What the provider counted as input, cached tokens included; none when it counted nothing.
    pub reported_input_tokens: Option<u64>,
    /// Whether it is what an earlier compaction left.
    pub is_summary: bool,
}

impl Facts {
    pub fn of(message: &Message<'_>) -> Self {
        let calls = message.tool_calls().map(|(id, name)| Call {
            id: id.to_owned(),
            name: name.to_owned(),
        });
        let answers = match (&message.tool_call_id, message.role) {
            (Some(id), Role::ToolResult) => Some(Box::new(Call {
                id: id.clone().into_owned(),
                name: message.tool_name.clone().unwrap_or_default().into_owned(),
            })),
            _ => None,
        };
        let reported = message.usage.map(|usage| usage.input_with_cached());
        Self {
            role: message.role,
            tokens: estimate::message_tokens(message),
            images: estimate::image_count(message),
            timestamp_ms: message.timestamp_ms,
            calls: calls.collect(),
            answers,
            // An aborted request reports zeros.
            reported_input_tokens: reported.filter(|tokens| *tokens > 0),
            is_summary: summary::text_of(message).is_some(),
        }
    }
}
