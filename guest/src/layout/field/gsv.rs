//! Field types of gsv (spec/gsv.md, "Identity"). Knows no template.

use super::{Field, is_plain_id, text_field};
use crate::limits::NOW_MS_MAX;
use crate::types::{Error, Result};

text_field!(
    /// A gsv agent; case is kept.
    AgentId,
    "agent id",
    "1 to 64 of A-Z a-z 0-9 _ -, the first a letter or digit",
    |text| is_plain_id(text, 64)
);

text_field!(
    /// A gsv session.
    SessionId,
    "session id",
    "a UUID: 8-4-4-4-12 hexadecimal digits",
    is_uuid
);

text_field!(
    /// The name of a media object, without its extension.
    MediaId,
    "media id",
    "a UUID: 8-4-4-4-12 hexadecimal digits",
    is_uuid
);

text_field!(
    /// The extension of a media object, as the reference's table of MIME types has it.
    MediaExtension,
    "media extension",
    "one of jpg png gif webp svg ogg opus mp3 m4a wav webm flac mp4 mov pdf doc docx bin",
    |text| EXTENSIONS.contains(&text)
);

const EXTENSIONS: [&str; 18] = [
    "jpg", "png", "gif", "webp", "svg", "ogg", "opus", "mp3", "m4a", "wav", "webm", "flac", "mp4",
    "mov", "pdf", "doc", "docx", "bin",
];

fn is_uuid(text: &str) -> bool {
    let mut widths = [8, 4, 4, 4, 12].into_iter();
    let fits = text.split('-').all(|part| {
        widths.next() == Some(part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    fits && widths.next().is_none()
}

/// Milliseconds since the Unix epoch, as the suffix of an archive part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EpochMs(u64);

impl EpochMs {
    /// Refuses a moment after the year 9999.
    pub fn new(ms: u64) -> Result<Self> {
        if ms > NOW_MS_MAX {
            return Err(Self::refuse(&ms.to_string()));
        }
        Ok(Self(ms))
    }

    pub fn get(self) -> u64 {
        self.0
    }
}

impl Field for EpochMs {
    const WHAT: &'static str = "timestamp";
    const RULE: &'static str =
        "milliseconds since the Unix epoch, digits without leading zeros, before the year 10000";

    fn from_value(value: &str) -> Result<Self> {
        let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        if !digits || (value.len() > 1 && value.starts_with('0')) {
            return Err(Self::refuse(value));
        }
        Self::new(value.parse().map_err(|_| Self::refuse(value))?)
    }

    fn to_value(&self) -> String {
        self.0.to_string()
    }
}

/// The files at the root of a gsv agent that have a meaning, in the reference's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkspaceFile {
    Soul,
    Identity,
    User,
    Agents,
    Memory,
    Tools,
    Heartbeat,
    Bootstrap,
}

impl WorkspaceFile {
    pub const ALL: [Self; 8] = [
        Self::Soul,
        Self::Identity,
        Self::User,
        Self::Agents,
        Self::Memory,
        Self::Tools,
        Self::Heartbeat,
        Self::Bootstrap,
    ];

    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Soul => "SOUL.md",
            Self::Identity => "IDENTITY.md",
            Self::User => "USER.md",
            Self::Agents => "AGENTS.md",
            Self::Memory => "MEMORY.md",
            Self::Tools => "TOOLS.md",
            Self::Heartbeat => "HEARTBEAT.md",
            Self::Bootstrap => "BOOTSTRAP.md",
        }
    }
}

impl Field for WorkspaceFile {
    const WHAT: &'static str = "workspace file";
    const RULE: &'static str = "one of SOUL.md IDENTITY.md USER.md AGENTS.md MEMORY.md TOOLS.md \
                                HEARTBEAT.md BOOTSTRAP.md";

    fn from_value(value: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|file| file.file_name() == value)
            .ok_or_else(|| -> Error { Self::refuse(value) })
    }

    fn to_value(&self) -> String {
        self.file_name().to_owned()
    }

    fn accepts_key(text: &str) -> bool {
        Self::ALL.iter().any(|file| file.file_name() == text)
    }
}
