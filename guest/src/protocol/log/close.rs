//! The begin and the end of a log that has both (`EntryFormat::is_opened`): an entry that opens it, and one
//! that closes it, behind which nothing is appended and nothing is folded. What was acknowledged before the
//! close is before it in the log; a segment that is left afterwards came late, and nobody was told that it
//! is in. Knows no system.

use super::append::NewEntry;
use super::chain::{Chain, Piece};
use super::fold::Fold;
use super::head::HeadMetadata;
use super::pending::{Glance, Segment, get};
use super::{Log, hash96};
use crate::limits::{
    CONFLICT_TRIES_MAX, LOG_CLOSE_FOLDS_MAX, LOG_HEAD_BYTES_MAX, LOG_READ_TRIES_MAX,
    LOG_TAIL_BYTES, LOG_WINDOW_BYTES, LOG_WINDOW_ENTRIES,
};
use crate::protocol::document::body_of;
use crate::store::{Answer, Condition, PutOptions, StoreError, StoreErrorCode};
use crate::types::{Error, ErrorCode, Result};

/// What is to be known of a log that was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// It is closed; from now on it does not change.
    Closed,
    /// It is not there any more: whoever closed it has come to an end.
    Gone,
}

/// Segments that came after the close, or that the log holds already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftover {
    /// Of no entry in the log.
    pub late: Vec<Segment>,
    /// Taken over by the last fold, and not deleted yet.
    pub folded: Vec<Segment>,
}

impl Log<'_> {
    /// Create the log with the entry that opens it. Nothing happens where there is one.
    pub fn open(&self, entry: NewEntry) -> Result<()> {
        let key = self.keys.head();
        let body = self.check(&[entry])?;
        let mut last = None;
        for _ in 0..CONFLICT_TRIES_MAX {
            let created = match self.store.appends() {
                true => self.store.append(key, body_of(body.clone()), 0).map(|_| ()),
                false => {
                    let opened = HeadMetadata {
                        entries: 1,
                        ..HeadMetadata::default()
                    };
                    let options = self.options(Condition::IfAbsent, &opened);
                    let put = self.store.put(key, body_of(body.clone()), options);
                    put.map(|_| ())
                }
            };
            match created {
                Ok(()) => return Ok(()),
                Err(error) if error.code == StoreErrorCode::Conflict => return Ok(()),
                Err(error) if error.code == StoreErrorCode::OutcomeUnknown => last = Some(error),
                Err(error) => return Err(error.about(key)),
            }
        }
        Err(StoreError::given_up(last, key))
    }

    /// Fold all that is pending, then close with `entry`, by compare-and-swap. A log that is closed already
    /// stays as it is.
    ///
    /// `unavailable` when folds came in between too often; the next call goes on.
    pub fn close(&self, entry: &NewEntry) -> Result<Closed> {
        let key = self.keys.head();
        let body = self.check(std::slice::from_ref(entry))?;
        let (mut tries, mut folds) = (0, 0);
        let mut last = Error::new(ErrorCode::Unavailable, format!("{key} is busy; try again"));
        while tries < CONFLICT_TRIES_MAX && folds < LOG_CLOSE_FOLDS_MAX {
            let glance = Glance::at(self, LOG_HEAD_BYTES_MAX)?;
            let Some(head) = &glance.head else {
                return Ok(Closed::Gone);
            };
            if glance.is_closed(self) {
                return Ok(Closed::Closed);
            }
            if glance.is_single(self) {
                let separator = self.format.separator(&head.tail);
                let bytes = [separator, body.as_slice()].concat();
                let size = head.stat.size_bytes;
                match self.store.append(key, body_of(bytes), size) {
                    Ok(_) => return Ok(Closed::Closed),
                    Err(error) => last = self.again(error)?,
                }
                tries += 1;
                continue;
            }
            match self.fold()? {
                Fold::Done(_) => folds += 1,
                Fold::Stopped(error) => (last, tries) = (error, tries + 1),
                Fold::Nothing => {
                    match self.close_head(&body)? {
                        Ok(()) => return Ok(Closed::Closed),
                        Err(error) => last = error,
                    }
                    tries += 1;
                }
            }
        }
        last.code = ErrorCode::Unavailable;
        Err(last.at(key))
    }

    /// Put the head with the last entry at its end, unless it is closed meanwhile.
    fn close_head(&self, body: &[u8]) -> Result<std::result::Result<(), Error>> {
        let key = self.keys.head();
        let mut glance = Glance::at(self, LOG_HEAD_BYTES_MAX)?;
        if glance.is_closed(self) || glance.head.is_none() {
            return Ok(Ok(()));
        }
        self.learn_version(&mut glance)?;
        let Some(metadata) = self.metadata_of(&glance)? else {
            return Ok(Err(Error::new(
                ErrorCode::Unavailable,
                format!("{key} changed while it was closed; try again"),
            )));
        };
        let mut next = match self.make_room(&glance, &metadata)? {
            Ok(next) => next,
            Err(error) => return Ok(Err(error)),
        };
        let separator = self.format.separator(&next.body);
        next.body.extend_from_slice(separator);
        next.body.extend_from_slice(body);
        next.metadata.entries += 1;
        let version = glance.version().unwrap_or_default().to_owned();
        let options = self.options(Condition::IfMatch(version), &next.metadata);
        match self.store.put(key, body_of(next.body), options) {
            Ok(_) => Ok(Ok(())),
            Err(error) => self.again(error).map(Err),
        }
    }

    /// What lies in `new/` of a log that is closed. Of one that is gone everything came late: what it held was
    /// deleted first.
    pub fn leftover(&self) -> Result<Leftover> {
        let mut glance = Glance::at(self, LOG_TAIL_BYTES)?;
        if glance.head.is_none() && !glance.segments.is_empty() {
            // The list may be older than the head's end, and show what went right before it.
            glance = Glance::at(self, LOG_TAIL_BYTES)?;
        }
        let late = glance.pending();
        let folded = glance.segments.into_iter();
        Ok(Leftover {
            folded: folded.filter(|segment| !late.contains(segment)).collect(),
            late,
        })
    }

    /// The ids of the newest folded entries, as far back as repeats are looked for, oldest first; of a closed
    /// log what is in it for good. None when it is not there any more.
    pub fn folded_ids(&self) -> Result<Option<Vec<String>>> {
        for _ in 0..LOG_READ_TRIES_MAX {
            let glance = Glance::at(self, LOG_TAIL_BYTES)?;
            let Some(head) = &glance.head else {
                return Ok(None);
            };
            let previous = match head.metadata.as_ref() {
                Some(metadata) => metadata.previous.clone(),
                None if glance.is_single(self) => Vec::new(),
                None => self.newest_sealed(Some(head))?.0,
            };
            let mut chain = Chain::of(Some(Piece::head(head, previous)));
            chain.load(self, LOG_WINDOW_ENTRIES, LOG_WINDOW_BYTES, Vec::new())?;
            if chain.moved {
                continue;
            }
            let pieces = chain.pieces.iter().rev();
            let entries = pieces.flat_map(|piece| piece.entries(self));
            return Ok(Some(entries.filter_map(|(_, entry)| entry.id).collect()));
        }
        let key = self.keys.head();
        let message = format!("{key} changed while it was read; try again");
        Err(Error::new(ErrorCode::Unavailable, message).at(key))
    }

    /// The segment that these entries were appended as, as far as it is still there.
    pub fn find_segment(&self, segments: &[Segment], ids: &[String]) -> Option<Segment> {
        let ids: Vec<&[u8]> = ids.iter().map(String::as_bytes).collect();
        let hash = hash96(&ids);
        let mut segments = segments.iter();
        segments
            .find(|segment| segment.name.hash.as_str() == hash)
            .cloned()
    }

    /// The entries of segments, in order; one that is gone meanwhile is left out.
    pub fn entries_of(&self, segments: &[Segment]) -> Result<Vec<(Segment, Vec<NewEntry>)>> {
        let answers = self.store.read(segments.iter().map(get).collect())?;
        let mut found = Vec::new();
        for (segment, answer) in segments.iter().zip(answers) {
            let Answer::Blob(Some(blob)) = answer.map_err(|error| error.about(&segment.key))?
            else {
                continue;
            };
            let entries = self.format.entries(blob.body.as_bytes()).into_iter();
            let entries = entries.filter_map(|entry| {
                Some(NewEntry {
                    id: entry.id?,
                    bytes: entry.bytes.to_vec(),
                })
            });
            found.push((segment.clone(), entries.collect()));
        }
        Ok(found)
    }

    pub(super) fn options(&self, condition: Condition, metadata: &HeadMetadata) -> PutOptions {
        PutOptions {
            condition,
            content_type: Some(self.format.content_type().to_owned()),
            metadata: metadata.to_metadata(),
        }
    }

    /// The error of a log that takes no entry any more.
    pub(super) fn over(&self) -> Error {
        let key = self.keys.head();
        Error::new(
            ErrorCode::Conflict,
            format!(
                "{key} is closed: it takes no entry any more; append to the log that follows it"
            ),
        )
        .at(key)
    }

    /// Whether to try again after this error.
    pub(super) fn again(&self, error: crate::store::StoreError) -> Result<Error> {
        let unsure = error.is_unsure();
        let error = error.about(self.keys.head());
        if unsure { Ok(error) } else { Err(error) }
    }
}
