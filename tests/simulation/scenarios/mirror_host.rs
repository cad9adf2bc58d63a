//! What a host does that keeps its session itself: it passes pages of it, compacts it, ends it; and what one
//! says that appends. Each answers what it was told.

use haversack_core::ops::compaction::{
    BeginRequest, CommitRequest, Conditions, Next, Session, Settings, begin, commit,
};
use haversack_core::ops::sessions::{
    AppendRequest, MirrorRequest, ResetBeginRequest, ResetCommitRequest, ResetStep, append, mirror,
    reset_begin, reset_commit,
};
use haversack_core::store::Store;
use haversack_core::types::{Error, ErrorCode};

use super::session_reader::{KEY, SEED, archived, home, says, state};
use crate::scenario::Outcome;
use crate::scheduler::START_MS;

/// Steps of a reset, and of a commit, that nobody disturbs.
const STEPS_MAX: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// It is in, or done.
    Yes,
    /// The session is another by now, and it is not in.
    Over,
    /// What comes before it is not in, because somebody stopped: the page, or the reset.
    TooEarly,
}

pub fn id_of(session: usize) -> String {
    format!("6f1d2c3b-0000-4000-8000-00000000000{session}")
}

/// The number in an id of the host's; 0 of the session that takes appends.
pub fn number_of(id: &str) -> usize {
    let number = id.strip_prefix("6f1d2c3b-0000-4000-8000-00000000000");
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

pub fn name(session: usize, place: u64) -> String {
    format!("s{session}.{place}")
}

pub fn page(session: usize, first: u64, count: u64, now_ms: u64) -> MirrorRequest {
    let places = first..first + count;
    MirrorRequest {
        home: home(),
        session_key: KEY.to_owned(),
        session_id: id_of(session),
        first,
        messages: places
            .map(|place| says(&name(session, place), None))
            .collect(),
        now_ms,
    }
}

pub fn appending(id: &str, now_ms: u64) -> AppendRequest {
    AppendRequest {
        home: home(),
        session_key: KEY.to_owned(),
        request_id: id.to_owned(),
        seed: SEED.to_owned(),
        now_ms,
        messages: vec![says(id, None)],
    }
}

fn session() -> Session {
    Session {
        home: home(),
        session_key: KEY.to_owned(),
    }
}

/// The commit of a state that was ready before the run began.
pub fn commit_ready(store: &dyn Store, ready: &str, id: &str, now_ms: u64) -> Outcome<Answer> {
    let request = CommitRequest {
        session: session(),
        state: ready.to_owned(),
        request_id: id.to_owned(),
        now_ms,
    };
    for _ in 0..STEPS_MAX {
        match commit(store, &request) {
            Ok(answer) => match answer.committed {
                None => {}
                Some(done) if done.first_kept_place == Some(done.removed_messages) => {
                    return Outcome::Done(Answer::Yes);
                }
                Some(done) => return Outcome::Wrong(format!("{done:?}")),
            },
            Err(error) if error.message.contains("begin again") => {
                return Outcome::Done(Answer::Over);
            }
            Err(error) => return Outcome::of(Err(error)),
        }
    }
    Outcome::Wrong(format!("not committed in {STEPS_MAX} calls"))
}

/// Without a model.
pub fn ready_of(store: &dyn Store) -> Result<String, Error> {
    let request = BeginRequest {
        conditions: Conditions {
            session: session(),
            window_tokens: 2_000,
            system_tokens: 0,
            settings: Some(Settings {
                keep_recent_tokens: 60,
                ..Settings::default()
            }),
        },
        force: true,
        with_model: false,
        now_ms: START_MS,
        utc_offset_minutes: 0,
    };
    let step = begin(store, &request)?;
    match step.next {
        Next::Ready(_) => Ok(step.state),
        other => Err(Error::invalid(format!("{other:?}"))),
    }
}

pub fn pass(
    store: &dyn Store,
    session: usize,
    first: u64,
    count: u64,
    now_ms: u64,
) -> Outcome<Answer> {
    match mirror(store, &page(session, first, count, now_ms)) {
        Ok(answer) if answer.next >= first + count => Outcome::Done(Answer::Yes),
        Ok(answer) => Outcome::Wrong(format!("only {} are held", answer.next)),
        Err(error) if error.message.contains("is over") => {
            // An earlier attempt may be in the archive: a host looks there.
            match archived(store, &id_of(session)) {
                Err(what) => Outcome::Again(what),
                Ok(Some(lines)) if lines.len() as u64 >= first + count => {
                    Outcome::Done(Answer::Yes)
                }
                Ok(_) => Outcome::Done(Answer::Over),
            }
        }
        Err(error)
            if ["pass those from", "end that one"]
                .iter()
                .any(|words| error.message.contains(words)) =>
        {
            Outcome::Done(Answer::TooEarly)
        }
        Err(error) if error.code == ErrorCode::Conflict => Outcome::Wrong(error.message),
        Err(error) => Outcome::of(Err(error)),
    }
}

pub fn say(store: &dyn Store, id: &str, now_ms: u64) -> Outcome<Answer> {
    match append(store, &appending(id, now_ms)) {
        Ok(_) => Outcome::Done(Answer::Yes),
        Err(error) if error.message.contains("keeps itself") => Outcome::Done(Answer::Over),
        Err(error) => Outcome::of(Err(error)),
    }
}

/// A host ends the session that it knows: another one is over by now, or has not begun.
pub fn reset(store: &dyn Store, session: usize, id: &str, now_ms: u64) -> Outcome<Answer> {
    let now = match state(store) {
        Err(what) => return Outcome::Again(what),
        Ok(now) => now.map_or(0, |state| number_of(&state.session_id)),
    };
    if now < session {
        return Outcome::Done(Answer::TooEarly);
    }
    if now > session + 1 {
        return Outcome::Done(Answer::Yes);
    }
    match steps(store, session + 1, id, now_ms) {
        Ok(outcome) => outcome,
        // Somebody else has brought it to its end between two steps.
        Err(error) if error.code == ErrorCode::NotFound => Outcome::Again(error.message),
        Err(error) => Outcome::of(Err(error)),
    }
}

fn steps(store: &dyn Store, to: usize, id: &str, now_ms: u64) -> Result<Outcome<Answer>, Error> {
    for _ in 0..STEPS_MAX {
        let begin = ResetBeginRequest {
            home: home(),
            session_key: KEY.to_owned(),
            request_id: id.to_owned(),
            session_id: Some(id_of(to)),
            seed: String::new(),
            now_ms,
            utc_offset_minutes: 0,
            keep_media: Vec::new(),
            window_tokens: None,
        };
        let begun = reset_begin(store, &begin)?;
        let answer = match begun.step {
            ResetStep::Commit => {
                let commit = ResetCommitRequest {
                    home: home(),
                    session_key: KEY.to_owned(),
                    request_id: begun.request_id,
                    state: None,
                };
                reset_commit(store, &commit)?
            }
            _ => begun,
        };
        // It may have been another one's that was pending: then its own is to be begun yet.
        let now = number_of(&answer.session_id.unwrap_or_default());
        match answer.step {
            ResetStep::Done | ResetStep::Nothing if now >= to => {
                return Ok(Outcome::Done(Answer::Yes));
            }
            ResetStep::Ask => return Ok(Outcome::Wrong("it asks nobody".to_owned())),
            _ => {}
        }
    }
    Ok(Outcome::Wrong(format!(
        "a reset took over {STEPS_MAX} steps"
    )))
}
