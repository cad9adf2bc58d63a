//! The end of copies: those of a deleted user for good, or those that a user who has everything needs no longer.

use super::arbiter::{Held, Verdict, arbitrate};
use super::place::{Continue, Prefixes, Word, moment_of, named_deletion, settled, worked};
use super::{Step, StepAnswer, StepRequest, user_of};
use crate::format::user_meta::{ACTIVE, DELETED, PURGED, PURGING, cleared, in_state, purged};
use crate::layout::moltbot::{DeletionTime, UserId, all_deleted_prefix, meta_key, user_prefix};
use crate::protocol::moving::{delete_below, is_empty};
use crate::protocol::request::RequestId;
use crate::store::{Metered, Store};
use crate::transform::retention::{Action, Rules, decide};
use crate::types::{Problem, ProblemKind, Result};

enum Stage {
    /// Everything below the prefix goes.
    Delete(DeletionTime, String),
    Over(Box<StepAnswer>),
}

pub fn purge(store: &dyn Store, request: &StepRequest) -> Result<StepAnswer> {
    let store = Metered::new(store);
    let user = user_of(&request.home)?;
    let id = RequestId::parse(&request.request_id)?;
    let (rules, budget) = (request.rules()?, request.budget()?);
    let came = Continue::parse(request.continue_from.as_deref())?;
    let stage = arbitrate(&store, &user, &id, |held| {
        begin(&store, &user, held, rules, came.as_ref())
    })?;
    let mut answer = match stage {
        Stage::Over(answer) => *answer,
        Stage::Delete(deletion, prefix) => {
            let done = delete_below(&store, &budget, &prefix)?;
            let state = if prefix == all_deleted_prefix(&user) {
                PURGING
            } else {
                ACTIVE
            };
            worked(
                done,
                state,
                &deletion,
                (Word::Delete, Word::Deleted),
                &store,
            )
        }
    };
    if answer.step == Step::Done && answer.state == PURGED && !answer.repeat {
        answer.problems.extend(left_behind(&store, &user)?);
    }
    answer.cost = store.cost();
    Ok(answer)
}

fn begin(
    store: &Metered<'_>,
    user: &UserId,
    held: &Held,
    rules: Rules,
    came: Option<&Continue>,
) -> Result<Verdict<Stage>> {
    let meta = &held.meta;
    let deletion = named_deletion(user, meta);
    let decision = decide(meta, deletion.as_ref().and_then(moment_of), rules);
    let over = |step, state: &str, why: &str| {
        Stage::Over(Box::new(StepAnswer {
            to: meta.to.clone(),
            repeat: held.is_repeat,
            ..settled(step, state, why, store)
        }))
    };
    let state = meta.state();
    if state == PURGED {
        return Ok(Verdict::Leave(over(Step::Done, PURGED, &decision.why)));
    }
    let due = [Action::Purge, Action::ClearCopies].contains(&decision.action);
    let (true, Some(deletion)) = (due, deletion) else {
        return Ok(Verdict::Leave(over(Step::Kept, state, &decision.why)));
    };
    let is_gone = came.is_some_and(|came| came.says(&deletion, Word::Deleted));
    let all = all_deleted_prefix(user);
    Ok(match state {
        DELETED => {
            let text = in_state(&held.text, PURGING)?;
            Verdict::Write(text, Stage::Delete(deletion, all))
        }
        PURGING if is_gone => {
            let mut answer = over(Step::Done, PURGED, "purged: only its name is left");
            if let Stage::Over(answer) = &mut answer {
                (answer.repeat, answer.to) = (false, None);
            }
            Verdict::Write(purged(user.as_str()), answer)
        }
        PURGING => Verdict::Leave(Stage::Delete(deletion, all)),
        // A user who has everything: only what the last sweep copied, because the next one may be copying.
        _ if is_gone => {
            let why = "the copies of an earlier sweep are gone; the user keeps everything";
            Verdict::Write(cleared(&held.text)?, over(Step::Done, state, why))
        }
        _ => {
            let copies = Prefixes::of(user, &deletion).copies;
            Verdict::Leave(Stage::Delete(deletion, copies))
        }
    })
}

/// What was written to the user after it was deleted: its time is not over, so it stays, and is told.
fn left_behind(store: &Metered<'_>, user: &UserId) -> Result<Option<Problem>> {
    let home = user_prefix(user);
    let is_empty = is_empty(store, &home, &meta_key(user))?;
    Ok((!is_empty).then(|| {
        let message = "something was written after the user was deleted; it stays";
        Problem::new(ProblemKind::Skipped, home, message)
    }))
}
