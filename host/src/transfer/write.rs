//! Writing one object from its parts under a condition, whatever its size. Knows the store that is written; reads
//! nothing back.

use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use super::read::{PART_BYTES, Parts, Problem, head};
use super::{ONE_STEP_BYTES_MAX, unsettled};
use crate::store::{BlobStore, Body, Condition, Error, PutOptions, Source};

/// What is held of a part: as read, one that fills, and three on their way into a bucket.
pub const BUFFERS: u64 = 5;
/// What is held of an object beside its bytes.
pub const OBJECT_BYTES: u64 = 64 << 10;

/// Where an object is written to, and what hears of it.
pub struct Writer<'a> {
    pub to: &'a dyn BlobStore,
    /// A key that nobody else writes, for what must lie beside its place for a moment.
    pub beside: &'a (dyn Fn() -> String + Sync),
    /// Of what is written.
    pub hash: &'a mut Sha256,
    /// Hears of each part's length.
    pub passed: &'a (dyn Fn(u64) + Sync),
}

impl Writer<'_> {
    /// Write what `source` holds, and answer its version there. The outer failure is the source's or that of a
    /// part; the inner one is the last step's, whose outcome may be unknown.
    ///
    /// Over 64 MiB, `if-match` is looked up right before the end, because no bucket streams under it.
    pub async fn write(
        &mut self,
        key: &str,
        source: &mut Parts<'_>,
        options: PutOptions,
    ) -> Result<Result<String, Error>, Problem> {
        if source.stat.size_bytes > PART_BYTES {
            return self.write_large(key, source, options).await;
        }
        let bytes = source.next().await?.unwrap_or_default();
        self.hash.update(&bytes);
        (self.passed)(bytes.len() as u64);
        let put = self.to.put(key.to_owned(), Body::Binary(bytes), options);
        Ok(put.await)
    }

    async fn write_large(
        &mut self,
        key: &str,
        source: &mut Parts<'_>,
        options: PutOptions,
    ) -> Result<Result<String, Error>, Problem> {
        let Condition::IfMatch(seen) = options.condition.clone() else {
            let upload = self.upload(key, source, options, None);
            return upload.await;
        };
        if source.stat.size_bytes > ONE_STEP_BYTES_MAX {
            let always = PutOptions {
                condition: Condition::Always,
                ..options
            };
            let upload = self.upload(key, source, always, Some(&seen));
            return upload.await;
        }
        // An upload knows no if-match, a concat does: by way of an object that nobody else writes.
        let beside = (self.beside)();
        let if_absent = PutOptions {
            condition: Condition::IfAbsent,
            content_type: None,
            metadata: Vec::new(),
        };
        let uploaded = self.upload(&beside, source, if_absent, None);
        let made = match uploaded.await? {
            Ok(version) => {
                let from = Source {
                    key: beside.clone(),
                    if_match: Some(version),
                };
                self.to.concat(vec![from], key.to_owned(), options).await
            }
            failed => failed,
        };
        let removed = self.to.delete(vec![beside]).await;
        if let Some(Err(error)) = removed.into_iter().find(Result::is_err) {
            return Err(error.into());
        }
        Ok(made)
    }

    /// `seen` is the version that must still lie there right before the end.
    async fn upload(
        &mut self,
        key: &str,
        source: &mut Parts<'_>,
        options: PutOptions,
        seen: Option<&str>,
    ) -> Result<Result<String, Error>, Problem> {
        let mut upload = self.to.upload(key.to_owned(), options).await?;
        let problem = loop {
            let part = match source.next().await {
                Ok(Some(part)) => part,
                Ok(None) => break None,
                Err(problem) => break Some(problem),
            };
            self.hash.update(&part);
            let bytes = part.len() as u64;
            if let Err(error) = upload.write(part).await {
                break Some(error.into());
            }
            (self.passed)(bytes);
        };
        let problem = match (problem, seen) {
            (None, Some(seen)) => match head(self.to, key).await {
                Ok(Some(stat)) if stat.version == seen => None,
                Ok(_) => Some(Problem::Taken(unsettled(
                    key,
                    "somebody wrote it in the target meanwhile",
                ))),
                Err(error) => Some(error.into()),
            },
            (problem, _) => problem,
        };
        match problem {
            None => Ok(upload.finish().await),
            Some(problem) => {
                // The first problem is the one to tell; what stays of the upload is swept.
                let _ = upload.abort().await;
                Err(problem)
            }
        }
    }
}

/// What no other run has in a name.
pub fn unique_number() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let time_ns = time.map_or(0, |time| time.as_nanos());
    format!("{}-{time_ns}-{number}", std::process::id())
}
