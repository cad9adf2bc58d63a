//! Whether to compact, and what is removed: the cut is decided here, once.

use super::ask::next_step;
use super::conversation::{Conversation, fold_all, log_of};
use super::state::{Done, FORMAT, Mark, Removed, State};
use super::{BeginRequest, Conditions, Next, Step, Tier, Verdict};
use crate::format::session_state::{PendingCompaction, SessionState};
use crate::ops::moment;
use crate::ops::sessions::state::{Owner, check_given_up, load};
use crate::protocol::log::Position;
use crate::store::{Metered, Store};
use crate::transform::compaction::cut::cut;
use crate::transform::compaction::should_compact::{self as due, should_compact as decide};
use crate::transform::compaction::{Settings, Window, summary};
use crate::types::{Error, ErrorCode, Problem, ProblemKind, Result};

pub fn should_compact(store: &dyn Store, conditions: &Conditions) -> Result<Verdict> {
    let store = Metered::new(store);
    let owner = conditions.session.owner()?;
    let window = Window::new(conditions.window_tokens)?;
    let settings = conditions.settings.unwrap_or_default();
    let conversation = match load(&store, &owner)? {
        Some(state) => {
            let keys = owner.log_keys(&state.session_id)?;
            Conversation::read(&log_of(&store, &keys), &owner)?
        }
        None => Conversation::default(),
    };
    let verdict = verdict_of(&conversation, conditions.system_tokens, window, &settings);
    Ok(Verdict {
        compact: verdict.compact,
        messages: conversation.facts.len() as u64,
        tokens: verdict.tokens,
        reported: verdict.reported,
        usable_tokens: verdict.usable_tokens,
        problems: conversation.problems,
        cost: store.cost(),
    })
}

fn verdict_of(
    conversation: &Conversation,
    system_tokens: u64,
    window: Window,
    settings: &Settings,
) -> due::Verdict {
    decide(&conversation.facts, system_tokens, window, settings)
}

pub fn begin(store: &dyn Store, request: &BeginRequest) -> Result<Step> {
    let store = Metered::new(store);
    let conditions = &request.conditions;
    let owner = conditions.session.owner()?;
    let window = Window::new(conditions.window_tokens)?;
    let settings = conditions.settings.unwrap_or_default();
    moment::day("now-ms", request.now_ms, request.utc_offset_minutes)?;
    let nothing = |why: String, problems, store: &Metered<'_>| Step {
        next: Next::Nothing(why),
        state: String::new(),
        problems,
        cost: store.cost(),
    };
    let Some(record) = load(&store, &owner)? else {
        let why = format!("{} has no session", owner.key);
        return Ok(nothing(why, Vec::new(), &store));
    };
    if record.pending_reset().is_some() {
        return Err(under_reset(&owner));
    }
    let keys = owner.log_keys(&record.session_id)?;
    let log = log_of(&store, &keys);
    fold_all(&log)?;
    let mut conversation = Conversation::read(&log, &owner)?;
    let verdict = verdict_of(&conversation, conditions.system_tokens, window, &settings);
    if !verdict.compact && !request.force {
        let why = format!(
            "it is not due: {} messages with {} tokens, and {} are usable{}",
            conversation.facts.len(),
            verdict.tokens,
            verdict.usable_tokens,
            if settings.enabled {
                ""
            } else {
                "; it is not enabled either"
            }
        );
        return Ok(nothing(why, conversation.problems, &store));
    }
    let given_up = unpublished(&record, &conversation);
    if let Some(pending) = given_up {
        check_given_up(&owner, pending, request.now_ms)?;
    }
    let (removed, adopted) = match removed_of(&conversation, given_up, window, &settings) {
        Ok(decided) => decided,
        Err(why) => return Ok(nothing(why, conversation.problems, &store)),
    };
    let given_up = given_up.filter(|_| !adopted);
    if let Some(pending) = given_up {
        let message = format!(
            "the compaction under the request {} was given up, and its messages are not there any more as they \
             were; its part {} stays behind",
            pending.request_id, pending.part_ms
        );
        let problem = Problem::new(ProblemKind::Skipped, log.keys.head(), message);
        conversation.problems.push(problem);
    }
    let given_up = given_up.map(|pending| pending.request_id.clone());
    let (summary, done) = start(&conversation, &removed);
    let state = State {
        format: FORMAT,
        session: conditions.session.clone(),
        session_id: record.session_id,
        window_tokens: window.tokens(),
        settings,
        now_ms: request.now_ms,
        utc_offset_minutes: request.utc_offset_minutes,
        given_up,
        last_part_ms: conversation.last.as_ref().map(|last| last.part_ms),
        tier: if request.with_model {
            Tier::Full
        } else {
            Tier::Plain
        },
        ready: false,
        done,
        next: None,
        summary: summary.as_deref().map(summary::bounded),
        memories: String::new(),
        removed,
    };
    // What is in memory of the messages is not needed any more.
    let problems = std::mem::take(&mut conversation.problems);
    drop(conversation);
    next_step(&store, log, state, problems)
}

/// A commit that has begun and has published nothing yet.
fn unpublished<'s>(
    record: &'s SessionState,
    conversation: &Conversation,
) -> Option<&'s PendingCompaction> {
    let published = conversation.last.as_ref().map(|last| last.part_ms);
    let pending = record.pending_compaction();
    pending.filter(|pending| Some(pending.part_ms) != published)
}

pub fn under_reset(owner: &Owner) -> Error {
    Error::new(
        ErrorCode::Conflict,
        format!(
            "{} is being reset; finish that first, then look again whether to compact",
            owner.key
        ),
    )
    .at(owner.state_key())
}

/// What is removed, and whether a commit that was given up is gone on with; the error says why nothing can be. A commit that was given up has its part already,
/// so the same messages are removed again, and there is no second part.
fn removed_of(
    conversation: &Conversation,
    given_up: Option<&PendingCompaction>,
    window: Window,
    settings: &Settings,
) -> std::result::Result<(Removed, bool), String> {
    let places = &conversation.places;
    let adopted = given_up.and_then(|pending| {
        let starts = places
            .first()
            .and_then(|first| first.id.as_deref())
            .unwrap_or_default();
        let last = places
            .iter()
            .position(|place| place.id.as_ref() == Some(&pending.to_entry))?;
        (starts == pending.from_entry).then_some(last + 1)
    });
    let decided = || {
        let cut = cut(&conversation.facts, window.keep_recent_tokens(settings));
        conversation.message_index(cut.first_kept)
    };
    let first_kept = adopted.unwrap_or_else(decided);
    let marked = |index: usize| {
        let place = places.get(index)?;
        let position = place.position.map(Position::to_text)?;
        let id = place.id.clone().unwrap_or_default();
        Some(Mark { id, position })
    };
    let marks = first_kept
        .checked_sub(1)
        .and_then(|last| Some((marked(0)?, marked(last)?, marked(first_kept)?)));
    let Some((from, to, end)) = marks else {
        return Err("nothing can be removed: every message is among the newest, which are kept, or belongs \
             together with them".to_owned());
    };
    if end.id.is_empty() {
        return Err(
            "nothing can be removed: the first message to keep was written by another program and has no id; \
             look again after the next message"
                .to_owned(),
        );
    }
    let removed = places.get(..first_kept).unwrap_or_default();
    let hash = removed
        .iter()
        .fold(0u64, |sum, place| sum.wrapping_add(place.hash));
    let messages = removed.len() as u64;
    let removed = Removed {
        from,
        to,
        end,
        messages,
        hash,
    };
    Ok((removed, adopted.is_some()))
}

/// The summary so far, and where the first question begins: behind a summary that stands as a message.
fn start(conversation: &Conversation, removed: &Removed) -> (Option<String>, Done) {
    let first = Done {
        messages: 0,
        position: removed.from.position.clone(),
        offset_bytes: 0,
    };
    if let Some(last) = &conversation.last {
        return (Some(last.summary.clone()), first);
    }
    let second = conversation.places.get(1).and_then(|place| place.position);
    match (&conversation.leading_summary, second) {
        (Some(summary), Some(second)) => {
            let done = Done {
                messages: 1,
                position: second.to_text(),
                offset_bytes: 0,
            };
            (Some(summary.clone()), done)
        }
        _ => (None, first),
    }
}
