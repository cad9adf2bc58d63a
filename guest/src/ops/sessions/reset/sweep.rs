//! S5: the old log goes, the head last. What came late to it, and nobody was told to be in, goes to the new
//! session first.

use super::Call;
use crate::ops::sessions::append::bring;
use crate::ops::sessions::live::Live;
use crate::ops::sessions::state::{self, Owner};
use crate::protocol::log::Segment;
use crate::types::{Problem, ProblemKind, Result};

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

/// To the session that the key has now, under their own ids and time, so that doing it twice is once. One that
/// its host keeps itself takes none: they are left out, as their append is told or would have been.
fn move_late(call: &mut Call<'_>, owner: &Owner, old: &Live<'_>, late: Vec<Segment>) -> Result<()> {
    for segments in late.chunks(MOVED_AT_ONCE) {
        let takes = state::require(call.store, owner)?.mirrored.is_none();
        for (segment, entries) in old.log().entries_of(segments)? {
            if !takes {
                let message = format!(
                    "{} lines of an append that was stopped are left out: the session that followed is its host's own",
                    entries.len()
                );
                let problem = Problem::new(ProblemKind::Skipped, &segment.key, message);
                call.problems.push(problem);
            } else if !entries.is_empty() {
                bring(call.store, owner, entries, segment.name.ms.get())?;
            }
            delete(call, vec![segment.key])?;
        }
    }
    Ok(())
}

fn delete_sealed(call: &Call<'_>, old: &Live<'_>) -> Result<()> {
    let prefix = old.log().keys.old_prefix();
    call.store.each_page(&prefix, |listing| {
        let keys = listing.entries.into_iter().map(|entry| entry.key);
        let keys = keys.filter(|key| old.log().keys.parse_sealed(key).is_some());
        delete(call, keys.collect())
    })
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
