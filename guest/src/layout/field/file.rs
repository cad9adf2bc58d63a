//! Names of directories and files that people choose. Knows no system.

use super::{Field, text_field};
use crate::layout::key;
use crate::types::Result;

text_field!(
    /// The directory of a skill: any one segment of a key.
    SkillName,
    "skill directory",
    "one segment of a key: not empty, not `.` or `..`, no slash, backslash or control character, at most 255 bytes",
    |text| key::broken_segment_rule(text).is_none()
);

/// The rest of a path below something typed: relative, without `.` and `..`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathTail(String);

impl PathTail {
    pub fn parse(text: &str) -> Result<Self> {
        match key::broken_path_rule(text) {
            None => Ok(Self(text.to_owned())),
            Some(_) => Err(Self::refuse(text)),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for PathTail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Field for PathTail {
    const WHAT: &'static str = "path";
    const RULE: &'static str = "a relative path without `.`, `..`, empty segments, backslashes and \
                                control characters, each segment at most 255 bytes";
    const TAIL: bool = true;

    fn from_value(value: &str) -> Result<Self> {
        Self::parse(value)
    }

    fn to_value(&self) -> String {
        self.0.clone()
    }
}
