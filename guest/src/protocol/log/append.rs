//! Appending: one create-only object, or one line more in the single file.

use super::fold::Fold;
use super::{Log, hash96};
use crate::layout::log::SegmentName;
use crate::limits::{
    CONFLICT_TRIES_MAX, LOG_APPEND_BYTES_MAX, LOG_APPEND_ENTRIES_MAX, LOG_FOLD_ONE_IN,
};
use crate::protocol::document::body_of;
use crate::store::{
    BodyKind, Condition, GetRequest, PutOptions, Range, StoreError, StoreErrorCode,
};
use crate::types::{Error, Problem, Result};

/// An entry to append: its id, and its bytes with the end that its format asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    pub id: String,
    pub bytes: Vec<u8>,
}

/// How an append went. Acknowledged means durable, and seen by every read that begins later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Whether all entries were there already.
    pub repeat: bool,
    /// What came of the fold, where this append was one to look after it.
    pub fold: Option<Fold>,
    /// Fragments that were found at the log's end, and a fold that failed.
    pub problems: Vec<Problem>,
}

impl Log<'_> {
    /// Append `entries` in order, all of them or none. `ms` is the time of the first message itself, so
    /// that a repeat has the same name; ids are what a repeat is known by.
    ///
    /// A log that is closed takes nothing: where there is one file that is a `conflict`; elsewhere the segment
    /// stays beside the log, and who appends to logs that are closed has to look (`close.rs`).
    ///
    /// Errors: `invalid` for no entries, an entry whose bytes are not one whole entry with its id, or an id
    /// that was used for other bytes; `too-large` over 256 entries or 4 MiB; those of the store, after
    /// which a repeat does no harm.
    pub fn append(&self, entries: &[NewEntry], ms: u64) -> Result<Appended> {
        let body = self.check(entries)?;
        if self.store.appends() {
            return self.append_to_file(entries, ms, body);
        }
        self.append_segment(entries, ms, body)
    }

    /// The bytes of all entries, once they are known to read back as they are.
    pub(super) fn check(&self, entries: &[NewEntry]) -> Result<Vec<u8>> {
        let key = self.keys.head();
        if entries.is_empty() {
            return Err(Error::invalid(format!("{key}: an append of no entries")).at(key));
        }
        let body = self.joined(entries.iter().map(|entry| entry.bytes.as_slice()));
        if entries.len() > LOG_APPEND_ENTRIES_MAX || body.len() > LOG_APPEND_BYTES_MAX {
            return Err(Error::too_large(format!(
                "{key}: an append of {} entries and {} bytes, over {LOG_APPEND_ENTRIES_MAX} or \
                 {LOG_APPEND_BYTES_MAX}; append fewer at once",
                entries.len(),
                body.len()
            ))
            .at(key));
        }
        let read = self.format.entries(&body);
        let same = read.len() == entries.len()
            && read.iter().zip(entries).all(|(read, entry)| {
                let is_whole = read.problem.is_none() && read.is_ended;
                is_whole && read.id.as_ref() == Some(&entry.id)
            });
        let mut ids: Vec<_> = entries.iter().map(|entry| &entry.id).collect();
        ids.sort();
        ids.dedup();
        if !same || ids.len() != entries.len() {
            return Err(Error::invalid(format!(
                "{key}: an entry to append is not one whole entry with an id of its own; nothing was written"
            ))
            .at(key));
        }
        Ok(body)
    }

    /// Whole entries one behind the other.
    pub(super) fn joined<'e>(&self, entries: impl IntoIterator<Item = &'e [u8]>) -> Vec<u8> {
        let mut last: &[u8] = b"";
        let mut joined = Vec::new();
        for entry in entries {
            joined.extend_from_slice(self.format.separator(last));
            joined.extend_from_slice(entry);
            last = entry;
        }
        joined
    }

    /// A1, A2 of the protocol.
    pub(super) fn append_segment(
        &self,
        entries: &[NewEntry],
        ms: u64,
        body: Vec<u8>,
    ) -> Result<Appended> {
        let ids: Vec<&[u8]> = entries.iter().map(|entry| entry.id.as_bytes()).collect();
        let hash = hash96(&ids);
        let key = self.keys.segment(&SegmentName::new(ms, &hash)?);
        let repeat = self.put_segment(&key, body)?;
        let mut appended = Appended {
            repeat,
            fold: None,
            problems: Vec::new(),
        };
        if is_drawn(&hash) {
            // The entries are durable whatever becomes of the fold.
            match self.fold_if_due() {
                Ok(fold) => appended.fold = fold,
                Err(error) => appended.fold = Some(Fold::Stopped(error)),
            }
        }
        Ok(appended)
    }

    /// Create the segment, or find it there with the same bytes; answers whether it was there.
    fn put_segment(&self, key: &str, body: Vec<u8>) -> Result<bool> {
        let mut last = None;
        for _ in 0..CONFLICT_TRIES_MAX {
            let options = PutOptions {
                condition: Condition::IfAbsent,
                content_type: Some(self.format.content_type().to_owned()),
                metadata: Vec::new(),
            };
            let error = match self.store.put(key, body_of(body.clone()), options) {
                Ok(_) => return Ok(false),
                Err(error) => error,
            };
            if !error.is_unsure() {
                return Err(error.about(key));
            }
            let lost = error.code == StoreErrorCode::OutcomeUnknown || last.is_some();
            let there = self.store.get(GetRequest {
                key: key.to_owned(),
                range: Range::Whole,
                kind: BodyKind::Binary,
            })?;
            match there {
                Some(blob) if blob.body.as_bytes() == body => return Ok(!lost),
                Some(_) => return Err(self.id_reused(key)),
                // Folded and deleted meanwhile, or never written: creating it again does no harm.
                None => last = Some(error),
            }
        }
        Err(StoreError::given_up(last, key))
    }

    /// Whether this append is one of those that look after the log: one in eight, by its ids.
    pub fn looks_after(entries: &[NewEntry]) -> bool {
        let ids: Vec<&[u8]> = entries.iter().map(|entry| entry.id.as_bytes()).collect();
        is_drawn(&hash96(&ids))
    }

    pub(super) fn id_reused(&self, key: &str) -> Error {
        Error::invalid(format!(
            "{}: these ids were used for other content before; nothing was written: give each new entry an id \
             of its own",
            self.keys.head()
        ))
        .at(key)
    }
}

fn is_drawn(hash: &str) -> bool {
    let lot = u8::from_str_radix(hash.get(..2).unwrap_or_default(), 16).unwrap_or_default();
    lot.is_multiple_of(LOG_FOLD_ONE_IN)
}
