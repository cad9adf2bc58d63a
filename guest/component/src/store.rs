//! The imported blob store as the core's `Store`.

use haversack_core::store as core;

use crate::convert::{Convert, cases, list, record};
use crate::haversack::store::blobs as wit;

/// The one import. Holds nothing: the host knows which store a call is about.
pub struct Imported;

impl core::Store for Imported {
    fn describe(&self) -> Vec<(String, String)> {
        wit::describe()
    }

    fn read(&self, wave: Vec<core::Request>) -> Vec<core::StoreResult<core::Answer>> {
        let wave: Vec<wit::Request> = list(wave);
        wit::read(&wave).into_iter().map(answered).collect()
    }

    fn put(
        &self,
        key: &str,
        body: core::Body,
        options: core::PutOptions,
    ) -> core::StoreResult<String> {
        answered(wit::put(key, &body.convert(), &options.convert()))
    }

    fn append(&self, key: &str, body: core::Body, at_bytes: u64) -> core::StoreResult<u64> {
        answered(wit::append(key, &body.convert(), at_bytes))
    }

    fn concat(
        &self,
        sources: Vec<core::Source>,
        to: &str,
        options: core::PutOptions,
    ) -> core::StoreResult<String> {
        let sources: Vec<wit::Source> = list(sources);
        answered(wit::concat(&sources, to, &options.convert()))
    }

    fn delete(&self, keys: Vec<String>) -> Vec<core::StoreResult<()>> {
        wit::delete(&keys)
            .into_iter()
            .map(|answer| answer.map_err(Convert::convert))
            .collect()
    }
}

fn answered<A: Convert<B>, B>(answer: Result<A, wit::Error>) -> core::StoreResult<B> {
    answer.map(Convert::convert).map_err(Convert::convert)
}

cases!(core::Body => wit::Body { Text(text), Binary(bytes) });
cases!(wit::Body => core::Body { Text(text), Binary(bytes) });
cases!(core::BodyKind => wit::BodyKind { Text, Binary });
cases!(core::Condition => wit::Condition { Always, IfAbsent, IfMatch(version) });
cases!(core::Request => wit::Request { Get(get), Head(key), List(list) });
cases!(wit::Answer => core::Answer { Blob(blob), Head(stat), Listing(listing) });
cases!(wit::ErrorCode => core::StoreErrorCode {
    Conflict, TooLarge, Denied, Invalid, Unavailable, OutcomeUnknown, Unsupported, Other,
});

record!(core::GetRequest => wit::GetRequest { key, range, kind });
record!(core::ListRequest => wit::ListRequest { prefix, delimiter, start_after, cursor, limit });
record!(core::PutOptions => wit::PutOptions { condition, content_type; list metadata });
record!(core::Source => wit::Source { key, if_match });
record!(wit::Stat => core::Stat { version, content_type, size_bytes, modified_ms; list metadata });
record!(wit::Blob => core::Blob { body, stat });
record!(wit::Entry => core::Entry { key, size_bytes, modified_ms, version });
record!(wit::Skipped => core::Skipped { key, cause });
record!(wit::Listing => core::Listing { cursor, prefixes; list entries, skipped });
record!(wit::Error => core::StoreError { code, message, retry_after_ms, current });

impl Convert<wit::Range> for core::Range {
    fn convert(self) -> wit::Range {
        match self {
            Self::Whole => wit::Range::Whole,
            Self::Span {
                start_bytes,
                length_bytes,
            } => wit::Range::Span(wit::Span {
                start_bytes,
                length_bytes,
            }),
            Self::Last(bytes) => wit::Range::Last(bytes),
        }
    }
}
