//! What a reader of a session key sees at one moment: every session it had, archived or live, message by
//! message. Shared by the scenarios of sessions and of compactions; changes nothing.

use std::collections::BTreeSet;

use haversack_core::format::live_log::{SessionLines, What, parse};
use haversack_core::format::session_state::SessionState;
use haversack_core::layout::log::LogKeys;
use haversack_core::ops::sessions::state::{Owner, load};
use haversack_core::ops::sessions::{
    ContextAnswer, ContextRequest, HistoryRequest, SessionMessage, TranscriptRequest, context,
    history, transcript,
};
use haversack_core::protocol::log::{Log, ReadOptions};
use haversack_core::store::{
    Answer, BodyKind, GetRequest, ListRequest, Metered, Range, Request, Store,
};
use haversack_core::types::{Error, ErrorCode, Home, Result as CoreResult};

pub const KEY: &str = "agent:hera:main";
pub const SEED: &str = "0123456789abcdef-seed";

pub fn home() -> Home {
    Home {
        system: "gsv".to_owned(),
        id: "hera".to_owned(),
    }
}

/// A message of this name; it shows a medium where it is given the key of one.
pub fn says(name: &str, medium: Option<&str>) -> String {
    let content = match medium {
        None => format!("\"of {name}\""),
        Some(key) => format!(r#"[{{"type":"image","r2Key":"{key}","mimeType":"image/png"}}]"#),
    };
    format!(r#"{{"says":"{name}","role":"user","content":{content}}}"#)
}

/// The name of a message; the message itself where it has none.
pub fn name_of(json: &str) -> String {
    let after = json.split("\"says\":\"").nth(1);
    let name = after.and_then(|rest| rest.split('"').next());
    name.unwrap_or(json).to_owned()
}

fn said(error: Error) -> String {
    format!("{:?}: {}", error.code, error.message)
}

/// The state record, where the key has a session.
pub fn state(store: &dyn Store) -> Result<Option<SessionState>, String> {
    let read = owner().and_then(|owner| load(&Metered::new(store), &owner));
    read.map_err(said)
}

fn owner() -> CoreResult<Owner> {
    Owner::of(&home(), KEY)
}

/// The keys below `prefix`.
pub fn keys(store: &dyn Store, prefix: &str) -> Result<Vec<String>, String> {
    let list = Request::List(ListRequest {
        prefix: prefix.to_owned(),
        ..ListRequest::default()
    });
    match store.read(vec![list]).remove(0) {
        Ok(Answer::Listing(listing)) => {
            Ok(listing.entries.into_iter().map(|entry| entry.key).collect())
        }
        Ok(_) => Err(format!("{prefix}: no listing")),
        Err(error) => Err(error.message),
    }
}

/// What the agent remembers, of all days.
pub fn memories(store: &dyn Store) -> Result<String, String> {
    let mut text = String::new();
    for key in keys(store, "agents/hera/memory/")? {
        let get = Request::Get(GetRequest {
            key,
            range: Range::Whole,
            kind: BodyKind::Text,
        });
        if let Ok(Answer::Blob(Some(blob))) = store.read(vec![get]).remove(0) {
            text.push_str(&String::from_utf8_lossy(blob.body.as_bytes()));
        }
    }
    Ok(text)
}

/// The messages of the live session, or of the log of one that is over.
pub fn live(store: &dyn Store, session_id: Option<&str>) -> Result<Vec<SessionMessage>, String> {
    let request = HistoryRequest {
        home: home(),
        session_key: KEY.to_owned(),
        session_id: session_id.map(str::to_owned),
        count: Some(1_000),
        before: None,
    };
    let page = match history(store, &request) {
        Err(error) if error.code == ErrorCode::NotFound => return Ok(Vec::new()),
        answer => answer.map_err(said)?,
    };
    match page.problems.is_empty() && page.before.is_none() {
        true => Ok(page.messages),
        false => Err(format!("the live log has problems: {:?}", page.problems)),
    }
}

/// What a model is given now.
pub fn given(store: &dyn Store) -> Result<ContextAnswer, String> {
    let request = ContextRequest {
        home: home(),
        session_key: KEY.to_owned(),
    };
    let answer = context(store, &request).map_err(said)?;
    match answer.problems.is_empty() {
        true => Ok(answer),
        false => Err(format!("the context has problems: {:?}", answer.problems)),
    }
}

/// The messages of an archived session; none where it has no archive.
pub fn archived(store: &dyn Store, session_id: &str) -> Result<Option<Vec<String>>, String> {
    let request = TranscriptRequest {
        home: home(),
        session_id: session_id.to_owned(),
        parts: false,
        cursor: None,
        limit: None,
    };
    match transcript(store, &request) {
        Ok(page) if page.problems.is_empty() && page.next.is_none() => {
            Ok(Some(page.messages.into_iter().map(|m| m.json).collect()))
        }
        Ok(page) => Err(format!("the archive has problems: {:?}", page.problems)),
        Err(error) if error.code == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(said(error)),
    }
}

/// The requests whose compactions stand in the log of the session of now.
pub fn compactions(store: &dyn Store) -> Result<Vec<String>, String> {
    let Some(state) = state(store)? else {
        return Ok(Vec::new());
    };
    let read = with_log(store, &state.session_id, |log| log.read(&WHOLE));
    let page = read.map_err(said)?;
    let whats = page.entries.iter().map(|entry| parse(&entry.content));
    let requests = whats.flatten().filter_map(|line| match line.what {
        What::Compaction(compaction) => compaction.request,
        _ => None,
    });
    Ok(requests.collect())
}

/// More than a run of the simulation writes.
const WHOLE: ReadOptions = ReadOptions {
    entries_max: 1_000,
    bytes_max: 8 << 20,
    before: None,
};

fn with_log<T>(
    store: &dyn Store,
    session_id: &str,
    read: impl FnOnce(&Log<'_>) -> CoreResult<T>,
) -> CoreResult<T> {
    let metered = Metered::new(store);
    let keys: LogKeys = owner()?.log_keys(session_id)?;
    read(&Log {
        store: &metered,
        keys: &keys,
        format: &SessionLines,
    })
}

/// Names of messages that came to the log of a session after its end, of appends that nobody was told of.
pub fn late(store: &dyn Store, session_id: &str) -> Result<Vec<String>, String> {
    let read = with_log(store, session_id, |log| {
        let page = log.read(&WHOLE)?;
        let whats = page.entries.iter().map(|entry| parse(&entry.content));
        let whats: Vec<What<'_>> = whats.flatten().map(|line| line.what).collect();
        let is_open = whats.iter().any(|what| matches!(what, What::Open(_)));
        let is_closed = whats.iter().any(|what| matches!(what, What::Close));
        if is_open && !is_closed {
            return Ok(Vec::new());
        }
        let segments = log.leftover()?.late;
        let entries = log.entries_of(&segments)?;
        let lines = entries.into_iter().flat_map(|(_, entries)| entries);
        Ok(lines
            .map(|entry| name_of(&String::from_utf8_lossy(&entry.bytes)))
            .collect())
    });
    read.map_err(said)
}

/// Everything that was said under the key.
#[derive(Default)]
pub struct Said {
    /// In order, archives first, each message where it belongs.
    pub names: Vec<String>,
    /// Those of `names` that an archive holds.
    pub archived: BTreeSet<String>,
    /// Sessions that have an archive.
    pub archives: Vec<String>,
    /// How many of `names` the session of now holds.
    pub live: usize,
    /// What is only on its way, and told to nobody.
    pub late: Vec<String>,
}

/// Read all of it.
pub fn everything(store: &dyn Store) -> Result<Said, String> {
    let mut said = Said::default();
    let Some(state) = state(store)? else {
        return Ok(said);
    };
    for session in &state.previous {
        let late = late(store, session)?;
        match archived(store, session)? {
            Some(lines) => {
                let names = lines.iter().map(|json| name_of(json));
                said.names.extend(names.clone());
                said.archived.extend(names);
                said.archives.push(session.clone());
            }
            None => {
                let messages = live(store, Some(session))?;
                let names = messages.iter().map(|message| name_of(&message.json));
                said.names.extend(names.filter(|name| !late.contains(name)));
            }
        }
        said.late.extend(late);
    }
    let messages = live(store, None)?;
    said.live = messages.len();
    let names = messages.iter().map(|message| name_of(&message.json));
    said.names.extend(names);
    Ok(said)
}
