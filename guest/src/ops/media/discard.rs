//! When media of a session go: named ones, and orphans that are old enough.

use std::collections::BTreeSet;

use super::{DiscardAnswer, DiscardRequest, Medium, Named, check_bytes, is_own, uploaded_ms};
use crate::format::message::{MediaSource, media_blocks};
use crate::layout::gsv::{SessionKey, media_prefix};
use crate::protocol::request::RequestId;
use crate::store::{Answer, Entry, ListRequest, Listing, Metered, Request, Store};
use crate::types::{Error, Problem, ProblemKind, Result};

pub fn discard(store: &dyn Store, request: &DiscardRequest) -> Result<DiscardAnswer> {
    let store = Metered::new(store);
    let session = request.session.key()?;
    RequestId::parse(&request.request_id)?;
    let mut problems = Vec::new();
    let keep = keys_of("keep", &session, &request.keep, &mut problems)?;
    let discard = keys_of("discard", &session, &request.discard, &mut problems)?;
    let listing = page(&store, &session, request.continue_from.as_deref())?;
    // The store's cursor may be of any form: the last key serves every store, and a forged one harms none.
    let last = listing.last_key().cloned();
    let continue_from = listing.cursor.and(last);
    for skipped in listing.skipped {
        let problem = Problem::new(ProblemKind::Skipped, skipped.key, skipped.cause);
        problems.push(problem);
    }
    let mut kept = Vec::new();
    let mut going = Vec::new();
    let mut orphans = Vec::new();
    for entry in listing.entries {
        match (keep.contains(&entry.key), discard.contains(&entry.key)) {
            (true, _) => kept.push(medium(entry, false, None)),
            (false, true) => going.push(medium(entry, false, None)),
            (false, false) => orphans.push(entry),
        }
    }
    for (orphan, uploaded_at_ms) in with_uploaded(&store, orphans, request, &mut problems)? {
        let is_old = uploaded_at_ms.is_some_and(|uploaded| {
            request
                .orphans_before_ms
                .is_some_and(|before| uploaded < before)
        });
        let list = if is_old { &mut going } else { &mut kept };
        list.push(medium(orphan, true, uploaded_at_ms));
    }
    let by_key = |a: &Medium, b: &Medium| a.key.cmp(&b.key);
    kept.sort_by(by_key);
    going.sort_by(by_key);
    if !request.dry_run && !going.is_empty() {
        let keys = going.iter().map(|medium| medium.key.clone()).collect();
        for (medium, answer) in going.iter().zip(store.delete(keys)?) {
            answer.map_err(|error| error.about(&medium.key))?;
        }
    }
    Ok(DiscardAnswer {
        discarded: going,
        kept,
        problems,
        continue_from,
        cost: store.cost(),
    })
}

/// What messages and a caller name, as far as it is the session's own.
fn keys_of(
    what: &str,
    session: &SessionKey,
    named: &Named,
    problems: &mut Vec<Problem>,
) -> Result<BTreeSet<String>> {
    check_bytes(what, named.messages.iter().chain(&named.keys))?;
    let mut keys: BTreeSet<String> = named.keys.iter().cloned().collect();
    for (index, line) in named.messages.iter().enumerate() {
        // What a message names that cannot be read is not known: to go on could delete it.
        let blocks = media_blocks(line).map_err(|fault| {
            Error::invalid(format!(
                "{what}: message {index} cannot be read, so what it names is not known and nothing was deleted: \
                 {fault}"
            ))
        })?;
        for block in blocks {
            if let MediaSource::Stored(key) = block.media.source {
                keys.insert(key.into_owned());
            }
        }
    }
    keys.retain(|key| {
        let own = is_own(session, key);
        if !own {
            let message = format!("is not below {session}'s own media, so it is left alone");
            let problem = Problem::new(ProblemKind::Skipped, key, message);
            problems.push(problem);
        }
        own
    });
    Ok(keys)
}

fn page(store: &Metered<'_>, session: &SessionKey, after: Option<&str>) -> Result<Listing> {
    let prefix = media_prefix(session);
    if let Some(after) = after.filter(|after| !after.starts_with(&prefix)) {
        return Err(Error::invalid(format!(
            "continue-from is {after:?}, which is no place in the media of {session}; pass that of the answer before"
        )));
    }
    store.list(ListRequest {
        prefix,
        start_after: after.map(str::to_owned),
        ..ListRequest::default()
    })
}

/// When each orphan was uploaded, asked only where orphans may go: by its metadata, else by the store.
fn with_uploaded(
    store: &Metered<'_>,
    orphans: Vec<Entry>,
    request: &DiscardRequest,
    problems: &mut Vec<Problem>,
) -> Result<Vec<(Entry, Option<u64>)>> {
    if request.orphans_before_ms.is_none() {
        return Ok(orphans.into_iter().map(|entry| (entry, None)).collect());
    }
    let heads = orphans.iter().map(|entry| Request::Head(entry.key.clone()));
    let answers = store.read(heads.collect())?;
    let mut dated = Vec::with_capacity(orphans.len());
    for (entry, answer) in orphans.into_iter().zip(answers) {
        let Answer::Head(Some(stat)) = answer.map_err(|error| error.about(&entry.key))? else {
            // Gone meanwhile.
            continue;
        };
        let uploaded_at_ms = uploaded_ms(&entry.key, &stat, problems);
        dated.push((entry, Some(uploaded_at_ms)));
    }
    Ok(dated)
}

fn medium(entry: Entry, orphan: bool, uploaded_at_ms: Option<u64>) -> Medium {
    Medium {
        key: entry.key,
        size_bytes: entry.size_bytes,
        uploaded_at_ms,
        orphan,
    }
}
