//! One member of a JSON document: where it stands, and the document with another value there. Every other
//! byte stays. Knows no document of any system.
//!
//! Values are found as [`RawValue`]s, which are slices of the document, so nothing is parsed that is not
//! on the way, and numbers, repeated members and indentation are not touched.

mod walk;

use serde_json::value::RawValue;

use crate::limits::{JSON_DEPTH_MAX, JSON_DOCUMENT_BYTES_MAX};
use crate::types::{Error, ErrorCode, Result};

use walk::{Object, element_of, kind_of, object_of};
pub use walk::{find, parse};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Set the member that `pointer` (RFC 6901) names to `value`, which is JSON and is written as given.
pub fn set_member(document: &str, pointer: &str, value: &str) -> Result<String> {
    if document.len().saturating_add(value.len()) > JSON_DOCUMENT_BYTES_MAX {
        return Err(Error::too_large(format!(
            "the document and the value have {} bytes together and may have {JSON_DOCUMENT_BYTES_MAX}",
            document.len().saturating_add(value.len())
        )));
    }
    let text = document.strip_prefix(BYTE_ORDER_MARK).unwrap_or(document);
    let root = parse("the document", text)?;
    parse("the value", value)?;
    let segments = segments_of(pointer)?;
    let Some((name, way)) = segments.split_last() else {
        return Err(Error::invalid(
            "the pointer is empty and so names the whole document; name a member, such as `/name`",
        ));
    };
    check_depth("the document", root.get(), 0)?;
    check_depth("the value", value, segments.len())?;

    let mut parent = root;
    let mut outer = Vec::new();
    for (at, segment) in way.iter().enumerate() {
        let here = || pointer_of(segments.get(..=at).unwrap_or_default());
        let next = match object_of(parent, segment)? {
            Some(object) => {
                outer.push(Layout::of(&object, text));
                object.found.map(|found| found.value)
            }
            None => element_of(parent, segment, &here())?,
        };
        parent = next.ok_or_else(|| {
            Error::not_found(format!(
                "`{}` is not in the document; set it first, whole",
                here()
            ))
        })?;
    }
    let object = object_of(parent, name)?.ok_or_else(|| {
        Error::invalid(format!(
            "`{pointer}` is no member of an object: {} is {}",
            match way {
                [] => "the document".to_owned(),
                _ => format!("`{}`", pointer_of(way)),
            },
            kind_of(parent)
        ))
    })?;
    let (from, to, new) = match &object.found {
        Some(member) => {
            let (from, to) = span(text, member.value.get());
            (from, to, value.to_owned())
        }
        None => insertion(text, parent, &object, name, value, &outer),
    };
    let shift = document.len() - text.len();
    let (Some(before), Some(after)) = (document.get(..shift + from), document.get(shift + to..))
    else {
        return Err(Error::new(
            ErrorCode::Other,
            format!("`{pointer}` was found outside the document, which is a bug"),
        ));
    };
    Ok([before, &new, after].concat())
}

/// Where a slice of `text` stands in it.
fn span(text: &str, slice: &str) -> (usize, usize) {
    let start = slice.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
    (start, start.saturating_add(slice.len()))
}

/// How an object lays its members out.
struct Layout<'a> {
    /// From the opening brace to the first key.
    lead: &'a str,
    colon: &'a str,
}

impl<'a> Layout<'a> {
    fn of(object: &Object<'a>, text: &'a str) -> Self {
        let between = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        let Some(first) = object.first else {
            return Self {
                lead: "",
                colon: ":",
            };
        };
        let (key_start, key_end) = span(text, first.key.get());
        let (value_start, _) = span(text, first.value.get());
        let before = between(0, key_start);
        let lead_start = before.trim_end_matches([' ', '\t', '\r', '\n']).len();
        Self {
            lead: between(lead_start, key_start),
            colon: between(key_end, value_start),
        }
    }

    /// What a line of a member begins with; none when members share a line.
    fn indent(&self) -> Option<&'a str> {
        self.lead.rsplit_once('\n').map(|(_, indent)| indent)
    }
}

/// Where and what to write so that `parent` has a new member at its end.
fn insertion(
    text: &str,
    parent: &RawValue,
    object: &Object<'_>,
    name: &str,
    value: &str,
    outer: &[Layout<'_>],
) -> (usize, usize, String) {
    let key = serde_json::Value::from(name).to_string();
    if let Some(last) = object.last {
        let layout = Layout::of(object, text);
        let (_, at) = span(text, last.value.get());
        let separator = match object.before_last {
            Some(before) => {
                let (_, from) = span(text, before.value.get());
                let (to, _) = span(text, last.key.get());
                text.get(from..to).unwrap_or(",").to_owned()
            }
            None => format!(",{}", layout.lead),
        };
        return (at, at, format!("{separator}{key}{}{value}", layout.colon));
    }
    // An empty object has no neighbours to go by: take the style of what is around it.
    let (start, end) = span(text, parent.get());
    let (start, end) = (start + 1, end.saturating_sub(1));
    let inner = text.get(start..end).unwrap_or_default();
    let colon = outer.last().map_or(":", |layout| layout.colon);
    let around = outer.last().and_then(Layout::indent);
    let new_line = if text.contains("\r\n") { "\r\n" } else { "\n" };
    if !inner.contains('\n') && around.is_none() {
        return (start, end, format!("{inner}{key}{colon}{value}{inner}"));
    }
    let closing = match inner.rsplit_once('\n') {
        Some((_, indent)) => indent,
        None => {
            let line = text.get(..start).unwrap_or_default();
            let line = line.rsplit_once('\n').map_or(line, |(_, line)| line);
            let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
            line.get(..blanks).unwrap_or_default()
        }
    };
    let unit = match outer {
        [.., before, last] => last
            .indent()
            .zip(before.indent())
            .and_then(|(inner, outer)| inner.strip_prefix(outer)),
        [last] => last.indent(),
        [] => None,
    };
    let unit = unit.filter(|unit| !unit.is_empty()).unwrap_or("  ");
    let new = format!("{new_line}{closing}{unit}{key}{colon}{value}{new_line}{closing}");
    (start, end, new)
}

/// The names of a pointer, unescaped.
fn segments_of(pointer: &str) -> Result<Vec<String>> {
    if pointer.is_empty() {
        return Ok(Vec::new());
    }
    let bad = |cause: &str| {
        Error::invalid(format!(
            "`{pointer}` is not a JSON pointer (RFC 6901): {cause}"
        ))
    };
    let names = pointer
        .strip_prefix('/')
        .ok_or_else(|| bad("it does not begin with `/`"))?;
    names
        .split('/')
        .map(|name| {
            if name
                .split('~')
                .skip(1)
                .any(|rest| !rest.starts_with(['0', '1']))
            {
                return Err(bad("`~` is written `~0`, and `/` in a name `~1`"));
            }
            Ok(name.replace("~1", "/").replace("~0", "~"))
        })
        .collect()
}

fn pointer_of(names: &[String]) -> String {
    let escaped = names
        .iter()
        .map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1")));
    escaped.collect()
}

/// Refuse JSON that nests too deep, `outside` levels around it included.
pub(super) fn check_depth(what: &str, json: &str, outside: usize) -> Result<()> {
    let mut depth = outside;
    let mut rest = json.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match byte {
            b'"' => rest = behind_string(rest),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > JSON_DEPTH_MAX {
            return Err(Error::too_large(format!(
                "{what} nests deeper than {JSON_DEPTH_MAX} levels"
            )));
        }
    }
    Ok(())
}

/// What stands behind the string in which `rest` begins. Eight bytes at once, because messages are mostly strings.
fn behind_string(mut rest: &[u8]) -> &[u8] {
    loop {
        let (words, _) = rest.as_chunks::<8>();
        let plain = words.iter().take_while(|word| is_plain(**word)).count() * 8;
        rest = rest.get(plain..).unwrap_or_default();
        let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
        let Some(end) = end else {
            return &[];
        };
        let escapes = rest.get(end) == Some(&b'\\');
        let behind = end + 1 + usize::from(escapes);
        rest = rest.get(behind..).unwrap_or_default();
        if !escapes {
            return rest;
        }
    }
}

/// Whether none of these is a quote or a backslash.
fn is_plain(word: [u8; 8]) -> bool {
    const LOW_BITS: u64 = u64::from_ne_bytes([0x7f; 8]);
    let has_no = |byte: u8| {
        let zero_where = u64::from_ne_bytes(word) ^ u64::from_ne_bytes([byte; 8]);
        // A byte's highest bit is set unless the byte is zero; no carry leaves a byte.
        ((zero_where & LOW_BITS) + LOW_BITS) | zero_where | LOW_BITS == u64::MAX
    };
    has_no(b'"') && has_no(b'\\')
}

#[cfg(test)]
mod tests;
