//! What a sweep would do, a page of users at a time: a list, and a get a user. Writes nothing.

use super::arbiter;
use super::place::{moment_of, named_deletion};
use super::{Action, PlanAnswer, PlanRequest, Planned, rules};
use crate::layout::System;
use crate::layout::concept::{Concept, require};
use crate::layout::moltbot::{USERS_PREFIX, UserId, behind_everything, meta_key, user_of};
use crate::limits::{LIST_PAGE_MAX, USER_META_BYTES_MAX};
use crate::store::{
    Answer, Blob, BodyKind, GetRequest, ListRequest, Metered, Range, Request, Store, StoreResult,
};
use crate::transform::retention::{Rules, decide};
use crate::types::{Error, Home, Problem, ProblemKind, Result};

pub fn plan(store: &dyn Store, request: &PlanRequest) -> Result<PlanAnswer> {
    let store = Metered::new(store);
    let system = System::parse(&request.system)?;
    require(system, Concept::Retention)?;
    let rules = rules(request.now_ms, request.retention_days, request.grace_days)?;
    let after = request.continue_from.as_deref();
    if let Some(after) = after.filter(|after| !after.starts_with(USERS_PREFIX)) {
        return Err(Error::invalid(format!(
            "continue-from is {:?}, which no plan answered; pass that of the page before, or none",
            after.chars().take(80).collect::<String>()
        )));
    }
    // Behind everything of that user: a list would name it again.
    let after = after.map(behind_everything);
    let listing = store.list(ListRequest {
        prefix: USERS_PREFIX.to_owned(),
        delimiter: true,
        start_after: after,
        limit: Some(LIST_PAGE_MAX),
        ..ListRequest::default()
    })?;
    let last = listing.last_key().cloned();
    let mut problems = Vec::new();
    let no_user = |key: String, cause: &str| Problem::new(ProblemKind::Skipped, key, cause);
    for it in listing.skipped {
        problems.push(no_user(it.key, &it.cause));
    }
    for it in listing.entries {
        problems.push(no_user(it.key, "is no user: users have directories"));
    }
    let mut users = Vec::new();
    for prefix in listing.prefixes {
        match user_of(&prefix) {
            Some(user) => users.push(user),
            None => problems.push(no_user(prefix, "is no user's: the name is no user id")),
        }
    }
    // A part, so that whole waves are asked for; and no more than a document may have.
    let get = |user: &UserId| {
        Request::Get(GetRequest {
            key: meta_key(user),
            range: Range::Span {
                start_bytes: 0,
                length_bytes: USER_META_BYTES_MAX,
            },
            kind: BodyKind::Text,
        })
    };
    let answers = store.read(users.iter().map(get).collect())?;
    let mut planned = Vec::with_capacity(users.len());
    for (user, answer) in users.iter().zip(answers) {
        planned.push(planned_of(system, user, answer, rules)?);
    }
    Ok(PlanAnswer {
        users: planned,
        problems,
        continue_from: listing.cursor.and(last),
        cost: store.cost(),
    })
}

fn planned_of(
    system: System,
    user: &UserId,
    answer: StoreResult<Answer>,
    rules: Rules,
) -> Result<Planned> {
    let key = meta_key(user);
    let attend = |why: String| Planned {
        home: home(system, user),
        state: "unknown".to_owned(),
        since_ms: None,
        due_ms: None,
        action: Action::Attend,
        why,
    };
    let blob: Option<Blob> = match answer {
        Ok(Answer::Blob(blob)) => blob,
        Ok(_) => None,
        // One that cannot be read is no reason to keep silent about the others.
        Err(error) => return Ok(attend(error.about(&key).message)),
    };
    let Some(blob) = blob else {
        return Ok(attend(format!("has no meta.json ({key}), and stays")));
    };
    let (_, meta) = match arbiter::read(&key, user, &blob) {
        Ok(read) => read,
        Err(error) => return Ok(attend(error.message)),
    };
    let deletion = named_deletion(user, &meta);
    let decision = decide(&meta, deletion.as_ref().and_then(moment_of), rules);
    Ok(Planned {
        home: home(system, user),
        state: meta.state().to_owned(),
        since_ms: decision.since_ms,
        due_ms: decision.due_ms,
        action: decision.action,
        why: decision.why,
    })
}

fn home(system: System, user: &UserId) -> Home {
    Home {
        system: system.name().to_owned(),
        id: user.to_string(),
    }
}
