//! Lines as sessions have them: what they say, and that none is lost.

use std::borrow::Cow;

use proptest::prelude::*;

use super::*;
use crate::format::jsonl::render;

#[track_caller]
fn message(line: &str) -> Message<'_> {
    let message = Message::parse(line).unwrap_or_else(|fault| panic!("{line}: {fault}"));
    assert_eq!(message.line, line);
    message
}

#[test]
fn the_references_examples() {
    let user = message(r#"{"role":"user","content":"Hello","timestamp":1708300000000}"#);
    assert_eq!(user.role, Role::User);
    assert_eq!(user.content, Content::Text("Hello".into()));
    assert_eq!(user.timestamp_ms, Some(1_708_300_000_000));

    let line = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Hi there!"},{"type":"toolCall","id":"call_abc","name":"Bash","arguments":{"command": "ls"}}],"usage":{"input":3,"output":4,"cacheRead":5.0,"cacheWrite":6e0,"totalTokens":18,"cost":{"total":0.10}},"stopReason":"toolUse","timestamp":1708300001000}"#;
    let assistant = message(line);
    assert_eq!(assistant.role, Role::Assistant);
    assert_eq!(
        assistant.content,
        Content::Blocks(vec![
            Block::Thinking("hm".into()),
            Block::Text("Hi there!".into()),
            Block::ToolCall {
                id: "call_abc".into(),
                name: "Bash".into(),
                arguments: r#"{"command": "ls"}"#
            }
        ])
    );
    let usage = assistant.usage.unwrap();
    assert_eq!(usage.input_with_cached(), 14);
    assert_eq!((usage.output, usage.total_tokens), (4, 18));
    assert_eq!(usage.cost, Some(r#"{"total":0.10}"#));
    assert_eq!(assistant.stop_reason.as_deref(), Some("toolUse"));
    assert_eq!(
        assistant.tool_calls().collect::<Vec<_>>(),
        [("call_abc", "Bash")]
    );

    let result = message(
        r#"{"role":"toolResult","toolCallId":"call_abc","toolName":"Bash","content":[{"type":"text","text":"output"}],"isError":true,"timestamp":1708300002000}"#,
    );
    assert_eq!(result.role, Role::ToolResult);
    assert_eq!(result.tool_call_id.as_deref(), Some("call_abc"));
    assert_eq!(result.tool_name.as_deref(), Some("Bash"));
    assert!(result.is_error);
}

#[test]
fn a_wrapped_message_is_read_and_its_line_kept() {
    let wrapped = message(
        r#" {"type":"message","id":"x","message":{"role":"user","content":"a"},"role2":1} "#,
    );
    assert_eq!(wrapped.role, Role::User);
    assert_eq!(wrapped.content, Content::Text("a".into()));
    // A role outside means that it is no wrapper.
    let plain = message(r#"{"role":"user","content":"a","message":{"role":"assistant"}}"#);
    assert_eq!(plain.role, Role::User);
    assert_eq!(message(r#"{"message":"text"}"#).role, Role::Unknown);
    assert_eq!(
        message(r#"{"message":{"message":{"role":"user"}}}"#).role,
        Role::Unknown
    );
}

#[test]
fn what_is_of_another_type_counts_as_absent() {
    let odd = message(
        r#"{"role":5,"content":{"a":1},"toolCallId":[],"toolName":null,"isError":"true","usage":[1],"timestamp":"2026-02-20","stopReason":1}"#,
    );
    assert_eq!(odd.role, Role::Unknown);
    assert_eq!(odd.content, Content::Other(r#"{"a":1}"#));
    assert_eq!((odd.tool_call_id, odd.tool_name), (None, None));
    assert_eq!((odd.usage, odd.timestamp_ms), (None, None));
    assert!(!odd.is_error);
    for number in ["-1", "1.5", "1e400", "1e99", "null"] {
        let line = format!(r#"{{"timestamp":{number}}}"#);
        assert_eq!(message(&line).timestamp_ms, None, "{number}");
    }
    assert_eq!(message("{}").content, Content::Absent);
    assert_eq!(
        message(r#"{"role":"user","role":"assistant"}"#).role,
        Role::Assistant
    );
}

#[test]
fn blocks_are_read_leniently() {
    for (block, expected) in [
        (r#"{"text":"a","type":"text"}"#, Block::Text("a".into())),
        (r#"{"type":"text"}"#, Block::Other(r#"{"type":"text"}"#)),
        (
            r#"{"type":"new","x":1}"#,
            Block::Other(r#"{"type":"new","x":1}"#),
        ),
        ("7", Block::Other("7")),
        ("[\"type\"]", Block::Other("[\"type\"]")),
        (
            r#"{"type":"toolCall"}"#,
            Block::ToolCall {
                id: "".into(),
                name: "".into(),
                arguments: "{}",
            },
        ),
        (
            r#"{"type":"image","data":"aGk=","mimeType":"image/png"}"#,
            Block::Media(Media {
                kind: MediaKind::Image,
                mime_type: Some("image/png".into()),
                source: MediaSource::Inline("aGk="),
            }),
        ),
        (
            r#"{"type":"audio","data":"aGk=","r2Key":"k"}"#,
            Block::Media(Media {
                kind: MediaKind::Audio,
                mime_type: None,
                source: MediaSource::Stored("k".into()),
            }),
        ),
        (
            r#"{"type":"document"}"#,
            Block::Media(Media {
                kind: MediaKind::Document,
                mime_type: None,
                source: MediaSource::Missing,
            }),
        ),
    ] {
        let line = format!(r#"{{"role":"user","content":[{block}]}}"#);
        assert_eq!(message(&line).content, Content::Blocks(vec![expected]));
    }
}

#[test]
fn blocks_are_told_apart_up_to_a_number() {
    let line = |blocks: usize| format!("{{\"content\":[0{}]}}", ",0".repeat(blocks - 1));
    let at = line(10_000);
    assert!(matches!(message(&at).content, Content::Blocks(blocks) if blocks.len() == 10_000));
    let over = line(10_001);
    assert!(matches!(message(&over).content, Content::Other(json) if json.len() == 20_003));
}

#[test]
fn text_is_borrowed_unless_it_is_escaped_and_half_a_pair_is_no_error() {
    let text = |json: &str| match message(&format!(r#"{{"content":{json}}}"#)).content {
        Content::Text(Cow::Borrowed(text)) => (text.to_owned(), true),
        Content::Text(Cow::Owned(text)) => (text, false),
        other => panic!("{other:?}"),
    };
    assert_eq!(text(r#""日本 é""#), ("日本 é".into(), true));
    assert_eq!(text(r#""a\n\u00e9\ud83d\ude00""#), ("a\né😀".into(), false));
    assert_eq!(text(r#""cut \ud83d""#), ("cut \u{fffd}".into(), false));
    assert_eq!(
        text(r#""\ude00\ud83d!é""#),
        ("\u{fffd}\u{fffd}!é".into(), false)
    );
    assert_eq!(message(r#"{"r\u006fle":"user"}"#).role, Role::User);
}

#[test]
fn a_line_that_is_no_message_is_reported_where_it_stands() {
    let text = b"\xef\xbb\xbf{\"role\":\"user\"}\r\n\nnot json\n[1]\n{\"a\":\"\xff\"}\n7\n{\"role\":\"user\"} x\n{}";
    let log = read(text);
    let numbers: Vec<u32> = log.entries.iter().map(|entry| entry.number).collect();
    assert_eq!(numbers, [1, 8]);
    assert_eq!(log.entries[0].offset_bytes, 3);
    assert_eq!(log.entries[0].message.line, "{\"role\":\"user\"}");
    let faults: Vec<_> = log
        .faults
        .iter()
        .map(|fault| (fault.number, std::mem::discriminant(&fault.fault)))
        .collect();
    let kinds = [
        (3, Fault::NotJson(String::new())),
        (4, Fault::NotAnObject),
        (5, Fault::NotUtf8(0)),
        (6, Fault::NotAnObject),
        (7, Fault::NotJson(String::new())),
    ];
    assert_eq!(
        faults,
        kinds.map(|(number, fault)| (number, std::mem::discriminant(&fault)))
    );
    let problem = log.faults[2].at("some/key");
    assert_eq!((problem.line, problem.key.as_str()), (Some(5), "some/key"));
    assert!(problem.message.contains("byte 6"), "{}", problem.message);
    assert_eq!(log.torn(), None);
}

#[test]
fn nesting_ends_where_serde_json_ends() {
    let nested = |levels: usize| {
        format!(
            "{{\"a\":{}{}}}\n",
            "[".repeat(levels - 1),
            "]".repeat(levels - 1)
        )
    };
    assert_eq!(read(nested(127).as_bytes()).entries.len(), 1);
    for levels in [128, 100_000] {
        let line = nested(levels);
        let faults = read(line.as_bytes()).faults;
        assert!(faults[0].fault.to_string().contains("127"), "{levels}");
    }
    let log = "{\"a\":[{\"b\":".repeat(50_000);
    assert!(read(log.as_bytes()).torn().is_some());
}

#[test]
fn a_last_line_is_torn_at_every_byte_but_the_last() {
    let first = "{\"role\":\"user\"}\n";
    let last = "{\"role\":\"user\",\"content\":\"é 😀 \\n\"}";
    let whole = format!("{first}{last}");
    for length in first.len() + 1..whole.len() {
        let log = read(&whole.as_bytes()[..length]);
        let torn = log.torn().unwrap_or_else(|| panic!("{length}"));
        assert_eq!((torn.number, torn.offset_bytes), (2, first.len()));
        assert_eq!(torn.length_bytes, length - first.len());
        assert_eq!(log.entries.len(), 1);
        let problem = torn.at("k");
        assert_eq!(problem.kind, crate::types::ProblemKind::Truncated);
        // The same bytes, ended: broken, but not torn off.
        let ended = [&whole.as_bytes()[..length], b"\n"].concat();
        assert_eq!(read(&ended).torn(), None);
        assert_eq!(read(&ended).faults.len(), 1);
    }
    let log = read(whole.as_bytes());
    assert_eq!((log.entries.len(), log.torn()), (2, None));
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let name = "(role|content|type|text|id|data|message|usage|x)";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<f64>().prop_map(Value::from),
        "(user|assistant|toolResult|text|image|toolCall|[a\"\\\\\né]{0,4})".prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 30, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(name, inner, 0..5)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn every_line_is_an_entry_or_a_fault_and_entries_are_written_as_read(
        lines in proptest::collection::vec(prop_oneof![json().prop_map(|json| json.to_string()), "[{}\"a: ]{0,8}"], 0..8),
        crlf: bool,
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let text: String = lines.iter().map(|line| format!("{line}{end}")).collect();
        let log = read(text.as_bytes());
        let mut at: Vec<u32> = log.entries.iter().map(|entry| entry.number)
            .chain(log.faults.iter().map(|fault| fault.number)).collect();
        at.sort_unstable();
        let expected: Vec<u32> = lines.iter().zip(1..).filter(|(line, _)| !line.trim().is_empty()).map(|(_, at)| at).collect();
        prop_assert_eq!(at, expected);
        for entry in &log.entries {
            prop_assert_eq!(entry.message.line, &lines[entry.number as usize - 1]);
            prop_assert!(serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(entry.message.line).is_ok());
        }
        let written = render(log.entries.iter().map(|entry| entry.message.line));
        prop_assert_eq!(read(&written).entries.len(), log.entries.len());
    }

    #[test]
    fn bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let log = read(&bytes);
        prop_assert!(log.entries.len() + log.faults.len() <= bytes.len());
    }
}
