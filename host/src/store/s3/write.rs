//! Puts of a bucket: one conditional request, repeated, and settled by reading back where its answer was
//! lost.

use bytes::Bytes;
use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore, PutMode, PutPayload, UpdateVersion};

use super::bucket::Bucket;
use super::failure::{Effect, Failure};
use super::read::about;
use super::stat;
use crate::store::check::{self, error};
use crate::store::key::shown;
use crate::store::{Condition, Error, ErrorCode, PutOptions};

/// What lies where a put may have been carried out.
enum Found {
    /// What was to be written, under this version.
    Ours(String),
    /// What was there before, as far as the condition says.
    Before,
    /// Something else: of another writer, before ours or after it.
    Other,
}

impl Bucket {
    /// Write `bytes`, of any size that one request takes. Key and options are checked.
    pub async fn put(
        &self,
        key: &str,
        bytes: Bytes,
        options: &PutOptions,
    ) -> Result<String, Error> {
        let path = self.path(key)?;
        let Some(mode) = mode(&options.condition) else {
            // No object of any bucket has this version.
            return Err(self.conflict(&path, key, &options.condition).await);
        };
        let attributes = stat::attributes(options);
        let put = || async {
            let wanted = object_store::PutOptions {
                mode: mode.clone(),
                attributes: attributes.clone(),
                ..object_store::PutOptions::default()
            };
            let payload = PutPayload::from_bytes(bytes.clone());
            self.store.put_opts(&path, payload, wanted).await
        };
        // The worst that a try before this one may have done.
        let mut effect = Effect::None;
        let mut tries = self.retry.tries();
        loop {
            let failure = match self.once(put()).await {
                Ok(answer) => {
                    return Ok(stat::version(answer.e_tag.as_deref().unwrap_or_default()));
                }
                Err(failure) => failure,
            };
            let is_condition = failure.is_condition()
                || failure.is_missing() && matches!(options.condition, Condition::IfMatch(_));
            if is_condition && effect == Effect::None {
                return Err(self.conflict(&path, key, &options.condition).await);
            }
            effect = effect.max(failure.effect());
            if !is_condition && tries.again(&failure).await {
                continue;
            }
            if effect == Effect::None {
                return Err(failure.error(&about(key)));
            }
            return match self.look_back(&path, &bytes, options).await {
                Ok(Found::Ours(version)) => Ok(version),
                // Every try was answered, no condition failed, and nothing came of it.
                Ok(Found::Before) if effect < Effect::Open && !is_condition => {
                    Err(failure.error(&about(key)))
                }
                // Ours failed its condition, or was replaced since: nobody can tell.
                _ => Err(unknown(key, &failure)),
            };
        }
    }

    /// The error for a condition that did not hold, with what is there now.
    pub async fn conflict(&self, path: &Path, key: &str, condition: &Condition) -> Error {
        let current = match self.stat(path, key).await {
            Ok(stat) => stat.map(|stat| stat.version),
            // The conflict is certain, the version there is only help.
            Err(_) => {
                let message = format!(
                    "key {}: the condition does not hold, and what is there now cannot be read; read it \
                     again and decide anew",
                    shown(key)
                );
                return error(ErrorCode::Conflict, message);
            }
        };
        let expected = match condition {
            Condition::IfMatch(version) => format!("version {version:?}"),
            _ => "no object".to_owned(),
        };
        check::conflict(key, &expected, current)
    }

    async fn look_back(
        &self,
        path: &Path,
        bytes: &Bytes,
        options: &PutOptions,
    ) -> Result<Found, Failure> {
        let read = || async {
            let answer = self.store.get_opts(path, GetOptions::default()).await?;
            let stat = stat::of(&answer);
            let mut same = stat.size_bytes == bytes.len() as u64 && stat::fits(&stat, options);
            let mut at = 0;
            let mut stream = answer.into_stream();
            while same && let Some(chunk) = stream.next().await {
                let chunk = chunk?;
                let end = at + chunk.len();
                same = bytes.get(at..end).is_some_and(|ours| ours == chunk);
                at = end;
            }
            Ok((same && at == bytes.len(), stat.version))
        };
        match self.repeat(read).await {
            Ok((true, version)) => Ok(Found::Ours(version)),
            Ok((false, version)) => Ok(match &options.condition {
                Condition::IfMatch(before) if *before == version => Found::Before,
                _ => Found::Other,
            }),
            Err(failure) if failure.is_missing() => Ok(match options.condition {
                Condition::IfMatch(_) => Found::Other,
                _ => Found::Before,
            }),
            Err(failure) => Err(failure),
        }
    }
}

/// None for a version that no bucket gives.
fn mode(condition: &Condition) -> Option<PutMode> {
    Some(match condition {
        Condition::Always => PutMode::Overwrite,
        Condition::IfAbsent => PutMode::Create,
        Condition::IfMatch(version) => PutMode::Update(UpdateVersion {
            e_tag: Some(stat::tag(version)?),
            version: None,
        }),
    })
}

pub fn unknown(key: &str, failure: &Failure) -> Error {
    let message = format!(
        "key {}: the write's answer was lost ({failure}), and what lies there does not tell whether it \
         was carried out; read it again and compare",
        shown(key)
    );
    error(ErrorCode::OutcomeUnknown, message)
}
