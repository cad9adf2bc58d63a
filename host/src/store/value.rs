//! What bytes become on their way in and out: bodies, ranges and content versions. Pure; knows no
//! store.

use sha2::{Digest, Sha256};

use super::{Body, BodyKind, Range, Span};

/// The bytes of a body, whichever case it was written in.
pub fn bytes(body: &Body) -> &[u8] {
    match body {
        Body::Text(text) => text.as_bytes(),
        Body::Binary(bytes) => bytes,
    }
}

/// The same, taken out.
pub fn into_bytes(body: Body) -> Vec<u8> {
    match body {
        Body::Text(text) => text.into_bytes(),
        Body::Binary(bytes) => bytes,
    }
}

/// A body as asked for: text only for strictly valid UTF-8 without a byte order mark in front.
pub fn body(bytes: Vec<u8>, kind: BodyKind) -> Body {
    if kind == BodyKind::Binary || bytes.starts_with(b"\xEF\xBB\xBF") {
        return Body::Binary(bytes);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Body::Text(text),
        Err(not_text) => Body::Binary(not_text.into_bytes()),
    }
}

/// Where `range` starts in an object of `size_bytes`, and how many bytes it has there.
pub fn resolve(range: &Range, size_bytes: u64) -> (u64, u64) {
    match range {
        Range::Whole => (0, size_bytes),
        Range::Span(Span {
            start_bytes,
            length_bytes,
        }) => {
            let start = (*start_bytes).min(size_bytes);
            (start, (*length_bytes).min(size_bytes - start))
        }
        Range::Last(last) => {
            let length = (*last).min(size_bytes);
            (size_bytes - length, length)
        }
    }
}

/// That part of `content`.
pub fn cut<'a>(content: &'a [u8], range: &Range) -> &'a [u8] {
    let (start, length) = resolve(range, content.len() as u64);
    &content[start as usize..(start + length) as usize]
}

/// The version of content: the first 128 bits of its SHA-256 in lower-case hexadecimal.
pub fn version(content: &[u8]) -> String {
    hex(&Sha256::digest(content)[..16])
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// The bytes that [`hex`] wrote; none when it did not write them.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs
        .iter()
        .map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_end_where_the_object_ends() {
        let span = |start_bytes, length_bytes| {
            Range::Span(Span {
                start_bytes,
                length_bytes,
            })
        };
        for (range, expected) in [
            (Range::Whole, (0, 10)),
            (span(2, 3), (2, 3)),
            (span(8, u64::MAX), (8, 2)),
            (span(10, 1), (10, 0)),
            (span(u64::MAX, u64::MAX), (10, 0)),
            (Range::Last(0), (10, 0)),
            (Range::Last(3), (7, 3)),
            (Range::Last(u64::MAX), (0, 10)),
        ] {
            assert_eq!(resolve(&range, 10), expected, "{range:?}");
        }
    }

    #[test]
    fn hex_and_back() {
        assert_eq!(hex(&[0, 171, 255]), "00abff");
        assert_eq!(unhex("00abff"), Some(vec![0, 171, 255]));
        assert_eq!(unhex("0"), None);
        assert_eq!(unhex("0G"), None);
        assert_eq!(unhex("éé"), None);
    }
}
