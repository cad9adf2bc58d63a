//! What may stand in a key: validated types, each with the rule of its spec page, and the trait that
//! the tables of places use. Knows no template and no store.

mod archive;
mod file;
mod gsv;
mod hi_boss;
mod log;
mod moltbot;
mod run_agent;
mod solven;
mod time;

pub use archive::{ArchiveName, PieceName};
pub use file::{PathTail, SkillName};
pub use gsv::{AgentId, EpochMs, MediaExtension, MediaId, SessionId, WorkspaceFile};
pub use hi_boss::AgentName;
pub use log::{LineNumber, SegmentHash, SegmentMs};
pub use moltbot::{DeletionTime, MoltbotSessionKey, MoltbotUserId};
pub use run_agent::{FactName, ProjectId, RunId, TaskId, TaskSlug, Timestamp};
pub use solven::{ThreadId, UserId};
pub use time::Date;

use super::System;
use super::key::quoted;
use super::pattern::KindInfo;
use crate::types::{Error, Result};

/// A type that stands in a key. Text in the key and value among a place's fields are the same unless
/// a type says otherwise.
pub trait Field: Sized {
    /// What messages call it: `agent id`.
    const WHAT: &'static str;
    /// The rule, for people.
    const RULE: &'static str;
    /// Whether it may hold slashes; such a field stands last.
    const TAIL: bool = false;

    /// From a value of a caller's.
    fn from_value(value: &str) -> Result<Self>;
    fn to_value(&self) -> String;

    /// From its text in a key.
    fn from_key(text: &str) -> Result<Self> {
        Self::from_value(text)
    }
    fn to_key(&self) -> String {
        self.to_value()
    }

    /// Whether [`Field::from_key`] succeeds, without an error's text where a type can spare it.
    fn accepts_key(text: &str) -> bool {
        Self::from_key(text).is_ok()
    }

    /// The error that states the rule.
    fn refuse(value: &str) -> Error {
        Error::invalid(format!(
            "invalid {} {}: {}",
            Self::WHAT,
            quoted(value),
            Self::RULE
        ))
    }
}

/// A newtype over text: name, what messages call it, its rule, and the function that knows it.
macro_rules! text_field {
    ($(#[$meta:meta])* $name:ident, $what:literal, $rule:literal, $accepts:expr) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The rule, for people.
            pub const RULE: &'static str = $rule;

            /// Refuses what breaks the rule, and states it.
            pub fn parse(text: &str) -> $crate::types::Result<Self> {
                if <Self as $crate::layout::field::Field>::accepts_key(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(<Self as $crate::layout::field::Field>::refuse(text))
                }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl $crate::layout::field::Field for $name {
            const WHAT: &'static str = $what;
            const RULE: &'static str = $rule;

            fn from_value(value: &str) -> $crate::types::Result<Self> {
                Self::parse(value)
            }

            fn to_value(&self) -> String {
                self.0.clone()
            }

            fn accepts_key(text: &str) -> bool {
                let accepts: fn(&str) -> bool = $accepts;
                accepts(text)
            }
        }
    };
}
pub(crate) use text_field;

/// `[A-Za-z0-9][A-Za-z0-9_-]*`, at most so many bytes: the shape of most ids.
fn is_plain_id(text: &str, bytes_max: usize) -> bool {
    text.len() <= bytes_max
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Exactly `count` digits.
fn are_digits(text: &str, count: usize) -> bool {
    text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The fields that a caller gave for a kind, checked to be the ones it has.
pub(super) struct Values<'a> {
    system: System,
    kinds: &'static [KindInfo],
    kind: &'a str,
    fields: &'a [(String, String)],
}

impl<'a> Values<'a> {
    pub(super) fn new(
        system: System,
        kinds: &'static [KindInfo],
        kind: &'a str,
        fields: &'a [(String, String)],
    ) -> Result<Self> {
        let values = Self {
            system,
            kinds,
            kind,
            fields,
        };
        let Some(info) = kinds.iter().find(|info| info.name == kind) else {
            return Err(values.unknown_kind());
        };
        for (index, (name, _)) in fields.iter().enumerate() {
            if !info.fields.iter().any(|field| field.name == name) {
                return Err(values.wrong(&format!("has no field {}", quoted(name)), info));
            }
            if fields.iter().take(index).any(|(other, _)| other == name) {
                return Err(values.wrong(&format!("has field {name} only once"), info));
            }
        }
        Ok(values)
    }

    pub(super) fn get<F: Field>(&self, name: &str) -> Result<F> {
        match self.fields.iter().find(|(other, _)| other == name) {
            Some((_, value)) => F::from_value(value),
            None => Err(Error::invalid(format!(
                "place {} of {} needs field {name}: {}",
                self.kind,
                self.system.name(),
                F::RULE
            ))),
        }
    }

    pub(super) fn unknown_kind(&self) -> Error {
        let names: Vec<_> = self.kinds.iter().map(|kind| kind.name).collect();
        Error::invalid(format!(
            "{} has no kind of place {}; it has {}",
            self.system.name(),
            quoted(self.kind),
            names.join(", ")
        ))
    }

    fn wrong(&self, what: &str, info: &KindInfo) -> Error {
        Error::invalid(format!(
            "place {} of {} {what}; its key is {}",
            self.kind,
            self.system.name(),
            info.template
        ))
    }
}
