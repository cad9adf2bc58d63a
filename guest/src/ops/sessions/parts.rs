//! The parts of a session, which compactions archived, and those of them that nobody published. Knows no export.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::archived::{each_line, message_line_of};
use crate::format::message::Message;
use crate::layout::archive::{ArchiveKeys, all_pieces_prefix};
use crate::layout::gsv::{AgentId, EpochMs, Place, SessionId, session_parts_prefix};
use crate::protocol::archive;
use crate::store::Metered;
use crate::transform::compaction::summary;
use crate::types::{Problem, ProblemKind, Result};

/// Timestamps and keys, in the order of the timestamps.
pub fn list(
    store: &Metered<'_>,
    agent: &AgentId,
    session: &SessionId,
    problems: &mut Vec<Problem>,
) -> Result<Vec<(u64, String)>> {
    let prefix = session_parts_prefix(agent, session);
    let mut parts = Vec::new();
    store.each_page(&prefix, |listing| {
        for entry in listing.entries {
            match Place::parse(&entry.key) {
                Some(Place::ArchivePart { timestamp, .. }) => {
                    parts.push((timestamp.get(), entry.key))
                }
                _ => problems.push(Problem::new(
                    ProblemKind::Skipped,
                    entry.key,
                    "is no part of a session; it is left alone",
                )),
            }
        }
        Ok(())
    })?;
    parts.sort_unstable();
    Ok(parts)
}

/// Delete a part that nobody published, and what is staged for it.
pub fn delete(
    store: &Metered<'_>,
    agent: &AgentId,
    session: &SessionId,
    part_ms: u64,
) -> Result<()> {
    let keys = ArchiveKeys::of_part(agent, session, &EpochMs::new(part_ms)?)?;
    archive::clear(store, &keys)?;
    for answer in store.delete(vec![keys.archive().to_owned()])? {
        answer.map_err(|error| error.about(keys.archive()))?;
    }
    Ok(())
}

/// What the archive of a session says of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heading {
    /// There is no archive, or none that can be read.
    Unknown,
    /// It begins with the summary of this part, or with no summary.
    Of(Option<u64>),
}

/// Read it from the archive's first line.
pub fn heading(store: &Metered<'_>, agent: &AgentId, session: &SessionId) -> Result<Heading> {
    let mut first = None;
    let archive = ArchiveKeys::of_session(agent, session);
    let read = each_line(store, archive.archive(), |line| {
        first = message_line_of(archive.archive(), &line).ok();
        ControlFlow::Break(())
    })?;
    let Some(first) = first.filter(|_| read.found) else {
        return Ok(Heading::Unknown);
    };
    let message = Message::parse(&first).ok();
    let summary = message.filter(|message| summary::text_of(message).is_some());
    Ok(Heading::Of(
        summary.map(|message| message.timestamp_ms.unwrap_or(u64::MAX)),
    ))
}

/// Delete the parts of a session that is over which are newer than the one that was published last: nobody published
/// them, because part times only grow.
pub fn delete_newer(
    store: &Metered<'_>,
    agent: &AgentId,
    session: &SessionId,
    published_ms: Option<u64>,
) -> Result<()> {
    let mut parts: BTreeSet<u64> = list(store, agent, session, &mut Vec::new())?
        .into_iter()
        .map(|(part_ms, _)| part_ms)
        .collect();
    store.each_page(&all_pieces_prefix(agent, session), |listing| {
        let places = listing.entries.iter().map(|entry| Place::parse(&entry.key));
        parts.extend(places.flatten().filter_map(|place| match place {
            Place::ArchivePiece { archive, .. } => archive.part_ms(),
            _ => None,
        }));
        Ok(())
    })?;
    for part_ms in parts {
        if Some(part_ms) > published_ms {
            delete(store, agent, session, part_ms)?;
        }
    }
    Ok(())
}
