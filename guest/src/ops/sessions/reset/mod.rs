//! Ending a session: a conversation with the caller, step by step (spec/protocols.md, "Reset"). Any call that
//! finds a reset pending goes on with that one, so that it does not matter who began it.
//!
//! | step | what | known afterwards by |
//! |---|---|---|
//! | S1 | the key gets its new session | `pending`, stage `begun` |
//! | S2 | the old log is closed, archived, verified | stage `archived` |
//! | S3 | memories, by the caller's model | the request id in the day's file |
//! | S4 | media of the old session are deleted | stage `deleting` |
//! | S5 | the old log is deleted, the head last | the head is gone |
//! | S6 | nothing is pending | `pending` is null |

mod archive;
mod given_up;
mod media;
mod memories;
mod sweep;

use super::append::check_now;
use super::live::Live;
use super::state::{self, Owner, change, open_log, session_id, step_id};
use super::{ResetAnswer, ResetBeginRequest, ResetCommitRequest, ResetResumeRequest, ResetStep};
use crate::format::session_state::{Counters, Pending, PendingReset, ResetStage, SessionState};
use crate::layout::gsv::{Place, SessionId};
use crate::limits::RESET_KEEP_MEDIA_MAX;
use crate::protocol::request::RequestId;
use crate::store::{Metered, Store};
use crate::types::{Error, ErrorCode, Problem, Result};

pub fn begin(store: &dyn Store, request: &ResetBeginRequest) -> Result<ResetAnswer> {
    let store = Metered::new(store);
    let owner = Owner::of(&request.home, &request.session_key)?;
    let id = RequestId::parse(&request.request_id)?;
    check_now(request.now_ms)?;
    check_media(&owner, &request.keep_media)?;
    let window = request.window_tokens.map(memories::window).transpose()?;
    let new = match &request.session_id {
        Some(own) => SessionId::parse(own)?.to_string(),
        None => session_id(&request.seed, &owner, &id)?,
    };
    let Some(state) = state::load(&store, &owner)? else {
        return Ok(Call::idle(&store, &id, None).answer(ResetStep::Nothing));
    };
    let state = match begun(&state, &id, &new) {
        Some(answer) => return done(&store, &owner, &id, &state, &answer),
        None if state.pending_reset().is_some() => state,
        None if state.session_id == new || state.previous.contains(&new) => {
            return Err(not_new(&owner, &new));
        }
        None => {
            let live = Live::of(&store, &owner, &state.session_id)?;
            let newest = live.newest()?;
            // A host that keeps its own may have begun its next one before anything was said.
            if !newest.has_messages && request.session_id.is_none() {
                return Ok(Call::idle(&store, &id, Some(&state)).answer(ResetStep::Nothing));
            }
            // A message that claims to be from the future says nothing of when it was said.
            let said_ms = newest.ms.filter(|ms| *ms <= request.now_ms);
            let last_ms = state.updated_ms.max(said_ms.unwrap_or_default());
            let found = given_up::find(&owner, &state, &live, request.now_ms)?;
            open_log(&store, &owner, &new, &id)?;
            let changed = change(&store, &owner, &id, |state| {
                let given_up_part_ms = given_up::end(&owner, state, found.as_ref())?;
                close_first(state, &id, &new, request, last_ms, given_up_part_ms)
            })?;
            if changed.repeat
                && let Some(old) = begun(&changed.state, &id, &new)
            {
                return done(&store, &owner, &id, &changed.state, &old);
            }
            changed.state
        }
    };
    let Some(reset) = state.pending_reset().cloned() else {
        // Somebody else's reset came in between and is over already.
        return Ok(Call::idle(&store, &id, Some(&state)).answer(ResetStep::Nothing));
    };
    let mut call = Call::of(&store, &reset);
    if reset.stage == ResetStage::Begun && !archive::archive(&mut call, &owner)? {
        return Ok(call.answer(ResetStep::Again));
    }
    call.learn_archive(&owner)?;
    match window {
        Some(window) if reset.stage < ResetStage::Deleting => {
            let offset = request.utc_offset_minutes;
            memories::first(&mut call, &owner, window, offset)?;
            Ok(call.asked())
        }
        _ => Ok(call.answer(ResetStep::Commit)),
    }
}

/// The old session of a reset that ran under this id and is over; none when it did not begin yet or goes on.
fn begun(state: &SessionState, id: &RequestId, new: &str) -> Option<String> {
    if state
        .pending_reset()
        .is_some_and(|reset| reset.request_id == id.as_str())
    {
        return None;
    }
    let sessions: Vec<&String> = state.previous.iter().chain([&state.session_id]).collect();
    let at = sessions.iter().position(|session| *session == new);
    let before = at.and_then(|at| sessions.get(at.checked_sub(1)?).copied());
    before.filter(|_| state.pending_reset().is_none()).cloned()
}

fn not_new(owner: &Owner, session_id: &str) -> Error {
    let message = format!(
        "{session_id} is a session that {} has or had already; give the id of the one that follows",
        owner.key
    );
    Error::invalid(message).at(owner.state_key())
}

/// S1.
fn close_first(
    state: &mut SessionState,
    id: &RequestId,
    new: &str,
    request: &ResetBeginRequest,
    last_activity_ms: u64,
    given_up_part_ms: Option<u64>,
) -> Result<()> {
    if state.pending.is_some() || begun(state, id, new).is_some() {
        return Ok(());
    }
    let old = std::mem::replace(&mut state.session_id, new.to_owned());
    state.pending = Some(Pending::Reset(PendingReset {
        request_id: id.as_str().to_owned(),
        old: old.clone(),
        new: new.to_owned(),
        at_ms: request.now_ms,
        last_activity_ms,
        counters: state.counters,
        keep_media: request.keep_media.clone(),
        given_up_part_ms,
        stage: ResetStage::Begun,
    }));
    state.previous.push(old);
    state.epoch += 1;
    state.counters = Counters::default();
    state.mirrored = request.session_id.as_ref().map(|_| 0);
    state.updated_ms = state.updated_ms.max(request.now_ms);
    Ok(())
}

fn check_media(owner: &Owner, keys: &[String]) -> Result<()> {
    if keys.len() > RESET_KEEP_MEDIA_MAX {
        return Err(Error::too_large(format!(
            "{} media are to be kept, over {RESET_KEEP_MEDIA_MAX}",
            keys.len()
        )));
    }
    for key in keys {
        let is_own =
            matches!(Place::parse(key), Some(Place::Media { session, .. }) if session == owner.key);
        if !is_own {
            return Err(Error::invalid(format!(
                "{key} is no media of session {}, and a reset keeps only such",
                owner.key
            ))
            .at(key));
        }
    }
    Ok(())
}

pub fn resume(store: &dyn Store, request: &ResetResumeRequest) -> Result<ResetAnswer> {
    let store = Metered::new(store);
    let owner = Owner::of(&request.home, &request.session_key)?;
    let reset = pending(&store, &owner, &request.request_id)?;
    let mut call = Call::of(&store, &reset);
    call.learn_archive(&owner)?;
    memories::next(&mut call, &owner, &request.state, &request.reply)?;
    Ok(call.asked())
}

pub fn commit(store: &dyn Store, request: &ResetCommitRequest) -> Result<ResetAnswer> {
    let store = Metered::new(store);
    let owner = Owner::of(&request.home, &request.session_key)?;
    let id = RequestId::parse(&request.request_id)?;
    let state = state::require(&store, &owner)?;
    let Some(reset) = state.pending_reset().cloned() else {
        // It came to its end, here or elsewhere.
        let old = state.previous.last().cloned().unwrap_or_default();
        let mut call = finished(&store, &owner, &id, &state, &old)?;
        memories::append_late(&mut call, request, &state.previous)?;
        return Ok(call.answer(ResetStep::Done));
    };
    check_request(&reset, &request.request_id)?;
    let mut call = Call::of(&store, &reset);
    call.learn_archive(&owner)?;
    memories::append(&mut call, request)?;
    if reset.stage < ResetStage::Deleting {
        if !media::delete(&mut call, &owner)? {
            call.state.clone_from(&request.state);
            return Ok(call.answer(ResetStep::Commit));
        }
        set_stage(&store, &owner, &reset, ResetStage::Deleting, Vec::new())?;
    }
    sweep::delete_log(&mut call, &owner)?;
    let step = step_id(&RequestId::parse(&reset.request_id)?, "done")?;
    change(&store, &owner, &step, |state| {
        if state
            .pending_reset()
            .is_some_and(|now| now.request_id == reset.request_id)
        {
            state.pending = None;
        }
        Ok(())
    })?;
    Ok(call.answer(ResetStep::Done))
}

fn done(
    store: &Metered<'_>,
    owner: &Owner,
    id: &RequestId,
    state: &SessionState,
    old: &str,
) -> Result<ResetAnswer> {
    Ok(finished(store, owner, id, state, old)?.answer(ResetStep::Done))
}

/// The reset from `old` on is over; empty when there was none.
fn finished<'a>(
    store: &'a Metered<'a>,
    owner: &Owner,
    id: &RequestId,
    state: &SessionState,
    old: &str,
) -> Result<Call<'a>> {
    let mut call = Call::idle(store, id, Some(state));
    if !old.is_empty() {
        old.clone_into(&mut call.reset.old);
        call.learn_archive(owner)?;
        archive::clear(store, owner, old)?;
    }
    Ok(call)
}

fn pending(store: &Metered<'_>, owner: &Owner, request_id: &str) -> Result<PendingReset> {
    let state = state::require(store, owner)?;
    let reset = state.pending_reset().cloned().ok_or_else(|| {
        Error::not_found(format!("no reset of {} is pending; begin one", owner.key))
            .at(owner.state_key())
    })?;
    check_request(&reset, request_id)?;
    Ok(reset)
}

fn check_request(reset: &PendingReset, request_id: &str) -> Result<()> {
    if reset.request_id != request_id {
        return Err(Error::new(
            ErrorCode::Conflict,
            format!(
                "the reset that is pending has request id {:?}, not {request_id:?}; go on with that one",
                reset.request_id
            ),
        ));
    }
    if reset.stage == ResetStage::Begun {
        return Err(Error::invalid(
            "the old session is not archived yet; repeat `reset-begin` until it asks or says `commit`",
        ));
    }
    Ok(())
}

/// Note how far the reset is, so that nothing behind is done again.
fn set_stage(
    store: &Metered<'_>,
    owner: &Owner,
    reset: &PendingReset,
    stage: ResetStage,
    requests: Vec<String>,
) -> Result<()> {
    let step = step_id(&RequestId::parse(&reset.request_id)?, stage.name())?;
    change(store, owner, &step, |state| {
        if let Some(Pending::Reset(now)) = &mut state.pending
            && now.request_id == reset.request_id
            && now.stage < stage
        {
            now.stage = stage;
            if stage == ResetStage::Archived {
                state.requests.retain(|there| !requests.contains(there));
                state.requests.extend(requests.iter().cloned());
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// One call, and what it will answer.
struct Call<'a> {
    store: &'a Metered<'a>,
    reset: PendingReset,
    archive: Option<String>,
    messages: Option<u64>,
    ask: Option<String>,
    state: Option<String>,
    deleted_media: u64,
    problems: Vec<Problem>,
}

impl<'a> Call<'a> {
    fn of(store: &'a Metered<'a>, reset: &PendingReset) -> Self {
        Self {
            store,
            reset: reset.clone(),
            archive: None,
            messages: None,
            ask: None,
            state: None,
            deleted_media: 0,
            problems: Vec::new(),
        }
    }

    /// No reset is pending, and none began.
    fn idle(store: &'a Metered<'a>, id: &RequestId, state: Option<&SessionState>) -> Self {
        let current = state.map(|state| state.session_id.clone());
        Self::of(
            store,
            &PendingReset {
                request_id: id.as_str().to_owned(),
                old: String::new(),
                new: current.unwrap_or_default(),
                at_ms: 0,
                last_activity_ms: 0,
                counters: Counters::default(),
                keep_media: Vec::new(),
                given_up_part_ms: None,
                stage: ResetStage::Begun,
            },
        )
    }

    /// A question, or none left: then the commit is next.
    fn asked(self) -> ResetAnswer {
        let step = match self.ask {
            Some(_) => ResetStep::Ask,
            None => ResetStep::Commit,
        };
        self.answer(step)
    }

    fn answer(self, step: ResetStep) -> ResetAnswer {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        ResetAnswer {
            step,
            request_id: self.reset.request_id,
            session_id: some(self.reset.new),
            archived_session_id: some(self.reset.old),
            archive: self.archive,
            messages: self.messages,
            ask: self.ask,
            state: self.state,
            deleted_media: self.deleted_media,
            problems: self.problems,
            cost: self.store.cost(),
        }
    }
}
