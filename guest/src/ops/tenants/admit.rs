//! Whether a user may have so much more, by the figure that stands in its document.

use super::tenant::Tenant;
use super::{AdmitAnswer, AdmitRequest};
use crate::layout::concept::Concept;
use crate::layout::moltbot::UserId;
use crate::store::{Metered, Store};
use crate::transform::tier::{Limits, Tier};
use crate::types::{Error, Result};

pub fn admit(store: &dyn Store, request: &AdmitRequest) -> Result<AdmitAnswer> {
    let store = Metered::new(store);
    let tenant = Tenant::of(&request.home, Concept::Usage)?;
    let limits = request.tier.limits()?;
    let (_, meta) = tenant.load(&store)?.ok_or_else(|| tenant.absent())?;
    tenant.check_state(&meta, None)?;
    let stored_bytes = meta.storage_used_bytes;
    check(&tenant, limits, stored_bytes, request.more_bytes)?;
    let mut problems = Vec::new();
    if stored_bytes.is_none() {
        let missing =
            "`storageUsedBytes` is missing and counts as 0; `usage` with `repair` writes it";
        problems.push(tenant.unreadable(missing));
    }
    let used = stored_bytes.unwrap_or_default();
    Ok(AdmitAnswer {
        left_bytes: limits.left_bytes(used.saturating_add(request.more_bytes)),
        stored_bytes,
        problems,
        cost: store.cost(),
    })
}

/// The same for messages, which may come before the user's document, whatever its state; without a limit nothing is
/// asked.
pub fn check_room(
    store: &Metered<'_>,
    user: &UserId,
    tier: Option<&Tier>,
    more_bytes: u64,
) -> Result<()> {
    let limits = tier.map_or(Ok(Limits::default()), Tier::limits)?;
    if limits.storage_bytes.is_none() {
        return Ok(());
    }
    let tenant = Tenant::named(user);
    let found = tenant.load(store)?;
    let stored_bytes = found.and_then(|(_, meta)| meta.storage_used_bytes);
    check(&tenant, limits, stored_bytes, more_bytes)
}

fn check(
    tenant: &Tenant,
    limits: Limits,
    stored_bytes: Option<u64>,
    more_bytes: u64,
) -> Result<()> {
    let used_bytes = stored_bytes.unwrap_or_default();
    let Some(limit_bytes) = limits.storage_bytes else {
        return Ok(());
    };
    if !limits.is_over(used_bytes, more_bytes) {
        return Ok(());
    }
    let message = format!(
        "user {} may have {limit_bytes} bytes and has {used_bytes}, by the last count: {more_bytes} more are too many, \
         and nothing was written; delete something and count again (`usage` with `repair`), or choose a larger tier",
        tenant.user
    );
    Err(Error::too_large(message).at(&tenant.meta_key))
}
