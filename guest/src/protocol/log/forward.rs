//! A closed log from its beginning: the sealed pieces in order, then the head, in runs of bounded size. What
//! is missing in between is an error, because nothing may be archived without it. Knows no system.

use std::collections::BTreeMap;

use super::Log;
use super::cursor::Cursor;
use super::head::HeadMetadata;
use crate::layout::log::SealedName;
use crate::limits::{LOG_PIECES_MAX, VALUE_BYTES_MAX};
use crate::store::{Answer, Blob, BodyKind, GetRequest, Range, Request};
use crate::types::{Error, ErrorCode, Result};

/// Where an entry stands: the number of the first entry of its object, and the offset in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub first: u64,
    pub offset_bytes: u64,
}

impl Position {
    /// Where the entries begin of a page whose `before` this is; none is the beginning. None for a page of
    /// pending entries.
    pub fn of_page(before: Option<&str>) -> Result<Option<Self>> {
        let Some(before) = before else {
            return Ok(Some(Self {
                first: 0,
                offset_bytes: 0,
            }));
        };
        Ok(match Cursor::parse(before)? {
            Cursor::Folded {
                first, end_bytes, ..
            } => Some(Self {
                first,
                offset_bytes: end_bytes,
            }),
            Cursor::Pending { .. } => None,
        })
    }

    pub fn to_text(self) -> String {
        format!("{}.{}", self.first, self.offset_bytes)
    }

    /// `invalid` for what is no position.
    pub fn parse(text: &str) -> Result<Self> {
        let parts = text.split_once('.');
        let position = parts.and_then(|(first, offset)| {
            Some(Self {
                first: first.parse().ok()?,
                offset_bytes: offset.parse().ok()?,
            })
        });
        position.ok_or_else(|| {
            let shown: String = text.chars().take(80).collect();
            Error::invalid(format!("{shown:?} is no position in a log"))
        })
    }
}

/// An entry, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardEntry {
    pub position: Position,
    pub id: Option<String>,
    /// Without the line end.
    pub content: Vec<u8>,
    pub problem: Option<&'static str>,
}

/// Some entries in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForwardRun {
    pub entries: Vec<ForwardEntry>,
    /// Where the next run begins; none when this was the last.
    pub next: Option<Position>,
}

/// An object of the log.
struct Stored {
    key: String,
    first: u64,
    size_bytes: u64,
}

/// A closed log's objects, oldest first.
pub struct Forward<'a> {
    log: Log<'a>,
    stored: Vec<Stored>,
}

impl<'a> Forward<'a> {
    /// None when the log is not there any more.
    pub fn of(log: Log<'a>) -> Result<Option<Self>> {
        let key = log.keys.head();
        let Some(stat) = log.store.head(key)? else {
            return Ok(None);
        };
        let metadata = HeadMetadata::parse(key, &stat.metadata)?;
        let sealed = sealed_of(&log)?;
        // A head from elsewhere stands behind all that is sealed.
        let after = sealed.last_key_value().map_or(0, |(first, _)| first + 1);
        let mut stored = vec![Stored {
            key: key.to_owned(),
            first: metadata.as_ref().map_or(after, |metadata| metadata.first),
            size_bytes: stat.size_bytes,
        }];
        let mut newer = metadata;
        for (first, names) in sealed.into_iter().rev() {
            if stored.last().is_none_or(|newer| first >= newer.first) {
                continue;
            }
            let Some((name, size_bytes)) = choose(&log, names, newer.as_ref(), &stored)? else {
                continue;
            };
            newer = None;
            stored.push(Stored {
                key: log.keys.sealed(&name),
                first,
                size_bytes,
            });
        }
        stored.reverse();
        match stored.first() {
            Some(oldest) if oldest.first > 0 => Err(missing(&log, 0, oldest.first)),
            _ => Ok(Some(Self { log, stored })),
        }
    }

    /// The entries from `position` on, none is the beginning: at most `bytes_max` bytes of them, and at
    /// least one. `too-large` for an entry over 8 MiB.
    pub fn run_at(&self, position: Option<Position>, bytes_max: u64) -> Result<ForwardRun> {
        let mut span_bytes = bytes_max.clamp(1, VALUE_BYTES_MAX);
        loop {
            let run = self.run_of(position, span_bytes, bytes_max)?;
            let begin = position.unwrap_or(Position {
                first: 0,
                offset_bytes: 0,
            });
            if !run.entries.is_empty() || run.next != Some(begin) {
                return Ok(run);
            }
            // One entry that is longer than the span.
            if span_bytes == VALUE_BYTES_MAX {
                let at = run.next.map(Position::to_text).unwrap_or_default();
                let key = self.log.keys.head();
                return Err(Error::too_large(format!(
                    "{key}: the entry at {at} is longer than {VALUE_BYTES_MAX} bytes; shorten it by hand"
                ))
                .at(key));
            }
            span_bytes = (span_bytes * 2).min(VALUE_BYTES_MAX);
        }
    }

    fn run_of(
        &self,
        position: Option<Position>,
        span_bytes: u64,
        bytes_max: u64,
    ) -> Result<ForwardRun> {
        let spans = self.spans(position, span_bytes)?;
        let wave = spans.iter().map(|(stored, from, length)| {
            Request::Get(GetRequest {
                key: stored.key.clone(),
                range: Range::Span {
                    start_bytes: *from,
                    length_bytes: *length,
                },
                kind: BodyKind::Binary,
            })
        });
        let answers = self.log.store.read(wave.collect())?;
        let mut run = ForwardRun::default();
        let mut bytes = 0;
        for ((stored, from, length), answer) in spans.iter().zip(answers) {
            let blob = match answer.map_err(|error| error.about(&stored.key))? {
                Answer::Blob(Some(blob)) => blob,
                _ => return Err(missing(&self.log, stored.first, stored.first)),
            };
            self.check_next(stored, &blob)?;
            let ends = from + length >= stored.size_bytes;
            let whole = blob.body.as_bytes();
            let cut = match ends {
                true => whole.len(),
                false => whole
                    .iter()
                    .rposition(|byte| *byte == b'\n')
                    .map_or(0, |at| at + 1),
            };
            let whole = whole.get(..cut).unwrap_or_default();
            for entry in self.log.format.entries(whole) {
                let within =
                    (entry.bytes.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
                let at = Position {
                    first: stored.first,
                    offset_bytes: from + within as u64,
                };
                bytes += entry.bytes.len() as u64;
                if bytes > bytes_max && !run.entries.is_empty() {
                    run.next = Some(at);
                    return Ok(run);
                }
                run.entries.push(ForwardEntry {
                    position: at,
                    content: entry.content.to_vec(),
                    id: entry.id,
                    problem: entry.problem,
                });
            }
            if !ends {
                run.next = Some(Position {
                    first: stored.first,
                    offset_bytes: from + cut as u64,
                });
                return Ok(run);
            }
        }
        let read = spans.last().map(|(stored, _, _)| stored.first);
        let behind = self.stored.iter().find(|stored| Some(stored.first) > read);
        run.next = behind.map(|stored| Position {
            first: stored.first,
            offset_bytes: 0,
        });
        Ok(run)
    }

    /// Which bytes of which objects make the next run.
    fn spans(&self, position: Option<Position>, bytes: u64) -> Result<Vec<(&Stored, u64, u64)>> {
        let from = position.unwrap_or(Position {
            first: 0,
            offset_bytes: 0,
        });
        let begin = self
            .stored
            .iter()
            .position(|stored| stored.first == from.first);
        let begin = begin.ok_or_else(|| missing(&self.log, from.first, from.first))?;
        let mut offset = from.offset_bytes;
        let mut left = bytes;
        let mut spans = Vec::new();
        for stored in self.stored.get(begin..).unwrap_or_default() {
            let length = stored.size_bytes.saturating_sub(offset).min(left);
            spans.push((stored, offset, length));
            left -= length;
            if left == 0 || spans.len() == SPANS_MAX {
                break;
            }
            offset = 0;
        }
        Ok(spans)
    }

    /// That the object behind this one begins no later than this one ends.
    fn check_next(&self, stored: &Stored, blob: &Blob) -> Result<()> {
        let next = self.stored.iter().find(|other| other.first > stored.first);
        let metadata = HeadMetadata::parse(&stored.key, &blob.stat.metadata)?;
        if let (Some(next), Some(metadata)) = (next, metadata) {
            let end = metadata.first + metadata.entries.max(1);
            if next.first > end {
                return Err(missing(&self.log, end, next.first));
            }
        }
        Ok(())
    }
}

/// Objects of one run: far below what a wave takes.
const SPANS_MAX: usize = 64;

type Sealed = BTreeMap<u64, Vec<(SealedName, u64)>>;

/// All sealed pieces, with their sizes, by the number of their first entry.
fn sealed_of(log: &Log<'_>) -> Result<Sealed> {
    let prefix = log.keys.old_prefix();
    let mut sealed = Sealed::new();
    log.store.each_page(&prefix, |listing| {
        for entry in listing.entries {
            if let Some(name) = log.keys.parse_sealed(&entry.key) {
                let names = sealed.entry(name.first.get()).or_default();
                names.push((name, entry.size_bytes));
            }
        }
        if sealed.len() > LOG_PIECES_MAX {
            return Err(Error::too_large(format!(
                "{prefix} holds over {LOG_PIECES_MAX} pieces of one log"
            ))
            .at(&prefix));
        }
        Ok(())
    })?;
    Ok(sealed)
}

/// Of several pieces with one first entry, which only races leave, the one that the next piece names.
fn choose(
    log: &Log<'_>,
    mut names: Vec<(SealedName, u64)>,
    newer: Option<&HeadMetadata>,
    stored: &[Stored],
) -> Result<Option<(SealedName, u64)>> {
    if names.len() < 2 {
        return Ok(names.pop());
    }
    let mut previous = newer.map(|metadata| metadata.previous.clone());
    if let (None, Some(next)) = (&previous, stored.last())
        && let Some(stat) = log.store.head(&next.key)?
    {
        let metadata = HeadMetadata::parse(&next.key, &stat.metadata)?;
        previous = metadata.map(|metadata| metadata.previous);
    }
    let previous = previous.unwrap_or_default();
    let named = names.iter().find(|(name, _)| previous.contains(name));
    Ok(named.or(names.last()).cloned())
}

fn missing(log: &Log<'_>, from: u64, to: u64) -> Error {
    let key = log.keys.head();
    Error::new(
        ErrorCode::Conflict,
        format!(
            "{key}: the piece with the entries from {from} to {to} is not there; nothing was deleted: restore it \
             from a backup, and call again"
        ),
    )
    .at(key)
}
