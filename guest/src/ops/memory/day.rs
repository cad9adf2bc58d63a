//! A day's file that grows: the change, its repeat, and what is said of it. Knows no system.

use super::AppendAnswer;
use super::text::{CONTENT_TYPE, near_limit};
use crate::protocol::document::{Change, Current, edit};
use crate::protocol::request::RequestId;
use crate::store::Metered;
use crate::transform::memory_section;
use crate::types::Result;

/// Put what `appended` makes of the file in its place, once for each request id. Where another program wrote the
/// file the ids are gone, and `text` that stands in it already counts as appended.
pub fn append(
    store: &Metered<'_>,
    key: String,
    id: &RequestId,
    text: &str,
    appended: impl Fn(&[u8]) -> Vec<u8>,
) -> Result<AppendAnswer> {
    let mut size_bytes = None;
    let edited = edit(store, &key, id, CONTENT_TYPE, |current: Current<'_>| {
        let file = current.body.unwrap_or_default();
        if !current.knows_requests && memory_section::holds(file, text) {
            size_bytes = Some(file.len() as u64);
            return Ok(Change::Nothing);
        }
        let body = appended(file);
        size_bytes = Some(body.len() as u64);
        Ok(Change::Write(body))
    })?;
    // A repeat is known by its id, without a look at the body.
    let size_bytes = match size_bytes.filter(|_| !edited.repeat) {
        Some(size_bytes) => size_bytes,
        None => store.head(&key)?.map_or(0, |stat| stat.size_bytes),
    };
    Ok(AppendAnswer {
        version: edited.version.unwrap_or_default(),
        repeat: edited.repeat || !edited.changed,
        size_bytes,
        problems: near_limit(&key, size_bytes),
        key,
        cost: store.cost(),
    })
}
