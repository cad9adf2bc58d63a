//! `haversack:core/sessions`: what agents and users said to each other, live and archived. The shapes are
//! those of `wit/core/sessions.wit`, which is the manual; one file beside this does one thing each.

mod append;
mod archived;
mod listing;
pub mod live;
mod mirror;
pub mod parts;
mod read;
mod reset;
pub mod state;
mod status;
mod transcript;

use serde::{Deserialize, Serialize};

use crate::layout::System;
use crate::layout::concept::{Concept, require};
use crate::store::Store;
use crate::transform::reset_policy::ResetPolicy;
use crate::types::{Cost, Home, Problem, Result};

/// A record that a caller gives.
macro_rules! request {
    ($name:ident { $($(#[$meta:meta])* $member:ident: $type:ty),+ $(,)? }) => {
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct $name { $($(#[$meta])* pub $member: $type),+ }
    };
}

/// A record that is answered.
macro_rules! answer {
    ($name:ident { $($member:ident: $type:ty),+ $(,)? }) => {
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub struct $name { $(pub $member: $type),+ }
    };
}

/// Words of the contract.
macro_rules! words {
    ($name:ident { $($case:ident),+ $(,)? }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name { $($case),+ }
    };
}

request!(AppendRequest {
    home: Home,
    session_key: String,
    request_id: String,
    seed: String,
    now_ms: u64,
    messages: Vec<String>,
});
answer!(AppendAnswer {
    session_id: String,
    ids: Vec<String>,
    repeat: bool,
    problems: Vec<Problem>,
    cost: Cost,
});

request!(MirrorRequest {
    home: Home,
    session_key: String,
    session_id: String,
    first: u64,
    #[serde(default)]
    messages: Vec<String>,
    now_ms: u64,
});
answer!(MirrorAnswer {
    session_id: String,
    next: u64,
    repeat: bool,
    problems: Vec<Problem>,
    cost: Cost,
});

request!(HistoryRequest {
    home: Home,
    session_key: String,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    count: Option<u32>,
    #[serde(default)]
    before: Option<String>,
});
answer!(SessionMessage {
    id: Option<String>,
    json: String,
    is_summary: bool,
});
answer!(HistoryAnswer {
    session_id: String,
    messages: Vec<SessionMessage>,
    before: Option<String>,
    bytes_ended: bool,
    problems: Vec<Problem>,
    cost: Cost,
});

request!(ContextRequest {
    home: Home,
    session_key: String,
});
words!(RepairKind {
    NoResult,
    LeftOut,
    Moved
});
answer!(Repair {
    kind: RepairKind,
    id: Option<String>,
});
answer!(ContextAnswer {
    session_id: String,
    messages: Vec<SessionMessage>,
    repairs: Vec<Repair>,
    estimated_tokens: u64,
    problems: Vec<Problem>,
    cost: Cost,
});

request!(StatusRequest {
    home: Home,
    session_key: String,
});
answer!(Counts {
    messages: u64,
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: u64,
});
words!(PendingKind { Reset, Compaction });
answer!(PendingStep {
    kind: PendingKind,
    request_id: String,
    at_ms: u64,
    stage: String,
});
answer!(StatusAnswer {
    session_id: String,
    previous: Vec<String>,
    epoch: u64,
    last_activity_ms: u64,
    has_messages: bool,
    counts: Counts,
    pending: Option<PendingStep>,
    cost: Cost,
});

request!(ListRequest {
    home: Home,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    limit: Option<u32>,
});
words!(SessionKind {
    Live,
    Archive,
    Part
});
words!(CountsFrom {
    State,
    Metadata,
    Content,
    Unknown
});
answer!(SessionItem {
    kind: SessionKind,
    key: String,
    session_key: Option<String>,
    session_id: String,
    part_ms: Option<u64>,
    at_ms: Option<u64>,
    size_bytes: u64,
    messages: Option<u64>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    total_tokens: Option<u64>,
    counts_from: CountsFrom,
});
answer!(ListAnswer {
    sessions: Vec<SessionItem>,
    next: Option<String>,
    problems: Vec<Problem>,
    cost: Cost,
});

request!(DueRequest {
    home: Home,
    #[serde(default)]
    session_key: Option<String>,
    policy: ResetPolicy,
    now_ms: u64,
    utc_offset_minutes: i32,
    #[serde(default)]
    cursor: Option<String>,
});
answer!(DueSession {
    session_key: String,
    session_id: String,
    last_activity_ms: u64,
});
answer!(DueAnswer {
    due: Vec<DueSession>,
    next: Option<String>,
    problems: Vec<Problem>,
    cost: Cost,
});

request!(ResetBeginRequest {
    home: Home,
    session_key: String,
    request_id: String,
    #[serde(default)]
    session_id: Option<String>,
    seed: String,
    now_ms: u64,
    #[serde(default)]
    utc_offset_minutes: i32,
    #[serde(default)]
    keep_media: Vec<String>,
    #[serde(default)]
    window_tokens: Option<u64>,
});
request!(ResetResumeRequest {
    home: Home,
    session_key: String,
    request_id: String,
    state: String,
    reply: String,
});
request!(ResetCommitRequest {
    home: Home,
    session_key: String,
    request_id: String,
    #[serde(default)]
    state: Option<String>,
});
words!(ResetStep {
    Nothing,
    Again,
    Ask,
    Commit,
    Done
});
answer!(ResetAnswer {
    step: ResetStep,
    request_id: String,
    session_id: Option<String>,
    archived_session_id: Option<String>,
    archive: Option<String>,
    messages: Option<u64>,
    ask: Option<String>,
    state: Option<String>,
    deleted_media: u64,
    problems: Vec<Problem>,
    cost: Cost,
});

request!(TranscriptRequest {
    home: Home,
    session_id: String,
    #[serde(default)]
    parts: bool,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    limit: Option<u32>,
});
answer!(TranscriptMessage {
    key: String,
    json: String,
    is_summary: bool,
});
answer!(TranscriptAnswer {
    messages: Vec<TranscriptMessage>,
    next: Option<String>,
    problems: Vec<Problem>,
    cost: Cost,
});

/// A function of the interface: its system is asked whether it has the concept, then gsv's code runs.
macro_rules! export {
    ($(#[$doc:meta])+ $name:ident($request:ty) -> $answer:ty, $concept:ident, $run:path) => {
        $(#[$doc])+
        pub fn $name(store: &dyn Store, request: &$request) -> Result<$answer> {
            require(System::parse(&request.home.system)?, Concept::$concept)?;
            $run(store, request)
        }
    };
}

export! {
    /// Append messages to the session that a key has now. `invalid` for what is no message, `too-large` over
    /// a limit; nothing was written then.
    append(AppendRequest) -> AppendAnswer, Sessions, append::append
}
export! {
    /// Take a page of a session that its host keeps itself. `invalid` for other content at a place that is held
    /// already, `conflict` for another session and for a gap; nothing was written then.
    mirror(MirrorRequest) -> MirrorAnswer, Sessions, mirror::mirror
}
export! {
    /// A page of messages from the end. `not-found` where there is no session.
    history(HistoryRequest) -> HistoryAnswer, Sessions, read::history
}
export! {
    /// The messages that a model gets now. `too-large` where a compaction is overdue.
    context(ContextRequest) -> ContextAnswer, Sessions, read::context
}
export! {
    /// What is known of a live session. `not-found` where there is none.
    status(StatusRequest) -> StatusAnswer, Sessions, status::status
}
export! {
    /// Live sessions, archives and parts, page by page.
    list(ListRequest) -> ListAnswer, Archives, listing::list
}
export! {
    /// The sessions that a policy says are to be reset.
    due(DueRequest) -> DueAnswer, SessionReset, status::due
}
export! {
    /// Begin a reset, or go on with the one that is pending.
    reset_begin(ResetBeginRequest) -> ResetAnswer, SessionReset, reset::begin
}
export! {
    /// Give the model's reply and get the next question.
    reset_resume(ResetResumeRequest) -> ResetAnswer, SessionReset, reset::resume
}
export! {
    /// Bring a reset to its end.
    reset_commit(ResetCommitRequest) -> ResetAnswer, SessionReset, reset::commit
}
export! {
    /// What a session said, from its archive and its parts. `not-found` where there is no archive.
    transcript(TranscriptRequest) -> TranscriptAnswer, Archives, transcript::transcript
}
