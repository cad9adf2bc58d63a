//! An object on its way into an archive: all of it as it was at one moment, however large it is and whoever appends
//! to it meanwhile. Knows one object at a time.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::head::Head;
use super::pack::{Packer, Stop};
use crate::store::check::error;
use crate::store::key::shown;
use crate::store::{BlobStore, Entry, Error, ErrorCode, Range, Span, Stat, value};
use crate::transfer::read::{PART_BYTES, Parts, Problem, get};

/// What reading ahead found.
pub enum Fetched {
    Small {
        head: Head,
        bytes: Vec<u8>,
        version: String,
        /// Given back when it is written.
        _room: Option<OwnedSemaphorePermit>,
    },
    /// To be read while it is written.
    Large,
    Gone,
}

/// Read an object of up to 8 MiB whole, once `room`, in KiB, has so much.
pub async fn fetch(
    store: &dyn BlobStore,
    room: &Arc<Semaphore>,
    entry: &Entry,
) -> Result<Fetched, Error> {
    if entry.size_bytes > PART_BYTES {
        return Ok(Fetched::Large);
    }
    // In order, so that the one which is written next is never the one that waits.
    let needs = (entry.size_bytes >> 10) as u32 + 1;
    let _room = room.clone().acquire_many_owned(needs).await.ok();
    let Some(mut parts) = Parts::open(store, &entry.key, entry.size_bytes).await? else {
        return Ok(Fetched::Gone);
    };
    if parts.stat.size_bytes > PART_BYTES {
        return Ok(Fetched::Large);
    }
    let bytes = match parts.next().await {
        Ok(bytes) => bytes.unwrap_or_default(),
        // Then it is no longer small, or somebody writes it: looked at more closely in its turn.
        Err(Problem::Changed(_)) => return Ok(Fetched::Large),
        Err(problem) => return failed(problem).map(|()| Fetched::Gone),
    };
    Ok(Fetched::Small {
        head: head(&entry.key, &parts.stat),
        bytes,
        version: parts.stat.version.clone(),
        _room,
    })
}

/// An object that was written into an archive.
pub struct Written {
    pub head: Head,
    pub hash: [u8; 32],
    pub version: String,
    /// It has grown meanwhile, and what is written is how it began.
    pub grew: bool,
}

/// Read an object of any size and write it. None where it is gone; `conflict` where it was not only appended to
/// meanwhile, because what is written cannot be taken back.
pub async fn write_large(
    store: &dyn BlobStore,
    entry: &Entry,
    packer: &mut Packer,
) -> Result<Option<Written>, Stop> {
    let key = &entry.key;
    let Some(mut parts) = Parts::open(store, key, u64::MAX).await? else {
        return Ok(None);
    };
    let head = head(key, &parts.stat);
    let mut hash = Sha256::new();
    let mut at_bytes = 0;
    packer.begin(&head).await?;
    let grew = loop {
        match parts.next().await {
            Ok(Some(part)) => {
                hash.update(&part);
                at_bytes += part.len() as u64;
                packer.bytes(&part).await?;
            }
            Ok(None) => break false,
            Err(Problem::Changed(_)) => break true,
            Err(problem) => {
                failed(problem)?;
                return Err(rewritten(key).into());
            }
        }
    };
    while at_bytes < head.size_bytes {
        let part = span(store, &head, at_bytes).await?;
        hash.update(&part);
        at_bytes += part.len() as u64;
        packer.bytes(&part).await?;
    }
    let hash: [u8; 32] = hash.finalize().into();
    // Its versions say nothing of its beginning: two readings that are the same do.
    if grew && hash != digest(store, &head).await? {
        return Err(rewritten(key).into());
    }
    packer.end(&head).await?;
    Ok(Some(Written {
        hash,
        version: parts.stat.version.clone(),
        grew,
        head,
    }))
}

async fn digest(store: &dyn BlobStore, head: &Head) -> Result<[u8; 32], Error> {
    let mut hash = Sha256::new();
    let mut at_bytes = 0;
    while at_bytes < head.size_bytes {
        let part = span(store, head, at_bytes).await?;
        hash.update(&part);
        at_bytes += part.len() as u64;
    }
    Ok(hash.finalize().into())
}

/// The part from there on, of what was the whole when the head was written.
async fn span(store: &dyn BlobStore, head: &Head, start_bytes: u64) -> Result<Vec<u8>, Error> {
    let length_bytes = PART_BYTES.min(head.size_bytes - start_bytes);
    let range = Range::Span(Span {
        start_bytes,
        length_bytes,
    });
    let found = get(store, &head.path, range).await?;
    let part = found.map(|blob| value::into_bytes(blob.body));
    part.filter(|part| part.len() as u64 == length_bytes)
        .ok_or_else(|| rewritten(&head.path))
}

fn rewritten(key: &str) -> Error {
    let message = format!(
        "key {}: it was rewritten or deleted while it was exported; export again when it is at rest",
        shown(key)
    );
    error(ErrorCode::Conflict, message)
}

fn failed(problem: Problem) -> Result<(), Error> {
    match problem {
        Problem::Changed(error) | Problem::Taken(error) | Problem::Failed(error) => Err(error),
        Problem::Gone => Ok(()),
    }
}

fn head(key: &str, stat: &Stat) -> Head {
    Head {
        path: key.to_owned(),
        size_bytes: stat.size_bytes,
        modified_ms: stat.modified_ms,
        content_type: stat.content_type.clone(),
        metadata: stat.metadata.clone(),
    }
}
