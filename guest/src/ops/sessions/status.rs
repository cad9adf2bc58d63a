//! What is known of live sessions: one's status, and which are due for a reset.

use super::live::Live;
use super::state::{self, Owner};
use super::{
    Counts, DueAnswer, DueRequest, DueSession, PendingKind, PendingStep, StatusAnswer,
    StatusRequest,
};
use crate::format::session_state::{Counters, Pending, SessionState};
use crate::layout::gsv::{AgentId, Place, session_states_prefix};
use crate::limits::SESSIONS_PAGE_MAX;
use crate::store::{ListRequest, Metered, Store};
use crate::types::{Problem, ProblemKind, Result};

use super::append::check_now;

pub fn status(store: &dyn Store, request: &StatusRequest) -> Result<StatusAnswer> {
    let store = Metered::new(store);
    let owner = Owner::of(&request.home, &request.session_key)?;
    let state = state::require(&store, &owner)?;
    let newest = Live::of(&store, &owner, &state.session_id)?.newest()?;
    Ok(StatusAnswer {
        last_activity_ms: state.updated_ms.max(newest.ms.unwrap_or_default()),
        has_messages: newest.has_messages,
        counts: Counts::from(state.counters),
        pending: state.pending.as_ref().map(PendingStep::from),
        session_id: state.session_id,
        previous: state.previous,
        epoch: state.epoch,
        cost: store.cost(),
    })
}

impl From<Counters> for Counts {
    fn from(counters: Counters) -> Self {
        Self {
            messages: counters.messages,
            input_tokens: counters.input_tokens,
            output_tokens: counters.output_tokens,
            total_tokens: counters.total_tokens,
        }
    }
}

impl From<&Pending> for PendingStep {
    fn from(pending: &Pending) -> Self {
        let (kind, at_ms, stage) = match pending {
            Pending::Reset(reset) => (PendingKind::Reset, reset.at_ms, reset.stage.name()),
            Pending::Compaction(compaction) => (
                PendingKind::Compaction,
                compaction.at_ms,
                compaction.stage.name(),
            ),
        };
        Self {
            kind,
            request_id: pending.request_id().to_owned(),
            at_ms,
            stage: stage.to_owned(),
        }
    }
}

/// Sessions that are due, with their messages: an empty one is never due. Of a key whose reset is pending the
/// session that ends, whatever the policy says: its new one may never say a word, and nobody else goes on.
pub fn due(store: &dyn Store, request: &DueRequest) -> Result<DueAnswer> {
    let store = Metered::new(store);
    check_now(request.now_ms)?;
    // A policy that no clock has is refused even when there is no session.
    let is_due = |last_ms| {
        let (now_ms, offset) = (request.now_ms, request.utc_offset_minutes);
        request.policy.is_due(last_ms, now_ms, offset)
    };
    is_due(0)?;
    let mut problems = Vec::new();
    let mut next = None;
    let found = match &request.session_key {
        Some(key) => {
            let owner = Owner::of(&request.home, key)?;
            let state = state::load(&store, &owner)?;
            state.map(|state| (owner, state)).into_iter().collect()
        }
        None => {
            let agent = AgentId::parse(&request.home.id)?;
            let page = states_page(&store, &agent, request.cursor.clone(), &mut problems)?;
            next = page.1;
            page.0
        }
    };
    let mut due = Vec::new();
    for (owner, state) in found {
        if let Some(reset) = state.pending_reset() {
            due.push(DueSession {
                session_key: owner.key.to_string(),
                session_id: reset.old.clone(),
                last_activity_ms: reset.last_activity_ms,
            });
            continue;
        }
        if !is_due(state.updated_ms)? {
            continue;
        }
        let newest = match Live::of(&store, &owner, &state.session_id)?.newest() {
            Ok(newest) => newest,
            Err(error) => {
                let key = owner.state_key();
                problems.push(Problem::new(ProblemKind::Unreadable, key, error.message));
                continue;
            }
        };
        // A message's own time that is not yet, by whatever clock, says nothing: as now it would put the session
        // off for ever.
        let newest_ms = newest.ms.filter(|ms| *ms <= request.now_ms);
        let last_activity_ms = state.updated_ms.max(newest_ms.unwrap_or_default());
        if newest.has_messages && is_due(last_activity_ms)? {
            due.push(DueSession {
                session_key: owner.key.to_string(),
                session_id: state.session_id,
                last_activity_ms,
            });
        }
    }
    Ok(DueAnswer {
        due,
        next,
        problems,
        cost: store.cost(),
    })
}

type States = (Vec<(Owner, SessionState)>, Option<String>);

/// One page of an agent's states; one that cannot be read is a problem, and the others go on.
fn states_page(
    store: &Metered<'_>,
    agent: &AgentId,
    start_after: Option<String>,
    problems: &mut Vec<Problem>,
) -> Result<States> {
    let prefix = session_states_prefix(agent);
    let listing = store.list(ListRequest {
        prefix,
        start_after,
        limit: Some(SESSIONS_PAGE_MAX),
        ..ListRequest::default()
    })?;
    let last = listing.last_key().cloned();
    let next = listing.cursor.and(last);
    for skipped in listing.skipped {
        problems.push(Problem::new(
            ProblemKind::Skipped,
            skipped.key,
            skipped.cause,
        ));
    }
    let (mut owners, mut wave) = (Vec::new(), Vec::new());
    for entry in listing.entries {
        if let Some(Place::SessionState { agent, key }) = Place::parse(&entry.key) {
            let owner = Owner::new(agent, key.session_key().clone())?;
            wave.push(owner.listed_request(entry.size_bytes));
            owners.push(owner);
        }
    }
    let mut states = Vec::new();
    for (owner, answer) in owners.into_iter().zip(store.read(wave)?) {
        match owner.read_listed(store, answer) {
            Ok(Some(state)) => states.push((owner, state)),
            Ok(None) => {}
            Err(error) => {
                let key = owner.state_key();
                problems.push(Problem::new(ProblemKind::Unreadable, key, error.message));
            }
        }
    }
    Ok((states, next))
}
