//! A compaction that is pending when a reset begins. One that is published is over, and only its end was not
//! noted. One that its host gave up ends here: its messages are archived with the session's, and the part that
//! it may have written goes once they are.

use super::Call;
use crate::format::session_state::{Pending, PendingCompaction, SessionState};
use crate::layout::gsv::SessionId;
use crate::ops::sessions::live::{Live, Standing};
use crate::ops::sessions::parts;
use crate::ops::sessions::state::{Owner, check_given_up, under_compaction};
use crate::types::Result;

/// What a reset found pending and may end.
pub struct Found {
    compaction: PendingCompaction,
    is_published: bool,
}

/// The compaction that is pending, if its host is done with it; `conflict` while it may still be at it.
pub fn find(
    owner: &Owner,
    state: &SessionState,
    live: &Live<'_>,
    now_ms: u64,
) -> Result<Option<Found>> {
    let Some(compaction) = state.pending_compaction().cloned() else {
        return Ok(None);
    };
    let is_published = live.standing()?.part_ms == Some(compaction.part_ms);
    if !is_published {
        check_given_up(owner, &compaction, now_ms)?;
    }
    Ok(Some(Found {
        compaction,
        is_published,
    }))
}

/// End it in the state, as long as it is the one that was found; answers the part that nobody has published.
pub fn end(owner: &Owner, state: &mut SessionState, found: Option<&Found>) -> Result<Option<u64>> {
    let Some(Pending::Compaction(pending)) = &state.pending else {
        return Ok(None);
    };
    let found = found
        .filter(|found| found.compaction == *pending)
        .ok_or_else(|| under_compaction(owner, pending, None))?;
    let part_ms = pending.part_ms;
    state.pending = None;
    Ok(Some(part_ms).filter(|_| !found.is_published))
}

/// Delete the part that was given up: everything that stands in the old log is in the session's archive by now.
/// A summary that came into the log before it was closed has published the part after all.
pub fn drop_part(call: &Call<'_>, owner: &Owner, standing: &Standing) -> Result<()> {
    let Some(part_ms) = call.reset.given_up_part_ms else {
        return Ok(());
    };
    if standing.part_ms == Some(part_ms) {
        return Ok(());
    }
    let session = SessionId::parse(&call.reset.old)?;
    parts::delete(call.store, &owner.agent, &session, part_ms)
}
