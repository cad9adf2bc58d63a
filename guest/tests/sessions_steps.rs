//! How much one call does of long work, at its edges: the next one goes on, and a log that never stands still is told.

#[path = "support/bucket.rs"]
mod bucket;
#[path = "support/chat.rs"]
mod chat;
#[path = "support/talk.rs"]
mod talk;

use std::cell::Cell;

use bucket::Bucket;
use haversack_core::limits::*;
use haversack_core::ops::compaction;
use haversack_core::ops::sessions::*;
use haversack_core::store::{Answer, Body, PutOptions, Request, Source, Store, StoreResult};
use haversack_core::types::ErrorCode;
use talk::*;

/// Three messages of a MiB are a piece.
#[test]
fn the_pieces_of_one_call_of_a_reset() {
    let bucket = Bucket::new(true);
    let line = text(&"x".repeat(1 << 20));
    let messages = 3 * (RESET_PIECES_PER_CALL as u64 + 1);
    for number in 0..messages {
        let id = format!("m{number}");
        let request = appending(&id, std::slice::from_ref(&line), NOW + number);
        append(&bucket, &request).unwrap();
    }
    let begun = reset_begin(&bucket, &ending("r")).unwrap();
    assert_eq!(begun.step, ResetStep::Again);
    let staged = bucket.keys("agents/hera/sessions/").into_iter();
    let staged = staged.filter(|key| key.contains("/pieces/"));
    assert_eq!(staged.count(), RESET_PIECES_PER_CALL);
    assert_eq!(
        archives(&bucket),
        Vec::<String>::new(),
        "half an archive is not to be seen"
    );
    let begun = reset_begin(&bucket, &ending("r")).unwrap();
    assert_eq!(
        (begun.step, begun.messages),
        (ResetStep::Commit, Some(messages))
    );
}

/// A bucket in which somebody appends whenever a fold was done, so many times.
struct Growing {
    inner: Bucket,
    left: Cell<usize>,
}

impl Growing {
    fn new(left: usize) -> Self {
        let inner = Bucket::new(false);
        say(&inner, 0);
        Self {
            inner,
            left: Cell::new(left),
        }
    }
}

impl Store for Growing {
    fn describe(&self) -> Vec<(String, String)> {
        self.inner.describe()
    }

    fn read(&self, wave: Vec<Request>) -> Vec<StoreResult<Answer>> {
        self.inner.read(wave)
    }

    fn put(&self, key: &str, body: Body, options: PutOptions) -> StoreResult<String> {
        let put = self.inner.put(key, body, options);
        let left = self.left.get();
        if put.is_ok() && left > 0 && key.ends_with(".jsonl") && !key.contains("/new/") {
            self.left.set(left - 1);
            say(&self.inner, 1 + left as u64);
        }
        put
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

/// A compaction begins once all is folded, and gives up on a log that grows as fast as it folds.
#[test]
fn a_log_that_grows_as_it_is_folded() {
    for (appends, is_enough) in [
        (LOG_CLOSE_FOLDS_MAX - 2, true),
        (LOG_CLOSE_FOLDS_MAX - 1, false),
    ] {
        let store = Growing::new(appends);
        let begun = compaction::begin(&store, &chat::begin_request(false, NOW + 10_000));
        match begun {
            Ok(_) => assert!(is_enough),
            Err(error) => {
                assert_eq!(
                    (error.code, is_enough),
                    (ErrorCode::Unavailable, false),
                    "{error}"
                );
                // Nothing is lost, and another try finds it at rest.
                assert!(error.message.contains("try again"), "{error}");
                compaction::begin(&store, &chat::begin_request(false, NOW + 10_000)).unwrap();
            }
        }
        assert_eq!(store.left.get(), 0);
        assert_eq!(live(&store.inner).len(), (appends + 1).min(1_000));
    }
}
