//! The state record of a gsv session key, a documented extension of the reference's layout: which session
//! the key has now, what it has used, and what is pending for it. Knows no store and no layout.
//!
//! What cannot be read is an error that names the member, so that nothing is ever written over it. Members
//! that are not known are kept, behind the known ones.

#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::message::json::each_member;
use crate::limits::{REQUESTS_REMEMBERED, SESSIONS_REMEMBERED};
use crate::types::{Error, Result};

/// The number of this format; a higher one is refused.
pub const FORMAT: u64 = 1;

/// See the file's head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionState {
    /// The session that messages belong to now.
    pub session_id: String,
    /// Those before it, oldest first, at most [`SESSIONS_REMEMBERED`].
    pub previous: Vec<String>,
    /// How many sessions the key has had before.
    pub epoch: u64,
    /// The last activity that is known here; the log may know a later one.
    pub updated_ms: u64,
    /// Of this session.
    pub counters: Counters,
    /// The timestamp of the newest part; part times only grow.
    pub last_part_ms: u64,
    pub pending: Option<Pending>,
    /// The appends that earlier sessions ended with, by request id, oldest first: what of them is repeated
    /// now is known to be in an archive. At most [`REQUESTS_REMEMBERED`].
    pub requests: Vec<String>,
    /// Of a session that its host keeps itself: how many of its messages are counted. None of one that takes
    /// appends.
    pub mirrored: Option<u64>,
    /// JSON as it stands.
    pub unknown: Vec<(String, String)>,
}

/// What a session has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    pub messages: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub total_tokens: u64,
}

/// A sequence of writes that has begun and is not at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pending {
    Reset(PendingReset),
    Compaction(PendingCompaction),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingReset {
    pub request_id: String,
    pub old: String,
    pub new: String,
    /// When it began.
    pub at_ms: u64,
    /// Of the old session.
    pub last_activity_ms: u64,
    /// What the old session had used.
    pub counters: Counters,
    /// Keys of media that are not deleted.
    pub keep_media: Vec<String>,
    /// The part of a compaction that was given up, unless it comes to stand in the old log after all.
    pub given_up_part_ms: Option<u64>,
    pub stage: ResetStage,
}

/// How far a reset is known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResetStage {
    /// The key has its new session.
    Begun,
    /// The archive of the old one is verified.
    Archived,
    /// Memories are written and media deleted; the old log may be partly gone.
    Deleting,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingCompaction {
    pub request_id: String,
    /// Ids of the first and the last line that are removed.
    pub from_entry: String,
    pub to_entry: String,
    pub part_ms: u64,
    pub at_ms: u64,
    pub stage: CompactionStage,
}

/// How far a compaction's commit is known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompactionStage {
    Begun,
    /// The part is verified.
    Archived,
    /// The memories are written.
    Remembered,
}

impl Pending {
    pub fn request_id(&self) -> &str {
        match self {
            Self::Reset(reset) => &reset.request_id,
            Self::Compaction(compaction) => &compaction.request_id,
        }
    }
}

impl SessionState {
    /// The reset that is pending; none when there is none, or a compaction.
    pub fn pending_reset(&self) -> Option<&PendingReset> {
        match &self.pending {
            Some(Pending::Reset(reset)) => Some(reset),
            _ => None,
        }
    }

    pub fn pending_compaction(&self) -> Option<&PendingCompaction> {
        match &self.pending {
            Some(Pending::Compaction(compaction)) => Some(compaction),
            _ => None,
        }
    }

    /// Read the record of `key`, which messages name.
    pub fn parse(key: &str, bytes: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            refuse(
                key,
                &format!("is not UTF-8 from byte {} on", error.valid_up_to()),
            )
        })?;
        let members = Members::of(key, "", text.trim_start_matches('\u{feff}'))?;
        let format: u64 = members.needed("format")?;
        if format > FORMAT {
            return Err(Error::unsupported(format!(
                "{key} has format {format}, and this version knows up to {FORMAT}; use a newer haversack"
            ))
            .at(key));
        }
        let pending = match members.raw("pending") {
            None | Some("null") => None,
            Some(json) => Some(pending_of(key, json)?),
        };
        Ok(Self {
            session_id: members.needed("sessionId")?,
            previous: members.or_default("previous")?,
            epoch: members.or_default("epoch")?,
            updated_ms: members.or_default("updatedMs")?,
            counters: members.counters()?,
            last_part_ms: members.or_default("lastPartMs")?,
            pending,
            requests: members.or_default("requests")?,
            mirrored: members.or_default("mirrored")?,
            unknown: members.others(&KNOWN),
        })
    }

    /// As JSON, a member a line.
    pub fn render(&self) -> Vec<u8> {
        let mut object = Object::default();
        object.set("format", FORMAT);
        object.set("sessionId", self.session_id.as_str());
        object.set("previous", newest(&self.previous, SESSIONS_REMEMBERED));
        object.set("epoch", self.epoch);
        object.set("updatedMs", self.updated_ms);
        object.set_json("counters", self.counters.render());
        object.set("lastPartMs", self.last_part_ms);
        let pending = self.pending.as_ref().map(Pending::render);
        object.set_json("pending", pending.unwrap_or_else(|| "null".to_owned()));
        object.set("requests", newest(&self.requests, REQUESTS_REMEMBERED));
        if let Some(counted) = self.mirrored {
            object.set("mirrored", counted);
        }
        for (name, json) in &self.unknown {
            object.set_json(name, json.clone());
        }
        format!("{{\n  {}\n}}\n", object.0.join(",\n  ")).into_bytes()
    }
}

const KNOWN: [&str; 10] = [
    "format",
    "sessionId",
    "previous",
    "epoch",
    "updatedMs",
    "counters",
    "lastPartMs",
    "pending",
    "requests",
    "mirrored",
];

impl Counters {
    /// One message more, with what it used.
    pub fn add(&mut self, input_tokens: u64, output_tokens: u64, total_tokens: u64) {
        self.messages = self.messages.saturating_add(1);
        self.input_tokens = self.input_tokens.saturating_add(input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(total_tokens);
    }

    /// What others add up to, besides.
    pub fn add_all(&mut self, others: &Self) {
        self.messages = self.messages.saturating_add(others.messages);
        self.input_tokens = self.input_tokens.saturating_add(others.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(others.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(others.total_tokens);
    }

    fn render(self) -> String {
        let mut object = Object::default();
        object.set("messages", self.messages);
        object.set("inputTokens", self.input_tokens);
        object.set("outputTokens", self.output_tokens);
        object.set("totalTokens", self.total_tokens);
        object.inline()
    }
}

impl Pending {
    fn render(&self) -> String {
        let mut object = Object::default();
        match self {
            Self::Reset(reset) => {
                object.set("kind", "reset");
                object.set("requestId", reset.request_id.as_str());
                object.set("old", reset.old.as_str());
                object.set("new", reset.new.as_str());
                object.set("atMs", reset.at_ms);
                object.set("lastActivityMs", reset.last_activity_ms);
                object.set_json("counters", reset.counters.render());
                object.set("keepMedia", reset.keep_media.clone());
                if let Some(part_ms) = reset.given_up_part_ms {
                    object.set("givenUpPartMs", part_ms);
                }
                object.set("stage", reset.stage.name());
            }
            Self::Compaction(compaction) => {
                object.set("kind", "compaction");
                object.set("requestId", compaction.request_id.as_str());
                object.set("fromEntry", compaction.from_entry.as_str());
                object.set("toEntry", compaction.to_entry.as_str());
                object.set("partMs", compaction.part_ms);
                object.set("atMs", compaction.at_ms);
                object.set("stage", compaction.stage.name());
            }
        }
        object.inline()
    }
}

fn pending_of(key: &str, json: &str) -> Result<Pending> {
    let members = Members::of(key, "pending.", json)?;
    let kind: String = members.needed("kind")?;
    let stage: String = members.needed("stage")?;
    let unknown_stage = || {
        refuse(
            key,
            &format!("has `pending.stage` {stage:?}, which this version does not know"),
        )
    };
    match kind.as_str() {
        "reset" => Ok(Pending::Reset(PendingReset {
            request_id: members.needed("requestId")?,
            old: members.needed("old")?,
            new: members.needed("new")?,
            at_ms: members.needed("atMs")?,
            last_activity_ms: members.needed("lastActivityMs")?,
            counters: members.counters()?,
            keep_media: members.or_default("keepMedia")?,
            given_up_part_ms: members.or_default("givenUpPartMs")?,
            stage: ResetStage::of_name(&stage).ok_or_else(unknown_stage)?,
        })),
        "compaction" => Ok(Pending::Compaction(PendingCompaction {
            request_id: members.needed("requestId")?,
            from_entry: members.needed("fromEntry")?,
            to_entry: members.needed("toEntry")?,
            part_ms: members.needed("partMs")?,
            at_ms: members.needed("atMs")?,
            stage: CompactionStage::of_name(&stage).ok_or_else(unknown_stage)?,
        })),
        _ => Err(refuse(
            key,
            &format!("has `pending.kind` {kind:?}, which this version does not know"),
        )),
    }
}

/// The words of an enum, both ways.
macro_rules! names {
    ($name:ident { $($case:ident $word:literal),+ }) => {
        impl $name {
            pub const fn name(self) -> &'static str {
                match self { $(Self::$case => $word),+ }
            }

            fn of_name(name: &str) -> Option<Self> {
                [$(Self::$case),+].into_iter().find(|case| case.name() == name)
            }
        }
    };
}

names!(ResetStage { Begun "begun", Archived "archived", Deleting "deleting" });
names!(CompactionStage { Begun "begun", Archived "archived", Remembered "remembered" });

fn newest(ids: &[String], count: usize) -> Vec<String> {
    let over = ids.len().saturating_sub(count);
    ids.get(over..).unwrap_or_default().to_vec()
}

/// The members of an object as they stand.
struct Members<'a> {
    key: &'a str,
    /// What members are called in messages: the path to them.
    path: &'static str,
    all: Vec<(String, &'a str)>,
}

impl<'a> Members<'a> {
    fn of(key: &'a str, path: &'static str, json: &'a str) -> Result<Self> {
        let mut all: Vec<(String, &'a str)> = Vec::new();
        let mut repeated = None;
        each_member(json, |name, value| {
            if all.iter().any(|(there, _)| there == name) {
                repeated = Some(name.to_owned());
            }
            all.push((name.to_owned(), RawValue::get(value)));
        })
        .map_err(|error| refuse(key, &format!("is no session state: {path}{error}")))?;
        match repeated {
            Some(name) => Err(refuse(key, &format!("has `{path}{name}` twice"))),
            None => Ok(Self { key, path, all }),
        }
    }

    fn raw(&self, name: &str) -> Option<&'a str> {
        let found = self.all.iter().find(|(there, _)| there == name);
        found.map(|(_, json)| *json)
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let Some(json) = self.raw(name) else {
            return Ok(None);
        };
        let value = serde_json::from_str(json);
        value.map(Some).map_err(|error| {
            let shown: String = json.chars().take(40).collect();
            refuse(
                self.key,
                &format!("has `{}{name}` {shown}: {error}", self.path),
            )
        })
    }

    fn needed<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        self.read(name)?
            .ok_or_else(|| refuse(self.key, &format!("has no `{}{name}`", self.path)))
    }

    fn or_default<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T> {
        Ok(self.read(name)?.unwrap_or_default())
    }

    fn counters(&self) -> Result<Counters> {
        let Some(json) = self.raw("counters") else {
            return Ok(Counters::default());
        };
        let members = Members::of(self.key, "counters.", json)?;
        Ok(Counters {
            messages: members.or_default("messages")?,
            input_tokens: members.or_default("inputTokens")?,
            output_tokens: members.or_default("outputTokens")?,
            total_tokens: members.or_default("totalTokens")?,
        })
    }

    fn others(&self, known: &[&str]) -> Vec<(String, String)> {
        let others = self
            .all
            .iter()
            .filter(|(name, _)| !known.contains(&name.as_str()));
        others
            .map(|(name, json)| (name.clone(), (*json).to_owned()))
            .collect()
    }
}

/// An object that is being written.
#[derive(Default)]
struct Object(Vec<String>);

impl Object {
    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.set_json(name, value.into().to_string());
    }

    fn set_json(&mut self, name: &str, json: String) {
        self.0.push(format!("{}: {json}", Value::from(name)));
    }

    fn inline(&self) -> String {
        format!("{{{}}}", self.0.join(", "))
    }
}

fn refuse(key: &str, what: &str) -> Error {
    Error::invalid(format!(
        "{key} {what}; it was left as it is: mend it, or move it away and the next message begins a new session"
    ))
    .at(key)
}
