//! The end of a gsv session from outside: one archive, memories, media, and the next session.

#[path = "support/bucket.rs"]
mod bucket;
#[path = "support/failing.rs"]
mod failing;
#[path = "support/talk.rs"]
mod talk;

use std::cell::Cell;

use bucket::Bucket;
use failing::Failing;
use haversack_core::format::live_log::message_line;
use haversack_core::layout::gsv::{AgentId, SessionId};
use haversack_core::layout::log::{LogKeys, SegmentName};
use haversack_core::ops::sessions::*;
use haversack_core::types::ErrorCode;
use talk::*;

#[test]
fn a_reset_archives_once_and_begins_anew() {
    for bucket in both() {
        for number in 0..100 {
            say(&bucket, number);
        }
        append(&bucket, &appending("a", &[answered("hi")], NOW + 500)).unwrap();
        let before = status_of(&bucket);
        let done = reset(&bucket, "reset-1").unwrap();
        assert_eq!(done.step, ResetStep::Done);
        assert_eq!(done.messages, Some(101));
        assert_eq!(done.archived_session_id.as_ref(), Some(&before.session_id));
        let [archive] = archives(&bucket).try_into().unwrap();
        assert_eq!(done.archive.as_ref(), Some(&archive));
        let expected: Vec<String> = (0..100)
            .map(|n| text(&format!("m{n}")))
            .chain([answered("hi")])
            .collect();
        assert_eq!(lines(&bucket, &archive), expected);
        let metadata = bucket.objects.borrow()[&archive].options.clone();
        assert_eq!(metadata.content_type.as_deref(), Some("application/gzip"));
        let pairs: Vec<(&str, String)> = vec![
            ("sessionKey", KEY.to_owned()),
            ("sessionId", before.session_id.clone()),
            ("agentId", "hera".to_owned()),
            ("messageCount", "101".to_owned()),
            ("archivedAt", (NOW + 1_000_000).to_string()),
            ("inputTokens", "3".to_owned()),
            ("outputTokens", "2".to_owned()),
            ("totalTokens", "5".to_owned()),
        ];
        let pairs: Vec<(String, String)> =
            pairs.into_iter().map(|(n, v)| (n.to_owned(), v)).collect();
        assert_eq!(metadata.metadata, pairs);
        // Of the old log nothing is left; the new one is there.
        let left: Vec<String> = bucket
            .keys("")
            .into_iter()
            .filter(|key| key.contains(&before.session_id))
            .collect();
        assert_eq!(left, std::slice::from_ref(&archive));
        let after = status_of(&bucket);
        assert_eq!(
            (after.epoch, after.counts.messages, after.pending),
            (1, 0, None)
        );
        assert_eq!(after.previous, std::slice::from_ref(&before.session_id));
        let sent = bucket.bytes_sent.get();
        let again = reset(&bucket, "reset-1").unwrap();
        assert_eq!(again.step, ResetStep::Done);
        assert_eq!(again.archived_session_id, Some(before.session_id));
        assert_eq!((again.archive, again.messages), (done.archive, Some(101)));
        assert_eq!((bucket.bytes_sent.get(), live(&bucket)), (sent, vec![]));
        assert_eq!(reset(&bucket, "reset-2").unwrap().step, ResetStep::Nothing);
        assert_eq!(
            bucket.bytes_sent.get(),
            sent,
            "no messages, nothing is written"
        );
        // A repeat of what went into the archive is known.
        let repeat = append(&bucket, &appending("m99", &[text("m99")], NOW + 99)).unwrap();
        assert!(repeat.repeat);
        assert_eq!(live(&bucket), Vec::<String>::new());
        say(&bucket, 200);
        assert_eq!(live(&bucket), ["m200"]);
    }
}

#[test]
fn media_go_with_their_session_unless_they_are_kept_or_the_next_ones() {
    for bucket in both() {
        let last = NOW + 10;
        let named = insert_media(&bucket, 1, last + 50);
        let kept = insert_media(&bucket, 2, NOW);
        let orphan = insert_media(&bucket, 3, NOW);
        let trigger = insert_media(&bucket, 4, last);
        let other = "media/agent:hera:mainx/00000000-0000-4000-8000-000000000001.png";
        bucket.insert(other, b"png");
        append(
            &bucket,
            &appending(
                "a",
                &[showing(&named), showing(&kept), showing(other)],
                last,
            ),
        )
        .unwrap();
        let request = ResetBeginRequest {
            keep_media: vec![kept.clone()],
            ..ending("reset-1")
        };
        let begun = reset_begin(&bucket, &request).unwrap();
        assert_eq!(begun.step, ResetStep::Commit);
        append(
            &bucket,
            &appending("b", &[showing(&trigger)], NOW + 2_000_000),
        )
        .unwrap();
        let done = reset_commit(&bucket, &committing("reset-1")).unwrap();
        assert_eq!(done.deleted_media, 2, "{named} {orphan}");
        assert_eq!(
            bucket.keys("media/"),
            [kept.as_str(), trigger.as_str(), other]
        );
        assert_eq!(
            read(&bucket, 10, None).unwrap().messages[0].json,
            showing(&trigger)
        );
        let strange = ResetBeginRequest {
            keep_media: vec![other.to_owned()],
            ..ending("reset-2")
        };
        assert_eq!(
            reset_begin(&bucket, &strange).unwrap_err().code,
            ErrorCode::Invalid
        );
        let many = ResetBeginRequest {
            keep_media: vec![kept.clone(); 257],
            ..ending("reset-2")
        };
        assert_eq!(
            reset_begin(&bucket, &many).unwrap_err().code,
            ErrorCode::TooLarge
        );
    }
}

/// A medium older than the last activity, named only by lines that come between the old log's close and the sweep.
#[test]
fn media_of_messages_that_come_late_go_on_with_them() {
    let bucket = Bucket::new(false);
    let late = insert_media(&bucket, 1, NOW);
    insert_media(&bucket, 2, NOW);
    say(&bucket, 10);
    let old = SessionId::parse(&status_of(&bucket).session_id).unwrap();
    reset_begin(&bucket, &ending("reset-1")).unwrap();
    let keys = LogKeys::live_log(&AgentId::parse("hera").unwrap(), &old);
    let name = SegmentName::new(NOW + 1, "0123456789abcdef01234567").unwrap();
    let line = message_line("late.0", &showing(&late)).unwrap();
    bucket.insert(&keys.segment(&name), &line);
    let done = reset_commit(&bucket, &committing("reset-1")).unwrap();
    assert_eq!((done.step, done.deleted_media), (ResetStep::Done, 1));
    assert_eq!(bucket.keys("media/"), std::slice::from_ref(&late));
    let messages = read(&bucket, 10, None).unwrap().messages;
    assert_eq!(messages[0].json, showing(&late));
}

/// The first message behind a reset is no longer on the newest page when the reset goes on.
#[test]
fn media_of_the_next_session_stay_however_much_is_said_meanwhile() {
    for bucket in both() {
        let trigger = insert_media(&bucket, 1, NOW);
        let named = insert_media(&bucket, 2, NOW);
        append(
            &bucket,
            &appending("a", &[showing(&named), showing(&trigger)], NOW + 10),
        )
        .unwrap();
        reset_begin(&bucket, &ending("reset-1")).unwrap();
        append(
            &bucket,
            &appending("b", &[showing(&trigger)], NOW + 2_000_000),
        )
        .unwrap();
        for number in 0..4 {
            let many = vec![text("x"); 256];
            let id = format!("c{number}");
            append(&bucket, &appending(&id, &many, NOW + 2_000_001 + number)).unwrap();
        }
        let done = reset_commit(&bucket, &committing("reset-1")).unwrap();
        assert_eq!((done.step, done.deleted_media), (ResetStep::Done, 1));
        assert_eq!(bucket.keys("media/"), [trigger]);
    }
}

#[test]
fn memories_are_asked_for_and_appended_once() {
    for bucket in both() {
        for number in 0..40 {
            let long = format!("m{number} {}", "q".repeat(500));
            append(
                &bucket,
                &appending(&format!("r{number}"), &[text(&long)], NOW + number),
            )
            .unwrap();
        }
        let request = ResetBeginRequest {
            window_tokens: Some(8_000),
            ..ending("reset-1")
        };
        let mut step = reset_begin(&bucket, &request).unwrap();
        let (mut asked, mut seen) = (0, String::new());
        while step.step == ResetStep::Ask {
            seen.push_str(step.ask.as_ref().unwrap());
            asked += 1;
            let blank = ResetResumeRequest {
                reply: " ".to_owned(),
                ..resuming(&step)
            };
            assert!(reset_resume(&bucket, &blank).is_err());
            step = reset_resume(&bucket, &resuming(&step)).unwrap();
        }
        assert!(asked > 3, "{asked}");
        for number in 0..40 {
            assert_eq!(seen.matches(&format!("m{number} q")).count(), 1, "{number}");
        }
        assert_eq!(step.step, ResetStep::Commit);
        let commit = ResetCommitRequest {
            state: step.state.clone(),
            ..committing("reset-1")
        };
        for calls in 0..40 {
            let failing = Failing {
                inner: &bucket,
                left: Cell::new(calls),
                loses_an_answer: true,
            };
            let _ = reset_commit(&failing, &commit);
        }
        assert_eq!(
            reset_commit(&bucket, &commit).unwrap().step,
            ResetStep::Done
        );
        let memory =
            String::from_utf8(bucket.bytes("agents/hera/memory/2026-02-20.md").unwrap()).unwrap();
        assert_eq!(
            memory
                .matches("### Extracted from context compaction (09:30)")
                .count(),
            1
        );
        assert_eq!(memory.matches("- likes tea").count(), asked);
        let strange = ResetCommitRequest {
            state: Some("{}".to_owned()),
            ..committing("reset-1")
        };
        assert_eq!(
            reset_commit(&bucket, &strange).unwrap().step,
            ResetStep::Done
        );
    }
}

/// One host asks its model while another one, without a model, brings the reset to its end. One id may also end
/// the sessions of two keys, and both are remembered.
#[test]
fn memories_of_a_reset_that_another_host_ended() {
    for bucket in both() {
        say(&bucket, 0);
        let request = ResetBeginRequest {
            window_tokens: Some(8_000),
            ..ending("nightly")
        };
        let asked = reset_begin(&bucket, &request).unwrap();
        let answered = reset_resume(&bucket, &resuming(&asked)).unwrap();
        reset_commit(&bucket, &committing("nightly")).unwrap();
        let commit = ResetCommitRequest {
            state: answered.state,
            ..committing("nightly")
        };
        let day = "agents/hera/memory/2026-02-20.md";
        assert_eq!(bucket.bytes(day), None);
        for _ in 0..2 {
            reset_commit(&bucket, &commit).unwrap();
            let memory = String::from_utf8(bucket.bytes(day).unwrap()).unwrap();
            assert_eq!(memory.matches("- likes tea").count(), 1);
        }
        let other = "agent:hera:dm:ann".to_owned();
        let message = AppendRequest {
            session_key: other.clone(),
            ..appending("m", &[text("m")], NOW)
        };
        append(&bucket, &message).unwrap();
        let request = ResetBeginRequest {
            session_key: other.clone(),
            ..request
        };
        let asked = reset_begin(&bucket, &request).unwrap();
        let resume = ResetResumeRequest {
            session_key: other.clone(),
            ..resuming(&asked)
        };
        let commit = ResetCommitRequest {
            session_key: other,
            state: reset_resume(&bucket, &resume).unwrap().state,
            ..committing("nightly")
        };
        reset_commit(&bucket, &commit).unwrap();
        let memory = String::from_utf8(bucket.bytes(day).unwrap()).unwrap();
        assert_eq!(memory.matches("- likes tea").count(), 2);
    }
}

fn resuming(step: &ResetAnswer) -> ResetResumeRequest {
    ResetResumeRequest {
        home: home(),
        session_key: KEY.to_owned(),
        request_id: step.request_id.clone(),
        state: step.state.clone().unwrap(),
        reply: "<summary>\nthey talked\n</summary>\n<memories>\n- likes tea\n</memories>"
            .to_owned(),
    }
}

/// Who finds a reset pending goes on with that one, whatever it was called for.
#[test]
fn one_reset_is_pending_at_a_time() {
    for bucket in both() {
        say(&bucket, 0);
        let error = reset_commit(&bucket, &committing("reset-1")).unwrap();
        assert_eq!(error.step, ResetStep::Done, "nothing is pending");
        reset_begin(&bucket, &ending("reset-1")).unwrap();
        let joined = reset_begin(&bucket, &ending("reset-2")).unwrap();
        assert_eq!(
            (joined.step, joined.request_id.as_str()),
            (ResetStep::Commit, "reset-1")
        );
        let error = reset_commit(&bucket, &committing("reset-2")).unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict);
        assert!(error.message.contains("reset-1"), "{error}");
        assert_eq!(status_of(&bucket).pending.unwrap().stage, "archived");
        assert_eq!(
            reset_commit(&bucket, &committing("reset-1")).unwrap().step,
            ResetStep::Done
        );
        assert_eq!(status_of(&bucket).epoch, 1);
    }
}

/// More than one call archives.
#[test]
fn a_long_reset_goes_on_call_by_call() {
    let bucket = Bucket::new(false);
    for number in 0..5u64 {
        let name = format!("m{number} {}", "x".repeat(3_400_000));
        append(
            &bucket,
            &appending(&format!("r{number}"), &[text(&name)], NOW + number),
        )
        .unwrap();
    }
    let begun = reset_begin(&bucket, &ending("reset-1")).unwrap();
    assert_eq!((begun.step, begun.archive), (ResetStep::Again, None));
    let early = reset_commit(&bucket, &committing("reset-1")).unwrap_err();
    assert_eq!(early.code, ErrorCode::Invalid);
    say(&bucket, 50);
    let begun = reset_begin(&bucket, &ending("reset-1")).unwrap();
    assert_eq!((begun.step, begun.messages), (ResetStep::Commit, Some(5)));
    reset_commit(&bucket, &committing("reset-1")).unwrap();
    assert_eq!(live(&bucket), ["m50"]);
    assert_eq!(archives(&bucket).len(), 1);
}

/// A live log that vanished takes nothing with it.
#[test]
fn without_its_log_a_session_is_not_reset() {
    for bucket in both() {
        say(&bucket, 0);
        let before = status_of(&bucket);
        let begun = Failing {
            inner: &bucket,
            left: Cell::new(6),
            loses_an_answer: false,
        };
        assert!(reset_begin(&begun, &ending("reset-1")).is_err());
        assert_eq!(status_of(&bucket).epoch, 1);
        bucket
            .objects
            .borrow_mut()
            .retain(|key, _| !key.contains(&before.session_id));
        let error = reset_begin(&bucket, &ending("reset-1")).unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict);
        assert!(error.message.contains("nothing was deleted"), "{error}");
    }
}
