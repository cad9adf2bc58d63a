//! How many tokens a message is likely to take, on the line as read (spec: gsv, Compaction). Pure.

use crate::format::message::{MediaKind, MediaSource, Message};
use crate::limits::IMAGE_TOKENS;
use crate::transform::estimate;
use crate::transform::truncate::measure::{Unit, measure, prefix_within};

/// `ceil(u16 length of the line / 4 * 1.2)`, in whole numbers, so that no rounding error counts; the
/// base64 of an image does not count, each image counts [`IMAGE_TOKENS`].
pub fn message_tokens(message: &Message<'_>) -> u64 {
    let base64: u64 = images(message)
        .map(|source| match source {
            MediaSource::Inline(base64) => measure(base64, Unit::Utf16),
            MediaSource::Stored(_) | MediaSource::Missing => 0,
        })
        .sum();
    let text = measure(message.line, Unit::Utf16).saturating_sub(base64);
    let image_tokens = u64::from(image_count(message)).saturating_mul(IMAGE_TOKENS);
    of_utf16(text).saturating_add(image_tokens)
}

/// Images of a message, wherever their bytes are.
pub fn image_count(message: &Message<'_>) -> u32 {
    u32::try_from(images(message).count()).unwrap_or(u32::MAX)
}

fn images<'m>(message: &'m Message<'_>) -> impl Iterator<Item = &'m MediaSource<'m>> {
    message
        .media()
        .filter(|media| media.kind == MediaKind::Image)
        .map(|media| &media.source)
}

/// Of a text that goes to the summarising model: as a message counts, or by script where that is more,
/// because a chunk of Chinese that is too long would be refused.
pub fn text_tokens(text: &str) -> u64 {
    of_utf16(measure(text, Unit::Utf16)).max(estimate::tokens(text))
}

/// The longest prefix, in bytes, of at most `limit` tokens.
pub fn text_within(text: &str, limit: u64) -> usize {
    let by_length = prefix_within(text, Unit::Utf16, limit.saturating_mul(10) / 3);
    by_length.min(estimate::prefix_within(text, limit))
}

fn of_utf16(length: u64) -> u64 {
    length.saturating_mul(3).div_ceil(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(line: &str) -> u64 {
        message_tokens(&Message::parse(line).unwrap())
    }

    #[test]
    fn a_line_counts_by_its_utf16_length() {
        for (text, length) in [
            ("", 28),
            ("a", 29),
            ("ab", 30),
            ("é日", 30),
            ("😀", 30),
            ("é日😀", 32),
        ] {
            let line = format!(r#"{{"role":"user","content":"{text}"}}"#);
            assert_eq!(line.encode_utf16().count(), length, "{line}");
            let expected = (length as f64 / 4.0 * 1.2 - 1e-9).ceil() as u64;
            assert_eq!(tokens(&line), expected, "{line}");
        }
        assert_eq!(tokens("{       }\t"), 3);
    }

    #[test]
    fn an_image_counts_the_same_in_every_role_and_size() {
        for role in ["user", "assistant", "toolResult", "other"] {
            let line = |source: &str| {
                format!(
                    r#"{{"role":"{role}","content":[{{"type":"image",{source},"mimeType":"image/png"}}]}}"#
                )
            };
            let empty = tokens(&line(r#""data":"""#));
            assert!((1_600..1_640).contains(&empty), "{empty}");
            let large = format!(r#""data":"{}""#, "A".repeat(1_000_000));
            assert_eq!(tokens(&line(&large)), empty);
            assert!(tokens(&line(r#""r2Key":"k""#)) >= 1_600);
        }
        let audio = r#"{"role":"user","content":[{"type":"audio","data":"AAAA"}]}"#;
        assert_eq!(tokens(audio), (audio.len() as u64 * 3).div_ceil(10));
    }

    #[test]
    fn text_counts_by_the_greater_measure_and_its_prefix_is_the_longest() {
        assert_eq!(text_tokens("abcdefghij"), 3);
        assert_eq!(text_tokens("日本語学習日本語学習"), 8);
        for limit in 0..12 {
            let text = "abc 日本語 😀 abcdef";
            let (head, tail) = text.split_at(text_within(text, limit));
            assert!(text_tokens(head) <= limit);
            if let Some(next) = tail.chars().next() {
                assert!(text_tokens(&format!("{head}{next}")) > limit);
            }
        }
    }
}
