//! Media blocks and where they stand in a message's line, so that one is replaced and every other byte
//! stays. Knows no key.

use std::ops::Range;

use super::content::{Block, Media};
use super::{Fault, Members, json};

/// A block of type image, audio, video or document.
#[derive(Debug, Clone, PartialEq)]
pub struct MediaBlock<'a> {
    /// Which element of the content, counted from 0.
    pub index: usize,
    /// Bytes of the line.
    pub place: Range<usize>,
    pub media: Media<'a>,
}

/// The media blocks of one line, in order, however many blocks there are.
pub fn media_blocks(line: &str) -> Result<Vec<MediaBlock<'_>>, Fault> {
    let mut found = Vec::new();
    let content = Members::of_message(line)?.content;
    let Some(content) = content.filter(|content| content.get().starts_with('[')) else {
        return Ok(found);
    };
    let mut index = 0;
    json::each_element(content.get(), |element| {
        if let Block::Media(media) = Block::of(element) {
            // An element is a slice of the line.
            let start = element.get().as_ptr().addr() - line.as_ptr().addr();
            let place = start..start + element.get().len();
            found.push(MediaBlock {
                index,
                place,
                media,
            });
        }
        index += 1;
    })
    .map_err(|error| Fault::NotJson(error.to_string()))?;
    Ok(found)
}

/// `line` with other text in some places, which are in order and do not overlap.
pub fn with_replaced(line: &str, replacements: &[(Range<usize>, String)]) -> String {
    let mut replaced = String::with_capacity(line.len());
    let mut from = 0;
    for (place, text) in replacements {
        replaced.push_str(line.get(from..place.start).unwrap_or_default());
        replaced.push_str(text);
        from = place.end;
    }
    replaced.push_str(line.get(from..).unwrap_or_default());
    replaced
}

#[cfg(test)]
mod tests {
    use super::super::{MediaKind, MediaSource};
    use super::*;

    #[test]
    fn a_block_is_replaced_and_nothing_else_moves() {
        for line in [
            r#"{ "x":1e400, "role":"toolResult","content":[ {"type":"text","text":"é"} , {"type":"image","data":"QUJD"},{"type":"video","r2Key":"k"} ] }"#,
            r#"{"message":{"role":"user", "content":[7,{"type":"image","data":"QUJD"},{"type":"video","r2Key":"k"}]},"id":"a"}"#,
        ] {
            let blocks = media_blocks(line).unwrap();
            let kinds: Vec<_> = blocks.iter().map(|b| (b.index, b.media.kind)).collect();
            assert_eq!(kinds, [(1, MediaKind::Image), (2, MediaKind::Video)]);
            assert_eq!(blocks[0].media.source, MediaSource::Inline("QUJD"));
            let first = (blocks[0].place.clone(), "{\"a\":1}".to_owned());
            let second = (blocks[1].place.clone(), "2".to_owned());
            let expected = line
                .replace(r#"{"type":"image","data":"QUJD"}"#, "{\"a\":1}")
                .replace(r#"{"type":"video","r2Key":"k"}"#, "2");
            assert_eq!(with_replaced(line, &[first, second]), expected);
            assert_eq!(with_replaced(line, &[]), line);
        }
    }

    #[test]
    fn what_has_no_list_of_blocks_has_no_media() {
        for line in [
            "{}",
            r#"{"role":"user","content":"x"}"#,
            r#"{"content":{}}"#,
        ] {
            assert_eq!(media_blocks(line).unwrap(), []);
        }
        assert!(media_blocks("[]").is_err());
    }
}
