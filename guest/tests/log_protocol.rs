//! The log protocol by itself: what it holds, what it costs, at every edge that has a number. Crashes and
//! races are the simulation's.

#[path = "support/bucket.rs"]
mod bucket;

use bucket::Bucket;
use haversack_core::format::entries::JsonLines;
use haversack_core::layout::log::LogKeys;
use haversack_core::layout::moltbot::{SessionKey, UserId};
use haversack_core::protocol::log::{Fold, Log, NewEntry, Page, ReadOptions};
use haversack_core::store::Metered;
use haversack_core::types::{Error, ErrorCode};

const HEAD: &str = "users/user_1/sessions/main/messages.jsonl";
const BELOW: &str = "users/user_1/sessions/main/messages/";

fn keys() -> LogKeys {
    let (user, session) = (UserId::parse("user_1"), SessionKey::parse("main"));
    LogKeys::messages(&user.unwrap(), &session.unwrap())
}

fn entry(number: usize, bytes: usize) -> NewEntry {
    let id = format!("m{number}");
    let begin = format!("{{\"id\":\"{id}\",\"text\":\"");
    let filling = "x".repeat(bytes.saturating_sub(begin.len() + 3));
    NewEntry {
        bytes: format!("{begin}{filling}\"}}\n").into_bytes(),
        id,
    }
}

fn with<T>(bucket: &Bucket, run: impl FnOnce(&Log<'_>) -> T) -> T {
    let (store, keys) = (Metered::new(bucket), keys());
    run(&Log {
        store: &store,
        keys: &keys,
        format: &JsonLines,
    })
}

fn append(bucket: &Bucket, number: usize, bytes: usize) -> Result<bool, Error> {
    let entry = entry(number, bytes);
    let ms = 1_700_000_000_000 + number as u64;
    with(bucket, |log| log.append(&[entry], ms)).map(|appended| appended.repeat)
}

fn read(bucket: &Bucket, entries_max: usize, before: Option<String>) -> Page {
    let options = ReadOptions {
        entries_max,
        bytes_max: 1 << 20,
        before,
    };
    with(bucket, |log| log.read(&options)).unwrap()
}

fn ids(page: &Page) -> Vec<usize> {
    let ids = page.entries.iter().map(|entry| entry.id.clone().unwrap());
    ids.map(|id| id[1..].parse().unwrap()).collect()
}

/// All entries, page by page from the newest, oldest first.
fn all(bucket: &Bucket, at_once: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut before = None;
    loop {
        let page = read(bucket, at_once, before);
        let mut part = ids(&page);
        assert!(part.len() <= at_once);
        part.append(&mut found);
        found = part;
        before = page.before;
        if before.is_none() {
            return found;
        }
        assert!(!page.entries.is_empty());
    }
}

#[test]
fn ten_thousand_messages_cost_at_most_three_times_their_bytes() {
    let bucket = Bucket::new(false);
    for number in 0..10_000 {
        assert!(!append(&bucket, number, 300).unwrap());
    }
    let (sent, written) = (bucket.bytes_sent.get(), 10_000 * 300);
    assert!(sent <= 3 * written, "{sent}");
    assert!(bucket.keys(&format!("{BELOW}new/")).len() < 100);
    bucket.waves.set(0);
    bucket.bytes_read.set(0);
    let page = read(&bucket, 100, None);
    assert_eq!(ids(&page), (9_900..10_000).collect::<Vec<_>>());
    assert_eq!(bucket.waves.get(), 2);
    assert!(
        bucket.bytes_read.get() <= 1 << 20,
        "{}",
        bucket.bytes_read.get()
    );
    for at_once in [1_000, 333] {
        assert_eq!(all(&bucket, at_once), (0..10_000).collect::<Vec<_>>());
    }
    let objects = bucket.objects.borrow();
    assert!(objects.values().all(|object| object.bytes.len() < 1 << 20));
}

#[test]
fn pages_of_any_size_hold_each_entry_once() {
    for count in [0, 1, 31, 32, 40, 100, 300] {
        let bucket = Bucket::new(false);
        for number in 0..count {
            append(&bucket, number, 100).unwrap();
        }
        for at_once in [1, 7, 1_000] {
            assert_eq!(all(&bucket, at_once), (0..count).collect::<Vec<_>>());
        }
        while let Fold::Done(_) = with(&bucket, |log| log.fold()).unwrap() {}
        assert!(bucket.keys(&format!("{BELOW}new/")).is_empty());
        assert_eq!(all(&bucket, 7), (0..count).collect::<Vec<_>>());
    }
}

/// A cursor stays where it is while entries are appended, folded and sealed behind it.
#[test]
fn a_cursor_outlives_folds() {
    let bucket = Bucket::new(false);
    for number in 0..200 {
        append(&bucket, number, 100).unwrap();
    }
    for at_once in 1..60 {
        let page = read(&bucket, at_once, None);
        let newest = ids(&page);
        let end = bucket_len(&bucket);
        assert_eq!(newest, (end - at_once..end).collect::<Vec<_>>());
        for number in end..end + 37 {
            append(&bucket, number, 100).unwrap();
        }
        let _ = with(&bucket, |log| log.fold()).unwrap();
        let before = read(&bucket, 50, page.before);
        let expected: Vec<_> = (end - at_once - 50..end - at_once).collect();
        assert_eq!(ids(&before), expected, "{at_once}");
    }
}

fn bucket_len(bucket: &Bucket) -> usize {
    ids(&read(bucket, 1, None))[0] + 1
}

#[test]
fn a_repeat_is_known_before_and_after_a_fold() {
    for appends in [false, true] {
        let bucket = Bucket::new(appends);
        for number in 0..300 {
            append(&bucket, number, 100).unwrap();
        }
        // The newest 256 are what a repeat is looked for in.
        for number in [299, 200, 60] {
            append(&bucket, number, 100).unwrap();
            assert_eq!(
                all(&bucket, 1_000),
                (0..300).collect::<Vec<_>>(),
                "{number}"
            );
        }
        while let Fold::Done(_) = with(&bucket, |log| log.fold()).unwrap() {}
        assert_eq!(all(&bucket, 1_000), (0..300).collect::<Vec<_>>());
    }
}

#[test]
fn an_id_is_used_for_one_content() {
    for appends in [false, true] {
        let bucket = Bucket::new(appends);
        append(&bucket, 1, 100).unwrap();
        let error = append(&bucket, 1, 101).unwrap_err();
        assert_eq!(error.code, ErrorCode::Invalid);
        assert_eq!(all(&bucket, 10), [1]);
    }
}

#[test]
fn a_store_that_appends_has_the_single_file() {
    let bucket = Bucket::new(true);
    let mut expected = Vec::new();
    for number in 0..50 {
        append(&bucket, number, 300).unwrap();
        expected.extend(entry(number, 300).bytes);
    }
    assert_eq!(bucket.bytes(HEAD).unwrap(), expected);
    assert_eq!(bucket.keys(""), [HEAD]);
    assert!(append(&bucket, 49, 300).unwrap());
    assert_eq!(bucket.bytes(HEAD).unwrap(), expected);
}

#[test]
fn a_torn_end_is_ended_and_told() {
    let bucket = Bucket::new(true);
    bucket.insert(HEAD, b"{\"id\":\"m0\"}\n{\"id\":\"m1\",\"te");
    let appended = with(&bucket, |log| log.append(&[entry(1, 60)], 5)).unwrap();
    assert_eq!(appended.problems.len(), 1);
    let text = String::from_utf8(bucket.bytes(HEAD).unwrap()).unwrap();
    assert!(text.starts_with("{\"id\":\"m0\"}\n{\"id\":\"m1\",\"te\n{\"id\":\"m1\",\"text"));
    let page = read(&bucket, 10, None);
    let problems: Vec<_> = page
        .entries
        .iter()
        .filter_map(|entry| entry.problem)
        .collect();
    assert_eq!(problems.len(), 1);
    // A whole line that only lacks its end is no fragment.
    bucket.insert(HEAD, b"{\"id\":\"m0\"}");
    assert!(append(&bucket, 0, 11).is_err());
    append(&bucket, 2, 60).unwrap();
    assert_eq!(all(&bucket, 10), [0, 2]);
}

#[test]
fn a_log_from_elsewhere_is_taken_over_without_reading_it_whole() {
    let bucket = Bucket::new(false);
    let foreign: Vec<u8> = (0..30_000)
        .flat_map(|number| entry(number, 300).bytes)
        .collect();
    bucket.insert(HEAD, &foreign);
    let mut next = 30_000;
    while bucket.keys(&format!("{BELOW}old/")).is_empty() {
        bucket.bytes_read.set(0);
        append(&bucket, next, 300).unwrap();
        next += 1;
    }
    assert!(
        bucket.bytes_read.get() < 1 << 20,
        "{}",
        bucket.bytes_read.get()
    );
    let sealed = bucket.keys(&format!("{BELOW}old/")).remove(0);
    assert_eq!(bucket.bytes(&sealed).unwrap(), foreign);
    let page = read(&bucket, 1_000, None);
    assert_eq!(ids(&page), (next - 1_000..next).collect::<Vec<_>>());
    assert_eq!(all(&bucket, 1_000).len(), next);
}

/// Another program rewrote the head and lost its metadata: what was sealed is found again.
#[test]
fn sealed_pieces_are_found_without_metadata() {
    let bucket = Bucket::new(false);
    for number in 0..500 {
        append(&bucket, number, 100).unwrap();
    }
    while let Fold::Done(_) = with(&bucket, |log| log.fold()).unwrap() {}
    let mut head = bucket.bytes(HEAD).unwrap();
    head.extend(entry(500, 100).bytes);
    bucket.insert(HEAD, &head);
    assert_eq!(all(&bucket, 100), (0..501).collect::<Vec<_>>());
    for number in 501..600 {
        append(&bucket, number, 100).unwrap();
        assert_eq!(all(&bucket, 250), (0..=number).collect::<Vec<_>>());
    }
}

#[test]
fn what_is_no_entry_is_refused() {
    let bucket = Bucket::new(false);
    let refused = |entries: &[NewEntry]| with(&bucket, |log| log.append(entries, 5)).unwrap_err();
    let line = |id: &str, bytes: &str| NewEntry {
        id: id.to_owned(),
        bytes: bytes.as_bytes().to_vec(),
    };
    for entries in [
        vec![],
        vec![line("a", "{\"id\":\"a\"}")],
        vec![line("a", "{\"id\":\"b\"}\n")],
        vec![line("a", "{\"id\":\"a\"}\n{\"id\":\"b\"}\n")],
        vec![line("a", "nonsense\n")],
        vec![line("a", "{\"id\":\"a\"}\n"), line("a", "{\"id\":\"a\"}\n")],
    ] {
        assert_eq!(refused(&entries).code, ErrorCode::Invalid, "{entries:?}");
    }
    let many: Vec<_> = (0..257).map(|number| entry(number, 40)).collect();
    assert_eq!(refused(&many).code, ErrorCode::TooLarge);
    assert_eq!(
        refused(&[entry(0, (4 << 20) + 1)]).code,
        ErrorCode::TooLarge
    );
    assert!(bucket.keys("").is_empty());
    with(&bucket, |log| log.append(&many[1..], 5)).unwrap();
    with(&bucket, |log| log.append(&[entry(1_000, 4 << 20)], 6)).unwrap();
    assert_eq!(
        read(&bucket, 1, None).entries[0].content.len(),
        (4 << 20) - 1
    );
    // The byte budget ends the page before the large one's neighbours, and says so.
    let page = read(&bucket, 10, None);
    assert_eq!((page.entries.len(), page.bytes_ended), (1, true));
    assert_eq!(all(&bucket, 1_000).len(), 257);
}

#[test]
fn a_newer_format_is_refused() {
    let bucket = Bucket::new(false);
    append(&bucket, 1, 100).unwrap();
    with(&bucket, |log| log.fold()).unwrap();
    let newer = ("log-format".to_owned(), "2".to_owned());
    bucket
        .objects
        .borrow_mut()
        .get_mut(HEAD)
        .unwrap()
        .options
        .metadata[0] = newer;
    let options = ReadOptions {
        entries_max: 1,
        bytes_max: 1,
        before: None,
    };
    let error = with(&bucket, |log| log.read(&options)).unwrap_err();
    assert_eq!(error.code, ErrorCode::Unsupported);
}

/// Late repeats of folded entries are pending again, and do not hide what lies before them.
#[test]
fn a_page_looks_behind_repeats() {
    let bucket = Bucket::new(false);
    for number in 0..4 {
        append(&bucket, number, 100).unwrap();
        if number > 1 {
            with(&bucket, |log| log.fold()).unwrap();
        }
    }
    for number in 0..4 {
        append(&bucket, number, 100).unwrap();
    }
    for at_once in [1, 2, 3, 10] {
        assert_eq!(all(&bucket, at_once), [0, 1, 2, 3], "{at_once}");
    }
}

/// A sealed piece that a cursor names and that is not there is an error, and no endless search.
#[test]
fn a_cursor_into_nothing_is_refused() {
    let bucket = Bucket::new(false);
    for number in 0..200 {
        append(&bucket, number, 100).unwrap();
    }
    for before in ["s.000000000009-0123456789abcdef01234567.5", "h.7.100"] {
        let options = ReadOptions {
            entries_max: 1,
            bytes_max: 1,
            before: Some(before.to_owned()),
        };
        let error = with(&bucket, |log| log.read(&options)).unwrap_err();
        assert_eq!(error.code, ErrorCode::Invalid, "{before}");
    }
}

/// A cursor into a head from elsewhere still leads there after a fold has sealed it behind older pieces.
#[test]
fn a_cursor_outlives_a_takeover() {
    let bucket = Bucket::new(false);
    for number in 0..200 {
        append(&bucket, number, 100).unwrap();
    }
    while let Fold::Done(_) = with(&bucket, |log| log.fold()).unwrap() {}
    let mut head = bucket.bytes(HEAD).unwrap();
    head.extend((200..240).flat_map(|number| entry(number, 100).bytes));
    bucket.insert(HEAD, &head);
    let page = read(&bucket, 20, None);
    assert_eq!(ids(&page), (220..240).collect::<Vec<_>>());
    append(&bucket, 240, 100).unwrap();
    with(&bucket, |log| log.fold()).unwrap();
    let before = read(&bucket, 20, page.before);
    assert_eq!(ids(&before), (200..220).collect::<Vec<_>>());
}
