//! Talking to one session key of one agent, for tests: short names for the calls of `ops::sessions`.
#![allow(dead_code)]

use haversack_core::format::gzip;
use haversack_core::ops::sessions::*;
use haversack_core::store::{Body, Condition, PutOptions, Store};
use haversack_core::transform::reset_policy::ResetPolicy;
use haversack_core::types::{ErrorCode, Home, Result};

use crate::bucket::Bucket;

pub const KEY: &str = "agent:hera:main";
pub const NOW: u64 = 1_771_579_800_000;
pub const SEED: &str = "0123456789abcdef-seed";

pub fn home() -> Home {
    Home {
        system: "gsv".to_owned(),
        id: "hera".to_owned(),
    }
}

pub fn text(name: &str) -> String {
    format!(r#"{{"role":"user","content":"{name}"}}"#)
}

pub fn answered(name: &str) -> String {
    format!(
        r#"{{"role":"assistant","content":"{name}","usage":{{"input":3,"output":2,"totalTokens":5}}}}"#
    )
}

pub fn appending(id: &str, messages: &[String], now_ms: u64) -> AppendRequest {
    AppendRequest {
        home: home(),
        session_key: KEY.to_owned(),
        request_id: id.to_owned(),
        seed: SEED.to_owned(),
        now_ms,
        messages: messages.to_vec(),
    }
}

pub fn say(store: &dyn Store, number: u64) -> AppendAnswer {
    let name = format!("m{number}");
    append(store, &appending(&name, &[text(&name)], NOW + number)).unwrap()
}

pub fn read(store: &dyn Store, count: u32, before: Option<String>) -> Result<HistoryAnswer> {
    history(
        store,
        &HistoryRequest {
            home: home(),
            session_key: KEY.to_owned(),
            session_id: None,
            count: Some(count),
            before,
        },
    )
}

pub fn names(messages: &[SessionMessage]) -> Vec<String> {
    messages
        .iter()
        .map(|message| name_of(&message.json))
        .collect()
}

pub fn name_of(json: &str) -> String {
    let from = json.find("\"content\":\"").unwrap() + 11;
    json[from..].split('"').next().unwrap().to_owned()
}

/// What the key's session has now.
pub fn live(store: &dyn Store) -> Vec<String> {
    match read(store, 1_000, None) {
        Ok(page) => names(&page.messages),
        Err(error) => {
            assert_eq!(error.code, ErrorCode::NotFound, "{error}");
            Vec::new()
        }
    }
}

pub fn ending(id: &str) -> ResetBeginRequest {
    ResetBeginRequest {
        home: home(),
        session_key: KEY.to_owned(),
        request_id: id.to_owned(),
        session_id: None,
        seed: SEED.to_owned(),
        now_ms: NOW + 1_000_000,
        utc_offset_minutes: 0,
        keep_media: Vec::new(),
        window_tokens: None,
    }
}

pub fn committing(id: &str) -> ResetCommitRequest {
    ResetCommitRequest {
        home: home(),
        session_key: KEY.to_owned(),
        request_id: id.to_owned(),
        state: None,
    }
}

/// Without a model, to its end.
pub fn reset(store: &dyn Store, id: &str) -> Result<ResetAnswer> {
    loop {
        let begun = reset_begin(store, &ending(id))?;
        match begun.step {
            ResetStep::Again => {}
            ResetStep::Commit => {
                let done = reset_commit(store, &committing(&begun.request_id))?;
                if done.step == ResetStep::Done {
                    return Ok(done);
                }
            }
            _ => return Ok(begun),
        }
    }
}

pub fn archives(bucket: &Bucket) -> Vec<String> {
    let keys = bucket.keys("agents/hera/sessions/");
    keys.into_iter()
        .filter(|key| key.ends_with(".jsonl.gz"))
        .collect()
}

pub fn lines(bucket: &Bucket, key: &str) -> Vec<String> {
    let (raw, summary) = gzip::decode(&bucket.bytes(key).unwrap(), 8 << 20).unwrap();
    assert_eq!((summary.members, summary.damage), (1, None));
    let text = String::from_utf8(raw).unwrap();
    text.lines().map(str::to_owned).collect()
}

pub fn status_of(store: &dyn Store) -> StatusAnswer {
    let session_key = KEY.to_owned();
    status(
        store,
        &StatusRequest {
            home: home(),
            session_key,
        },
    )
    .unwrap()
}

pub fn both() -> [Bucket; 2] {
    [Bucket::new(false), Bucket::new(true)]
}

pub fn everything(bucket: &Bucket) -> Vec<String> {
    let mut all = Vec::new();
    for archive in archives(bucket) {
        all.extend(lines(bucket, &archive).iter().map(|line| name_of(line)));
    }
    all.extend(live(bucket));
    all.sort();
    all
}

pub fn insert_media(bucket: &Bucket, number: u8, uploaded_ms: u64) -> String {
    let key = format!("media/{KEY}/00000000-0000-4000-8000-0000000000{number:02}.png");
    let options = PutOptions {
        condition: Condition::Always,
        content_type: Some("image/png".to_owned()),
        metadata: vec![("uploadedAt".to_owned(), uploaded_ms.to_string())],
    };
    let body = Body::Binary(b"png".to_vec());
    bucket.put(&key, body, options).unwrap();
    key
}

pub fn showing(key: &str) -> String {
    format!(
        r#"{{"role":"user","content":[{{"type":"image","r2Key":"{key}","mimeType":"image/png"}}]}}"#
    )
}

pub fn asking(policy: ResetPolicy, now_ms: u64) -> DueRequest {
    DueRequest {
        home: home(),
        session_key: Some(KEY.to_owned()),
        policy,
        now_ms,
        utc_offset_minutes: 0,
        cursor: None,
    }
}
