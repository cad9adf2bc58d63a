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

/// How long a text of base64 is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Base64Length {
    /// All of them, `=` at the end included.
    pub characters: u64,
    /// How many `=` are at the end.
    pub padding: u64,
}

impl Base64Length {
    /// Of base64 as it stands between the quotes of a JSON string, where some writers escape the slash.
    pub fn of(base64: &str) -> Self {
        let escapes = base64.matches('\\').count();
        let unpadded = base64.trim_end_matches('=');
        Self {
            characters: (base64.len() - escapes) as u64,
            padding: (base64.len() - unpadded.len()) as u64,
        }
    }

    /// What a host puts in the place of long base64: `base64:{characters}:{padding}`. None for anything
    /// else; base64 has no colon.
    pub fn of_stand_in(text: &str) -> Option<Self> {
        let (characters, padding) = text.strip_prefix("base64:")?.split_once(':')?;
        Some(Self {
            characters: characters.parse().ok()?,
            padding: padding.parse().ok()?,
        })
    }
}

/// How many bytes base64 of this length decodes to. Refuses a length that base64 never has.
pub fn decoded_bytes(what: &str, base64: Base64Length) -> Result<u64> {
    let Base64Length {
        characters,
        padding,
    } = base64;
    let unpadded = characters.saturating_sub(padding);
    let fits = match padding {
        0 => characters % 4 != 1,
        1 | 2 => characters.is_multiple_of(4) && characters > padding,
        _ => false,
    };
    if !fits {
        return Err(Error::invalid(format!(
            "{what} is not base64: {characters} characters, {padding} of them `=` at the end; give the \
             bytes' base64 whole, in one line"
        )));
    }
    Ok(unpadded / 4 * 3 + (unpadded % 4).saturating_sub(1))
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
            let length = Base64Length::of(base64);
            assert_eq!(decoded_bytes("it", length).unwrap(), bytes, "{base64}");
        }
        for broken in ["Q", "Q=", "QQ=", "Q===", "QUJD=", "QUJDR", "===", "="] {
            let length = Base64Length::of(broken);
            let error = decoded_bytes("photo.png", length).unwrap_err();
            assert_eq!(error.code, ErrorCode::Invalid, "{broken}");
            assert!(error.message.starts_with("photo.png"), "{}", error.message);
        }
    }

    #[test]
    fn a_length_is_told_by_the_text_or_a_stand_in() {
        let length = |characters, padding| Base64Length {
            characters,
            padding,
        };
        assert_eq!(Base64Length::of("QU\\/=="), length(5, 2));
        assert_eq!(
            Base64Length::of_stand_in("base64:35000000:1"),
            Some(length(35_000_000, 1))
        );
        for other in [
            "",
            "base64:",
            "base64:1",
            "base64:1:x",
            "base64:-1:0",
            "QUJD",
        ] {
            assert_eq!(Base64Length::of_stand_in(other), None, "{other}");
        }
        let more_padding_than_characters = length(1, 2);
        assert!(decoded_bytes("it", more_padding_than_characters).is_err());
    }

    #[test]
    fn the_limit_is_25_mib_of_decoded_bytes() {
        let limit = 26_214_400usize;
        let base64 = |bytes: usize| {
            let padding = "=".repeat((3 - bytes % 3) % 3);
            "A".repeat((bytes * 4).div_ceil(3)) + &padding
        };
        for (bytes, fits) in [(limit - 1, true), (limit, true), (limit + 1, false)] {
            let length = Base64Length::of(&base64(bytes));
            let size_bytes = decoded_bytes("it", length).unwrap();
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
