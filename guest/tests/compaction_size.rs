//! `compaction` of very long sessions: memory, requests, and the limit on messages. A test of its own,
//! because it counts what the whole program allocates.
#![allow(unsafe_code)]

#[path = "support/bucket.rs"]
#[allow(dead_code)]
mod bucket;
#[path = "support/chat.rs"]
mod chat;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bucket::Bucket;
use chat::*;
use haversack_core::format::live_log::{SessionLines, message_line};
use haversack_core::limits::*;
use haversack_core::ops::compaction::*;
use haversack_core::protocol::log::{Log, NewEntry};
use haversack_core::store::Metered;
use haversack_core::types::ErrorCode;

/// Counts the bytes that are allocated, and the most there ever were.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(now, Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The most that was allocated during a call, beyond what there was before.
fn most_bytes<T>(call: impl FnOnce() -> T) -> (usize, T) {
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    let answer = call();
    (MOST.load(Relaxed) - before, answer)
}

/// A session of so many messages, in appends of 256.
fn long_session(count: usize, appends: bool, line: impl Fn(usize) -> String) -> Bucket {
    let bucket = Bucket::new(appends);
    say(&bucket, "first", &[line(0)], NOW_MS);
    let keys = keys(&bucket);
    let lines: Vec<(String, Vec<u8>)> = (1..count)
        .map(|number| {
            let id = format!("m.{number}");
            let bytes = message_line(&id, &line(number)).unwrap();
            (id, bytes)
        })
        .collect();
    if appends {
        let mut whole = bucket.bytes(keys.head()).unwrap();
        whole.extend(lines.into_iter().flat_map(|(_, bytes)| bytes));
        bucket.insert(keys.head(), &whole);
        return bucket;
    }
    let metered = Metered::new(&bucket);
    let log = Log {
        store: &metered,
        keys: &keys,
        format: &SessionLines,
    };
    for (index, batch) in lines.chunks(256).enumerate() {
        let entries = batch.iter().cloned();
        let entries: Vec<_> = entries.map(|(id, bytes)| NewEntry { id, bytes }).collect();
        log.append(&entries, NOW_MS + index as u64).unwrap();
    }
    bucket
}

/// The figures are of the whole program: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn a_hundred_thousand_messages_stay_within_memory() {
    let _alone = ALONE.lock();
    let padding = format!(r#","padding":"{}"}}"#, "p".repeat(170));
    let agents: Vec<String> = turns("a", 20_000)
        .into_iter()
        .map(|line| format!("{}{padding}", line.strip_suffix('}').unwrap()))
        .collect();
    let bucket = long_session(100_000, false, |number| agents[number].clone());
    let objects = bucket.objects.borrow().clone();
    let size: usize = objects.values().map(|object| object.bytes.len()).sum();
    drop(objects);
    assert!(size > 33 << 20, "{size}");
    let (read, waves) = (bucket.bytes_read.get(), bucket.waves.get());
    let request = begin_request(false, NOW_MS);
    let (most, step) = most_bytes(|| begin(&bucket, &request).unwrap());
    assert!(most < 64 << 20, "begin took {most} bytes");
    assert!(step.state.len() < 4_096, "{}", step.state.len());
    // Linear: the log is read twice, because this summary counts too, with some of its end at each page.
    let read = bucket.bytes_read.get() - read;
    assert!(read < 4 * size as u64, "{read} bytes read of {size}");
    let waves = bucket.waves.get() - waves;
    assert!(waves < 1_000, "{waves} waves");
    let request = commit_request(&step, "r1", NOW_MS);
    let mut calls = 0;
    loop {
        calls += 1;
        let (most, answer) = most_bytes(|| commit(&bucket, &request).unwrap());
        assert!(most < 64 << 20, "commit took {most} bytes");
        if let Some(committed) = answer.committed {
            assert!(committed.removed_messages > 99_000);
            break;
        }
    }
    // At most a MiB a piece, 32 pieces a call.
    assert_eq!(calls, 2, "{size}");
    let archived = parts(&bucket)[0].1.len();
    assert_eq!(archived + messages(&bucket).len() - 1, 100_000);
}

#[test]
fn the_limit_on_messages() {
    let _alone = ALONE.lock();
    let line = r#"{"role":"user","content":"x"}"#.to_owned();
    let bucket = long_session(COMPACTION_MESSAGES_MAX, true, |_| line.clone());
    let conditions = begin_request(true, NOW_MS).conditions;
    let (most, verdict) = most_bytes(|| should_compact(&bucket, &conditions).unwrap());
    assert!(most < 64 << 20, "{most} bytes");
    assert_eq!(verdict.messages, 150_000);
    say(&bucket, "more", &[line], NOW_MS);
    let error = should_compact(&bucket, &conditions).unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
    assert!(error.message.contains("150000"), "{error}");
}
