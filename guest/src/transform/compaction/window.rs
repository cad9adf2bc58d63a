//! How much a model takes at once, and what a compaction makes of that: reserve, kept tail, chunk. Knows
//! no message.

use serde::{Deserialize, Serialize};

use crate::limits::{COMPACTION_KEEP_RECENT_TOKENS, COMPACTION_RESERVE_TOKENS, WINDOW_TOKENS_MIN};
use crate::types::{Error, Result};

/// What a caller may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Settings {
    pub enabled: bool,
    pub reserve_tokens: u64,
    pub keep_recent_tokens: u64,
    pub extract_memories: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            reserve_tokens: COMPACTION_RESERVE_TOKENS,
            keep_recent_tokens: COMPACTION_KEEP_RECENT_TOKENS,
            extract_memories: true,
        }
    }
}

/// A model's context window, in tokens; at least [`WINDOW_TOKENS_MIN`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window(u64);

impl Window {
    pub fn new(tokens: u64) -> Result<Self> {
        if tokens < WINDOW_TOKENS_MIN {
            return Err(Error::invalid(format!(
                "a context window of {tokens} tokens is too small to work in: give the model's own, \
                 at least {WINDOW_TOKENS_MIN}"
            )));
        }
        Ok(Self(tokens))
    }

    pub fn tokens(self) -> u64 {
        self.0
    }

    /// What a conversation may take: the window without the reserve; without its half, where the reserve
    /// would be larger than the window.
    pub fn usable_tokens(self, settings: &Settings) -> u64 {
        let reserve = match settings.reserve_tokens {
            reserve if self.0 < reserve => self.0 / 2,
            reserve => reserve,
        };
        self.0.saturating_sub(reserve)
    }

    /// What the kept tail may take: as the caller says, but never over half of what is usable, or the
    /// next message would call for a compaction again.
    pub fn keep_recent_tokens(self, settings: &Settings) -> u64 {
        settings
            .keep_recent_tokens
            .min(self.usable_tokens(settings) / 2)
    }

    /// What one chunk of the conversation may take of a request.
    pub fn chunk_tokens(self) -> u64 {
        self.0 / 4
    }

    /// A message over this many tokens is left out of a partial summary's request.
    pub fn oversize_tokens(self) -> u64 {
        self.0 / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_window() {
        let settings = Settings::default();
        for (window, usable, kept) in [
            (200_000, 180_000, 20_000),
            (60_000, 40_000, 20_000),
            (59_998, 39_998, 19_999),
            (20_001, 1, 0),
            (20_000, 0, 0),
            (19_999, 10_000, 5_000),
            (2_000, 1_000, 500),
        ] {
            let window = Window::new(window).unwrap();
            assert_eq!(window.usable_tokens(&settings), usable, "{window:?}");
            assert_eq!(window.keep_recent_tokens(&settings), kept, "{window:?}");
        }
        let error = Window::new(1_999).unwrap_err();
        assert!(error.message.contains("2000"), "{}", error.message);
    }
}
