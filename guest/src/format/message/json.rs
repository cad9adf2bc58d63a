//! Slices of a JSON text by member and element, and scalars read as JavaScript would take them. Knows no
//! message.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Show `see` every member of an object, in order.
pub fn each_member<'a>(
    json: &'a str,
    see: impl FnMut(&str, &'a RawValue),
) -> serde_json::Result<()> {
    struct Members<F>(F);
    impl<'a, F: FnMut(&str, &'a RawValue)> Visitor<'a> for Members<F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'a>>(mut self, mut members: A) -> Result<(), A::Error> {
            while let Some((key, value)) = members.next_entry::<&RawValue, &RawValue>()? {
                if let Some(name) = text(key) {
                    (self.0)(&name, value);
                }
            }
            Ok(())
        }
    }
    let mut reader = serde_json::Deserializer::from_str(json);
    reader.deserialize_map(Members(see))?;
    reader.end()
}

/// Show `see` every element of an array, in order.
pub fn each_element<'a>(json: &'a str, see: impl FnMut(&'a RawValue)) -> serde_json::Result<()> {
    struct Elements<F>(F);
    impl<'a, F: FnMut(&'a RawValue)> Visitor<'a> for Elements<F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'a>>(mut self, mut elements: A) -> Result<(), A::Error> {
            while let Some(element) = elements.next_element::<&RawValue>()? {
                (self.0)(element);
            }
            Ok(())
        }
    }
    let mut reader = serde_json::Deserializer::from_str(json);
    reader.deserialize_seq(Elements(see))?;
    reader.end()
}

/// A string, borrowed where nothing in it is escaped. Half a surrogate pair, which programs that cut by
/// UTF-16 units leave behind, becomes U+FFFD. None when the value is no string.
pub fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    struct Text;
    impl<'a> Visitor<'a> for Text {
        type Value = Cow<'a, str>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_borrowed_bytes<E>(self, bytes: &'a [u8]) -> Result<Self::Value, E> {
            Ok(String::from_utf8_lossy(bytes))
        }

        fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
            Ok(Cow::Owned(replace_surrogates(bytes)))
        }
    }
    let json = value.get();
    if !json.starts_with('"') {
        return None;
    }
    if let Some(plain) = unquoted(json).filter(|text| !text.contains('\\')) {
        return Some(Cow::Borrowed(plain));
    }
    // As bytes, because only so does the parser let half a pair through.
    serde_json::Deserializer::from_str(json)
        .deserialize_bytes(Text)
        .ok()
}

/// What stands between the quotes of a string, escapes and all. None when the value is no string.
pub fn unquoted(json: &str) -> Option<&str> {
    json.strip_prefix('"')?.strip_suffix('"')
}

/// The parser gives half a pair as the three bytes that UTF-8 would have for it: one U+FFFD, not three.
fn replace_surrogates(bytes: &[u8]) -> String {
    let mut decoded = String::with_capacity(bytes.len());
    let mut rest = bytes;
    loop {
        match std::str::from_utf8(rest) {
            Ok(text) => {
                decoded.push_str(text);
                return decoded;
            }
            Err(error) => {
                let (whole, broken) = rest.split_at(error.valid_up_to());
                decoded.push_str(&String::from_utf8_lossy(whole));
                decoded.push(char::REPLACEMENT_CHARACTER);
                rest = broken.get(3..).unwrap_or_default();
            }
        }
    }
}

/// A number that is whole and not negative, `12`, `12.0` or `1.2e1`. None for anything else.
pub fn whole_number(value: &RawValue) -> Option<u64> {
    /// Above 2^53 a JavaScript number is no longer exact.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    let json = value.get();
    if let Ok(number) = json.parse::<u64>() {
        return Some(number);
    }
    let number = serde_json::from_str::<f64>(json).ok()?;
    let whole = (0.0..=EXACT_MAX).contains(&number) && number.fract() == 0.0;
    whole.then_some(number as u64)
}
