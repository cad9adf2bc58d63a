//! A file on its way into a prompt: how much of it is asked for, and what its bytes are as text. Knows no
//! system and no section.

use crate::format::text::{back_to_character, decode, forth_to_character};
use crate::limits::WORKSPACE_FILE_BYTES_MAX;
use crate::store::{Answer, Blob, BodyKind, GetRequest, Range, Request, StoreResult};
use crate::transform::truncate::budget::File;
use crate::transform::truncate::policy::Shape;
use crate::types::{Error, ErrorCode, Problem, ProblemKind, Result};

/// The first part of a file is read, or the last where only its newest lines count.
pub fn get(key: String, daily: bool, shape: Shape) -> Request {
    let range = if reads_the_end(daily, shape) {
        Range::Last(WORKSPACE_FILE_BYTES_MAX)
    } else {
        Range::Span {
            start_bytes: 0,
            length_bytes: WORKSPACE_FILE_BYTES_MAX,
        }
    };
    Request::Get(GetRequest {
        key,
        range,
        kind: BodyKind::Text,
    })
}

fn reads_the_end(daily: bool, shape: Shape) -> bool {
    daily && shape == Shape::NewestLines
}

/// A workspace file that cannot be read fails the call: an agent without its rules is worse than none.
pub fn blob(answer: Option<StoreResult<Answer>>, key: &str) -> Result<Option<Blob>> {
    match answer {
        Some(Ok(Answer::Blob(blob))) => Ok(blob),
        Some(Err(error)) => Err(error.about(key)),
        _ => Err(Error::new(
            ErrorCode::Other,
            format!("{key}: the store gave no answer"),
        )),
    }
}

/// Text of what was read: cut to whole characters where the read limit split one, damage shown and
/// reported. `prefix` is what the name in markers goes without.
pub fn read_file(
    key: String,
    prefix: &str,
    daily: bool,
    shape: Shape,
    blob: Blob,
    problems: &mut Vec<Problem>,
) -> File {
    let size_bytes = blob.stat.size_bytes;
    let mut bytes = blob.body.into_bytes();
    let mut read_from = 0;
    if (bytes.len() as u64) < size_bytes {
        let which = if reads_the_end(daily, shape) {
            read_from = size_bytes - bytes.len() as u64;
            read_from += forth_to_character(&mut bytes) as u64;
            "last"
        } else {
            back_to_character(&mut bytes);
            "first"
        };
        let message = format!(
            "is {size_bytes} bytes long; the {which} {} were read and the rest is not in the prompt",
            bytes.len()
        );
        problems.push(Problem::new(ProblemKind::Truncated, &key, message));
    }
    let read_bytes = bytes.len() as u64;
    let decoded = decode(bytes);
    let damaged = decoded.damage.is_some();
    if let Some((offset, line)) = decoded.damage {
        let message = format!(
            "is not UTF-8 at byte {offset}; what cannot be read is shown as U+FFFD: save it as UTF-8"
        );
        problems.push(Problem::new(ProblemKind::Repaired, &key, message).on_line(line));
    }
    let name = key.strip_prefix(prefix).unwrap_or(&key).to_owned();
    File {
        key,
        name,
        daily,
        text: decoded.text,
        size_bytes,
        read_bytes,
        read_from,
        damaged,
    }
}
