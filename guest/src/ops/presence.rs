//! Whether anything lies in a home at all. Asked only when nothing of it was found on the
//! way, so that the usual call pays for no third list.

use crate::store::{Answer, ListRequest, Listing, Request, StoreResult};
use crate::types::Result;

/// One key below the home's prefix is enough.
pub fn probe(prefix: String) -> Request {
    Request::List(ListRequest {
        prefix,
        limit: Some(1),
        ..ListRequest::default()
    })
}

/// The answer to [`probe`]; none when it was not asked.
pub fn exists(probed: Option<StoreResult<Answer>>, prefix: &str) -> Result<bool> {
    match probed {
        Some(Ok(Answer::Listing(listing))) => Ok(holds_something(&listing)),
        Some(Err(error)) => Err(error.about(prefix)),
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
