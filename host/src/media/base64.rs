//! Base64 of RFC 4648, section 4, as messages carry it. Pure.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// With `=` at the end, without line ends.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let figure = ALPHABET[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= group.len() {
                char::from(figure)
            } else {
                '='
            });
        }
    }
    text
}

/// Line ends are passed over, and `=` at the end may be missing. The error is the first byte that is none of the
/// alphabet, or none where the length is impossible.
pub fn decode(text: &str) -> Result<Vec<u8>, Option<char>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut figures, mut padding) = (0u32, 0usize, 0usize);
    for (at, character) in text.char_indices() {
        let value = match character {
            'A'..='Z' => character as u32 - 'A' as u32,
            'a'..='z' => character as u32 - 'a' as u32 + 26,
            '0'..='9' => character as u32 - '0' as u32 + 52,
            '+' => 62,
            '/' => 63,
            '\r' | '\n' => continue,
            '=' if padding < 2 => {
                padding += 1;
                continue;
            }
            _ => return Err(Some(character)),
        };
        if padding > 0 {
            return Err(text[at..].chars().next());
        }
        bits = bits << 6 | value;
        figures += 1;
        if figures % 4 == 0 {
            bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
            bits = 0;
        }
    }
    match (figures % 4, padding) {
        (0, 0) => {}
        (2, 0 | 2) => bytes.push((bits >> 4) as u8),
        (3, 0 | 1) => bytes.extend_from_slice(&((bits >> 2) as u16).to_be_bytes()),
        _ => return Err(None),
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Ok(bytes.as_bytes()));
            assert_eq!(
                decode(text.trim_end_matches('=')).as_deref(),
                Ok(bytes.as_bytes())
            );
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)), Ok(all));
        assert_eq!(decode("Zm9v\r\nYmFy\n").as_deref(), Ok(&b"foobar"[..]));
        assert_eq!(encode(&[0xFB, 0xFF]), "+/8=");
    }

    #[test]
    fn what_is_no_base64_says_where() {
        for (text, wrong) in [
            ("Zm9v-", Some('-')),
            ("Zm 9v", Some(' ')),
            ("Zg==Zg==", Some('Z')),
            ("Zg===", Some('=')),
            ("Zé", Some('é')),
            ("Z", None),
            ("Zg=", None),
            ("Zm9v=", None),
            ("=", None),
        ] {
            assert_eq!(decode(text), Err(wrong), "{text}");
        }
    }
}
