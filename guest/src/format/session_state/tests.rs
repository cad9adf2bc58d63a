//! Records as they are written, and what is said of those that cannot be read.

use super::*;
use crate::types::ErrorCode;

fn full() -> SessionState {
    SessionState {
        session_id: "new".to_owned(),
        previous: vec!["old".to_owned()],
        epoch: 1,
        updated_ms: 1_771_579_800_000,
        counters: Counters {
            messages: 3,
            input_tokens: 2,
            output_tokens: 1,
            total_tokens: u64::MAX,
        },
        last_part_ms: 7,
        pending: None,
        requests: vec!["r1".to_owned()],
        mirrored: None,
        unknown: vec![("theirs".to_owned(), "{\"x\": 1e400}".to_owned())],
    }
}

#[test]
fn what_is_written_is_read() {
    let reset = Pending::Reset(PendingReset {
        request_id: "r".to_owned(),
        old: "old".to_owned(),
        new: "new".to_owned(),
        at_ms: 9,
        last_activity_ms: 8,
        counters: full().counters,
        keep_media: vec!["m".to_owned()],
        given_up_part_ms: Some(6),
        stage: ResetStage::Archived,
    });
    let compaction = Pending::Compaction(PendingCompaction {
        request_id: "c".to_owned(),
        from_entry: "a.0".to_owned(),
        to_entry: "a.9".to_owned(),
        part_ms: 7,
        at_ms: 6,
        stage: CompactionStage::Remembered,
    });
    for pending in [None, Some(reset), Some(compaction)] {
        for mirrored in [None, Some(0), Some(7)] {
            let pending = pending.clone();
            let state = SessionState {
                pending,
                mirrored,
                ..full()
            };
            let bytes = state.render();
            assert_eq!(SessionState::parse("k", &bytes).unwrap(), state);
        }
    }
    let text = String::from_utf8(full().render()).unwrap();
    assert!(
        text.starts_with("{\n  \"format\": 1,\n  \"sessionId\": \"new\",\n"),
        "{text}"
    );
    assert!(
        text.ends_with("\"requests\": [\"r1\"],\n  \"theirs\": {\"x\": 1e400}\n}\n"),
        "{text}"
    );
}

#[test]
fn only_the_newest_are_remembered() {
    let ids = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
    let state = SessionState {
        previous: ids(17),
        requests: ids(16),
        ..full()
    };
    let read = SessionState::parse("k", &state.render()).unwrap();
    assert_eq!((read.previous.len(), read.previous[0].as_str()), (16, "1"));
    assert_eq!((read.requests.len(), read.requests[0].as_str()), (16, "0"));
}

#[test]
fn what_cannot_be_read_is_named() {
    let newer = SessionState::parse("k", br#"{"format":2}"#).unwrap_err();
    assert_eq!(newer.code, ErrorCode::Unsupported);
    for (json, named) in [
        ("", "k is no session state"),
        ("[]", "k is no session state"),
        ("{}", "`format`"),
        (r#"{"format":1}"#, "`sessionId`"),
        (r#"{"format":1,"format":1}"#, "`format` twice"),
        (
            r#"{"format":1,"sessionId":"s","epoch":"1"}"#,
            "`epoch` \"1\"",
        ),
        (
            r#"{"format":1,"sessionId":"s","counters":{"messages":-1}}"#,
            "`counters.messages` -1",
        ),
        (
            r#"{"format":1,"sessionId":"s","pending":{"kind":"x","stage":"y"}}"#,
            "`pending.kind` \"x\"",
        ),
        (
            r#"{"format":1,"sessionId":"s","pending":{"kind":"reset","requestId":"r","old":"o","new":"n","atMs":1,"lastActivityMs":1,"stage":"y"}}"#,
            "`pending.stage` \"y\"",
        ),
    ] {
        let error = SessionState::parse("k", json.as_bytes()).unwrap_err();
        assert_eq!(error.key.as_deref(), Some("k"));
        assert!(error.message.contains(named), "{json}: {}", error.message);
    }
    assert!(
        SessionState::parse("k", b"{\xff}")
            .unwrap_err()
            .message
            .contains("UTF-8")
    );
}
