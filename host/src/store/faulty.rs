//! A store that breaks on purpose: it wraps any store, one wrapper a caller, and lets the calls of all
//! callers happen one after the other as a seed or a plan says, some of them wrong. What it does is what
//! stores do: every answer keeps `wit/store/blobs.wit`. Knows no protocol that is tested on it.
//!
//! ```
//! # use std::sync::Arc;
//! # use haversack_host::store::{*, faulty::{At, Fault, FaultyStore, Run, Step}};
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # runtime.block_on(async {
//! let inner = Arc::new(MemoryStore::new(false));
//! let first = At { caller: 0, operation: 0, call: 1 };
//! let run = Arc::new(Run::planned(vec![Step::Fault(first, Fault::FailAfter)], 1, 0));
//! let store = FaultyStore::new(inner.clone(), run, 0);
//! let put = store.put("a".to_owned(), Body::Text("x".to_owned()), check::plain(Condition::IfAbsent));
//! assert_eq!(put.await.unwrap_err().code, ErrorCode::OutcomeUnknown);
//! assert!(inner.objects().contains_key("a"));
//! # });
//! ```

mod chooser;
mod plan;
mod random;
mod run;
#[cfg(test)]
mod tests;

use std::future::{Future, pending};
use std::sync::Arc;

use chooser::Kind;
pub use plan::{At, Fault, Step, Told};
pub use random::Random;
pub use run::Run;

use super::*;

/// The store as one caller of a run sees it. A wave or a delete is not one moment: its members happen one
/// after the other, with other callers' calls between them; so do a concat's reading and its writing.
pub struct FaultyStore {
    inner: Arc<dyn BlobStore>,
    run: Arc<Run>,
    caller: usize,
}

impl FaultyStore {
    /// `caller` is below the run's number of callers, and has no other store.
    pub fn new(inner: Arc<dyn BlobStore>, run: Arc<Run>, caller: usize) -> Self {
        FaultyStore { inner, run, caller }
    }

    /// From here on calls count for this operation. Ends when it is the caller's turn.
    pub async fn begin(&self, operation: usize) {
        self.run.begin(self.caller, operation).await;
    }

    /// What this caller's clock says.
    pub fn now_ms(&self) -> u64 {
        self.run.now_ms(self.caller)
    }

    /// The caller's host begins a call that it ends `deadline_ms` later: from then on the caller stops before every
    /// store call, until it begins another. Answers what its clock says, which is behind the run's by no more than
    /// `behind_ms_max` for this.
    pub fn begin_call(&self, deadline_ms: u64, behind_ms_max: u64) -> u64 {
        self.run.begin_call(self.caller, deadline_ms, behind_ms_max)
    }

    /// Whether the caller was stopped since the last time it was asked. The future of a stopped call never
    /// ends, as the answer to a killed process never comes: drop it, and ask here.
    pub fn take_stopped(&self) -> bool {
        self.run.take_stopped(self.caller)
    }

    /// Whether the operation that was stopped is not to be repeated before the end of the run.
    pub fn abandons(&self) -> bool {
        self.run.abandons(self.caller)
    }

    /// One call of `kind`, named by `what`, carried out by `act`. `before` and `after` are the versions that a
    /// conflict with itself may tell.
    async fn call<T>(
        &self,
        kind: Kind,
        what: (&str, &str),
        before: Option<String>,
        after: impl Fn(&T) -> String,
        act: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let run::Turn { at, fault } = self.run.turn(self.caller, kind).await;
        let (verb, key) = what;
        let note = |outcome: &str| {
            let line = || format!("{at}: {verb} {}: {outcome}", key::shown(key));
            self.run.note(line);
        };
        let failure = |code, what: &str| {
            note(what);
            Err(check::error(
                code,
                format!("key {}: {what}", key::shown(key)),
            ))
        };
        match fault {
            Some(Fault::FailBefore) => {
                return failure(ErrorCode::Unavailable, "fails, without effect");
            }
            Some(Fault::StopBefore) => {
                note("the caller stops before it");
                return self.stop().await;
            }
            _ => {}
        }
        let limited = kind != Kind::Read && !self.run.takes_write(key);
        if limited || fault == Some(Fault::RateLimit) {
            let refused = failure(ErrorCode::Unavailable, "429, one write a second to a key");
            return refused.map_err(|error| Error {
                retry_after_ms: Some(1_000),
                ..error
            });
        }
        let result = act.await;
        if kind != Kind::Read && result.is_ok() {
            self.run.changed();
        }
        match (fault, &result) {
            (Some(Fault::StopAfter), _) => {
                note("done, and the caller stops");
                self.stop().await
            }
            (Some(Fault::FailAfter), _) => {
                failure(ErrorCode::OutcomeUnknown, "done, and the answer is lost")
            }
            (Some(Fault::ConflictAfter(told)), Ok(done)) => {
                let current = match told {
                    Told::Nothing => None,
                    Told::Before => before,
                    Told::After => Some(after(done)),
                };
                let told = failure(ErrorCode::Conflict, "done, and answered with a conflict");
                told.map_err(|error| Error { current, ..error })
            }
            _ => {
                match &result {
                    Ok(_) => note("done"),
                    Err(error) => note(&format!("{:?}", error.code)),
                }
                result
            }
        }
    }

    async fn stop<T>(&self) -> T {
        self.run.stop(self.caller);
        pending().await
    }

    /// The members of a wave or a delete, each done by `act`, in the order of the run; answers in theirs.
    async fn each<M, T, A: Future<Output = T>>(
        &self,
        members: Vec<M>,
        mut act: impl FnMut(M) -> A,
    ) -> Vec<T> {
        let reversed = members.len() > 1 && self.run.reverses(self.caller);
        let mut members = members;
        if reversed {
            members.reverse();
        }
        let mut answers = Vec::with_capacity(members.len());
        for member in members {
            answers.push(act(member).await);
        }
        if reversed {
            answers.reverse();
        }
        answers
    }

    async fn read_one(&self, request: Request) -> Result<Answer, Error> {
        let (verb, key) = match &request {
            Request::Get(get) => ("get", get.key.clone()),
            Request::Head(key) => ("head", key.clone()),
            Request::List(list) => ("list", list.prefix.clone()),
        };
        let act = async {
            let answer = self.inner.read(vec![request]).await.pop();
            answer.unwrap_or_else(|| Err(check::error(ErrorCode::Other, "a wave without answer")))
        };
        let unused = |_: &Answer| String::new();
        self.call(Kind::Read, (verb, &key), None, unused, act).await
    }

    async fn delete_one(&self, key: String) -> Result<(), Error> {
        let act = async {
            let answer = self.inner.delete(vec![key.clone()]).await.pop();
            answer.unwrap_or_else(|| Err(check::error(ErrorCode::Other, "a delete without answer")))
        };
        let unused = |_: &()| String::new();
        let what = ("delete", key.as_str());
        self.call(Kind::Delete, what, None, unused, act).await
    }

    /// The whole bytes of a concat's sources where they are small, and none where they are not.
    async fn sources(&self, sources: &[Source]) -> Result<Option<Vec<u8>>, Error> {
        let heads = sources
            .iter()
            .map(|source| Request::Head(source.key.clone()));
        let heads = self.inner.read(heads.collect()).await;
        let size_bytes: u64 = heads.iter().flatten().map(size_bytes).sum();
        if size_bytes > check::VALUE_BYTES_MAX {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let gets = sources.iter().map(|source| {
            Request::Get(GetRequest {
                key: source.key.clone(),
                range: Range::Whole,
                kind: BodyKind::Binary,
            })
        });
        let gets = self.inner.read(gets.collect()).await;
        for (source, got) in sources.iter().zip(gets) {
            let blob = match got? {
                Answer::Blob(blob) => blob,
                _ => None,
            };
            let version = blob.as_ref().map(|blob| blob.stat.version.clone());
            check::check_source(&source.key, source.if_match.clone(), version)?;
            bytes.extend(
                blob.map(|blob| value::into_bytes(blob.body))
                    .unwrap_or_default(),
            );
        }
        Ok(Some(bytes))
    }
}

/// A caller that makes no more calls must not keep the others waiting.
impl Drop for FaultyStore {
    fn drop(&mut self) {
        self.run.leave(self.caller);
    }
}

fn size_bytes(answer: &Answer) -> u64 {
    match answer {
        Answer::Head(Some(stat)) => stat.size_bytes,
        _ => 0,
    }
}

fn kind(options: &PutOptions) -> Kind {
    match options.condition {
        Condition::Always => Kind::Write,
        Condition::IfAbsent | Condition::IfMatch(_) => Kind::Conditional,
    }
}

fn named(options: &PutOptions) -> Option<String> {
    match &options.condition {
        Condition::IfMatch(version) => Some(version.clone()),
        Condition::Always | Condition::IfAbsent => None,
    }
}

impl BlobStore for FaultyStore {
    fn describe(&self) -> Vec<(String, String)> {
        self.inner.describe()
    }

    fn read(&self, wave: Vec<Request>) -> BoxFuture<'_, Vec<Result<Answer, Error>>> {
        Box::pin(async move {
            if wave.len() > check::WAVE_REQUESTS_MAX {
                return self.inner.read(wave).await;
            }
            let answers = self.each(wave, |request| self.read_one(request)).await;
            let mut left = check::WAVE_BYTES_MAX;
            let within = |answer: Result<Answer, Error>| match answer? {
                Answer::Blob(Some(blob)) => {
                    let length = value::bytes(&blob.body).len() as u64;
                    check::check_read("of a wave", length, &mut left)?;
                    Ok(Answer::Blob(Some(blob)))
                }
                other => Ok(other),
            };
            answers.into_iter().map(within).collect()
        })
    }

    fn put(
        &self,
        key: String,
        body: Body,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async move {
            let (kind, before) = (kind(&options), named(&options));
            let act = self.inner.put(key.clone(), body, options);
            self.call(kind, ("put", &key), before, String::clone, act)
                .await
        })
    }

    fn append(&self, key: String, body: Body, at_bytes: u64) -> BoxFuture<'_, Result<u64, Error>> {
        Box::pin(async move {
            let before = Some(at_bytes.to_string());
            let act = self.inner.append(key.clone(), body, at_bytes);
            let what = ("append", key.as_str());
            self.call(Kind::Conditional, what, before, u64::to_string, act)
                .await
        })
    }

    fn concat(
        &self,
        sources: Vec<Source>,
        to: String,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async move {
            check::check_concat(&sources, &to, &options)?;
            let unused = |_: &Option<Vec<u8>>| String::new();
            let read = self.sources(&sources);
            let what = ("concat reads for", to.as_str());
            let bytes = self.call(Kind::Read, what, None, unused, read).await?;
            let (kind, before) = (kind(&options), named(&options));
            let act = match bytes {
                Some(bytes) => self.inner.put(to.clone(), Body::Binary(bytes), options),
                None => self.inner.concat(sources, to.clone(), options),
            };
            let what = ("concat writes", to.as_str());
            self.call(kind, what, before, String::clone, act).await
        })
    }

    fn delete(&self, keys: Vec<String>) -> BoxFuture<'_, Vec<Result<(), Error>>> {
        Box::pin(async move { self.each(keys, |key| self.delete_one(key)).await })
    }

    fn upload(
        &self,
        key: String,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<Box<dyn Upload + '_>, Error>> {
        self.inner.upload(key, options)
    }
}
