//! Field types of hi-boss (spec/hi-boss.md). Knows no template.

use super::text_field;

text_field!(
    /// A hi-boss agent; case is kept.
    AgentName,
    "agent name",
    "words of A-Z a-z 0-9 with single hyphens between them, at most 255 bytes",
    |text| text.len() <= crate::limits::SEGMENT_BYTES_MAX
        && text
            .split('-')
            .all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric()))
);
