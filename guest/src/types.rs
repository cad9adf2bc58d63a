//! The types that every export shares, as in `wit/core/types.wit`. Knows no store and no system.
//!
//! Serde names are those of the WIT: the JSON form of a call is the same on every host.

use serde::{Deserialize, Serialize};

/// Whose state a call is about, such as `gsv:hera`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Home {
    pub system: String,
    pub id: String,
}

/// One conversation of a home, by its routing key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Session {
    pub home: Home,
    pub session_key: String,
}

/// Why a call failed, and so what helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorCode {
    Invalid,
    NotFound,
    Unsupported,
    Conflict,
    TooLarge,
    Denied,
    Unavailable,
    Other,
}

/// The one error that exports answer with. `message` names the thing, the rule and the way out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Error {
    pub code: ErrorCode,
    pub message: String,
    pub key: Option<String>,
    pub retry_after_ms: Option<u32>,
    pub current: Option<String>,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            key: None,
            retry_after_ms: None,
            current: None,
        }
    }

    /// The arguments, or an object, break a rule that `message` states.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Invalid, message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unsupported, message)
    }

    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::TooLarge, message)
    }

    /// Name the object that the failure is about.
    pub fn at(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// What a call cost at the store: waves are waited for, requests are billed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Cost {
    pub waves: u32,
    pub requests: u32,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    Unreadable,
    Repaired,
    Truncated,
    Skipped,
    NearLimit,
}

/// Something a person should know although the call succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Problem {
    pub kind: ProblemKind,
    pub key: String,
    /// Counted from 1, in the object.
    pub line: Option<u32>,
    pub message: String,
}

impl Problem {
    pub fn new(kind: ProblemKind, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind,
            key: key.into(),
            line: None,
            message: message.into(),
        }
    }

    pub fn on_line(mut self, line: u32) -> Self {
        self.line = Some(line);
        self
    }
}
