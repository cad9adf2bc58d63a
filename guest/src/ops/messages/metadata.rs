//! metadata.json of a chat session: derived from the log, at its folds or when asked for. Whoever wrote it after
//! this call began looking has counted later, and stays.

use super::{Chat, RefreshAnswer, RefreshRequest};
use crate::format::chat::Message;
use crate::format::chat_metadata::{ChatMetadata, Counted};
use crate::limits::{CHAT_COUNTED_BYTES_MAX, CHAT_FOLDS_MAX, CONFLICT_TRIES_MAX};
use crate::ops::tenants;
use crate::protocol::log::{Fold, Settled};
use crate::store::{
    Blob, Body, BodyKind, Condition, GetRequest, Metered, PutOptions, Range, Store,
};
use crate::types::{Error, ErrorCode, Problem, ProblemKind, Result};

pub fn refresh(store: &dyn Store, request: &RefreshRequest) -> Result<RefreshAnswer> {
    let store = Metered::new(store);
    let chat = Chat::of(&request.home, &request.session_key)?;
    let mut problems = Vec::new();
    let mut again = true;
    for _ in 0..CHAT_FOLDS_MAX {
        match chat.log(&store).fold()? {
            Fold::Done(folded) => {
                problems.extend(folded.problems);
                again = folded.left > 0;
            }
            Fold::Nothing => again = false,
            Fold::Stopped(error) => return Err(error),
        }
        if !again {
            break;
        }
    }
    let mut tries = 0;
    let metadata = loop {
        tries += 1;
        let mut found = Vec::new();
        match update(&store, &chat, &mut found) {
            Ok(metadata) => {
                problems.extend(found);
                break metadata;
            }
            Err(error) if error.code == ErrorCode::Conflict && tries < CONFLICT_TRIES_MAX => {}
            Err(error) => return Err(error),
        }
    };
    let metadata = metadata.ok_or_else(|| {
        let key = chat.keys.head();
        let (user, session) = (&chat.user, &chat.session);
        Error::not_found(format!("user {user} has no messages in session {session}")).at(key)
    })?;
    Ok(RefreshAnswer {
        created_ms: metadata.created_ms,
        updated_ms: metadata.updated_ms,
        message_count: metadata.message_count,
        size_bytes: metadata.size_bytes,
        last_message_id: metadata.last_message_id,
        again,
        problems,
        cost: store.cost(),
    })
}

/// Measure the log and write what is known of it, where that is not what stands there; none without a log.
///
/// `conflict` where somebody else wrote it meanwhile; `unsupported` where a newer version did.
pub fn update(
    store: &Metered<'_>,
    chat: &Chat,
    problems: &mut Vec<Problem>,
) -> Result<Option<ChatMetadata>> {
    let key = chat.metadata_key();
    let blob = store.get(GetRequest {
        key: key.clone(),
        range: Range::Whole,
        kind: BodyKind::Text,
    })?;
    let (text, before) = read(&key, blob.as_ref(), problems)?;
    // Without its beginning nothing counts as settled, so that the measure finds it.
    let settled = before.as_ref().filter(|before| before.created_ms.is_some());
    let settled = settled
        .and_then(|before| before.counted)
        .map(|counted| Settled {
            first: counted.first,
            bytes: counted.bytes,
            entries: counted.messages,
        });
    let log = chat.log(store);
    let is_message = |line: &[u8]| Message::read(line).is_some();
    let Some(measured) = log.measure(settled, CHAT_COUNTED_BYTES_MAX, is_message)? else {
        return Ok(None);
    };
    let last = measured.last.as_deref().and_then(Message::read);
    let before_ms = before.as_ref().and_then(|before| before.created_ms);
    let updated_ms = last.as_ref().and_then(Message::timestamp_ms);
    let created_ms = match &measured.begin {
        Some(begin) if before_ms.is_none() => {
            let first = log.first_entry(begin)?;
            let first = first.as_deref().and_then(Message::read);
            first.and_then(|first| first.timestamp_ms()).or(updated_ms)
        }
        _ => before_ms,
    };
    let now = ChatMetadata {
        session_key: chat.session.to_string(),
        created_ms,
        updated_ms,
        message_count: measured.entries,
        size_bytes: measured.bytes,
        last_message_id: last.as_ref().and_then(Message::id),
        counted: Some(Counted {
            first: measured.settled.first,
            bytes: measured.settled.bytes,
            messages: measured.settled.entries,
        }),
    };
    let body = now.render(text.as_deref())?;
    let before_bytes = match (&blob, &text) {
        (None, _) => Some(0),
        // What it said is lost, and so is what has been told.
        (Some(_), None) => None,
        (Some(_), Some(text)) => before.map(|before| before.size_bytes + text.len() as u64),
    };
    let now_bytes = now.size_bytes + body.len() as u64;
    if text.as_ref() == Some(&body) {
        return Ok(Some(now));
    }
    let stat = blob.map(|blob| blob.stat);
    let (version, metadata) = stat.map(|stat| (stat.version, stat.metadata)).unzip();
    let options = PutOptions {
        condition: version.map_or(Condition::IfAbsent, Condition::IfMatch),
        content_type: Some("application/json".to_owned()),
        metadata: metadata.unwrap_or_default(),
    };
    match store.put(&key, Body::Text(body), options) {
        Ok(_) => {
            grow(store, chat, before_bytes, now_bytes, problems);
            Ok(Some(now))
        }
        Err(error) if error.is_unsure() => {
            let mut error = error.about(&key);
            error.code = ErrorCode::Conflict;
            Err(error)
        }
        Err(error) => Err(error.about(&key)),
    }
}

/// Tell the user's document. What it has to be told comes out of one write of the document here, so that of all who
/// count one tells it; who stops before that, or meets trouble, leaves it to the next count.
fn grow(
    store: &Metered<'_>,
    chat: &Chat,
    before_bytes: Option<u64>,
    now_bytes: u64,
    problems: &mut Vec<Problem>,
) {
    let by_bytes =
        before_bytes.and_then(|before_bytes| now_bytes.checked_signed_diff(before_bytes));
    let grown = tenants::grow(store, &chat.user, by_bytes.unwrap_or_default());
    if let Err(error) = grown
        && error.code != ErrorCode::Unavailable
    {
        let key = error.key.clone().unwrap_or_default();
        let message = format!("the user's figure was not updated: {error}");
        problems.push(Problem::new(ProblemKind::Skipped, key, message));
    }
}

/// The document and what it says; neither where it cannot be read, because all of it is computed anew.
fn read(
    key: &str,
    blob: Option<&Blob>,
    problems: &mut Vec<Problem>,
) -> Result<(Option<String>, Option<ChatMetadata>)> {
    let Some(blob) = blob else {
        return Ok((None, None));
    };
    let text = std::str::from_utf8(blob.body.as_bytes());
    let text = text.map_err(|_| Error::invalid("metadata.json is not UTF-8"));
    match text.and_then(|text| Ok((text, ChatMetadata::parse(text)?))) {
        Ok((text, metadata)) => Ok((Some(text.to_owned()), Some(metadata))),
        Err(error) if error.code == ErrorCode::Unsupported => Err(error.at(key)),
        Err(error) => {
            let message = format!("{error}; it was computed anew from the log");
            problems.push(Problem::new(ProblemKind::Repaired, key, message));
            Ok((None, None))
        }
    }
}
