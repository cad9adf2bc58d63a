//! What headers say of an object, both ways: version, content type, metadata. Sends nothing.

use object_store::{Attribute, Attributes, GetResult};

use super::words;
use crate::store::check::{METADATA_BYTES_MAX, error};
use crate::store::key::shown;
use crate::store::{Error, ErrorCode, PutOptions, Stat};

/// Everything but the bytes. Names come back in lower case and in order.
pub fn of(answer: &GetResult) -> Stat {
    let mut metadata: Vec<(String, String)> = answer
        .attributes
        .iter()
        .filter_map(|(attribute, value)| match attribute {
            Attribute::Metadata(name) => Some((name.to_string(), words::decode(value))),
            _ => None,
        })
        .collect();
    metadata.sort();
    let content_type = answer.attributes.get(&Attribute::ContentType);
    Stat {
        version: version(answer.meta.e_tag.as_deref().unwrap_or_default()),
        content_type: content_type.map(|value| value.to_string()),
        metadata,
        size_bytes: answer.meta.size,
        modified_ms: u64::try_from(answer.meta.last_modified.timestamp_millis()).unwrap_or(0),
    }
}

/// Buckets count metadata as its headers carry it, where encoded words are longer than their text.
pub fn check_metadata(key: &str, options: &PutOptions) -> Result<(), Error> {
    let header = |(name, value): &(String, String)| name.len() + words::encode(value).len();
    let size: usize = options.metadata.iter().map(header).sum();
    if size <= METADATA_BYTES_MAX {
        return Ok(());
    }
    let message = format!(
        "key {}: metadata has {size} bytes as headers carry it (what is not plain ASCII is encoded), over \
         {METADATA_BYTES_MAX}; put it into the body",
        shown(key)
    );
    Err(error(ErrorCode::TooLarge, message))
}

/// What goes with a write.
pub fn attributes(options: &PutOptions) -> Attributes {
    let mut attributes = Attributes::new();
    if let Some(content_type) = &options.content_type {
        attributes.insert(Attribute::ContentType, content_type.clone().into());
    }
    for (name, value) in &options.metadata {
        let name = Attribute::Metadata(name.to_ascii_lowercase().into());
        attributes.insert(name, words::encode(value).into());
    }
    attributes
}

/// Whether an object is as a put with these options leaves it. Without a content type the bucket gives
/// one of its own.
pub fn fits(stat: &Stat, options: &PutOptions) -> bool {
    let mut wanted: Vec<(String, String)> = options
        .metadata
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
        .collect();
    wanted.sort();
    stat.metadata == wanted
        && (options.content_type.is_none() || stat.content_type == options.content_type)
}

/// A version is a tag without its quotes.
pub fn version(tag: &str) -> String {
    tag.trim_matches('"').to_owned()
}

/// The tag of a version; none for what no bucket can have given, and no header can carry.
pub fn tag(version: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"';
    (!version.is_empty() && version.bytes().all(plain)).then(|| format!("\"{version}\""))
}
