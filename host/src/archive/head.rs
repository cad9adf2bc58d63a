//! What stands before a file's bytes in a tar: its header, and the extensions for what a header cannot say.
//! Writes them, and reads the extensions; pure.

use ::tar::{EntryType, Header, PaxExtensions};

use super::manifest::wrong;
use crate::store::{Error, key::shown};

pub const BLOCK_BYTES: usize = 512;
/// Sizes that a header's field takes.
const FIELD_BYTES_MAX: u64 = (8 << 30) - 1;
/// Extended attributes, under the words that GNU tar and libarchive have for them.
const CONTENT_TYPE: &str = "SCHILY.xattr.user.mime_type";
const METADATA: &str = "SCHILY.xattr.user.haversack.";

/// What an archive says of a file before its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub path: String,
    pub size_bytes: u64,
    pub modified_ms: u64,
    pub content_type: Option<String>,
    pub metadata: Vec<(String, String)>,
}

/// The blocks in front of the bytes.
pub fn blocks(head: &Head) -> Vec<u8> {
    let mut records = Vec::new();
    let mut header = plain_header(EntryType::Regular, head);
    if !head.path.is_ascii() || header.set_path(&head.path).is_err() {
        records.extend(record("path", &head.path));
        // Only programs that pass extensions over see it.
        set_short_path(&mut header, "haversack-export/long-name");
    }
    if head.size_bytes > FIELD_BYTES_MAX {
        records.extend(record("size", &head.size_bytes.to_string()));
    }
    if let Some(content_type) = &head.content_type {
        records.extend(record(CONTENT_TYPE, content_type));
    }
    for (name, value) in &head.metadata {
        records.extend(record(&format!("{METADATA}{name}"), value));
    }
    let mut blocks = Vec::new();
    if !records.is_empty() {
        let size_bytes = records.len() as u64;
        let about = Head {
            size_bytes,
            modified_ms: head.modified_ms,
            ..Head::default()
        };
        let mut extended = plain_header(EntryType::XHeader, &about);
        set_short_path(&mut extended, "haversack-export/about-next");
        extended.set_cksum();
        blocks.extend(extended.as_bytes());
        blocks.extend(&records);
        blocks.resize(blocks.len() + padding(size_bytes), 0);
    }
    header.set_cksum();
    blocks.extend(header.as_bytes());
    blocks
}

/// Zeros behind a file of this size.
pub fn padding(size_bytes: u64) -> usize {
    let over = (size_bytes % BLOCK_BYTES as u64) as usize;
    (BLOCK_BYTES - over) % BLOCK_BYTES
}

fn plain_header(kind: EntryType, head: &Head) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(head.modified_ms / 1_000);
    header.set_size(head.size_bytes);
    header
}

/// A name that fits a header; a test below says that these do.
fn set_short_path(header: &mut Header, path: &str) {
    let field = &mut header.as_old_mut().name;
    field.fill(0);
    field[..path.len()].copy_from_slice(path.as_bytes());
}

/// `{length} {name}={value}\n`, where the length counts its own digits.
fn record(name: &str, value: &str) -> Vec<u8> {
    let rest = name.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    format!("{length} {name}={value}\n").into_bytes()
}

/// What extensions say of the next file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Extended {
    pub path: Option<String>,
    pub size_bytes: Option<u64>,
    pub content_type: Option<String>,
    pub metadata: Vec<(String, String)>,
}

impl Extended {
    pub fn parse(records: &[u8]) -> Result<Self, Error> {
        let mut extended = Self::default();
        for record in PaxExtensions::new(records) {
            let record = record.map_err(|_| wrong("an extended header is malformed"))?;
            let utf8 = |_| wrong("an extended header is not UTF-8");
            let name = record.key().map_err(utf8)?;
            let value = || record.value().map(str::to_owned).map_err(utf8);
            match name {
                "path" => extended.path = Some(value()?),
                "size" => {
                    let size = value()?.parse().map_err(|_| {
                        wrong(format!(
                            "the size {} is no number",
                            shown(&value().unwrap_or_default())
                        ))
                    })?;
                    extended.size_bytes = Some(size);
                }
                CONTENT_TYPE => extended.content_type = Some(value()?),
                name if name.starts_with("GNU.sparse.") => {
                    return Err(wrong("it holds a sparse file; make it without --sparse"));
                }
                name => {
                    if let Some(name) = name.strip_prefix(METADATA) {
                        extended.metadata.push((name.to_owned(), value()?));
                    }
                }
            }
        }
        Ok(extended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_count_themselves() {
        assert_eq!(record("a", "b"), b"6 a=b\n");
        // 7 more bytes make it two digits, which is one more.
        assert_eq!(record("path", "ab"), b"11 path=ab\n");
        for length in 0..1_200 {
            let record = record("path", &"x".repeat(length));
            let text = String::from_utf8(record).expect("UTF-8");
            let (said, _) = text.split_once(' ').expect("a length");
            assert_eq!(said, text.len().to_string());
        }
    }

    #[test]
    fn only_what_needs_it_is_extended() {
        let head = |path: &str, size_bytes| {
            let path = path.to_owned();
            blocks(&Head {
                path,
                size_bytes,
                ..Head::default()
            })
            .len()
        };
        assert_eq!(head("users/a/meta.json", FIELD_BYTES_MAX), 512);
        assert_eq!(head("users/a/meta.json", FIELD_BYTES_MAX + 1), 1_536);
        assert_eq!(head("users/a/é", 0), 1_536);
        assert_eq!(head(&"x".repeat(100), 0), 512);
        assert_eq!(head(&"x".repeat(101), 0), 1_536);
    }
}
