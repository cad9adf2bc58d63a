//! How many tokens a text is likely to be, without any model's tokenizer. Pure.

/// A token in sixtieths, so that thirds, quarters and fifths stay whole numbers.
const TOKEN: u64 = 60;

/// Estimated tokens: 4 Latin letters (blanks included), 1.25 CJK characters, 3 digits, 2.5 letters of
/// other scripts or 1 symbol to a token (spec: truncation). Expect a quarter off for prose and
/// more for code; a host that must be exact counts with its model's tokenizer.
pub fn tokens(text: &str) -> u64 {
    text.chars().map(weight).sum::<u64>().div_ceil(TOKEN)
}

/// The longest prefix of `text`, in bytes, that is at most `limit` tokens.
pub fn prefix_within(text: &str, limit: u64) -> usize {
    let limit = limit.saturating_mul(TOKEN);
    let mut sum = 0;
    for (at, character) in text.char_indices() {
        sum += weight(character);
        if sum > limit {
            return at;
        }
    }
    text.len()
}

/// The start, in bytes, of the longest suffix of `text` that is at most `limit` tokens.
pub fn suffix_within(text: &str, limit: u64) -> usize {
    let limit = limit.saturating_mul(TOKEN);
    let mut sum = 0;
    for (at, character) in text.char_indices().rev() {
        sum += weight(character);
        if sum > limit {
            return at + character.len_utf8();
        }
    }
    0
}

fn weight(character: char) -> u64 {
    match character {
        '0'..='9' => 20,
        ' ' | '\t' | '\r' | '\n' | 'a'..='z' | 'A'..='Z' | '\u{a0}'..='\u{24f}' => 15,
        '!'..='~' => 30,
        '\u{1100}'..='\u{11ff}'
        | '\u{2e80}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}'
        | '\u{20000}'..='\u{3ffff}' => 48,
        '\u{1f000}'..='\u{1faff}' => 120,
        c if c.is_alphabetic() => 24,
        _ => 60,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_script() {
        for (text, expected) in [
            ("", 0),
            ("abcd", 1),
            ("abcde", 2),
            ("123456", 2),
            ("日本語学習", 4),
            ("при", 2),
            ("😀", 2),
        ] {
            assert_eq!(tokens(text), expected, "{text}");
        }
    }

    #[test]
    fn prefix_and_suffix_are_the_longest_that_fit() {
        let text = "one 日本 2026 — end";
        for limit in 0..20 {
            let head = prefix_within(text, limit);
            assert!(tokens(&text[..head]) <= limit);
            if let Some(next) = text[head..].chars().next() {
                assert!(tokens(&text[..head + next.len_utf8()]) > limit);
            }
            let tail = suffix_within(text, limit);
            assert!(tokens(&text[tail..]) <= limit);
        }
    }
}
