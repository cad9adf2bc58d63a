//! Field types of moltbot (spec/moltbot.md). Knows no template.

use super::time::{is_compact_date, is_compact_time};
use super::{is_plain_id, text_field};

text_field!(
    /// A moltbot user, as the identity provider names it; case is kept.
    MoltbotUserId,
    "user id",
    "1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit",
    |text| is_plain_id(text, 128)
);

text_field!(
    /// A moltbot session, `main` or another.
    MoltbotSessionKey,
    "session key",
    "1 to 100 of A-Z a-z 0-9 _ . -, not `.`, and nothing with `..` in it",
    |text| (1..=100).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
        && text != "."
        && !text.contains("..")
);

text_field!(
    /// When a user was moved to `deleted/`, in UTC.
    DeletionTime,
    "deletion timestamp",
    "YYYYMMDDTHHMMSSZ, a moment that the calendar has",
    |text| {
        text.strip_suffix('Z')
            .and_then(|text| text.split_once('T'))
            .is_some_and(|(date, time)| is_compact_date(date) && is_compact_time(time))
    }
);
