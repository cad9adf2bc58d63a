//! Bytes as text: strict where it can be, lossy and said so where it cannot; and what counts as blank.
//! Knows no keys.

/// Text with the damage that decoding found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    pub text: String,
    /// Offset of the first byte that is not UTF-8, and its line, counted from 1.
    pub damage: Option<(usize, u32)>,
}

/// Decode UTF-8. Invalid sequences become U+FFFD, as JavaScript's `text()` shows them, and the first is
/// reported. A byte order mark stays: content is kept verbatim.
pub fn decode(bytes: Vec<u8>) -> Decoded {
    match String::from_utf8(bytes) {
        Ok(text) => Decoded { text, damage: None },
        Err(error) => {
            let offset = error.utf8_error().valid_up_to();
            let bytes = error.as_bytes();
            let line = line_of(bytes, offset);
            Decoded {
                text: String::from_utf8_lossy(bytes).into_owned(),
                damage: Some((offset, line)),
            }
        }
    }
}

/// The line, counted from 1, that the byte at `offset` lies on.
pub fn line_of(bytes: &[u8], offset: usize) -> u32 {
    let before = bytes.get(..offset).unwrap_or(bytes);
    let ends = before.iter().filter(|byte| **byte == b'\n').count();
    u32::try_from(ends).unwrap_or(u32::MAX - 1) + 1
}

/// Cut a prefix of UTF-8 text that may end inside a character back to a whole one. Bytes that are
/// broken for another reason stay.
pub fn back_to_character(bytes: &mut Vec<u8>) {
    let Err(error) = std::str::from_utf8(bytes) else {
        return;
    };
    // `error_len` is none exactly when the input ended too early.
    if error.error_len().is_none() {
        bytes.truncate(error.valid_up_to());
    }
}

/// Cut a suffix of UTF-8 text that may begin inside a character forward to a whole one; answers how many
/// bytes went.
pub fn forth_to_character(bytes: &mut Vec<u8>) -> usize {
    let inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let cut = bytes.iter().take(3).take_while(inside).count();
    bytes.drain(..cut);
    cut
}

/// White space as JavaScript's `trim()` sees it: with U+FEFF, without U+0085 (spec: hi-boss).
pub fn is_blank(character: char) -> bool {
    character == '\u{feff}' || (character.is_whitespace() && character != '\u{85}')
}

/// `text` without white space at both ends, as JavaScript trims.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_blank)
}

/// On one line: every run of white space is a single blank, none at the ends.
pub fn collapse(text: &str) -> String {
    let words: Vec<&str> = text
        .split(is_blank)
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_reports_the_first_damage_and_keeps_a_byte_order_mark() {
        assert_eq!(
            decode(b"\xef\xbb\xbfa".to_vec()),
            Decoded {
                text: "\u{feff}a".into(),
                damage: None
            }
        );
        assert_eq!(
            decode(b"a\nb\xffc\xfe".to_vec()),
            Decoded {
                text: "a\nb\u{fffd}c\u{fffd}".into(),
                damage: Some((3, 2))
            }
        );
    }

    #[test]
    fn a_cut_character_goes_and_a_broken_one_stays() {
        let mut cut = "aé".as_bytes()[..2].to_vec();
        back_to_character(&mut cut);
        assert_eq!(cut, b"a");
        let mut broken = b"a\xffb".to_vec();
        back_to_character(&mut broken);
        assert_eq!(broken, b"a\xffb");
    }

    #[test]
    fn a_suffix_begins_with_a_whole_character() {
        for (from, cut, rest) in [
            (0, 0, "aé😀"),
            (1, 0, "é😀"),
            (2, 1, "😀"),
            (4, 3, ""),
            (5, 2, ""),
        ] {
            let mut bytes = "aé😀".as_bytes()[from..].to_vec();
            assert_eq!(forth_to_character(&mut bytes), cut);
            assert_eq!(bytes, rest.as_bytes());
        }
    }

    #[test]
    fn trim_is_javascripts() {
        assert_eq!(trim("\u{feff}\u{a0}\u{2028} a\u{3000}\n"), "a");
        assert_eq!(trim("\u{200b}a\u{85}"), "\u{200b}a\u{85}");
    }
}
