//! The seam: everything that the core knows of a blob store. The types mirror `wit/store/blobs.wit`,
//! which is their manual. [`Metered`] is how they are used. Knows no layout and no system.

mod metered;

use crate::types::{Error, ErrorCode};

pub use metered::Metered;

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

impl Listing {
    /// The last key or prefix of the page, of whichever kind: a list of the keys behind it goes on where this
    /// page ended.
    pub fn last_key(&self) -> Option<&String> {
        let entry = self.entries.last().map(|entry| &entry.key);
        let skipped = self.skipped.last().map(|skipped| &skipped.key);
        entry.max(self.prefixes.last()).max(skipped)
    }
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
    /// Whether only looking at the object tells what came of a conditional write: refused by its condition,
    /// or its answer lost.
    pub fn is_unsure(&self) -> bool {
        matches!(
            self.code,
            StoreErrorCode::Conflict | StoreErrorCode::OutcomeUnknown
        )
    }

    /// The error of a write that was tried again after each such `last` one, until the tries were used up.
    pub fn given_up(last: Option<Self>, key: &str) -> Error {
        match last {
            Some(error) => error.about(key),
            None => Error::new(ErrorCode::Other, "no try was made").at(key),
        }
    }

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

/// A value among an object's metadata, by its name in any case.
pub fn metadatum<'m>(metadata: &'m [(String, String)], name: &str) -> Option<&'m str> {
    let mut found = metadata.iter();
    let found = found.find(|(there, _)| there.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
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
