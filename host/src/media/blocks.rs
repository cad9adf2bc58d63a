//! Where in a message's line its blocks stand, and the base64 in them, so that one is swapped and every other byte
//! stays. What is a message, and what a block means, is the component's to say.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::value::RawValue;

/// What `type` says of a block that is a medium.
const KINDS: [&str; 4] = ["image", "audio", "video", "document"];

type Members<'a> = BTreeMap<String, &'a RawValue>;

/// A string of base64 in a block.
pub struct Inline<'a> {
    /// Which element of the content, counted from 0.
    pub content_index: usize,
    /// The JSON string in the line, quotes included.
    pub place: Range<usize>,
    pub base64: Cow<'a, str>,
}

impl Inline<'_> {
    /// What the component takes in its place, because bytes never pass through it.
    pub fn stand_in(&self) -> String {
        let characters = self
            .base64
            .bytes()
            .filter(|byte| !matches!(byte, b'\r' | b'\n'));
        let characters = characters.count();
        let text = self.base64.trim_end_matches(['\r', '\n']);
        let padding = text.len() - text.trim_end_matches('=').len();
        format!("\"base64:{characters}:{padding}\"")
    }
}

/// The elements of the content, in order; none where it is no list.
fn elements(line: &str) -> Vec<&RawValue> {
    let members = |json| serde_json::from_str::<Members<'_>>(json).unwrap_or_default();
    let mut message = members(line);
    if let (None, Some(inner)) = (message.get("role"), message.get("message")) {
        message = members(inner.get());
    }
    let content = message.get("content");
    content
        .and_then(|content| serde_json::from_str(content.get()).ok())
        .unwrap_or_default()
}

/// A part of the line that serde borrowed from it.
fn place(line: &str, part: &RawValue) -> Range<usize> {
    let start = part.get().as_ptr().addr() - line.as_ptr().addr();
    start..start + part.get().len()
}

/// Where the elements of the content stand.
pub fn places(line: &str) -> Vec<Range<usize>> {
    elements(line)
        .into_iter()
        .map(|element| place(line, element))
        .collect()
}

/// The bytes of every block that is a medium and has them with it.
pub fn inline(line: &str) -> Vec<Inline<'_>> {
    let mut found = Vec::new();
    for (content_index, element) in elements(line).into_iter().enumerate() {
        let Ok(members) = serde_json::from_str::<Members<'_>>(element.get()) else {
            continue;
        };
        let text = |name| serde_json::from_str::<String>(members.get(name)?.get()).ok();
        let is_medium = text("type").is_some_and(|kind| KINDS.contains(&kind.as_str()));
        // A key counts before bytes: they were moved already.
        let (Some(data), true, None) = (members.get("data"), is_medium, text("r2Key")) else {
            continue;
        };
        // Borrowed where nothing is escaped, which is always but for `\/`.
        let base64 = match serde_json::from_str::<&str>(data.get()) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => match serde_json::from_str::<String>(data.get()) {
                Ok(text) => Cow::Owned(text),
                Err(_) => continue,
            },
        };
        found.push(Inline {
            content_index,
            place: place(line, data),
            base64,
        });
    }
    found
}

/// `line` with other text in some places, which do not overlap.
pub fn replaced(line: &str, mut replacements: Vec<(Range<usize>, String)>) -> String {
    replacements.sort_by_key(|(place, _)| place.start);
    let mut replaced = String::with_capacity(line.len());
    let mut from = 0;
    for (place, text) in replacements {
        replaced.push_str(&line[from..place.start]);
        replaced.push_str(&text);
        from = place.end;
    }
    replaced.push_str(&line[from..]);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_string_of_base64_is_swapped() {
        for (line, expected) in [
            (
                r#"{ "x":1e400,"role":"user","content":[7, {"type":"image", "data":"QUI=" ,"n":1}]}"#,
                r#"{ "x":1e400,"role":"user","content":[7, {"type":"image", "data":"base64:4:1" ,"n":1}]}"#,
            ),
            (
                r#"{"message":{"role":"user","content":[{"type":"audio","data":"QU\/D\r\n"}]}}"#,
                r#"{"message":{"role":"user","content":[{"type":"audio","data":"base64:4:0"}]}}"#,
            ),
            (
                r#"{"content":[{"type":"image","data":7},{"type":"x","data":"QUI="}]}"#,
                r#"{"content":[{"type":"image","data":7},{"type":"x","data":"QUI="}]}"#,
            ),
            (
                r#"{"content":[{"type":"image","data":"QUI=","r2Key":"k"}]}"#,
                r#"{"content":[{"type":"image","data":"QUI=","r2Key":"k"}]}"#,
            ),
            (r#"{"content":"x"}"#, r#"{"content":"x"}"#),
            ("no JSON", "no JSON"),
        ] {
            let inline = inline(line);
            let swaps = inline
                .iter()
                .map(|inline| (inline.place.clone(), inline.stand_in()));
            assert_eq!(replaced(line, swaps.collect()), expected);
        }
    }

    #[test]
    fn elements_are_found_where_they_stand() {
        let line = r#"{"content":[ 1,{"a":"é"} ,"x"]}"#;
        let texts: Vec<_> = places(line).into_iter().map(|place| &line[place]).collect();
        assert_eq!(texts, ["1", r#"{"a":"é"}"#, "\"x\""]);
        let index: Vec<_> = inline(r#"{"content":[1,{"type":"image","data":""}]}"#)
            .iter()
            .map(|inline| inline.content_index)
            .collect();
        assert_eq!(index, [1]);
    }
}
