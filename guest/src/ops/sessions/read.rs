//! Reading a live session: its history page by page, and the messages that a model gets now.

use super::live::{Live, LiveMessage, message_of, summary_line};
use super::state::{self, Owner};
use super::{
    ContextAnswer, ContextRequest, HistoryAnswer, HistoryRequest, Repair, RepairKind,
    SessionMessage,
};
use crate::format::live_log::{Line, What, parse};
use crate::format::message::Message;
use crate::layout::gsv::SessionId;
use crate::limits::{
    CONTEXT_BYTES_MAX, CONTEXT_MESSAGES_MAX, HISTORY_MESSAGES_DEFAULT, LOG_PAGE_BYTES_MAX,
    LOG_PAGE_ENTRIES_MAX, SESSION_PROBLEMS_MAX,
};
use crate::ops::problems::Problems;
use crate::store::{Metered, Store};
use crate::transform::compaction::Facts;
use crate::transform::compaction::context::{self, Item};
use crate::types::{Error, ErrorCode, Result};

pub fn history(store: &dyn Store, request: &HistoryRequest) -> Result<HistoryAnswer> {
    let store = Metered::new(store);
    let owner = Owner::of(&request.home, &request.session_key)?;
    let count = request.count.unwrap_or(HISTORY_MESSAGES_DEFAULT) as usize;
    if count == 0 || count > LOG_PAGE_ENTRIES_MAX {
        return Err(Error::invalid(format!(
            "count is {count}; it must be 1 to {LOG_PAGE_ENTRIES_MAX}: ask page by page"
        )));
    }
    let session_id = match &request.session_id {
        Some(id) => SessionId::parse(id)?.to_string(),
        None => state::require(&store, &owner)?.session_id,
    };
    let live = Live::of(&store, &owner, &session_id)?;
    let page = live.page(count, LOG_PAGE_BYTES_MAX, request.before.clone())?;
    if page.entries.is_empty() && request.before.is_none() {
        return Err(no_log(&live));
    }
    let mut problems = Problems::up_to(SESSION_PROBLEMS_MAX);
    problems.extend(page.problems);
    let messages = page.entries.iter();
    let messages = messages.filter_map(|entry| message_of(live.key(), entry, &mut problems));
    Ok(HistoryAnswer {
        messages: messages.map(SessionMessage::from).collect(),
        session_id,
        before: page.before,
        bytes_ended: page.bytes_ended,
        problems: problems.into_told(),
        cost: store.cost(),
    })
}

/// Even a session without messages has a first line.
fn no_log(live: &Live<'_>) -> Error {
    Error::not_found(format!(
        "session {} has no live log: either there is no such session, or it was reset, and then `transcript` has \
         its messages",
        live.session_id
    ))
    .at(live.key())
}

impl From<LiveMessage> for SessionMessage {
    fn from(message: LiveMessage) -> Self {
        Self {
            id: message.id,
            json: message.json,
            is_summary: message.is_summary,
        }
    }
}

pub fn context(store: &dyn Store, request: &ContextRequest) -> Result<ContextAnswer> {
    let store = Metered::new(store);
    let owner = Owner::of(&request.home, &request.session_key)?;
    let state = state::require(&store, &owner)?;
    let live = Live::of(&store, &owner, &state.session_id)?;
    let mut problems = Problems::up_to(SESSION_PROBLEMS_MAX);
    let standing = standing_messages(&live, &mut problems)?;
    let facts = standing.iter().map(|message| {
        let parsed = Message::parse(&message.json);
        parsed.map(|parsed| Facts::of(&parsed)).map_err(|fault| {
            let id = message.id.as_deref().unwrap_or("without id");
            Error::invalid(format!("{}: message {id}: {fault}", live.key())).at(live.key())
        })
    });
    let facts: Vec<Facts> = facts.collect::<Result<_>>()?;
    let shown = context::context(&facts);
    let repairs = shown.repairs.iter().map(|repair| {
        let (kind, index) = match repair {
            context::Repair::NoResult(at) => (RepairKind::NoResult, at.message),
            context::Repair::LeftOut(index) => (RepairKind::LeftOut, *index),
            context::Repair::Moved(index) => (RepairKind::Moved, *index),
        };
        let message = standing.get(index);
        Repair {
            kind,
            id: message.and_then(|message| message.id.clone()),
        }
    });
    let repairs = repairs.collect();
    let messages = shown.items.into_iter().filter_map(|item| match item {
        Item::Message(index) => standing.get(index).cloned().map(SessionMessage::from),
        Item::Line(json) => Some(SessionMessage {
            id: None,
            json,
            is_summary: false,
        }),
    });
    Ok(ContextAnswer {
        messages: messages.collect(),
        repairs,
        estimated_tokens: facts.iter().map(|facts| facts.tokens).sum(),
        session_id: state.session_id,
        problems: problems.into_told(),
        cost: store.cost(),
    })
}

/// The messages that stand, oldest first: what the last compaction left, what it kept, what came later.
fn standing_messages(live: &Live<'_>, problems: &mut Problems) -> Result<Vec<LiveMessage>> {
    // Newest first, until it is known where to stop.
    let mut newest_first: Vec<LiveMessage> = Vec::new();
    let mut summary = None;
    let mut first_kept: Option<String> = None;
    let (mut bytes, mut before) = (0, None);
    'pages: loop {
        let page = live.page(LOG_PAGE_ENTRIES_MAX, LOG_PAGE_BYTES_MAX, before)?;
        problems.extend(page.problems);
        for entry in page.entries.iter().rev() {
            if let Ok(Line {
                what: What::Compaction(compaction),
                id,
            }) = parse(&entry.content)
            {
                if summary.is_none() {
                    summary = Some(LiveMessage {
                        json: summary_line(&compaction),
                        id: id.map(|id| id.into_owned()),
                        is_summary: true,
                    });
                    first_kept = compaction.first_kept;
                    if first_kept.is_none() {
                        break 'pages;
                    }
                }
                continue;
            }
            if let Some(message) = message_of(live.key(), entry, problems) {
                bytes += message.json.len() as u64;
                newest_first.push(message);
            }
            if newest_first.len() > CONTEXT_MESSAGES_MAX || bytes > CONTEXT_BYTES_MAX {
                return Err(too_long(live));
            }
            if first_kept.is_some() && entry.id == first_kept {
                break 'pages;
            }
        }
        before = page.before;
        if before.is_none() {
            break;
        }
    }
    newest_first.extend(summary);
    newest_first.reverse();
    Ok(newest_first)
}

fn too_long(live: &Live<'_>) -> Error {
    Error::new(
        ErrorCode::TooLarge,
        format!(
            "{} stands at more than {CONTEXT_MESSAGES_MAX} messages or {CONTEXT_BYTES_MAX} bytes since its last \
             compaction: compact it, or read it with `history`",
            live.key()
        ),
    )
    .at(live.key())
}
