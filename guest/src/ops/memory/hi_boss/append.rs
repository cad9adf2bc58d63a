//! Lines for a day's file.

use super::super::text::{CONTENT_TYPE, check_text, near_limit};
use super::super::{AppendAnswer, AppendRequest};
use super::secrets;
use crate::layout::hi_boss::{AgentName, Place};
use crate::ops::moment;
use crate::protocol::document::{Change, Current, edit};
use crate::protocol::request::RequestId;
use crate::store::{Metered, Store};
use crate::transform::{memory_lines, memory_section};
use crate::types::Result;

pub fn append(store: &dyn Store, request: &AppendRequest) -> Result<AppendAnswer> {
    let store = Metered::new(store);
    let agent = AgentName::parse(&request.home.id)?;
    let id = RequestId::parse(&request.request_id)?;
    let date = moment::day("at-ms", request.at_ms, request.utc_offset_minutes)?;
    check_text(&request.text)?;
    secrets::check(&request.text, request.allow_secrets)?;
    let key = Place::DailyMemory { agent, date }.key();
    let lines = memory_lines::memories(&request.text);
    let mut size_bytes = None;
    let edited = edit(&store, &key, &id, CONTENT_TYPE, |current: Current<'_>| {
        let file = current.body.unwrap_or_default();
        if !current.knows_requests && memory_section::holds(file, &lines) {
            size_bytes = Some(file.len() as u64);
            return Ok(Change::Nothing);
        }
        let appended = memory_lines::append(file, lines.as_bytes());
        size_bytes = Some(appended.len() as u64);
        Ok(Change::Write(appended))
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
