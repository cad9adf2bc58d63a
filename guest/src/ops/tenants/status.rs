//! What is known of a user, and that it was active.

use super::tenant::{Tenant, check_now};
use super::{StatusAnswer, StatusRequest, TouchAnswer, TouchRequest};
use crate::format::user_meta::active_at;
use crate::format::user_state::UserState;
use crate::layout::concept::Concept;
use crate::limits::TOUCH_EVERY_MS;
use crate::protocol::document::{Change, settle};
use crate::store::{Metered, Store};
use crate::types::Result;

pub fn status(store: &dyn Store, request: &StatusRequest) -> Result<StatusAnswer> {
    let store = Metered::new(store);
    let tenant = Tenant::of(&request.home, Concept::Tenants)?;
    let (_, meta) = tenant.load(&store)?.ok_or_else(|| tenant.absent())?;
    Ok(StatusAnswer {
        state: UserState::parse(meta.state.as_deref()),
        problems: tenant.problems(&meta),
        created_ms: meta.created_ms,
        subscription: meta.subscription.map(Into::into),
        subscription_ended_ms: meta.subscription_ended_ms,
        retention_expires_ms: meta.retention_expires_ms,
        last_active_ms: meta.last_active_ms,
        storage_used_bytes: meta.storage_used_bytes,
        cost: store.cost(),
    })
}

/// Reads, and writes where the last time is a minute old.
pub fn touch(store: &dyn Store, request: &TouchRequest) -> Result<TouchAnswer> {
    let store = Metered::new(store);
    let tenant = Tenant::of(&request.home, Concept::Tenants)?;
    check_now(request.now_ms)?;
    let now_ms = request.now_ms;
    let edited = settle(&store, &tenant.meta_key, "application/json", |current| {
        let body = current.body.ok_or_else(|| tenant.absent())?;
        let (text, meta) = tenant.read(body)?;
        tenant.check_state(&meta, Some(now_ms))?;
        let due = meta
            .last_active_ms
            .is_none_or(|last| now_ms >= last.saturating_add(TOUCH_EVERY_MS));
        Ok(match due {
            true => Change::Write(active_at(&text, now_ms)?.into_bytes()),
            false => Change::Nothing,
        })
    })?;
    Ok(TouchAnswer {
        written: edited.changed,
        cost: store.cost(),
    })
}
