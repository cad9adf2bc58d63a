//! The log as the single file of the reference, on a store that appends: never folded, never sealed.

use std::collections::BTreeMap;

use super::Log;
use super::append::{Appended, NewEntry};
use super::chain::{Chain, Piece};
use super::pending::{Glance, Head};
use crate::limits::{CONFLICT_TRIES_MAX, LOG_TAIL_BYTES, LOG_WINDOW_BYTES, LOG_WINDOW_ENTRIES};
use crate::protocol::document::body_of;
use crate::store::StoreError;
use crate::types::{Problem, ProblemKind, Result};

impl Log<'_> {
    /// Look at the end, leave out what is there already, append the rest at the known size; again when
    /// somebody else appended in between.
    pub(super) fn append_to_file(
        &self,
        entries: &[NewEntry],
        ms: u64,
        body: Vec<u8>,
    ) -> Result<Appended> {
        let key = self.keys.head();
        let mut last = None;
        for _ in 0..CONFLICT_TRIES_MAX {
            let glance = Glance::at(self, LOG_TAIL_BYTES)?;
            if !glance.is_single(self) {
                // A log that came from a store without append goes on as it is.
                return self.append_segment(entries, ms, body);
            }
            let mut end = End::of(self, glance.head.as_ref())?;
            let missing = self.missing(&end, entries)?;
            let gone = self.format.is_opened() && glance.head.is_none();
            if gone || (glance.is_closed(self) && !missing.is_empty()) {
                return Err(self.over());
            }
            if missing.is_empty() {
                return Ok(Appended {
                    repeat: last.is_none(),
                    fold: None,
                    problems: end.problems,
                });
            }
            let missing = self.joined(missing.iter().map(Vec::as_slice));
            let bytes = [end.separator, missing.as_slice()].concat();
            match self.store.append(key, body_of(bytes), end.size_bytes) {
                Ok(_) => {
                    return Ok(Appended {
                        repeat: false,
                        fold: None,
                        problems: std::mem::take(&mut end.problems),
                    });
                }
                Err(error) if error.is_unsure() => last = Some(error),
                Err(error) => return Err(error.about(key)),
            }
        }
        Err(StoreError::given_up(last, key))
    }

    /// The entries that are not in the repeat window yet.
    fn missing(&self, end: &End, entries: &[NewEntry]) -> Result<Vec<Vec<u8>>> {
        let mut missing = Vec::new();
        for entry in entries {
            match end.window.get(&entry.id) {
                None => missing.push(entry.bytes.clone()),
                Some(there) if Some(there.as_slice()) == self.content_of(entry) => {}
                Some(_) => return Err(self.id_reused(self.keys.head())),
            }
        }
        Ok(missing)
    }

    fn content_of<'e>(&self, entry: &'e NewEntry) -> Option<&'e [u8]> {
        let entries = self.format.entries(&entry.bytes);
        entries.first().map(|entry| entry.content)
    }
}

/// The end of a single file.
struct End {
    size_bytes: u64,
    /// What goes before the next entry.
    separator: &'static [u8],
    /// Contents by id.
    window: BTreeMap<String, Vec<u8>>,
    problems: Vec<Problem>,
}

impl End {
    fn of(log: &Log<'_>, head: Option<&Head>) -> Result<Self> {
        let Some(head) = head else {
            return Ok(Self {
                size_bytes: 0,
                separator: b"",
                window: BTreeMap::new(),
                problems: Vec::new(),
            });
        };
        let mut chain = Chain::of(Some(Piece::head(head, Vec::new())));
        chain.load(log, LOG_WINDOW_ENTRIES, LOG_WINDOW_BYTES, Vec::new())?;
        let mut window = BTreeMap::new();
        let mut problems = Vec::new();
        for piece in &chain.pieces {
            let entries = piece.entries(log);
            let torn = entries
                .last()
                .filter(|(_, entry)| entry.problem.is_some() && !entry.is_ended);
            if let Some((_, entry)) = torn {
                problems.push(Problem::new(
                    ProblemKind::Repaired,
                    log.keys.head(),
                    format!(
                        "the last {} bytes are a fragment, as a crash leaves one; they stay, and are ended before \
                         the new entry",
                        entry.bytes.len()
                    ),
                ));
            }
            for (_, entry) in entries {
                if let Some(id) = &entry.id {
                    window.insert(id.clone(), entry.content.to_vec());
                }
            }
        }
        Ok(Self {
            size_bytes: head.stat.size_bytes,
            separator: chain
                .pieces
                .first()
                .map_or(b"", |piece| piece.separator(log)),
            window,
            problems,
        })
    }
}
