//! Pages of a session that its host keeps itself, written into the live log that appends go to elsewhere, so
//! that compactions and resets are the same. A message is known by its place in the host's session.
//!
//! The place decides where a message goes, not a clock: pages extend the log by compare-and-swap, each right
//! behind the one before. So of two hosts that pass the same page one writes it, and the other finds it.

use std::collections::BTreeMap;

use super::append::{check_now, entries_of, used_by};
use super::live::Live;
use super::state::{self, Owner, change, step_id};
use super::{MirrorAnswer, MirrorRequest};
use crate::format::live_log::{What, parse, place_id, place_of};
use crate::format::message::Message;
use crate::format::session_state::{Counters, SessionState};
use crate::layout::gsv::SessionId;
use crate::limits::{LOG_PAGE_BYTES_MAX, LOG_PAGE_ENTRIES_MAX};
use crate::protocol::log::{LogEntry, NewEntry};
use crate::protocol::request::RequestId;
use crate::store::{Metered, Store};
use crate::types::{Error, ErrorCode, Problem, ProblemKind, Result};

pub fn mirror(store: &dyn Store, request: &MirrorRequest) -> Result<MirrorAnswer> {
    let store = Metered::new(store);
    let owner = Owner::of(&request.home, &request.session_key)?;
    check_now(request.now_ms)?;
    SessionId::parse(&request.session_id)?;
    let id_of = |number| place_id(request.first.saturating_add(number as u64));
    let entries = match request.messages.is_empty() {
        true => Vec::new(),
        false => entries_of("a page", &request.messages, id_of)?,
    };
    let call = Call {
        store: &store,
        owner: &owner,
        request,
        entries,
    };
    call.run()
}

struct Call<'a> {
    store: &'a Metered<'a>,
    owner: &'a Owner,
    request: &'a MirrorRequest,
    /// The lines of the page.
    entries: Vec<NewEntry>,
}

impl Call<'_> {
    fn run(&self) -> Result<MirrorAnswer> {
        let state = match state::load(self.store, self.owner)? {
            Some(state) => state,
            None if self.entries.is_empty() => return Ok(self.answer(0, true, Vec::new())),
            None if self.request.first > 0 => return Err(self.gap(0)),
            None => self.create()?,
        };
        self.check(&state)?;
        let live = Live::of(self.store, self.owner, &self.request.session_id)?;
        let mut held = 0;
        let extended = live
            .log()
            .extend(&|id| place_of(id).is_some(), &mut |newest| {
                held = newest.and_then(place_of).map_or(0, |place| place + 1);
                self.missing(&live, held)
            });
        let extended = match extended {
            Ok(extended) => extended,
            Err(error) if error.code == ErrorCode::Conflict => {
                // The log may have been closed behind the look at the state.
                self.check_is_now(&state::require(self.store, self.owner)?)?;
                return Err(error);
            }
            Err(error) => return Err(error),
        };
        let mut problems = extended.problems;
        if let Err(error) = self.count(&live, &state) {
            let message = format!("the messages are in, and were not counted: {error}");
            let key = self.owner.state_key();
            problems.push(Problem::new(ProblemKind::Skipped, key, message));
        }
        Ok(self.answer(held.max(self.end()), extended.repeat, problems))
    }

    /// Behind the page's last place; 0 where the page is empty.
    fn end(&self) -> u64 {
        match self.entries.is_empty() {
            true => 0,
            false => self.request.first.saturating_add(self.entries.len() as u64),
        }
    }

    /// The name of the session is as good as that of a request: it is created once.
    fn id(&self) -> Result<RequestId> {
        RequestId::parse(&self.request.session_id)
    }

    fn create(&self) -> Result<SessionState> {
        let created = SessionState {
            session_id: self.request.session_id.clone(),
            updated_ms: self.activity_ms(),
            mirrored: Some(0),
            ..SessionState::default()
        };
        state::create(self.store, self.owner, &self.id()?, &created)
    }

    /// Refuse a page of another session than the key has. One whose reset is on its way is looked at
    /// nevertheless: what is repeated is in it.
    fn check(&self, state: &SessionState) -> Result<()> {
        let is_ending = |state: &SessionState| {
            let reset = state.pending_reset();
            reset.is_some_and(|reset| reset.old == self.request.session_id)
        };
        if is_ending(state) {
            return Ok(());
        }
        self.check_is_now(state)
    }

    fn check_is_now(&self, state: &SessionState) -> Result<()> {
        let (key, now) = (&self.owner.key, &state.session_id);
        let asked = &self.request.session_id;
        let message = if now == asked && state.mirrored.is_some() {
            return Ok(());
        } else if now == asked {
            format!(
                "session {now} of {key} takes appends and no pages: go on with `append`, or end it with `reset-begin` \
                 under the `session-id` of the one that follows"
            )
        } else if state.previous.contains(asked) && state.mirrored.is_some() {
            format!(
                "session {asked} of {key} is over; pass what was said since as session {now}, from place 0"
            )
        } else if state.previous.contains(asked) {
            format!(
                "session {asked} of {key} is over, and the one it has now, {now}, takes appends: go on with `append`, \
                 or end it with `reset-begin` under the `session-id` of the one that follows"
            )
        } else {
            format!(
                "{key} has session {now}, not {asked}: end that one with `reset-begin` under the `session-id` \
                 {asked}, and pass this page again"
            )
        };
        Err(Error::new(ErrorCode::Conflict, message).at(self.owner.state_key()))
    }

    /// What of the page is not held yet, once the rest is known to be what is held.
    fn missing(&self, live: &Live<'_>, held: u64) -> Result<Vec<NewEntry>> {
        if self.request.first > held && !self.entries.is_empty() {
            return Err(self.gap(held));
        }
        let overlap = usize::try_from(held.saturating_sub(self.request.first));
        let overlap = overlap.unwrap_or(usize::MAX).min(self.entries.len());
        let (same, missing) = self.entries.split_at(overlap);
        self.compare(live, held, same)?;
        Ok(missing.to_vec())
    }

    fn gap(&self, held: u64) -> Error {
        let message = format!(
            "session {} has {held} messages, and the page begins at place {}; nothing was written: pass those from \
             place {held} on first",
            self.request.session_id, self.request.first
        );
        Error::new(ErrorCode::Conflict, message).at(self.owner.state_key())
    }

    /// That the log has these lines, which begin at the page's first place.
    fn compare(&self, live: &Live<'_>, held: u64, lines: &[NewEntry]) -> Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let places = self.request.first..;
        let contents = lines.iter().map(|line| line.bytes.trim_ascii_end());
        let mut unseen: BTreeMap<u64, &[u8]> = places.zip(contents).collect();
        let mut other = None;
        back_to(live, self.request.first, held, |place, entry| {
            let line = unseen.remove(&place);
            if line.is_some_and(|line| line != entry.content) {
                other = Some(place);
            }
        })?;
        let session = &self.request.session_id;
        match (other, unseen.keys().next()) {
            (None, None) => Ok(()),
            (Some(place), _) => Err(Error::invalid(format!(
                "the message at place {place} of session {session} is not the one that was passed before; nothing was \
                 written: what was passed stays as it is, and a conversation that was changed is a new session"
            ))),
            // Unless the session is over by now, and its log deleted.
            (None, Some(place)) => Err(Error::new(
                ErrorCode::Conflict,
                format!(
                    "the message at place {place} of session {session} is not in its log any more; nothing was \
                     written: restore the log from a backup"
                ),
            )),
        }
        .map_err(|error| error.at(live.key()))
    }

    /// Count what is in the log up to this page's end and is not counted yet: each place once, whoever passed it
    /// and however often.
    fn count(&self, live: &Live<'_>, before: &SessionState) -> Result<()> {
        let (first, end) = (self.request.first, self.end());
        let is_its_own = before.session_id == self.request.session_id;
        let Some(counted) = before.mirrored.filter(|_| is_its_own) else {
            return Ok(());
        };
        if counted >= end {
            return Ok(());
        }
        let messages = self.request.messages.iter();
        let own = (first..).zip(messages.map(|message| used_by(&[message])));
        let mut used: BTreeMap<u64, Counters> = own.collect();
        if counted < first {
            // An earlier call was stopped before it counted, or another one is about to.
            back_to(live, counted, first, |place, entry| {
                if let Ok(What::Message(json)) = parse(&entry.content).map(|line| line.what) {
                    used.insert(place, used_by(&[json]));
                }
            })?;
        }
        let step = step_id(&self.id()?, &format!("count {end}"))?;
        change(self.store, self.owner, &step, |state| {
            let Some(counted) = state.mirrored else {
                return Ok(());
            };
            if state.session_id == self.request.session_id && counted < end {
                for used in used.range(counted..).map(|(_, used)| used) {
                    state.counters.add_all(used);
                }
                state.mirrored = Some(end);
                state.updated_ms = state.updated_ms.max(self.activity_ms());
            }
            Ok(())
        })?;
        Ok(())
    }

    /// When the page's last message was said; the caller's now where it does not say, or says a time that is
    /// not yet.
    fn activity_ms(&self) -> u64 {
        let last = self.request.messages.last();
        let said = last.and_then(|last| Message::parse(last).ok()?.timestamp_ms);
        said.unwrap_or(u64::MAX).min(self.request.now_ms)
    }

    fn answer(&self, next: u64, repeat: bool, problems: Vec<Problem>) -> MirrorAnswer {
        MirrorAnswer {
            session_id: self.request.session_id.clone(),
            next,
            repeat,
            problems,
            cost: self.store.cost(),
        }
    }
}

/// The lines at the places from `from` to before `until`, newest first, read back from the log's end.
fn back_to(
    live: &Live<'_>,
    from: u64,
    until: u64,
    mut each: impl FnMut(u64, &LogEntry),
) -> Result<()> {
    let wanted = usize::try_from(until.saturating_sub(from)).unwrap_or(LOG_PAGE_ENTRIES_MAX);
    let mut before = None;
    loop {
        let entries_max = wanted
            .saturating_add(LINES_BETWEEN)
            .min(LOG_PAGE_ENTRIES_MAX);
        let page = live.page(entries_max, LOG_PAGE_BYTES_MAX, before)?;
        for entry in page.entries.iter().rev() {
            let Some(place) = entry.id.as_deref().and_then(place_of) else {
                continue;
            };
            if place < from {
                return Ok(());
            }
            if place < until {
                each(place, entry);
            }
            if place == from {
                return Ok(());
            }
        }
        before = page.before;
        if before.is_none() {
            return Ok(());
        }
    }
}

/// Lines of the log itself that are read along.
const LINES_BETWEEN: usize = 4;
