//! JSON as people put it into front matter: text that becomes a value tree, commas before closing braces,
//! escapes that YAML does not know. Knows no field.

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::value::{Node, ScalarKind, Value};
use crate::limits::FRONT_MATTER_DEPTH_MAX;

/// JSON text as a tree whose nodes all lie on `line`. The error says where in the text it stopped.
pub fn from_json(text: &str, line: u32) -> Result<Node, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let seed = Tree { line, depth: 0 };
    let node = seed
        .deserialize(&mut reader)
        .map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(node)
}

#[derive(Clone, Copy)]
struct Tree {
    line: u32,
    depth: usize,
}

impl Tree {
    fn scalar(self, kind: ScalarKind, text: String) -> Node {
        Node {
            line: self.line,
            value: Value::Scalar { kind, text },
        }
    }

    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        if self.depth >= FRONT_MATTER_DEPTH_MAX {
            return Err(E::custom(format!(
                "lists and maps nest deeper than {FRONT_MATTER_DEPTH_MAX} levels"
            )));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }
}

impl<'de> DeserializeSeed<'de> for Tree {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Node, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree {
    type Value = Node;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(self.scalar(ScalarKind::Null, String::new()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(self.scalar(ScalarKind::Bool(value), value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(self.scalar(ScalarKind::Number, value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(self.scalar(ScalarKind::Number, value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        let number = serde_json::Value::from(value);
        Ok(self.scalar(ScalarKind::Number, number.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(self.scalar(ScalarKind::Text, value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let seed = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(seed)? {
            list.push(item);
        }
        Ok(Node {
            line: self.line,
            value: Value::List(list),
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let seed = self.deeper()?;
        let mut map = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            if !seen.insert(key.clone()) {
                return Err(de::Error::custom(format!("`{key}` stands twice")));
            }
            map.push((key, entries.next_value_seed(seed)?));
        }
        Ok(Node {
            line: self.line,
            value: Value::Map(map),
        })
    }
}

/// Follows braces and brackets over text with JSON's strings in it.
#[derive(Default)]
pub(super) struct Braces {
    pub depth: usize,
    pub in_string: bool,
    escaped: bool,
}

impl Braces {
    pub fn see(&mut self, c: char) {
        if self.escaped {
            self.escaped = false;
        } else if self.in_string {
            self.escaped = c == '\\';
            self.in_string = c != '"';
        } else {
            match c {
                '"' => self.in_string = true,
                '{' | '[' => self.depth += 1,
                '}' | ']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }
}

/// JSON without the commas that stand before a closing brace or bracket.
pub fn without_trailing_commas(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut braces = Braces::default();
    // Where a comma stands in `out` that nothing but blanks follows.
    let mut comma = None;
    for c in json.chars() {
        let between = !braces.in_string;
        braces.see(c);
        match c {
            ',' if between => comma = Some(out.len()),
            '}' | ']' if between => {
                if let Some(at) = comma.take() {
                    out.remove(at);
                }
            }
            c if between && c.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        out.push(c);
    }
    out
}

/// `\ud83d\ude00` as its character: JSON writes pairs, YAML knows none.
pub(super) fn join_surrogates(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let unit = |start: usize| {
            let digits = from.get(start..start + 6)?.strip_prefix("\\u")?;
            u16::from_str_radix(digits, 16).ok()
        };
        let pair = unit(0).zip(unit(6)).and_then(|(high, low)| {
            let c = char::decode_utf16([high, low]).next()?.ok()?;
            (u32::from(c) > 0xffff).then_some(c)
        });
        let taken = if let Some(c) = pair {
            out.push(c);
            12
        } else {
            let two = from.chars().take(2).map(char::len_utf8).sum();
            out.push_str(from.get(..two).unwrap_or_default());
            two
        };
        rest = from.get(taken..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}
