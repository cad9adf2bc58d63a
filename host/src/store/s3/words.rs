//! Metadata values as headers carry them: plain ASCII as it is, everything else as the encoded words of
//! RFC 2047. Pure; knows no store.

/// The longest encoded word that RFC 2047 allows is 75 bytes: this many bytes of text in base64, and
/// `=?utf-8?B?` and `?=` around them.
const TEXT_BYTES_MAX: usize = 45;
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// `value` as a header can carry it and [`decode`] reads it.
pub fn encode(value: &str) -> String {
    if is_plain(value) {
        return value.to_owned();
    }
    let mut words: Vec<String> = Vec::new();
    let mut rest = value;
    while !rest.is_empty() {
        let (word, behind) = rest.split_at(rest.floor_char_boundary(TEXT_BYTES_MAX));
        words.push(format!("=?utf-8?B?{}?=", base64(word.as_bytes())));
        rest = behind;
    }
    words.join(" ")
}

/// Whether a header keeps the value as it is: some servers trim, fold repeated spaces, or decode what
/// looks like an encoded word.
fn is_plain(value: &str) -> bool {
    value.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && !value.starts_with(' ')
        && !value.ends_with(' ')
        && !value.contains("  ")
        && !value.contains("=?")
}

/// The value that a header carries. What is not an encoded word of UTF-8 or ASCII stays as it is; the
/// space between two encoded words is not part of either.
pub fn decode(header: &str) -> String {
    let mut bytes = Vec::new();
    let mut spaces = "";
    let mut after_word = false;
    let mut rest = header;
    while !rest.is_empty() {
        let length = rest.find(' ').unwrap_or(rest.len());
        let (token, behind) = rest.split_at(length);
        let decoded = word(token);
        if !(after_word && decoded.is_some()) {
            bytes.extend_from_slice(spaces.as_bytes());
        }
        after_word = decoded.is_some();
        bytes.extend(decoded.unwrap_or_else(|| token.as_bytes().to_vec()));
        let spaces_end = behind.len() - behind.trim_start_matches(' ').len();
        (spaces, rest) = behind.split_at(spaces_end);
    }
    bytes.extend_from_slice(spaces.as_bytes());
    // Other programs may have split a character between words, or encoded what is not UTF-8.
    String::from_utf8(bytes).unwrap_or_else(|_| header.to_owned())
}

/// The bytes of one encoded word; none when it is none.
fn word(token: &str) -> Option<Vec<u8>> {
    let inner = token.strip_prefix("=?")?.strip_suffix("?=")?;
    let mut parts = inner.split('?');
    let (charset, encoding, text) = (parts.next()?, parts.next()?, parts.next()?);
    let known = ["utf-8", "us-ascii"];
    if parts.next().is_some() || !known.contains(&charset.to_ascii_lowercase().as_str()) {
        return None;
    }
    match encoding {
        "B" | "b" => unbase64(text),
        "Q" | "q" => unquoted(text),
        _ => None,
    }
}

fn unquoted(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        match first {
            b'_' => bytes.push(b' '),
            b'=' => {
                let (digits, behind) = rest.split_at_checked(2)?;
                let digits = std::str::from_utf8(digits).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = behind;
            }
            byte => bytes.push(*byte),
        }
    }
    Some(bytes)
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            let padded = place > chunk.len();
            text.push(if padded { '=' } else { char::from(digit) });
        }
    }
    text
}

fn unbase64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0u32, 0);
    for digit in text.trim_end_matches('=').bytes() {
        let value = DIGITS.iter().position(|known| *known == digit)?;
        bits = bits << 6 | value as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let long = "é".repeat(900);
        for value in [
            "",
            "plain",
            "agent:hera:main",
            " padded ",
            "two  spaces",
            "Zoë in 東京 😀",
            "a \"b\" \\c, d; e=f",
            "=?utf-8?Q?not_encoded?=",
            "=?x?=",
            "x =?utf-8?B?eA==?= y",
            "\u{fffd}\u{10ffff}",
            "é ",
            &long,
        ] {
            let header = encode(value);
            assert!(header.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            assert!(
                header
                    .split(' ')
                    .all(|word| word.len() <= 75 || word == value)
            );
            assert_eq!(decode(&header), value, "{header}");
        }
        assert_eq!(encode("agent:hera:main"), "agent:hera:main");
        assert_eq!(encode("Zoë"), "=?utf-8?B?Wm/Dqw==?=");
    }

    #[test]
    fn words_of_others() {
        for (header, value) in [
            ("=?UTF-8?Q?Zo=C3=AB_in?= Paris", "Zoë in Paris"),
            ("=?utf-8?q?a?=  =?utf-8?B?Yg==?=", "ab"),
            ("=?us-ascii?Q?a=20b?=", "a b"),
            ("a  b ", "a  b "),
            ("=?iso-8859-1?Q?=E9?=", "=?iso-8859-1?Q?=E9?="),
            ("=?utf-8?Q?=FF?=", "=?utf-8?Q?=FF?="),
            ("=?utf-8?Q?=C?=", "=?utf-8?Q?=C?="),
            ("=?utf-8?B?***?=", "=?utf-8?B?***?="),
            ("=?utf-8?Q?split=C3?= =?utf-8?Q?=A9?=", "splité"),
            ("=?", "=?"),
            ("?=", "?="),
        ] {
            assert_eq!(decode(header), value, "{header}");
        }
    }
}
