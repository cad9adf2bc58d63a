//! What a host keeps between two calls of one compaction: where the cut is and how far the model has read,
//! never the messages. Knows no store.

use serde::{Deserialize, Serialize};

use super::{Session, Settings, Tier};
use crate::limits::COMPACTION_STATE_BYTES_MAX;
use crate::ops::sessions::state::Owner;
use crate::protocol::log::Position;
use crate::transform::compaction::Window;
use crate::types::{Error, ErrorCode, Result};

/// The number of this format; a higher one is refused.
pub const FORMAT: u32 = 1;

/// See the file's head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct State {
    pub format: u32,
    pub session: Session,
    pub session_id: String,
    pub window_tokens: u64,
    pub settings: Settings,
    pub now_ms: u64,
    pub utc_offset_minutes: i32,
    pub removed: Removed,
    /// The part of the last compaction before this one.
    pub last_part_ms: Option<u64>,
    /// The request of a commit that was given up and cannot be gone on with, because its messages changed.
    pub given_up: Option<String>,
    pub tier: Tier,
    /// Whether the model has been asked about everything, or is not asked at all.
    pub ready: bool,
    pub done: Done,
    /// Where the next question begins once this one is answered; none after the last.
    pub next: Option<Done>,
    /// Of everything before `done`.
    pub summary: Option<String>,
    /// Empty when there are none.
    pub memories: String,
}

/// The messages that are removed, as they were when it began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Removed {
    pub from: Mark,
    pub to: Mark,
    /// The first that is kept.
    pub end: Mark,
    pub messages: u64,
    /// Of their lines, so that a change is noticed.
    pub hash: u64,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mark {
    /// Empty on a line that another program wrote.
    pub id: String,
    pub position: String,
}

impl Mark {
    pub fn at(&self) -> Result<Position> {
        Position::parse(&self.position)
    }
}

/// How far the model has read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Done {
    pub messages: u64,
    /// The line at which the next question begins.
    pub position: String,
    /// In that message's text, as the model sees it.
    pub offset_bytes: usize,
}

/// Only the number, so that a newer state is told from a broken one.
#[derive(Deserialize)]
struct Formatted {
    format: u64,
}

impl State {
    /// Read a state of `session`.
    pub fn parse(session: &Session, text: &str) -> Result<Self> {
        let owner = session.owner()?;
        if text.len() > COMPACTION_STATE_BYTES_MAX {
            return Err(Error::too_large(format!(
                "the state has {} bytes, over {COMPACTION_STATE_BYTES_MAX}; pass what the step before answered",
                text.len()
            )));
        }
        let broken = |error: serde_json::Error| {
            Error::invalid(format!(
                "the state of the compaction cannot be read: {error}; pass what the step before answered, \
                 or begin again"
            ))
        };
        let formatted: Formatted = serde_json::from_str(text).map_err(broken)?;
        if formatted.format > u64::from(FORMAT) {
            return Err(Error::new(
                ErrorCode::Unsupported,
                format!(
                    "the state of the compaction has format {}, and this version knows up to {FORMAT}; go on \
                     with the haversack that began it, or begin again",
                    formatted.format
                ),
            ));
        }
        let state: Self = serde_json::from_str(text).map_err(broken)?;
        if state.owner()? != owner {
            return Err(Error::invalid(format!(
                "the state is of a compaction of {}, not of {}",
                state.session.session_key, session.session_key
            )));
        }
        Ok(state)
    }

    pub fn owner(&self) -> Result<Owner> {
        self.session.owner()
    }

    /// As text. `too-large` is a bug: everything in it is bounded.
    pub fn render(&self) -> Result<String> {
        let text = serde_json::to_string(self)
            .map_err(|error| Error::new(ErrorCode::Other, error.to_string()))?;
        match text.len() <= COMPACTION_STATE_BYTES_MAX {
            true => Ok(text),
            false => Err(Error::too_large(format!(
                "the state has {} bytes, over {COMPACTION_STATE_BYTES_MAX}",
                text.len()
            ))),
        }
    }

    pub fn window(&self) -> Result<Window> {
        Window::new(self.window_tokens)
    }
}
