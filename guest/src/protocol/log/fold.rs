//! Folding: pending segments become entries of the head, and a head that has grown is sealed. Steps as in
//! spec/protocols.md, F1 to F8; each may be the last, and the next fold goes on.

use std::collections::BTreeMap;

use super::chain::{Chain, Piece};
use super::head::{HeadMetadata, gone_hash};
use super::pending::{Glance, Head, Segment, get};
use super::{Log, hash96};
use crate::layout::log::SealedName;
use crate::limits::{
    CONCAT_CONDITION_BYTES_MAX, LOG_BATCH_BYTES_MAX, LOG_BATCH_SEGMENTS_MAX, LOG_FOLD_BYTES,
    LOG_FOLD_SEGMENTS, LOG_HEAD_BATCHES_MAX, LOG_HEAD_BYTES_MAX, LOG_PREVIOUS_MAX,
    LOG_WINDOW_BYTES, LOG_WINDOW_ENTRIES, VALUE_BYTES_MAX,
};
use crate::protocol::document::body_of;
use crate::store::{
    Answer, Condition, ListRequest, PutOptions, Source, Stat, StoreError, StoreErrorCode,
};
use crate::types::{Error, Problem, ProblemKind, Result};

/// What a fold did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fold {
    /// No segment was pending.
    Nothing,
    Done(Folded),
    /// Somebody else folds, or the store is busy: the entries stay pending, and nothing is lost.
    Stopped(Error),
}

/// A fold that took segments over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    pub segments: usize,
    /// Entries that the head has more; repeats are left out.
    pub entries: usize,
    pub bytes: u64,
    /// The piece that the head was sealed into first.
    pub sealed: Option<String>,
    /// Segments that are left for the next fold.
    pub left: usize,
    /// Ids that were used for two contents, and fragments.
    pub problems: Vec<Problem>,
}

impl Log<'_> {
    /// Fold when enough is pending: 32 segments, or 256 KiB of them.
    pub(super) fn fold_if_due(&self) -> Result<Option<Fold>> {
        let listing = self.store.list(ListRequest {
            prefix: self.keys.new_prefix(),
            ..ListRequest::default()
        })?;
        let bytes: u64 = listing.entries.iter().map(|entry| entry.size_bytes).sum();
        if listing.entries.len() < LOG_FOLD_SEGMENTS && bytes < LOG_FOLD_BYTES {
            return Ok(None);
        }
        self.fold().map(Some)
    }

    /// Take a batch of pending segments over into the head. Errors: those of reading; whatever else comes
    /// in between is `Stopped`.
    pub fn fold(&self) -> Result<Fold> {
        let mut glance = Glance::at(self, LOG_HEAD_BYTES_MAX)?;
        if glance.is_closed(self) {
            return Ok(Fold::Nothing);
        }
        self.learn_version(&mut glance)?;
        let metadata = match self.metadata_of(&glance)? {
            Some(metadata) => metadata,
            None => return Ok(moved(self)),
        };
        // F2: what the last fold took over must be gone before its names are forgotten.
        let leftover = glance.segments.iter();
        let leftover =
            leftover.filter(|segment| metadata.is_gone(&segment.name, segment.size_bytes));
        if let Err(error) = self.delete(leftover.cloned().collect())? {
            return Ok(Fold::Stopped(error));
        }
        let pending = glance.pending();
        let batch = batch_of(&pending);
        if batch.is_empty() {
            return Ok(Fold::Nothing);
        }
        let left = pending.len() - batch.len();
        // F3: the batch, and beside it as much of the log as repeats are looked for in.
        let piece = glance
            .head
            .as_ref()
            .map(|head| Piece::head(head, metadata.previous.clone()));
        let mut chain = Chain::of(piece);
        let wave = batch.iter().map(get).collect();
        let answers = chain.load(self, LOG_WINDOW_ENTRIES, LOG_WINDOW_BYTES, wave)?;
        if chain.moved {
            return Ok(moved(self));
        }
        let mut bodies = Vec::with_capacity(batch.len());
        for (segment, answer) in batch.iter().zip(answers) {
            match answer.map_err(|error| error.about(&segment.key))? {
                Answer::Blob(Some(blob)) => bodies.push(blob.body.into_bytes()),
                // Another fold has it.
                _ => return Ok(moved(self)),
            }
        }
        let mut fresh = self.without_repeats(&chain, &batch, &bodies);
        fresh.problems.append(&mut chain.problems);
        if fresh.entries == 0 {
            // F7: everything in the batch is in the log already.
            return Ok(match self.delete(batch.clone())? {
                Ok(()) => Fold::Done(folded(&batch, fresh, None, left)),
                Err(error) => Fold::Stopped(error),
            });
        }
        self.commit(&glance, metadata, &batch, fresh, left)
    }

    /// F4 to F6.
    fn commit(
        &self,
        glance: &Glance,
        metadata: HeadMetadata,
        batch: &[Segment],
        fresh: Fresh,
        left: usize,
    ) -> Result<Fold> {
        let mut next = match self.make_room(glance, &metadata)? {
            Ok(next) => next,
            Err(error) => return Ok(Fold::Stopped(error)),
        };
        let names = batch
            .iter()
            .map(|segment| gone_hash(&segment.name, segment.size_bytes));
        next.metadata.gone = names.collect();
        next.metadata.batches += 1;
        let (mut body, sealed) = (next.body, next.sealed);
        let mut next = next.metadata;
        let separator = self.format.separator(&body);
        body.extend_from_slice(separator);
        body.extend_from_slice(&fresh.bytes);
        next.entries += fresh.entries as u64;
        let options = PutOptions {
            condition: match glance.version() {
                Some(version) => Condition::IfMatch(version.to_owned()),
                None => Condition::IfAbsent,
            },
            content_type: Some(self.format.content_type().to_owned()),
            metadata: next.to_metadata(),
        };
        // F5. Whatever the answer, the batch is deleted only once the head is known to hold it.
        if let Err(error) = self.store.put(self.keys.head(), body_of(body), options) {
            return Ok(Fold::Stopped(error.about(self.keys.head())));
        }
        // F6; what is not deleted now is deleted by the next F2.
        let _ = self.delete(batch.to_vec())?;
        Ok(Fold::Done(folded(batch, fresh, sealed, left)))
    }

    /// What a new head begins with: the bytes of this one, or none after it was sealed because it is full or
    /// comes from elsewhere. The inner error is a seal that failed.
    pub(super) fn make_room(
        &self,
        glance: &Glance,
        metadata: &HeadMetadata,
    ) -> Result<std::result::Result<NextHead, Error>> {
        let mut next = NextHead {
            metadata: metadata.clone(),
            body: Vec::new(),
            sealed: None,
        };
        let Some(head) = glance.head.as_ref().filter(|h| h.stat.size_bytes > 0) else {
            return Ok(Ok(next));
        };
        let foreign = head.metadata.is_none();
        let full =
            metadata.batches >= LOG_HEAD_BATCHES_MAX || head.stat.size_bytes >= LOG_HEAD_BYTES_MAX;
        if !foreign && !full {
            next.body.clone_from(&head.tail);
            return Ok(Ok(next));
        }
        let name = SealedName::new(metadata.first, &seal_hash(&head.stat))?;
        if let Err(error) = self.seal(head, &name, metadata)? {
            return Ok(Err(error));
        }
        // How many entries a head from elsewhere has is not known without reading it: counted as one.
        next.metadata.first = metadata.first + metadata.entries.max(1);
        (next.metadata.entries, next.metadata.batches) = (0, 0);
        next.metadata.previous = metadata.previous_with(name.clone());
        next.sealed = Some(self.keys.sealed(&name));
        Ok(Ok(next))
    }

    /// Ask for the head's version where a store that appends gave none with the range.
    pub(super) fn learn_version(&self, glance: &mut Glance) -> Result<()> {
        let Some(head) = glance.head.as_mut().filter(|h| h.stat.version.is_empty()) else {
            return Ok(());
        };
        if let Some(now) = self.store.head(self.keys.head())?
            && now.size_bytes == head.stat.size_bytes
            && now.metadata == head.stat.metadata
        {
            head.stat.version = now.version;
        }
        Ok(())
    }

    /// The head's metadata; those of a head from elsewhere name what is sealed already. None when the
    /// store gave no version to hold on to, or the head changed while it was asked for.
    pub(super) fn metadata_of(&self, glance: &Glance) -> Result<Option<HeadMetadata>> {
        if glance.version().is_some_and(str::is_empty) {
            return Ok(None);
        }
        if let Some(metadata) = glance.metadata() {
            return Ok(Some(metadata.clone()));
        }
        let (previous, own) = self.newest_sealed(glance.head.as_ref())?;
        let after = previous.first().map_or(0, |name| name.first.get() + 1);
        Ok(Some(HeadMetadata {
            first: own.map_or(after, |name| name.first.get()),
            previous,
            ..HeadMetadata::default()
        }))
    }

    /// The newest sealed pieces by their names, newest first: asked for only where the head does not say.
    /// Of two with the same first entry the one that was written last counts. Apart from them, the piece
    /// that this very head was sealed into by a fold that then stopped.
    pub(super) fn newest_sealed(
        &self,
        head: Option<&Head>,
    ) -> Result<(Vec<SealedName>, Option<SealedName>)> {
        let own_hash = head.map(|head| seal_hash(&head.stat));
        let mut own = None;
        let mut by_first = BTreeMap::new();
        self.store.each_page(&self.keys.old_prefix(), |listing| {
            for entry in listing.entries {
                let Some(name) = self.keys.parse_sealed(&entry.key) else {
                    continue;
                };
                if own_hash.as_deref() == Some(name.hash.as_str()) {
                    own = Some(name);
                } else {
                    let there = by_first
                        .entry(name.first)
                        .or_insert((entry.modified_ms, name.clone()));
                    if there.0 < entry.modified_ms {
                        *there = (entry.modified_ms, name);
                    }
                }
            }
            while by_first.len() > LOG_PREVIOUS_MAX {
                by_first.pop_first();
            }
            Ok(())
        })?;
        let previous = by_first.into_values().rev().map(|(_, name)| name);
        Ok((previous.collect(), own))
    }

    /// Copy the head, at the version that was read, below `old/`.
    fn seal(
        &self,
        head: &Head,
        name: &SealedName,
        metadata: &HeadMetadata,
    ) -> Result<std::result::Result<(), Error>> {
        let key = self.keys.sealed(name);
        let sealed = HeadMetadata {
            gone: Vec::new(),
            ..metadata.clone()
        };
        let large = head.stat.size_bytes > CONCAT_CONDITION_BYTES_MAX;
        let options = PutOptions {
            condition: match large {
                true => Condition::IfAbsent,
                false => Condition::Always,
            },
            content_type: Some(self.format.content_type().to_owned()),
            metadata: sealed.to_metadata(),
        };
        let source = Source {
            key: self.keys.head().to_owned(),
            if_match: Some(head.stat.version.clone()),
        };
        let Err(error) = self.store.concat(vec![source], &key, options) else {
            return Ok(Ok(()));
        };
        if large && error.code == StoreErrorCode::Conflict {
            // It may lie there from an earlier fold that stopped here; equal names hold equal bytes.
            if let Some(stat) = self.store.head(&key)?
                && stat.size_bytes == head.stat.size_bytes
            {
                return Ok(Ok(()));
            }
        }
        Ok(Err(error.about(&key)))
    }

    /// Delete segments; the inner error is the first that could not be.
    fn delete(&self, segments: Vec<Segment>) -> Result<std::result::Result<(), Error>> {
        if segments.is_empty() {
            return Ok(Ok(()));
        }
        let keys: Vec<String> = segments.into_iter().map(|segment| segment.key).collect();
        let answers = self.store.delete(keys.clone())?;
        let failed = keys.iter().zip(answers).find_map(|(key, answer)| {
            let error: StoreError = answer.err()?;
            Some(error.about(key))
        });
        Ok(failed.map_or(Ok(()), Err))
    }

    /// The batch's entries that are not in the log's repeat window, in order.
    fn without_repeats(&self, chain: &Chain, batch: &[Segment], bodies: &[Vec<u8>]) -> Fresh {
        let mut window: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
        for piece in chain.pieces.iter().rev() {
            for (_, entry) in piece.entries(self) {
                if let Some(id) = &entry.id {
                    let contents = window.entry(id.clone()).or_default();
                    contents.push(entry.content.to_vec());
                }
            }
        }
        let mut fresh = Fresh::default();
        let mut last: &[u8] = b"";
        for (segment, body) in batch.iter().zip(bodies) {
            for entry in self.format.entries(body) {
                if let Some(id) = &entry.id {
                    let contents = window.entry(id.clone()).or_default();
                    if contents.iter().any(|there| there == entry.content) {
                        continue;
                    }
                    if !contents.is_empty() {
                        fresh.problems.push(Problem::new(
                            ProblemKind::Skipped,
                            segment.key.clone(),
                            format!("id {id:?} was used for two contents; both are kept"),
                        ));
                    }
                    contents.push(entry.content.to_vec());
                }
                fresh.entries += 1;
                let separator = self.format.separator(last);
                fresh.bytes.extend_from_slice(separator);
                fresh.bytes.extend_from_slice(entry.bytes);
                last = entry.bytes;
            }
        }
        fresh
    }
}

/// A head that is being written.
pub(super) struct NextHead {
    pub metadata: HeadMetadata,
    pub body: Vec<u8>,
    /// The piece that the head before it became.
    pub sealed: Option<String>,
}

/// Says what was sealed, so that whoever seals the same head writes the same object.
fn seal_hash(head: &Stat) -> String {
    hash96(&[head.version.as_bytes(), &head.size_bytes.to_be_bytes()])
}

/// What of a batch is new.
#[derive(Debug, Default)]
struct Fresh {
    bytes: Vec<u8>,
    entries: usize,
    problems: Vec<Problem>,
}

/// The oldest segments, as many as one fold takes, and at least one.
fn batch_of(pending: &[Segment]) -> Vec<Segment> {
    let mut bytes = 0;
    let fits = |segment: &&Segment| {
        let first = bytes == 0;
        bytes += segment.size_bytes.max(1);
        first || bytes <= LOG_BATCH_BYTES_MAX
    };
    let batch = pending.iter().take(LOG_BATCH_SEGMENTS_MAX);
    batch.take_while(fits).cloned().collect()
}

fn folded(batch: &[Segment], fresh: Fresh, sealed: Option<String>, left: usize) -> Folded {
    Folded {
        segments: batch.len(),
        entries: fresh.entries,
        bytes: fresh.bytes.len() as u64,
        sealed,
        left,
        problems: fresh.problems,
    }
}

fn moved(log: &Log<'_>) -> Fold {
    let error = Error::new(
        crate::types::ErrorCode::Unavailable,
        format!(
            "{} changed while it was folded; the next fold goes on",
            log.keys.head()
        ),
    );
    Fold::Stopped(error.at(log.keys.head()))
}

const _: () = assert!(LOG_BATCH_BYTES_MAX + LOG_HEAD_BYTES_MAX < VALUE_BYTES_MAX);
