//! History: a page of entries from the end of the log, or from where the page after it began. Steps as in
//! spec/protocols.md, R1 to R4: two waves, each begun again when a fold came in between.

use std::collections::BTreeMap;

use super::Log;
use super::chain::{Chain, Piece};
use super::cursor::{Cursor, entry_hash};
use super::forward::Position;
use super::pending::{Glance, Segment, get};
use crate::format::entries::Entry;
use crate::layout::log::{SealedName, SegmentName};
use crate::limits::{
    LOG_PAGE_BYTES_MAX, LOG_PAGE_ENTRIES_MAX, LOG_READ_TRIES_MAX, LOG_TAIL_BYTES,
    LOG_WINDOW_ENTRIES, WAVE_BYTES_MAX, WAVE_REQUESTS_MAX,
};
use crate::store::{Answer, Request, Stat, StoreResult};
use crate::types::{Error, ErrorCode, Problem, ProblemKind, Result};

/// How much of the log to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    /// 1 to 1,000; other values are clamped.
    pub entries_max: usize,
    /// At most 8 MiB; a single entry that is larger comes alone.
    pub bytes_max: u64,
    /// The `before` of another page.
    pub before: Option<String>,
}

/// An entry as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    pub id: Option<String>,
    /// As its format compares it: of a line, without the end.
    pub content: Vec<u8>,
    /// Why it is none, where it cannot be read.
    pub problem: Option<&'static str>,
    /// Where it stands for good; none while it is pending.
    pub position: Option<Position>,
}

/// A page of history, oldest entry first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub entries: Vec<LogEntry>,
    /// Where the entries before this page are to be had; none when there are none.
    pub before: Option<String>,
    /// Whether bytes, not the count, ended the page.
    pub bytes_ended: bool,
    pub problems: Vec<Problem>,
}

impl Log<'_> {
    /// The newest entries, or those before a cursor.
    ///
    /// Errors: `invalid` for a cursor of another log, `unavailable` when folds came in between eight times.
    pub fn read(&self, options: &ReadOptions) -> Result<Page> {
        let mut options = options.clone();
        options.entries_max = options.entries_max.clamp(1, LOG_PAGE_ENTRIES_MAX);
        options.bytes_max = options.bytes_max.clamp(1, LOG_PAGE_BYTES_MAX);
        let before = options.before.as_deref().map(Cursor::parse).transpose()?;
        let mut reach = Reach::of(&options);
        let mut tries = 0;
        while tries < LOG_READ_TRIES_MAX {
            let page = match &before {
                Some(Cursor::Folded {
                    first,
                    name,
                    end_bytes,
                }) => self.read_folded(&options, *first, name.as_ref(), *end_bytes)?,
                Some(Cursor::Pending { segment, entry }) => {
                    self.read_newest(&options, &reach, Some((segment, entry)))?
                }
                None => self.read_newest(&options, &reach, None)?,
            };
            match page {
                Outcome::Page(page) => return Ok(page),
                Outcome::Short => reach = reach.farther(self)?,
                Outcome::Moved => tries += 1,
            }
        }
        let key = self.keys.head();
        let message =
            format!("{key} changed {LOG_READ_TRIES_MAX} times while it was read; try again");
        Err(Error::new(ErrorCode::Unavailable, message).at(key))
    }

    fn read_newest(
        &self,
        options: &ReadOptions,
        reach: &Reach,
        before: Option<(&SegmentName, &String)>,
    ) -> Result<Outcome> {
        let glance = Glance::at(self, LOG_TAIL_BYTES)?;
        let single = glance.is_single(self);
        let mut previous = Vec::new();
        if let Some(metadata) = glance.metadata() {
            previous.clone_from(&metadata.previous);
        } else if !single {
            previous = self.newest_sealed(glance.head.as_ref())?.0;
        }
        let mut chain = match &glance.head {
            Some(head) => Chain::of(Some(Piece::head(head, previous))),
            None => Chain::of(previous.into_iter().next().map(|n| Piece::sealed(n, None))),
        };
        let (wanted, all_wanted) = wanted_segments(&glance.pending(), before, reach);
        // Repeats that are pending are known by what is in the window.
        let window = match wanted.is_empty() && before.is_none() {
            true => options.entries_max,
            false => options.entries_max.max(LOG_WINDOW_ENTRIES),
        };
        let mut riders: Vec<Request> = wanted.iter().map(get).collect();
        if !single {
            riders.push(Request::Head(self.keys.head().to_owned()));
        }
        let mut answers = chain.load(self, window, options.bytes_max, riders)?;
        if chain.moved || !(single || is_same_head(&glance, answers.pop())) {
            return Ok(Outcome::Moved);
        }
        let mut bodies = Vec::with_capacity(wanted.len());
        for (segment, answer) in wanted.iter().zip(answers) {
            match answer.map_err(|error| error.about(&segment.key))? {
                Answer::Blob(Some(blob)) => bodies.push(blob.body.into_bytes()),
                _ => return Ok(Outcome::Moved),
            }
        }
        let mut sequence = self.folded_of(&chain);
        let folded = sequence.len();
        self.add_pending(&mut sequence, &wanted, &bodies);
        let mut gap = !all_wanted;
        if let Some((_, entry)) = before {
            let mut items = sequence.iter();
            let found = items.rposition(|item| entry_hash(item.entry.content) == *entry);
            match found {
                Some(at) => {
                    // Folded meanwhile: what lies before it lies in the chain.
                    gap &= at >= folded;
                    sequence.truncate(at);
                }
                None if gap => return Ok(Outcome::Short),
                None => {
                    return Err(Error::invalid(format!(
                        "{}: the entry of this cursor is not near the end any more; begin again without a cursor",
                        self.keys.head()
                    )));
                }
            }
        }
        if gap {
            // Between the chain and these lie segments that were not read.
            sequence.drain(..folded);
        }
        let (mut page, cut) = page_of(sequence, chain.has_older() || gap, options);
        if gap && !cut && page.entries.len() < options.entries_max {
            return Ok(Outcome::Short);
        }
        self.pass_over(&mut page, &chain);
        page.problems
            .extend([glance.problems, chain.problems].concat());
        Ok(Outcome::Page(page))
    }

    /// Entries before an offset of an object that does not change before it.
    fn read_folded(
        &self,
        options: &ReadOptions,
        first: u64,
        name: Option<&SealedName>,
        end_bytes: u64,
    ) -> Result<Outcome> {
        let piece = match name {
            Some(name) => Some(Piece::sealed(name.clone(), Some(end_bytes))),
            None => self.piece_that_begins_at(first, end_bytes)?,
        };
        let nothing = || {
            Error::invalid(format!(
                "{}: this log has no entries before this cursor; is it one of another log?",
                self.keys.head()
            ))
        };
        let piece = piece.ok_or_else(nothing)?;
        let mut chain = Chain::of(Some(piece));
        chain.load(self, options.entries_max, options.bytes_max, Vec::new())?;
        if chain.moved {
            return Ok(Outcome::Moved);
        }
        if chain.is_missing() {
            return Err(nothing());
        }
        let sequence = self.folded_of(&chain);
        let (mut page, _) = page_of(sequence, chain.has_older(), options);
        self.pass_over(&mut page, &chain);
        page.problems.append(&mut chain.problems);
        Ok(Outcome::Page(page))
    }

    /// The head, or the sealed piece that it became, whose first entry has this number.
    fn piece_that_begins_at(&self, first: u64, end_bytes: u64) -> Result<Option<Piece>> {
        let glance = Glance::at(self, LOG_TAIL_BYTES)?;
        let Some(head) = &glance.head else {
            return Ok(None);
        };
        let mut names = match &head.metadata {
            Some(metadata) => metadata.previous.clone(),
            None if glance.is_single(self) => Vec::new(),
            None => self.newest_sealed(Some(head))?.0,
        };
        let piece = Piece::head(head, names.clone());
        if piece.first == first {
            return Ok(Some(piece.before(end_bytes)));
        }
        loop {
            if let Some(name) = names.iter().find(|name| name.first.get() == first) {
                return Ok(Some(Piece::sealed(name.clone(), Some(end_bytes))));
            }
            let Some(oldest) = names.last().filter(|name| name.first.get() > first) else {
                return Ok(None);
            };
            let key = self.keys.sealed(oldest);
            let Some(stat) = self.store.head(&key)? else {
                return Ok(None);
            };
            let metadata = super::head::HeadMetadata::parse(&key, &stat.metadata)?;
            names = metadata.unwrap_or_default().previous;
        }
    }

    /// Say how to go on behind an entry that is too long to be read, of which a page is empty.
    fn pass_over(&self, page: &mut Page, chain: &Chain) {
        let Some(oldest) = chain.pieces.last().filter(|_| page.entries.is_empty()) else {
            return;
        };
        if chain.has_older() && oldest.start > 0 {
            let key = oldest.key(self);
            let message = format!(
                "bytes {} to {} hold no end of an entry: one that is longer than can be read is passed over",
                oldest.start, oldest.end
            );
            page.problems
                .push(Problem::new(ProblemKind::Skipped, key, message));
            let (first, name) = (oldest.first, oldest.name.clone());
            let end_bytes = oldest.start;
            page.before = Some(
                Cursor::Folded {
                    first,
                    name,
                    end_bytes,
                }
                .to_text(),
            );
        }
    }

    /// What is loaded of a chain, oldest entry first.
    fn folded_of<'c>(&self, chain: &'c Chain) -> Vec<Item<'c>> {
        let mut sequence = Vec::new();
        for piece in chain.pieces.iter().rev() {
            for (offset, entry) in piece.entries(self) {
                let at = Cursor::Folded {
                    first: piece.first,
                    name: piece.name.clone(),
                    end_bytes: offset,
                };
                sequence.push(Item { at, entry });
            }
        }
        sequence
    }

    /// Pending entries, each that is not in the sequence yet.
    fn add_pending<'b>(
        &self,
        sequence: &mut Vec<Item<'b>>,
        segments: &[Segment],
        bodies: &'b [Vec<u8>],
    ) {
        let mut contents: BTreeMap<String, Vec<&'b [u8]>> = BTreeMap::new();
        for item in sequence.iter() {
            if let Some(id) = &item.entry.id {
                let there = contents.entry(id.clone()).or_default();
                there.push(item.entry.content);
            }
        }
        for (segment, body) in segments.iter().zip(bodies) {
            for entry in self.format.entries(body) {
                let content = entry.content;
                if let Some(id) = &entry.id {
                    let there = contents.entry(id.clone()).or_default();
                    if there.contains(&content) {
                        continue;
                    }
                    there.push(content);
                }
                let at = Cursor::Pending {
                    segment: segment.name.clone(),
                    entry: entry_hash(content),
                };
                sequence.push(Item { at, entry });
            }
        }
    }
}

/// What came of a try to read a page.
enum Outcome {
    Page(Page),
    /// The log changed in between.
    Moved,
    /// Most of the segments that were read were repeats.
    Short,
}

/// How many segments to look at for a page.
struct Reach {
    segments: usize,
    bytes: u64,
}

impl Reach {
    /// A segment has at least one entry; the one more is the cursor's own.
    fn of(options: &ReadOptions) -> Self {
        Self {
            segments: options.entries_max,
            bytes: options.bytes_max,
        }
    }

    /// Twice as far. `unavailable` when only repeats lie in 16 MiB of segments: a fold clears them away.
    fn farther(self, log: &Log<'_>) -> Result<Self> {
        if self.bytes >= WAVE_BYTES_MAX && self.segments >= WAVE_REQUESTS_MAX {
            let key = log.keys.head();
            let message = format!("{key} has too many repeats that are not folded yet; fold it");
            return Err(Error::new(ErrorCode::Unavailable, message).at(key));
        }
        Ok(Self {
            segments: self.segments * 2,
            bytes: (self.bytes * 2).min(WAVE_BYTES_MAX),
        })
    }
}

/// An entry, and the cursor for what lies before it.
struct Item<'a> {
    at: Cursor,
    entry: Entry<'a>,
}

/// The newest segments that can matter, oldest first, and whether these are all. A segment has at least
/// one entry, so that no more are read than entries are asked for.
fn wanted_segments(
    pending: &[Segment],
    before: Option<(&SegmentName, &String)>,
    reach: &Reach,
) -> (Vec<Segment>, bool) {
    let open = pending
        .iter()
        .rev()
        .filter(|segment| before.is_none_or(|(name, _)| segment.name <= *name));
    let mut bytes = 0;
    let mut wanted = Vec::new();
    let mut all = true;
    for segment in open {
        // The segment of the cursor does not count: the page begins somewhere in it.
        if before.is_some_and(|(name, _)| segment.name == *name) {
            wanted.push(segment.clone());
            continue;
        }
        let enough = wanted.len() > reach.segments
            || (bytes > 0 && bytes + segment.size_bytes > reach.bytes);
        if enough {
            all = false;
            break;
        }
        bytes += segment.size_bytes;
        wanted.push(segment.clone());
    }
    wanted.reverse();
    (wanted, all)
}

/// Whether the head is what it was at the glance. A store that appends may give ranges without a version.
fn is_same_head(glance: &Glance, answer: Option<StoreResult<Answer>>) -> bool {
    let now: Option<Stat> = match answer {
        Some(Ok(Answer::Head(stat))) => stat,
        _ => return false,
    };
    match (&glance.head, now) {
        (None, None) => true,
        (Some(head), Some(now)) if head.stat.version.is_empty() => {
            head.stat.size_bytes == now.size_bytes && head.stat.metadata == now.metadata
        }
        (Some(head), Some(now)) => head.stat.version == now.version,
        _ => false,
    }
}

/// The last entries of a sequence that fit, and whether bytes cut them off.
fn page_of(sequence: Vec<Item<'_>>, older: bool, options: &ReadOptions) -> (Page, bool) {
    let mut bytes = 0;
    let mut bytes_ended = false;
    let mut begin = sequence.len();
    for (at, item) in sequence.iter().enumerate().rev() {
        if sequence.len() - at > options.entries_max {
            break;
        }
        bytes += item.entry.bytes.len() as u64;
        if bytes > options.bytes_max && begin < sequence.len() {
            bytes_ended = true;
            break;
        }
        begin = at;
    }
    let has_before = begin > 0 || older;
    let before = sequence
        .get(begin)
        .filter(|_| has_before)
        .map(|item| item.at.to_text());
    let fewer = sequence.len() - begin < options.entries_max;
    let entries = sequence.into_iter().skip(begin).map(|item| LogEntry {
        content: item.entry.content.to_vec(),
        id: item.entry.id,
        problem: item.entry.problem,
        position: match item.at {
            Cursor::Folded {
                first, end_bytes, ..
            } => Some(Position {
                first,
                offset_bytes: end_bytes,
            }),
            Cursor::Pending { .. } => None,
        },
    });
    let page = Page {
        entries: entries.collect(),
        before,
        bytes_ended: bytes_ended || (fewer && has_before),
        problems: Vec::new(),
    };
    (page, bytes_ended)
}
