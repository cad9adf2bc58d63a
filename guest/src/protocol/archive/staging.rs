//! The pieces of an archive while it is made: what each is of stands in its metadata, so that a later
//! call goes on without reading them.

use std::collections::BTreeMap;

use super::{Target, Totals, body};
use crate::format::gzip::Checksum;
use crate::layout::archive::ArchiveKeys;
use crate::limits::{ARCHIVE_FOOTINGS_MAX, WAVE_REQUESTS_MAX};
use crate::store::metadatum;
use crate::store::{Answer, Condition, Metered, PutOptions, Request, Stat};
use crate::types::{Error, ErrorCode, Result};

const FORMAT: &str = "piece-format";
const ORIGIN: &str = "piece-origin";
const CRC32: &str = "piece-crc32";
const RAW_BYTES: &str = "piece-raw-bytes";
const ENTRIES: &str = "piece-entries";
const NEXT: &str = "piece-next";
const FORMAT_NUMBER: &str = "1";

/// The pieces from the first on that are whole and of this origin.
#[derive(Debug, Default)]
pub struct Staged {
    /// Keys in order.
    pub pieces: Vec<String>,
    /// Where each of them ends in what they make together.
    ends_bytes: Vec<u64>,
    pub totals: Totals,
    /// Where the next run begins; none at the beginning, and at the end.
    next: Option<String>,
    ended: bool,
    /// Versions of what lies there from something else, by key: written over at once, because a refused
    /// create-only put would count as a write to the key, and R2 takes one a second.
    leftovers: BTreeMap<String, String>,
}

/// The metadata of a joined run: only of what.
pub fn joined_metadata(origin: &str) -> Vec<(String, String)> {
    [(FORMAT, FORMAT_NUMBER), (ORIGIN, origin)]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

/// What a piece's metadata say.
struct PieceMetadata {
    totals: Totals,
    next: Option<String>,
}

impl PieceMetadata {
    /// None when it is of another origin, or of a format that is not known.
    fn parse(stat: &Stat, origin: &str) -> Option<Self> {
        let find = |wanted: &str| metadatum(&stat.metadata, wanted);
        if find(FORMAT) != Some(FORMAT_NUMBER) || find(ORIGIN) != Some(origin) {
            return None;
        }
        Some(Self {
            totals: Totals {
                checksum: Checksum {
                    crc32: u32::from_str_radix(find(CRC32)?, 16).ok()?,
                    raw_bytes: find(RAW_BYTES)?.parse().ok()?,
                },
                entries: find(ENTRIES)?.parse().ok()?,
            },
            next: find(NEXT).map(str::to_owned),
        })
    }

    fn to_metadata(&self, origin: &str) -> Vec<(String, String)> {
        let mut pairs = vec![
            (FORMAT, FORMAT_NUMBER.to_owned()),
            (ORIGIN, origin.to_owned()),
            (CRC32, format!("{:08x}", self.totals.checksum.crc32)),
            (RAW_BYTES, self.totals.checksum.raw_bytes.to_string()),
            (ENTRIES, self.totals.entries.to_string()),
        ];
        pairs.extend(self.next.clone().map(|next| (NEXT, next)));
        let owned = |(name, value): (&str, String)| (name.to_owned(), value);
        pairs.into_iter().map(owned).collect()
    }
}

impl Staged {
    /// What earlier calls staged.
    pub fn load(store: &Metered<'_>, target: &Target<'_>) -> Result<Self> {
        let mut staged = Self::default();
        let mut is_whole = true;
        for keys in list(store, target)?.chunks(WAVE_REQUESTS_MAX) {
            let heads = keys.iter().map(|key| Request::Head(key.clone())).collect();
            for (key, answer) in keys.iter().zip(store.read(heads)?) {
                let Answer::Head(Some(stat)) = answer.map_err(|error| error.about(key))? else {
                    continue;
                };
                let expected = target.keys.piece(staged.pieces.len())?;
                match PieceMetadata::parse(&stat, target.origin) {
                    Some(metadata) if is_whole && *key == expected && !staged.ended => {
                        staged.push(expected, stat.size_bytes, metadata);
                    }
                    // From the first that is missing or of something else on, pieces are written anew.
                    _ => {
                        is_whole = false;
                        staged.leftovers.insert(key.clone(), stat.version);
                    }
                }
            }
        }
        Ok(staged)
    }

    pub fn is_whole(&self) -> bool {
        self.ended
    }

    pub fn position(&self) -> Option<&str> {
        self.next.as_deref()
    }

    /// Put the next piece: `bytes` are what holds `totals`, and the next run begins at `next`.
    pub fn add(
        &mut self,
        store: &Metered<'_>,
        target: &Target<'_>,
        bytes: Vec<u8>,
        totals: Totals,
        next: Option<String>,
    ) -> Result<()> {
        let key = target.keys.piece(self.pieces.len())?;
        let size_bytes = bytes.len() as u64;
        let metadata = PieceMetadata { totals, next };
        let leftover = self.leftovers.remove(&key);
        let mut condition = leftover.map_or(Condition::IfAbsent, Condition::IfMatch);
        for _ in 0..TRIES_MAX {
            let options = PutOptions {
                condition,
                content_type: None,
                metadata: metadata.to_metadata(target.origin),
            };
            let error = match store.put(&key, body(bytes.clone()), options) {
                Ok(_) => {
                    self.push(key, size_bytes, metadata);
                    return Ok(());
                }
                Err(error) => error,
            };
            if !error.is_unsure() {
                return Err(error.about(&key));
            }
            condition = match store.head(&key)? {
                None => Condition::IfAbsent,
                Some(stat) => match PieceMetadata::parse(&stat, target.origin) {
                    Some(found)
                        if found.totals == metadata.totals && found.next == metadata.next =>
                    {
                        self.push(key, size_bytes, metadata);
                        return Ok(());
                    }
                    // Left from something else.
                    _ => Condition::IfMatch(stat.version),
                },
            };
        }
        Err(Error::new(
            ErrorCode::Conflict,
            format!("{key}: somebody else makes another archive of the same name; try again"),
        )
        .at(key))
    }

    /// Where decoding can begin again: behind pieces, as evenly as so few can stand for all.
    pub fn footings(&self) -> Vec<u64> {
        let inner = self
            .ends_bytes
            .split_last()
            .map_or(&[][..], |(_, inner)| inner);
        let every = inner.len().div_ceil(ARCHIVE_FOOTINGS_MAX).max(1);
        let chosen = inner.iter().skip(every - 1).step_by(every);
        chosen.copied().collect()
    }

    fn push(&mut self, key: String, size_bytes: u64, metadata: PieceMetadata) {
        self.pieces.push(key);
        let end_bytes = self.ends_bytes.last().copied().unwrap_or_default() + size_bytes;
        self.ends_bytes.push(end_bytes);
        let totals = metadata.totals;
        self.totals.checksum = self.totals.checksum.combine(totals.checksum);
        self.totals.entries += totals.entries;
        self.ended = metadata.next.is_none();
        self.next = metadata.next;
    }
}

/// Delete everything that was staged for an archive, joined runs and leftovers included.
pub fn delete_all(store: &Metered<'_>, keys: &ArchiveKeys) -> Result<()> {
    let keys = list_all(store, keys)?;
    for (key, answer) in keys.iter().zip(store.delete(keys.clone())?) {
        answer.map_err(|error| error.about(key))?;
    }
    Ok(())
}

const TRIES_MAX: usize = 8;

/// Keys of staged pieces, in order, joined runs left out.
fn list(store: &Metered<'_>, target: &Target<'_>) -> Result<Vec<String>> {
    let first = target.keys.piece(0)?;
    let keys = list_all(store, target.keys)?;
    Ok(keys.into_iter().filter(|key| *key >= first).collect())
}

fn list_all(store: &Metered<'_>, keys: &ArchiveKeys) -> Result<Vec<String>> {
    let mut found = Vec::new();
    store.each_page(&keys.pieces_prefix()?, |listing| {
        found.extend(listing.entries.into_iter().map(|entry| entry.key));
        Ok(())
    })?;
    Ok(found)
}
