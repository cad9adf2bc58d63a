//! Whether anything lies in a gsv agent's home at all. Asked only when nothing of the agent was found on the
//! way, so that the usual call pays for no third list.

use crate::layout::gsv::{AgentId, agent_prefix};
use crate::store::{Answer, ListRequest, Listing, Request, StoreResult};
use crate::types::Result;

/// One key below the agent's prefix is enough.
pub fn probe(agent: &AgentId) -> Request {
    Request::List(ListRequest {
        prefix: agent_prefix(agent),
        limit: Some(1),
        ..ListRequest::default()
    })
}

/// The answer to [`probe`]; none when it was not asked.
pub fn exists(probed: Option<StoreResult<Answer>>, agent: &AgentId) -> Result<bool> {
    match probed {
        Some(Ok(Answer::Listing(listing))) => Ok(holds_something(&listing)),
        Some(Err(error)) => Err(error.about(&agent_prefix(agent))),
        _ => Ok(false),
    }
}

/// Also what is no object: a link there means that somebody meant the home to be.
pub fn holds_something(listing: &Listing) -> bool {
    !listing.entries.is_empty()
        || !listing.prefixes.is_empty()
        || !listing.skipped.is_empty()
        || listing.cursor.is_some()
}
