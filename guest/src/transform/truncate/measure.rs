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
        Unit::Bytes => text.len() as u64,
        Unit::Characters => count_characters(text).0,
        Unit::Utf16 => {
            let (characters, pairs) = count_characters(text);
            characters + pairs
        }
    }
}

/// Characters, and how many of them are a surrogate pair in UTF-16. By the bits of eight bytes at once, because
/// whole conversations are measured.
fn count_characters(text: &str) -> (u64, u64) {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let of_word = |word: u64| {
        let bit = |number: u32| word >> number;
        // 10xxxxxx goes on with a character, 11110xxx begins one beyond the basic plane.
        let continues = bit(7) & !bit(6) & EACH;
        let begins_pair = bit(7) & bit(6) & bit(5) & bit(4) & EACH;
        (continues.count_ones(), begins_pair.count_ones())
    };
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let mut last = [0; 8];
    for (place, byte) in last.iter_mut().zip(rest) {
        *place = *byte;
    }
    let words = words.iter().chain([&last]);
    let (continued, pairs) = words.fold((0, 0), |(continued, pairs), word| {
        let (more, more_pairs) = of_word(u64::from_le_bytes(*word));
        (continued + u64::from(more), pairs + u64::from(more_pairs))
    });
    (text.len() as u64 - continued, pairs)
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
    fn whole_texts_are_measured_as_their_characters_are() {
        for text in [
            "",
            "abcdefgh",
            "aé日😀ß",
            "😀😀😀x\u{10ffff}\u{ffff}\u{7f}\u{80}\u{7ff}",
        ] {
            for repeated in 0..9 {
                let text = text.repeat(repeated) + "é";
                for unit in [Unit::Bytes, Unit::Characters, Unit::Utf16] {
                    let sum: u64 = text.chars().map(|c| length(c, unit)).sum();
                    assert_eq!(measure(&text, unit), sum, "{text} in {unit:?}");
                }
            }
        }
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
