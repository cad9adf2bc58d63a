//! The way through a JSON text by names, over slices of it. Knows no pointer and changes nothing.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::types::{Error, Result};

/// Check that `text` is JSON. The error names `what`, the line and the column.
pub fn parse<'a>(what: &str, text: &'a str) -> Result<&'a RawValue> {
    serde_json::from_str(text)
        .map_err(|error| Error::invalid(format!("{what} is not JSON: {error}")))
}

/// The value that names lead to in a JSON text, through objects by name and through arrays by index.
/// None when one is not there, or the text is not JSON. Of repeated members the last counts.
pub fn find<'a>(json: &'a RawValue, names: &[&str]) -> Option<&'a str> {
    let mut value = json;
    for name in names {
        value = match object_of(value, name).ok()? {
            Some(object) => object.found?.value,
            None => element_of(value, name, "").ok()??,
        };
    }
    Some(value.get())
}

/// A member of an object, as it stands in the document.
#[derive(Clone, Copy)]
pub(super) struct Member<'a> {
    pub key: &'a RawValue,
    pub value: &'a RawValue,
}

/// What is remembered of an object while its members pass by.
pub(super) struct Object<'a> {
    pub first: Option<Member<'a>>,
    pub before_last: Option<Member<'a>>,
    pub last: Option<Member<'a>>,
    /// The last one of the name that was asked for.
    pub found: Option<Member<'a>>,
}

struct ObjectVisitor<'n, 'a> {
    name: &'n str,
    document: PhantomData<&'a ()>,
}

impl<'a> Visitor<'a> for ObjectVisitor<'_, 'a> {
    type Value = Object<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(
        self,
        mut members: A,
    ) -> std::result::Result<Object<'a>, A::Error> {
        let mut object = Object {
            first: None,
            before_last: None,
            last: None,
            found: None,
        };
        while let Some((key, value)) = members.next_entry::<&RawValue, &RawValue>()? {
            let member = Member { key, value };
            object.first.get_or_insert(member);
            object.before_last = object.last.replace(member);
            // A key with half a surrogate pair is no string of ours and cannot be meant.
            if serde_json::from_str::<String>(key.get()).is_ok_and(|key| key == self.name) {
                object.found = Some(member);
            }
        }
        Ok(object)
    }
}

/// The object that a value is, read for a member of this name; none when it is no object.
pub(super) fn object_of<'a>(value: &'a RawValue, name: &str) -> Result<Option<Object<'a>>> {
    if !value.get().starts_with('{') {
        return Ok(None);
    }
    let visitor = ObjectVisitor {
        name,
        document: PhantomData,
    };
    serde_json::Deserializer::from_str(value.get())
        .deserialize_map(visitor)
        .map(Some)
        .map_err(|error| Error::invalid(format!("the document is not JSON: {error}")))
}

struct Nth(usize);

impl<'a> DeserializeSeed<'a> for Nth {
    type Value = Option<&'a RawValue>;

    fn deserialize<D: Deserializer<'a>>(
        self,
        reader: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        reader.deserialize_seq(self)
    }
}

impl<'a> Visitor<'a> for Nth {
    type Value = Option<&'a RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'a>>(
        self,
        mut items: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        let mut found = None;
        let mut at = 0;
        while at < self.0 && items.next_element::<IgnoredAny>()?.is_some() {
            at += 1;
        }
        if at == self.0 {
            found = items.next_element::<&RawValue>()?;
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found)
    }
}

/// The element of an array that a segment names; none when the array is shorter.
pub(super) fn element_of<'a>(
    value: &'a RawValue,
    segment: &str,
    here: &str,
) -> Result<Option<&'a RawValue>> {
    if !value.get().starts_with('[') {
        return Err(Error::invalid(format!(
            "`{here}` cannot be: what should hold it is {}, neither an object nor an array",
            kind_of(value)
        )));
    }
    let canonical = segment == "0"
        || (!segment.starts_with('0') && segment.bytes().all(|byte| byte.is_ascii_digit()));
    let index = segment
        .parse::<usize>()
        .ok()
        .filter(|_| canonical)
        .ok_or_else(|| {
            Error::invalid(format!(
                "`{here}` cannot be: elements of an array are named 0, 1, 2, …, not `{segment}`"
            ))
        })?;
    Nth(index)
        .deserialize(&mut serde_json::Deserializer::from_str(value.get()))
        .map_err(|error| Error::invalid(format!("the document is not JSON: {error}")))
}

pub(super) fn kind_of(value: &RawValue) -> &'static str {
    match value.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => "null",
        _ => "a number",
    }
}
