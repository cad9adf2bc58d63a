//! `haversack:core/memory`: what an agent remembers. The shapes are those of `wit/core/memory.wit`; where
//! it lies in each system stands in a file of its own.

mod gsv;

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

/// Append a section to a day's file. `invalid` for blank text or a bad moment, `too-large` over a limit,
/// `conflict` after many tries; nothing was written then.
pub fn append(store: &dyn Store, request: &AppendRequest) -> Result<AppendAnswer> {
    let system = System::parse(&request.home.system)?;
    require(system, Concept::Memory)?;
    gsv::append(store, request)
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

/// Long-term memory and the newest days. A file that cannot be read fails the call.
pub fn snapshot(store: &dyn Store, request: &SnapshotRequest) -> Result<SnapshotAnswer> {
    let system = System::parse(&request.home.system)?;
    require(system, Concept::MemorySnapshot)?;
    gsv::snapshot(store, request)
}
