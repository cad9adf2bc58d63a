//! What a tier allows: bytes and days, with the presets of moltbot's reference. Knows no user and no store.

use serde::{Deserialize, Serialize};

use crate::limits::HISTORY_DAYS_MAX;
use crate::types::{Error, Result};

const GB: u64 = 1_000_000_000;
const DAY_MS: u64 = 86_400_000;

/// None is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    #[serde(default)]
    pub storage_bytes: Option<u64>,
    #[serde(default)]
    pub history_days: Option<u32>,
}

/// A preset by name, or limits of the caller's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    Preset(String),
    Custom(Limits),
}

/// By name, smallest first.
pub const PRESETS: [(&str, Limits); 3] = [
    (
        "starter",
        Limits {
            storage_bytes: Some(GB),
            history_days: Some(30),
        },
    ),
    (
        "pro",
        Limits {
            storage_bytes: Some(10 * GB),
            history_days: None,
        },
    ),
    (
        "business",
        Limits {
            storage_bytes: Some(100 * GB),
            history_days: None,
        },
    ),
];

impl Tier {
    /// `invalid` for a name that no preset has, and for days that are not 1 to 36,525.
    pub fn limits(&self) -> Result<Limits> {
        let limits = match self {
            Self::Custom(limits) => *limits,
            Self::Preset(name) => {
                let mut presets = PRESETS.into_iter();
                let found = presets.find(|(preset, _)| preset == name);
                let (_, limits) = found.ok_or_else(|| {
                    let names = PRESETS.map(|(name, _)| name).join(", ");
                    Error::invalid(format!(
                        "there is no tier {name:?}; the presets are {names}, and `custom` takes limits of your own"
                    ))
                })?;
                limits
            }
        };
        match limits.history_days {
            Some(days) if days == 0 || days > HISTORY_DAYS_MAX => Err(Error::invalid(format!(
                "history-days is {days}; it must be 1 to {HISTORY_DAYS_MAX}, or none for no limit"
            ))),
            _ => Ok(limits),
        }
    }
}

impl Limits {
    /// What is left beside `used_bytes`, nothing where more is used; none without a limit.
    pub fn left_bytes(&self, used_bytes: u64) -> Option<u64> {
        Some(self.storage_bytes?.saturating_sub(used_bytes))
    }

    /// Whether so much more is too much; nothing more never is.
    pub fn is_over(&self, used_bytes: u64, more_bytes: u64) -> bool {
        let limit = self.storage_bytes.unwrap_or(u64::MAX);
        more_bytes > 0 && used_bytes.saturating_add(more_bytes) > limit
    }

    /// The oldest moment whose messages are shown; none without a limit.
    pub fn shown_from_ms(&self, now_ms: u64) -> Option<u64> {
        Some(now_ms.saturating_sub(u64::from(self.history_days?) * DAY_MS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_those_of_the_reference() -> Result<()> {
        for (name, storage_bytes, history_days) in [
            ("starter", 1_000_000_000, Some(30)),
            ("pro", 10_000_000_000, None),
            ("business", 100_000_000_000, None),
        ] {
            let limits = Tier::Preset(name.to_owned()).limits()?;
            assert_eq!(limits.storage_bytes, Some(storage_bytes));
            assert_eq!(limits.history_days, history_days);
        }
        for name in ["", "Starter", "free"] {
            let error = Tier::Preset(name.to_owned()).limits().unwrap_err();
            assert!(error.message.contains("starter, pro, business"));
        }
        Ok(())
    }

    #[test]
    fn days_have_edges() {
        let of = |history_days| {
            let limits = Limits {
                storage_bytes: None,
                history_days,
            };
            Tier::Custom(limits).limits().is_ok()
        };
        assert!(of(None) && of(Some(1)) && of(Some(36_525)));
        assert!(!of(Some(0)) && !of(Some(36_526)));
    }

    #[test]
    fn a_limit_may_be_reached_and_not_passed() {
        let limits = Limits {
            storage_bytes: Some(100),
            history_days: Some(2),
        };
        assert!(!limits.is_over(90, 10) && limits.is_over(90, 11) && limits.is_over(u64::MAX, 1));
        assert!(limits.is_over(100, 1) && !limits.is_over(101, 0));
        assert_eq!(limits.left_bytes(90), Some(10));
        assert_eq!(limits.left_bytes(101), Some(0));
        assert_eq!(limits.shown_from_ms(DAY_MS * 2 + 5), Some(5));
        assert_eq!(limits.shown_from_ms(5), Some(0));
        let none = Limits::default();
        assert!(!none.is_over(u64::MAX, u64::MAX));
        assert_eq!((none.left_bytes(1), none.shown_from_ms(1)), (None, None));
    }
}
