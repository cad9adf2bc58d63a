//! The end of a subscription: dates, and nothing else yet.

use super::arbiter::{Verdict, arbitrate, check_faults, unknown_state};
use super::{EndAnswer, EndRequest, Ending, rules, user_of};
use crate::format::user_meta::{
    ACTIVE, COPYING, CREATING, DELETED, EMPTYING, PURGED, PURGING, RESTORING, Subscription, ended,
};
use crate::limits::NOW_MS_MAX;
use crate::protocol::request::RequestId;
use crate::store::{Metered, Store};
use crate::transform::retention::DAY_MS;
use crate::types::{Error, ErrorCode, Result};

pub fn end(store: &dyn Store, request: &EndRequest) -> Result<EndAnswer> {
    let store = Metered::new(store);
    let user = user_of(&request.home)?;
    let id = RequestId::parse(&request.request_id)?;
    let rules = rules(request.now_ms, request.retention_days, None)?;
    let subscription = match request.ending {
        None | Some(Ending::Cancelled) => Subscription::Cancelled,
        Some(Ending::Expired) => Subscription::Expired,
    };
    // Documents have seconds.
    let now_ms = rules.now_ms / 1_000 * 1_000;
    let mut answer = arbitrate(&store, &user, &id, |held| {
        let meta = &held.meta;
        check_faults(&user, meta)?;
        let answer = |ended_ms, expires_ms, changed| EndAnswer {
            state: meta.state().to_owned(),
            ended_ms,
            expires_ms,
            changed,
            repeat: held.is_repeat,
            cost: store.cost(),
        };
        let as_it_is = || {
            let (ended_ms, expires_ms) = (meta.subscription_ended_ms, meta.retention_expires_ms);
            Ok(Verdict::Leave(answer(ended_ms, expires_ms, held.is_repeat)))
        };
        match meta.state() {
            _ if held.is_repeat => return as_it_is(),
            ACTIVE | CREATING => {}
            COPYING | EMPTYING | DELETED | PURGING => return as_it_is(),
            RESTORING => {
                return Err(Error::new(
                    ErrorCode::Conflict,
                    format!(
                        "user {user} is being restored; end the subscription once that is done"
                    ),
                ));
            }
            PURGED => {
                return Err(Error::not_found(format!(
                    "user {user} was purged: there is no subscription to end"
                )));
            }
            other => return Err(unknown_state(&user, other)),
        }
        let was = meta.subscription.filter(|was| *was != Subscription::Active);
        // What has ended keeps its dates: ending it again postpones nothing.
        let ended_ms = was.and(meta.subscription_ended_ms).unwrap_or(now_ms);
        let expires_ms = was.and(meta.retention_expires_ms);
        let days_ms = u64::from(rules.retention_days) * DAY_MS;
        let expires_ms = expires_ms.unwrap_or(ended_ms.saturating_add(days_ms));
        let text = ended(
            &held.text,
            subscription,
            ended_ms,
            expires_ms.min(NOW_MS_MAX),
        )?;
        let changed = text != held.text;
        Ok(Verdict::Write(
            text,
            answer(Some(ended_ms), Some(expires_ms), changed),
        ))
    })?;
    answer.cost = store.cost();
    Ok(answer)
}
