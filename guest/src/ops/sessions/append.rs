//! Appending messages to whatever session a key has now. The line in the log is the commit; a session that
//! is reset meanwhile neither loses it nor gets it twice. Counting follows.
//!
//! After writing the state is looked at again. While it names the same session the line is before the close
//! of its log, because a reset first changes the state and then closes. Else the old log is closed by whoever
//! comes first, and says whether the line is in it (then it is in the archive) or came late (then it goes to
//! the new session).

use super::live::Live;
use super::state::{self, Owner, change, step_id};
use super::{AppendAnswer, AppendRequest};
use crate::format::live_log::{
    What, close_id, close_line, message_id, message_line, parse, request_of,
};
use crate::format::message::Message;
use crate::format::session_state::{Counters, ResetStage, SessionState};
use crate::limits::{
    APPEND_SESSIONS_MAX, LOG_APPEND_BYTES_MAX, LOG_APPEND_ENTRIES_MAX, NOW_MS_MAX,
};
use crate::protocol::log::{NewEntry, Segment};
use crate::protocol::request::RequestId;
use crate::store::{Metered, Store};
use crate::types::{Error, ErrorCode, Problem, ProblemKind, Result};

pub fn append(store: &dyn Store, request: &AppendRequest) -> Result<AppendAnswer> {
    let store = Metered::new(store);
    let owner = Owner::of(&request.home, &request.session_key)?;
    let id = RequestId::parse(&request.request_id)?;
    check_now(request.now_ms)?;
    // Refused before anything is created.
    state::session_id(&request.seed, &owner, &id)?;
    let call = Call {
        store: &store,
        owner: &owner,
        id: &id,
        entries: entries_of("an append", &request.messages, |number| {
            message_id(id.as_str(), number)
        })?,
        used: used_by(&request.messages),
        now_ms: request.now_ms,
    };
    call.run(&request.seed)
}

/// Bring lines that came late to the log of a session that is over to the one that the key has now, as their
/// own append would: under its id, so that both together do it once. `conflict` where that one takes none.
pub fn bring(
    store: &Metered<'_>,
    owner: &Owner,
    entries: Vec<NewEntry>,
    now_ms: u64,
) -> Result<()> {
    let first = entries.first().and_then(|entry| request_of(&entry.id));
    let Some(Ok(id)) = first.map(RequestId::parse) else {
        // No append of ours: there is nobody who was told anything.
        return Ok(());
    };
    let messages: Vec<String> = entries
        .iter()
        .filter_map(|entry| message_in(&entry.bytes))
        .collect();
    if messages.is_empty() {
        // The summary of a compaction that was too late: its messages are where they were.
        return Ok(());
    }
    let call = Call {
        store,
        owner,
        id: &id,
        used: used_by(&messages),
        entries,
        now_ms,
    };
    // The state is there, and so no seed is needed.
    call.run("").map(|_| ())
}

fn message_in(line: &[u8]) -> Option<String> {
    match parse(line.trim_ascii_end()).ok()?.what {
        What::Message(json) => Some(json.to_owned()),
        _ => None,
    }
}

pub fn check_now(now_ms: u64) -> Result<()> {
    if now_ms <= NOW_MS_MAX {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "now-ms is {now_ms}; it must be milliseconds since 1970 before the year 10000"
    )))
}

/// The lines of messages, each under the id that `id_of` gives its number; `what` they are, for errors.
pub fn entries_of(
    what: &str,
    messages: &[String],
    id_of: impl Fn(usize) -> String,
) -> Result<Vec<NewEntry>> {
    let bytes: usize = messages
        .iter()
        .map(|message| message.len() + LINE_BYTES)
        .sum();
    let (count_max, bytes_max) = (LOG_APPEND_ENTRIES_MAX, LOG_APPEND_BYTES_MAX);
    if messages.is_empty() {
        return Err(Error::invalid(format!("{what} of no messages")));
    }
    if messages.len() > count_max || bytes > bytes_max {
        return Err(Error::too_large(format!(
            "{what} of {} messages and {bytes} bytes, over {count_max} or {bytes_max}; give fewer at once, and \
             larger parts of a message as media",
            messages.len()
        )));
    }
    let numbered = messages.iter().enumerate();
    let entries = numbered.map(|(number, message)| {
        let id = id_of(number);
        let bytes = message_line(&id, message).map_err(|mut error| {
            error.message = format!("message {}: {}", number + 1, error.message);
            error
        })?;
        Ok(NewEntry { id, bytes })
    });
    entries.collect()
}

/// What a line has around its message, at most.
const LINE_BYTES: usize = 128;

/// What messages say that they used.
pub fn used_by<S: AsRef<str>>(messages: &[S]) -> Counters {
    let mut used = Counters::default();
    for message in messages {
        let usage = Message::parse(message.as_ref())
            .ok()
            .and_then(|message| message.usage);
        let usage = usage.unwrap_or_default();
        used.add(usage.input, usage.output, usage.total_tokens);
    }
    used
}

struct Call<'a> {
    store: &'a Metered<'a>,
    owner: &'a Owner,
    id: &'a RequestId,
    entries: Vec<NewEntry>,
    used: Counters,
    now_ms: u64,
}

/// What became of lines in the log of a session that is over.
enum Settled {
    InArchive,
    Late(Segment),
}

impl Call<'_> {
    fn run(&self, seed: &str) -> Result<AppendAnswer> {
        let mut problems = Vec::new();
        let mut late: Option<Segment> = None;
        for _ in 0..APPEND_SESSIONS_MAX {
            let state = state::load_or_create(self.store, self.owner, self.id, seed, self.now_ms)?;
            let (state, archived_in) = self.look_back(state)?;
            if let Some(session) = archived_in {
                if let Some(segment) = late.take() {
                    self.delete(&segment)?;
                }
                return Ok(self.answer(session, true, problems));
            }
            if state.mirrored.is_some() {
                if let Some(segment) = late.take() {
                    self.delete(&segment)?;
                }
                return Err(kept_by_its_host(self.owner, &state));
            }
            let live = Live::of(self.store, self.owner, &state.session_id)?;
            let appended = match live.log().append(&self.entries, self.now_ms) {
                Ok(appended) => appended,
                Err(error) if error.code == ErrorCode::Conflict => {
                    let now = state::require(self.store, self.owner)?;
                    if now.session_id == state.session_id {
                        return Err(error);
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            problems.extend(appended.problems);
            let now = self.count(&state, &mut problems)?;
            if let Some(segment) = late.take() {
                self.delete(&segment)?;
            }
            if now.session_id == state.session_id {
                return Ok(self.answer(state.session_id, appended.repeat, problems));
            }
            match self.settle(&live, &now)? {
                Settled::InArchive => {
                    return Ok(self.answer(state.session_id, appended.repeat, problems));
                }
                Settled::Late(segment) => late = Some(segment),
            }
        }
        Err(Error::new(
            ErrorCode::Unavailable,
            format!(
                "{} began {APPEND_SESSIONS_MAX} sessions while one append was on its way; repeat it with the same \
                 request id",
                self.owner.key
            ),
        ))
    }

    /// The session before this one, if an earlier call with this id has appended to it; and the state as it
    /// is then. While that one is not archived its log is looked at, which holds as long as it is not deleted.
    fn look_back(&self, mut state: SessionState) -> Result<(SessionState, Option<String>)> {
        loop {
            if state.requests.iter().any(|id| id == self.id.as_str()) {
                let before = state.previous.last().cloned();
                return Ok((state, before));
            }
            let reset = state.pending_reset();
            let Some(reset) = reset.filter(|reset| reset.stage == ResetStage::Begun) else {
                return Ok((state, None));
            };
            let old = reset.old.clone();
            let live = Live::of(self.store, self.owner, &old)?;
            live.log().close(&closing(self.id))?;
            let holds = self.is_in(&live)?;
            if holds == Some(true) {
                return Ok((state, Some(old)));
            }
            let now = state::require(self.store, self.owner)?;
            if now.pending_reset() == state.pending_reset() {
                return Ok((now, None));
            }
            state = now;
        }
    }

    /// Whether a closed log has these lines for good; none when it is gone.
    fn is_in(&self, live: &Live<'_>) -> Result<Option<bool>> {
        let ids = live.log().folded_ids()?;
        let is_in = |entry: &NewEntry| ids.as_ref().map(|ids| ids.contains(&entry.id));
        Ok(self.entries.first().and_then(is_in))
    }

    fn segment_in(&self, live: &Live<'_>, segments: &[Segment]) -> Option<Segment> {
        let ids: Vec<String> = self.entries.iter().map(|entry| entry.id.clone()).collect();
        live.log().find_segment(segments, &ids)
    }

    /// What became of lines that were written to the log of a session that is over by now.
    fn settle(&self, live: &Live<'_>, now: &SessionState) -> Result<Settled> {
        if now.requests.iter().any(|id| id == self.id.as_str()) {
            return Ok(Settled::InArchive);
        }
        live.log().close(&closing(self.id))?;
        // First what lies beside the log: what is not there any more is in it, or was brought on.
        let late = live.log().leftover()?.late;
        let Some(segment) = self.segment_in(live, &late) else {
            return Ok(Settled::InArchive);
        };
        Ok(match self.is_in(live)? {
            Some(true) => Settled::InArchive,
            _ => Settled::Late(segment),
        })
    }

    fn delete(&self, segment: &Segment) -> Result<()> {
        for answer in self.store.delete(vec![segment.key.clone()])? {
            answer.map_err(|error| error.about(&segment.key))?;
        }
        Ok(())
    }

    /// Count what was used and answer the state as it is behind that. A count that fails is a problem and no
    /// failure, because the messages are in.
    fn count(&self, before: &SessionState, problems: &mut Vec<Problem>) -> Result<SessionState> {
        let step = step_id(self.id, &format!("count {}", before.session_id))?;
        let counted = change(self.store, self.owner, &step, |state| {
            if state.session_id == before.session_id {
                state.counters.add_all(&self.used);
                state.updated_ms = state.updated_ms.max(self.now_ms);
            }
            Ok(())
        });
        match counted {
            Ok(counted) => Ok(counted.state),
            Err(error) => {
                let message = format!("the messages are in, and were not counted: {error}");
                let key = self.owner.state_key();
                problems.push(Problem::new(ProblemKind::Skipped, key, message));
                state::require(self.store, self.owner)
            }
        }
    }

    fn answer(&self, session_id: String, repeat: bool, problems: Vec<Problem>) -> AppendAnswer {
        AppendAnswer {
            session_id,
            ids: self.entries.iter().map(|entry| entry.id.clone()).collect(),
            repeat,
            problems,
            cost: self.store.cost(),
        }
    }
}

/// A session that its host keeps itself takes its pages only, or what they hold had no place any more.
fn kept_by_its_host(owner: &Owner, state: &SessionState) -> Error {
    let message = format!(
        "{} has a session that its host keeps itself, {}: it takes pages with `mirror` and no appends; nothing was \
         appended",
        owner.key, state.session_id
    );
    Error::new(ErrorCode::Conflict, message).at(owner.state_key())
}

/// The line that closes a log under this request.
pub fn closing(id: &RequestId) -> NewEntry {
    let id = close_id(id.as_str());
    NewEntry {
        bytes: close_line(&id),
        id,
    }
}
