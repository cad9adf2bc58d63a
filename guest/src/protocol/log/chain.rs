//! A log's folded entries, read from the end backwards: the head, then the sealed pieces that its
//! metadata name, then those that theirs name. Loads no more than asked for.

use super::Log;
use super::head::HeadMetadata;
use super::pending::Head;
use crate::format::entries::Entry;
use crate::layout::log::SealedName;
use crate::limits::{LOG_TAIL_BYTES, VALUE_BYTES_MAX};
use crate::store::{
    Answer, Blob, BodyKind, GetRequest, Range, Request, StoreErrorCode, StoreResult,
};
use crate::types::{Problem, ProblemKind, Result};

/// One object of the chain, as far as it was read.
#[derive(Debug, Clone)]
pub struct Piece {
    /// None for the head.
    pub name: Option<SealedName>,
    /// The number of its first entry.
    pub first: u64,
    /// Offset at which reading began, from where it goes backwards.
    pub end: u64,
    /// Offset of the first byte of `loaded`.
    pub start: u64,
    /// The bytes from `start` to `end`.
    pub loaded: Vec<u8>,
    /// The pieces before it; none until it was read.
    previous: Option<Vec<SealedName>>,
    version: String,
}

impl Piece {
    /// A sealed piece of which nothing is read yet; `end` none means all of it.
    pub fn sealed(name: SealedName, end: Option<u64>) -> Self {
        let end = end.unwrap_or(u64::MAX);
        Self {
            first: name.first.get(),
            name: Some(name),
            end,
            start: end,
            loaded: Vec::new(),
            previous: None,
            version: String::new(),
        }
    }

    /// A head whose end is read. One from elsewhere is numbered as the fold that seals it will.
    pub fn head(head: &Head, previous: Vec<SealedName>) -> Self {
        let after = previous.first().map_or(0, |name| name.first.get() + 1);
        let metadata = head.metadata.as_ref();
        Self {
            name: None,
            first: metadata.map_or(after, |metadata| metadata.first),
            end: head.stat.size_bytes,
            start: head.start,
            loaded: head.tail.clone(),
            previous: Some(previous),
            version: head.stat.version.clone(),
        }
    }

    /// The same, without what lies behind `end`.
    pub fn before(mut self, end: u64) -> Self {
        let kept = usize::try_from(end.saturating_sub(self.start)).unwrap_or(usize::MAX);
        self.loaded.truncate(kept);
        self.start = self.start.min(end);
        self.end = end;
        self
    }

    pub fn key(&self, log: &Log<'_>) -> String {
        match &self.name {
            Some(name) => log.keys.sealed(name),
            None => log.keys.head().to_owned(),
        }
    }

    /// What is loaded, from the first whole entry on.
    fn footed(&self, log: &Log<'_>) -> &[u8] {
        let footing = match self.start {
            0 => Some(0),
            _ => log.format.footing(&self.loaded),
        };
        let footed = footing.and_then(|footing| self.loaded.get(footing..));
        footed.unwrap_or_default()
    }

    /// What goes before the next entry, by what is loaded.
    pub fn separator(&self, log: &Log<'_>) -> &'static [u8] {
        log.format.separator(match self.footed(log) {
            [] => &self.loaded,
            footed => footed,
        })
    }

    /// Its whole entries that are loaded, with their offsets in the object.
    pub fn entries<'p>(&'p self, log: &Log<'_>) -> Vec<(u64, Entry<'p>)> {
        let footed = self.footed(log);
        let begin = self.loaded.as_ptr() as usize;
        let offset = |entry: &Entry<'_>| {
            let within = (entry.bytes.as_ptr() as usize).saturating_sub(begin);
            self.start + within as u64
        };
        let entries = log.format.entries(footed).into_iter();
        entries.map(|entry| (offset(&entry), entry)).collect()
    }
}

/// Pieces newest first, each but the last read to its beginning.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    pub pieces: Vec<Piece>,
    pub problems: Vec<Problem>,
    /// Set when the head changed while it was read: begin again.
    pub moved: bool,
    /// A sealed piece that is named and not there: nothing before it can be read.
    broken: bool,
}

impl Chain {
    pub fn of(piece: Option<Piece>) -> Self {
        Self {
            pieces: piece.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Whether nothing could be read, because the first piece is not there.
    pub fn is_missing(&self) -> bool {
        self.broken && self.pieces.iter().all(|piece| piece.end == 0)
    }

    /// Whether there is more before what is loaded.
    pub fn has_older(&self) -> bool {
        self.pieces.last().is_some_and(|oldest| {
            oldest.start > 0
                || (!self.broken && oldest.previous.as_ref().is_none_or(|p| !p.is_empty()))
        })
    }

    /// Read back until `entries` entries are loaded, or `bytes`, or there are no more. `riders` go along
    /// with the first wave, which there is one of for them alone if need be; their answers come back.
    pub fn load(
        &mut self,
        log: &Log<'_>,
        entries: usize,
        bytes: u64,
        riders: Vec<Request>,
    ) -> Result<Vec<StoreResult<Answer>>> {
        let mut riders = Some(riders);
        let mut ridden = Vec::new();
        loop {
            let plan = self.plan(log, entries, bytes);
            let along = riders.take().unwrap_or_default();
            if plan.is_empty() && along.is_empty() {
                return Ok(ridden);
            }
            let mut wave: Vec<Request> = plan.iter().map(|part| part.request.clone()).collect();
            wave.extend(along);
            let mut answers = log.store.read(wave)?;
            let rest = answers.split_off(plan.len().min(answers.len()));
            if ridden.is_empty() {
                ridden = rest;
            }
            for (part, answer) in plan.into_iter().zip(answers) {
                self.take(log, part, answer)?;
            }
            if self.moved {
                return Ok(ridden);
            }
        }
    }

    /// What to ask for next: more of the oldest piece, or the pieces before it.
    fn plan(&self, log: &Log<'_>, entries: usize, bytes: u64) -> Vec<Part> {
        let loaded: usize = self.pieces.iter().map(|piece| piece.loaded.len()).sum();
        let counts = self.pieces.iter();
        let have: usize = counts
            .map(|piece| log.format.count(piece.footed(log)))
            .sum();
        let enough = have >= entries || (have > 0 && loaded as u64 >= bytes);
        if enough || loaded as u64 >= ENTRY_BYTES_MAX || !self.has_older() {
            return Vec::new();
        }
        let Some(oldest) = self.pieces.last() else {
            return Vec::new();
        };
        let wanted = entries - have;
        let left = bytes.saturating_sub(loaded as u64);
        let guess = guess_bytes(loaded, have, wanted).min(left.max(LOG_TAIL_BYTES));
        if oldest.start > 0 || oldest.previous.is_none() {
            // An entry longer than all that is loaded of its piece: look further each time.
            let length = guess.max(oldest.loaded.len() as u64).min(VALUE_BYTES_MAX);
            return vec![Part::of(oldest, length, log)];
        }
        let mut missing = wanted as u64;
        let mut newer = oldest.first;
        let mut parts = Vec::new();
        for name in oldest.previous.iter().flatten() {
            if missing == 0 {
                break;
            }
            let piece = Piece::sealed(name.clone(), None);
            parts.push(Part::of(&piece, guess.min(LOG_TAIL_BYTES), log));
            missing = missing.saturating_sub(newer.saturating_sub(piece.first).max(1));
            newer = piece.first;
        }
        parts
    }

    fn take(&mut self, log: &Log<'_>, part: Part, answer: StoreResult<Answer>) -> Result<()> {
        let blob = match answer {
            Ok(Answer::Blob(blob)) => blob,
            Ok(_) => None,
            Err(error) if error.code == StoreErrorCode::Conflict => None,
            Err(error) => return Err(error.about(&part.key)),
        };
        let gap = self.pieces.last().is_some_and(|oldest| oldest.start > 0);
        let known = self.pieces.last_mut().filter(|p| p.name == part.piece.name);
        let Some(blob) = blob else {
            if part.piece.name.is_none() {
                self.moved = true;
            } else if !self.broken {
                self.broken = true;
                let message =
                    "older entries lie in it, and it is not there: restore it from a backup";
                let problem = Problem::new(ProblemKind::Unreadable, part.key, message);
                self.problems.push(problem);
            }
            if let Some(piece) = known.filter(|piece| piece.name.is_some()) {
                // There is no more of it to ask for.
                (piece.start, piece.end) = (0, 0);
                piece.loaded.clear();
            }
            return Ok(());
        };
        match known {
            Some(piece) => {
                let changed = !piece.version.is_empty() && piece.version != blob.stat.version;
                if part.piece.name.is_none() && changed {
                    self.moved = true;
                    return Ok(());
                }
                piece.prepend(log, blob)?;
            }
            // Nothing can be put before a gap: a missing piece, or one that is longer than was guessed.
            None if self.broken || gap => {}
            None => {
                let mut piece = part.piece;
                piece.prepend(log, blob)?;
                self.pieces.push(piece);
            }
        }
        Ok(())
    }
}

impl Piece {
    /// Put `blob`, the bytes that end where the loaded ones begin, in front of them.
    fn prepend(&mut self, log: &Log<'_>, blob: Blob) -> Result<()> {
        let size = blob.stat.size_bytes;
        if self.end > size {
            (self.end, self.start) = (size, size);
        }
        if self.previous.is_none() {
            let key = self.key(log);
            let metadata = HeadMetadata::parse(&key, &blob.stat.metadata)?;
            self.previous = Some(metadata.unwrap_or_default().previous);
            self.version = blob.stat.version;
        }
        let mut bytes = blob.body.into_bytes();
        self.start = self.start.saturating_sub(bytes.len() as u64);
        bytes.append(&mut self.loaded);
        self.loaded = bytes;
        Ok(())
    }
}

/// An entry that is longer cannot be read; only a file from elsewhere has one.
const ENTRY_BYTES_MAX: u64 = 2 * VALUE_BYTES_MAX;

/// A request for bytes of a piece.
struct Part {
    piece: Piece,
    key: String,
    request: Request,
}

impl Part {
    /// The `length` bytes before what is loaded of `piece`.
    fn of(piece: &Piece, length: u64, log: &Log<'_>) -> Self {
        let key = piece.key(log);
        let range = if piece.start == u64::MAX {
            Range::Last(length)
        } else {
            let start = piece.start.saturating_sub(length);
            Range::Span {
                start_bytes: start,
                length_bytes: piece.start - start,
            }
        };
        Self {
            request: Request::Get(GetRequest {
                key: key.clone(),
                range,
                kind: BodyKind::Binary,
            }),
            piece: piece.clone(),
            key,
        }
    }
}

/// Bytes in which `wanted` more entries should lie, by those that are loaded, and a quarter more.
fn guess_bytes(loaded_bytes: usize, loaded_entries: usize, wanted: usize) -> u64 {
    if loaded_entries == 0 {
        return LOG_TAIL_BYTES;
    }
    let each = loaded_bytes as u64 / loaded_entries as u64 + 1;
    let guess = each.saturating_mul(wanted as u64);
    (guess + guess / 4 + 1_024).min(VALUE_BYTES_MAX)
}
