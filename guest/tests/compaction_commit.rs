//! The commit of `compaction` over a bucket: stopped anywhere, repeated, raced, given up, taken over.

#[path = "support/bucket.rs"]
mod bucket;
#[path = "support/chat.rs"]
mod chat;
#[path = "support/stopping.rs"]
mod stopping;

use std::cell::Cell;

use bucket::Bucket;
use chat::*;
use haversack_core::limits::*;
use haversack_core::ops::compaction::*;
use haversack_core::ops::sessions;
use haversack_core::types::ErrorCode;
use stopping::Stopping;

/// One part, one section, one entry, whatever the commit was stopped after.
fn check_done(bucket: &Bucket, lines: &[String], at: usize) {
    let parts = parts(bucket);
    assert_eq!(parts.len(), 1, "stopped after {at}");
    let (given, _) = given(bucket);
    let whole: Vec<&String> = parts[0].1.iter().chain(&given[1..]).collect();
    assert_eq!(
        whole,
        lines.iter().collect::<Vec<_>>(),
        "stopped after {at}"
    );
    let days = bucket.keys("agents/hera/memory/").into_iter();
    let memories: String = days
        .map(|key| String::from_utf8(bucket.bytes(&key).unwrap()).unwrap())
        .collect();
    assert_eq!(
        memories.matches("### Extracted").count(),
        1,
        "stopped after {at}"
    );
    let entries = log_lines(bucket);
    let summaries = entries
        .iter()
        .filter(|(id, _)| id.as_deref().is_some_and(|id| id.ends_with(".summary")));
    assert_eq!(summaries.count(), 1, "stopped after {at}");
    assert_eq!(state(bucket).pending, None, "stopped after {at}");
    assert_eq!(
        bucket
            .keys("agents/hera/sessions/")
            .iter()
            .filter(|key| key.contains("/pieces/"))
            .count(),
        0
    );
}

#[test]
fn a_commit_stops_after_any_call_and_a_repeat_finishes_it() {
    for (appends, last_is_done) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut at = 0;
        loop {
            let (bucket, lines) = bucket_with(12, appends);
            let (_, step) = {
                let step = begin(&bucket, &begin_request(true, NOW_MS)).unwrap();
                converse(&bucket, step)
            };
            let before = messages(&bucket);
            let stopping = Stopping {
                inner: &bucket,
                left: Cell::new(at),
                last_is_done,
            };
            let first = commit(&stopping, &commit_request(&step, "r1", NOW_MS));
            let whole = first.is_ok() && !stopping.stopped();
            if first.is_err() && parts(&bucket).is_empty() {
                assert_eq!(
                    messages(&bucket),
                    before,
                    "nothing is dropped before the archive"
                );
            }
            // Again the next day, and the day after.
            for later in [1u64, 2] {
                let now_ms = NOW_MS + later * 86_400_000;
                let again = commit(&bucket, &commit_request(&step, "r1", now_ms)).unwrap();
                let committed = again.committed.unwrap();
                assert!(
                    committed.repeat || (later == 1 && !whole),
                    "stopped after {at}"
                );
                check_done(&bucket, &lines, at);
            }
            if whole {
                assert!(at > 15, "{at} calls");
                break;
            }
            at += 1;
        }
    }
}

#[test]
fn of_two_hosts_one_wins_and_the_other_is_told() {
    let (bucket, lines) = bucket_with(12, false);
    let ready = || {
        let step = begin(&bucket, &begin_request(true, NOW_MS)).unwrap();
        converse(&bucket, step).1
    };
    let (ours, theirs) = (ready(), ready());
    commit(&bucket, &commit_request(&ours, "r1", NOW_MS)).unwrap();
    let error = commit(&bucket, &commit_request(&theirs, "r2", NOW_MS + 1)).unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(error.message.contains("begin again"), "{error}");
    check_done(&bucket, &lines, 0);
    // New messages after the end change nothing of a repeat.
    say(&bucket, "b", &turns("b", 2), NOW_MS + 10);
    let repeat = commit(&bucket, &commit_request(&ours, "r1", NOW_MS + 20)).unwrap();
    assert!(repeat.committed.unwrap().repeat);
}

#[test]
fn a_commit_that_was_given_up_is_taken_over_with_its_part() {
    let mut taken_over = 0;
    for (at, last_is_done) in (4..40).flat_map(|at| [(at, false), (at, true)]) {
        let (bucket, lines) = bucket_with(12, false);
        let step = begin(&bucket, &begin_request(true, NOW_MS)).unwrap();
        let (_, theirs) = converse(&bucket, step);
        let stopping = Stopping {
            inner: &bucket,
            left: Cell::new(at),
            last_is_done,
        };
        let first = commit(&stopping, &commit_request(&theirs, "r0", NOW_MS));
        let pending = state(&bucket).pending.is_some();
        taken_over += usize::from(pending && first.is_err() && messages(&bucket) == lines);
        let published = messages(&bucket) != lines;
        if first.is_ok() || published || !pending {
            continue;
        }
        say(&bucket, "b", &turns("b", 3), NOW_MS + 10);
        let early = NOW_MS + COMPACTION_LEASE_MS - 1;
        let error = begin(&bucket, &begin_request(true, early)).unwrap_err();
        assert_eq!(
            (error.code, error.retry_after_ms),
            (ErrorCode::Conflict, Some(1))
        );
        let error = commit(&bucket, &commit_request(&theirs, "r1", early)).unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict);
        let committed = compact(&bucket, "r1", true, early + 1).unwrap().unwrap();
        assert_eq!(committed.part_ms, NOW_MS);
        check_done(&bucket, &[lines, turns("b", 3)].concat(), at);
        // Who gave up and comes back is told.
        let error = commit(&bucket, &commit_request(&theirs, "r0", early + 2)).unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict);
    }
    assert!(taken_over > 10, "{taken_over}");
}

#[test]
fn what_changed_behind_its_back_is_noticed() {
    let (bucket, _) = bucket_with(12, true);
    let step = begin(&bucket, &begin_request(false, NOW_MS)).unwrap();
    let key = keys(&bucket).head().to_owned();
    let text = String::from_utf8(bucket.bytes(&key).unwrap()).unwrap();
    let before = bucket.keys("");
    for edited in [
        text.replacen("question 1", "question 2", 1),
        text.lines()
            .skip(3)
            .map(|line| format!("{line}\n"))
            .collect(),
        text.lines()
            .take(3)
            .map(|line| format!("{line}\n"))
            .collect(),
    ] {
        bucket.insert(&key, edited.as_bytes());
        let error = commit(&bucket, &commit_request(&step, "r1", NOW_MS)).unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict, "{error}");
        assert_eq!(bucket.keys(""), before);
    }
}

/// Messages that come while the model is asked are kept, also from a clock that is behind.
#[test]
fn messages_that_come_in_between_are_kept() {
    for appends in [false, true] {
        let (bucket, lines) = bucket_with(12, appends);
        let step = begin(&bucket, &begin_request(true, NOW_MS)).unwrap();
        say(&bucket, "late", &turns("late", 1), NOW_MS - 9_000_000);
        let (_, step) = converse(&bucket, step);
        say(&bucket, "later", &turns("later", 1), NOW_MS - 8_000_000);
        commit(&bucket, &commit_request(&step, "r1", NOW_MS)).unwrap();
        say(&bucket, "latest", &turns("latest", 1), NOW_MS - 7_000_000);
        let (given, _) = given(&bucket);
        let whole: Vec<String> = parts(&bucket)
            .remove(0)
            .1
            .into_iter()
            .chain(given[1..].to_vec())
            .collect();
        assert_eq!(
            whole,
            [
                lines,
                turns("late", 1),
                turns("later", 1),
                turns("latest", 1)
            ]
            .concat()
        );
    }
}

/// Also by one that had begun before it was given up.
#[test]
fn who_has_the_same_messages_takes_over_at_once_when_the_time_has_come() {
    let (bucket, lines) = bucket_with(12, false);
    let ready = || {
        let step = begin(&bucket, &begin_request(true, NOW_MS)).unwrap();
        converse(&bucket, step).1
    };
    let (ours, theirs) = (ready(), ready());
    let stopping = Stopping {
        inner: &bucket,
        left: Cell::new(10),
        last_is_done: false,
    };
    commit(&stopping, &commit_request(&theirs, "r0", NOW_MS)).unwrap_err();
    assert!(state(&bucket).pending.is_some());
    let after = NOW_MS + COMPACTION_LEASE_MS;
    let early = commit(&bucket, &commit_request(&ours, "r1", after - 1)).unwrap_err();
    assert_eq!(
        (early.code, early.retry_after_ms),
        (ErrorCode::Conflict, Some(1))
    );
    let answer = commit(&bucket, &commit_request(&ours, "r1", after)).unwrap();
    assert_eq!(answer.committed.unwrap().part_ms, NOW_MS);
    check_done(&bucket, &lines, 10);
}

/// A reset after compactions: the archive and the parts are the whole session.
#[test]
fn a_transcript_has_every_message_once() {
    let bucket = Bucket::new(false);
    let mut all = Vec::new();
    for round in 0..3u64 {
        let lines = turns(&format!("r{round}"), 8);
        say(
            &bucket,
            &format!("r{round}"),
            &lines,
            NOW_MS + round * 1_000,
        );
        all.extend(lines);
        compact(&bucket, &format!("c{round}"), true, NOW_MS)
            .unwrap()
            .unwrap();
    }
    let old = state(&bucket).session_id;
    let request = sessions::ResetBeginRequest {
        home: session().home,
        session_key: session().session_key,
        request_id: "reset".into(),
        session_id: None,
        seed: "0123456789abcdef".into(),
        now_ms: NOW_MS + 9_000,
        utc_offset_minutes: 0,
        keep_media: Vec::new(),
        window_tokens: None,
    };
    sessions::reset_begin(&bucket, &request).unwrap();
    let commit = sessions::ResetCommitRequest {
        home: session().home,
        session_key: session().session_key,
        request_id: "reset".into(),
        state: None,
    };
    while state(&bucket).pending.is_some() {
        sessions::reset_commit(&bucket, &commit).unwrap();
    }
    let request = sessions::TranscriptRequest {
        home: session().home,
        session_id: old,
        parts: true,
        cursor: None,
        limit: None,
    };
    let transcript = sessions::transcript(&bucket, &request).unwrap();
    let (summaries, said): (Vec<_>, Vec<_>) = transcript
        .messages
        .into_iter()
        .partition(|message| message.is_summary);
    assert_eq!(summaries.len(), 1);
    let said: Vec<String> = said.into_iter().map(|message| message.json).collect();
    assert_eq!(said, all);
}

/// A commit of many pieces takes several calls; each message here is a piece of its own.
#[test]
fn the_pieces_of_one_call() {
    let bucket = Bucket::new(true);
    let content = "x".repeat(COMPACTION_PIECE_BYTES as usize - 1_024);
    let line = format!(r#"{{"role":"user","content":"{content}"}}"#);
    let long = COMPACTION_PIECES_MAX + 1;
    say(&bucket, "long", &vec![line; long], NOW_MS - 1_000);
    let kept = "and now? ".repeat(20_000);
    let kept = format!(r#"{{"role":"user","content":"{kept}"}}"#);
    say(&bucket, "kept", &[kept], NOW_MS);
    let step = begin(&bucket, &begin_request(false, NOW_MS)).unwrap();
    let request = commit_request(&step, "r1", NOW_MS);
    assert_eq!(commit(&bucket, &request).unwrap().committed, None);
    let staged = bucket.keys("agents/hera/sessions/").into_iter();
    let staged = staged.filter(|key| key.contains("/pieces/"));
    assert_eq!(staged.count(), COMPACTION_PIECES_MAX);
    assert_eq!(parts(&bucket), [], "half a part is not to be seen");
    assert!(commit(&bucket, &request).unwrap().committed.is_some());
    assert_eq!(parts(&bucket)[0].1.len(), long);
}
