//! What a message says: text, or blocks in order. Knows no role.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::json;
use crate::limits::MESSAGE_BLOCKS_MAX;

/// The content of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Content<'a> {
    /// No such member.
    Absent,
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
    /// Neither text nor a list, or a list of more than [`MESSAGE_BLOCKS_MAX`] blocks; the JSON as it stands.
    Other(&'a str),
}

/// One block of a content list.
#[derive(Debug, Clone, PartialEq)]
pub enum Block<'a> {
    Text(Cow<'a, str>),
    Thinking(Cow<'a, str>),
    ToolCall {
        /// Empty when the block has none.
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        /// JSON as it stands; `{}` when the block has none.
        arguments: &'a str,
    },
    Media(Media<'a>),
    /// A type that the reference does not have, or a block without what its type needs; as it stands.
    Other(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MediaKind {
    Image,
    Audio,
    Video,
    Document,
}

/// A block of type image, audio, video or document.
#[derive(Debug, Clone, PartialEq)]
pub struct Media<'a> {
    pub kind: MediaKind,
    pub mime_type: Option<Cow<'a, str>>,
    pub source: MediaSource<'a>,
}

/// Where the bytes of a media block are.
#[derive(Debug, Clone, PartialEq)]
pub enum MediaSource<'a> {
    /// In the line: base64, as it stands between the quotes.
    Inline(&'a str),
    /// In the bucket, under this key.
    Stored(Cow<'a, str>),
    Missing,
}

impl MediaKind {
    /// As in a block's `type`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Document => "document",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Image, Self::Audio, Self::Video, Self::Document]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

impl<'a> Content<'a> {
    pub(super) fn of(value: &'a RawValue) -> Self {
        let json = value.get();
        if let Some(text) = json::text(value) {
            return Self::Text(text);
        }
        let (mut blocks, mut count) = (Vec::new(), 0);
        let is_list = json.starts_with('[')
            && json::each_element(json, |element| {
                count += 1;
                if count <= MESSAGE_BLOCKS_MAX {
                    blocks.push(Block::of(element));
                }
            })
            .is_ok();
        if is_list && count <= MESSAGE_BLOCKS_MAX {
            Self::Blocks(blocks)
        } else {
            Self::Other(json)
        }
    }
}

impl<'a> Block<'a> {
    pub(super) fn of(value: &'a RawValue) -> Self {
        let members = Members::of(value.get());
        members
            .known_block()
            .unwrap_or_else(|| Self::Other(value.get()))
    }
}

/// The members of a block that mean something.
#[derive(Default)]
struct Members<'a> {
    kind: Option<Cow<'a, str>>,
    text: Option<&'a RawValue>,
    thinking: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    name: Option<&'a RawValue>,
    arguments: Option<&'a RawValue>,
    mime_type: Option<&'a RawValue>,
    data: Option<&'a RawValue>,
    r2_key: Option<&'a RawValue>,
}

impl<'a> Members<'a> {
    /// Nothing at all when the element is no object.
    fn of(json: &'a str) -> Self {
        let mut members = Self::default();
        if !json.starts_with('{') {
            return members;
        }
        let read = json::each_member(json, |name, value| match name {
            "type" => members.kind = json::text(value),
            "text" => members.text = Some(value),
            "thinking" => members.thinking = Some(value),
            "id" => members.id = Some(value),
            "name" => members.name = Some(value),
            "arguments" => members.arguments = Some(value),
            "mimeType" => members.mime_type = Some(value),
            "data" => members.data = Some(value),
            "r2Key" => members.r2_key = Some(value),
            _ => {}
        });
        match read {
            Ok(()) => members,
            Err(_) => Self::default(),
        }
    }

    fn known_block(&self) -> Option<Block<'a>> {
        let text = |member: Option<&'a RawValue>| member.and_then(json::text);
        match self.kind.as_deref()? {
            "text" => text(self.text).map(Block::Text),
            "thinking" => text(self.thinking).map(Block::Thinking),
            "toolCall" => Some(Block::ToolCall {
                id: text(self.id).unwrap_or_default(),
                name: text(self.name).unwrap_or_default(),
                arguments: self.arguments.map_or("{}", RawValue::get),
            }),
            kind => Some(Block::Media(Media {
                kind: MediaKind::of_name(kind)?,
                mime_type: text(self.mime_type),
                source: self.media_source(),
            })),
        }
    }

    /// A key counts before bytes: it is what is left once the bytes were moved.
    fn media_source(&self) -> MediaSource<'a> {
        if let Some(key) = self.r2_key.and_then(json::text) {
            return MediaSource::Stored(key);
        }
        match self.data.and_then(|data| json::unquoted(data.get())) {
            Some(base64) => MediaSource::Inline(base64),
            None => MediaSource::Missing,
        }
    }
}
