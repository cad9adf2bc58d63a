//! The rules that every key obeys (`wit/store/blobs.wit`, "Keys"), short of normal form C, which
//! belongs to the store. Knows no system.

use crate::limits::{KEY_BYTES_MAX, SEGMENT_BYTES_MAX};
use crate::types::{Error, Result};

/// The first segment of keys that belong to the store itself.
const RESERVED: &str = ".haversack";

/// Refuse what is no key; the message of `invalid` names the rule.
pub fn check(key: &str) -> Result<()> {
    match broken_rule(key) {
        None => Ok(()),
        Some(rule) => Err(Error::invalid(format!("{} is no key: {rule}", quoted(key))).at(key)),
    }
}

/// Whether `key` is one, without a message.
pub fn is_key(key: &str) -> bool {
    broken_rule(key).is_none()
}

fn broken_rule(key: &str) -> Option<String> {
    if key.len() > KEY_BYTES_MAX {
        return Some(format!("keys have at most {KEY_BYTES_MAX} bytes"));
    }
    if let Some(rule) = broken_path_rule(key) {
        return Some(rule);
    }
    if key.split('/').next() == Some(RESERVED) {
        return Some(format!("keys below {RESERVED} belong to the store"));
    }
    None
}

/// The rule that a relative path breaks, of those that keys have for their segments.
pub(super) fn broken_path_rule(path: &str) -> Option<String> {
    if path.is_empty() {
        return Some("it is empty".to_owned());
    }
    path.split('/').find_map(broken_segment_rule)
}

/// The rule that one segment of a key breaks.
pub(super) fn broken_segment_rule(segment: &str) -> Option<String> {
    if segment.is_empty() {
        return Some("no segment is empty, so no slash leads, trails or is doubled".to_owned());
    }
    if segment == "." || segment == ".." {
        return Some("no segment is `.` or `..`".to_owned());
    }
    if segment.len() > SEGMENT_BYTES_MAX {
        return Some(format!("a segment has at most {SEGMENT_BYTES_MAX} bytes"));
    }
    if segment.contains(['/', '\\']) {
        return Some("no segment has a slash or a backslash in it".to_owned());
    }
    if segment.chars().any(char::is_control) {
        return Some("no character is a control character".to_owned());
    }
    None
}

/// Text for a message: quoted, escaped, and cut when long, so that an error never floods a log.
pub(super) fn quoted(text: &str) -> String {
    const SHOWN_CHARACTERS: usize = 80;
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        None => format!("{text:?}"),
        Some((end, _)) => {
            let shown = text.get(..end).unwrap_or_default();
            format!("{shown:?}… ({} bytes)", text.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_rule_that_is_broken() {
        let long_segment = "x".repeat(SEGMENT_BYTES_MAX + 1);
        let long_key = vec!["x"; KEY_BYTES_MAX].join("/");
        for (key, rule) in [
            ("", "empty"),
            ("/a", "no segment is empty"),
            ("a/", "no segment is empty"),
            ("a//b", "no segment is empty"),
            ("a/./b", "`.` or `..`"),
            ("../a", "`.` or `..`"),
            ("a\\b", "backslash"),
            ("a\nb", "control"),
            ("a\u{85}b", "control"),
            (".haversack/meta/x", "belong to the store"),
            (".haversack", "belong to the store"),
            (long_segment.as_str(), "at most 255 bytes"),
            (long_key.as_str(), "at most 1024 bytes"),
        ] {
            let error = check(key).unwrap_err();
            assert!(error.message.contains(rule), "{key:?}: {}", error.message);
        }
    }

    #[test]
    fn takes_what_stores_hold() {
        for key in [
            "a",
            "media/agent:hera:main/x.jpg",
            "a/.haversack",
            ".haversackx/a",
            "a b/ü@+.md",
            "...",
        ] {
            check(key).unwrap();
        }
    }
}
