//! One document, changed by compare-and-swap and known by request ids (spec/protocols.md, "Common
//! ground"). Knows no format and no key.
//!
//! Stopped after any call, the document is as before or as after; a repeat with the same id finds the
//! id in the metadata that were written with the body, and changes nothing. An edit that changes no byte
//! writes nothing and is not remembered.

use super::request::{Remembered, RequestId};
use crate::limits::{CONFLICT_TRIES_MAX, DOCUMENT_BYTES_MAX};
use crate::store::{
    Blob, Body, BodyKind, Condition, GetRequest, Metered, PutOptions, Range, StoreError,
};
use crate::types::{Error, ErrorCode, Result};

/// A document as an edit finds it.
#[derive(Debug, Clone, Copy)]
pub struct Current<'a> {
    /// None when there is no such object.
    pub body: Option<&'a [u8]>,
    /// Whether its metadata hold all of the last request ids. Where another program wrote it they do not,
    /// and an edit that can see its own text in the body should take itself for done.
    pub knows_requests: bool,
}

impl<'a> Current<'a> {
    fn of(found: Option<&'a Blob>) -> Self {
        Self {
            body: found.map(|blob| blob.body.as_bytes()),
            knows_requests: remembered_of(found).is_complete(),
        }
    }
}

/// What an edit makes of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The new bytes, whole.
    Write(Vec<u8>),
    /// Nothing to do: the document says already what it should.
    Nothing,
}

/// How an edit went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The version now; none when there is no object and nothing was to do.
    pub version: Option<String>,
    /// Whether this request changed the document: now, or in an earlier call with the same id.
    pub changed: bool,
    /// Whether an earlier call with the same id had done it.
    pub repeat: bool,
}

/// What a write expects to replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Nothing: the document is new.
    Absent,
    /// The version that the caller read.
    Version(String),
}

/// Change `key` by a function of its current bytes, which is called again when somebody else wrote in
/// between. `content_type` is for a new object; an existing one keeps its own, and its metadata.
///
/// Errors: those of `change`, of the store, `too-large` over 8 MiB, and `conflict` after 64 tries, in all
/// of which nothing was written; `unavailable` where that is not known, and a repeat settles it.
pub fn edit(
    store: &Metered<'_>,
    key: &str,
    request: &RequestId,
    content_type: &str,
    mut change: impl FnMut(Current<'_>) -> Result<Change>,
) -> Result<Edited> {
    try_until_settled(store, key, Some(request), content_type, |found| {
        change(Current::of(found))
    })
}

/// As [`edit`], for a change that knows its repeat by the document itself, and so has no request id. After a lost
/// answer it may count as unchanged although this call changed it.
pub fn settle(
    store: &Metered<'_>,
    key: &str,
    content_type: &str,
    mut change: impl FnMut(Current<'_>) -> Result<Change>,
) -> Result<Edited> {
    try_until_settled(store, key, None, content_type, |found| {
        change(Current::of(found))
    })
}

/// As [`edit`], and only at the version that the caller read, where it names one: `conflict` at another.
pub fn edit_version(
    store: &Metered<'_>,
    key: &str,
    request: &RequestId,
    content_type: &str,
    version: Option<&str>,
    mut change: impl FnMut(Current<'_>) -> Result<Change>,
) -> Result<Edited> {
    try_until_settled(store, key, Some(request), content_type, |found| {
        if let Some(version) = version {
            let there = found.map(|blob| &blob.stat.version);
            check_expected(key, &Expected::Version(version.to_owned()), there)?;
        }
        change(Current::of(found))
    })
}

/// Write `key` whole in the place of the version that the caller read, and answer as [`edit`] does.
///
/// `conflict`, with the version there now, when the document is not as expected.
pub fn replace(
    store: &Metered<'_>,
    key: &str,
    request: &RequestId,
    content_type: &str,
    expected: &Expected,
    body: &[u8],
) -> Result<Edited> {
    try_until_settled(store, key, Some(request), content_type, |found| {
        check_expected(key, expected, found.map(|blob| &blob.stat.version))?;
        Ok(Change::Write(body.to_vec()))
    })
}

fn check_expected(key: &str, expected: &Expected, there: Option<&String>) -> Result<()> {
    let fits = match expected {
        Expected::Absent => there.is_none(),
        Expected::Version(version) => there == Some(version),
    };
    if fits {
        return Ok(());
    }
    let what = match (expected, there) {
        (Expected::Absent, _) => "is there already; read it first",
        (_, Some(_)) => "was changed since it was read; read it again",
        (_, None) => "is not there any more; write it as a new one",
    };
    let mut error = Error::new(ErrorCode::Conflict, format!("{key} {what}")).at(key);
    error.current = there.cloned();
    Err(error)
}

/// Read, decide, write under a condition; again while others come in between.
fn try_until_settled(
    store: &Metered<'_>,
    key: &str,
    request: Option<&RequestId>,
    content_type: &str,
    mut decide: impl FnMut(Option<&Blob>) -> Result<Change>,
) -> Result<Edited> {
    let mut last = None;
    let edited = |version, changed, repeat| Edited {
        version,
        changed,
        repeat,
    };
    for _ in 0..CONFLICT_TRIES_MAX {
        let found = store.get(GetRequest {
            key: key.to_owned(),
            range: Range::Whole,
            kind: BodyKind::Text,
        })?;
        let stat = found.as_ref().map(|blob| &blob.stat);
        let version = stat.map(|stat| stat.version.clone());
        let metadata = stat.map_or(&[][..], |stat| &stat.metadata);
        let remembered = remembered_of(found.as_ref());
        if request.is_some_and(|request| remembered.contains(request)) {
            // After a lost answer it was this very call.
            return Ok(edited(version, true, last.is_none()));
        }
        let body = match decide(found.as_ref())? {
            Change::Write(body) => body,
            Change::Nothing => return Ok(edited(version, false, false)),
        };
        let same = |blob: &Blob| blob.body.as_bytes() == body;
        if found.as_ref().is_some_and(same) {
            return Ok(edited(version, false, false));
        }
        check_size(key, body.len())?;
        let options = PutOptions {
            condition: version.map_or(Condition::IfAbsent, Condition::IfMatch),
            content_type: stat
                .and_then(|stat| stat.content_type.clone())
                .or_else(|| Some(content_type.to_owned())),
            metadata: match request {
                Some(request) => remembered.with(request).into_metadata(metadata.to_vec()),
                None => metadata.to_vec(),
            },
        };
        match store.put(key, body_of(body), options) {
            Ok(version) => return Ok(edited(Some(version), true, false)),
            // Reading again tells: our id is there, or the write did not happen and is tried again.
            Err(error) if error.is_unsure() => last = Some(error),
            Err(error) => return Err(error.about(key)),
        }
    }
    Err(StoreError::given_up(last, key))
}

fn remembered_of(found: Option<&Blob>) -> Remembered {
    match found {
        None => Remembered::default(),
        Some(blob) => {
            Remembered::from_metadata(&blob.stat.metadata).unwrap_or_else(Remembered::unknown)
        }
    }
}

fn check_size(key: &str, bytes: usize) -> Result<()> {
    if bytes as u64 <= DOCUMENT_BYTES_MAX {
        return Ok(());
    }
    Err(Error::too_large(format!(
        "{key} would have {bytes} bytes, over {DOCUMENT_BYTES_MAX}; nothing was written: move older text to \
         another file"
    ))
    .at(key))
}

/// Text where it is text, which hosts on the C API are quicker with.
pub(super) fn body_of(bytes: Vec<u8>) -> Body {
    match String::from_utf8(bytes) {
        Ok(text) => Body::Text(text),
        Err(error) => Body::Binary(error.into_bytes()),
    }
}
