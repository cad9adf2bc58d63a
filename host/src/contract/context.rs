//! What checks are made of: calls on the store under test, below the check's own prefix, and ways to say
//! what went wrong. Knows no particular check.

use std::future::poll_fn;
use std::task::Poll;

use crate::store::{
    Answer, Blob, BlobStore, Body, BodyKind, BoxFuture, Condition, Error, ErrorCode, GetRequest,
    ListRequest, Listing, PutOptions, Range, Request, Source, Stat, Upload, value,
};

/// Why a check ended early.
#[derive(Debug)]
pub enum Stop {
    Failed(String),
    Skipped(String),
}

pub type Checked<T = ()> = Result<T, Stop>;

/// An error where none was expected fails the check.
impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Failed(format!("{:?}: {}", error.code, error.message))
    }
}

/// Fail the check unless a condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err($crate::contract::Stop::Failed(format!($($message)+)));
        }
    };
}

/// Fail the check unless two things are equal; says both.
macro_rules! ensure_eq {
    ($found:expr, $expected:expr, $($message:tt)+) => {
        match (&$found, &$expected) {
            (found, expected) => {
                if found != expected {
                    let what = format!($($message)+);
                    return Err($crate::contract::Stop::Failed(format!(
                        "{what}: expected {expected:?}, found {found:?}"
                    )));
                }
            }
        }
    };
}

pub(super) use {ensure, ensure_eq};

/// A store under test, and the place in it that belongs to one check.
pub struct Context<'a> {
    pub store: &'a dyn BlobStore,
    prefix: String,
}

pub fn options(condition: Condition) -> PutOptions {
    PutOptions {
        condition,
        content_type: None,
        metadata: Vec::new(),
    }
}

pub fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

/// Metadata in a form to compare: stores may change the case of names and the order of pairs.
pub fn folded(metadata: &[(String, String)]) -> Vec<(String, String)> {
    let mut folded: Vec<_> = metadata
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
        .collect();
    folded.sort();
    folded
}

/// Bytes that differ everywhere, so that a shifted or repeated part shows.
pub fn pattern(length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761).max(1);
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        })
        .collect()
}

/// Poll all at once, so that a store that can run them side by side does.
pub async fn together<T: Unpin>(mut futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut results: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    poll_fn(move |task| {
        let mut done = true;
        for (future, result) in futures.iter_mut().zip(&mut results) {
            if result.is_none() {
                match future.as_mut().poll(task) {
                    Poll::Ready(value) => *result = Some(value),
                    Poll::Pending => done = false,
                }
            }
        }
        if done {
            Poll::Ready(results.iter_mut().filter_map(Option::take).collect())
        } else {
            Poll::Pending
        }
    })
    .await
}

/// Let the others of [`together`] have a turn, also on a store whose answers never wait.
pub async fn turn() {
    let mut waited = false;
    poll_fn(move |task| {
        if waited {
            return Poll::Ready(());
        }
        waited = true;
        task.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

impl<'a> Context<'a> {
    pub fn new(store: &'a dyn BlobStore, prefix: String) -> Self {
        Context { store, prefix }
    }

    /// A key of this check; `name` may be empty, for the prefix with its slash.
    pub fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.prefix)
    }

    /// What `describe` says under `name`.
    pub fn described(&self, name: &str) -> Checked<String> {
        let pairs = self.store.describe();
        let found = pairs.into_iter().find(|(known, _)| known == name);
        let missing = || Stop::Failed(format!("`describe` has no {name:?}"));
        found.map(|(_, value)| value).ok_or_else(missing)
    }

    pub fn described_number(&self, name: &str) -> Checked<u64> {
        let text = self.described(name)?;
        let not_a_number = |_| Stop::Failed(format!("`describe`: {name} is {text:?}, no number"));
        text.parse().map_err(not_a_number)
    }

    /// Bytes of the longest key: 1,024, or less below a prefix.
    pub fn key_bytes_max(&self) -> Checked<usize> {
        let described = self.store.describe();
        if !described.iter().any(|(name, _)| name == "key-bytes-max") {
            return Ok(crate::store::key::KEY_BYTES_MAX);
        }
        Ok(self.described_number("key-bytes-max")? as usize)
    }

    /// Ends the check where the store cannot append.
    pub fn needs_append(&self) -> Checked {
        match self.described("append")?.as_str() {
            "yes" => Ok(()),
            _ => Err(Stop::Skipped("the store does not append".to_owned())),
        }
    }

    pub async fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> Checked<String> {
        let written = self.try_put(name, bytes, options(Condition::Always)).await;
        written.map_err(|error| about(&format!("put of {name:?}"), &error))
    }

    pub async fn try_put(
        &self,
        name: &str,
        bytes: impl AsRef<[u8]>,
        options: PutOptions,
    ) -> Result<String, Error> {
        let body = Body::Binary(bytes.as_ref().to_vec());
        self.store.put(self.key(name), body, options).await
    }

    pub async fn append(
        &self,
        name: &str,
        bytes: impl AsRef<[u8]>,
        at_bytes: u64,
    ) -> Result<u64, Error> {
        let body = Body::Binary(bytes.as_ref().to_vec());
        self.store.append(self.key(name), body, at_bytes).await
    }

    pub fn source(&self, name: &str, if_match: Option<&str>) -> Source {
        Source {
            key: self.key(name),
            if_match: if_match.map(str::to_owned),
        }
    }

    /// Concat with no conditions at all.
    pub async fn concat(&self, sources: &[&str], to: &str) -> Checked<String> {
        let sources = sources.iter().map(|name| self.source(name, None)).collect();
        let made = self
            .try_concat(sources, to, options(Condition::Always))
            .await;
        made.map_err(|error| about(&format!("concat to {to:?}"), &error))
    }

    pub async fn try_concat(
        &self,
        sources: Vec<Source>,
        to: &str,
        options: PutOptions,
    ) -> Result<String, Error> {
        self.store.concat(sources, self.key(to), options).await
    }

    /// Begin an upload; every store takes them.
    pub async fn upload(
        &self,
        name: &str,
        options: PutOptions,
    ) -> Result<Box<dyn Upload + '_>, Error> {
        self.store.upload(self.key(name), options).await
    }

    pub async fn delete(&self, name: &str) -> Checked {
        let mut answers = self.store.delete(vec![self.key(name)]).await;
        ensure_eq!(answers.len(), 1, "answers to a delete of one key");
        Ok(answers.remove(0)?)
    }

    /// One request as a wave of its own.
    pub async fn ask(&self, request: Request) -> Result<Answer, Error> {
        let mut answers = self.store.read(vec![request]).await;
        match (answers.pop(), answers.is_empty()) {
            (Some(answer), true) => answer,
            _ => Err(crate::store::check::error(
                ErrorCode::Other,
                "a wave of one request was not answered by one answer",
            )),
        }
    }

    pub fn get_request(&self, name: &str, range: Range, kind: BodyKind) -> Request {
        Request::Get(GetRequest {
            key: self.key(name),
            range,
            kind,
        })
    }

    pub async fn try_get(
        &self,
        name: &str,
        range: Range,
        kind: BodyKind,
    ) -> Result<Option<Blob>, Error> {
        match self.ask(self.get_request(name, range, kind)).await? {
            Answer::Blob(blob) => Ok(blob),
            other => Err(wrong_kind("get", &other)),
        }
    }

    /// The part of an object that must be there.
    pub async fn part(&self, name: &str, range: Range) -> Checked<Vec<u8>> {
        let blob = self.try_get(name, range, BodyKind::Binary).await;
        let blob = blob.map_err(|error| about(&format!("get of {name:?}"), &error))?;
        let missing = || Stop::Failed(format!("{name:?} is missing"));
        Ok(value::into_bytes(blob.ok_or_else(missing)?.body))
    }

    /// An object that must be there.
    pub async fn get(&self, name: &str) -> Checked<(Vec<u8>, Stat)> {
        let blob = self.try_get(name, Range::Whole, BodyKind::Binary).await;
        let blob = blob.map_err(|error| about(&format!("get of {name:?}"), &error))?;
        let missing = || Stop::Failed(format!("{name:?} is missing"));
        let blob = blob.ok_or_else(missing)?;
        Ok((value::into_bytes(blob.body), blob.stat))
    }

    pub async fn head(&self, name: &str) -> Checked<Option<Stat>> {
        match self.ask(Request::Head(self.key(name))).await? {
            Answer::Head(stat) => Ok(stat),
            other => Err(wrong_kind("head", &other).into()),
        }
    }

    /// Fails the check unless nothing lies under the name.
    pub async fn ensure_missing(&self, name: &str) -> Checked {
        let found = self.head(name).await?;
        ensure!(found.is_none(), "{name:?} exists, and should not");
        Ok(())
    }

    /// A list below this check's prefix; names in `list` and in the answer are without it.
    pub fn list_request(&self, prefix: &str) -> ListRequest {
        ListRequest {
            prefix: self.key(prefix),
            delimiter: false,
            start_after: None,
            cursor: None,
            limit: None,
        }
    }

    pub async fn page(&self, request: ListRequest) -> Result<Listing, Error> {
        match self.ask(Request::List(request)).await? {
            Answer::Listing(listing) => Ok(listing),
            other => Err(wrong_kind("list", &other)),
        }
    }

    /// All pages of a list as one; entries and prefixes must go up, over the pages too.
    pub async fn pages(&self, request: ListRequest) -> Checked<Listing> {
        let mut all = crate::store::check::empty_page();
        let limit = request.limit.unwrap_or(1_000) as usize;
        let mut next = request;
        loop {
            let page = self.page(next.clone()).await?;
            ensure!(
                page.entries.len() + page.prefixes.len() <= limit,
                "a page has {} entries and {} prefixes, over the limit of {limit}",
                page.entries.len(),
                page.prefixes.len()
            );
            all.entries.extend(page.entries);
            all.prefixes.extend(page.prefixes);
            all.skipped.extend(page.skipped);
            ensure!(
                all.entries.is_sorted_by(|a, b| a.key < b.key),
                "keys do not strictly go up: {:?}",
                all.entries
                    .iter()
                    .map(|entry| &entry.key)
                    .collect::<Vec<_>>()
            );
            ensure!(
                all.prefixes.is_sorted_by(|a, b| a < b),
                "prefixes do not strictly go up: {:?}",
                all.prefixes
            );
            ensure!(
                page.cursor.is_none() || page.cursor != next.cursor,
                "a page answered the cursor that it was asked with"
            );
            match page.cursor {
                Some(cursor) => next.cursor = Some(cursor),
                None => return Ok(all),
            }
        }
    }

    /// The names and folded prefixes of a list, in one sorted row.
    pub async fn names(&self, request: ListRequest) -> Checked<Vec<String>> {
        let all = self.pages(request).await?;
        let start = self.key("");
        let keys = all.entries.into_iter().map(|entry| entry.key);
        let mut names = Vec::new();
        for key in keys.chain(all.prefixes) {
            let name = key.strip_prefix(&start);
            ensure!(name.is_some(), "{key:?} does not start with {start:?}");
            names.extend(name.map(str::to_owned));
        }
        // Each kind was checked to be in order; together they are compared as a set.
        names.sort();
        Ok(names)
    }

    /// Delete everything below the check's prefix.
    pub async fn clear(&self) -> Checked {
        let all = self.pages(self.list_request("")).await?;
        let keys: Vec<_> = all.entries.into_iter().map(|entry| entry.key).collect();
        for keys in keys.chunks(500) {
            for answer in self.store.delete(keys.to_vec()).await {
                answer.map_err(|error| about("clearing up", &error))?;
            }
        }
        Ok(())
    }
}

/// Why the checks may not run below `prefix`.
pub async fn occupied(store: &dyn BlobStore, prefix: &str) -> Option<String> {
    let context = Context::new(store, prefix.to_owned());
    match context.page(context.list_request("")).await {
        Ok(page) => page.entries.first().map(|entry| {
            format!(
                "{:?} lies below the prefix already; name one that is empty, or clear it",
                entry.key
            )
        }),
        Err(error) => Some(format!("the prefix cannot be listed: {}", error.message)),
    }
}

/// The call must have failed in one of these ways, and must say why.
pub fn expect_error<T>(
    what: &str,
    outcome: Result<T, Error>,
    codes: &[ErrorCode],
) -> Checked<Error> {
    match outcome {
        Ok(_) => Err(Stop::Failed(format!(
            "{what} succeeded; expected {codes:?}"
        ))),
        Err(error) => {
            ensure!(
                codes.contains(&error.code),
                "{what}: expected {codes:?}, found {:?}: {}",
                error.code,
                error.message
            );
            ensure!(
                !error.message.is_empty(),
                "{what}: the error has no message"
            );
            Ok(error)
        }
    }
}

/// A conflict that tells the version there now.
pub fn expect_conflict<T>(
    what: &str,
    outcome: Result<T, Error>,
    current: Option<&str>,
) -> Checked<Error> {
    let error = expect_error(what, outcome, &[ErrorCode::Conflict])?;
    ensure_eq!(
        error.current.as_deref(),
        current,
        "{what}: the current version"
    );
    Ok(error)
}

fn about(what: &str, error: &Error) -> Stop {
    Stop::Failed(format!("{what}: {:?}: {}", error.code, error.message))
}

fn wrong_kind(asked: &str, answer: &Answer) -> Error {
    crate::store::check::error(
        ErrorCode::Other,
        format!("a {asked} was answered by another case: {answer:?}"),
    )
}
