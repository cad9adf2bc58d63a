//! Media of sessions on the host's side: the component plans, and this moves the bytes, which never pass through it.
//! Knows the plans of `wit/core/media.wit`; no key is made up here.

pub(crate) mod base64;
mod blocks;
mod bytes;
mod cache;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ::bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};

use crate::bindings::exported::media::StoredBlock;
pub use crate::bindings::exported::media::{Item, Kind, Origin, Planned, Session, Size};
pub use crate::bindings::exported::types::{
    Error as ContractError, ErrorCode as ContractCode, Home, Problem,
};
use crate::engine::{CallError, Engine};
use crate::store::{self, BlobStore};
pub use cache::CACHE_BYTES_MAX;
use cache::Cache;

/// Objects that one call fetches at the same time.
const FETCHED_AT_ONCE: usize = 8;

/// Why media could not be stored or fetched.
#[derive(Debug)]
pub enum MediaError {
    /// The component refuses it: too large, no base64, another session's.
    Refused(ContractError),
    Call(CallError),
    Store(store::Error),
    /// Nothing lies under the key, or it is another session's.
    NotFound(String),
    /// The bytes are not what was said of them.
    Damaged(String),
    /// The caller's own bytes could not be read.
    Unread(std::io::Error),
}

impl std::fmt::Display for MediaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(error) => f.write_str(&error.message),
            Self::Call(error) => error.fmt(f),
            Self::Store(error) => f.write_str(&error.message),
            Self::NotFound(message) | Self::Damaged(message) => f.write_str(message),
            Self::Unread(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MediaError {}

/// Media over one store, with the cache of what was fetched lately. Share one for all sessions of the store.
pub struct Media {
    engine: Engine,
    store: Arc<dyn BlobStore>,
    cache: Mutex<Cache>,
}

/// An attachment that is stored.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Where it lies, and the block for the message.
    pub planned: Planned,
    /// Whether an earlier try had stored it.
    pub repeat: bool,
    pub problems: Vec<Problem>,
}

/// A message without base64.
#[derive(Debug, Clone)]
pub struct TakenOut {
    /// Every other byte is as it was.
    pub message: String,
    pub stored: Vec<Planned>,
    pub problems: Vec<Problem>,
}

/// Messages as a model call wants them.
#[derive(Debug, Clone)]
pub struct Hydrated {
    pub messages: Vec<String>,
    /// What is gone or refused; the messages say so too.
    pub problems: Vec<Problem>,
}

impl Media {
    pub fn new(engine: Engine, store: Arc<dyn BlobStore>) -> Self {
        Self {
            engine,
            store,
            cache: Mutex::new(Cache::new(CACHE_BYTES_MAX)),
        }
    }

    /// Plan one attachment and store its bytes. The size in `item` must be that of `bytes`.
    pub async fn put(
        &self,
        origin: Origin,
        item: Item,
        bytes: Vec<u8>,
    ) -> Result<Stored, MediaError> {
        self.put_with(origin, item, || Ok(bytes)).await
    }

    /// The same with bytes that are read only once the component has agreed to their length.
    pub async fn put_with(
        &self,
        origin: Origin,
        item: Item,
        read: impl FnOnce() -> std::io::Result<Vec<u8>>,
    ) -> Result<Stored, MediaError> {
        let items = vec![item];
        let planned = self
            .engine
            .call(self.store.clone(), async |store, bindings| {
                let media = bindings.haversack_core_media();
                media.call_plan(store, &origin, &items).await
            })
            .await;
        let planned = settled(planned)?;
        let Some(item) = planned.items.into_iter().next() else {
            return Err(MediaError::Damaged("the plan is empty".to_owned()));
        };
        let bytes = read().map_err(MediaError::Unread)?;
        let repeat = bytes::put(&*self.store, &item, bytes).await?;
        Ok(Stored {
            planned: item,
            repeat,
            problems: planned.problems,
        })
    }

    /// Store what a message holds in base64, and answer the message with blocks that name it.
    pub async fn take_out(&self, origin: Origin, message: &str) -> Result<TakenOut, MediaError> {
        let inline = blocks::inline(message);
        let swaps = inline
            .iter()
            .map(|inline| (inline.place.clone(), inline.stand_in()));
        let short = blocks::replaced(message, swaps.collect());
        let planned = self
            .engine
            .call(self.store.clone(), async |store, bindings| {
                let media = bindings.haversack_core_media();
                media.call_plan_message(store, &origin, &short).await
            })
            .await;
        let planned = settled(planned)?;
        if planned.blocks.len() != inline.len() {
            let message =
                "the component sees other blocks in the message than this host; nothing was stored";
            return Err(MediaError::Damaged(message.to_owned()));
        }
        let mut answer = TakenOut {
            message: planned.message,
            stored: Vec::new(),
            problems: planned.problems,
        };
        for block in planned.blocks {
            let index = block.content_index as usize;
            let found = inline.iter().find(|inline| inline.content_index == index);
            let decoded = found.map_or(Err(None), |inline| base64::decode(&inline.base64));
            let decoded = decoded.map_err(|wrong| not_base64(index, wrong))?;
            bytes::put(&*self.store, &block.planned, decoded).await?;
            answer.stored.push(block.planned);
        }
        Ok(answer)
    }

    /// Put the bytes back into messages as base64: `{"type":…,"data":…,"mimeType":…}`. What is gone is a text
    /// that says so, and a problem. At most 8 MiB of messages and 1,024 blocks at once.
    pub async fn hydrate(
        &self,
        session: Session,
        messages: &[String],
    ) -> Result<Hydrated, MediaError> {
        let found = self
            .engine
            .call(self.store.clone(), async |store, bindings| {
                let media = bindings.haversack_core_media();
                media.call_hydrate(store, &session, messages).await
            })
            .await;
        let found = settled(found)?;
        let mut messages = messages.to_vec();
        for changed in found.changed {
            if let Some(message) = messages.get_mut(changed.message_index as usize) {
                *message = changed.message;
            }
        }
        let bytes = self.fetch(&found.blocks).await?;
        let mut swaps: BTreeMap<u32, Vec<&StoredBlock>> = BTreeMap::new();
        for block in &found.blocks {
            swaps.entry(block.message_index).or_default().push(block);
        }
        for (index, blocks) in swaps {
            let Some(message) = messages.get_mut(index as usize) else {
                continue;
            };
            let places = blocks::places(message);
            let replacements = blocks.into_iter().filter_map(|block| {
                let place = places.get(block.content_index as usize)?;
                Some((place.clone(), with_bytes(block, bytes.get(&block.key)?)))
            });
            *message = blocks::replaced(message, replacements.collect());
        }
        Ok(Hydrated {
            messages,
            problems: found.problems,
        })
    }

    /// The bytes under a key of the session's own.
    pub async fn get(&self, session: Session, key: &str) -> Result<Bytes, MediaError> {
        let block = serde_json::json!({ "type": "document", "r2Key": key, "mimeType": "" });
        let message = serde_json::json!({ "role": "user", "content": [block] }).to_string();
        let found = self
            .engine
            .call(self.store.clone(), async |store, bindings| {
                let media = bindings.haversack_core_media();
                media.call_hydrate(store, &session, &[message]).await
            })
            .await;
        let found = settled(found)?;
        let bytes = self.fetch(&found.blocks).await?.remove(key);
        bytes.ok_or_else(|| {
            let of_another = "there is none of this session under this key";
            MediaError::NotFound(format!("{}: {of_another}", store::key::shown(key)))
        })
    }

    /// Each key once, from the cache where it is there.
    async fn fetch(&self, blocks: &[StoredBlock]) -> Result<BTreeMap<String, Bytes>, MediaError> {
        let sizes: BTreeMap<&str, u64> = blocks
            .iter()
            .map(|block| (block.key.as_str(), block.size_bytes))
            .collect();
        let fetched = futures_util::stream::iter(sizes)
            .map(async |(key, size_bytes)| {
                if let Some(bytes) = self.cache().get(key) {
                    return Ok((key.to_owned(), bytes));
                }
                let bytes = bytes::get(&*self.store, key, size_bytes).await?;
                self.cache().put(key, bytes.clone());
                Ok((key.to_owned(), bytes))
            })
            .buffer_unordered(FETCHED_AT_ONCE);
        fetched.try_collect().await
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn settled<T>(called: Result<Result<T, ContractError>, CallError>) -> Result<T, MediaError> {
    called
        .map_err(MediaError::Call)?
        .map_err(MediaError::Refused)
}

fn not_base64(index: usize, wrong: Option<char>) -> MediaError {
    let cause = match wrong {
        Some(wrong) => format!("{wrong:?} is none of its characters"),
        None => "its length is impossible".to_owned(),
    };
    MediaError::Damaged(format!(
        "block {index} of the message is no base64: {cause}"
    ))
}

fn with_bytes(block: &StoredBlock, bytes: &Bytes) -> String {
    let kind = match block.kind {
        Kind::Image => "image",
        Kind::Audio => "audio",
        Kind::Video => "video",
        Kind::Document => "document",
    };
    let mime_type = serde_json::Value::from(block.mime_type.as_str());
    let data = base64::encode(bytes);
    format!(r#"{{"type":"{kind}","data":"{data}","mimeType":{mime_type}}}"#)
}
