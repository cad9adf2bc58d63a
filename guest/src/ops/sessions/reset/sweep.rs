//! S5: the old log goes, the head last. What came late to it, and nobody was told to be in, goes to the new
//! session first.

use super::Call;
use crate::ops::sessions::live::Live;
use crate::ops::sessions::state::{self, Owner};
use crate::protocol::log::Segment;
use crate::store::{Answer, ListRequest, Request};
use crate::types::Result;

/// Late segments that are moved in one step.
const MOVED_AT_ONCE: usize = 16;

pub fn delete_log(call: &mut Call<'_>, owner: &Owner) -> Result<()> {
    let old = Live::of(call.store, owner, &call.reset.old)?;
    let leftover = old.log().leftover()?;
    // First what the head names: without the head it could not be told from what came late.
    delete(
        call,
        leftover
            .folded
            .into_iter()
            .map(|segment| segment.key)
            .collect(),
    )?;
    move_late(call, owner, &old, leftover.late)?;
    delete_sealed(call, &old)?;
    delete(call, vec![old.log().keys.head().to_owned()])?;
    let late = old.log().leftover()?.late;
    move_late(call, owner, &old, late)
}

/// To the session that the key has now, under their own ids and time, so that doing it twice is once.
fn move_late(call: &Call<'_>, owner: &Owner, old: &Live<'_>, late: Vec<Segment>) -> Result<()> {
    if late.is_empty() {
        return Ok(());
    }
    let state = state::require(call.store, owner)?;
    let new = Live::of(call.store, owner, &state.session_id)?;
    for segments in late.chunks(MOVED_AT_ONCE) {
        for (segment, entries) in old.log().entries_of(segments)? {
            if !entries.is_empty() {
                new.log().append(&entries, segment.name.ms.get())?;
            }
            delete(call, vec![segment.key])?;
        }
    }
    Ok(())
}

fn delete_sealed(call: &Call<'_>, old: &Live<'_>) -> Result<()> {
    let prefix = old.log().keys.old_prefix();
    let mut cursor = None;
    loop {
        let list = Request::List(ListRequest {
            prefix: prefix.clone(),
            cursor,
            ..ListRequest::default()
        });
        let listing = match call.store.read(vec![list])?.into_iter().next() {
            Some(Ok(Answer::Listing(listing))) => listing,
            Some(Err(error)) => return Err(error.about(&prefix)),
            _ => return Ok(()),
        };
        let keys = listing.entries.into_iter().map(|entry| entry.key);
        let keys = keys.filter(|key| old.log().keys.parse_sealed(key).is_some());
        delete(call, keys.collect())?;
        cursor = listing.cursor;
        if cursor.is_none() {
            return Ok(());
        }
    }
}

fn delete(call: &Call<'_>, keys: Vec<String>) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let answers = call.store.delete(keys.clone())?;
    for (key, answer) in keys.iter().zip(answers) {
        answer.map_err(|error| error.about(key))?;
    }
    Ok(())
}
