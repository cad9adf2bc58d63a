//! Lines for a day's file.

use super::super::text::check_text;
use super::super::{AppendAnswer, AppendRequest, day};
use super::secrets;
use crate::layout::hi_boss::{AgentName, Place};
use crate::ops::moment;
use crate::protocol::request::RequestId;
use crate::store::{Metered, Store};
use crate::transform::memory_lines;
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
    day::append(&store, key, &id, &lines, |file| {
        memory_lines::append(file, lines.as_bytes())
    })
}
