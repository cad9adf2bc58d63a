//! How long a log is: its entries, its bytes, its ends. Only what is folded, and only what an earlier
//! measure has not seen; a piece from elsewhere is never read to count it.

use std::collections::BTreeMap;

use super::Log;
use super::chain::Piece;
use super::head::HeadMetadata;
use super::pending::Glance;
use crate::limits::{CHAT_BEGIN_BYTES, CHAT_END_BYTES, VALUE_BYTES_MAX, WAVE_REQUESTS_MAX};
use crate::store::{Answer, BodyKind, Entry, GetRequest, ListRequest, Range, Request};
use crate::types::{Error, ErrorCode, Result};

use super::read::ReadOptions;

/// What does not change any more of a log: so many bytes and entries in front of entry `first`. Without
/// `first` it is the beginning of a single file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settled {
    pub first: Option<u64>,
    pub bytes: u64,
    /// None where they were not counted.
    pub entries: Option<u64>,
}

/// A log, as it was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    pub bytes: u64,
    /// None where part of it comes from elsewhere and was not read.
    pub entries: Option<u64>,
    /// The content of the last entry.
    pub last: Option<Vec<u8>>,
    /// Where its first entry lies; known only where nothing was settled before.
    pub begin: Option<String>,
    /// For the next measure.
    pub settled: Settled,
}

impl Log<'_> {
    /// Measure what is folded. A single file is counted by `is_counted`, up to `counted_bytes_max` of it; elsewhere
    /// all entries count. None when there is no log.
    pub fn measure(
        &self,
        settled: Option<Settled>,
        counted_bytes_max: u64,
        is_counted: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Measured>> {
        let glance = Glance::at(self, CHAT_END_BYTES)?;
        let single = glance.is_single(self);
        // What was settled in the one form says nothing about the other.
        let settled = settled.filter(|settled| settled.first.is_none() == single);
        let Some(head) = &glance.head else {
            return Ok(None);
        };
        let mut measured = match single {
            true => {
                self.measure_file(head.stat.size_bytes, settled, counted_bytes_max, is_counted)?
            }
            false => self.measure_chain(&glance, settled)?,
        };
        let tail = Piece::head(head, Vec::new());
        let entries = tail.entries(self);
        measured.last = match entries.last() {
            Some((_, entry)) => Some(entry.content.to_vec()),
            // Longer than the tail, or the head is empty.
            None => self.last_entry()?,
        };
        Ok(Some(measured))
    }

    /// What `Log::measure` found the first entry in, as far as it is read.
    pub fn first_entry(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let blob = self.store.get(GetRequest {
            key: key.to_owned(),
            range: Range::Span {
                start_bytes: 0,
                length_bytes: CHAT_BEGIN_BYTES,
            },
            kind: BodyKind::Binary,
        })?;
        let bytes = blob.map(|blob| blob.body.into_bytes()).unwrap_or_default();
        let entries = self.format.entries(&bytes);
        Ok(entries.first().map(|entry| entry.content.to_vec()))
    }

    fn last_entry(&self) -> Result<Option<Vec<u8>>> {
        let page = self.read(&ReadOptions {
            entries_max: 1,
            bytes_max: 1,
            before: None,
        })?;
        Ok(page.entries.into_iter().last().map(|entry| entry.content))
    }

    /// Count the lines behind those that are settled.
    fn measure_file(
        &self,
        size_bytes: u64,
        settled: Option<Settled>,
        counted_bytes_max: u64,
        is_counted: impl Fn(&[u8]) -> bool,
    ) -> Result<Measured> {
        let known = settled.filter(|settled| settled.bytes <= size_bytes);
        let mut now = known.unwrap_or(Settled {
            entries: Some(0),
            ..Settled::default()
        });
        if size_bytes - now.bytes > counted_bytes_max {
            now.entries = None;
        }
        let mut entries = now.entries;
        let mut length_bytes = VALUE_BYTES_MAX / 2;
        while let Some(count) = now.entries.filter(|_| now.bytes < size_bytes) {
            let length = length_bytes.min(size_bytes - now.bytes);
            let blob = self.store.get(GetRequest {
                key: self.keys.head().to_owned(),
                range: Range::Span {
                    start_bytes: now.bytes,
                    length_bytes: length,
                },
                kind: BodyKind::Binary,
            })?;
            let bytes = blob.map(|blob| blob.body.into_bytes()).unwrap_or_default();
            let whole = bytes
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
            let (lines, rest) = bytes.split_at(whole.min(bytes.len()));
            let count_of = |bytes: &[u8]| {
                let entries = self.format.entries(bytes);
                entries
                    .iter()
                    .filter(|entry| is_counted(entry.content))
                    .count() as u64
            };
            now.entries = Some(count + count_of(lines));
            now.bytes += whole as u64;
            entries = now.entries;
            if now.bytes + rest.len() as u64 >= size_bytes {
                // A last line without an end counts, and is looked at again the next time.
                entries = entries.map(|entries| entries + count_of(rest));
                break;
            }
            if whole == 0 && length_bytes < VALUE_BYTES_MAX {
                length_bytes = VALUE_BYTES_MAX;
            } else if whole == 0 {
                // A line that is longer than can be read, or a file that was cut meanwhile.
                (now.entries, entries) = (None, None);
            }
        }
        Ok(Measured {
            bytes: size_bytes,
            entries,
            last: None,
            begin: known.is_none().then(|| self.keys.head().to_owned()),
            settled: match now.entries {
                Some(_) => now,
                None => Settled {
                    bytes: size_bytes,
                    ..Settled::default()
                },
            },
        })
    }

    /// Add up the sealed pieces behind those that are settled, and the head.
    fn measure_chain(&self, glance: &Glance, settled: Option<Settled>) -> Result<Measured> {
        let head = glance.metadata();
        let size_bytes = glance.head.as_ref().map_or(0, |head| head.stat.size_bytes);
        let before = head.map_or(u64::MAX, |head| head.first);
        let known = settled.filter(|known| known.first.is_some_and(|first| first <= before));
        let from = known.and_then(|known| known.first).unwrap_or_default();
        let sealed = self.sealed_between(from, before)?;
        let mut now = known.unwrap_or(Settled {
            entries: Some(0),
            ..Settled::default()
        });
        now.bytes += sealed.values().map(|entry| entry.size_bytes).sum::<u64>();
        let Some(head) = head else {
            // A head from elsewhere: only its bytes are known.
            return Ok(Measured {
                bytes: now.bytes + size_bytes,
                entries: None,
                last: None,
                begin: known.is_none().then(|| self.begin(&sealed)),
                settled: known.unwrap_or(Settled {
                    first: Some(0),
                    ..Settled::default()
                }),
            });
        };
        let counted = self.are_counted(&sealed, before)?;
        now.entries = now.entries.filter(|_| counted).map(|n| n + (before - from));
        now.first = Some(before);
        Ok(Measured {
            bytes: now.bytes + size_bytes,
            entries: now.entries.map(|entries| entries + head.entries),
            last: None,
            begin: known.is_none().then(|| self.begin(&sealed)),
            settled: now,
        })
    }

    fn begin(&self, sealed: &Sealed) -> String {
        let first = sealed.values().next().map(|entry| entry.key.clone());
        first.unwrap_or_else(|| self.keys.head().to_owned())
    }

    /// The sealed pieces by their first entry; of two with the same one, that which was written last.
    fn sealed_between(&self, from: u64, before: u64) -> Result<Sealed> {
        let mut sealed = Sealed::new();
        if from >= before {
            return Ok(sealed);
        }
        let mut list = ListRequest {
            prefix: self.keys.old_prefix(),
            start_after: (from > 0)
                .then(|| self.keys.sealed_before(from))
                .transpose()?,
            ..ListRequest::default()
        };
        loop {
            let listing = self.store.list(list.clone())?;
            for entry in listing.entries {
                let Some(name) = self.keys.parse_sealed(&entry.key) else {
                    continue;
                };
                let first = name.first.get();
                let newer = sealed
                    .get(&first)
                    .is_none_or(|there| there.modified_ms < entry.modified_ms);
                if (from..before).contains(&first) && newer {
                    sealed.insert(first, entry);
                }
            }
            list.cursor = listing.cursor;
            if list.cursor.is_none() {
                return Ok(sealed);
            }
        }
    }

    /// Whether the numbers of these pieces say how many entries they hold. One that comes from elsewhere takes
    /// up one number, whatever it holds.
    fn are_counted(&self, sealed: &Sealed, before: u64) -> Result<bool> {
        let ends = sealed.keys().skip(1).copied().chain([before]);
        let doubtful = sealed
            .iter()
            .zip(ends)
            .filter(|((first, _), end)| **first + 1 == *end)
            .map(|((_, entry), _)| entry.key.clone());
        let doubtful: Vec<String> = doubtful.collect();
        if doubtful.len() > WAVE_REQUESTS_MAX {
            return Ok(false);
        }
        let wave = doubtful.iter().cloned().map(Request::Head).collect();
        let answers = match doubtful.is_empty() {
            true => Vec::new(),
            false => self.store.read(wave)?,
        };
        for (key, answer) in doubtful.iter().zip(answers) {
            let Answer::Head(Some(stat)) = answer.map_err(|error| error.about(key))? else {
                let message = format!("{key} went away while the log was measured; try again");
                return Err(Error::new(ErrorCode::Unavailable, message).at(key));
            };
            let metadata = HeadMetadata::parse(key, &stat.metadata)?;
            if metadata.is_none_or(|metadata| metadata.entries == 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// By their first entry.
type Sealed = BTreeMap<u64, Entry>;
