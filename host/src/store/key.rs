//! The rules of keys, the same for every store. Pure; knows no store and no layout.

use std::collections::BTreeMap;

use unicode_normalization::is_nfc;

use super::check::error;
use super::{Error, ErrorCode};

pub const KEY_BYTES_MAX: usize = 1_024;
pub const SEGMENT_BYTES_MAX: usize = 255;
/// The first segment of the keys that belong to the store itself.
pub const RESERVED: &str = ".haversack";

/// A key as it goes into messages: quoted, escaped, and cut where it is absurdly long.
pub fn shown(key: &str) -> String {
    match key.char_indices().nth(120) {
        Some((end, _)) => format!("{:?}… ({} bytes)", &key[..end], key.len()),
        None => format!("{key:?}"),
    }
}

/// The rule that one segment of a key breaks, if any.
pub fn segment_problem(segment: &str) -> Option<(ErrorCode, &'static str)> {
    let invalid = |rule| Some((ErrorCode::Invalid, rule));
    if segment.is_empty() {
        invalid("a segment is empty (a slash leads, trails or is doubled); leave that slash out")
    } else if segment == "." || segment == ".." {
        invalid("a segment is `.` or `..`; write the key out from the store's root")
    } else if segment.contains('\\') {
        invalid("it has a backslash; separate segments by `/`")
    } else if segment.chars().any(char::is_control) {
        invalid("it has a control character; take it out")
    } else if segment.len() > SEGMENT_BYTES_MAX {
        Some((
            ErrorCode::TooLarge,
            "a segment has over 255 bytes; shorten it or hash it",
        ))
    } else if !segment.is_ascii() && !is_nfc(segment) {
        invalid("it is not in Unicode normal form C; normalise it")
    } else {
        None
    }
}

/// The rule that `key` breaks, if any.
pub fn key_problem(key: &str) -> Option<(ErrorCode, &'static str)> {
    if key.is_empty() {
        return Some((ErrorCode::Invalid, "it is empty; name an object"));
    }
    if key.len() > KEY_BYTES_MAX {
        return Some((
            ErrorCode::TooLarge,
            "it has over 1,024 bytes; shorten or hash its segments",
        ));
    }
    if key.split('/').next() == Some(RESERVED) {
        return Some((
            ErrorCode::Invalid,
            "`.haversack/` belongs to the store; use another first segment",
        ));
    }
    key.split('/').find_map(segment_problem)
}

/// `invalid` or `too-large` when `key` breaks a rule.
pub fn check_key(key: &str) -> Result<(), Error> {
    match key_problem(key) {
        Some((code, rule)) => Err(error(code, format!("key {}: {rule}", shown(key)))),
        None => Ok(()),
    }
}

/// `invalid` when `key` is a directory of another key of `objects`, or the other way round.
pub fn check_directories<T>(key: &str, objects: &BTreeMap<String, T>) -> Result<(), Error> {
    for (at, _) in key.match_indices('/') {
        if objects.contains_key(&key[..at]) {
            return Err(clash(key, &key[..at]));
        }
    }
    let directory = format!("{key}/");
    match objects.range(directory.clone()..).next() {
        Some((below, _)) if below.starts_with(&directory) => Err(clash(below, key)),
        _ => Ok(()),
    }
}

/// The error for `object` lying where `below` would need a directory.
pub fn clash(below: &str, object: &str) -> Error {
    error(
        ErrorCode::Invalid,
        format!(
            "keys {} and {}: an object's key cannot be a directory of another; delete one or use \
             another name",
            shown(object),
            shown(below)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let long = "s".repeat(256);
        let longer = "ab/".repeat(400);
        for (key, fine) in [
            ("a", true),
            ("a b/c:d@e+f", true),
            ("é/日本/…", true),
            (".hidden/..x/x..", true),
            (".haversackx/a", true),
            ("a/.haversack", true),
            (&"s".repeat(255), true),
            ("", false),
            ("/", false),
            ("/a", false),
            ("a/", false),
            ("a//b", false),
            (".", false),
            ("a/../b", false),
            ("a\\b", false),
            ("a\0b", false),
            ("a\u{85}b", false),
            ("e\u{301}", false),
            (".haversack", false),
            (".haversack/meta", false),
            (&long, false),
            (&longer, false),
        ] {
            assert_eq!(key_problem(key).is_none(), fine, "{key:?}");
        }
    }
}
