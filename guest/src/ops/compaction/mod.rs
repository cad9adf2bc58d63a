//! `haversack:core/compaction`: old messages of a live session become a summary, as a conversation with the
//! caller's model. The shapes are those of `wit/core/compaction.wit`.

mod ask;
mod begin;
mod commit;
mod conversation;
mod part;
mod state;

use serde::{Deserialize, Serialize};

use crate::layout::System;
use crate::layout::concept::{Concept, require};
use crate::ops::sessions::state::Owner;
use crate::store::Store;
use crate::transform::compaction as decide;
pub use crate::transform::compaction::Settings;
pub use crate::types::Session;
use crate::types::{Cost, Problem, Result};

impl Session {
    fn owner(&self) -> Result<Owner> {
        require(System::parse(&self.home.system)?, Concept::Compaction)?;
        Owner::of(&self.home, &self.session_key)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Conditions {
    pub session: Session,
    pub window_tokens: u64,
    #[serde(default)]
    pub system_tokens: u64,
    #[serde(default)]
    pub settings: Option<Settings>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Verdict {
    pub compact: bool,
    pub messages: u64,
    pub tokens: u64,
    pub reported: bool,
    pub usable_tokens: u64,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

/// Whether a session has grown so long that it should be compacted.
pub fn should_compact(store: &dyn Store, conditions: &Conditions) -> Result<Verdict> {
    begin::should_compact(store, conditions)
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BeginRequest {
    pub conditions: Conditions,
    #[serde(default)]
    pub force: bool,
    #[serde(default)]
    pub with_model: bool,
    pub now_ms: u64,
    pub utc_offset_minutes: i32,
}

/// What a summary was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    Full,
    Partial,
    Plain,
}

impl From<Tier> for decide::Tier {
    fn from(tier: Tier) -> Self {
        match tier {
            Tier::Full => Self::Full,
            Tier::Partial => Self::Partial,
            Tier::Plain => Self::Plain,
        }
    }
}

impl From<decide::Tier> for Tier {
    fn from(tier: decide::Tier) -> Self {
        match tier {
            decide::Tier::Full => Self::Full,
            decide::Tier::Partial => Self::Partial,
            decide::Tier::Plain => Self::Plain,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Question {
    pub prompt: String,
    pub tier: Tier,
    pub messages_done: u64,
    pub messages_total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Summary {
    pub text: String,
    pub memories: Option<String>,
    pub tier: Tier,
    pub messages: u64,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Next {
    Nothing(String),
    Ask(Question),
    Ready(Summary),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Step {
    pub next: Next,
    pub state: String,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

/// Decide what is removed, and ask about the first part of it.
pub fn begin(store: &dyn Store, request: &BeginRequest) -> Result<Step> {
    begin::begin(store, request)
}

/// The model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    Text(String),
    Failed(String),
}

/// Go on with the model's answer.
pub fn resume(store: &dyn Store, session: &Session, state: &str, reply: &Reply) -> Result<Step> {
    ask::resume(store, session, state, reply)
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CommitRequest {
    pub session: Session,
    pub state: String,
    pub request_id: String,
    pub now_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Committed {
    pub part_key: String,
    pub part_ms: u64,
    pub removed_messages: u64,
    pub summary_message: String,
    pub first_kept: String,
    pub first_kept_place: Option<u64>,
    pub memory_key: Option<String>,
    pub repeat: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CommitAnswer {
    pub committed: Option<Committed>,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

/// Archive, remember, publish.
pub fn commit(store: &dyn Store, request: &CommitRequest) -> Result<CommitAnswer> {
    commit::commit(store, request)
}
