//! Whether two objects are the same: size, content type, metadata and bytes. Writes nothing.

use std::fmt;

use super::read::{Parts, Problem};
use crate::store::Stat;

/// The first thing in which two objects differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// In the source, in the target.
    Size(u64, u64),
    ContentType(Option<String>, Option<String>),
    Metadata,
    Bytes,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |content_type: &Option<String>| match content_type {
            Some(content_type) => format!("{content_type:?}"),
            None => "none".to_owned(),
        };
        match self {
            Difference::Size(from, to) => {
                write!(f, "{from} bytes in the source, {to} in the target")
            }
            Difference::ContentType(from, to) => write!(
                f,
                "content type {} in the source, {} in the target",
                shown(from),
                shown(to)
            ),
            Difference::Metadata => f.write_str("other metadata"),
            Difference::Bytes => f.write_str("other bytes of the same length"),
        }
    }
}

/// What can be seen without reading.
pub fn difference(from: &Stat, to: &Stat) -> Option<Difference> {
    if from.size_bytes != to.size_bytes {
        Some(Difference::Size(from.size_bytes, to.size_bytes))
    } else if known(&from.content_type) != known(&to.content_type) {
        let types = (from.content_type.clone(), to.content_type.clone());
        Some(Difference::ContentType(types.0, types.1))
    } else if folded(&from.metadata) != folded(&to.metadata) {
        Some(Difference::Metadata)
    } else {
        None
    }
}

/// What buckets give to an object that was put without a content type means none.
fn known(content_type: &Option<String>) -> Option<&str> {
    let meaningless = ["application/octet-stream", "binary/octet-stream"];
    content_type
        .as_deref()
        .filter(|content_type| !meaningless.contains(content_type))
}

/// Stores may change the case of names and the order of pairs.
fn folded(metadata: &[(String, String)]) -> Vec<(String, &str)> {
    let pairs = metadata.iter();
    let mut folded: Vec<_> = pairs
        .map(|(name, value)| (name.to_ascii_lowercase(), value.as_str()))
        .collect();
    folded.sort();
    folded
}

/// Whether equal versions, of stores of one kind, prove equal bytes of equal length.
///
/// A version says nothing about another store's unless it is a hash of the content. Those are 32
/// hexadecimal digits: of SHA-256 here, of MD5 in buckets. A bucket's tag of a multipart object
/// (`…-3`) hashes parts whose borders are unknown, and some servers give the same one to all; a disk's
/// version of a large file is its inode and times. Those are read.
pub fn proven(from: &Stat, to: &Stat) -> bool {
    let version = from.version.as_str();
    let is_hash = version.len() == 32 && version.bytes().all(|byte| byte.is_ascii_hexdigit());
    let says_something = version.bytes().any(|byte| byte != b'0');
    is_hash && says_something && version == to.version && from.size_bytes == to.size_bytes
}

/// Read both, side by side, up to the first difference.
pub async fn same_bytes(
    from: &mut Parts<'_>,
    to: &mut Parts<'_>,
    passed: impl Fn(u64),
) -> Result<bool, Problem> {
    if from.stat.size_bytes != to.stat.size_bytes {
        return Ok(false);
    }
    loop {
        match (from.next().await?, to.next().await?) {
            (Some(here), Some(there)) if here == there => passed(here.len() as u64),
            (None, None) => return Ok(true),
            _ => return Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(version: &str) -> Stat {
        Stat {
            version: version.to_owned(),
            content_type: None,
            metadata: Vec::new(),
            size_bytes: 5,
            modified_ms: 0,
        }
    }

    #[test]
    fn only_hashes_of_content_prove_anything() {
        let hash = "0123456789abcdef0123456789ABCDEF";
        for (version, proves) in [
            (hash, true),
            ("", false),
            ("1", false),
            ("0123456789abcdef0123456789abcde", false),
            ("0123456789abcdef0123456789abcdef-2", false),
            ("00000000000000000000000000000000", false),
            ("00000000000000000000000000000000-1", false),
            ("9000000-1700000000000000000-1700000000000000000-7", false),
        ] {
            assert_eq!(proven(&stat(version), &stat(version)), proves, "{version}");
        }
        assert!(!proven(
            &stat(hash),
            &stat("fedcba98765432100123456789abcdef")
        ));
        let longer = Stat {
            size_bytes: 6,
            ..stat(hash)
        };
        assert!(!proven(&stat(hash), &longer));
    }

    #[test]
    fn what_buckets_add_is_no_difference() {
        let typed = |content_type: &str| Stat {
            content_type: Some(content_type.to_owned()),
            ..stat("")
        };
        let marked = |pairs: &[(&str, &str)]| Stat {
            metadata: pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..stat("")
        };
        let none = || stat("");
        for (from, to, same) in [
            (none(), none(), true),
            (none(), typed("application/octet-stream"), true),
            (typed("binary/octet-stream"), none(), true),
            (none(), typed("text/plain"), false),
            (typed("text/plain"), typed("text/plain"), true),
            (typed("text/plain"), typed("text/html"), false),
            (
                marked(&[("sessionKey", "k"), ("a", "1")]),
                marked(&[("a", "1"), ("sessionkey", "k")]),
                true,
            ),
            (marked(&[("a", "1")]), marked(&[("a", "2")]), false),
            (marked(&[("a", "1")]), none(), false),
        ] {
            assert_eq!(difference(&from, &to).is_none(), same, "{from:?} {to:?}");
        }
    }
}
