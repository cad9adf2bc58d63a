//! A whole reset as a caller runs it, with a model or without; shared by the scenarios of sessions and of
//! compactions that are given up.

use haversack_core::ops::sessions::{
    ResetBeginRequest, ResetCommitRequest, ResetResumeRequest, ResetStep, reset_begin,
    reset_commit, reset_resume,
};
use haversack_core::store::Store;
use haversack_core::types::{Error, ErrorCode};

use super::session_reader::{KEY, SEED, home};
use crate::scenario::Outcome;

/// Steps that a reset takes at most where nobody disturbs it.
const STEPS_MAX: usize = 40;

/// From the begin to the end. Another one's reset that is pending is gone on with instead. `remembered` is the
/// model: it is given the id of the old session.
pub fn run(
    store: &dyn Store,
    id: &str,
    now_ms: u64,
    remembered: Option<&dyn Fn(&str) -> String>,
) -> Outcome<()> {
    match steps(store, id, now_ms, remembered) {
        Ok(Ok(())) => Outcome::Done(()),
        Ok(Err(what)) => Outcome::Wrong(what),
        // Somebody else has brought it to its end between two steps.
        Err(error) if error.code == ErrorCode::NotFound => Outcome::Again(error.message),
        Err(error) => Outcome::of(Err(error)),
    }
}

fn steps(
    store: &dyn Store,
    id: &str,
    now_ms: u64,
    remembered: Option<&dyn Fn(&str) -> String>,
) -> Result<Result<(), String>, Error> {
    for _ in 0..STEPS_MAX {
        let begin = ResetBeginRequest {
            home: home(),
            session_key: KEY.to_owned(),
            request_id: id.to_owned(),
            session_id: None,
            seed: SEED.to_owned(),
            now_ms,
            utc_offset_minutes: 0,
            keep_media: Vec::new(),
            window_tokens: remembered.map(|_| 100_000),
        };
        let mut answer = reset_begin(store, &begin)?;
        while answer.step == ResetStep::Ask {
            let old = answer.archived_session_id.unwrap_or_default();
            let memories = remembered.map(|model| model(&old)).unwrap_or_default();
            let resume = ResetResumeRequest {
                home: home(),
                session_key: KEY.to_owned(),
                request_id: answer.request_id,
                state: answer.state.unwrap_or_default(),
                reply: format!("<summary>s</summary><memories>{memories}</memories>"),
            };
            answer = reset_resume(store, &resume)?;
        }
        while answer.step == ResetStep::Commit {
            let commit = ResetCommitRequest {
                home: home(),
                session_key: KEY.to_owned(),
                request_id: answer.request_id,
                state: answer.state,
            };
            answer = reset_commit(store, &commit)?;
        }
        match answer.step {
            ResetStep::Again => {}
            ResetStep::Done | ResetStep::Nothing => return Ok(Ok(())),
            other => return Ok(Err(format!("after the commit {other:?}"))),
        }
    }
    Ok(Err(format!("a reset took over {STEPS_MAX} steps")))
}
