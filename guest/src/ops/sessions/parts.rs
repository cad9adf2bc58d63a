//! The parts of a session, which compactions archived, and those of them that nobody published. Knows no export.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::archived::{Begin, each_line, message_line_of};
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
    let archive = ArchiveKeys::of_session(agent, session);
    let mut first = None;
    let found = each_message(store, archive.archive(), |message| {
        first = Some(message);
        ControlFlow::Break(())
    })?;
    let Some(first) = first.filter(|_| found) else {
        return Ok(Heading::Unknown);
    };
    Ok(Heading::Of(summary_ms(&first)))
}

/// When the part that this summary is of was made; none for a message that is no summary.
fn summary_ms(line: &str) -> Option<u64> {
    let message = Message::parse(line).ok()?;
    summary::text_of(&message)?;
    Some(message.timestamp_ms.unwrap_or(u64::MAX))
}

/// The first lines of an archive that are messages; answers whether there is such an archive.
fn each_message(
    store: &Metered<'_>,
    key: &str,
    mut see: impl FnMut(String) -> ControlFlow<()>,
) -> Result<bool> {
    let read = each_line(store, key, Begin::default(), |line| {
        match message_line_of(key, &line) {
            Ok(message) => see(message),
            Err(_) => ControlFlow::Continue(()),
        }
    })?;
    Ok(read.found)
}

/// The first message that is no summary.
fn first_said(store: &Metered<'_>, key: &str) -> Result<Option<String>> {
    let mut first = None;
    each_message(store, key, |message| match summary_ms(&message) {
        Some(_) => ControlFlow::Continue(()),
        None => {
            first = Some(message);
            ControlFlow::Break(())
        }
    })?;
    Ok(first)
}

/// Of these parts, those that nobody published: newer than the summary which heads the archive, and beginning with the
/// message that the archive begins with. The first alone would hide the parts of a program that heads its archives
/// otherwise.
pub fn given_up(
    store: &Metered<'_>,
    agent: &AgentId,
    session: &SessionId,
    parts: &[(u64, String)],
) -> Result<Vec<String>> {
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let Heading::Of(published_ms) = heading(store, agent, session)? else {
        return Ok(Vec::new());
    };
    let mut given_up = Vec::new();
    let mut archived = None;
    for (_, key) in parts.iter().filter(|(ms, _)| Some(*ms) > published_ms) {
        if archived.is_none() {
            let archive = ArchiveKeys::of_session(agent, session);
            archived = first_said(store, archive.archive())?;
        }
        if archived.is_some() && first_said(store, key)? == archived {
            given_up.push(key.clone());
        }
    }
    Ok(given_up)
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
