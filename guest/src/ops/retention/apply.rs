//! One user's sweep: claim, copy, empty. Each call changes meta.json once, at its start, which extends the lease, and
//! says with that how far the calls before it came; then it works.

use super::arbiter::{Held, Verdict, arbitrate};
use super::place::{Continue, Prefixes, Word, moment_of, named_deletion, settled, worked};
use super::{Step, StepAnswer, StepRequest, user_of};
use crate::format::user_meta::{
    ACTIVE, COPYING, CREATING, Claim, DELETED, EMPTYING, claimed, in_state, leased,
};
use crate::format::utc;
use crate::layout::moltbot::{
    DeletionTime, UserId, all_deleted_prefix, deleted_to, deletion_of, meta_key, user_prefix,
};
use crate::limits::RETENTION_LEASE_MS;
use crate::protocol::moving::is_empty;
use crate::protocol::request::RequestId;
use crate::store::{ListRequest, Metered, Store};
use crate::transform::retention::{Action, DAY_MS, Rules, decide};
use crate::types::{Error, Result};

/// What this call may do.
enum Stage {
    Copy(DeletionTime),
    Empty(DeletionTime),
    /// Nothing but to answer.
    Over(Box<StepAnswer>),
}

pub fn apply(store: &dyn Store, request: &StepRequest) -> Result<StepAnswer> {
    let store = Metered::new(store);
    let user = user_of(&request.home)?;
    let id = RequestId::parse(&request.request_id)?;
    let (rules, budget) = (request.rules()?, request.budget()?);
    let came = Continue::parse(request.continue_from.as_deref())?;
    let stage = arbitrate(&store, &user, &id, |held| {
        begin(&store, &user, &id, held, rules, came.as_ref())
    })?;
    let mut answer = match stage {
        Stage::Over(answer) => *answer,
        Stage::Copy(deletion) => {
            let prefixes = Prefixes::of(&user, &deletion);
            let moving = prefixes.moving(&store, &budget);
            let after = came.and_then(|came| came.after(&deletion, Word::Copy));
            let done = moving.copy(after)?;
            let words = (Word::Copy, Word::Copied);
            let mut answer = worked(done, COPYING, &deletion, words, &store);
            answer.to = Some(deleted_to(&user, &deletion));
            answer
        }
        Stage::Empty(deletion) => {
            let prefixes = Prefixes::of(&user, &deletion);
            let done = prefixes.moving(&store, &budget).empty()?;
            let words = (Word::Empty, Word::Emptied);
            let mut answer = worked(done, EMPTYING, &deletion, words, &store);
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
) -> Result<Verdict<Stage>> {
    let meta = &held.meta;
    let deletion = named_deletion(user, meta);
    let decision = decide(meta, deletion.as_ref().and_then(moment_of), rules);
    let over = |step, why: String| {
        Verdict::Leave(Stage::Over(Box::new(StepAnswer {
            to: meta.to.clone(),
            repeat: held.is_repeat && step == Step::Done,
            ..settled(step, meta.state(), why, store)
        })))
    };
    let state = meta.state();
    if state == DELETED && decision.action != Action::Attend {
        return Ok(over(Step::Done, decision.why));
    }
    if decision.action != Action::SoftDelete {
        return Ok(over(Step::Kept, decision.why));
    }
    if [ACTIVE, CREATING].contains(&state) {
        if held.is_repeat {
            let why = "this very sweep has come to its end before, or was ended by a renewal";
            return Ok(over(Step::Kept, why.to_owned()));
        }
        let deletion = next_deletion(store, user, deletion.as_ref(), rules)?;
        let claim = Claim {
            to: deleted_to(user, &deletion),
            purge_after_ms: moment_of(&deletion)
                .unwrap_or(rules.now_ms)
                .saturating_add(u64::from(rules.grace_days) * DAY_MS),
            sweep_id: id.as_str().to_owned(),
            lease_until_ms: lease(meta.lease_until_ms, rules),
        };
        return Ok(Verdict::Write(
            claimed(&held.text, &claim)?,
            Stage::Copy(deletion),
        ));
    }
    // Copying or emptying: `decide` knows no other state, and no such one without a place.
    let Some(deletion) = deletion else {
        return Ok(over(Step::Kept, decision.why));
    };
    let is_own = meta.sweep_id.as_deref() == Some(id.as_str());
    let left_ms = meta
        .lease_until_ms
        .unwrap_or(0)
        .saturating_sub(rules.now_ms);
    if left_ms > 0 && !is_own {
        let why = format!(
            "sweep {} is at work, or was stopped; its lease ends in {} s",
            shown(meta.sweep_id.as_deref()),
            left_ms.div_ceil(1_000)
        );
        return Ok(Verdict::Leave(Stage::Over(Box::new(StepAnswer {
            to: meta.to.clone(),
            retry_after_ms: Some(left_ms),
            ..settled(Step::Wait, state, why, store)
        }))));
    }
    let text = leased(&held.text, id.as_str(), lease(meta.lease_until_ms, rules))?;
    let says = |word| came.is_some_and(|came| came.says(&deletion, word));
    if state == COPYING {
        return Ok(match says(Word::Copied) {
            true => Verdict::Write(in_state(&text, EMPTYING)?, Stage::Empty(deletion)),
            false => Verdict::Write(text, Stage::Copy(deletion)),
        });
    }
    if says(Word::Emptied) && is_empty(store, &user_prefix(user), &meta_key(user))? {
        // The lease stays: what was asked to be deleted is gone before it ends.
        let answer = StepAnswer {
            to: meta.to.clone(),
            ..settled(Step::Done, DELETED, "moved", store)
        };
        let text = in_state(&held.text, DELETED)?;
        return Ok(Verdict::Write(text, Stage::Over(Box::new(answer))));
    }
    Ok(Verdict::Write(text, Stage::Empty(deletion)))
}

/// By max(now, last + 1), because clocks go backwards.
pub fn lease(last_ms: Option<u64>, rules: Rules) -> u64 {
    let from_now_ms = rules.now_ms.saturating_add(RETENTION_LEASE_MS);
    from_now_ms.max(last_ms.map_or(0, |last_ms| last_ms.saturating_add(1)))
}

/// A name below the user's in deleted/ that no earlier deletion had, by max(now, last + 1).
fn next_deletion(
    store: &Metered<'_>,
    user: &UserId,
    last: Option<&DeletionTime>,
    rules: Rules,
) -> Result<DeletionTime> {
    let mut last = last.cloned();
    let mut request = ListRequest {
        prefix: all_deleted_prefix(user),
        delimiter: true,
        ..ListRequest::default()
    };
    loop {
        let listing = store.list(request.clone())?;
        let found = listing.prefixes.iter();
        last = last.max(found.filter_map(|prefix| deletion_of(user, prefix)).max());
        request.cursor = listing.cursor;
        if request.cursor.is_none() {
            break;
        }
    }
    let after_ms = last
        .as_ref()
        .and_then(moment_of)
        .map_or(0, |last_ms| last_ms + 1_000);
    let text = utc::print_compact(rules.now_ms.max(after_ms)).unwrap_or_default();
    DeletionTime::parse(&text).map_err(|_| {
        Error::invalid(format!(
            "user {user} has a deleted copy of the year 9999: there is no later name"
        ))
    })
}

fn shown(sweep_id: Option<&str>) -> String {
    let id: String = sweep_id.unwrap_or("of another").chars().take(64).collect();
    id
}
