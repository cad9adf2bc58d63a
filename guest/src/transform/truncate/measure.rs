//! Length of a text in a unit, and the longest prefix or suffix of a given length. Never splits a
//! character. Pure.

use serde::{Deserialize, Serialize};

use crate::transform::estimate;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    Bytes,
    /// Unicode scalar values.
    Characters,
    /// UTF-16 code units, JavaScript's `length`.
    Utf16,
    /// Estimated; see [`estimate`].
    Tokens,
}

/// The length of `text` in `unit`.
pub fn measure(text: &str, unit: Unit) -> u64 {
    match unit {
        Unit::Tokens => estimate::tokens(text),
        _ => text.chars().map(|c| length(c, unit)).sum(),
    }
}

/// Where, in bytes, the longest prefix ends that is at most `limit` units.
pub fn prefix_within(text: &str, unit: Unit, limit: u64) -> usize {
    if unit == Unit::Tokens {
        return estimate::prefix_within(text, limit);
    }
    let mut sum = 0;
    for (at, character) in text.char_indices() {
        sum += length(character, unit);
        if sum > limit {
            return at;
        }
    }
    text.len()
}

/// Where, in bytes, the longest suffix starts that is at most `limit` units.
pub fn suffix_within(text: &str, unit: Unit, limit: u64) -> usize {
    if unit == Unit::Tokens {
        return estimate::suffix_within(text, limit);
    }
    let mut sum = 0;
    for (at, character) in text.char_indices().rev() {
        sum += length(character, unit);
        if sum > limit {
            return at + character.len_utf8();
        }
    }
    0
}

fn length(character: char, unit: Unit) -> u64 {
    match unit {
        Unit::Bytes => character.len_utf8() as u64,
        Unit::Utf16 => character.len_utf16() as u64,
        Unit::Characters | Unit::Tokens => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_differ() {
        let text = "aé😀";
        let lengths = [Unit::Bytes, Unit::Characters, Unit::Utf16].map(|unit| measure(text, unit));
        assert_eq!(lengths, [7, 3, 4]);
    }

    #[test]
    fn a_surrogate_pair_is_never_split() {
        assert_eq!(prefix_within("a😀", Unit::Utf16, 2), 1);
        assert_eq!(prefix_within("a😀", Unit::Utf16, 3), 5);
        assert_eq!(suffix_within("😀a", Unit::Utf16, 2), 4);
        assert_eq!(suffix_within("😀a", Unit::Utf16, 3), 0);
        assert_eq!(prefix_within("", Unit::Bytes, 0), 0);
    }
}
