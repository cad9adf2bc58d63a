//! Truncation: policies as data, and what they leave of a set of files. Pure.
//!
//! [`policy`] says what may be said, [`budget`] shares the limits out among files, [`cut`] shortens one
//! text, [`measure`] counts in a unit. Nothing is cut without a marker in the text and a [`Cut`].

pub mod budget;
pub mod cut;
pub mod marker;
pub mod measure;
pub mod policy;

use serde::{Deserialize, Serialize};

pub use measure::Unit;
pub use policy::Policy;

/// Why something was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CutRule {
    ReadLimit,
    FileLimit,
    DailyLimit,
    DailyFiles,
    DailyTotalLimit,
    TotalLimit,
}

/// Bytes of the object that were kept: from `start_bytes` up to, not including, `end_bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct KeptRange {
    pub start_bytes: u64,
    pub end_bytes: u64,
}

/// Something that was left out, and what was kept instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Cut {
    pub key: String,
    pub rule: CutRule,
    pub unit: Unit,
    pub limit: u64,
    /// What the limit saw, in units.
    pub total: u64,
    /// What of it is in the text, in units, without the marker.
    pub kept: u64,
    pub ranges: Vec<KeptRange>,
}
