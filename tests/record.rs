//! The calls that reached a store, in the JSON form of `wit/store/blobs.wit`, for `calls.json`.

use haversack_core::store::{Body, BodyKind, Condition, PutOptions, Range, Request, Source};
use serde_json::{Value, json};

use crate::case::to_base64;

/// `{"call": "read", "args": {"wave": […]}}`.
pub fn read(wave: &[Request]) -> Value {
    let wave: Vec<_> = wave.iter().map(request).collect();
    json!({"call": "read", "args": {"wave": wave}})
}

pub fn put(key: &str, bytes: &Body, how: &PutOptions) -> Value {
    json!({"call": "put", "args": {"key": key, "body": body(bytes), "options": options(how)}})
}

pub fn append(key: &str, bytes: &Body, at_bytes: u64) -> Value {
    json!({"call": "append", "args": {"key": key, "body": body(bytes), "at-bytes": at_bytes}})
}

pub fn concat(sources: &[Source], to: &str, how: &PutOptions) -> Value {
    let sources: Vec<_> = sources
        .iter()
        .map(|source| json!({"key": source.key, "if-match": source.if_match}))
        .collect();
    json!({"call": "concat", "args": {"sources": sources, "to": to, "options": options(how)}})
}

pub fn delete(keys: &[String]) -> Value {
    json!({"call": "delete", "args": {"keys": keys}})
}

fn request(request: &Request) -> Value {
    match request {
        Request::Get(get) => {
            let range = match get.range {
                Range::Whole => json!("whole"),
                Range::Span {
                    start_bytes,
                    length_bytes,
                } => {
                    json!({"span": {"start-bytes": start_bytes, "length-bytes": length_bytes}})
                }
                Range::Last(bytes) => json!({"last": bytes}),
            };
            let kind = match get.kind {
                BodyKind::Text => "text",
                BodyKind::Binary => "binary",
            };
            json!({"get": {"key": get.key, "range": range, "kind": kind}})
        }
        Request::Head(key) => json!({"head": key}),
        Request::List(list) => json!({"list": {
            "prefix": list.prefix,
            "delimiter": list.delimiter,
            "start-after": list.start_after,
            "cursor": list.cursor,
            "limit": list.limit,
        }}),
    }
}

fn body(body: &Body) -> Value {
    match body {
        Body::Text(text) => json!({"text": text}),
        Body::Binary(bytes) => json!({"binary": {"base64": to_base64(bytes)}}),
    }
}

fn options(options: &PutOptions) -> Value {
    let condition = match &options.condition {
        Condition::Always => json!("always"),
        Condition::IfAbsent => json!("if-absent"),
        Condition::IfMatch(version) => json!({"if-match": version}),
    };
    json!({
        "condition": condition,
        "content-type": options.content_type,
        "metadata": options.metadata,
    })
}
