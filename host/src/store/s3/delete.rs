//! Deletes of a bucket: a thousand keys with one request, and one by one what cannot go so.

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream;
use http::{Method, StatusCode};
use object_store::ObjectStore;
use object_store::path::Path;

use super::bucket::{Bucket, encoded};
use super::failure::Failure;
use super::read::about;
use super::wire;
use crate::store::Error;

const BATCH_MAX: usize = 1_000;

impl Bucket {
    /// An answer each, in order. A missing key is a success.
    pub async fn delete(&self, keys: Vec<String>) -> Vec<Result<(), Error>> {
        let paths: Vec<Result<Path, Error>> = keys.iter().map(|key| self.path(key)).collect();
        let (together, alone): (Vec<_>, Vec<_>) = paths
            .iter()
            .enumerate()
            .filter_map(|(at, path)| Some((at, path.as_ref().ok()?)))
            .partition(|(_, path)| survives_xml(path.as_ref()));
        let mut deleted: Vec<Option<Result<(), Failure>>> = vec![None; keys.len()];
        for batch in together.chunks(BATCH_MAX) {
            let batch_paths: Vec<Path> = batch.iter().map(|(_, path)| (*path).clone()).collect();
            for ((at, _), answer) in batch.iter().zip(self.delete_batch(batch_paths).await) {
                deleted[*at] = Some(answer);
            }
        }
        let alone = alone
            .into_iter()
            .map(async |(at, path)| (at, self.delete_one(path).await));
        for (at, answer) in join_all(alone).await {
            deleted[at] = Some(answer);
        }
        keys.iter()
            .zip(paths)
            .zip(deleted)
            .map(|((key, path), deleted)| {
                path?;
                deleted
                    .unwrap_or(Ok(()))
                    .map_err(|failure| failure.error(&about(key)))
            })
            .collect()
    }

    async fn delete_batch(&self, paths: Vec<Path>) -> Vec<Result<(), Failure>> {
        let mut answers: Vec<Result<(), Failure>> = vec![Err(Failure::default()); paths.len()];
        let mut left: Vec<usize> = (0..paths.len()).collect();
        let mut tries = self.retry.tries();
        loop {
            let batch: Vec<Path> = left.iter().map(|at| paths[*at].clone()).collect();
            let outcome = self.once(self.send_batch(batch)).await;
            let again = match outcome {
                Ok(outcome) => {
                    for (at, answer) in left.iter().zip(outcome) {
                        answers[*at] = answer;
                    }
                    None
                }
                Err(failure) if failure.is_not_known() => {
                    let each = left
                        .iter()
                        .map(async |at| (*at, self.delete_one(&paths[*at]).await));
                    for (at, answer) in join_all(each).await {
                        answers[at] = answer;
                    }
                    return answers;
                }
                Err(failure) => {
                    for at in &left {
                        answers[*at] = Err(failure.clone());
                    }
                    Some(failure)
                }
            };
            let transient = |at: &usize| {
                answers[*at]
                    .as_ref()
                    .err()
                    .filter(|failure| failure.is_transient())
                    .cloned()
            };
            let again = again.or_else(|| left.iter().find_map(transient));
            match again {
                Some(failure) if tries.again(&failure).await => {
                    left.retain(|at| transient(at).is_some());
                }
                _ => return answers,
            }
        }
    }

    /// One request; an answer for each path, or an error for all.
    async fn send_batch(&self, paths: Vec<Path>) -> object_store::Result<Vec<Result<(), Failure>>> {
        let locations = stream::iter(paths.into_iter().map(Ok)).boxed();
        let mut answers = Vec::new();
        let mut stream = self.store.delete_stream(locations);
        while let Some(answer) = stream.next().await {
            answers.push(match answer {
                Ok(_) => Ok(()),
                Err(error @ object_store::Error::Generic { .. }) if wire::went_well() => {
                    Err(of_one(&error)?)
                }
                Err(error) => return Err(error),
            });
        }
        Ok(answers)
    }

    async fn delete_one(&self, path: &Path) -> Result<(), Failure> {
        let mut tries = self.retry.tries();
        let path = format!("/{}", encoded(path.as_ref()));
        loop {
            match self.send(Method::DELETE, &path, &[]).await {
                Ok(_) => return Ok(()),
                Err(failure) if failure.is_missing() => return Ok(()),
                Err(failure) if tries.again(&failure).await => {}
                Err(failure) => return Err(failure),
            }
        }
    }
}

/// Some servers trim what stands in XML, and would delete another object. Some characters cannot stand
/// there at all.
fn survives_xml(path: &str) -> bool {
    path.trim() == path && !path.contains(['\u{fffe}', '\u{ffff}'])
}

/// The failure that a batch's answer tells of one key; its code stands at the end of object_store's
/// message.
fn of_one(error: &object_store::Error) -> object_store::Result<Failure> {
    let message = error.to_string();
    let code = message
        .rsplit_once("(code: ")
        .and_then(|(_, behind)| behind.strip_suffix(')'));
    let Some(code) = code else {
        return Err(object_store::Error::Generic {
            store: "S3",
            source: message.into(),
        });
    };
    let status = match code {
        "AccessDenied" => StatusCode::FORBIDDEN,
        "SlowDown" => StatusCode::TOO_MANY_REQUESTS,
        "InternalError" | "ServiceUnavailable" => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    };
    let is_word = code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Ok(Failure {
        status: Some(status),
        code: is_word.then(|| code.to_owned()),
        retry_after: None,
        sent: true,
    })
}
