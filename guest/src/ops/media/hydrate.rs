//! What a model call has to fetch: one wave that asks whether it is there, and visible text where it is
//! not.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{ChangedMessage, HydrateAnswer, Session, StoredBlock, check_bytes, is_own};
use crate::format::message::{MediaBlock, MediaSource, media_blocks, with_replaced};
use crate::limits::MEDIA_HYDRATED_BLOCKS_MAX;
use crate::store::{Answer, Metered, Request, Store};
use crate::transform::media::missing_text;
use crate::types::{Error, Problem, ProblemKind, Result};

pub fn hydrate(store: &dyn Store, session: &Session, messages: &[String]) -> Result<HydrateAnswer> {
    let store = Metered::new(store);
    let session = session.key()?;
    check_bytes("the messages", messages)?;
    let mut problems = Vec::new();
    let mut wanted: Vec<(usize, Vec<(MediaBlock<'_>, String)>)> = Vec::new();
    for (index, line) in messages.iter().enumerate() {
        match media_blocks(line) {
            Ok(blocks) => {
                let stored: Vec<_> = blocks.into_iter().filter_map(stored).collect();
                if !stored.is_empty() {
                    wanted.push((index, stored));
                }
            }
            Err(fault) => {
                let message = format!("message {index} is left as it is: {fault}");
                problems.push(Problem::new(ProblemKind::Unreadable, "", message));
            }
        }
    }
    let blocks = || wanted.iter().flat_map(|(_, blocks)| blocks);
    let count = blocks().count();
    if count > MEDIA_HYDRATED_BLOCKS_MAX {
        return Err(Error::too_large(format!(
            "the messages have {count} media blocks, over {MEDIA_HYDRATED_BLOCKS_MAX}; pass fewer messages at once"
        )));
    }
    let keys = blocks().map(|(_, key)| key.as_str());
    let sizes = sizes(&store, keys.filter(|key| is_own(&session, key)))?;
    let mut answer = HydrateAnswer {
        blocks: Vec::new(),
        changed: Vec::new(),
        problems,
        cost: store.cost(),
    };
    for (index, blocks) in wanted {
        let message_index = u32::try_from(index).unwrap_or(u32::MAX);
        let mut replacements = Vec::new();
        for (block, key) in blocks {
            let kind = block.media.kind;
            if let Some(size_bytes) = sizes.get(&key).copied().flatten() {
                answer.blocks.push(StoredBlock {
                    message_index,
                    content_index: u32::try_from(block.index).unwrap_or(u32::MAX),
                    key,
                    kind: kind.into(),
                    mime_type: block.media.mime_type.unwrap_or_default().into_owned(),
                    size_bytes,
                });
                continue;
            }
            let text = Value::from(missing_text(kind));
            replacements.push((block.place, format!(r#"{{"type":"text","text":{text}}}"#)));
            let cause = match is_own(&session, &key) {
                true => "is gone, and the message says so".to_owned(),
                false => format!("is not below {session}'s own media, so it is not read"),
            };
            let message = format!("{}, which message {index} names, {cause}", kind.name());
            answer
                .problems
                .push(Problem::new(ProblemKind::Unreadable, key, message));
        }
        if let Some(line) = messages.get(index).filter(|_| !replacements.is_empty()) {
            answer.changed.push(ChangedMessage {
                message_index,
                message: with_replaced(line, &replacements),
            });
        }
    }
    Ok(answer)
}

/// A block with a key.
fn stored(block: MediaBlock<'_>) -> Option<(MediaBlock<'_>, String)> {
    match &block.media.source {
        MediaSource::Stored(key) => {
            let key = key.clone().into_owned();
            Some((block, key))
        }
        MediaSource::Inline(_) | MediaSource::Missing => None,
    }
}

/// The size of each key; none where there is no object. Every key is asked once.
fn sizes<'k>(
    store: &Metered<'_>,
    keys: impl Iterator<Item = &'k str>,
) -> Result<BTreeMap<String, Option<u64>>> {
    let mut sizes: BTreeMap<String, Option<u64>> = keys.map(|key| (key.to_owned(), None)).collect();
    let wave: Vec<_> = sizes.keys().map(|key| Request::Head(key.clone())).collect();
    let answers = store.read(wave)?;
    for ((key, size), answer) in sizes.iter_mut().zip(answers) {
        // Only what is known to be gone is shown as gone: a store that is out of reach fails the call.
        if let Answer::Head(stat) = answer.map_err(|error| error.about(key))? {
            *size = stat.map(|stat| stat.size_bytes);
        }
    }
    Ok(sizes)
}
