//! A user, the document that speaks for it, and what its state lets others do.

use crate::format::user_meta::UserMeta;
use crate::format::user_state::UserState;
use crate::format::utc;
use crate::layout::System;
use crate::layout::concept::{Concept, require};
use crate::layout::moltbot::{Place, UserId};
use crate::limits::NOW_MS_MAX;
use crate::store::{Blob, BodyKind, GetRequest, Metered, Range};
use crate::types::{Error, ErrorCode, Home, Problem, ProblemKind, Result};

pub struct Tenant {
    pub user: UserId,
    pub meta_key: String,
}

impl Tenant {
    pub fn of(home: &Home, concept: Concept) -> Result<Self> {
        require(System::parse(&home.system)?, concept)?;
        Ok(Self::named(&UserId::parse(&home.id)?))
    }

    pub fn named(user: &UserId) -> Self {
        let user = user.clone();
        let meta_key = Place::UserMeta { user: user.clone() }.key();
        Self { user, meta_key }
    }

    /// The document as it stands.
    pub fn get(&self, store: &Metered<'_>) -> Result<Option<Blob>> {
        store.get(GetRequest {
            key: self.meta_key.clone(),
            range: Range::Whole,
            kind: BodyKind::Text,
        })
    }

    /// What it says, and its text.
    pub fn load(&self, store: &Metered<'_>) -> Result<Option<(String, UserMeta)>> {
        let blob = self.get(store)?;
        blob.map(|blob| self.read(blob.body.as_bytes())).transpose()
    }

    /// What a document says, and its text; an error where it cannot be read or is another user's, and it stays as
    /// it is.
    pub fn read(&self, body: &[u8]) -> Result<(String, UserMeta)> {
        let key = &self.meta_key;
        let broken = |what: &str| {
            let message = format!(
                "{key} cannot be read: {what}; nothing was written: restore it, or correct it by hand"
            );
            Error::invalid(message).at(key)
        };
        let text = std::str::from_utf8(body).map_err(|_| broken("it is not UTF-8"))?;
        let meta = UserMeta::parse(text).map_err(|error| broken(&error.message))?;
        match &meta.user_id {
            Some(id) if id != self.user.as_str() => {
                Err(broken(&format!("it is that of user {id:?}")))
            }
            _ => Ok((text.to_owned(), meta)),
        }
    }

    /// `conflict` for a user with whom something is under way, saying what helps; `not-found` for one of whom
    /// nothing is left. `now_ms` tells how long its lease still lasts.
    pub fn check_state(&self, meta: &UserMeta, now_ms: Option<u64>) -> Result<()> {
        let (user, key) = (&self.user, &self.meta_key);
        let moved = "the subscription is over and the data are being moved away; renew it, then call again (opening is no renewal)";
        let what = match UserState::parse(meta.state.as_deref()) {
            Some(UserState::Active | UserState::Creating) => return Ok(()),
            Some(UserState::Copying | UserState::Emptying) => moved.to_owned(),
            Some(UserState::Restoring) => {
                format!("the data are coming back; call again {}", until(meta))
            }
            Some(UserState::Deleted) => {
                "the data were moved away; restore the user, then call again".to_owned()
            }
            Some(UserState::Purging) => format!(
                "the data are being deleted for good; call again {}: once nothing is left, `open` starts the user anew",
                until(meta)
            ),
            Some(UserState::Purged) => return Err(self.absent()),
            None => format!(
                "{key} says so, and haversack {} does not know that; use the one that wrote it",
                env!("CARGO_PKG_VERSION")
            ),
        };
        let state = meta.state.as_deref().unwrap_or_default();
        let shown: String = state.chars().take(40).collect();
        let message = format!("user {user} is {shown:?}: {what}");
        let mut error = Error::new(ErrorCode::Conflict, message).at(key);
        let leased = matches!(
            UserState::parse(meta.state.as_deref()),
            Some(UserState::Restoring | UserState::Purging)
        );
        let left_ms = meta.lease_until_ms.zip(now_ms).filter(|_| leased);
        error.retry_after_ms = left_ms.map(|(until_ms, now_ms)| {
            u32::try_from(until_ms.saturating_sub(now_ms)).unwrap_or(u32::MAX)
        });
        Err(error)
    }

    pub fn absent(&self) -> Error {
        let message = format!("there is no user {}: `open` creates one", self.user);
        Error::not_found(message).at(&self.meta_key)
    }

    /// The members of a document that are not as they should be.
    pub fn problems(&self, meta: &UserMeta) -> Vec<Problem> {
        let mut problems: Vec<Problem> = Vec::new();
        if let (None, Some(state)) = (UserState::parse(meta.state.as_deref()), &meta.state) {
            let shown: String = state.chars().take(40).collect();
            problems.push(self.unreadable(&format!("`state` is {shown:?}, which is not known")));
        }
        problems.extend(meta.faults.iter().map(|fault| self.unreadable(fault)));
        problems
    }

    pub fn unreadable(&self, what: &str) -> Problem {
        Problem::new(ProblemKind::Unreadable, &self.meta_key, what)
    }
}

/// For people: when a lease is over.
fn until(meta: &UserMeta) -> String {
    match meta.lease_until_ms.and_then(utc::print) {
        Some(moment) => format!("after the lease, which ends at {moment}"),
        None => "in two minutes".to_owned(),
    }
}

pub fn check_now(now_ms: u64) -> Result<()> {
    if now_ms <= NOW_MS_MAX {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "now-ms is {now_ms}; it must be milliseconds since 1970 before the year 10000"
    )))
}
