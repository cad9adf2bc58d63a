//! The rules of calls, the same for every store: sizes, metadata, content types, lists, conditions.
//! Says what is wrong before anything is touched; knows no store.

use super::key::{check_key, shown};
use super::{
    Body, Condition, Error, ErrorCode, ListRequest, Listing, PutOptions, Request, Source, value,
};

/// Largest body of one get, put or append.
pub const VALUE_BYTES_MAX: u64 = 8 << 20;
pub const WAVE_REQUESTS_MAX: usize = 256;
/// Bytes of all bodies in the answers of one wave.
pub const WAVE_BYTES_MAX: u64 = 16 << 20;
pub const CONCAT_SOURCES_MAX: usize = 256;
pub const CONCAT_BYTES_MAX: u64 = 5 << 30;
/// Up to this size of the result a concat takes every condition; above, only `if-absent`.
pub const CONCAT_CONDITION_BYTES_MAX: u64 = 64 << 20;
/// Names and values together.
pub const METADATA_BYTES_MAX: usize = 2_048;
pub const CONTENT_TYPE_BYTES_MAX: usize = 255;
pub const LIST_PAGE_MAX: u32 = 1_000;
/// A failure without the optional fields.
pub fn error(code: ErrorCode, message: impl Into<String>) -> Error {
    Error {
        code,
        message: message.into(),
        retry_after_ms: None,
        current: None,
    }
}

/// A failed condition on `key`; `current` is the version (for append: the size) there now.
pub fn conflict(key: &str, expected: &str, current: Option<String>) -> Error {
    let found = match &current {
        Some(current) => format!("it has {current}"),
        None => "there is none".to_owned(),
    };
    Error {
        current,
        ..error(
            ErrorCode::Conflict,
            format!(
                "key {}: expected {expected}, but {found}; read it again and decide anew",
                shown(key)
            ),
        )
    }
}

/// The pairs that `describe` answers, for a store with the limits above.
pub fn describe(kind: &str, appends: bool, requests_at_once: usize) -> Vec<(String, String)> {
    [
        ("kind", kind.to_owned()),
        ("append", if appends { "yes" } else { "no" }.to_owned()),
        ("value-bytes-max", VALUE_BYTES_MAX.to_string()),
        ("wave-requests-max", WAVE_REQUESTS_MAX.to_string()),
        ("wave-bytes-max", WAVE_BYTES_MAX.to_string()),
        ("requests-at-once", requests_at_once.to_string()),
        ("concat-sources-max", CONCAT_SOURCES_MAX.to_string()),
        ("concat-bytes-max", CONCAT_BYTES_MAX.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// A page with nothing on it.
pub fn empty_page() -> Listing {
    Listing {
        entries: Vec::new(),
        prefixes: Vec::new(),
        skipped: Vec::new(),
        cursor: None,
    }
}

/// Options with neither content type nor metadata.
pub fn plain(condition: Condition) -> PutOptions {
    PutOptions {
        condition,
        content_type: None,
        metadata: Vec::new(),
    }
}

/// Everything about a write but what lies in the store.
pub fn check_put(key: &str, body: &Body, options: &PutOptions) -> Result<(), Error> {
    check_key(key)?;
    check_value(key, body)?;
    check_options(key, options)
}

pub fn check_value(key: &str, body: &Body) -> Result<(), Error> {
    let size = value::bytes(body).len() as u64;
    if size <= VALUE_BYTES_MAX {
        return Ok(());
    }
    Err(error(
        ErrorCode::TooLarge,
        format!(
            "key {}: the body has {size} bytes, over {VALUE_BYTES_MAX}; put parts and concat them",
            shown(key)
        ),
    ))
}

/// The beginning of an upload: its key, its options, and that its condition is one that can be kept.
pub fn check_upload(key: &str, options: &PutOptions) -> Result<(), Error> {
    check_key(key)?;
    check_options(key, options)?;
    if let Condition::IfMatch(_) = options.condition {
        let message = format!(
            "key {}: an upload takes only always or if-absent; concat from a new key instead",
            shown(key)
        );
        return Err(error(ErrorCode::Invalid, message));
    }
    Ok(())
}

/// One part of an upload.
pub fn check_part(key: &str, part: &[u8]) -> Result<(), Error> {
    if part.len() as u64 <= VALUE_BYTES_MAX {
        return Ok(());
    }
    let message = format!(
        "key {}: a part of {} bytes, over {VALUE_BYTES_MAX}; write it in pieces",
        shown(key),
        part.len()
    );
    Err(error(ErrorCode::TooLarge, message))
}

/// Content type and metadata.
pub fn check_options(key: &str, options: &PutOptions) -> Result<(), Error> {
    let refuse = |code, rule: String| Err(error(code, format!("key {}: {rule}", shown(key))));
    if let Some(content_type) = &options.content_type {
        let printable = content_type.bytes().all(|b| (b' '..=b'~').contains(&b));
        if content_type.is_empty() || content_type.len() > CONTENT_TYPE_BYTES_MAX || !printable {
            return refuse(
                ErrorCode::Invalid,
                "a content type is 1 to 255 printable ASCII characters; leave it out if unknown"
                    .to_owned(),
            );
        }
    }
    let mut names: Vec<String> = Vec::new();
    let mut size = 0;
    for (name, value) in &options.metadata {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if name.is_empty() || !name.bytes().all(plain) {
            return refuse(
                ErrorCode::Invalid,
                format!("metadata name {name:?}: only ASCII letters, digits, `-` and `_`"),
            );
        }
        let folded = name.to_ascii_lowercase();
        if names.contains(&folded) {
            return refuse(
                ErrorCode::Invalid,
                format!(
                    "metadata name {name:?} occurs twice (case does not count); join the values"
                ),
            );
        }
        if value.chars().any(char::is_control) {
            return refuse(
                ErrorCode::Invalid,
                format!("metadata {name:?} has a control character in its value; encode it"),
            );
        }
        names.push(folded);
        size += name.len() + value.len();
    }
    if size > METADATA_BYTES_MAX {
        return refuse(
            ErrorCode::TooLarge,
            format!("metadata has {size} bytes, over {METADATA_BYTES_MAX}; put it into the body"),
        );
    }
    Ok(())
}

/// Answer the requests of a wave one after the other; each where the wave is too long refused.
/// `answer` gets the bytes that the wave's answers may still have, for [`check_read`].
pub fn answer_each<T>(
    wave: Vec<Request>,
    mut answer: impl FnMut(Request, &mut u64) -> Result<T, Error>,
) -> Vec<Result<T, Error>> {
    let requests = wave.len();
    let mut left = WAVE_BYTES_MAX;
    let mut answer = |request| {
        if requests > WAVE_REQUESTS_MAX {
            let message =
                format!("a wave of {requests} requests, over {WAVE_REQUESTS_MAX}; split it");
            return Err(error(ErrorCode::TooLarge, message));
        }
        answer(request, &mut left)
    };
    wave.into_iter().map(&mut answer).collect()
}

pub fn check_list(request: &ListRequest) -> Result<(), Error> {
    match request.limit {
        Some(limit) if limit == 0 || limit > LIST_PAGE_MAX => Err(error(
            ErrorCode::Invalid,
            format!(
                "list limit {limit}: a page has 1 to {LIST_PAGE_MAX} entries; leave it out for the most"
            ),
        )),
        _ => Ok(()),
    }
}

/// The cursor of a list whose cursors are the last thing on their page; empty at the start.
pub fn position(request: &ListRequest) -> Result<String, Error> {
    let cursor = request.cursor.clone().unwrap_or_default();
    if cursor.is_empty() || cursor.starts_with(&request.prefix) {
        return Ok(cursor);
    }
    Err(not_a_cursor(&cursor))
}

/// The error for a cursor that no page of the list answered.
pub fn not_a_cursor(cursor: &str) -> Error {
    let message = format!(
        "{} is no cursor of this list; pass the one it gave",
        shown(cursor)
    );
    error(ErrorCode::Invalid, message)
}

/// Keys, number and options of a concat; sizes are known only later.
pub fn check_concat(sources: &[Source], to: &str, options: &PutOptions) -> Result<(), Error> {
    check_key(to)?;
    check_options(to, options)?;
    if sources.len() > CONCAT_SOURCES_MAX {
        return Err(error(
            ErrorCode::TooLarge,
            format!(
                "key {}: a concat of {} sources, over {CONCAT_SOURCES_MAX}; do it in two steps",
                shown(to),
                sources.len()
            ),
        ));
    }
    for source in sources {
        check_key(&source.key)?;
        if source.key == to {
            return Err(error(
                ErrorCode::Invalid,
                format!(
                    "key {}: a concat's target may not be a source; write to another key",
                    shown(to)
                ),
            ));
        }
    }
    Ok(())
}

/// The size of a concat's result, once known, against its condition.
pub fn check_concat_size(to: &str, size: u64, options: &PutOptions) -> Result<(), Error> {
    if size > CONCAT_BYTES_MAX {
        return Err(error(
            ErrorCode::TooLarge,
            format!(
                "key {}: a concat of {size} bytes, over {CONCAT_BYTES_MAX}; make several objects",
                shown(to)
            ),
        ));
    }
    if size > CONCAT_CONDITION_BYTES_MAX && options.condition != Condition::IfAbsent {
        return Err(error(
            ErrorCode::Invalid,
            format!(
                "key {}: a concat over {CONCAT_CONDITION_BYTES_MAX} bytes takes only if-absent; \
                 write it to a new key",
                shown(to)
            ),
        ));
    }
    Ok(())
}

/// Whether a get may answer `length` bytes; takes them off `left`, the wave's remaining bytes.
pub fn check_read(key: &str, length: u64, left: &mut u64) -> Result<(), Error> {
    if length > VALUE_BYTES_MAX {
        return Err(error(
            ErrorCode::TooLarge,
            format!(
                "key {}: {length} bytes at once, over {VALUE_BYTES_MAX}; read it in ranges",
                shown(key)
            ),
        ));
    }
    *left = left.checked_sub(length).ok_or_else(|| {
        error(
            ErrorCode::TooLarge,
            format!(
                "key {}: the wave's answers have over {WAVE_BYTES_MAX} bytes; ask for this one in \
                 the next wave",
                shown(key)
            ),
        )
    })?;
    Ok(())
}

/// `conflict` unless `condition` holds for an object whose version is `current`.
pub fn check_condition(
    key: &str,
    condition: &Condition,
    current: Option<String>,
) -> Result<(), Error> {
    match condition {
        Condition::Always => Ok(()),
        Condition::IfAbsent if current.is_none() => Ok(()),
        Condition::IfAbsent => Err(conflict(key, "no object", current)),
        Condition::IfMatch(version) if current.as_ref() == Some(version) => Ok(()),
        Condition::IfMatch(version) => Err(conflict(key, &format!("version {version:?}"), current)),
    }
}

/// `conflict` unless the object is exactly as long as the caller of append thinks.
pub fn check_size(key: &str, at_bytes: u64, size_bytes: u64) -> Result<(), Error> {
    if at_bytes == size_bytes {
        return Ok(());
    }
    let expected = format!("a size of {at_bytes} bytes");
    Err(conflict(key, &expected, Some(size_bytes.to_string())))
}

/// Everything about an append but what lies in the store, which `appends` or does not.
pub fn check_append(appends: bool, key: &str, body: &Body) -> Result<(), Error> {
    if !appends {
        let message = "this store cannot append, as `describe` says; put the object whole";
        return Err(error(ErrorCode::Unsupported, message));
    }
    check_key(key)?;
    check_value(key, body)
}

/// `conflict` when a source of a concat is missing or has another version than was asked for.
pub fn check_source(
    key: &str,
    if_match: Option<String>,
    current: Option<String>,
) -> Result<(), Error> {
    if current.is_none() {
        return Err(conflict(key, "a source of a concat", None));
    }
    let condition = if_match.map_or(Condition::Always, Condition::IfMatch);
    check_condition(key, &condition, current)
}
