//! Objects written in parts of equal size, as R2 demands it. One that fits into a part becomes a plain
//! put, whose condition is atomic; for more, if-absent is asked by a head before and right before the end.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{MultipartId, PutMultipartOptions, PutPayload};
use tokio::task::JoinSet;

use super::bucket::Bucket;
use super::failure::{Effect, Failure};
use super::read::about;
use super::{stat, write};
use crate::store::check::{self, error};
use crate::store::key::shown;
use crate::store::{Body, BoxFuture, Condition, Error, ErrorCode, PutOptions, Upload};

/// A part; the last one may be shorter. At least 5 MiB for every S3.
pub const PART_BYTES: usize = 8 << 20;
/// Parts on their way; together with the one that fills, this is what an upload holds in memory.
pub const PARTS_AT_ONCE: usize = 3;
/// S3's own bound: 78 GiB in parts of 8 MiB.
const PARTS_MAX: usize = 10_000;

/// An object in the making.
pub struct S3Upload {
    bucket: Arc<Bucket>,
    key: String,
    path: Path,
    options: PutOptions,
    /// What does not make a part yet.
    rest: Vec<u8>,
    size_bytes: u64,
    /// None until there is more than one part.
    id: Option<MultipartId>,
    begun: usize,
    sending: JoinSet<Result<(usize, PartId), Failure>>,
    sent: BTreeMap<usize, PartId>,
}

/// Checks the call; sends nothing.
pub fn begin(bucket: &Arc<Bucket>, key: String, options: PutOptions) -> Result<S3Upload, Error> {
    let path = bucket.path(&key)?;
    check::check_options(&key, &options)?;
    stat::check_metadata(&key, &options)?;
    if let Condition::IfMatch(_) = options.condition {
        let message = format!(
            "key {}: an upload takes no if-match; put the object whole, or use a new key",
            shown(&key)
        );
        return Err(error(ErrorCode::Invalid, message));
    }
    Ok(S3Upload {
        bucket: Arc::clone(bucket),
        key,
        path,
        options,
        rest: Vec::new(),
        size_bytes: 0,
        id: None,
        begun: 0,
        sending: JoinSet::new(),
        sent: BTreeMap::new(),
    })
}

impl S3Upload {
    pub async fn add(&mut self, mut part: &[u8]) -> Result<(), Error> {
        self.size_bytes += part.len() as u64;
        while !part.is_empty() {
            // A full part is sent when more comes: the last one goes with the end.
            if self.rest.len() == PART_BYTES {
                let full = std::mem::take(&mut self.rest);
                self.send(full.into()).await?;
            }
            let room = PART_BYTES - self.rest.len();
            let (now, later) = part.split_at(room.min(part.len()));
            self.rest.extend_from_slice(now);
            part = later;
        }
        Ok(())
    }

    async fn send(&mut self, part: Bytes) -> Result<(), Error> {
        let id = match &self.id {
            Some(id) => id.clone(),
            None => {
                self.check_absent().await?;
                self.create().await?
            }
        };
        if self.begun == PARTS_MAX {
            let message = format!(
                "key {}: over {PARTS_MAX} parts of {PART_BYTES} bytes; make several objects",
                shown(&self.key)
            );
            return Err(error(ErrorCode::TooLarge, message));
        }
        while self.sending.len() >= PARTS_AT_ONCE {
            self.await_one().await?;
        }
        let (at, bucket, path) = (self.begun, Arc::clone(&self.bucket), self.path.clone());
        self.begun += 1;
        self.sending.spawn(async move {
            let put = || {
                let payload = PutPayload::from_bytes(part.clone());
                bucket.store.put_part(&path, &id, at, payload)
            };
            bucket.repeat(put).await.map(|part| (at, part))
        });
        Ok(())
    }

    async fn create(&mut self) -> Result<MultipartId, Error> {
        let create = || {
            let options = PutMultipartOptions {
                attributes: stat::attributes(&self.options),
                ..PutMultipartOptions::default()
            };
            self.bucket.store.create_multipart_opts(&self.path, options)
        };
        // One whose answer was lost stays behind, as after a kill.
        let created = self.bucket.repeat(create).await;
        let id = created.map_err(|failure| failure.error(&about(&self.key)))?;
        self.id = Some(id.clone());
        Ok(id)
    }

    async fn await_one(&mut self) -> Result<(), Error> {
        match self.sending.join_next().await {
            None => Ok(()),
            Some(Ok(Ok((at, part)))) => {
                self.sent.insert(at, part);
                Ok(())
            }
            Some(Ok(Err(failure))) => Err(failure.error(&about(&self.key))),
            Some(Err(cause)) => {
                let message = format!(
                    "key {}: sending a part failed inside ({cause})",
                    shown(&self.key)
                );
                Err(error(ErrorCode::Other, message))
            }
        }
    }

    /// The version there before; a conflict where there may be none.
    async fn check_absent(&self) -> Result<Option<String>, Error> {
        let stat = self.bucket.stat(&self.path, &self.key).await?;
        let current = stat.map(|stat| stat.version);
        check::check_condition(&self.key, &self.options.condition, current.clone())?;
        Ok(current)
    }

    pub async fn complete(mut self) -> Result<String, Error> {
        let rest: Bytes = std::mem::take(&mut self.rest).into();
        if self.id.is_none() {
            return self.bucket.put(&self.key, rest, &self.options).await;
        }
        self.send(rest).await?;
        while !self.sending.is_empty() {
            self.await_one().await?;
        }
        let before = self.check_absent().await?;
        let parts: Vec<PartId> = std::mem::take(&mut self.sent).into_values().collect();
        let Some(id) = self.id.clone() else {
            return Err(error(ErrorCode::Other, "an upload without an id"));
        };
        let mut effect = Effect::None;
        let mut tries = self.bucket.retry.tries();
        loop {
            let complete = self
                .bucket
                .store
                .complete_multipart(&self.path, &id, parts.clone());
            let failure = match self.bucket.once(complete).await {
                Ok(answer) => {
                    self.id = None;
                    return Ok(stat::version(answer.e_tag.as_deref().unwrap_or_default()));
                }
                Err(failure) => failure,
            };
            effect = effect.max(failure.effect());
            // The upload is gone once it is complete: a second try cannot tell.
            if effect > Effect::None
                && let Ok(Some(stat)) = self.bucket.stat(&self.path, &self.key).await
                && stat.size_bytes == self.size_bytes
                && stat::fits(&stat, &self.options)
                && before.as_ref() != Some(&stat.version)
            {
                self.id = None;
                return Ok(stat.version);
            }
            if !tries.again(&failure).await {
                if effect == Effect::None {
                    return Err(failure.error(&about(&self.key)));
                }
                // It may yet be carried out; giving it up now would make that worse.
                self.id = None;
                return Err(write::unknown(&self.key, &failure));
            }
        }
    }
}

/// An upload that is not finished gives its parts back, as far as there is time for it.
impl Drop for S3Upload {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let (bucket, path) = (Arc::clone(&self.bucket), self.path.clone());
        runtime.spawn(async move {
            let _ = bucket
                .repeat(|| bucket.store.abort_multipart(&path, &id))
                .await;
        });
    }
}

impl Upload for S3Upload {
    fn write(&mut self, part: Vec<u8>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let part = Body::Binary(part);
            check::check_value(&self.key, &part)?;
            self.add(crate::store::value::bytes(&part)).await
        })
    }

    fn finish<'a>(self: Box<Self>) -> BoxFuture<'a, Result<String, Error>>
    where
        Self: 'a,
    {
        Box::pin(self.complete())
    }

    fn abort<'a>(mut self: Box<Self>) -> BoxFuture<'a, Result<(), Error>>
    where
        Self: 'a,
    {
        Box::pin(async move {
            let Some(id) = self.id.take() else {
                return Ok(());
            };
            self.sending.shutdown().await;
            let abort = || self.bucket.store.abort_multipart(&self.path, &id);
            match self.bucket.repeat(abort).await {
                Ok(()) => Ok(()),
                Err(failure) if failure.is_missing() => Ok(()),
                Err(failure) => Err(failure.error(&about(&self.key))),
            }
        })
    }
}
