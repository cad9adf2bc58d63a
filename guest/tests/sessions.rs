//! Sessions of gsv from outside: what is appended is read as it was given, what cannot be is refused, and
//! what it costs; on a store that appends and on one that does not.

#[path = "support/bucket.rs"]
mod bucket;
#[path = "support/talk.rs"]
mod talk;

use bucket::Bucket;
use haversack_core::ops::sessions::*;
use haversack_core::transform::reset_policy::ResetPolicy;
use haversack_core::types::ErrorCode;
use talk::*;

#[test]
fn what_is_appended_is_read_as_it_was_given() {
    for bucket in both() {
        let odd = r#"{"role" : "user","content":"m1", "x":1e400,"id":"theirs"}"#.to_owned();
        let first = append(&bucket, &appending("r1", &[text("m0"), odd.clone()], NOW)).unwrap();
        assert_eq!(first.ids, ["r1.0", "r1.1"]);
        assert!(!first.repeat);
        let again = append(&bucket, &appending("r1", &[text("m0"), odd.clone()], NOW)).unwrap();
        assert!(again.repeat);
        say(&bucket, 2);
        let page = read(&bucket, 100, None).unwrap();
        assert_eq!(names(&page.messages), ["m0", "m1", "m2"]);
        assert_eq!(page.messages[1].json, odd);
        assert_eq!(page.messages[1].id.as_deref(), Some("r1.1"));
        assert_eq!(page.problems, []);
        let status = status_of(&bucket);
        assert_eq!(status.counts.messages, 3);
        assert_eq!((status.last_activity_ms, status.epoch), (NOW + 2, 0));
        let page = read(&bucket, 2, None).unwrap();
        assert_eq!(names(&page.messages), ["m1", "m2"]);
        let page = read(&bucket, 2, page.before).unwrap();
        assert_eq!(names(&page.messages), ["m0"]);
    }
}

#[test]
fn bad_input_is_refused_and_changes_nothing() {
    let wrong: Vec<(&str, AppendRequest)> = vec![
        (
            "message 2: a message is not JSON",
            appending("r", &[text("a"), "{".to_owned()], NOW),
        ),
        ("one line", appending("r", &["{\n}".to_owned()], NOW)),
        ("no messages", appending("r", &[], NOW)),
        ("request id", appending("r r", &[text("a")], NOW)),
        ("now-ms", appending("r", &[text("a")], u64::MAX)),
        (
            "seed",
            AppendRequest {
                seed: "short".to_owned(),
                ..appending("r", &[text("a")], NOW)
            },
        ),
        (
            "not to hera",
            AppendRequest {
                session_key: "agent:nex:main".to_owned(),
                ..appending("r", &[text("a")], NOW)
            },
        ),
    ];
    for (named, request) in wrong {
        let bucket = Bucket::new(false);
        let error = append(&bucket, &request).unwrap_err();
        assert!(error.message.contains(named), "{named}: {error}");
        assert!(bucket.keys("").is_empty(), "{named}");
    }
    let bucket = Bucket::new(false);
    let error = read(&bucket, 100, None).unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(error.message.contains(KEY), "{error}");
    for count in [0, 1_001] {
        assert!(
            read(&bucket, count, None)
                .unwrap_err()
                .message
                .contains("1000")
        );
    }
    assert_eq!(reset(&bucket, "r").unwrap().step, ResetStep::Nothing);
    assert!(bucket.keys("").is_empty());
}

#[test]
fn a_state_that_cannot_be_read_is_never_written_over() {
    let key = "agents/hera/sessions/agent%3Ahera%3Amain.state.json";
    for (state, code) in [
        (r#"{"format":2}"#, ErrorCode::Unsupported),
        (r#"{"format":1,"sessionId":"x"}"#, ErrorCode::Invalid),
        ("nonsense", ErrorCode::Invalid),
    ] {
        let bucket = Bucket::new(false);
        bucket.insert(key, state.as_bytes());
        let error = append(&bucket, &appending("r", &[text("a")], NOW)).unwrap_err();
        assert_eq!(
            (error.code, error.key.as_deref()),
            (code, Some(key)),
            "{error}"
        );
        assert!(reset(&bucket, "r").is_err());
        assert_eq!(bucket.bytes(key).unwrap(), state.as_bytes());
        assert_eq!(bucket.keys("").len(), 1);
        let all = DueRequest {
            session_key: None,
            ..asking(ResetPolicy::Idle { minutes: 1 }, NOW)
        };
        assert_eq!(due(&bucket, &all).unwrap().problems.len(), 1);
    }
}

#[test]
fn due_is_what_the_policy_says_of_a_session_with_messages() {
    for bucket in both() {
        let policy = ResetPolicy::Idle { minutes: 5 };
        assert_eq!(due(&bucket, &asking(policy, NOW)).unwrap().due, []);
        say(&bucket, 0);
        for (waited_ms, expected) in [(300_000, 0), (300_001, 1)] {
            let all = DueRequest {
                session_key: None,
                ..asking(policy, NOW + waited_ms)
            };
            for request in [asking(policy, NOW + waited_ms), all] {
                assert_eq!(due(&bucket, &request).unwrap().due.len(), expected);
            }
        }
        reset(&bucket, "r").unwrap();
        assert_eq!(
            due(&bucket, &asking(policy, NOW + 1_000_000_000))
                .unwrap()
                .due,
            []
        );
        let wrong = asking(ResetPolicy::Idle { minutes: 0 }, NOW);
        assert_eq!(due(&bucket, &wrong).unwrap_err().code, ErrorCode::Invalid);
    }
}

#[test]
fn appending_costs_the_same_however_long_the_log_is() {
    for (appends, sent_max) in [(false, 5_000), (true, 2_500)] {
        let bucket = Bucket::new(appends);
        let mut sent = Vec::new();
        for number in 0..1_000 {
            let before = bucket.bytes_sent.get();
            say(&bucket, number);
            sent.push(bucket.bytes_sent.get() - before);
        }
        let all: u64 = sent[200..].iter().sum();
        assert!(all / 800 < sent_max, "{} bytes each", all / 800);
        bucket.waves.set(0);
        bucket.bytes_read.set(0);
        let session_id = Some(status_of(&bucket).session_id);
        bucket.waves.set(0);
        bucket.bytes_read.set(0);
        let request = HistoryRequest {
            home: home(),
            session_key: KEY.to_owned(),
            session_id,
            count: Some(100),
            before: None,
        };
        let page = history(&bucket, &request).unwrap();
        assert_eq!(
            names(&page.messages),
            (900..1_000).map(|n| format!("m{n}")).collect::<Vec<_>>()
        );
        assert!(bucket.waves.get() <= 2, "{}", bucket.waves.get());
        assert!(bucket.bytes_read.get() < 1 << 20);
    }
}

#[test]
fn limits_at_their_edges() {
    let many = |count: usize| vec!["{}".to_owned(); count];
    let large = |bytes: usize| vec![format!("{{\"x\":\"{}\"}}", "y".repeat(bytes - 8 - 128))];
    for bucket in both() {
        for (messages, fits) in [
            (many(256), true),
            (many(257), false),
            (large(4 << 20), true),
            (large((4 << 20) + 1), false),
        ] {
            let id = format!("r{}-{}", messages.len(), messages[0].len());
            let appended = append(&bucket, &appending(&id, &messages, NOW));
            match appended {
                Ok(_) => assert!(fits, "{id}"),
                Err(error) => assert_eq!((error.code, fits), (ErrorCode::TooLarge, false), "{id}"),
            }
        }
        for (seed, fits) in [("0123456789abcdé", false), ("0123456789abcdéf", true)] {
            let request = AppendRequest {
                seed: seed.to_owned(),
                ..appending("s", &[text("a")], NOW)
            };
            assert_eq!(append(&bucket, &request).is_ok(), fits, "{seed}");
        }
        let window = |tokens| ResetBeginRequest {
            window_tokens: Some(tokens),
            ..ending("reset-1")
        };
        let error = reset_begin(&bucket, &window(1_999)).unwrap_err();
        assert_eq!(error.code, ErrorCode::Invalid);
        assert_eq!(status_of(&bucket).epoch, 0);
        let begun = reset_begin(&bucket, &window(2_000)).unwrap();
        assert_eq!(begun.step, ResetStep::Ask);
    }
}

#[test]
fn a_context_has_ten_thousand_messages_at_most() {
    let bucket = Bucket::new(true);
    for page in 0..40u64 {
        let count = if page == 39 { 16 } else { 256 };
        append(
            &bucket,
            &appending(
                &format!("r{page}"),
                &vec!["{}".to_owned(); count],
                NOW + page,
            ),
        )
        .unwrap();
    }
    let session_key = KEY.to_owned();
    let request = ContextRequest {
        home: home(),
        session_key,
    };
    assert_eq!(context(&bucket, &request).unwrap().messages.len(), 10_000);
    append(&bucket, &appending("over", &[text("m")], NOW + 50)).unwrap();
    let error = context(&bucket, &request).unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
    assert!(error.message.contains("compact it"), "{error}");
}

/// A log of 64 MiB that came from elsewhere: its end costs what any end costs.
#[test]
fn the_end_of_a_large_log_is_read_alone() {
    for bucket in both() {
        say(&bucket, 0);
        let status = status_of(&bucket);
        let key = format!("agents/hera/sessions/{}.jsonl", status.session_id);
        let line = |number: usize| {
            format!(
                "{{\"id\":\"o{number}.0\",\"message\":{}}}\n",
                text(&format!("m{number} {}", "x".repeat(960)))
            )
        };
        let mut file = bucket.bytes(&key).unwrap();
        for number in 0..65_000 {
            file.extend_from_slice(line(number).as_bytes());
        }
        assert!(file.len() > 64 << 20);
        bucket.insert(&key, &file);
        bucket.bytes_read.set(0);
        let page = read(&bucket, 100, None).unwrap();
        assert_eq!(page.messages.len(), 100);
        assert!(
            bucket.bytes_read.get() < 1 << 20,
            "{}",
            bucket.bytes_read.get()
        );
        let read_bytes = bucket.bytes_read.get();
        bucket.bytes_sent.set(0);
        say(&bucket, 70_000);
        assert!(
            bucket.bytes_sent.get() < 2_000,
            "{}",
            bucket.bytes_sent.get()
        );
        assert!(bucket.bytes_read.get() - read_bytes < 1 << 20);
    }
}
