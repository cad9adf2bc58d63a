//! Attachments and images of a conversation: what they are called, how large they may be, and what stands
//! in a message in place of their bytes (gsv reference, Media; spec: gsv, Media). Pure: knows no key.

use serde_json::Value;

use crate::format::message::MediaKind;
use crate::limits::MEDIA_BYTES_MAX;
use crate::types::{Error, Result};

/// MIME types of the reference, with their extensions.
const EXTENSIONS: [(&str, &str); 20] = [
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("image/svg+xml", "svg"),
    ("audio/ogg", "ogg"),
    ("audio/opus", "opus"),
    ("audio/mpeg", "mp3"),
    ("audio/mp3", "mp3"),
    ("audio/mp4", "m4a"),
    ("audio/m4a", "m4a"),
    ("audio/wav", "wav"),
    ("audio/webm", "webm"),
    ("audio/flac", "flac"),
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
    ("video/quicktime", "mov"),
    ("application/pdf", "pdf"),
    ("application/msword", "doc"),
    (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "docx",
    ),
];

/// What every other type gets.
const UNKNOWN_EXTENSION: &str = "bin";

/// The extension of a MIME type: `image/PNG; x=y` is `png`. The content type that is stored stays the
/// original string.
pub fn extension(mime_type: &str) -> &'static str {
    let essence = essence(mime_type);
    EXTENSIONS
        .iter()
        .find(|(known, _)| *known == essence)
        .map_or(UNKNOWN_EXTENSION, |(_, extension)| extension)
}

/// What kind of block a MIME type makes: whatever is neither image, audio nor video is a document.
pub fn kind(mime_type: &str) -> MediaKind {
    match essence(mime_type).split('/').next() {
        Some("image") => MediaKind::Image,
        Some("audio") => MediaKind::Audio,
        Some("video") => MediaKind::Video,
        _ => MediaKind::Document,
    }
}

fn essence(mime_type: &str) -> String {
    let before = mime_type.split(';').next().unwrap_or_default();
    before.trim().to_ascii_lowercase()
}

/// How many bytes base64 of this length decodes to, by its length and its padding alone. Refuses a length
/// that base64 never has.
pub fn decoded_bytes(what: &str, base64: &str) -> Result<u64> {
    let unpadded = base64.trim_end_matches('=');
    let padding = base64.len() - unpadded.len();
    let whole = (base64.len() as u64, unpadded.len() as u64);
    let fits = match padding {
        0 => whole.1 % 4 != 1,
        1 | 2 => whole.0.is_multiple_of(4),
        _ => false,
    };
    if !fits {
        return Err(Error::invalid(format!(
            "{what} is not base64: {} characters, {padding} of them `=` at the end; give the bytes' base64 \
             whole, in one line",
            base64.len()
        )));
    }
    Ok(whole.1 / 4 * 3 + (whole.1 % 4).saturating_sub(1))
}

/// Refuse an attachment of more than [`MEDIA_BYTES_MAX`].
pub fn check_size(what: &str, size_bytes: u64) -> Result<()> {
    if size_bytes > MEDIA_BYTES_MAX {
        return Err(Error::too_large(format!(
            "{what} has {size_bytes} bytes and may have {MEDIA_BYTES_MAX} (25 MiB); send a smaller one, or \
             put it where the agent can read it and send its address"
        )));
    }
    Ok(())
}

/// The block that stands in a message in place of the bytes: `{"type":…,"r2Key":…,"mimeType":…}`.
pub fn replacement_block(kind: MediaKind, key: &str, mime_type: &str) -> String {
    let (name, key, mime_type) = (kind.name(), Value::from(key), Value::from(mime_type));
    format!(r#"{{"type":"{name}","r2Key":{key},"mimeType":{mime_type}}}"#)
}

/// What a model is told when the bytes under a block's key are gone.
pub const fn missing_text(kind: MediaKind) -> &'static str {
    match kind {
        MediaKind::Image => "[Image no longer available]",
        MediaKind::Audio => "[Audio no longer available]",
        MediaKind::Video => "[Video no longer available]",
        MediaKind::Document => "[Document no longer available]",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::message::{Block, Content, Media, MediaSource, Message};
    use crate::layout::gsv::MediaExtension;
    use crate::types::ErrorCode;

    #[test]
    fn extensions_are_the_references() {
        for (mime_type, expected) in [
            ("image/jpeg", "jpg"),
            ("image/JPEG", "jpg"),
            (" audio/ogg ; codecs=opus", "ogg"),
            ("audio/mp4;", "m4a"),
            ("video/mp4", "mp4"),
            ("image/svg+xml; charset=utf-8", "svg"),
            ("image/avif", "bin"),
            ("image/jpegx", "bin"),
            ("jpg", "bin"),
            ("", "bin"),
            (";image/png", "bin"),
        ] {
            assert_eq!(extension(mime_type), expected, "{mime_type:?}");
        }
        let known = EXTENSIONS.iter().map(|(_, extension)| *extension);
        for extension in known.chain([UNKNOWN_EXTENSION]) {
            assert!(MediaExtension::parse(extension).is_ok(), "{extension}");
        }
    }

    #[test]
    fn kinds_follow_the_type() {
        for (mime_type, expected) in [
            ("Image/avif;q=1", MediaKind::Image),
            ("audio/x", MediaKind::Audio),
            ("video/mp4", MediaKind::Video),
            ("application/pdf", MediaKind::Document),
            ("imagery/x", MediaKind::Document),
            ("", MediaKind::Document),
        ] {
            assert_eq!(kind(mime_type), expected, "{mime_type:?}");
        }
    }

    #[test]
    fn sizes_come_from_the_length_and_the_padding() {
        for (base64, bytes) in [
            ("", 0),
            ("QQ==", 1),
            ("QUI=", 2),
            ("QUJD", 3),
            ("QQ", 1),
            ("QUI", 2),
            ("QUJDRA==", 4),
        ] {
            assert_eq!(decoded_bytes("it", base64).unwrap(), bytes, "{base64}");
        }
        for broken in ["Q", "Q=", "QQ=", "Q===", "QUJD=", "QUJDR", "===", "="] {
            let error = decoded_bytes("photo.png", broken).unwrap_err();
            assert_eq!(error.code, ErrorCode::Invalid, "{broken}");
            assert!(error.message.starts_with("photo.png"), "{}", error.message);
        }
    }

    #[test]
    fn the_limit_is_25_mib_of_decoded_bytes() {
        let limit = 26_214_400usize;
        let base64 = |bytes: usize| {
            let padding = "=".repeat((3 - bytes % 3) % 3);
            "A".repeat((bytes * 4).div_ceil(3)) + &padding
        };
        for (bytes, fits) in [(limit - 1, true), (limit, true), (limit + 1, false)] {
            let size_bytes = decoded_bytes("it", &base64(bytes)).unwrap();
            assert_eq!(size_bytes, bytes as u64);
            assert_eq!(check_size("it", size_bytes).is_ok(), fits, "{bytes}");
        }
        let error = check_size("film.mp4", 26_214_401).unwrap_err();
        assert_eq!(error.code, ErrorCode::TooLarge);
        for part in ["film.mp4", "26214401", "26214400"] {
            assert!(error.message.contains(part), "{}", error.message);
        }
    }

    #[test]
    fn a_replacement_is_read_as_a_stored_block() {
        let all = [
            MediaKind::Image,
            MediaKind::Audio,
            MediaKind::Video,
            MediaKind::Document,
        ];
        for kind in all {
            let block = replacement_block(kind, "a/\"k\"", "x/y; z=\"1\"");
            let line = format!(r#"{{"role":"user","content":[{block}]}}"#);
            let expected = Block::Media(Media {
                kind,
                mime_type: Some("x/y; z=\"1\"".into()),
                source: MediaSource::Stored("a/\"k\"".into()),
            });
            let message = Message::parse(&line).unwrap();
            assert_eq!(message.content, Content::Blocks(vec![expected]));
            let name = missing_text(kind).to_lowercase();
            assert!(name.contains(kind.name()) && name.ends_with("no longer available]"));
        }
        assert_eq!(
            replacement_block(MediaKind::Image, "k", "image/png"),
            r#"{"type":"image","r2Key":"k","mimeType":"image/png"}"#
        );
    }
}
