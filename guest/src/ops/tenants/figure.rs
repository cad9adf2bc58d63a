//! storageUsedBytes of a user, as its chat logs grow. Never exact, and so never tried at any price: a count corrects it.

use super::tenant::Tenant;
use crate::format::user_meta::with_used;
use crate::format::user_state::UserState;
use crate::layout::moltbot::UserId;
use crate::limits::CONFLICT_TRIES_MAX;
use crate::store::{Body, Condition, Metered, PutOptions};
use crate::types::Result;

/// Add what a log and its metadata grew by. Nothing is written for a user without a figure, or with whom something
/// is under way. After a refused write, whose answer may hide that it was done, it is added again only where the figure
/// is still the one that was read.
pub fn grow(store: &Metered<'_>, user: &UserId, by_bytes: i64) -> Result<()> {
    if by_bytes == 0 {
        return Ok(());
    }
    let tenant = Tenant::named(user);
    let mut read_before = None;
    for _ in 0..CONFLICT_TRIES_MAX {
        let Some(blob) = tenant.get(store)? else {
            return Ok(());
        };
        let (text, meta) = tenant.read(blob.body.as_bytes())?;
        let state = UserState::parse(meta.state.as_deref());
        let is_kept = matches!(state, Some(UserState::Active | UserState::Creating));
        let Some(used_bytes) = meta.storage_used_bytes.filter(|_| is_kept) else {
            return Ok(());
        };
        if read_before
            .replace(used_bytes)
            .is_some_and(|before| before != used_bytes)
        {
            return Ok(());
        }
        let options = PutOptions {
            condition: Condition::IfMatch(blob.stat.version),
            content_type: blob.stat.content_type,
            metadata: blob.stat.metadata,
        };
        let grown_bytes = used_bytes.saturating_add_signed(by_bytes);
        let body = Body::Text(with_used(&text, grown_bytes)?);
        match store.put(&tenant.meta_key, body, options) {
            Err(error) if error.is_unsure() => {}
            Err(error) => return Err(error.about(&tenant.meta_key)),
            Ok(_) => return Ok(()),
        }
    }
    Ok(())
}
