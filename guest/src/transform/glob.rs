//! Glob patterns for paths, by way of a regular expression that is matched in linear time. Pure.

use regex_lite::Regex;

use crate::types::{Error, Result};

/// A pattern over whole paths: `*` and `?` within a segment, `**` over any, `[a-z]`, `[!a-z]`, `{a,b}`,
/// and `\` before a character that means itself.
#[derive(Debug, Clone)]
pub struct Glob(Regex);

impl Glob {
    /// `invalid`, with the place, for a pattern that is not one.
    pub fn parse(pattern: &str) -> Result<Self> {
        let refuse = |what: &str| Error::invalid(format!("the glob {pattern:?} {what}"));
        if pattern.is_empty() || pattern.len() > PATTERN_BYTES_MAX {
            return Err(Error::invalid(format!(
                "the glob has {} bytes; it must have 1 to {PATTERN_BYTES_MAX}",
                pattern.len()
            )));
        }
        let expression = expression(pattern).map_err(refuse)?;
        let regex = Regex::new(&expression).map_err(|error| refuse(&error.to_string()))?;
        Ok(Self(regex))
    }

    /// The directory, with its slash, that everything that fits `pattern` lies in; empty when that is not
    /// known.
    pub fn directory_of(pattern: &str) -> &str {
        let plain = pattern
            .find(['*', '?', '[', '{', '\\'])
            .unwrap_or(pattern.len());
        let plain = pattern.get(..plain).unwrap_or_default();
        let end = plain.rfind('/').map_or(0, |slash| slash + 1);
        plain.get(..end).unwrap_or_default()
    }

    pub fn matches(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

/// Bytes of a pattern.
pub const PATTERN_BYTES_MAX: usize = 1_024;

fn expression(pattern: &str) -> std::result::Result<String, &'static str> {
    let mut expression = "^".to_owned();
    let mut depth = 0;
    let mut rest = pattern;
    while let Some(character) = rest.chars().next() {
        let from_whole_segment = expression.ends_with(['^', '/']);
        if let Some(after) = rest.strip_prefix("**/").filter(|_| from_whole_segment) {
            expression.push_str("(?:[^/]+/)*");
            rest = after;
            continue;
        }
        if let Some(after) = rest.strip_prefix("**") {
            expression.push_str(".*");
            rest = after;
            continue;
        }
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
        match character {
            '*' => expression.push_str("[^/]*"),
            '?' => expression.push_str("[^/]"),
            '{' => {
                depth += 1;
                expression.push_str("(?:");
            }
            ',' if depth > 0 => expression.push('|'),
            '}' if depth > 0 => {
                depth -= 1;
                expression.push(')');
            }
            '[' => rest = class(&mut expression, rest)?,
            '\\' => {
                let escaped = rest.chars().next().ok_or("ends in a backslash")?;
                literal(&mut expression, escaped);
                rest = rest.get(escaped.len_utf8()..).unwrap_or_default();
            }
            other => literal(&mut expression, other),
        }
    }
    if depth > 0 {
        return Err("has a `{` without its `}`");
    }
    expression.push('$');
    Ok(expression)
}

/// A class of characters; answers what follows it.
fn class<'p>(expression: &mut String, rest: &'p str) -> std::result::Result<&'p str, &'static str> {
    let negated = rest.strip_prefix(['!', '^']);
    let inside = negated.unwrap_or(rest);
    // A bracket that comes first is itself a member.
    let end = inside
        .char_indices()
        .skip(1)
        .find(|(_, character)| *character == ']')
        .map(|(at, _)| at)
        .ok_or("has a `[` without its `]`")?;
    let members = inside.get(..end).unwrap_or_default();
    expression.push_str(if negated.is_some() { "[^/" } else { "[" });
    for character in members.chars() {
        match character {
            '-' => expression.push('-'),
            other => literal(expression, other),
        }
    }
    expression.push(']');
    Ok(inside.get(end + 1..).unwrap_or_default())
}

fn literal(expression: &mut String, character: char) {
    if character.is_ascii_punctuation() {
        expression.push('\\');
    }
    expression.push(character);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_lies_in_a_directory() {
        for (pattern, directory) in [
            ("memory/*.md", "memory/"),
            ("a/b/c.md", "a/b/"),
            ("a/b*/c.md", "a/"),
            ("{a,b}/c", ""),
            ("**/x", ""),
            ("a\\/b", ""),
            ("日本/é*", "日本/"),
            ("SOUL.md", ""),
            ("", ""),
        ] {
            assert_eq!(Glob::directory_of(pattern), directory, "{pattern}");
        }
    }

    #[test]
    fn patterns_and_paths() {
        for (pattern, fitting, other) in [
            (
                "*.md",
                vec!["SOUL.md", ".md"],
                vec!["memory/a.md", "SOUL.mdx"],
            ),
            ("**/*.md", vec!["SOUL.md", "a/b/c.md"], vec!["a/b/c.txt"]),
            (
                "memory/**",
                vec!["memory/a", "memory/a/b"],
                vec!["memories/a", "memory"],
            ),
            (
                "a/**/b",
                vec!["a/b", "a/x/b", "a/x/y/b"],
                vec!["a/xb", "ab"],
            ),
            (
                "memory/2026-02-??.md",
                vec!["memory/2026-02-20.md"],
                vec!["memory/2026-02-2.md"],
            ),
            (
                "[a-c]?.{md,txt}",
                vec!["ax.md", "c1.txt"],
                vec!["dx.md", "a/.md", "ax.m"],
            ),
            ("[!a]", vec!["b", "é"], vec!["a", "/", "bb"]),
            ("[]a]", vec!["]", "a"], vec!["b"]),
            ("a+(b)|c^$.{x,y}", vec!["a+(b)|c^$.x"], vec!["a+(b)", "aab"]),
            ("\\*\\{", vec!["*{"], vec!["x{"]),
            ("日本/*", vec!["日本/é"], vec!["日/é"]),
            ("a,b}", vec!["a,b}"], vec!["a"]),
        ] {
            let glob = Glob::parse(pattern).unwrap();
            for path in fitting {
                assert!(glob.matches(path), "{pattern} {path}");
            }
            for path in other {
                assert!(!glob.matches(path), "{pattern} {path}");
            }
        }
        let long = "a".repeat(PATTERN_BYTES_MAX + 1);
        for wrong in ["", "[a", "{a", "a\\", "[z-a]", &long] {
            assert!(Glob::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Glob::parse(&long[1..]).is_ok());
    }
}
