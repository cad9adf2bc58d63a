//! What a reader finds of a user under retention: where meta.json says that it stands, and what can be found there.

use std::collections::BTreeSet;

use haversack_core::ops::messages::{HistoryRequest, history};
use haversack_core::store::{
    Answer, Blob, BodyKind, GetRequest, ListRequest, Range, Request, Store,
};
use haversack_core::types::{Error, Home};
use haversack_host::store::memory::{Object, Objects};
use haversack_host::store::{Condition, PutOptions};
use serde_json::{Value, json};

use crate::scheduler::START_MS;

const META: &str = "users/a/meta.json";
pub const CONFIG: &str = "users/a/config/clawdbot.json";
const LOG: &str = "users/a/sessions/main/messages.jsonl";
const TO: &str = "deleted/a/20251201T000000Z";
/// Others, whom no call may touch.
const NEIGHBOURS: [&str; 2] = ["users/ab/meta.json", "deleted/ab/20250101T000000Z/config/x"];
/// What a restore finds its place taken for.
const BESIDE: &str = "users/a/restored/";

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Standing {
    Here,
    /// Being moved, either way.
    Between,
    Away,
    Gone,
}

/// What can be found. Of a model: surely, and perhaps.
#[derive(Clone, Debug)]
pub struct View {
    pub standing: Standing,
    pub sure: BTreeSet<String>,
    pub maybe: BTreeSet<String>,
}

impl PartialEq for View {
    fn eq(&self, other: &View) -> bool {
        let stands = match (self.standing, other.standing) {
            (Standing::Between, it) | (it, Standing::Between) => it != Standing::Gone,
            (one, other) => one == other,
        };
        let may =
            |view: &View, name: &String| view.sure.contains(name) || view.maybe.contains(name);
        let holds = |one: &View, other: &View| one.sure.iter().all(|name| may(other, name));
        let is_gone = [self.standing, other.standing].contains(&Standing::Gone);
        stands && (is_gone || (holds(self, other) && holds(other, self)))
    }
}

pub fn is_meta(key: &str) -> bool {
    key == META
}

pub fn is_live(key: &str) -> bool {
    key.starts_with("users/a/") && key != META
}

pub fn is_copy(key: &str) -> bool {
    key.starts_with("deleted/a/")
}

/// meta.json as somebody reads it who knows no lease.
pub fn without_lease(text: &str) -> String {
    let Ok(mut meta) = serde_json::from_str::<Value>(text) else {
        return text.to_owned();
    };
    if meta.get("lease-until-ms").is_some() {
        meta["lease-until-ms"] = json!(0);
    }
    meta.to_string()
}

pub fn message(id: &str) -> String {
    format!(r#"{{"id":"{id}","role":"user","content":"x","timestamp":1706572800000}}"#)
}

/// What lies there when a run begins: a user whose retention is over, or who was deleted long ago.
pub fn objects(is_deleted: bool) -> Objects {
    let object = |text: &str, content_type: &str| {
        let options = PutOptions {
            condition: Condition::Always,
            content_type: Some(content_type.to_owned()),
            metadata: vec![("kept".to_owned(), "yes".to_owned())],
        };
        Object::new(text.as_bytes().to_vec(), options, START_MS)
    };
    let mut meta = json!({
        "userId": "a",
        "subscriptionStatus": "cancelled",
        "subscriptionEndedAt": "2025-08-01T00:00:00Z",
        "retentionExpiresAt": "2025-11-01T00:00:00Z",
    });
    let mut home = "users/a".to_owned();
    if is_deleted {
        meta["state"] = json!("deleted");
        meta["to"] = json!(TO);
        meta["purge-after"] = json!("2026-01-01T00:00:00Z");
        home = TO.to_owned();
    }
    let mut objects = Objects::new();
    objects.insert(
        META.to_owned(),
        object(&meta.to_string(), "application/json"),
    );
    for key in NEIGHBOURS {
        objects.insert(key.to_owned(), object("theirs", "text/plain"));
    }
    let mut put = |key: &str, text: &str| {
        let key = key.replacen("users/a", &home, 1);
        objects.insert(key, object(text, "application/json"));
    };
    put(CONFIG, "c1\n");
    put("users/a/skills/s/SKILL.md", "s1\n");
    put("users/a/workspace/w", "w1\n");
    put(LOG, &format!("{}\n", message("m1")));
    objects
}

/// The names of what lies there.
pub fn contents() -> BTreeSet<String> {
    ["c1", "s1", "w1", "m1"].map(str::to_owned).into()
}

pub fn get(store: &dyn Store, key: &str) -> Result<Option<Blob>, Error> {
    let get = Request::Get(GetRequest {
        key: key.to_owned(),
        range: Range::Whole,
        kind: BodyKind::Text,
    });
    match store.read(vec![get]).remove(0) {
        Ok(Answer::Blob(blob)) => Ok(blob),
        Ok(_) => Ok(None),
        Err(error) => Err(error.about(key)),
    }
}

fn meta(store: &dyn Store) -> Result<Value, Error> {
    let blob = get(store, META)?.ok_or_else(|| Error::not_found("meta.json is gone"))?;
    serde_json::from_slice(blob.body.as_bytes()).map_err(|error| Error::invalid(error.to_string()))
}

/// Where the user stands, `active` without a word about it.
pub fn state(store: &dyn Store) -> Result<String, Error> {
    let meta = meta(store)?;
    Ok(meta["state"].as_str().unwrap_or("active").to_owned())
}

/// Every object below a prefix but what is derived.
fn below(store: &dyn Store, prefix: &str) -> Result<Vec<(String, Blob)>, String> {
    let list = Request::List(ListRequest {
        prefix: prefix.to_owned(),
        ..ListRequest::default()
    });
    let Ok(Answer::Listing(listing)) = store.read(vec![list]).remove(0) else {
        return Err(format!("no list of {prefix}"));
    };
    let mut found = Vec::new();
    for entry in listing.entries {
        if entry.key == META || entry.key.ends_with("metadata.json") {
            continue;
        }
        let blob = get(store, &entry.key).map_err(|error| error.message)?;
        found.extend(blob.map(|blob| (entry.key, blob)));
    }
    Ok(found)
}

/// The names in every object below these prefixes, which keep what they were written with.
fn names(store: &dyn Store, prefixes: &[&str]) -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    for prefix in prefixes {
        for (key, blob) in below(store, prefix)? {
            let is_plain = !key.contains("/sessions/");
            let kept = blob.stat.metadata.iter().any(|(name, _)| name == "kept");
            let is_json = blob.stat.content_type.as_deref() == Some("application/json");
            if is_plain && !(kept && is_json) {
                return Err(format!("{key} has lost its metadata: {:?}", blob.stat));
            }
            let text = String::from_utf8_lossy(blob.body.as_bytes()).into_owned();
            names.extend(
                text.lines()
                    .map(|line| match serde_json::from_str::<Value>(line) {
                        Ok(message) if is_plain => message.to_string(),
                        Ok(message) => message["id"].as_str().unwrap_or("no id").to_owned(),
                        Err(_) => line.to_owned(),
                    }),
            );
        }
    }
    Ok(names)
}

pub fn look(store: &dyn Store) -> Result<View, String> {
    for key in NEIGHBOURS {
        let theirs = get(store, key).map_err(|error| error.message)?;
        if theirs.is_none_or(|blob| blob.body.as_bytes() != b"theirs") {
            return Err(format!("{key}, another user's, was touched"));
        }
    }
    let meta = meta(store).map_err(|error| error.message)?;
    let to = meta["to"].as_str().unwrap_or_default();
    let copies = format!("{to}/");
    let (standing, prefixes): (_, Vec<&str>) = match meta["state"].as_str().unwrap_or("active") {
        "active" | "copying" => (Standing::Here, vec!["users/a/"]),
        "emptying" | "restoring" => (Standing::Between, vec!["users/a/", &copies]),
        "deleted" => (Standing::Away, vec![&copies]),
        _ => (Standing::Gone, Vec::new()),
    };
    if standing == Standing::Here {
        check_once(store)?;
    }
    Ok(View {
        standing,
        sure: names(store, &prefixes)?,
        maybe: BTreeSet::new(),
    })
}

/// No message twice, and nothing beside what is the same.
fn check_once(store: &dyn Store) -> Result<(), String> {
    let request = HistoryRequest {
        home: Home {
            system: "moltbot".to_owned(),
            id: "a".to_owned(),
        },
        session_key: "main".to_owned(),
        limit: None,
        before: None,
        tier: None,
        now_ms: None,
    };
    let answer = history(store, &request).map_err(|error| error.message)?;
    let ids: Vec<_> = answer.messages.iter().map(|message| &message.id).collect();
    let once: BTreeSet<_> = ids.iter().collect();
    if once.len() != ids.len() {
        return Err(format!("messages twice: {ids:?}"));
    }
    let all = below(store, "users/a/")?;
    for (key, blob) in &all {
        let path = key
            .strip_prefix(BESIDE)
            .and_then(|rest| rest.split_once('/'));
        let Some((_, path)) = path else { continue };
        let is_same = |(other, there): &&(String, Blob)| {
            *other == format!("users/a/{path}") && there.body.as_bytes() == blob.body.as_bytes()
        };
        if all.iter().any(|it| is_same(&it)) {
            return Err(format!("{key} is what lies in its place"));
        }
    }
    Ok(())
}

pub fn finish(store: &dyn Store) -> Result<(), String> {
    let state = state(store).map_err(|error| error.message)?;
    if !["active", "deleted", "purged"].contains(&state.as_str()) {
        return Err(format!("in the end the user is {state}"));
    }
    let left = below(store, "deleted/a/")?;
    match left.first() {
        Some((key, _)) if state == "purged" => Err(format!("purged, and {key} is left")),
        _ => Ok(()),
    }
}
