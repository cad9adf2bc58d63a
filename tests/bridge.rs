//! A host's store as the core's: blocks on its futures, and converts between the two sides' types. A caller
//! that was stopped unwinds from here. Knows no protocol.

use std::future::Future;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use haversack_core::store as core;
use haversack_host::store::faulty::FaultyStore;
use haversack_host::store::{self as host, BlobStore};

/// What a stopped caller unwinds with: no panic, so no hook speaks of it.
pub struct Stopped;

/// The core's seam over a store of the host.
pub struct Bridge<'a> {
    store: &'a dyn BlobStore,
    caller: Option<&'a FaultyStore>,
    appends: bool,
}

impl<'a> Bridge<'a> {
    /// Over a store that answers at once.
    pub fn plain(store: &'a dyn BlobStore) -> Self {
        let described = store.describe();
        let appends = |(name, value): &(String, String)| name == "append" && value == "yes";
        Bridge {
            store,
            caller: None,
            appends: described.iter().any(appends),
        }
    }

    /// Over the store of one caller of a run.
    pub fn of(caller: &'a FaultyStore) -> Self {
        Bridge {
            caller: Some(caller),
            ..Bridge::plain(caller)
        }
    }

    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        block_on(future, || {
            self.caller.is_some_and(FaultyStore::take_stopped)
        })
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The future's end; or, where it does not end because the caller was stopped, unwind.
pub fn block_on<T>(future: impl Future<Output = T>, stopped: impl Fn() -> bool) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending if stopped() => resume_unwind(Box::new(Stopped)),
            Poll::Pending => thread::park(),
        }
    }
}

impl core::Store for Bridge<'_> {
    fn describe(&self) -> Vec<(String, String)> {
        self.store.describe()
    }

    fn read(&self, wave: Vec<core::Request>) -> Vec<core::StoreResult<core::Answer>> {
        // Stores that append may leave the version of a part and of a listed object empty: these do.
        let forgets = |request: &core::Request| match request {
            core::Request::Get(get) => self.appends && get.range != core::Range::Whole,
            core::Request::Head(_) => false,
            core::Request::List(_) => self.appends,
        };
        let forgets: Vec<bool> = wave.iter().map(forgets).collect();
        let wave = wave.into_iter().map(request).collect();
        let answers = self.wait(self.store.read(wave));
        let answers = answers.into_iter().zip(forgets);
        let answer = |(result, forgets): (Result<host::Answer, host::Error>, bool)| {
            result.map(|found| answer(found, forgets)).map_err(error)
        };
        answers.map(answer).collect()
    }

    fn put(&self, key: &str, body: core::Body, put: core::PutOptions) -> core::StoreResult<String> {
        let put = self
            .store
            .put(key.to_owned(), into_body(body), options(put));
        self.wait(put).map_err(error)
    }

    fn append(&self, key: &str, body: core::Body, at_bytes: u64) -> core::StoreResult<u64> {
        let append = self.store.append(key.to_owned(), into_body(body), at_bytes);
        self.wait(append).map_err(error)
    }

    fn concat(
        &self,
        sources: Vec<core::Source>,
        to: &str,
        put: core::PutOptions,
    ) -> core::StoreResult<String> {
        let source = |core::Source { key, if_match }| host::Source { key, if_match };
        let sources = sources.into_iter().map(source).collect();
        let concat = self.store.concat(sources, to.to_owned(), options(put));
        self.wait(concat).map_err(error)
    }

    fn delete(&self, keys: Vec<String>) -> Vec<core::StoreResult<()>> {
        let answers = self.wait(self.store.delete(keys));
        answers.into_iter().map(|a| a.map_err(error)).collect()
    }
}

fn into_body(body: core::Body) -> host::Body {
    match body {
        core::Body::Text(text) => host::Body::Text(text),
        core::Body::Binary(bytes) => host::Body::Binary(bytes),
    }
}

fn options(put: core::PutOptions) -> host::PutOptions {
    host::PutOptions {
        condition: match put.condition {
            core::Condition::Always => host::Condition::Always,
            core::Condition::IfAbsent => host::Condition::IfAbsent,
            core::Condition::IfMatch(version) => host::Condition::IfMatch(version),
        },
        content_type: put.content_type,
        metadata: put.metadata,
    }
}

fn request(request: core::Request) -> host::Request {
    match request {
        core::Request::Get(get) => host::Request::Get(host::GetRequest {
            key: get.key,
            range: match get.range {
                core::Range::Whole => host::Range::Whole,
                core::Range::Last(bytes) => host::Range::Last(bytes),
                core::Range::Span {
                    start_bytes,
                    length_bytes,
                } => host::Range::Span(host::Span {
                    start_bytes,
                    length_bytes,
                }),
            },
            kind: match get.kind {
                core::BodyKind::Text => host::BodyKind::Text,
                core::BodyKind::Binary => host::BodyKind::Binary,
            },
        }),
        core::Request::Head(key) => host::Request::Head(key),
        core::Request::List(list) => host::Request::List(host::ListRequest {
            prefix: list.prefix,
            delimiter: list.delimiter,
            start_after: list.start_after,
            cursor: list.cursor,
            limit: list.limit,
        }),
    }
}

fn answer(answer: host::Answer, forgets: bool) -> core::Answer {
    match answer {
        host::Answer::Blob(blob) => core::Answer::Blob(blob.map(|blob| core::Blob {
            body: match blob.body {
                host::Body::Text(text) => core::Body::Text(text),
                host::Body::Binary(bytes) => core::Body::Binary(bytes),
            },
            stat: stat(blob.stat, forgets),
        })),
        host::Answer::Head(found) => core::Answer::Head(found.map(|found| stat(found, forgets))),
        host::Answer::Listing(listing) => core::Answer::Listing(core::Listing {
            entries: listing
                .entries
                .into_iter()
                .map(|e| entry(e, forgets))
                .collect(),
            prefixes: listing.prefixes,
            skipped: listing
                .skipped
                .into_iter()
                .map(|host::Skipped { key, cause }| core::Skipped { key, cause })
                .collect(),
            cursor: listing.cursor,
        }),
    }
}

fn stat(stat: host::Stat, forgets: bool) -> core::Stat {
    core::Stat {
        version: if forgets { String::new() } else { stat.version },
        content_type: stat.content_type,
        metadata: stat.metadata,
        size_bytes: stat.size_bytes,
        modified_ms: stat.modified_ms,
    }
}

fn entry(entry: host::Entry, forgets: bool) -> core::Entry {
    core::Entry {
        key: entry.key,
        size_bytes: entry.size_bytes,
        modified_ms: entry.modified_ms,
        version: entry.version.filter(|_| !forgets),
    }
}

fn error(error: host::Error) -> core::StoreError {
    use core::StoreErrorCode as To;
    use host::ErrorCode as From;
    core::StoreError {
        code: match error.code {
            From::Conflict => To::Conflict,
            From::TooLarge => To::TooLarge,
            From::Denied => To::Denied,
            From::Invalid => To::Invalid,
            From::Unavailable => To::Unavailable,
            From::OutcomeUnknown => To::OutcomeUnknown,
            From::Unsupported => To::Unsupported,
            From::Other => To::Other,
        },
        message: error.message,
        retry_after_ms: error.retry_after_ms,
        current: error.current,
    }
}
