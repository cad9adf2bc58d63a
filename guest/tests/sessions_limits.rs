//! The bounds of sessions, each at its edge: what is just in goes through, what is over is told, and nothing
//! is lost.

#[path = "support/archives.rs"]
mod archives;
#[path = "support/bucket.rs"]
mod bucket;
#[path = "support/talk.rs"]
mod talk;

use std::cell::Cell;

use archives::{archived, compact, put_archive};
use bucket::Bucket;
use haversack_core::format::gzip;
use haversack_core::format::live_log::{Compaction, SessionLines, compaction_line, summary_id};
use haversack_core::layout::gsv::{AgentId, SessionId};
use haversack_core::layout::log::{LogKeys, SealedName};
use haversack_core::limits::*;
use haversack_core::ops::compaction;
use haversack_core::ops::sessions::live::Live;
use haversack_core::ops::sessions::state::Owner;
use haversack_core::ops::sessions::*;
use haversack_core::protocol::log::{Forward, Log, NewEntry};
use haversack_core::store::{
    Answer, Body, Metered, PutOptions, Request, Source, Store, StoreResult,
};
use haversack_core::types::{ErrorCode, Problem, ProblemKind, Result, Session};
use talk::*;

/// A message whose line has exactly so many bytes.
fn of_bytes(bytes: usize) -> String {
    let rest = text("").len();
    text(&"x".repeat(bytes - rest))
}

/// Say messages that have so many bytes together, of a MiB each but the last two.
fn say_bytes(bucket: &Bucket, total: usize) {
    const MIB: usize = 1 << 20;
    let mut left = total;
    let mut number = 0;
    while left > 0 {
        let bytes = if left > 2 * MIB {
            MIB
        } else {
            left.min(MIB + MIB / 2)
        };
        let id = format!("b{number}");
        append(bucket, &appending(&id, &[of_bytes(bytes)], NOW + number)).unwrap();
        (left, number) = (left - bytes, number + 1);
    }
}

fn page_of(bucket: &Bucket, session_id: &str, cursor: Option<String>) -> TranscriptAnswer {
    let request = TranscriptRequest {
        home: home(),
        session_id: session_id.to_owned(),
        parts: false,
        cursor,
        limit: None,
    };
    transcript(bucket, &request).unwrap()
}

#[test]
fn a_page_of_a_transcript() {
    for (over, pages) in [(0, 1), (1, 2)] {
        let bucket = Bucket::new(false);
        say_bytes(&bucket, TRANSCRIPT_BYTES_MAX as usize + over);
        let session_id = reset(&bucket, "r").unwrap().archived_session_id.unwrap();
        let first = page_of(&bucket, &session_id, None);
        assert_eq!(first.next.is_some(), pages == 2);
        let mut bytes: usize = first
            .messages
            .iter()
            .map(|message| message.json.len())
            .sum();
        if let Some(cursor) = first.next {
            let second = page_of(&bucket, &session_id, Some(cursor));
            assert_eq!((second.messages.len(), second.next), (1, None));
            bytes += second.messages[0].json.len();
        }
        assert_eq!(bytes, TRANSCRIPT_BYTES_MAX as usize + over);
    }
    // One message may be larger than a page.
    let bucket = Bucket::new(false);
    let metadata = [("messageCount", "2")];
    let lines = format!(
        "{}\n{}\n",
        of_bytes(TRANSCRIPT_BYTES_MAX as usize + 1),
        text("next")
    );
    let session_id = "0b5a4c9e-6f0d-4b7e-9f43-2a5a5c6d7e8f";
    archived(&bucket, session_id, lines.as_bytes(), &metadata);
    let first = page_of(&bucket, session_id, None);
    assert_eq!((first.messages.len(), first.next.is_some()), (1, true));
}

#[test]
fn the_context_of_a_model() {
    let request = ContextRequest {
        home: home(),
        session_key: KEY.to_owned(),
    };
    for over in [0, 1] {
        let bucket = Bucket::new(true);
        say_bytes(&bucket, CONTEXT_BYTES_MAX as usize + over);
        match context(&bucket, &request) {
            Ok(answer) => {
                let bytes: usize = answer.messages.iter().map(|m| m.json.len()).sum();
                assert_eq!((bytes, over), (CONTEXT_BYTES_MAX as usize, 0));
            }
            Err(error) => {
                assert_eq!((error.code, over), (ErrorCode::TooLarge, 1));
                assert!(error.message.contains("compact"), "{error}");
            }
        }
    }
}

/// Archives without metadata are counted up to a number of bytes a page, the first whatever its size.
#[test]
fn what_a_page_of_a_list_counts() {
    let ids = [
        "0b5a4c9e-6f0d-4b7e-9f43-2a5a5c6d7e8f",
        "1b5a4c9e-6f0d-4b7e-9f43-2a5a5c6d7e8f",
    ];
    let one = gzip::compress(format!("{}\n", text("m")).as_bytes()).unwrap();
    let one: Vec<u8> = one.into_iter().flat_map(|piece| piece.bytes).collect();
    // A second member of nothing that compresses: so large is the object.
    let padded = |size_bytes: u64| {
        let stored = |raw: usize| raw + raw.div_ceil(65_535) * 5 + 18;
        let mut raw = size_bytes as usize - one.len();
        while stored(raw) > size_bytes as usize - one.len() {
            raw -= 1;
        }
        let line = vec![b' '; raw];
        [one.clone(), stored_member(&line)].concat()
    };
    for (over, counted) in [(0, 2), (1, 1)] {
        let bucket = Bucket::new(false);
        let first = padded(SESSIONS_COUNTED_BYTES_MAX / 2 + over);
        let rest = SESSIONS_COUNTED_BYTES_MAX + over - first.len() as u64;
        let second = padded(rest);
        let total = (first.len() + second.len()) as u64;
        assert!(
            total <= SESSIONS_COUNTED_BYTES_MAX + over
                && total + 16 > SESSIONS_COUNTED_BYTES_MAX + over
        );
        // The sizes of blocks leave a few bytes: they go behind the end of the archive.
        let missing = (SESSIONS_COUNTED_BYTES_MAX + over - total) as usize;
        put_archive(&bucket, ids[0], first, &[]);
        put_archive(&bucket, ids[1], [second, vec![0; missing]].concat(), &[]);
        let answer = list(&bucket, &listing(None)).unwrap();
        let from = answer
            .sessions
            .iter()
            .filter(|item| item.counts_from == CountsFrom::Content);
        assert_eq!(from.count(), counted);
        let truncated = answer
            .problems
            .iter()
            .filter(|p| p.kind == ProblemKind::Truncated);
        assert_eq!(truncated.count(), 2 - counted);
    }
    let bucket = Bucket::new(false);
    put_archive(
        &bucket,
        ids[0],
        padded(SESSIONS_COUNTED_BYTES_MAX + 100),
        &[],
    );
    let answer = list(&bucket, &listing(Some(1))).unwrap();
    assert_eq!(answer.sessions[0].messages, Some(1));
}

fn listing(limit: Option<u32>) -> ListRequest {
    ListRequest {
        home: home(),
        cursor: None,
        limit,
    }
}

/// A gzip member whose blocks are stored as they are.
fn stored_member(raw: &[u8]) -> Vec<u8> {
    let mut member = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let count = raw.len().div_ceil(65_535);
    for (number, block) in raw.chunks(65_535).enumerate() {
        let length = block.len() as u16;
        member.push(u8::from(number + 1 == count));
        member.extend_from_slice(&length.to_le_bytes());
        member.extend_from_slice(&(!length).to_le_bytes());
        member.extend_from_slice(block);
    }
    member.extend_from_slice(&crc32fast::hash(raw).to_le_bytes());
    member.extend_from_slice(&(raw.len() as u32).to_le_bytes());
    member
}

/// Before each of the next lines that somebody appends, the session is another one.
struct Ending<'a> {
    inner: &'a Bucket,
    left: Cell<usize>,
}

impl Ending<'_> {
    fn end(&self, key: &str) {
        if !key.contains("/new/") || self.left.get() == 0 {
            return;
        }
        let number = self.left.get();
        self.left.set(number - 1);
        let name = format!("other{number}");
        append(self.inner, &appending(&name, &[text(&name)], NOW)).unwrap();
        reset(self.inner, &format!("end{number}")).unwrap();
    }
}

impl Store for Ending<'_> {
    fn describe(&self) -> Vec<(String, String)> {
        self.inner.describe()
    }

    fn read(&self, wave: Vec<Request>) -> Vec<StoreResult<Answer>> {
        self.inner.read(wave)
    }

    fn put(&self, key: &str, body: Body, options: PutOptions) -> StoreResult<String> {
        self.end(key);
        self.inner.put(key, body, options)
    }

    fn append(&self, key: &str, body: Body, at_bytes: u64) -> StoreResult<u64> {
        self.inner.append(key, body, at_bytes)
    }

    fn concat(&self, sources: Vec<Source>, to: &str, options: PutOptions) -> StoreResult<String> {
        self.inner.concat(sources, to, options)
    }

    fn delete(&self, keys: Vec<String>) -> Vec<StoreResult<()>> {
        self.inner.delete(keys)
    }
}

#[test]
fn sessions_that_end_while_an_append_is_on_its_way() {
    for (ends, is_in) in [
        (APPEND_SESSIONS_MAX - 1, true),
        (APPEND_SESSIONS_MAX, false),
    ] {
        let bucket = Bucket::new(false);
        say(&bucket, 0);
        let ending = Ending {
            inner: &bucket,
            left: Cell::new(ends),
        };
        let request = appending("late", &[text("late")], NOW + 1);
        let answer = append(&ending, &request);
        assert_eq!(ending.left.get(), 0);
        match answer {
            Ok(_) => assert!(is_in),
            Err(error) => {
                assert_eq!((error.code, is_in), (ErrorCode::Unavailable, false));
                append(&bucket, &request).unwrap();
            }
        }
        assert_eq!(live(&bucket), ["late"]);
    }
}

/// A log of so many sealed pieces is listed; with one more it is refused, before anything is read.
#[test]
fn pieces_of_a_log() {
    let agent = AgentId::parse("hera").unwrap();
    let session = SessionId::parse("0b5a4c9e-6f0d-4b7e-9f43-2a5a5c6d7e8f").unwrap();
    let keys = LogKeys::live_log(&agent, &session);
    let bucket = Bucket::new(false);
    let forward = |bucket: &Bucket| -> Result<bool> {
        let store = Metered::new(bucket);
        let log = Log {
            store: &store,
            keys: &keys,
            format: &SessionLines,
        };
        Forward::of(log).map(|found| found.is_some())
    };
    bucket.insert(keys.head(), b"");
    let piece = |number: usize| {
        let hash = format!("{number:024x}");
        keys.sealed(&SealedName::new(number as u64, &hash).unwrap())
    };
    for number in 0..LOG_PIECES_MAX {
        bucket.insert(&piece(number), b"x");
    }
    let error = forward(&bucket).err();
    let code = error.map(|error| error.code);
    assert_ne!(code, Some(ErrorCode::TooLarge));
    bucket.insert(&piece(LOG_PIECES_MAX), b"x");
    let error = forward(&bucket).unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
    assert!(error.message.contains("over 100000 pieces"), "{error}");
}

/// A line as long as an append takes, and one as long as a log is read, behind the summary of a compaction.
#[test]
fn long_lines_are_archived() {
    let longest = of_bytes(LOG_APPEND_BYTES_MAX - 128);
    let bucket = Bucket::new(false);
    say(&bucket, 0);
    append(
        &bucket,
        &appending("long", std::slice::from_ref(&longest), NOW + 1),
    )
    .unwrap();
    compact(&bucket, &[text("m0")], Some("long.0"), NOW + 2);
    let archive = reset(&bucket, "r").unwrap().archive.unwrap();
    let archived = lines(&bucket, &archive);
    assert_eq!(archived.len(), 2);
    assert!(archived[0].contains("sum"));
    assert_eq!(archived[1], longest);

    let bucket = Bucket::new(true);
    say(&bucket, 0);
    let session_id = status_of(&bucket).session_id;
    let key = format!("agents/hera/sessions/{session_id}.jsonl");
    let of_another = of_bytes(VALUE_BYTES_MAX as usize - 1);
    let log = [
        bucket.bytes(&key).unwrap(),
        of_another.clone().into_bytes(),
        vec![b'\n'],
    ]
    .concat();
    bucket.insert(&key, &log);
    let archive = reset(&bucket, "r").unwrap().archive.unwrap();
    let bytes = bucket.bytes(&archive).unwrap();
    let (raw, read) = gzip::decode(&bytes, 16 << 20).unwrap();
    assert_eq!((read.members, read.damage), (1, None));
    assert_eq!(raw.len(), text("m0").len() + 1 + of_another.len() + 1);
}

/// A summary that comes late, behind the end of the log, stands for nothing: the archive has every message, whenever
/// it is looked at.
#[test]
fn a_summary_behind_the_end_of_the_log() {
    let bucket = Bucket::new(false);
    for number in 0..4 {
        say(&bucket, number);
    }
    compact(&bucket, &[text("m0")], Some("m1.0"), NOW + 10);
    let begun = reset_begin(&bucket, &ending("r")).unwrap();
    assert_eq!(begun.messages, Some(4), "the summary, and three messages");
    let old = begun.archived_session_id.unwrap();
    let (store, owner) = (Metered::new(&bucket), Owner::of(&home(), KEY).unwrap());
    let live = Live::of(&store, &owner, &old).unwrap();
    let before = live.standing().unwrap();
    let id = summary_id(NOW + 20);
    let late = Compaction {
        summary: "late".to_owned(),
        first_kept: Some("m3.0".to_owned()),
        part_ms: NOW + 20,
        request: None,
    };
    let bytes = compaction_line(&id, &late);
    live.log()
        .append(&[NewEntry { id, bytes }], NOW + 20)
        .unwrap();
    assert_eq!(live.standing().unwrap(), before);
    assert!(
        before
            .summary
            .unwrap()
            .contains(&format!("sum{}", NOW + 10))
    );
}

/// Lines that cannot be read are told one by one up to a number; how many more there are is told too.
#[test]
fn problems_of_lines() {
    let told = |problems: &[Problem], told: usize, over: usize| {
        assert_eq!(problems.len(), told + over.min(1));
        let last = problems.last().unwrap();
        assert_eq!(last.kind == ProblemKind::Truncated, over > 0);
        assert!(
            over == 0 || last.message.contains(&format!("and {over} more")),
            "{last:?}"
        );
    };
    for over in [0, 1, 5] {
        let bucket = Bucket::new(true);
        say(&bucket, 0);
        let session_id = status_of(&bucket).session_id;
        let log = format!("agents/hera/sessions/{session_id}.jsonl");
        let bad = "no message\n".repeat(SESSION_PROBLEMS_MAX + over);
        let lines = [bucket.bytes(&log).unwrap(), bad.clone().into_bytes()].concat();
        bucket.insert(&log, &lines);
        let page = read(&bucket, 1_000, None).unwrap();
        assert_eq!(page.messages.len(), 1);
        told(&page.problems, SESSION_PROBLEMS_MAX, over);
        let request = ContextRequest {
            home: home(),
            session_key: KEY.to_owned(),
        };
        let answer = context(&bucket, &request).unwrap();
        told(&answer.problems, SESSION_PROBLEMS_MAX, over);
        let conditions = compaction::Conditions {
            session: Session {
                home: home(),
                session_key: KEY.to_owned(),
            },
            window_tokens: 100_000,
            system_tokens: 0,
            settings: None,
        };
        let verdict = compaction::should_compact(&bucket, &conditions).unwrap();
        told(&verdict.problems, SESSION_PROBLEMS_MAX, over);
        let id = "0b5a4c9e-6f0d-4b7e-9f43-2a5a5c6d7e8f";
        archived(&bucket, id, bad.as_bytes(), &[("messageCount", "0")]);
        let page = page_of(&bucket, id, None);
        told(&page.problems, SESSION_PROBLEMS_MAX, over);
        let bucket = Bucket::new(true);
        let bad = "no message\n".repeat(SESSIONS_COUNTED_PROBLEMS_MAX + over);
        archived(&bucket, id, bad.as_bytes(), &[]);
        let page = list(&bucket, &listing(None)).unwrap();
        told(&page.problems, SESSIONS_COUNTED_PROBLEMS_MAX, over);
    }
}
