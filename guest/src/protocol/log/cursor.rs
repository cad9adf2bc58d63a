//! Where a page of history ended, as an opaque word: by offset in an object of the chain, whose bytes
//! never change, or by a pending entry, which may be folded meanwhile.

use super::hash96;
use crate::layout::field::{Field, SegmentHash, SegmentMs};
use crate::layout::log::{SealedName, SegmentName};
use crate::types::{Error, Result};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cursor {
    /// Entries before `end_bytes` of the object that begins with entry `first`. Without a name it was the
    /// head; it may be sealed by now.
    Folded {
        first: u64,
        name: Option<SealedName>,
        end_bytes: u64,
    },
    /// Entries before this one, which was pending in this segment.
    Pending { segment: SegmentName, entry: String },
}

impl Cursor {
    pub fn to_text(&self) -> String {
        match self {
            Self::Folded {
                first,
                name: None,
                end_bytes,
            } => format!("h.{first}.{end_bytes}"),
            Self::Folded {
                name: Some(name),
                end_bytes,
                ..
            } => format!("s.{}.{end_bytes}", name.to_text()),
            Self::Pending { segment, entry } => {
                let (ms, hash) = (segment.ms.to_value(), segment.hash.to_value());
                format!("p.{ms}.{hash}.{entry}")
            }
        }
    }

    /// `invalid` for what no page gave.
    pub fn parse(text: &str) -> Result<Self> {
        let parts: Vec<&str> = text.split('.').collect();
        let number = |text: &str| text.parse::<u64>().ok();
        let parsed = match parts.as_slice() {
            ["h", first, end] => number(first).zip(number(end)).map(|(first, end_bytes)| {
                let name = None;
                Self::Folded {
                    first,
                    name,
                    end_bytes,
                }
            }),
            ["s", name, end] => {
                SealedName::from_text(name)
                    .zip(number(end))
                    .map(|(name, end_bytes)| Self::Folded {
                        first: name.first.get(),
                        name: Some(name),
                        end_bytes,
                    })
            }
            ["p", ms, hash, entry] => SegmentMs::from_value(ms)
                .ok()
                .zip(SegmentHash::from_value(hash).ok())
                .map(|(ms, hash)| Self::Pending {
                    segment: SegmentName { ms, hash },
                    entry: (*entry).to_owned(),
                }),
            _ => None,
        };
        parsed.ok_or_else(|| {
            Error::invalid(format!(
                "{:?} is no cursor of this log; pass the one that a page gave, or none for the newest entries",
                text.chars().take(80).collect::<String>()
            ))
        })
    }
}

/// How a cursor names an entry, whether it has an id or not.
pub fn entry_hash(content: &[u8]) -> String {
    hash96(&[content])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back() -> Result<()> {
        let hash = "0123456789abcdef01234567";
        for cursor in [
            Cursor::Folded {
                first: 7,
                name: None,
                end_bytes: 9,
            },
            Cursor::Folded {
                first: 64,
                name: Some(SealedName::new(64, hash)?),
                end_bytes: 0,
            },
            Cursor::Pending {
                segment: SegmentName::new(1_700_000_000_000, hash)?,
                entry: entry_hash(b"{}"),
            },
        ] {
            assert_eq!(Cursor::parse(&cursor.to_text())?, cursor);
        }
        for wrong in ["", "h", "h.1", "h.x.1", "s.1.2", "p.1.2.3", "h.1.2.3", "é"] {
            assert!(Cursor::parse(wrong).is_err(), "{wrong}");
        }
        Ok(())
    }
}
