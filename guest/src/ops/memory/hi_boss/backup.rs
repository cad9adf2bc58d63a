//! The files of a backup (hi-boss reference, "Backup compatibility"); copying them is the host's.

use super::super::{BackupAnswer, BackupFile};
use crate::layout::hi_boss::{AgentName, Place, is_backed_up, memories_prefix};
use crate::store::{Answer, ListRequest, Metered, Request, Store};
use crate::types::{Error, ErrorCode, Home, Problem, ProblemKind, Result};

pub fn backup_files(
    store: &dyn Store,
    home: &Home,
    continue_from: Option<&str>,
) -> Result<BackupAnswer> {
    let store = Metered::new(store);
    let agent = AgentName::parse(&home.id)?;
    let prefix = memories_prefix(&agent);
    if let Some(after) = continue_from.filter(|after| !after.starts_with(&prefix)) {
        return Err(Error::invalid(format!(
            "continue-from is {after:?}, which is no place in the memory of {agent}; pass that of the answer before"
        )));
    }
    let long_term = Place::LongTermMemory {
        agent: agent.clone(),
    };
    let list = Request::List(ListRequest {
        prefix: prefix.clone(),
        delimiter: true,
        start_after: continue_from.map(str::to_owned),
        ..ListRequest::default()
    });
    let mut wave = vec![list];
    let key = long_term.key();
    if continue_from.is_none() {
        wave.push(Request::Head(key.clone()));
    }
    let mut answers = store.read(wave)?.into_iter();
    let listing = match answers.next() {
        Some(Ok(Answer::Listing(listing))) => listing,
        Some(Err(error)) => return Err(error.about(&prefix)),
        _ => return Err(Error::new(ErrorCode::Other, "the store gave no answer")),
    };
    let mut files = Vec::new();
    if let Some(head) = answers.next()
        && let Answer::Head(Some(stat)) = head.map_err(|error| error.about(&key))?
    {
        files.push(BackupFile {
            key,
            size_bytes: stat.size_bytes,
        });
    }
    // A page may hold nothing but folders.
    let names = listing.entries.iter().map(|entry| &entry.key);
    let last = names.chain(&listing.prefixes).max().cloned();
    let entries = listing.entries.into_iter();
    files.extend(
        entries
            .filter(|entry| is_backed_up(&agent, &entry.key))
            .map(|entry| BackupFile {
                key: entry.key,
                size_bytes: entry.size_bytes,
            }),
    );
    let skipped = listing.skipped.into_iter();
    let wanted = skipped.filter(|skipped| is_backed_up(&agent, &skipped.key));
    let problems = wanted.map(|it| Problem::new(ProblemKind::Skipped, it.key, it.cause));
    Ok(BackupAnswer {
        files,
        problems: problems.collect(),
        continue_from: listing.cursor.and(last),
        cost: store.cost(),
    })
}
