//! meta.json arbitrates: whoever changes how a user stands does it here, by compare-and-swap, at most once a call.
//! It is never deleted, and never written over where it cannot be read.

use crate::format::user_meta::UserMeta;
use crate::layout::moltbot::{UserId, meta_key};
use crate::limits::{CONFLICT_TRIES_MAX, USER_META_BYTES_MAX};
use crate::protocol::request::{Remembered, RequestId};
use crate::store::{
    Blob, Body, BodyKind, Condition, GetRequest, Metered, PutOptions, Range, StoreError,
};
use crate::types::{Error, Result};

/// How a user stands, as it was read.
pub struct Held {
    pub text: String,
    pub meta: UserMeta,
    /// Whether this request has changed it before.
    pub is_repeat: bool,
}

/// What becomes of it.
pub enum Verdict<T> {
    Write(String, T),
    Leave(T),
}

/// Read, decide, write under a condition; again while others come in between. The request is remembered with
/// what it writes.
///
/// Errors: `not-found` without a meta.json, `invalid` for one that cannot be read, those of `decide`, and `conflict`
/// after 64 tries.
pub fn arbitrate<T>(
    store: &Metered<'_>,
    user: &UserId,
    request: &RequestId,
    mut decide: impl FnMut(&Held) -> Result<Verdict<T>>,
) -> Result<T> {
    let key = meta_key(user);
    let mut last: Option<StoreError> = None;
    let mut written: Option<(String, T)> = None;
    for _ in 0..CONFLICT_TRIES_MAX {
        let blob = store.get(GetRequest {
            key: key.clone(),
            range: Range::Whole,
            kind: BodyKind::Text,
        })?;
        let blob = blob.ok_or_else(|| {
            Error::not_found(format!(
                "user {user} has no meta.json ({key}): `open` begins one"
            ))
            .at(&key)
        })?;
        let (text, meta) = read(&key, user, &blob)?;
        if let Some((ours, answer)) = written.take_if(|(ours, _)| *ours == text) {
            // The answer of our write was lost.
            drop(ours);
            return Ok(answer);
        }
        let remembered = Remembered::from_metadata(&blob.stat.metadata);
        let remembered = remembered.unwrap_or_else(Remembered::unknown);
        let held = Held {
            text,
            meta,
            is_repeat: remembered.contains(request),
        };
        let (text, answer) = match decide(&held)? {
            Verdict::Leave(answer) => return Ok(answer),
            Verdict::Write(text, answer) => (text, answer),
        };
        if text == held.text {
            return Ok(answer);
        }
        let remembered = match held.is_repeat {
            true => remembered,
            false => remembered.with(request),
        };
        let options = PutOptions {
            condition: Condition::IfMatch(blob.stat.version),
            content_type: blob
                .stat
                .content_type
                .or(Some("application/json".to_owned())),
            metadata: remembered.into_metadata(blob.stat.metadata),
        };
        match store.put(&key, Body::Text(text.clone()), options) {
            Ok(_) => return Ok(answer),
            Err(error) if error.is_unsure() => {
                last = Some(error);
                written = Some((text, answer));
            }
            Err(error) => return Err(error.about(&key)),
        }
    }
    Err(StoreError::given_up(last, &key))
}

/// The document, which must be this user's.
pub fn read(key: &str, user: &UserId, blob: &Blob) -> Result<(String, UserMeta)> {
    let broken = |what: String| {
        Error::invalid(format!(
            "{key} cannot be read: {what}; nothing was changed, correct it by hand"
        ))
        .at(key)
    };
    if blob.stat.size_bytes > USER_META_BYTES_MAX {
        return Err(broken(format!(
            "it has {} bytes, over {USER_META_BYTES_MAX}",
            blob.stat.size_bytes
        )));
    }
    let text = std::str::from_utf8(blob.body.as_bytes());
    let text = text.map_err(|_| broken("it is not UTF-8".to_owned()))?;
    let meta = UserMeta::parse(text).map_err(|error| broken(error.message))?;
    if let Some(other) = meta.user_id.as_deref().filter(|id| *id != user.as_str()) {
        let other: String = other.chars().take(40).collect();
        return Err(broken(format!("its userId is {other:?}, not {user}")));
    }
    Ok((text.to_owned(), meta))
}

/// `invalid` where the document says something that is not as it should be.
pub fn check_faults(user: &UserId, meta: &UserMeta) -> Result<()> {
    if meta.faults.is_empty() {
        return Ok(());
    }
    let key = meta_key(user);
    Err(Error::invalid(format!(
        "{key} is not as it should be: {}; nothing was changed, correct it by hand",
        meta.faults.join("; ")
    ))
    .at(key))
}

/// `unsupported` for a state that another version made.
pub fn unknown_state(user: &UserId, state: &str) -> Error {
    let state: String = state.chars().take(40).collect();
    Error::unsupported(format!(
        "user {user} is in state {state:?}, which this version does not know; use a newer haversack"
    ))
    .at(meta_key(user))
}
