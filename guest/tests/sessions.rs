//! Sessions of gsv from outside: what is appended is read, archived once, and lost never; on a store that
//! appends and on one that does not; stopped after every call.

#[path = "support/bucket.rs"]
mod bucket;
#[path = "support/failing.rs"]
mod failing;

use std::cell::Cell;

use bucket::Bucket;
use failing::Failing;
use haversack_core::format::gzip;
use haversack_core::ops::sessions::*;
use haversack_core::store::{PutOptions, Store};
use haversack_core::transform::reset_policy::ResetPolicy;
use haversack_core::types::{ErrorCode, Home, Result};

const KEY: &str = "agent:hera:main";
const NOW: u64 = 1_771_579_800_000;
const SEED: &str = "0123456789abcdef-seed";

fn home() -> Home {
    Home {
        system: "gsv".to_owned(),
        id: "hera".to_owned(),
    }
}

fn text(name: &str) -> String {
    format!(r#"{{"role":"user","content":"{name}"}}"#)
}

fn answered(name: &str) -> String {
    format!(
        r#"{{"role":"assistant","content":"{name}","usage":{{"input":3,"output":2,"totalTokens":5}}}}"#
    )
}

fn appending(id: &str, messages: &[String], now_ms: u64) -> AppendRequest {
    AppendRequest {
        home: home(),
        session_key: KEY.to_owned(),
        request_id: id.to_owned(),
        seed: SEED.to_owned(),
        now_ms,
        messages: messages.to_vec(),
    }
}

fn say(store: &dyn Store, number: u64) -> AppendAnswer {
    let name = format!("m{number}");
    append(store, &appending(&name, &[text(&name)], NOW + number)).unwrap()
}

fn read(store: &dyn Store, count: u32, before: Option<String>) -> Result<HistoryAnswer> {
    history(
        store,
        &HistoryRequest {
            home: home(),
            session_key: KEY.to_owned(),
            session_id: None,
            count: Some(count),
            before,
        },
    )
}

fn names(messages: &[SessionMessage]) -> Vec<String> {
    messages
        .iter()
        .map(|message| name_of(&message.json))
        .collect()
}

fn name_of(json: &str) -> String {
    let from = json.find("\"content\":\"").unwrap() + 11;
    json[from..].split('"').next().unwrap().to_owned()
}

/// What the key's session has now.
fn live(store: &dyn Store) -> Vec<String> {
    match read(store, 1_000, None) {
        Ok(page) => names(&page.messages),
        Err(error) => {
            assert_eq!(error.code, ErrorCode::NotFound, "{error}");
            Vec::new()
        }
    }
}

fn ending(id: &str) -> ResetBeginRequest {
    ResetBeginRequest {
        home: home(),
        session_key: KEY.to_owned(),
        request_id: id.to_owned(),
        seed: SEED.to_owned(),
        now_ms: NOW + 1_000_000,
        utc_offset_minutes: 0,
        keep_media: Vec::new(),
        window_tokens: None,
    }
}

fn committing(id: &str) -> ResetCommitRequest {
    ResetCommitRequest {
        home: home(),
        session_key: KEY.to_owned(),
        request_id: id.to_owned(),
        state: None,
    }
}

/// Without a model, to its end.
fn reset(store: &dyn Store, id: &str) -> Result<ResetAnswer> {
    loop {
        let begun = reset_begin(store, &ending(id))?;
        match begun.step {
            ResetStep::Again => {}
            ResetStep::Commit => {
                let done = reset_commit(store, &committing(&begun.request_id))?;
                if done.step == ResetStep::Done {
                    return Ok(done);
                }
            }
            _ => return Ok(begun),
        }
    }
}

fn archives(bucket: &Bucket) -> Vec<String> {
    let keys = bucket.keys("agents/hera/sessions/");
    keys.into_iter()
        .filter(|key| key.ends_with(".jsonl.gz"))
        .collect()
}

fn lines(bucket: &Bucket, key: &str) -> Vec<String> {
    let (raw, summary) = gzip::decode(&bucket.bytes(key).unwrap(), 8 << 20).unwrap();
    assert_eq!((summary.members, summary.damage), (1, None));
    let text = String::from_utf8(raw).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn status_of(store: &dyn Store) -> StatusAnswer {
    let session_key = KEY.to_owned();
    status(
        store,
        &StatusRequest {
            home: home(),
            session_key,
        },
    )
    .unwrap()
}

fn both() -> [Bucket; 2] {
    [Bucket::new(false), Bucket::new(true)]
}

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
        assert_eq!(left, [archive.clone()]);
        let after = status_of(&bucket);
        assert_eq!(
            (after.epoch, after.counts.messages, after.pending),
            (1, 0, None)
        );
        assert_eq!(after.previous, [before.session_id.clone()]);
        let sent = bucket.bytes_sent.get();
        let again = reset(&bucket, "reset-1").unwrap();
        assert_eq!(again.step, ResetStep::Done);
        assert_eq!(again.archived_session_id, Some(before.session_id));
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

/// Stopped after each store call, with the answer or without it, and repeated: as if it had gone through.
#[test]
fn an_append_stopped_anywhere_is_finished_by_its_repeat() {
    for appends in [false, true] {
        for loses_an_answer in [false, true] {
            for calls in 0..60 {
                let bucket = Bucket::new(appends);
                let failing = Failing {
                    inner: &bucket,
                    left: Cell::new(calls),
                    loses_an_answer,
                };
                let mut acknowledged = Vec::new();
                for number in 0..4 {
                    let name = format!("m{number}");
                    let request = appending(&name, &[text(&name)], NOW + number);
                    if append(&failing, &request).is_ok() {
                        acknowledged.push(name);
                    }
                }
                assert_eq!(
                    live(&bucket)[..acknowledged.len().min(live(&bucket).len())],
                    acknowledged
                );
                for number in 0..4 {
                    say(&bucket, number);
                }
                assert_eq!(live(&bucket), ["m0", "m1", "m2", "m3"], "{appends} {calls}");
                assert_eq!(status_of(&bucket).counts.messages, 4, "{appends} {calls}");
            }
        }
    }
}

#[test]
fn a_reset_stopped_anywhere_is_finished_by_its_repeat() {
    for appends in [false, true] {
        for loses_an_answer in [false, true] {
            let mut calls = 0;
            loop {
                let bucket = Bucket::new(appends);
                for number in 0..5 {
                    say(&bucket, number);
                }
                insert_media(&bucket, 1, NOW - 5);
                let failing = Failing {
                    inner: &bucket,
                    left: Cell::new(calls),
                    loses_an_answer,
                };
                let ended = reset(&failing, "reset-1").is_ok();
                // A message that comes in between belongs to exactly one session.
                say(&bucket, 7);
                say(&bucket, 4);
                if !ended {
                    let done = reset(&bucket, "reset-1").unwrap();
                    assert_eq!(done.step, ResetStep::Done, "{calls}");
                }
                let [archive] = archives(&bucket).try_into().unwrap();
                let archived: Vec<String> = lines(&bucket, &archive)
                    .iter()
                    .map(|line| name_of(line))
                    .collect();
                let mut all = archived.clone();
                all.extend(live(&bucket));
                assert_eq!(
                    all,
                    ["m0", "m1", "m2", "m3", "m4", "m7"],
                    "{appends} {loses_an_answer} {calls}"
                );
                let status = status_of(&bucket);
                assert_eq!((status.pending, status.epoch), (None, 1));
                let keys = bucket.keys("");
                assert!(
                    keys.iter()
                        .all(|key| !key.contains("pieces/") && !key.starts_with("media/")),
                    "{keys:?}"
                );
                let of_the_old = keys.iter().filter(|key| key.contains(&status.previous[0]));
                assert_eq!(of_the_old.count(), 1, "{keys:?}");
                if ended {
                    break;
                }
                calls += 1;
            }
            assert!(calls > 15, "{calls}");
        }
    }
}

/// A store in which something happens once, after so many calls.
struct Interrupted<'a> {
    inner: &'a Bucket,
    left: Cell<usize>,
    act: &'a dyn Fn(&Bucket),
}

impl Interrupted<'_> {
    fn tick(&self) {
        let left = self.left.get();
        if left == 0 {
            self.left.set(usize::MAX);
            (self.act)(self.inner);
        } else if left != usize::MAX {
            self.left.set(left - 1);
        }
    }
}

mod interrupted {
    use super::*;
    use haversack_core::store::*;

    impl Store for Interrupted<'_> {
        fn describe(&self) -> Vec<(String, String)> {
            self.inner.describe()
        }
        fn read(&self, wave: Vec<Request>) -> Vec<StoreResult<Answer>> {
            self.tick();
            self.inner.read(wave)
        }
        fn put(&self, key: &str, body: Body, options: PutOptions) -> StoreResult<String> {
            self.tick();
            self.inner.put(key, body, options)
        }
        fn append(&self, key: &str, body: Body, at_bytes: u64) -> StoreResult<u64> {
            self.tick();
            self.inner.append(key, body, at_bytes)
        }
        fn concat(&self, from: Vec<Source>, to: &str, options: PutOptions) -> StoreResult<String> {
            self.tick();
            self.inner.concat(from, to, options)
        }
        fn delete(&self, keys: Vec<String>) -> Vec<StoreResult<()>> {
            self.tick();
            self.inner.delete(keys)
        }
    }
}

fn everything(bucket: &Bucket) -> Vec<String> {
    let mut all = Vec::new();
    for archive in archives(bucket) {
        all.extend(lines(bucket, &archive).iter().map(|line| name_of(line)));
    }
    all.extend(live(bucket));
    all.sort();
    all
}

/// A whole reset, or its begin, between any two store calls of an append; and the other way round.
#[test]
fn an_append_that_races_with_a_reset_is_in_one_session() {
    for appends in [false, true] {
        for begin_only in [false, true] {
            for calls in 0..12 {
                let bucket = Bucket::new(appends);
                for number in 0..3 {
                    say(&bucket, number);
                }
                let act = |bucket: &Bucket| {
                    if begin_only {
                        reset_begin(bucket, &ending("reset-1")).unwrap();
                    } else {
                        reset(bucket, "reset-1").unwrap();
                    }
                };
                let racing = Interrupted {
                    inner: &bucket,
                    left: Cell::new(calls),
                    act: &act,
                };
                append(&racing, &appending("x", &[text("mx")], NOW + 9)).unwrap();
                reset(&bucket, "reset-1").unwrap();
                let again = append(&bucket, &appending("x", &[text("mx")], NOW + 9)).unwrap();
                assert!(again.repeat, "{appends} {begin_only} {calls}");
                assert_eq!(
                    everything(&bucket),
                    ["m0", "m1", "m2", "mx"],
                    "{appends} {begin_only} {calls}"
                );
            }
            for calls in 0..60 {
                let bucket = Bucket::new(appends);
                for number in 0..3 {
                    say(&bucket, number);
                }
                let act = |bucket: &Bucket| {
                    append(bucket, &appending("x", &[text("mx")], NOW + 9)).unwrap();
                };
                let racing = Interrupted {
                    inner: &bucket,
                    left: Cell::new(calls),
                    act: &act,
                };
                reset(&racing, "reset-1").unwrap();
                if racing.left.get() == usize::MAX {
                    assert_eq!(
                        everything(&bucket),
                        ["m0", "m1", "m2", "mx"],
                        "{appends} {calls}"
                    );
                }
            }
        }
    }
}

fn insert_media(bucket: &Bucket, number: u8, uploaded_ms: u64) -> String {
    let key = format!("media/{KEY}/00000000-0000-4000-8000-0000000000{number:02}.png");
    let options = PutOptions {
        condition: haversack_core::store::Condition::Always,
        content_type: Some("image/png".to_owned()),
        metadata: vec![("uploadedAt".to_owned(), uploaded_ms.to_string())],
    };
    let body = haversack_core::store::Body::Binary(b"png".to_vec());
    bucket.put(&key, body, options).unwrap();
    key
}

fn showing(key: &str) -> String {
    format!(
        r#"{{"role":"user","content":[{{"type":"image","r2Key":"{key}","mimeType":"image/png"}}]}}"#
    )
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

fn asking(policy: ResetPolicy, now_ms: u64) -> DueRequest {
    DueRequest {
        home: home(),
        session_key: Some(KEY.to_owned()),
        policy,
        now_ms,
        utc_offset_minutes: 0,
        cursor: None,
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
        for number in 0..2_000 {
            let before = bucket.bytes_sent.get();
            say(&bucket, number);
            sent.push(bucket.bytes_sent.get() - before);
        }
        let all: u64 = sent[200..].iter().sum();
        assert!(all / 1_800 < sent_max, "{} bytes each", all / 1_800);
        (bucket.waves.set(0), bucket.bytes_read.set(0));
        let session_id = Some(status_of(&bucket).session_id);
        (bucket.waves.set(0), bucket.bytes_read.set(0));
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
            (1_900..2_000).map(|n| format!("m{n}")).collect::<Vec<_>>()
        );
        assert!(bucket.waves.get() <= 2, "{}", bucket.waves.get());
        assert!(bucket.bytes_read.get() < 1 << 20);
    }
}
