//! The subscription goes on, or a deleted user comes back: nobody who is renewed loses anything, whatever a sweep was
//! doing.

use super::apply::lease;
use super::arbiter::{Held, Verdict, arbitrate, check_faults, unknown_state};
use super::place::{Continue, Prefixes, Word, named_deletion, settled, worked};
use super::{Step, StepAnswer, StepRequest, user_of};
use crate::format::user_meta::{
    ACTIVE, COPYING, CREATING, DELETED, EMPTYING, PURGED, PURGING, RESTORING, Subscription,
    expiring_at, in_state, leased, renewed,
};
use crate::layout::moltbot::{DeletionTime, UserId, deleted_to, meta_key};
use crate::limits::NOW_MS_MAX;
use crate::protocol::request::RequestId;
use crate::store::{Metered, Store};
use crate::transform::retention::{DAY_MS, Rules};
use crate::types::{Error, ErrorCode, Result};

/// What brings the user back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// The subscription is active again.
    Renew,
    /// It has ended still, and the data stay for another term.
    Restore,
}

enum Stage {
    BringBack(DeletionTime),
    Over(Box<StepAnswer>),
}

pub fn renew(store: &dyn Store, request: &StepRequest) -> Result<StepAnswer> {
    run(store, request, Wish::Renew)
}

pub fn restore(store: &dyn Store, request: &StepRequest) -> Result<StepAnswer> {
    run(store, request, Wish::Restore)
}

fn run(store: &dyn Store, request: &StepRequest, wish: Wish) -> Result<StepAnswer> {
    let store = Metered::new(store);
    let user = user_of(&request.home)?;
    let id = RequestId::parse(&request.request_id)?;
    let (rules, budget) = (request.rules()?, request.budget()?);
    let came = Continue::parse(request.continue_from.as_deref())?;
    let stage = arbitrate(&store, &user, &id, |held| {
        begin(&store, &user, &id, held, rules, came.as_ref(), wish)
    })?;
    let mut answer = match stage {
        Stage::Over(answer) => *answer,
        Stage::BringBack(deletion) => {
            let prefixes = Prefixes::of(&user, &deletion);
            let moving = prefixes.moving(&store, &budget);
            let after = came.and_then(|came| came.after(&deletion, Word::Back));
            let done = moving.bring_back(after, &prefixes.beside)?;
            let words = (Word::Back, Word::BroughtBack);
            let mut answer = worked(done, RESTORING, &deletion, words, &store);
            answer.to = Some(deleted_to(&user, &deletion));
            answer
        }
    };
    answer.cost = store.cost();
    Ok(answer)
}

fn begin(
    store: &Metered<'_>,
    user: &UserId,
    id: &RequestId,
    held: &Held,
    rules: Rules,
    came: Option<&Continue>,
    wish: Wish,
) -> Result<Verdict<Stage>> {
    let meta = &held.meta;
    check_faults(user, meta)?;
    let state = meta.state();
    let is_repeat = held.is_repeat && state != RESTORING;
    let over = |step, state: &str, why: &str| {
        Stage::Over(Box::new(StepAnswer {
            to: meta.to.clone(),
            repeat: is_repeat,
            ..settled(step, state, why, store)
        }))
    };
    if is_repeat {
        return Ok(Verdict::Leave(over(Step::Done, state, "was done before")));
    }
    match (state, wish) {
        (ACTIVE | CREATING | COPYING, Wish::Renew) => {
            let text = renewed(&held.text)?;
            let text = match state == COPYING {
                true => in_state(&text, ACTIVE)?,
                false => text,
            };
            let stands = if state == CREATING { CREATING } else { ACTIVE };
            Ok(Verdict::Write(
                text,
                over(Step::Done, stands, "the subscription is active"),
            ))
        }
        (ACTIVE | CREATING, Wish::Restore) => {
            Err(refused(user, "has everything: there is nothing to restore"))
        }
        (COPYING | EMPTYING, Wish::Restore) => Err(refused(
            user,
            "is being deleted at this time: `renew` ends that, or restore it once it is deleted",
        )),
        (EMPTYING | DELETED, _) => {
            let deletion = place_of(user, held)?;
            let text = in_state(&subscribed(&held.text, rules, wish)?, RESTORING)?;
            // Deletes of a sweep that does not know yet are over when its lease is; by the clock of this caller
            // too where they may have begun just now.
            let until_ms = match state == EMPTYING {
                true => lease(meta.lease_until_ms, rules),
                false => meta.lease_until_ms.unwrap_or(0),
            };
            let text = leased(&text, id.as_str(), until_ms)?;
            let stage = match until_ms.saturating_sub(rules.now_ms) {
                0 => Stage::BringBack(deletion),
                left_ms => wait(store, held, left_ms),
            };
            Ok(Verdict::Write(text, stage))
        }
        (RESTORING, _) => {
            let deletion = place_of(user, held)?;
            let is_active = meta.subscription == Some(Subscription::Active);
            // A repeat of an earlier renewal helps, and says nothing about the subscription of today.
            let text = match wish == Wish::Renew && !is_active && !held.is_repeat {
                true => renewed(&held.text)?,
                false => held.text.clone(),
            };
            let left_ms = meta
                .lease_until_ms
                .unwrap_or(0)
                .saturating_sub(rules.now_ms);
            if left_ms > 0 {
                return Ok(Verdict::Write(text, wait(store, held, left_ms)));
            }
            if came.is_some_and(|came| came.says(&deletion, Word::BroughtBack)) {
                let why = match wish {
                    Wish::Renew => "everything is back, and the subscription is active",
                    Wish::Restore => "everything is back",
                };
                let text = in_state(&text, ACTIVE)?;
                return Ok(Verdict::Write(text, over(Step::Done, ACTIVE, why)));
            }
            Ok(Verdict::Write(text, Stage::BringBack(deletion)))
        }
        (PURGING | PURGED, _) => Err(Error::not_found(format!(
            "user {user} was purged: nothing is left to bring back, and `open` begins anew"
        ))
        .at(meta_key(user))),
        (other, _) => Err(unknown_state(user, other)),
    }
}

fn subscribed(text: &str, rules: Rules, wish: Wish) -> Result<String> {
    let days_ms = u64::from(rules.retention_days) * DAY_MS;
    match wish {
        Wish::Renew => renewed(text),
        Wish::Restore => expiring_at(text, rules.now_ms.saturating_add(days_ms).min(NOW_MS_MAX)),
    }
}

/// What lies in deleted/ comes back once no delete of a sweep can be on its way any more.
fn wait(store: &Metered<'_>, held: &Held, left_ms: u64) -> Stage {
    let why = format!(
        "a sweep was deleting: everything comes back once its lease is over, in {} s",
        left_ms.div_ceil(1_000)
    );
    Stage::Over(Box::new(StepAnswer {
        to: held.meta.to.clone(),
        retry_after_ms: Some(left_ms),
        ..settled(Step::Wait, RESTORING, why, store)
    }))
}

fn place_of(user: &UserId, held: &Held) -> Result<DeletionTime> {
    named_deletion(user, &held.meta).ok_or_else(|| {
        Error::invalid(format!(
            "meta.json of user {user} does not say where its deleted data lie: correct `to` by hand"
        ))
        .at(meta_key(user))
    })
}

fn refused(user: &UserId, what: &str) -> Error {
    Error::new(ErrorCode::Conflict, format!("user {user} {what}")).at(meta_key(user))
}
