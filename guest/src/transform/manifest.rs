//! The manifest of a prompt: what went in, in order, with hashes, sizes and cuts. Pure.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::truncate::Cut;
use crate::types::Home;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    Normal,
    Bootstrap,
}

/// Whether a section is expected to change from call to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stability {
    Stable,
    Volatile,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Section {
    pub title: String,
    #[serde(default)]
    pub key: Option<String>,
    /// SHA-256 of the section as it stands in the text, in hexadecimal.
    pub hash: String,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    /// The content before any cut, and in the text, markers included.
    pub bytes_before: u64,
    pub bytes_after: u64,
    pub tokens: u64,
    pub stability: Stability,
    #[serde(default)]
    pub cuts: Vec<Cut>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Manifest {
    pub home: Home,
    pub session_key: String,
    pub main: bool,
    pub mode: Mode,
    pub today: String,
    pub yesterday: String,
    pub policy: String,
    pub hash: String,
    pub length_bytes: u64,
    pub tokens: u64,
    /// How much of the text stands before the first volatile section.
    pub stable_bytes: u64,
    #[serde(default)]
    pub sections: Vec<Section>,
}

/// SHA-256 in lower-case hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
