//! Bytes of media in and out of a store, however the store limits a value. Knows plans, and no messages.

use bytes::Bytes;

use super::{MediaError, Planned};
use crate::store::value::into_bytes;
use crate::store::{
    Answer, BlobStore, Body, BodyKind, Condition, ErrorCode, GetRequest, PutOptions, Range,
    Request, Span, key::shown,
};

/// Of an upload and of a ranged get; under every store's value limit.
const PART_BYTES: usize = 4 << 20;
/// Parts asked for in one wave: 16 MiB, which every store answers.
const PARTS_AT_ONCE: usize = 4;

/// Put the bytes where the plan says. What lies there already is from an earlier try, if it has their length.
/// Answers whether it did.
pub async fn put(
    store: &dyn BlobStore,
    planned: &Planned,
    bytes: Vec<u8>,
) -> Result<bool, MediaError> {
    let length = bytes.len() as u64;
    if length != planned.size_bytes {
        return Err(MediaError::Damaged(format!(
            "{}: {length} bytes came for a plan of {}; plan it anew",
            shown(&planned.key),
            planned.size_bytes
        )));
    }
    let options = PutOptions {
        condition: Condition::IfAbsent,
        content_type: Some(planned.content_type.clone()),
        metadata: planned.metadata.clone(),
    };
    let error = match write(store, &planned.key, bytes, options).await {
        Ok(()) => return Ok(false),
        Err(error) => error,
    };
    if matches!(error.code, ErrorCode::Conflict | ErrorCode::OutcomeUnknown)
        && size_of(store, &planned.key).await? == Some(length)
    {
        return Ok(true);
    }
    Err(MediaError::Store(error))
}

async fn write(
    store: &dyn BlobStore,
    key: &str,
    bytes: Vec<u8>,
    options: PutOptions,
) -> Result<(), crate::store::Error> {
    if bytes.len() <= PART_BYTES {
        let put = store.put(key.to_owned(), Body::Binary(bytes), options);
        return put.await.map(|_| ());
    }
    let mut upload = store.upload(key.to_owned(), options).await?;
    for part in bytes.chunks(PART_BYTES) {
        if let Err(error) = upload.write(part.to_vec()).await {
            let _ = upload.abort().await;
            return Err(error);
        }
    }
    upload.finish().await.map(|_| ())
}

async fn size_of(store: &dyn BlobStore, key: &str) -> Result<Option<u64>, MediaError> {
    let answer = store.read(vec![Request::Head(key.to_owned())]).await;
    match answer.into_iter().next() {
        Some(Ok(Answer::Head(stat))) => Ok(stat.map(|stat| stat.size_bytes)),
        Some(Err(error)) => Err(MediaError::Store(error)),
        _ => Err(MediaError::Damaged(format!("{}: no answer", shown(key)))),
    }
}

/// All bytes of an object of this size.
pub async fn get(store: &dyn BlobStore, key: &str, size_bytes: u64) -> Result<Bytes, MediaError> {
    let starts: Vec<u64> = (0..size_bytes.max(1)).step_by(PART_BYTES).collect();
    let mut bytes = Vec::new();
    for starts in starts.chunks(PARTS_AT_ONCE) {
        let wave = starts.iter().map(|start| {
            Request::Get(GetRequest {
                key: key.to_owned(),
                range: Range::Span(Span {
                    start_bytes: *start,
                    length_bytes: PART_BYTES as u64,
                }),
                kind: BodyKind::Binary,
            })
        });
        for answer in store.read(wave.collect()).await {
            match answer.map_err(MediaError::Store)? {
                Answer::Blob(Some(blob)) => bytes.extend(into_bytes(blob.body)),
                _ => return Err(gone(key)),
            }
        }
    }
    if bytes.len() as u64 != size_bytes {
        return Err(gone(key));
    }
    Ok(bytes.into())
}

fn gone(key: &str) -> MediaError {
    MediaError::Damaged(format!(
        "{} was deleted or replaced while it was read; ask again",
        shown(key)
    ))
}
