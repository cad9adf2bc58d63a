//! Kept messages as a model may be given them: the log's bytes stay as they are, and where calls and
//! results do not fit together the model is told so, visibly, and the caller too. Pure.

use serde_json::Value;

use super::pairing::{CallAt, pair};
use super::{Call, Facts};
use crate::format::message::Role;

/// One message for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// The message of this index, as it stands.
    Message(usize),
    /// A line that is not in the log: a result that says that there is none, or a note in place of a
    /// result whose call is gone.
    Line(String),
}

/// What is not in the log's order, or not in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    /// A call got no result, because the agent was stopped; the model is told.
    NoResult(CallAt),
    /// A result without its call is left out, and a note stands in its place.
    LeftOut(usize),
    /// A result stands right after its call and not where it came in.
    Moved(usize),
}

/// See [`context`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    pub items: Vec<Item>,
    /// None for a log in order.
    pub repairs: Vec<Repair>,
}

/// The messages in order, such that [`super::pairing::check`] holds. No text of a user or an assistant
/// is touched.
pub fn context(messages: &[Facts]) -> Context {
    let pairing = pair(messages);
    let mut results: Vec<(usize, usize)> = pairing
        .asked_by
        .iter()
        .enumerate()
        .filter_map(|(result, asked_by)| Some(((*asked_by)?, result)))
        .collect();
    results.sort_unstable();
    let mut results = results.into_iter().peekable();
    let mut unanswered = pairing.unanswered.iter().copied().peekable();
    let mut context = Context::default();
    for (index, message) in messages.iter().enumerate() {
        if message.role == Role::ToolResult {
            let is_orphan = pairing.asked_by.get(index).copied().flatten().is_none();
            if is_orphan {
                context.items.push(Item::Line(left_out_line(message)));
                context.repairs.push(Repair::LeftOut(index));
            }
            continue;
        }
        context.items.push(Item::Message(index));
        let mut expected = index + 1;
        while let Some((_, result)) = results.next_if(|(asked_by, _)| *asked_by == index) {
            context.items.push(Item::Message(result));
            if result != expected {
                context.repairs.push(Repair::Moved(result));
            }
            expected = result + 1;
        }
        while let Some(at) = unanswered.next_if(|at| at.message == index) {
            if let Some(call) = message.calls.get(at.call) {
                let line = no_result_line(call, message.timestamp_ms);
                context.items.push(Item::Line(line));
                context.repairs.push(Repair::NoResult(at));
            }
        }
    }
    context
}

fn no_result_line(call: &Call, timestamp_ms: Option<u64>) -> String {
    let (id, name) = (
        Value::from(call.id.as_str()),
        Value::from(call.name.as_str()),
    );
    let text = Value::from(
        "[No result: the agent was stopped before this call came to an end. Whether it had any effect \
         is not known.]",
    );
    format!(
        r#"{{"role":"toolResult","toolCallId":{id},"toolName":{name},"content":[{{"type":"text","text":{text}}}],"isError":true{}}}"#,
        timestamp(timestamp_ms)
    )
}

fn left_out_line(message: &Facts) -> String {
    let of = match &message.answers {
        Some(call) => format!(" of {} ({})", call.name, call.id),
        None => String::new(),
    };
    let text = Value::from(format!(
        "[A tool result{of} is left out here: the call that it belongs to is not in the conversation.]"
    ));
    format!(
        r#"{{"role":"user","content":{text}{}}}"#,
        timestamp(message.timestamp_ms)
    )
}

fn timestamp(timestamp_ms: Option<u64>) -> String {
    timestamp_ms.map_or(String::new(), |ms| format!(r#","timestamp":{ms}"#))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{lines_of, talk};
    use super::*;

    /// What the model sees, a letter each, and what was repaired.
    fn seen(letters: &str) -> (String, Vec<Repair>) {
        let names: Vec<&str> = letters.split(' ').collect();
        let context = context(&talk(letters));
        let items = context.items.iter().map(|item| match item {
            Item::Message(index) => names[*index],
            Item::Line(line) if line.contains("No result") => "!",
            Item::Line(_) => "?",
        });
        (items.collect::<Vec<_>>().join(" "), context.repairs)
    }

    #[test]
    fn what_is_in_order_stays() {
        for letters in ["u a u", "u a:x,y =y =x a", "a:x,x =x =x"] {
            assert_eq!(seen(letters), (letters.to_owned(), vec![]));
        }
    }

    #[test]
    fn what_is_not_is_repaired_and_said() {
        let no_result = |message, call| Repair::NoResult(CallAt { message, call });
        for (letters, expected, repairs) in [
            ("u a:x", "u a:x !", vec![no_result(1, 0)]),
            ("a:x,y =y u", "a:x,y =y ! u", vec![no_result(0, 0)]),
            ("u =x a", "u ? a", vec![Repair::LeftOut(1)]),
            ("a:x u =x", "a:x =x u", vec![Repair::Moved(2)]),
            (
                "a:x =z =x",
                "a:x =x ?",
                vec![Repair::Moved(2), Repair::LeftOut(1)],
            ),
            ("a:x,y u =x =y", "a:x,y =x =y u", vec![Repair::Moved(2)]),
        ] {
            assert_eq!(seen(letters), (expected.to_owned(), repairs), "{letters}");
        }
    }

    #[test]
    fn lines_are_messages() {
        let context = context(&talk("=z a:x"));
        let lines: Vec<&str> = context
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Line(line) => Some(line.as_str()),
                Item::Message(_) => None,
            })
            .collect();
        assert_eq!(
            lines,
            [
                r#"{"role":"user","content":"[A tool result of Bash (z) is left out here: the call that it belongs to is not in the conversation.]","timestamp":0}"#,
                r#"{"role":"toolResult","toolCallId":"x","toolName":"Bash","content":[{"type":"text","text":"[No result: the agent was stopped before this call came to an end. Whether it had any effect is not known.]"}],"isError":true,"timestamp":1}"#
            ]
        );
        assert_eq!(lines_of("u").len(), 1);
    }
}
