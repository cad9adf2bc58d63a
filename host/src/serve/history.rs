//! `/api/history`: a page of a chat, as the component answers it. Each message stays as it was appended.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::answer::Refusal;
use super::query::Query;
use crate::Owner;

/// The chat of a user who names none.
const SESSION: &str = "main";
/// Parameters that are read.
pub const PARAMETERS: [&str; 3] = ["sessionKey", "limit", "cursor"];

/// The component's request. A limit beside the allowed ones counts as the nearest; it must be a number.
pub fn request(owner: &Owner, query: &Query) -> Result<Value, Refusal> {
    let limit = query.get("limit").map(limit).transpose()?;
    Ok(json!({ "request": {
        "home": { "system": "moltbot", "id": owner.user },
        "session-key": query.get("sessionKey").unwrap_or(SESSION),
        "limit": limit,
        "before": query.get("cursor"),
    } }))
}

fn limit(text: &str) -> Result<u32, Refusal> {
    let figures = text.strip_prefix('-').unwrap_or(text);
    if figures.is_empty() || !figures.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Refusal::invalid(
            "`limit` is not a number; give one from 1 to 1000, or leave it out for 100",
        ));
    }
    Ok(match text.starts_with('-') {
        true => 0,
        false => figures.parse().unwrap_or(u32::MAX),
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Answer {
    messages: Vec<Message>,
    before: Option<String>,
    limit: u32,
    ended_early: bool,
    skipped: u32,
}

#[derive(Deserialize)]
struct Message {
    json: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    messages: Vec<Box<RawValue>>,
    /// For the page before; none at the chat's beginning.
    cursor: Option<String>,
    limit: u32,
    ended_early: bool,
    skipped: u32,
}

/// `{"messages", "cursor", "limit", "endedEarly", "skipped"}` from the component's answer.
pub fn page(answer: Value) -> Result<String, Refusal> {
    let bug = |error: serde_json::Error| Refusal::internal(format!("a history: {error}"));
    let answer: Answer = serde_json::from_value(answer).map_err(bug)?;
    let messages = answer.messages.into_iter();
    let page = Page {
        messages: messages
            .map(|message| RawValue::from_string(message.json))
            .collect::<Result<_, _>>()
            .map_err(bug)?,
        cursor: answer.before,
        limit: answer.limit,
        ended_early: answer.ended_early,
        skipped: answer.skipped,
    };
    serde_json::to_string(&page).map_err(bug)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_numbers() {
        for (text, expected) in [
            ("0", Some(0)),
            ("1001", Some(1_001)),
            ("-5", Some(0)),
            ("007", Some(7)),
            ("99999999999999999999", Some(u32::MAX)),
            ("", None),
            ("-", None),
            ("ten", None),
            ("1e3", None),
            ("+1", None),
            ("1.0", None),
            ("١", None),
        ] {
            assert_eq!(limit(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn messages_stay_as_they_are() {
        let json = r#"{"id":"a",  "n":1e400,"n":2}"#;
        let message = json!({ "id": "a", "json": json });
        let answer = json!({
            "messages": [message], "before": "c", "limit": 7, "ended-early": false,
            "skipped": 1, "problems": [], "cost": {},
        });
        let text = page(answer).map_err(|refusal| refusal.message);
        let expected = format!(
            r#"{{"messages":[{json}],"cursor":"c","limit":7,"endedEarly":false,"skipped":1}}"#
        );
        assert_eq!(text, Ok(expected));
    }
}
