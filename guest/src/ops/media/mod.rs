//! `haversack:core/media`: names and lifetimes of attachments. The shapes are those of
//! `wit/core/media.wit`; no bytes of an attachment pass through here.

mod discard;
mod hydrate;
mod plan;

use serde::{Deserialize, Serialize};

use crate::format::message::MediaKind;
use crate::layout::System;
use crate::layout::concept::{Concept, require};
use crate::layout::gsv::{AgentId, SessionKey, media_prefix};
use crate::layout::key::is_key;
use crate::limits::MEDIA_ARGUMENT_BYTES_MAX;
use crate::store::{Stat, Store, metadatum};
pub use crate::types::Session;
use crate::types::{Cost, Error, Problem, ProblemKind, Result};

/// What a block's `type` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Image,
    Audio,
    Video,
    Document,
}

impl From<MediaKind> for Kind {
    fn from(kind: MediaKind) -> Self {
        match kind {
            MediaKind::Image => Self::Image,
            MediaKind::Audio => Self::Audio,
            MediaKind::Video => Self::Video,
            MediaKind::Document => Self::Document,
        }
    }
}

impl From<Kind> for MediaKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Image => Self::Image,
            Kind::Audio => Self::Audio,
            Kind::Video => Self::Video,
            Kind::Document => Self::Document,
        }
    }
}

impl Session {
    /// The session key, where its system has media at all.
    fn key(&self) -> Result<SessionKey> {
        require(System::parse(&self.home.system)?, Concept::Media)?;
        let agent = AgentId::parse(&self.home.id)?;
        SessionKey::parse_of(&agent, &self.session_key)
    }
}

/// When a medium was uploaded: by the metadata of the reference; by the store's clock where they are gone, or
/// no number, which is a problem.
pub(super) fn uploaded_ms(key: &str, stat: &Stat, problems: &mut Vec<Problem>) -> u64 {
    let Some(value) = metadatum(&stat.metadata, "uploadedAt") else {
        return stat.modified_ms;
    };
    value.trim().parse().unwrap_or_else(|_| {
        let message = format!(
            "its metadata uploadedAt is {value:?}, and no number; the store's time was taken"
        );
        problems.push(Problem::new(ProblemKind::Repaired, key, message));
        stat.modified_ms
    })
}

/// Whether a key is one of the session's own media.
fn is_own(session: &SessionKey, key: &str) -> bool {
    key.starts_with(&media_prefix(session)) && is_key(key)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Size {
    Bytes(u64),
    Base64(Base64Length),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Base64Length {
    pub characters: u64,
    pub padding: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Item {
    pub mime_type: String,
    pub size: Size,
    pub filename: String,
    #[serde(default)]
    pub kind: Option<Kind>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Origin {
    pub session: Session,
    pub seed: String,
    pub uploaded_at_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Planned {
    pub key: String,
    pub content_type: String,
    pub metadata: Vec<(String, String)>,
    pub size_bytes: u64,
    pub kind: Kind,
    pub block: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlanAnswer {
    pub items: Vec<Planned>,
    pub problems: Vec<Problem>,
}

/// Plan inbound attachments. `too-large` over 25 MiB, `invalid` for what is no base64, type or seed.
pub fn plan(origin: &Origin, items: &[Item]) -> Result<PlanAnswer> {
    plan::attachments(origin, items)
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlannedBlock {
    pub content_index: u32,
    pub planned: Planned,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlanMessageAnswer {
    pub message: String,
    pub blocks: Vec<PlannedBlock>,
    pub problems: Vec<Problem>,
}

/// Plan what a message holds in base64, and answer the message without it.
pub fn plan_message(origin: &Origin, message: &str) -> Result<PlanMessageAnswer> {
    plan::message(origin, message)
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StoredBlock {
    pub message_index: u32,
    pub content_index: u32,
    pub key: String,
    pub kind: Kind,
    pub mime_type: String,
    pub size_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ChangedMessage {
    pub message_index: u32,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HydrateAnswer {
    pub blocks: Vec<StoredBlock>,
    pub changed: Vec<ChangedMessage>,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

/// Say what a model call has to fetch, with visible text where something is gone.
pub fn hydrate(store: &dyn Store, session: &Session, messages: &[String]) -> Result<HydrateAnswer> {
    hydrate::hydrate(store, session, messages)
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Named {
    pub messages: Vec<String>,
    pub keys: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DiscardRequest {
    pub session: Session,
    pub request_id: String,
    #[serde(default)]
    pub keep: Named,
    #[serde(default)]
    pub discard: Named,
    #[serde(default)]
    pub orphans_before_ms: Option<u64>,
    #[serde(default)]
    pub dry_run: bool,
    #[serde(default)]
    pub continue_from: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Medium {
    pub key: String,
    pub size_bytes: u64,
    pub uploaded_at_ms: Option<u64>,
    pub orphan: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DiscardAnswer {
    pub discarded: Vec<Medium>,
    pub kept: Vec<Medium>,
    pub problems: Vec<Problem>,
    pub continue_from: Option<String>,
    pub cost: Cost,
}

/// Delete media of a session, or say what would go.
pub fn discard(store: &dyn Store, request: &DiscardRequest) -> Result<DiscardAnswer> {
    discard::discard(store, request)
}

/// Refuse more than [`MEDIA_ARGUMENT_BYTES_MAX`] of texts.
fn check_bytes<'a>(what: &str, texts: impl IntoIterator<Item = &'a String>) -> Result<()> {
    let bytes: usize = texts.into_iter().map(String::len).sum();
    if bytes <= MEDIA_ARGUMENT_BYTES_MAX {
        return Ok(());
    }
    Err(Error::too_large(format!(
        "{what}: {bytes} bytes, over {MEDIA_ARGUMENT_BYTES_MAX}; pass fewer at once, and for base64 the \
         stand-in base64:{{characters}}:{{padding}}"
    )))
}
