//! Transcripts page by page: each message once, whoever left what, and read from near the page.

#[path = "support/archives.rs"]
mod archives;
#[path = "support/bucket.rs"]
mod bucket;
#[path = "support/talk.rs"]
mod talk;

use archives::{archived, compact, part};
use bucket::Bucket;
use haversack_core::limits::ARCHIVE_FOOTINGS_MAX;
use haversack_core::ops::sessions::*;
use haversack_core::protocol::archive::footings_of;
use haversack_core::types::{ErrorCode, Problem, ProblemKind};
use talk::*;

fn asked(session_id: &str, parts: bool, cursor: Option<String>) -> TranscriptRequest {
    TranscriptRequest {
        home: home(),
        session_id: session_id.to_owned(),
        parts,
        cursor,
        limit: Some(2),
    }
}

/// All pages: the names of the messages, the problems, and the most that one page read.
fn pages(bucket: &Bucket, session_id: &str, parts: bool) -> (Vec<String>, Vec<Problem>, u64) {
    let (mut said, mut problems, mut most) = (Vec::new(), Vec::new(), 0);
    let mut cursor = None;
    loop {
        let page = transcript(bucket, &asked(session_id, parts, cursor)).unwrap();
        said.extend(page.messages.iter().map(|message| name_of(&message.json)));
        problems.extend(page.problems);
        most = page.cost.bytes_read.max(most);
        cursor = page.next;
        if cursor.is_none() {
            return (said, problems, most);
        }
    }
}

/// Text that hardly gets smaller.
fn noise(seed: u64, bytes: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let digit = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'0' + (state % 64) as u8)
            .to_string()
            .replace(['\\', '"'], "z")
    };
    (0..bytes).map(digit).collect()
}

/// An archive of several pieces, ended as a session of 8 messages of a MiB each.
fn long_archive() -> (Bucket, String, Vec<String>) {
    let bucket = Bucket::new(true);
    let mut said = Vec::new();
    for number in 0..8 {
        let name = noise(number + 1, 1 << 20);
        let id = format!("m{number}");
        append(&bucket, &appending(&id, &[text(&name)], NOW + number)).unwrap();
        said.push(name);
    }
    let session_id = reset(&bucket, "r").unwrap().archived_session_id.unwrap();
    (bucket, session_id, said)
}

#[test]
fn a_page_is_read_from_near_its_beginning() {
    let (bucket, session_id, said) = long_archive();
    let key = archives(&bucket).remove(0);
    let size_bytes = bucket.bytes(&key).unwrap().len() as u64;
    let metadata = bucket.objects.borrow()[&key].options.metadata.clone();
    let footings = footings_of(&metadata);
    assert!(
        (2..=ARCHIVE_FOOTINGS_MAX).contains(&footings.len()),
        "{footings:?}"
    );

    let (read, problems, most) = pages(&bucket, &session_id, false);
    assert!(read == said, "every message, each once");
    assert_eq!(problems, []);
    assert!(
        most < size_bytes / 4 * 3,
        "{most} bytes of {size_bytes} for one page"
    );

    // Where the metadata do not say it, or say nonsense, a page is read from the beginning.
    for text in [None, Some("12,x")] {
        let mut metadata = metadata.clone();
        metadata.retain(|(name, _)| name != "haversack-footings");
        metadata.extend(text.map(|text| ("haversack-footings".to_owned(), text.to_owned())));
        bucket
            .objects
            .borrow_mut()
            .get_mut(&key)
            .unwrap()
            .options
            .metadata = metadata;
        let (read, problems, most) = pages(&bucket, &session_id, false);
        assert!(
            read == said && problems.is_empty() && most >= size_bytes,
            "{text:?}"
        );
    }
}

/// The end of the archive holds a checksum of the whole, and the last page compares it wherever it began.
#[test]
fn damage_is_told_by_a_page_that_began_in_the_middle() {
    let (bucket, session_id, said) = long_archive();
    let key = archives(&bucket).remove(0);
    let size = bucket.bytes(&key).unwrap().len();
    bucket.objects.borrow_mut().get_mut(&key).unwrap().bytes[size - 8] ^= 1;
    let (read, problems, most) = pages(&bucket, &session_id, false);
    assert!(read == said && most < size as u64 / 4 * 3);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].message.contains("CRC-32"), "{problems:?}");
}

/// Parts keep their place, also where a page ends in one of them.
#[test]
fn pages_of_parts() {
    for bucket in both() {
        (0..5).for_each(|number| drop(say(&bucket, number)));
        let removed: Vec<String> = (0..3).map(|n| text(&format!("m{n}"))).collect();
        compact(&bucket, &removed, Some("m3.0"), NOW + 10);
        let session_id = reset(&bucket, "r").unwrap().archived_session_id.unwrap();
        let (read, problems, _) = pages(&bucket, &session_id, true);
        assert_eq!(read[..3], ["m0", "m1", "m2"]);
        assert!(read[3].contains("sum"));
        assert_eq!(
            (&read[4..], problems),
            (&["m3".to_owned(), "m4".to_owned()][..], vec![])
        );
    }
}

/// A host that was killed in a compaction, whose session was reset meanwhile, may leave its part behind.
#[test]
fn a_part_that_nobody_published_is_not_read_twice() {
    for published in [false, true] {
        let bucket = Bucket::new(false);
        (0..5).for_each(|number| drop(say(&bucket, number)));
        let mut wanted = vec!["m0", "m1", "m2", "m3", "m4"];
        if published {
            compact(&bucket, &[text("m0")], Some("m1.0"), NOW + 10);
            wanted.insert(1, "sum");
        }
        let first = text(if published { "m1" } else { "m0" });
        let left = part(&bucket, &[first, text("m2")], NOW + 20);
        let session_id = reset(&bucket, "r").unwrap().archived_session_id.unwrap();
        let (read, problems, _) = pages(&bucket, &session_id, true);
        assert_eq!(read.len(), wanted.len(), "{read:?}");
        assert!(
            read.iter()
                .zip(&wanted)
                .all(|(read, wanted)| read.contains(wanted)),
            "{read:?}"
        );
        let mut told = problems.iter();
        assert!(
            told.any(|p| p.kind == ProblemKind::Skipped && p.key == left),
            "{problems:?}"
        );
    }
    // One that holds other messages is shown, whatever heads the archive: another program may have written both.
    let bucket = Bucket::new(false);
    (0..2).for_each(|number| drop(say(&bucket, number)));
    part(&bucket, &[text("before")], NOW + 20);
    let session_id = reset(&bucket, "r").unwrap().archived_session_id.unwrap();
    let (read, problems, _) = pages(&bucket, &session_id, true);
    assert_eq!(
        (read, problems),
        (
            vec!["before".to_owned(), "m0".to_owned(), "m1".to_owned()],
            vec![]
        )
    );
}

#[test]
fn what_is_no_cursor() {
    let bucket = Bucket::new(false);
    let session_id = "0b5a4c9e-6f0d-4b7e-9f43-2a5a5c6d7e8f";
    archived(&bucket, session_id, text("m").as_bytes(), &[]);
    for cursor in [
        "",
        "1",
        "1.2",
        "1.2.3.4.5",
        "1.2.3.4.5.6.7",
        "1.2.3.4.5.x",
        "1.2.3.4.4294967296.5",
    ] {
        let answer = transcript(&bucket, &asked(session_id, false, Some(cursor.to_owned())));
        let error = answer.unwrap_err();
        assert_eq!(error.code, ErrorCode::Invalid, "{cursor}: {error}");
        assert!(error.message.contains("cursor"), "{error}");
    }
    // One that was made up reads what it can, and tells what does not fit.
    let made_up = format!("{}.0.0.9.7.5", u64::MAX);
    let page = transcript(&bucket, &asked(session_id, false, Some(made_up))).unwrap();
    assert!(!page.problems.is_empty());
}
