//! Runs the embedded component through `haversack_host`, over the recording memory store.

use std::sync::Arc;

use anyhow::{Context, Result};
use haversack_core::store as core;
use haversack_core::store::Store;
use haversack_host::store::{self as host, BlobStore, BoxFuture};
use haversack_host::{Engine, EngineOptions};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::Adapter;
use crate::case::{Case, Outcome};
use crate::memory::MemoryStore;

/// Functions that cannot fail answer with a bare value; the corpus wraps it as `{"ok": …}`.
const SURE: [&str; 4] = [
    "layout.systems",
    "prompt.compare",
    "prompt.presets",
    "tenants.tiers",
];

struct Wasmtime {
    engine: Engine,
    runtime: Runtime,
}

/// The adapter, or why wasmtime does not run here.
pub fn adapter() -> Result<Box<dyn Adapter>, String> {
    let adapter = || -> Result<Wasmtime> {
        Ok(Wasmtime {
            engine: Engine::new(EngineOptions::default())?,
            runtime: Runtime::new()?,
        })
    };
    match adapter() {
        Ok(adapter) => Ok(Box::new(adapter)),
        Err(error) => Err(format!("wasmtime does not start: {error:#}")),
    }
}

impl Adapter for Wasmtime {
    fn name(&self) -> &'static str {
        "wasmtime"
    }

    fn run(&self, case: &Case) -> Result<Outcome> {
        let store = Arc::new(Shared(MemoryStore::of(case)));
        let mut answers: Vec<Value> = Vec::new();
        for (index, call) in case.calls.iter().enumerate() {
            let about = || format!("call {}, {}", index + 1, call.call);
            let mut args = call.args_after(&answers)?;
            if args.is_null() {
                args = json!({});
            }
            let (interface, function) = call.call.split_once('.').with_context(about)?;
            let called = self
                .engine
                .call_json(store.clone(), interface, function, &args);
            let answer = self.runtime.block_on(called).with_context(about)?;
            answers.push(if SURE.contains(&call.call.as_str()) {
                json!({ "ok": answer })
            } else {
                answer
            });
        }
        Ok(Outcome {
            answers,
            store_after: store.0.objects(),
            store_calls: store.0.calls(),
        })
    }
}

/// The memory store as the host library sees one. Its types are generated from the same WIT as those
/// of the core, so all that happens here is renaming.
struct Shared(MemoryStore);

impl BlobStore for Shared {
    fn describe(&self) -> Vec<(String, String)> {
        self.0.describe()
    }

    fn read(
        &self,
        wave: Vec<host::Request>,
    ) -> BoxFuture<'_, Vec<Result<host::Answer, host::Error>>> {
        let wave = wave.into_iter().map(request).collect();
        Box::pin(async move {
            let answers = self.0.read(wave).into_iter();
            answers.map(|a| a.map(answer).map_err(error)).collect()
        })
    }

    fn put(
        &self,
        key: String,
        bytes: host::Body,
        how: host::PutOptions,
    ) -> BoxFuture<'_, Result<String, host::Error>> {
        Box::pin(async move { self.0.put(&key, body(bytes), options(how)).map_err(error) })
    }

    fn append(
        &self,
        key: String,
        bytes: host::Body,
        at_bytes: u64,
    ) -> BoxFuture<'_, Result<u64, host::Error>> {
        Box::pin(async move { self.0.append(&key, body(bytes), at_bytes).map_err(error) })
    }

    fn concat(
        &self,
        sources: Vec<host::Source>,
        to: String,
        how: host::PutOptions,
    ) -> BoxFuture<'_, Result<String, host::Error>> {
        let source = |source: host::Source| core::Source {
            key: source.key,
            if_match: source.if_match,
        };
        let sources = sources.into_iter().map(source).collect();
        Box::pin(async move { self.0.concat(sources, &to, options(how)).map_err(error) })
    }

    fn delete(&self, keys: Vec<String>) -> BoxFuture<'_, Vec<Result<(), host::Error>>> {
        Box::pin(async move {
            let answers = self.0.delete(keys).into_iter();
            answers.map(|answer| answer.map_err(error)).collect()
        })
    }
}

fn request(request: host::Request) -> core::Request {
    match request {
        host::Request::Get(get) => core::Request::Get(core::GetRequest {
            key: get.key,
            range: match get.range {
                host::Range::Whole => core::Range::Whole,
                host::Range::Span(span) => core::Range::Span {
                    start_bytes: span.start_bytes,
                    length_bytes: span.length_bytes,
                },
                host::Range::Last(bytes) => core::Range::Last(bytes),
            },
            kind: match get.kind {
                host::BodyKind::Text => core::BodyKind::Text,
                host::BodyKind::Binary => core::BodyKind::Binary,
            },
        }),
        host::Request::Head(key) => core::Request::Head(key),
        host::Request::List(list) => core::Request::List(core::ListRequest {
            prefix: list.prefix,
            delimiter: list.delimiter,
            start_after: list.start_after,
            cursor: list.cursor,
            limit: list.limit,
        }),
    }
}

fn body(body: host::Body) -> core::Body {
    match body {
        host::Body::Text(text) => core::Body::Text(text),
        host::Body::Binary(bytes) => core::Body::Binary(bytes),
    }
}

fn options(options: host::PutOptions) -> core::PutOptions {
    core::PutOptions {
        condition: match options.condition {
            host::Condition::Always => core::Condition::Always,
            host::Condition::IfAbsent => core::Condition::IfAbsent,
            host::Condition::IfMatch(version) => core::Condition::IfMatch(version),
        },
        content_type: options.content_type,
        metadata: options.metadata,
    }
}

fn answer(answer: core::Answer) -> host::Answer {
    match answer {
        core::Answer::Blob(blob) => host::Answer::Blob(blob.map(|blob| host::Blob {
            body: match blob.body {
                core::Body::Text(text) => host::Body::Text(text),
                core::Body::Binary(bytes) => host::Body::Binary(bytes),
            },
            stat: stat(blob.stat),
        })),
        core::Answer::Head(found) => host::Answer::Head(found.map(stat)),
        core::Answer::Listing(listing) => {
            let entry = |entry: core::Entry| host::Entry {
                key: entry.key,
                size_bytes: entry.size_bytes,
                modified_ms: entry.modified_ms,
                version: entry.version,
            };
            let skipped = |skipped: core::Skipped| host::Skipped {
                key: skipped.key,
                cause: skipped.cause,
            };
            host::Answer::Listing(host::Listing {
                entries: listing.entries.into_iter().map(entry).collect(),
                prefixes: listing.prefixes,
                skipped: listing.skipped.into_iter().map(skipped).collect(),
                cursor: listing.cursor,
            })
        }
    }
}

fn stat(stat: core::Stat) -> host::Stat {
    host::Stat {
        version: stat.version,
        content_type: stat.content_type,
        metadata: stat.metadata,
        size_bytes: stat.size_bytes,
        modified_ms: stat.modified_ms,
    }
}

fn error(error: core::StoreError) -> host::Error {
    use core::StoreErrorCode as Code;
    host::Error {
        code: match error.code {
            Code::Conflict => host::ErrorCode::Conflict,
            Code::TooLarge => host::ErrorCode::TooLarge,
            Code::Denied => host::ErrorCode::Denied,
            Code::Invalid => host::ErrorCode::Invalid,
            Code::Unavailable => host::ErrorCode::Unavailable,
            Code::OutcomeUnknown => host::ErrorCode::OutcomeUnknown,
            Code::Unsupported => host::ErrorCode::Unsupported,
            Code::Other => host::ErrorCode::Other,
        },
        message: error.message,
        retry_after_ms: error.retry_after_ms,
        current: error.current,
    }
}
