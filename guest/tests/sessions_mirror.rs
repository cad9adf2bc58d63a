//! Sessions that their host keeps itself: pages of any length in the host's order, whatever the clocks say,
//! what is compared and counted, and what they do beside appends and resets.

#[path = "support/bucket.rs"]
mod bucket;
#[path = "support/stopping.rs"]
mod stopping;
#[path = "support/talk.rs"]
mod talk;

use std::cell::Cell;

use bucket::Bucket;
use haversack_core::ops::sessions::*;
use haversack_core::store::Store;
use haversack_core::types::{ErrorCode, Result};
use stopping::Stopping;
use talk::*;

const HOSTS: &str = "6f1d2c3b-0000-4000-8000-000000000001";
const NEXT: &str = "6f1d2c3b-0000-4000-8000-000000000002";

fn page(first: u64, messages: &[String]) -> MirrorRequest {
    MirrorRequest {
        home: home(),
        session_key: KEY.to_owned(),
        session_id: HOSTS.to_owned(),
        first,
        messages: messages.to_vec(),
        now_ms: NOW,
    }
}

fn said(first: u64, count: u64) -> Vec<String> {
    let names = (first..first + count).map(|number| format!("n{number}"));
    names.map(|name| answered(&name)).collect()
}

/// Whole, in pages of `size`.
fn pass(store: &dyn Store, from: u64, count: u64, size: u64) -> Result<()> {
    let mut first = from;
    while first < from + count {
        let many = size.min(from + count - first);
        let answer = mirror(store, &page(first, &said(first, many)))?;
        first += many;
        assert!(answer.next >= first);
    }
    Ok(())
}

fn naming(session_id: &str, id: &str) -> ResetBeginRequest {
    ResetBeginRequest {
        session_id: Some(session_id.to_owned()),
        seed: String::new(),
        ..ending(id)
    }
}

/// A reset to a session of the host's own, to its end.
fn reset_to(store: &dyn Store, session_id: &str, id: &str) -> ResetAnswer {
    loop {
        let begun = reset_begin(store, &naming(session_id, id)).unwrap();
        match begun.step {
            ResetStep::Again => {}
            ResetStep::Commit => {
                return reset_commit(store, &committing(&begun.request_id)).unwrap();
            }
            _ => return begun,
        }
    }
}

#[test]
fn a_long_session_keeps_its_order_and_is_archived_whole() {
    for bucket in both() {
        // 1,500 messages, so that heads are sealed, in pages of all sizes and under clocks that go back.
        let mut first = 0;
        for (turn, size) in [1, 256, 3, 255, 200, 256, 17, 256, 256]
            .into_iter()
            .enumerate()
        {
            let mut request = page(first, &said(first, size));
            request.now_ms = NOW - 1_000 * turn as u64;
            let big = format!(
                r#"{{"role":"user","content":"n{first}","x":"{}"}}"#,
                "x".repeat(200_000)
            );
            request.messages[0] = big;
            mirror(&bucket, &request).unwrap();
            first += size;
        }
        assert_eq!(first, 1_500);
        let again = mirror(&bucket, &page(20, &said(20, 200))).unwrap();
        assert_eq!((again.next, again.repeat), (1_500, true));
        let sealed = bucket.keys(&format!("agents/hera/sessions/{HOSTS}/old/"));
        assert_eq!(sealed.is_empty(), bucket.appends);
        let status = status_of(&bucket);
        assert_eq!(
            (status.counts.messages, status.counts.input_tokens),
            (1_500, 3 * 1_491)
        );
        let done = reset_to(&bucket, NEXT, "end");
        assert_eq!(
            (done.step, done.session_id.as_deref()),
            (ResetStep::Done, Some(NEXT))
        );
        let archived = lines(&bucket, &archives(&bucket)[0]);
        let names: Vec<String> = archived.iter().map(|line| name_of(line)).collect();
        let expected: Vec<String> = (0..1_500).map(|number| format!("n{number}")).collect();
        assert_eq!(names, expected);
    }
}

#[test]
fn another_message_at_a_place_is_found_however_far_back() {
    for bucket in both() {
        pass(&bucket, 0, 1_200, 200).unwrap();
        for place in [0, 3, 700, 1_199] {
            let mut messages = said(place.max(3) - 3, 4);
            let at = usize::try_from(place - (place.max(3) - 3)).unwrap();
            messages[at] = answered("other");
            let before = bucket.objects.borrow().len();
            let error = mirror(&bucket, &page(place.max(3) - 3, &messages)).unwrap_err();
            assert_eq!(error.code, ErrorCode::Invalid);
            assert!(
                error.message.contains(&format!("place {place} of")),
                "{error}"
            );
            assert_eq!(bucket.objects.borrow().len(), before);
        }
        // One that differs before it goes on is refused whole.
        let mut messages = said(1_199, 2);
        messages[0] = answered("other");
        assert!(mirror(&bucket, &page(1_199, &messages)).is_err());
        assert_eq!(mirror(&bucket, &page(0, &[])).unwrap().next, 1_200);
    }
}

#[test]
fn stopped_after_any_call_the_next_page_counts_what_was_not() {
    for bucket in both() {
        let mut left = 1;
        let mut held = 0;
        loop {
            let (left_now, last_is_done) = (left / 2, left % 2 == 0);
            let stopping = Stopping {
                inner: &bucket,
                left: Cell::new(left_now + 1),
                last_is_done,
            };
            let answer = mirror(&stopping, &page(held, &said(held, 3)));
            let stopped = stopping.stopped();
            held = mirror(&bucket, &page(0, &[])).unwrap().next;
            if answer.is_ok() && !stopped {
                break;
            }
            left += 1;
        }
        assert!(held > 6, "{held}");
        mirror(&bucket, &page(held, &said(held, 1))).unwrap();
        let status = status_of(&bucket);
        assert_eq!(status.counts.messages, held + 1);
        assert_eq!(live(&bucket).len() as u64, held + 1);
    }
}

#[test]
fn a_page_of_four_mebibytes_is_taken_and_of_a_byte_more_is_not() {
    let long = |bytes: usize| {
        let frame = text("").len() + 128;
        text(&"x".repeat(bytes - frame))
    };
    for bucket in both() {
        mirror(&bucket, &page(0, &[long(4 << 20)])).unwrap();
        let refused = mirror(&bucket, &page(1, &[long((4 << 20) + 1)])).unwrap_err();
        assert_eq!(refused.code, ErrorCode::TooLarge);
        mirror(&bucket, &page(1, &[long(2 << 20), long(2 << 20)])).unwrap();
        let again = mirror(&bucket, &page(0, &[long(4 << 20)])).unwrap();
        assert_eq!((again.next, again.repeat), (3, true));
        let refused = mirror(&bucket, &page(0, &vec![text("x"); 257])).unwrap_err();
        assert_eq!(refused.code, ErrorCode::TooLarge);
    }
}

#[test]
fn the_last_activity_is_that_of_the_messages() {
    for bucket in both() {
        let dated = r#"{"role":"user","content":"x","timestamp":1700000000000}"#.to_owned();
        mirror(&bucket, &page(0, &[text("y"), dated])).unwrap();
        assert_eq!(status_of(&bucket).last_activity_ms, 1_700_000_000_000);
        mirror(&bucket, &page(2, &[text("z")])).unwrap();
        assert_eq!(status_of(&bucket).last_activity_ms, NOW);
    }
}

#[test]
fn appends_and_pages_do_not_mix() {
    for bucket in both() {
        mirror(&bucket, &page(0, &said(0, 2))).unwrap();
        let refused = append(&bucket, &appending("a", &[text("a")], NOW)).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Conflict);
        assert!(refused.message.contains("mirror"), "{refused}");
        assert_eq!(live(&bucket), ["n0", "n1"]);
        // A reset without an id of the host's gives a session that takes appends, and no pages.
        let ended = reset(&bucket, "end").unwrap();
        append(&bucket, &appending("a", &[text("a")], NOW)).unwrap();
        let mut request = page(0, &said(0, 1));
        request.session_id = ended.session_id.unwrap();
        let refused = mirror(&bucket, &request).unwrap_err();
        assert!(refused.message.contains("takes appends"), "{refused}");
        assert_eq!(everything(&bucket), ["a", "n0", "n1"]);
    }
}

#[test]
fn a_host_may_reset_before_anything_was_said() {
    for bucket in both() {
        mirror(&bucket, &page(0, &said(0, 1))).unwrap();
        reset_to(&bucket, NEXT, "one");
        let third = "6f1d2c3b-0000-4000-8000-000000000003";
        let done = reset_to(&bucket, third, "two");
        assert_eq!(done.step, ResetStep::Done);
        assert_eq!((done.archive, done.messages), (None, None));
        // The id of now, asked for again, is a repeat of the reset that gave it.
        let again = reset_begin(&bucket, &naming(third, "two")).unwrap();
        assert_eq!(
            (again.step, again.session_id.as_deref()),
            (ResetStep::Done, Some(third))
        );
        let refused = reset_begin(&bucket, &naming(HOSTS, "three")).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Invalid);
        let mut request = page(0, &said(7, 1));
        request.session_id = third.to_owned();
        assert_eq!(mirror(&bucket, &request).unwrap().next, 1);
        assert_eq!(archives(&bucket).len(), 1);
        let left = bucket.keys("agents/hera/sessions/");
        assert!(!left.iter().any(|key| key.contains(NEXT)), "{left:?}");
    }
}

#[test]
fn a_late_line_of_an_append_does_not_come_into_a_session_of_the_hosts() {
    let bucket = Bucket::new(false);
    append(&bucket, &appending("a", &[text("a")], NOW)).unwrap();
    let old = status_of(&bucket).session_id;
    let begun = reset_begin(&bucket, &naming(HOSTS, "end")).unwrap();
    assert_eq!(begun.step, ResetStep::Commit);
    // As an append leaves it that wrote behind the close and was stopped.
    let key = format!(
        "agents/hera/sessions/{old}/new/{NOW:013}-{}.jsonl",
        "a".repeat(24)
    );
    bucket.insert(
        &key,
        format!("{{\"id\":\"b.0\",\"message\":{}}}\n", text("b")).as_bytes(),
    );
    let done = reset_commit(&bucket, &committing("end")).unwrap();
    assert_eq!(done.step, ResetStep::Done);
    assert_eq!(done.problems.len(), 1, "{:?}", done.problems);
    assert_eq!(mirror(&bucket, &page(0, &said(0, 1))).unwrap().next, 1);
    assert_eq!(everything(&bucket), ["a", "n0"]);
    assert!(
        bucket
            .keys(&format!("agents/hera/sessions/{old}/"))
            .is_empty()
    );
}
