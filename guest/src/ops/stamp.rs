//! The caller's moment and process, from which run-agent makes names; and a name of its own for each of several that
//! would have the same.

use crate::layout::run_agent::Timestamp;
use crate::limits::{NOW_MS_MAX, RUN_NAMES_TRIED_MAX};
use crate::protocol::document::{Expected, replace};
use crate::protocol::request::RequestId;
use crate::store::Metered;
use crate::types::{Error, ErrorCode, Result};

/// `invalid` for a moment after the year 9999, or over a millisecond of nanoseconds.
pub fn check(at_ms: u64, at_ns: Option<u32>) -> Result<()> {
    if at_ms > NOW_MS_MAX {
        return Err(Error::invalid(format!(
            "at-ms is {at_ms}; it is milliseconds since 1970, before the year 10000"
        )));
    }
    match at_ns {
        Some(ns) if ns > 999_999 => Err(Error::invalid(format!(
            "at-ns is {ns}; it is the nanoseconds behind the millisecond, at most 999999"
        ))),
        _ => Ok(()),
    }
}

pub fn timestamp(at_ms: u64, at_ns: Option<u32>, pid: u32) -> Result<Timestamp> {
    check(at_ms, at_ns)?;
    let stamp = Timestamp::at(at_ms, at_ns.unwrap_or_default(), pid);
    stamp.ok_or_else(|| Error::invalid(format!("at-ms is {at_ms}")))
}

/// What was created under the first name that was free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named<N> {
    pub name: N,
    pub key: String,
    /// Whether an earlier call with the same id had done it.
    pub repeat: bool,
}

/// Create an object under the first of its names, numbered from 1, that no other request has.
///
/// `conflict` when 64 have been taken.
pub fn create<N>(
    store: &Metered<'_>,
    request: &RequestId,
    content_type: &str,
    body: &[u8],
    mut name: impl FnMut(u32) -> Result<(N, String)>,
) -> Result<Named<N>> {
    for number in 1..=RUN_NAMES_TRIED_MAX {
        let (name, key) = name(number)?;
        match replace(store, &key, request, content_type, &Expected::Absent, body) {
            Ok(edited) => {
                let repeat = edited.repeat;
                return Ok(Named { name, key, repeat });
            }
            Err(error) if error.code == ErrorCode::Conflict => {}
            Err(error) => return Err(error),
        }
    }
    let (_, key) = name(1)?;
    let message = format!(
        "{key} and {} names after it are taken; nothing was written: try again at another moment",
        RUN_NAMES_TRIED_MAX - 1
    );
    Err(Error::new(ErrorCode::Conflict, message).at(key))
}
