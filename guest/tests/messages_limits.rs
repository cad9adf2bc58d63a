//! Chat logs in a bucket that takes one write a second to a key, while answers are lost: nothing that was
//! acknowledged is missing, and nothing is there twice. Real races are the simulation's.

#[path = "support/bucket.rs"]
#[allow(dead_code)]
mod bucket;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use bucket::Bucket;
use haversack_core::ops::messages::{
    AppendRequest, HistoryRequest, RefreshRequest, append, history, refresh,
};
use haversack_core::store::{
    Answer, Body, PutOptions, Request, Source, Store, StoreError, StoreErrorCode, StoreResult,
};
use haversack_core::types::{ErrorCode, Home};

/// R2 as far as its limits go.
struct Limited {
    bucket: Bucket,
    now_ms: Cell<u64>,
    written_ms: RefCell<BTreeMap<String, u64>>,
    writes: Cell<u64>,
    refused: Cell<u64>,
    /// One write in so many loses its answer.
    loses_every: u64,
}

impl Limited {
    fn write<T>(&self, key: &str, write: impl FnOnce() -> StoreResult<T>) -> StoreResult<T> {
        let now_ms = self.now_ms.get();
        let last = self.written_ms.borrow_mut().insert(key.to_owned(), now_ms);
        if let Some(last) = last.filter(|last| now_ms < last + 1_000) {
            self.written_ms.borrow_mut().insert(key.to_owned(), last);
            self.refused.set(self.refused.get() + 1);
            return Err(error(StoreErrorCode::Unavailable));
        }
        let written = write()?;
        self.writes.set(self.writes.get() + 1);
        match self.writes.get().is_multiple_of(self.loses_every) {
            true => Err(error(StoreErrorCode::OutcomeUnknown)),
            false => Ok(written),
        }
    }
}

fn error(code: StoreErrorCode) -> StoreError {
    StoreError {
        code,
        message: "429, or no answer".to_owned(),
        retry_after_ms: None,
        current: None,
    }
}

impl Store for Limited {
    fn describe(&self) -> Vec<(String, String)> {
        self.bucket.describe()
    }

    fn read(&self, wave: Vec<Request>) -> Vec<StoreResult<Answer>> {
        self.bucket.read(wave)
    }

    fn put(&self, key: &str, body: Body, options: PutOptions) -> StoreResult<String> {
        self.write(key, || self.bucket.put(key, body, options))
    }

    fn append(&self, key: &str, body: Body, at_bytes: u64) -> StoreResult<u64> {
        self.write(key, || self.bucket.append(key, body, at_bytes))
    }

    fn concat(&self, sources: Vec<Source>, to: &str, options: PutOptions) -> StoreResult<String> {
        self.write(to, || self.bucket.concat(sources, to, options))
    }

    fn delete(&self, keys: Vec<String>) -> Vec<StoreResult<()>> {
        self.bucket.delete(keys)
    }
}

fn home() -> Home {
    Home {
        system: "moltbot".to_owned(),
        id: "user_1".to_owned(),
    }
}

#[test]
fn ten_messages_a_second_are_all_there_once() {
    for loses_every in [2, 3, 7, u64::MAX] {
        let store = Limited {
            bucket: Bucket::new(false),
            now_ms: Cell::new(1_700_000_000_000),
            written_ms: RefCell::default(),
            writes: Cell::new(0),
            refused: Cell::new(0),
            loses_every,
        };
        for number in 0..600 {
            let now_ms = store.now_ms.get() + 100;
            store.now_ms.set(now_ms);
            // Eight writers take turns.
            let id = format!("w{}-{number:03}", number % 8);
            let request = AppendRequest {
                home: home(),
                session_key: "main".to_owned(),
                messages: vec![format!(
                    r#"{{"id":"{id}","role":"user","content":"x","timestamp":{now_ms}}}"#
                )],
                tier: None,
            };
            // The limit never hinders an append: each has a key of its own.
            append(&store, &request).unwrap();
        }
        let request = HistoryRequest {
            home: home(),
            session_key: "main".to_owned(),
            limit: Some(1_000),
            before: None,
            tier: None,
            now_ms: None,
        };
        let page = history(&store, &request).unwrap();
        let ids = page.messages.into_iter().map(|message| message.id.unwrap());
        let expected = (0..600).map(|number| format!("w{}-{number:03}", number % 8));
        assert!(ids.eq(expected), "one in {loses_every}");
        let request = RefreshRequest {
            home: home(),
            session_key: "main".to_owned(),
        };
        let known = loop {
            store.now_ms.set(store.now_ms.get() + 2_000);
            match refresh(&store, &request) {
                Ok(known) if !known.again => break known,
                Ok(_) => {}
                Err(error) => assert!(
                    matches!(error.code, ErrorCode::Unavailable | ErrorCode::Conflict),
                    "{error}"
                ),
            }
        };
        assert_eq!(known.message_count, Some(600));
    }
}
