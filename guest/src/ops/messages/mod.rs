//! `haversack:core/messages`: what users and a gateway said to each other, in logs that no reset ends. The shapes
//! are those of `wit/core/messages.wit`, which is the manual; one file beside this does one thing each.

mod append;
mod history;
mod metadata;

use serde::{Deserialize, Serialize};

use crate::format::entries::JsonLines;
use crate::layout::System;
use crate::layout::concept::{Concept, require};
use crate::layout::log::LogKeys;
use crate::layout::moltbot::{Place, SessionKey, UserId};
use crate::protocol::log::Log;
use crate::store::Metered;
use crate::transform::tier::Tier;
use crate::types::{Cost, Home, Problem, Result};

pub use append::append;
pub use history::history;
pub use metadata::refresh;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AppendRequest {
    pub home: Home,
    pub session_key: String,
    pub messages: Vec<String>,
    #[serde(default)]
    pub tier: Option<Tier>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AppendAnswer {
    pub repeat: bool,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HistoryRequest {
    pub home: Home,
    pub session_key: String,
    #[serde(default)]
    pub limit: Option<u32>,
    #[serde(default)]
    pub before: Option<String>,
    #[serde(default)]
    pub tier: Option<Tier>,
    #[serde(default)]
    pub now_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ChatMessage {
    pub id: Option<String>,
    pub json: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HistoryAnswer {
    pub messages: Vec<ChatMessage>,
    pub before: Option<String>,
    pub limit: u32,
    pub ended_early: bool,
    pub skipped: u32,
    pub withheld: u32,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RefreshRequest {
    pub home: Home,
    pub session_key: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RefreshAnswer {
    pub created_ms: Option<u64>,
    pub updated_ms: Option<u64>,
    pub message_count: Option<u64>,
    pub size_bytes: u64,
    pub last_message_id: Option<String>,
    pub again: bool,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

/// Whose log, and where it lies.
struct Chat {
    user: UserId,
    session: SessionKey,
    keys: LogKeys,
}

impl Chat {
    fn of(home: &Home, session_key: &str) -> Result<Self> {
        require(System::parse(&home.system)?, Concept::Messages)?;
        let (user, session) = (UserId::parse(&home.id)?, SessionKey::parse(session_key)?);
        Ok(Self {
            keys: LogKeys::messages(&user, &session),
            user,
            session,
        })
    }

    fn log<'a>(&'a self, store: &'a Metered<'a>) -> Log<'a> {
        Log {
            store,
            keys: &self.keys,
            format: &JsonLines,
        }
    }

    fn metadata_key(&self) -> String {
        let (user, session) = (self.user.clone(), self.session.clone());
        Place::SessionMetadata { user, session }.key()
    }
}
