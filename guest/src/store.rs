//! The seam: everything that the core knows of a blob store. The types mirror `wit/store/blobs.wit`,
//! which is their manual. [`Metered`] counts what a call costs. Knows no layout and no system.

use std::cell::Cell;

use crate::limits::{DELETE_KEYS_MAX, WAVE_BYTES_MAX, WAVE_REQUESTS_MAX};
use crate::types::{Cost, Error, ErrorCode};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    Text(String),
    Binary(Vec<u8>),
}

impl Body {
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Body::Text(text) => text.as_bytes(),
            Body::Binary(bytes) => bytes,
        }
    }

    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Body::Text(text) => text.into_bytes(),
            Body::Binary(bytes) => bytes,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    Text,
    Binary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    Whole,
    Span { start_bytes: u64, length_bytes: u64 },
    Last(u64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    pub version: String,
    pub content_type: Option<String>,
    pub metadata: Vec<(String, String)>,
    pub size_bytes: u64,
    pub modified_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    pub body: Body,
    pub stat: Stat,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetRequest {
    pub key: String,
    pub range: Range,
    pub kind: BodyKind,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListRequest {
    pub prefix: String,
    pub delimiter: bool,
    pub start_after: Option<String>,
    pub cursor: Option<String>,
    pub limit: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Get(GetRequest),
    Head(String),
    List(ListRequest),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub key: String,
    pub size_bytes: u64,
    pub modified_ms: u64,
    pub version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub key: String,
    pub cause: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    pub entries: Vec<Entry>,
    pub prefixes: Vec<String>,
    pub skipped: Vec<Skipped>,
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Blob(Option<Blob>),
    Head(Option<Stat>),
    Listing(Listing),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreErrorCode {
    Conflict,
    TooLarge,
    Denied,
    Invalid,
    Unavailable,
    OutcomeUnknown,
    Unsupported,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreError {
    pub code: StoreErrorCode,
    pub message: String,
    pub retry_after_ms: Option<u32>,
    pub current: Option<String>,
}

impl StoreError {
    /// As the exports' error, naming the object.
    pub fn about(self, key: &str) -> Error {
        let code = match self.code {
            StoreErrorCode::Conflict => ErrorCode::Conflict,
            StoreErrorCode::TooLarge => ErrorCode::TooLarge,
            StoreErrorCode::Denied => ErrorCode::Denied,
            StoreErrorCode::Invalid => ErrorCode::Invalid,
            StoreErrorCode::Unavailable | StoreErrorCode::OutcomeUnknown => ErrorCode::Unavailable,
            StoreErrorCode::Unsupported => ErrorCode::Unsupported,
            StoreErrorCode::Other => ErrorCode::Other,
        };
        Error {
            code,
            message: format!("{key}: {}", self.message),
            key: Some(key.to_owned()),
            retry_after_ms: self.retry_after_ms,
            current: self.current,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    Always,
    IfAbsent,
    IfMatch(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutOptions {
    pub condition: Condition,
    pub content_type: Option<String>,
    pub metadata: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub key: String,
    pub if_match: Option<String>,
}

pub type StoreResult<T> = Result<T, StoreError>;

/// A blob store as the core sees it: `wit/store/blobs.wit` in Rust. Implementations hold their own
/// interior mutability, because the imported store is shared anyway.
pub trait Store {
    fn describe(&self) -> Vec<(String, String)>;
    fn read(&self, wave: Vec<Request>) -> Vec<StoreResult<Answer>>;
    fn put(&self, key: &str, body: Body, options: PutOptions) -> StoreResult<String>;
    fn append(&self, key: &str, body: Body, at_bytes: u64) -> StoreResult<u64>;
    fn concat(&self, sources: Vec<Source>, to: &str, options: PutOptions) -> StoreResult<String>;
    fn delete(&self, keys: Vec<String>) -> Vec<StoreResult<()>>;
}

/// A store that counts, and keeps waves within the limits that every store promises.
pub struct Metered<'a> {
    inner: &'a dyn Store,
    cost: Cell<Cost>,
}

impl<'a> Metered<'a> {
    pub fn new(inner: &'a dyn Store) -> Self {
        Self {
            inner,
            cost: Cell::default(),
        }
    }

    /// What the calls so far cost.
    pub fn cost(&self) -> Cost {
        self.cost.get()
    }

    /// Read `wave`, in as few waves as the limits allow, answers in order.
    ///
    /// Errors only when the host answers with another number or case of answers than was asked for,
    /// which is the host's bug: a synchronous transpile of an asynchronous host shows itself so.
    pub fn read(&self, wave: Vec<Request>) -> Result<Vec<StoreResult<Answer>>, Error> {
        let mut answers = Vec::with_capacity(wave.len());
        let mut rest = wave.into_iter().peekable();
        while rest.peek().is_some() {
            let mut part = Vec::new();
            let mut bytes = 0;
            while let Some(request) = rest.next_if(|request| {
                part.is_empty()
                    || (part.len() < WAVE_REQUESTS_MAX
                        && bytes_at_most(request).saturating_add(bytes) <= WAVE_BYTES_MAX)
            }) {
                bytes = bytes_at_most(&request).saturating_add(bytes);
                part.push(request);
            }
            answers.extend(self.read_one_wave(part)?);
        }
        Ok(answers)
    }

    /// Write an object whole and answer its version.
    pub fn put(&self, key: &str, body: Body, options: PutOptions) -> StoreResult<String> {
        self.count_write(body.as_bytes().len());
        self.inner.put(key, body, options)
    }

    /// Add to the end of an object of exactly `at_bytes`, and answer its new size.
    pub fn append(&self, key: &str, body: Body, at_bytes: u64) -> StoreResult<u64> {
        self.count_write(body.as_bytes().len());
        self.inner.append(key, body, at_bytes)
    }

    /// Make one object of several; its bytes pass by the core and are not counted.
    pub fn concat(
        &self,
        sources: Vec<Source>,
        to: &str,
        options: PutOptions,
    ) -> StoreResult<String> {
        self.count_write(0);
        self.inner.concat(sources, to, options)
    }

    /// Delete objects, an answer each in order; a request for each 1,000.
    ///
    /// Errors only when the host answers with another number of answers.
    pub fn delete(&self, keys: Vec<String>) -> Result<Vec<StoreResult<()>>, Error> {
        let mut answers = Vec::with_capacity(keys.len());
        let mut keys = keys.into_iter().peekable();
        while keys.peek().is_some() {
            let part: Vec<String> = keys.by_ref().take(DELETE_KEYS_MAX).collect();
            let expected = part.len();
            self.count_write(0);
            let part = self.inner.delete(part);
            if part.len() != expected {
                return Err(Error::new(
                    ErrorCode::Other,
                    format!(
                        "the host's blob store answered a delete of {expected} keys with {} \
                         answers; is an asynchronous store bound to a synchronous build?",
                        part.len()
                    ),
                ));
            }
            answers.extend(part);
        }
        Ok(answers)
    }

    /// Whether the store takes `append`.
    pub fn appends(&self) -> bool {
        let described = self.inner.describe();
        described
            .iter()
            .any(|(name, value)| name == "append" && value == "yes")
    }

    fn count_write(&self, bytes: usize) {
        let mut cost = self.cost.get();
        cost.waves += 1;
        cost.requests += 1;
        cost.bytes_written += bytes as u64;
        self.cost.set(cost);
    }

    fn read_one_wave(&self, wave: Vec<Request>) -> Result<Vec<StoreResult<Answer>>, Error> {
        let expected: Vec<_> = wave.iter().map(kind_of_request).collect();
        let mut cost = self.cost.get();
        cost.waves += 1;
        cost.requests += u32::try_from(wave.len()).unwrap_or(u32::MAX);
        let answers = self.inner.read(wave);
        let fits = answers.len() == expected.len()
            && answers
                .iter()
                .zip(&expected)
                .all(|(answer, kind)| answer.as_ref().map_or(true, |a| kind_of_answer(a) == *kind));
        if !fits {
            return Err(Error::new(
                ErrorCode::Other,
                format!(
                    "the host's blob store answered a wave of {} requests with {} answers or with \
                     answers of another kind; is an asynchronous store bound to a synchronous build?",
                    expected.len(),
                    answers.len()
                ),
            ));
        }
        for answer in answers.iter().flatten() {
            if let Answer::Blob(Some(blob)) = answer {
                cost.bytes_read += blob.body.as_bytes().len() as u64;
            }
        }
        self.cost.set(cost);
        Ok(answers)
    }
}

fn kind_of_request(request: &Request) -> u8 {
    match request {
        Request::Get(_) => 0,
        Request::Head(_) => 1,
        Request::List(_) => 2,
    }
}

fn kind_of_answer(answer: &Answer) -> u8 {
    match answer {
        Answer::Blob(_) => 0,
        Answer::Head(_) => 1,
        Answer::Listing(_) => 2,
    }
}

fn bytes_at_most(request: &Request) -> u64 {
    match request {
        Request::Get(get) => match get.range {
            Range::Whole => crate::limits::VALUE_BYTES_MAX,
            Range::Span { length_bytes, .. } => length_bytes,
            Range::Last(bytes) => bytes,
        },
        Request::Head(_) | Request::List(_) => 0,
    }
}
