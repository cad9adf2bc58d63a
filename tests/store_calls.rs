//! Calls on a store in the short form that tests read well in. An error of the store is a failure of
//! the test; `try_` leaves it to the caller. Knows no particular store.

use anyhow::{Context, Result, bail, ensure};
use haversack_host::store::{
    Answer, Blob, BlobStore, Body, BodyKind, Condition, Error, ErrorCode, GetRequest, ListRequest,
    Listing, PutOptions, Range, Request, Source, Stat, value,
};

pub fn options(condition: Condition) -> PutOptions {
    PutOptions {
        condition,
        content_type: None,
        metadata: Vec::new(),
    }
}

/// Unconditional, with one pair of metadata.
pub fn marked(mark: &str) -> PutOptions {
    PutOptions {
        metadata: vec![("mark".to_owned(), mark.to_owned())],
        ..options(Condition::Always)
    }
}

pub fn if_match(version: &str) -> PutOptions {
    options(Condition::IfMatch(version.to_owned()))
}

pub async fn try_put(
    store: &dyn BlobStore,
    key: &str,
    bytes: impl Into<Vec<u8>>,
    options: PutOptions,
) -> Result<String, Error> {
    let body = Body::Binary(bytes.into());
    store.put(key.to_owned(), body, options).await
}

pub async fn put(store: &dyn BlobStore, key: &str, bytes: impl Into<Vec<u8>>) -> Result<String> {
    let written = try_put(store, key, bytes, options(Condition::Always)).await;
    written
        .map_err(failure)
        .with_context(|| format!("put of {key}"))
}

pub async fn append(
    store: &dyn BlobStore,
    key: &str,
    bytes: impl Into<Vec<u8>>,
    at_bytes: u64,
) -> Result<u64, Error> {
    let body = Body::Binary(bytes.into());
    store.append(key.to_owned(), body, at_bytes).await
}

pub async fn concat(
    store: &dyn BlobStore,
    sources: &[&str],
    to: &str,
    options: PutOptions,
) -> Result<String, Error> {
    let source = |key: &&str| Source {
        key: (*key).to_owned(),
        if_match: None,
    };
    let sources = sources.iter().map(source).collect();
    store.concat(sources, to.to_owned(), options).await
}

pub async fn delete(store: &dyn BlobStore, key: &str) -> Result<(), Error> {
    store.delete(vec![key.to_owned()]).await.remove(0)
}

async fn ask(store: &dyn BlobStore, request: Request) -> Result<Answer, Error> {
    store.read(vec![request]).await.remove(0)
}

pub async fn try_get(store: &dyn BlobStore, key: &str) -> Result<Option<Blob>, Error> {
    let request = GetRequest {
        key: key.to_owned(),
        range: Range::Whole,
        kind: BodyKind::Binary,
    };
    match ask(store, Request::Get(request)).await? {
        Answer::Blob(blob) => Ok(blob),
        other => panic!("a get was answered by {other:?}"),
    }
}

/// The bytes and all else of an object that must be there.
pub async fn get(store: &dyn BlobStore, key: &str) -> Result<(Vec<u8>, Stat)> {
    let blob = try_get(store, key).await.map_err(failure)?;
    let blob = blob.with_context(|| format!("{key} is missing"))?;
    Ok((value::into_bytes(blob.body), blob.stat))
}

pub async fn try_head(store: &dyn BlobStore, key: &str) -> Result<Option<Stat>, Error> {
    match ask(store, Request::Head(key.to_owned())).await? {
        Answer::Head(stat) => Ok(stat),
        other => panic!("a head was answered by {other:?}"),
    }
}

pub fn listed(prefix: &str, delimiter: bool) -> ListRequest {
    ListRequest {
        prefix: prefix.to_owned(),
        delimiter,
        start_after: None,
        cursor: None,
        limit: None,
    }
}

pub async fn list(store: &dyn BlobStore, request: ListRequest) -> Result<Listing> {
    match ask(store, Request::List(request)).await.map_err(failure)? {
        Answer::Listing(listing) => Ok(listing),
        other => bail!("a list was answered by {other:?}"),
    }
}

pub async fn keys(store: &dyn BlobStore, prefix: &str) -> Result<Vec<String>> {
    let listing = list(store, listed(prefix, false)).await?;
    ensure!(listing.cursor.is_none(), "more than a page of keys");
    Ok(listing.entries.into_iter().map(|entry| entry.key).collect())
}

/// The call failed in this way, and its message has these words.
pub fn expect<T>(outcome: Result<T, Error>, code: ErrorCode, words: &str) -> Result<Error> {
    match outcome {
        Ok(_) => bail!("a call succeeded that should have failed with {code:?} ({words})"),
        Err(error) => {
            ensure!(
                error.code == code && error.message.contains(words),
                "expected {code:?} with {words:?}, found {:?}: {}",
                error.code,
                error.message
            );
            Ok(error)
        }
    }
}

pub fn failure(error: Error) -> anyhow::Error {
    anyhow::anyhow!("{:?}: {}", error.code, error.message)
}
