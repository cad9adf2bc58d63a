//! Chat logs of moltbot: what they promise, at every number that they promise it with. Crashes and races are
//! the simulation's.

#[path = "support/bucket.rs"]
mod bucket;

use bucket::Bucket;
use haversack_core::ops::messages::{
    AppendAnswer, AppendRequest, HistoryAnswer, HistoryRequest, RefreshAnswer, RefreshRequest,
    append, history, refresh,
};
use haversack_core::types::{Error, ErrorCode, Home};

const BELOW: &str = "users/user_1/sessions/main/";
const LOG: &str = "users/user_1/sessions/main/messages.jsonl";
const METADATA: &str = "users/user_1/sessions/main/metadata.json";

fn home() -> Home {
    Home {
        system: "moltbot".to_owned(),
        id: "user_1".to_owned(),
    }
}

/// Of exactly so many bytes with its line end, as long as that is enough.
fn message(number: usize, bytes: usize) -> String {
    let begin = format!(
        r#"{{"id":"m{number}","role":"user","timestamp":{},"content":""#,
        1_700_000_000_000 + number
    );
    format!(
        "{begin}{}\"}}",
        "x".repeat(bytes.saturating_sub(begin.len() + 3))
    )
}

fn say(bucket: &Bucket, messages: Vec<String>) -> Result<AppendAnswer, Error> {
    append(
        bucket,
        &AppendRequest {
            home: home(),
            session_key: "main".to_owned(),
            messages,
            tier: None,
        },
    )
}

fn page(
    bucket: &Bucket,
    limit: Option<u32>,
    before: Option<String>,
) -> Result<HistoryAnswer, Error> {
    history(
        bucket,
        &HistoryRequest {
            home: home(),
            session_key: "main".to_owned(),
            limit,
            before,
            tier: None,
            now_ms: None,
        },
    )
}

fn known(bucket: &Bucket) -> Result<RefreshAnswer, Error> {
    refresh(
        bucket,
        &RefreshRequest {
            home: home(),
            session_key: "main".to_owned(),
        },
    )
}

fn ids(page: &HistoryAnswer) -> Vec<usize> {
    let ids = page.messages.iter().map(|message| message.id.as_deref());
    ids.map(|id| id.unwrap()[1..].parse().unwrap()).collect()
}

#[test]
fn ten_thousand_messages_cost_at_most_three_times_their_bytes_and_each_is_there_once() {
    let bucket = Bucket::new(false);
    for number in 0..10_000 {
        let said = say(&bucket, vec![message(number, 300)]).unwrap();
        assert!(!said.repeat && said.problems.is_empty(), "{said:?}");
    }
    let sent = bucket.bytes_sent.get();
    assert!(sent <= 3 * 10_000 * 300, "{sent}");
    let mut before = None;
    let mut all: Vec<usize> = Vec::new();
    loop {
        let page = page(&bucket, Some(1_000), before).unwrap();
        all = [ids(&page), all].concat();
        before = page.before;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(all, (0..10_000).collect::<Vec<_>>());
    let known = known(&bucket).unwrap();
    assert_eq!(known.message_count, Some(10_000));
    assert_eq!(known.size_bytes, 10_000 * 300);
    assert_eq!(known.last_message_id.as_deref(), Some("m9999"));
    assert_eq!(
        (known.created_ms, known.updated_ms),
        (Some(1_700_000_000_000), Some(1_700_000_009_999))
    );
}

#[test]
fn a_million_messages_do_not_make_the_last_hundred_slower() {
    let bucket = Bucket::new(false);
    // Most of them from elsewhere, so that the test does not take minutes.
    let mut next = 950_016;
    let foreign: String = (0..next)
        .map(|n| format!("{{\"id\":\"m{n}\",\"role\":\"user\"}}\n"))
        .collect();
    bucket.insert(LOG, foreign.as_bytes());
    while next < 999_936 {
        say(
            &bucket,
            (next..next + 256)
                .map(|number| message(number, 80))
                .collect(),
        )
        .unwrap();
        next += 256;
    }
    let sealed = |bucket: &Bucket| bucket.keys(&format!("{BELOW}messages/old/")).len();
    let mut seals = 0;
    while next < 1_000_100 {
        let before = sealed(&bucket);
        say(&bucket, vec![message(next, 300)]).unwrap();
        next += 1;
        seals += sealed(&bucket) - before;
        bucket.waves.set(0);
        bucket.bytes_read.set(0);
        let page = page(&bucket, None, None).unwrap();
        assert_eq!(ids(&page), (next - 100..next).collect::<Vec<_>>());
        assert!(
            bucket.waves.get() <= 2,
            "{} waves at {next}",
            bucket.waves.get()
        );
        assert!(
            bucket.bytes_read.get() <= 1 << 20,
            "{} bytes at {next}",
            bucket.bytes_read.get()
        );
        assert_eq!(page.cost.waves, bucket.waves.get());
    }
    assert!(seals > 0);
}

#[test]
fn three_hundred_megabytes_from_elsewhere_are_taken_over_unread() {
    let bucket = Bucket::new(false);
    let line = format!("{}\n", message(0, 300));
    bucket.insert(LOG, line.repeat(1_000_000).as_bytes());
    let mut next = 1;
    while bucket.keys(&format!("{BELOW}messages/old/")).is_empty() {
        bucket.bytes_read.set(0);
        say(&bucket, vec![message(next, 300)]).unwrap();
        assert!(
            bucket.bytes_read.get() < 1 << 20,
            "{}",
            bucket.bytes_read.get()
        );
        next += 1;
    }
    bucket.bytes_read.set(0);
    let known = known(&bucket).unwrap();
    assert!(
        bucket.bytes_read.get() < 1 << 20,
        "{}",
        bucket.bytes_read.get()
    );
    assert_eq!(known.message_count, None);
    assert_eq!(known.size_bytes, 300 * (1_000_000 + next as u64 - 1));
    assert_eq!(known.created_ms, Some(1_700_000_000_000));
    assert_eq!(
        ids(&page(&bucket, Some(2), None).unwrap()),
        [next - 2, next - 1]
    );
}

#[test]
fn a_single_file_is_counted_as_it_grows() {
    let bucket = Bucket::new(true);
    let foreign =
        "{\"message\":{\"role\":\"user\",\"content\":\"\",\"timestamp\":7000}}\r\n\r\nnonsense\n";
    bucket.insert(LOG, foreign.as_bytes());
    for number in 0..300 {
        say(&bucket, vec![message(number, 100)]).unwrap();
    }
    // Appends count now and then.
    assert!(bucket.bytes(METADATA).is_some());
    bucket.bytes_read.set(0);
    let first = known(&bucket).unwrap();
    assert!(
        bucket.bytes_read.get() < 40_000,
        "{}",
        bucket.bytes_read.get()
    );
    assert_eq!(first.message_count, Some(301));
    assert_eq!(first.size_bytes, 30_000 + foreign.len() as u64);
    assert_eq!(
        (first.created_ms, first.last_message_id.as_deref()),
        (Some(7_000), Some("m299"))
    );
    // Computed anew where it is missing or broken.
    bucket.objects.borrow_mut().remove(METADATA);
    let anew = known(&bucket).unwrap();
    assert_eq!((anew.message_count, anew.problems.len()), (Some(301), 0));
    bucket.insert(METADATA, b"{\"sessionKey\":");
    let anew = known(&bucket).unwrap();
    assert_eq!((anew.message_count, anew.problems.len()), (Some(301), 1));
    // Of a file over 16 MiB nothing is counted that was not before.
    let line = format!("{}\n", message(0, 1 << 20));
    bucket.insert(LOG, line.repeat(16).as_bytes());
    bucket.objects.borrow_mut().remove(METADATA);
    assert_eq!(known(&bucket).unwrap().message_count, Some(16));
    bucket.insert(LOG, format!("{{\n{}", line.repeat(16)).as_bytes());
    bucket.objects.borrow_mut().remove(METADATA);
    assert_eq!(known(&bucket).unwrap().message_count, None);
}

#[test]
fn metadata_follow_every_fold() {
    for size in [100, 9_000, 700_000] {
        let bucket = Bucket::new(false);
        let mut bytes = 0;
        for number in 0..40 {
            say(&bucket, vec![message(number, size)]).unwrap();
            bytes += size as u64;
            if number % 3 == 0 {
                let known = known(&bucket).unwrap();
                assert_eq!(
                    (known.message_count, known.size_bytes),
                    (Some(number as u64 + 1), bytes),
                    "{size}"
                );
            }
        }
        // What another program adds to it stays.
        let text = String::from_utf8(bucket.bytes(METADATA).unwrap()).unwrap();
        bucket.insert(
            METADATA,
            text.replacen('{', "{ \"title\" :\"Tea\",", 1).as_bytes(),
        );
        say(&bucket, vec![message(40, size)]).unwrap();
        assert_eq!(known(&bucket).unwrap().message_count, Some(41));
        let text = String::from_utf8(bucket.bytes(METADATA).unwrap()).unwrap();
        assert!(text.starts_with("{ \"title\" :\"Tea\","), "{text}");
        // A newer format is not touched, and hinders no append.
        bucket.insert(METADATA, b"{\"format\":2}");
        for number in 41..90 {
            say(&bucket, vec![message(number, 100)]).unwrap();
        }
        assert_eq!(known(&bucket).unwrap_err().code, ErrorCode::Unsupported);
        assert_eq!(bucket.bytes(METADATA).unwrap(), b"{\"format\":2}");
    }
}

#[test]
fn a_page_is_filled_past_what_is_no_message() {
    for appends in [false, true] {
        let bucket = Bucket::new(appends);
        let mut text = String::new();
        for number in 0..300 {
            text += &format!(
                "{}\r\n\r\nnonsense\n{{\"type\":\"event\"}}\n",
                message(number, 80)
            );
        }
        bucket.insert(LOG, (text + "{\"id\":\"m300\",\"ro").as_bytes());
        let newest = page(&bucket, None, None).unwrap();
        assert_eq!(ids(&newest), (200..300).collect::<Vec<_>>());
        assert_eq!(
            (newest.skipped, newest.problems.len(), newest.ended_early),
            (201, 1, false)
        );
        let older = page(&bucket, Some(5_000), newest.before).unwrap();
        assert_eq!(ids(&older), (0..200).collect::<Vec<_>>());
        assert_eq!((older.limit, older.before), (1_000, None));
        assert_eq!(page(&bucket, Some(0), None).unwrap().messages.len(), 1);
    }
}

#[test]
fn what_is_wrong_is_refused_before_anything_is_written() {
    let bucket = Bucket::new(false);
    let refused = |messages: Vec<String>| say(&bucket, messages).unwrap_err();
    assert_eq!(refused(vec![]).code, ErrorCode::Invalid);
    assert_eq!(
        refused(vec![message(1, 80), message(1, 90)]).code,
        ErrorCode::Invalid
    );
    let late = message(1, 80).replace("1700000000001", "10000000000000");
    assert!(refused(vec![late]).message.contains("9999999999999"));
    assert_eq!(
        refused((0..257).map(|n| message(n, 80)).collect()).code,
        ErrorCode::TooLarge
    );
    assert_eq!(
        refused(vec![message(0, (4 << 20) + 1)]).code,
        ErrorCode::TooLarge
    );
    assert!(bucket.keys("").is_empty());
    say(&bucket, (0..256).map(|n| message(n, 80)).collect()).unwrap();
    say(&bucket, vec![message(300, 4 << 20)]).unwrap();
    assert!(say(&bucket, vec![message(300, 4 << 20)]).unwrap().repeat);
    let other = message(300, 100);
    assert_eq!(
        say(&bucket, vec![other]).unwrap_err().code,
        ErrorCode::Invalid
    );
}
