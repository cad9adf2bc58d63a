//! A request whose signature holds: its query, whose it is, and the part of the store that it may read. Whatever is
//! answered under a signature takes this, and so a place among the requests at work.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use tokio::sync::OwnedSemaphorePermit;

use super::answer::Refusal;
use super::query::Query;
use super::served::Served;
use super::signature::Refused;
use super::{history, route};
use crate::Owner;
use crate::store::{BlobStore, FencedStore};

/// Of a signature.
const SIGNED: [&str; 3] = ["userId", "exp", "sig"];

pub struct Signed {
    pub query: Query,
    pub owner: Owner,
    /// Nothing but what is below the user's prefix, and nothing to write.
    pub store: Arc<dyn BlobStore>,
    _place: OwnedSemaphorePermit,
}

impl FromRequestParts<Arc<Served>> for Signed {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, served: &Arc<Served>) -> Result<Self, Refusal> {
        let query = verified(served, parts.uri.query().unwrap_or_default())?;
        let place = served.place()?;
        let parameters: &[&str] = match parts.uri.path() {
            route::HISTORY => &history::PARAMETERS,
            _ => &[],
        };
        if let Some(name) = query.unknown(&[&SIGNED, parameters].concat()) {
            return Err(Refusal::invalid(format!(
                "there is no parameter {name:?}; this path takes {}",
                [&SIGNED, parameters].concat().join(", ")
            )));
        }
        let owner = served
            .owner(query.get("userId").unwrap_or_default())
            .await?;
        let fenced = FencedStore::new(served.store.clone(), owner.prefix.clone());
        let store = Arc::new(fenced.map_err(|error| Refusal::of_store(&error))?);
        Ok(Signed {
            query,
            owner,
            store,
            _place: place,
        })
    }
}

/// The query of a request whose signature holds.
fn verified(served: &Served, query: &str) -> Result<Query, Refusal> {
    let unauthorized =
        |message: &str| Refusal::new(StatusCode::UNAUTHORIZED, "unauthorized", message);
    let Some(secret) = &served.secret else {
        return Err(unauthorized(
            "this server has no signing secret, so that no signature can hold",
        ));
    };
    let query = Query::parse(query).map_err(|rule| unauthorized(&rule))?;
    let [Some(user), Some(exp), Some(sig)] = SIGNED.map(|name| query.get(name)) else {
        return Err(unauthorized(
            "this path needs a signed URL, with userId, exp and sig; `haversack sign` makes one",
        ));
    };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now_s = now.map_or(u64::MAX, |now| now.as_secs());
    match secret.verify(user, exp, sig, now_s) {
        Ok(()) => Ok(query),
        Err(Refused::Wrong) => Err(unauthorized("the signature is wrong")),
        Err(Refused::Expired) => Err(unauthorized("the signature has expired; ask for a new URL")),
    }
}
