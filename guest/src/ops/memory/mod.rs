//! `haversack:core/memory`: what an agent remembers. The shapes are those of `wit/core/memory.wit`; where
//! it lies in each system stands in a file of its own.

mod day;
mod gsv;
pub(in crate::ops) mod hi_boss;
mod text;

use serde::{Deserialize, Serialize};

use crate::layout::System;
use crate::layout::concept::{Concept, require};
use crate::ops::prompt::Budget;
use crate::store::{Metered, Store};
use crate::transform::truncate::Cut;
use crate::types::{Cost, Home, Problem, Result};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AppendRequest {
    pub home: Home,
    pub request_id: String,
    pub at_ms: u64,
    pub utc_offset_minutes: i32,
    pub text: String,
    #[serde(default)]
    pub allow_secrets: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AppendAnswer {
    pub key: String,
    pub version: String,
    pub repeat: bool,
    pub size_bytes: u64,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

/// Append to a day's file. `invalid` for blank text or a bad moment, `too-large` over a limit,
/// `conflict` after many tries; nothing was written then.
pub fn append(store: &dyn Store, request: &AppendRequest) -> Result<AppendAnswer> {
    let system = System::parse(&request.home.system)?;
    require(system, Concept::Memory)?;
    match system {
        System::HiBoss => hi_boss::append(store, request),
        _ => gsv::append(store, request),
    }
}

/// As [`append`], for a gsv agent, within a call that does more.
pub(crate) fn append_section(store: &Metered<'_>, request: &AppendRequest) -> Result<AppendAnswer> {
    gsv::append_section(store, request)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SnapshotRequest {
    pub home: Home,
    #[serde(default)]
    pub session_key: Option<String>,
    #[serde(default)]
    pub main_key: Option<String>,
    pub now_ms: u64,
    pub utc_offset_minutes: i32,
    #[serde(default)]
    pub days: Option<u32>,
    #[serde(default)]
    pub budget: Option<Budget>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Note {
    pub key: String,
    pub date: Option<String>,
    pub version: String,
    pub text: String,
    pub size_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SnapshotAnswer {
    pub notes: Vec<Note>,
    pub text: String,
    pub cuts: Vec<Cut>,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

/// Long-term memory and the newest days. A file of gsv that cannot be read fails the call.
pub fn snapshot(store: &dyn Store, request: &SnapshotRequest) -> Result<SnapshotAnswer> {
    let system = System::parse(&request.home.system)?;
    require(system, Concept::MemorySnapshot)?;
    match system {
        System::HiBoss => hi_boss::snapshot(store, request),
        _ => gsv::snapshot(store, request),
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ChangeAnswer {
    pub key: String,
    pub version: String,
    pub changed: bool,
    pub repeat: bool,
    pub size_bytes: u64,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReadAnswer {
    pub key: String,
    pub version: String,
    pub text: String,
    pub size_bytes: u64,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WriteRequest {
    pub home: Home,
    pub request_id: String,
    pub text: String,
    #[serde(default)]
    pub version: Option<String>,
    #[serde(default)]
    pub allow_secrets: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PromoteRequest {
    pub home: Home,
    pub request_id: String,
    pub date: String,
    #[serde(default)]
    pub lines: Vec<u32>,
    #[serde(default)]
    pub version: Option<String>,
    #[serde(default)]
    pub allow_secrets: bool,
}

/// Which days go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pruned {
    Before(String),
    KeepDays(u32),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PruneRequest {
    pub home: Home,
    pub request_id: String,
    pub pruned: Pruned,
    pub now_ms: u64,
    pub utc_offset_minutes: i32,
    #[serde(default)]
    pub dry_run: bool,
    #[serde(default)]
    pub continue_from: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PrunedDay {
    pub date: String,
    pub key: String,
    pub size_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PruneAnswer {
    pub before: String,
    pub days: Vec<PrunedDay>,
    pub problems: Vec<Problem>,
    pub continue_from: Option<String>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BackupFile {
    pub key: String,
    pub size_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BackupAnswer {
    pub files: Vec<BackupFile>,
    pub problems: Vec<Problem>,
    pub continue_from: Option<String>,
    pub cost: Cost,
}

/// Make the layout. Errors: `unsupported` but for hi-boss, and the store's.
pub fn ensure(store: &dyn Store, home: &Home, request_id: &str) -> Result<ChangeAnswer> {
    require(System::parse(&home.system)?, Concept::Curation)?;
    hi_boss::ensure(store, home, request_id)
}

/// A file as it stands. `not-found` where there is none.
pub fn read(store: &dyn Store, home: &Home, date: Option<&str>) -> Result<ReadAnswer> {
    require(System::parse(&home.system)?, Concept::Curation)?;
    hi_boss::read(store, home, date)
}

/// Write long-term memory whole. `conflict` at another version, `invalid` for what looks like a secret.
pub fn write(store: &dyn Store, request: &WriteRequest) -> Result<ChangeAnswer> {
    require(System::parse(&request.home.system)?, Concept::Curation)?;
    hi_boss::write(store, request)
}

/// Append lines of a day to long-term memory. `invalid` for lines that cannot go, `not-found` without the
/// day's file, `conflict` at another version of it.
pub fn promote(store: &dyn Store, request: &PromoteRequest) -> Result<ChangeAnswer> {
    require(System::parse(&request.home.system)?, Concept::Curation)?;
    hi_boss::promote(store, request)
}

/// Delete files of old days. `invalid` for a rule that would take today's.
pub fn prune(store: &dyn Store, request: &PruneRequest) -> Result<PruneAnswer> {
    require(System::parse(&request.home.system)?, Concept::Pruning)?;
    hi_boss::prune(store, request)
}

/// The files of a backup, a page of them.
pub fn backup_files(
    store: &dyn Store,
    home: &Home,
    continue_from: Option<&str>,
) -> Result<BackupAnswer> {
    let system = System::parse(&home.system)?;
    require(system, Concept::Backup)?;
    // A backup of memory alone: other systems have other backups.
    require(system, Concept::Curation)?;
    hi_boss::backup_files(store, home, continue_from)
}
