//! A file of memory as it stands, with its version.

use super::super::ReadAnswer;
use crate::format::text::decode;
use crate::layout::hi_boss::{AgentName, Date, Place};
use crate::store::{BodyKind, GetRequest, Metered, Range, Store};
use crate::types::{Error, Home, Problem, ProblemKind, Result};

pub fn read(store: &dyn Store, home: &Home, date: Option<&str>) -> Result<ReadAnswer> {
    let store = Metered::new(store);
    let agent = AgentName::parse(&home.id)?;
    let key = match date {
        None => Place::LongTermMemory { agent },
        Some(date) => Place::DailyMemory {
            agent,
            date: Date::parse(date)?,
        },
    }
    .key();
    let get = GetRequest {
        key: key.clone(),
        range: Range::Whole,
        kind: BodyKind::Text,
    };
    let blob = store.get(get)?.ok_or_else(|| {
        let way_out = match date {
            None => "memory.ensure makes it",
            Some(_) => "nothing was remembered on that day",
        };
        Error::not_found(format!("there is no {key}: {way_out}")).at(&key)
    })?;
    let decoded = decode(blob.body.into_bytes());
    let problems = decoded.damage.map(|(offset, line)| {
        let message = format!("is not UTF-8 from byte {offset} on; shown with U+FFFD");
        Problem::new(ProblemKind::Repaired, &key, message).on_line(line)
    });
    Ok(ReadAnswer {
        version: blob.stat.version,
        text: decoded.text,
        size_bytes: blob.stat.size_bytes,
        problems: problems.into_iter().collect(),
        key,
        cost: store.cost(),
    })
}
