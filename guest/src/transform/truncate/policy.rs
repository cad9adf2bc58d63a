//! A truncation policy is data; the presets are policies like any other (spec: truncation). Pure.

use serde::{Deserialize, Serialize};

use super::measure::Unit;
use crate::layout::gsv::WorkspaceFile;
use crate::types::{Error, Result};

/// What of a text is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    HeadTail,
    NewestLines,
}

/// Who gives way when the total is short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spending {
    PromptOrder,
    OldestDailyFirst,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NameLimit {
    pub name: String,
    pub limit: u64,
}

/// Limits count a file's text in `unit`; none means no limit. `wit/core/prompt.wit` is the manual.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Policy {
    pub name: String,
    pub unit: Unit,
    #[serde(default)]
    pub file_limit: Option<u64>,
    #[serde(default)]
    pub file_limits: Vec<NameLimit>,
    pub file_marker: String,
    #[serde(default)]
    pub daily_limit: Option<u64>,
    pub daily_marker: String,
    #[serde(default)]
    pub daily_total_limit: Option<u64>,
    pub daily_total_marker: String,
    #[serde(default)]
    pub daily_files: Option<u32>,
    #[serde(default)]
    pub total_limit: Option<u64>,
    pub total_marker: String,
    pub spending: Spending,
    pub shape: Shape,
    pub head_percent: u8,
    #[serde(default)]
    pub marker_counted: bool,
    #[serde(default)]
    pub line_ends: bool,
    pub smallest: u64,
    pub warn_percent: u8,
}

pub const PRESETS: [&str; 4] = ["none", "hi-boss", "openclaw-2026.9", "newest-first"];

/// The preset of that name; `invalid` names the ones there are.
pub fn preset(name: &str) -> Result<Policy> {
    match name {
        "none" => Ok(none()),
        "hi-boss" => Ok(hi_boss()),
        "openclaw-2026.9" => Ok(openclaw()),
        "newest-first" => Ok(newest_first()),
        _ => Err(Error::invalid(format!(
            "there is no budget preset {name:?}; the presets are {}",
            PRESETS.join(", ")
        ))),
    }
}

pub fn presets() -> Vec<Policy> {
    vec![none(), hi_boss(), openclaw(), newest_first()]
}

impl Policy {
    /// `invalid` when a figure makes no sense, or a marker is empty: a cut must be seen.
    pub fn check(&self) -> Result<()> {
        let wrong = |member: &str, rule: &str| {
            Err(Error::invalid(format!(
                "budget {:?}: {member} {rule}",
                self.name
            )))
        };
        if self.head_percent > 100 {
            return wrong("head-percent", "is a share from 0 to 100");
        }
        if self.warn_percent > 100 {
            return wrong("warn-percent", "is a share from 0 to 100");
        }
        let limited = self.file_limit.is_some() || !self.file_limits.is_empty();
        let markers = [
            ("file-marker", limited, &self.file_marker),
            (
                "daily-marker",
                self.daily_limit.is_some() || self.daily_files.is_some(),
                &self.daily_marker,
            ),
            (
                "daily-total-marker",
                self.daily_total_limit.is_some(),
                &self.daily_total_marker,
            ),
            (
                "total-marker",
                self.total_limit.is_some(),
                &self.total_marker,
            ),
        ];
        for (member, needed, marker) in markers {
            if needed && marker.trim().is_empty() {
                return wrong(
                    member,
                    "is empty; a cut must be visible in the text, so say what stands there",
                );
            }
        }
        Ok(())
    }

    /// Whether no figure of this policy can cut anything.
    pub fn limits_nothing(&self) -> bool {
        let limits = [
            self.file_limit,
            self.daily_limit,
            self.daily_total_limit,
            self.total_limit,
        ];
        limits.iter().all(Option::is_none)
            && self.file_limits.is_empty()
            && self.daily_files.is_none()
    }

    /// The limit for a workspace file of that name.
    pub fn limit_of(&self, name: &str) -> Option<u64> {
        let own = self.file_limits.iter().find(|limit| limit.name == name);
        own.map(|limit| limit.limit).or(self.file_limit)
    }
}

fn none() -> Policy {
    Policy {
        name: "none".into(),
        unit: Unit::Utf16,
        file_limit: None,
        file_limits: Vec::new(),
        file_marker: String::new(),
        daily_limit: None,
        daily_marker: String::new(),
        daily_total_limit: None,
        daily_total_marker: String::new(),
        daily_files: None,
        total_limit: None,
        total_marker: String::new(),
        spending: Spending::PromptOrder,
        shape: Shape::HeadTail,
        head_percent: 100,
        marker_counted: false,
        line_ends: false,
        smallest: 0,
        warn_percent: 0,
    }
}

/// hi-boss.md: 12,000 for MEMORY.md and, here, for every other workspace file; 4,000 a day, two days,
/// 8,000 for both; 20,000 in all, where the oldest day goes first and the daily marker says so.
fn hi_boss() -> Policy {
    Policy {
        name: "hi-boss".into(),
        file_limit: Some(12_000),
        file_marker: "\n\n<<truncated due to internal-space-memory-max-chars={limit}>>".into(),
        daily_limit: Some(4_000),
        daily_marker: "\n\n<<truncated due to internal-space-daily-per-day-max-chars={limit}>>"
            .into(),
        daily_total_limit: Some(8_000),
        daily_total_marker: "\n\n<<truncated due to internal-space-daily-max-chars={limit}>>"
            .into(),
        daily_files: Some(2),
        total_limit: Some(20_000),
        total_marker: "\n\n<<truncated due to internal-space-total-max-chars={limit}>>".into(),
        spending: Spending::OldestDailyFirst,
        ..none()
    }
}

/// truncation.md: 20,000 a file, 4,000 for USER.md, 60,000 in all; three quarters head, one quarter tail
/// of what the marker leaves; under 64 a file is left out; a warning from 85 % on.
fn openclaw() -> Policy {
    let marker = "\n[...truncated, read {file} for full content...]\n\
                  …(truncated {file}: kept {head}+{tail} chars of {total})…\n";
    Policy {
        name: "openclaw-2026.9".into(),
        file_limit: Some(20_000),
        file_limits: vec![NameLimit {
            name: WorkspaceFile::User.file_name().into(),
            limit: 4_000,
        }],
        file_marker: marker.into(),
        daily_limit: Some(20_000),
        daily_marker: marker.into(),
        total_limit: Some(60_000),
        total_marker: marker.into(),
        head_percent: 75,
        marker_counted: true,
        smallest: 64,
        warn_percent: 85,
        ..none()
    }
}

/// The limits of hi-boss, but whole lines: the newest of a daily file, the headings and first lines of
/// the others.
fn newest_first() -> Policy {
    let lines = "[... {dropped} lines of {file} left out: kept {kept} of {total} characters ...]";
    Policy {
        name: "newest-first".into(),
        file_marker: lines.into(),
        daily_marker: lines.into(),
        daily_total_marker: lines.into(),
        total_marker: lines.into(),
        shape: Shape::NewestLines,
        line_ends: true,
        ..hi_boss()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_sound_and_has_its_name() {
        for (name, policy) in PRESETS.iter().zip(presets()) {
            assert_eq!(
                (*name, preset(name).unwrap()),
                (policy.name.as_str(), policy.clone())
            );
            policy.check().unwrap();
        }
        assert!(
            preset("tiny")
                .unwrap_err()
                .message
                .contains("openclaw-2026.9")
        );
    }

    #[test]
    fn the_figures_of_the_specification() {
        let figures = |policy: &Policy| {
            (
                policy.limit_of("MEMORY.md"),
                policy.limit_of("USER.md"),
                policy.daily_limit,
                policy.total_limit,
            )
        };
        assert_eq!(
            figures(&hi_boss()),
            (Some(12_000), Some(12_000), Some(4_000), Some(20_000))
        );
        assert_eq!(
            figures(&openclaw()),
            (Some(20_000), Some(4_000), Some(20_000), Some(60_000))
        );
        assert_eq!(figures(&none()), (None, None, None, None));
    }

    #[test]
    fn a_policy_that_hides_its_cuts_is_refused() {
        let policy = Policy {
            file_limit: Some(10),
            ..none()
        };
        assert!(policy.check().unwrap_err().message.contains("file-marker"));
        let policy = Policy {
            head_percent: 101,
            ..none()
        };
        assert!(policy.check().unwrap_err().message.contains("head-percent"));
    }
}
