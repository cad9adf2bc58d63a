//! The segments that no fold has taken over yet: listing them, and reading the head beside.

use super::Log;
use super::head::HeadMetadata;
use crate::layout::log::SegmentName;
use crate::store::{Answer, BodyKind, GetRequest, ListRequest, Listing, Range, Request, Stat};
use crate::types::{Problem, ProblemKind, Result};

/// A segment as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub name: SegmentName,
    pub key: String,
    pub size_bytes: u64,
}

/// A log's head, and the last bytes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub stat: Stat,
    /// None on a head that no fold wrote.
    pub metadata: Option<HeadMetadata>,
    /// Offset of `tail` in it.
    pub start: u64,
    pub tail: Vec<u8>,
}

/// A log as one wave shows it: neither part is older than the wave's begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// By time and hash, which is their order in the log.
    pub segments: Vec<Segment>,
    pub head: Option<Head>,
    pub problems: Vec<Problem>,
    /// On a store that appends: whether there are sealed pieces.
    has_sealed: bool,
}

impl Glance {
    /// The last `tail_bytes` of the head and all segments: one wave, and one more a thousand segments.
    pub fn at(log: &Log<'_>, tail_bytes: u64) -> Result<Self> {
        let list = |cursor| ListRequest {
            prefix: log.keys.new_prefix(),
            cursor,
            ..ListRequest::default()
        };
        // Only there is the question whether something was ever sealed.
        let appends = log.store.appends();
        let old = Request::List(ListRequest {
            prefix: log.keys.old_prefix(),
            limit: Some(1),
            ..ListRequest::default()
        });
        let get = Request::Get(GetRequest {
            key: log.keys.head().to_owned(),
            range: Range::Last(tail_bytes),
            kind: BodyKind::Binary,
        });
        let mut glance = Self {
            segments: Vec::new(),
            head: None,
            problems: Vec::new(),
            has_sealed: false,
        };
        let mut wave = vec![Request::List(list(None)), get];
        wave.extend(appends.then_some(old));
        let mut answers = log.store.read(wave)?.into_iter();
        let (listed, head) = (answers.next(), answers.next());
        if let Some(sealed) = answers.next()
            && let Answer::Listing(listing) =
                sealed.map_err(|error| error.about(&log.keys.old_prefix()))?
        {
            // A name that is passed over may hide one.
            glance.has_sealed = !listing.entries.is_empty() || listing.cursor.is_some();
        }
        if let Some(head) = head
            && let Answer::Blob(Some(blob)) = head.map_err(|error| error.about(log.keys.head()))?
        {
            let tail = blob.body.into_bytes();
            glance.head = Some(Head {
                metadata: HeadMetadata::parse(log.keys.head(), &blob.stat.metadata)?,
                start: blob.stat.size_bytes.saturating_sub(tail.len() as u64),
                tail,
                stat: blob.stat,
            });
        }
        let mut next = match listed {
            Some(Ok(Answer::Listing(listing))) => glance.take_page(log, listing),
            Some(Err(error)) => return Err(error.about(&log.keys.new_prefix())),
            _ => None,
        };
        while next.is_some() {
            next = glance.take_page(log, log.store.list(list(next))?);
        }
        Ok(glance)
    }

    fn take_page(&mut self, log: &Log<'_>, listing: Listing) -> Option<String> {
        for entry in listing.entries {
            match log.keys.parse_segment(&entry.key) {
                Some(name) => self.segments.push(Segment {
                    name,
                    key: entry.key,
                    size_bytes: entry.size_bytes,
                }),
                None => self.problems.push(Problem::new(
                    ProblemKind::Skipped,
                    entry.key,
                    "no segment of a log has such a name; it is left alone",
                )),
            }
        }
        for skipped in listing.skipped {
            self.problems.push(Problem::new(
                ProblemKind::Skipped,
                skipped.key,
                skipped.cause,
            ));
        }
        listing.cursor
    }

    pub fn metadata(&self) -> Option<&HeadMetadata> {
        self.head.as_ref().and_then(|head| head.metadata.as_ref())
    }

    /// The version of the head; none when there is no head.
    pub fn version(&self) -> Option<&str> {
        self.head.as_ref().map(|head| head.stat.version.as_str())
    }

    /// Segments that the head does not hold yet.
    pub fn pending(&self) -> Vec<Segment> {
        let segments = self.segments.iter();
        let open = |segment: &&Segment| {
            self.metadata()
                .is_none_or(|metadata| !metadata.is_gone(&segment.name, segment.size_bytes))
        };
        segments.filter(open).cloned().collect()
    }

    /// Whether the last folded entry closes the log.
    pub fn is_closed(&self, log: &Log<'_>) -> bool {
        self.head.as_ref().is_some_and(|head| {
            let content = head.tail.trim_ascii_end();
            let begin = content.iter().rposition(|byte| *byte == b'\n');
            let last = content.get(begin.map_or(0, |at| at + 1)..);
            last.is_some_and(|last| log.format.closes(last))
        })
    }

    /// Whether this is the single file of a store that appends: nothing has ever been a segment.
    pub fn is_single(&self, log: &Log<'_>) -> bool {
        let was_cut = !self.segments.is_empty() || self.has_sealed || self.metadata().is_some();
        !was_cut && log.store.appends()
    }
}

/// A request for the whole of a segment. By its size, because a wave has room for two values of unknown
/// size only.
pub fn get(segment: &Segment) -> Request {
    Request::Get(GetRequest {
        key: segment.key.clone(),
        range: Range::Span {
            start_bytes: 0,
            length_bytes: segment.size_bytes,
        },
        kind: BodyKind::Binary,
    })
}
