//! Extending the log itself by compare-and-swap, for a series of entries that have their order from their
//! writer and not from a clock: none of them is ever pending, and what is written stands right behind what the
//! writer saw. Only of logs that are opened (`EntryFormat::is_opened`). Knows no system.

use super::append::NewEntry;
use super::chain::{Chain, Piece};
use super::fold::Fold;
use super::pending::Glance;
use super::{Appended, Log};
use crate::limits::{
    CONFLICT_TRIES_MAX, LOG_APPEND_BYTES_MAX, LOG_CLOSE_FOLDS_MAX, LOG_HEAD_BYTES_MAX,
    LOG_WINDOW_BYTES, LOG_WINDOW_ENTRIES, VALUE_BYTES_MAX,
};
use crate::protocol::document::body_of;
use crate::store::Condition;
use crate::types::{Error, ErrorCode, Problem, ProblemKind, Result};

/// What is written behind the newest entry of a series, given its id; none before the first.
pub type Decide<'d> = dyn FnMut(Option<&str>) -> Result<Vec<NewEntry>> + 'd;

impl Log<'_> {
    /// Fold what is pending, then append what `decide` makes of the newest entry that `is_of_series`; again
    /// when anything was written in between. Nothing is written where there is nothing to append.
    ///
    /// Errors: those of `decide`, after which nothing was written; `conflict` where the log is not there, or is
    /// closed and there is something to append; `unavailable` when others came in between too often.
    pub fn extend(
        &self,
        is_of_series: &dyn Fn(&str) -> bool,
        decide: &mut Decide<'_>,
    ) -> Result<Appended> {
        let key = self.keys.head();
        let (mut tries, mut folds, mut is_first) = (0, 0, true);
        let mut last = busy(key);
        while tries < CONFLICT_TRIES_MAX && folds < LOG_CLOSE_FOLDS_MAX {
            let glance = Glance::at(self, LOG_HEAD_BYTES_MAX)?;
            if glance.head.is_none() {
                return Err(self.over());
            }
            let is_closed = glance.is_closed(self);
            let is_pending = !glance.is_single(self) && !glance.pending().is_empty();
            if is_pending && !is_closed {
                match self.fold()? {
                    Fold::Done(_) => folds += 1,
                    Fold::Nothing => tries += 1,
                    Fold::Stopped(error) => (last, tries) = (error, tries + 1),
                }
                continue;
            }
            let Found::Newest(newest) = self.newest_of(&glance, is_of_series)? else {
                tries += 1;
                continue;
            };
            let entries = decide(newest.as_deref())?;
            let mut appended = Appended {
                repeat: is_first,
                fold: None,
                problems: Vec::new(),
            };
            if entries.is_empty() {
                return Ok(appended);
            }
            if is_closed {
                return Err(self.over());
            }
            appended.repeat = false;
            appended.problems.extend(self.fragment(&glance));
            match self.put_behind(glance, &entries)? {
                Ok(()) => return Ok(appended),
                // Whether it was written shows when the log is read again.
                Err(error) => (last, is_first) = (error, false),
            }
            tries += 1;
        }
        last.code = ErrorCode::Unavailable;
        Err(last.at(key))
    }

    /// The id of the newest folded entry of the series, looked for in the head and, where it is not there, as
    /// far back as repeats are.
    fn newest_of(&self, glance: &Glance, is_of_series: &dyn Fn(&str) -> bool) -> Result<Found> {
        let Some(head) = &glance.head else {
            return Ok(Found::Newest(None));
        };
        let previous = match &head.metadata {
            Some(metadata) => metadata.previous.clone(),
            None if glance.is_single(self) => Vec::new(),
            None => self.newest_sealed(Some(head))?.0,
        };
        let mut chain = Chain::of(Some(Piece::head(head, previous)));
        for wanted in [0, LOG_WINDOW_ENTRIES] {
            if wanted > 0 {
                chain.load(self, wanted, LOG_WINDOW_BYTES, Vec::new())?;
            }
            if chain.moved {
                return Ok(Found::Moved);
            }
            for piece in &chain.pieces {
                let entries = piece.entries(self).into_iter().rev();
                let mut ids = entries.filter_map(|(_, entry)| entry.id);
                if let Some(id) = ids.find(|id| is_of_series(id)) {
                    return Ok(Found::Newest(Some(id)));
                }
            }
            if !chain.has_older() {
                return Ok(Found::Newest(None));
            }
        }
        let key = self.keys.head();
        let message = format!(
            "the newest {LOG_WINDOW_ENTRIES} lines of {key} were written by another program; nothing was \
             written: move them away"
        );
        Err(Error::new(ErrorCode::Conflict, message).at(key))
    }

    /// What a crash left at the end of a single file, which is ended before the next entry.
    fn fragment(&self, glance: &Glance) -> Option<Problem> {
        let head = glance.head.as_ref()?;
        let piece = Piece::head(head, Vec::new());
        let (_, last) = piece.entries(self).pop()?;
        (last.problem.is_some() && !last.is_ended).then(|| {
            let message = format!(
                "the last {} bytes are a fragment, as a crash leaves one; they stay, and are ended before the new \
                 entry",
                last.bytes.len()
            );
            Problem::new(ProblemKind::Repaired, self.keys.head(), message)
        })
    }

    /// Write behind what `glance` shows; after the inner error the log is to be looked at again.
    fn put_behind(
        &self,
        mut glance: Glance,
        entries: &[NewEntry],
    ) -> Result<std::result::Result<(), Error>> {
        let key = self.keys.head();
        let body = self.check(entries)?;
        if let Some(head) = glance.head.as_ref().filter(|_| glance.is_single(self)) {
            let separator = self.format.separator(&head.tail);
            let bytes = [separator, body.as_slice()].concat();
            let size = head.stat.size_bytes;
            return match self.store.append(key, body_of(bytes), size) {
                Ok(_) => Ok(Ok(())),
                Err(error) => self.again(error).map(Err),
            };
        }
        self.learn_version(&mut glance)?;
        let Some(metadata) = self.metadata_of(&glance)? else {
            return Ok(Err(busy(key)));
        };
        let mut next = match self.make_room(&glance, &metadata)? {
            Ok(next) => next,
            Err(error) if error.code == ErrorCode::Conflict => return Ok(Err(error)),
            Err(error) => return Err(error),
        };
        let separator = self.format.separator(&next.body);
        next.body.extend_from_slice(separator);
        next.body.extend_from_slice(&body);
        next.metadata.entries += entries.len() as u64;
        let version = glance.version().unwrap_or_default().to_owned();
        let options = self.options(Condition::IfMatch(version), &next.metadata);
        match self.store.put(key, body_of(next.body), options) {
            Ok(_) => Ok(Ok(())),
            Err(error) => self.again(error).map(Err),
        }
    }
}

fn busy(key: &str) -> Error {
    let message = format!("{key} is changed by others all the time; try again");
    Error::new(ErrorCode::Unavailable, message)
}

/// See [`Log::newest_of`].
enum Found {
    Newest(Option<String>),
    /// The head changed while it was read.
    Moved,
}

const _: () = assert!(LOG_APPEND_BYTES_MAX as u64 + LOG_HEAD_BYTES_MAX < VALUE_BYTES_MAX);
