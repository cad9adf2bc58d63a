//! Appending to a chat log. A message is known by its own id and has its own time, so that a repeat needs
//! nothing else.

use super::{AppendAnswer, AppendRequest, Chat, metadata};
use crate::format::chat::NewMessage;
use crate::layout::field::SegmentMs;
use crate::limits::{LOG_APPEND_BYTES_MAX, LOG_APPEND_ENTRIES_MAX};
use crate::ops::tenants::check_room;
use crate::protocol::log::{Fold, Log, NewEntry};
use crate::store::{Metered, Store};
use crate::types::{Error, ErrorCode, Problem, ProblemKind, Result};

pub fn append(store: &dyn Store, request: &AppendRequest) -> Result<AppendAnswer> {
    let store = Metered::new(store);
    let chat = Chat::of(&request.home, &request.session_key)?;
    let messages = check(&request.messages)?;
    let bytes = messages.iter().map(|message| message.line.len() as u64);
    check_room(&store, &chat.user, request.tier.as_ref(), bytes.sum())?;
    let first_ms = messages.first().map_or(0, |message| message.timestamp_ms);
    let entries = messages.into_iter().map(|message| NewEntry {
        id: message.id,
        bytes: message.line,
    });
    let entries: Vec<NewEntry> = entries.collect();
    let log = chat.log(&store);
    let appended = log.append(&entries, first_ms)?;
    let mut problems = appended.problems;
    let folded = match appended.fold {
        Some(Fold::Done(folded)) => {
            problems.extend(folded.problems);
            true
        }
        // The next append that folds goes on with it.
        Some(Fold::Stopped(error)) if passes(&error) => false,
        Some(Fold::Stopped(error)) => {
            let key = error.key.clone().unwrap_or_default();
            let message = format!("the messages are in, and were not folded: {error}");
            problems.push(Problem::new(ProblemKind::Skipped, key, message));
            false
        }
        Some(Fold::Nothing) => false,
        None => store.appends() && Log::looks_after(&entries),
    };
    if folded && let Err(error) = metadata::update(&store, &chat, &mut problems) {
        // Derived, and so computed anew by the next fold; the messages are in.
        if !passes(&error) {
            let message = format!("the messages are in, and this was not updated: {error}");
            problems.push(Problem::new(
                ProblemKind::Skipped,
                chat.metadata_key(),
                message,
            ));
        }
    }
    Ok(AppendAnswer {
        repeat: appended.repeat,
        problems,
        cost: store.cost(),
    })
}

/// Whether it is over by itself: somebody else was quicker, or the store is busy.
fn passes(error: &Error) -> bool {
    matches!(error.code, ErrorCode::Conflict | ErrorCode::Unavailable)
}

fn check(messages: &[String]) -> Result<Vec<NewMessage>> {
    if messages.is_empty() {
        return Err(Error::invalid("an append of no messages"));
    }
    let bytes: usize = messages.iter().map(|message| message.len() + 1).sum();
    if messages.len() > LOG_APPEND_ENTRIES_MAX || bytes > LOG_APPEND_BYTES_MAX {
        return Err(Error::too_large(format!(
            "an append of {} messages and {bytes} bytes, over {LOG_APPEND_ENTRIES_MAX} or {LOG_APPEND_BYTES_MAX}; \
             append fewer at once, and larger things as files of the workspace",
            messages.len()
        )));
    }
    let parsed = messages.iter().map(|text| {
        let message = NewMessage::parse(text)?;
        SegmentMs::new(message.timestamp_ms).map_err(|_| {
            Error::invalid(format!(
                "message {:?} has the timestamp {}; it is milliseconds since 1970, at most {}",
                message.id,
                message.timestamp_ms,
                SegmentMs::MAX
            ))
        })?;
        Ok(message)
    });
    let parsed: Vec<NewMessage> = parsed.collect::<Result<_>>()?;
    for (at, message) in parsed.iter().enumerate() {
        let mut others = parsed.iter().take(at);
        if others.any(|other| other.id == message.id) {
            return Err(Error::invalid(format!(
                "two messages of one append have the id {:?}; nothing was written",
                message.id
            )));
        }
    }
    Ok(parsed)
}
