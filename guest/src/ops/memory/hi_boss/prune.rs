//! Old days, deleted on request and never by themselves.

use super::super::{PruneAnswer, PruneRequest, Pruned, PrunedDay};
use crate::layout::hi_boss::{AgentName, Date, Place, memories_prefix};
use crate::limits::KEEP_DAYS_MAX;
use crate::ops::moment;
use crate::protocol::request::RequestId;
use crate::store::{ListRequest, Metered, Store};
use crate::types::{Error, Problem, ProblemKind, Result};

const DAY_MS: u64 = 86_400_000;

pub fn prune(store: &dyn Store, request: &PruneRequest) -> Result<PruneAnswer> {
    let store = Metered::new(store);
    let agent = AgentName::parse(&request.home.id)?;
    RequestId::parse(&request.request_id)?;
    let before = before(request)?;
    let prefix = memories_prefix(&agent);
    let after = request.continue_from.clone();
    if let Some(after) = after.as_ref().filter(|after| !after.starts_with(&prefix)) {
        return Err(Error::invalid(format!(
            "continue-from is {after:?}, which is no place in the days of {agent}; pass that of the answer before"
        )));
    }
    let listing = store.list(ListRequest {
        prefix,
        start_after: after,
        ..ListRequest::default()
    })?;
    let mut days = Vec::new();
    let mut reached = false;
    for entry in &listing.entries {
        if let Some(Place::DailyMemory { date, .. }) = Place::parse(&entry.key) {
            // Keys are in the order of their dates.
            reached |= date >= before;
            if date < before {
                days.push(PrunedDay {
                    date: date.to_string(),
                    key: entry.key.clone(),
                    size_bytes: entry.size_bytes,
                });
            }
        }
    }
    if !request.dry_run && !days.is_empty() {
        let keys = days.iter().map(|day| day.key.clone()).collect();
        for (day, answer) in days.iter().zip(store.delete(keys)?) {
            answer.map_err(|error| error.about(&day.key))?;
        }
    }
    let last = listing.entries.last().map(|entry| entry.key.clone());
    let skipped = listing.skipped.into_iter();
    let problems = skipped.map(|it| Problem::new(ProblemKind::Skipped, it.key, it.cause));
    Ok(PruneAnswer {
        before: before.to_string(),
        days,
        problems: problems.collect(),
        // The store's cursor may be of any form: the last key serves every store.
        continue_from: listing.cursor.filter(|_| !reached).and(last),
        cost: store.cost(),
    })
}

/// The first day that stays.
fn before(request: &PruneRequest) -> Result<Date> {
    let today = moment::day("now-ms", request.now_ms, request.utc_offset_minutes)?;
    match &request.pruned {
        Pruned::Before(date) => {
            let date = Date::parse(date)?;
            if date <= today {
                return Ok(date);
            }
            Err(Error::invalid(format!(
                "{date} is after today, {today}: today's file is written to and never pruned"
            )))
        }
        Pruned::KeepDays(days @ 1..=KEEP_DAYS_MAX) => {
            let back = u64::from(days - 1) * DAY_MS;
            let first = request.now_ms.checked_sub(back);
            let first = first.and_then(|ms| Date::at(ms, request.utc_offset_minutes));
            // Before 1970 nothing was remembered.
            Ok(first.unwrap_or(Date::at(0, 0).unwrap_or(today)))
        }
        Pruned::KeepDays(days) => Err(Error::invalid(format!(
            "keep-days is {days}; it must be from 1, which keeps today, to {KEEP_DAYS_MAX}"
        ))),
    }
}
