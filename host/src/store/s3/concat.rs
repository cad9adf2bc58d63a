//! One object of several in a bucket: a copy inside the bucket, one put, or an upload in parts, by size
//! and condition.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore};

use super::bucket::Bucket;
use super::failure::Failure;
use super::read::{self, about};
use super::stat;
use super::upload::{self, PART_BYTES, PARTS_AT_ONCE};
use crate::store::check::{self, CONCAT_CONDITION_BYTES_MAX};
use crate::store::{Condition, Error, PutOptions, Source, Stat};

/// Pieces read at once for one put; all of them together are what is held anyway.
const PIECES_AT_ONCE: usize = 16;

/// A part of a source, of at most 8 MiB.
#[derive(Clone)]
struct Piece {
    key: String,
    path: Path,
    /// The source's, so that all pieces are of one object.
    version: String,
    start_bytes: u64,
    end_bytes: u64,
}

pub async fn concat(
    bucket: &Arc<Bucket>,
    sources: Vec<Source>,
    to: &str,
    options: &PutOptions,
) -> Result<String, Error> {
    check::check_concat(&sources, to, options)?;
    stat::check_metadata(to, options)?;
    let target = bucket.path(to)?;
    let stats = stats(bucket, &sources).await?;
    let size = sources
        .iter()
        .map(|source| stats[&source.key].size_bytes)
        .sum();
    check::check_concat_size(to, size, options)?;

    if let ([source], Condition::Always) = (&sources[..], &options.condition) {
        let path = bucket.path(&source.key)?;
        let version = &stats[&source.key].version;
        match bucket.copy(&path, version, &target, options).await {
            Ok(Some(version)) => return Ok(version),
            Ok(None) => {}
            Err(failure) => {
                return Err(source_failed(bucket, &source.key, version, failure, to).await);
            }
        }
    }
    let mut pieces = Vec::new();
    for Source { key, .. } in &sources {
        pieces.extend(cut(bucket, key, &stats[key])?);
    }
    let is_large = size > CONCAT_CONDITION_BYTES_MAX;
    let at_once = if is_large {
        PARTS_AT_ONCE
    } else {
        PIECES_AT_ONCE
    };
    let mut read = stream::iter(pieces)
        .map(|piece| {
            let bucket = Arc::clone(bucket);
            async move {
                bucket
                    .piece(&piece)
                    .await
                    .map_err(|failure| (piece, failure))
            }
        })
        .buffered(at_once);
    if is_large {
        let mut upload = upload::begin(bucket, to.to_owned(), options.clone())?;
        while let Some(piece) = read.next().await {
            match piece {
                Ok(bytes) => upload.add(&bytes).await?,
                Err((piece, failure)) => {
                    return Err(piece_failed(bucket, &piece, failure, to).await);
                }
            }
        }
        return upload.complete().await;
    }
    let mut joined = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    while let Some(piece) = read.next().await {
        match piece {
            Ok(bytes) => joined.extend_from_slice(&bytes),
            Err((piece, failure)) => return Err(piece_failed(bucket, &piece, failure, to).await),
        }
    }
    bucket.put(to, joined.into(), options).await
}

/// What the sources are, each asked once; a conflict where one is missing or is another.
async fn stats(bucket: &Bucket, sources: &[Source]) -> Result<BTreeMap<String, Stat>, Error> {
    let keys: BTreeMap<&str, ()> = sources
        .iter()
        .map(|source| (source.key.as_str(), ()))
        .collect();
    let heads = keys
        .into_keys()
        .map(async |key| (key.to_owned(), bucket.head(key).await));
    let mut heads: BTreeMap<_, _> = join_all(heads).await.into_iter().collect();
    let mut stats = BTreeMap::new();
    for Source { key, if_match } in sources {
        let Some(head) = heads.remove(key) else {
            // Asked and found for an earlier source; only the condition may differ.
            let current = stats.get(key).map(|stat: &Stat| stat.version.clone());
            check::check_source(key, if_match.clone(), current)?;
            continue;
        };
        let stat = head?;
        let current = stat.as_ref().map(|stat| stat.version.clone());
        check::check_source(key, if_match.clone(), current)?;
        stats.extend(stat.map(|stat| (key.clone(), stat)));
    }
    Ok(stats)
}

fn cut(bucket: &Bucket, key: &str, stat: &Stat) -> Result<Vec<Piece>, Error> {
    let path = bucket.path(key)?;
    let starts = (0..stat.size_bytes).step_by(PART_BYTES);
    Ok(starts
        .map(|start_bytes| Piece {
            key: key.to_owned(),
            path: path.clone(),
            version: stat.version.clone(),
            start_bytes,
            end_bytes: stat.size_bytes.min(start_bytes + PART_BYTES as u64),
        })
        .collect())
}

impl Bucket {
    async fn piece(&self, piece: &Piece) -> Result<Bytes, Failure> {
        self.repeat(|| async {
            let options = GetOptions {
                range: Some(GetRange::Bounded(piece.start_bytes..piece.end_bytes)),
                if_match: stat::tag(&piece.version),
                ..GetOptions::default()
            };
            read::body(self.store.get_opts(&piece.path, options).await?).await
        })
        .await
    }
}

async fn piece_failed(bucket: &Bucket, piece: &Piece, failure: Failure, to: &str) -> Error {
    source_failed(bucket, &piece.key, &piece.version, failure, to).await
}

/// A source that went away or changed while it was read is a conflict that names it.
async fn source_failed(
    bucket: &Bucket,
    key: &str,
    version: &str,
    failure: Failure,
    to: &str,
) -> Error {
    if failure.is_condition() || failure.is_missing() {
        return match bucket.path(key) {
            Ok(path) => {
                let condition = Condition::IfMatch(version.to_owned());
                bucket.conflict(&path, key, &condition).await
            }
            Err(error) => error,
        };
    }
    failure.error(&about(to))
}
