//! storageUsedBytes of a user, as its chat logs grow. Never exact, and so never tried at any price: a count corrects it.

use super::tenant::Tenant;
use crate::format::user_meta::with_used;
use crate::format::user_state::UserState;
use crate::layout::moltbot::UserId;
use crate::limits::CONFLICT_TRIES_MAX;
use crate::store::{Body, Condition, Metered, PutOptions, StoreErrorCode};
use crate::types::Result;

/// Add what a log and its metadata grew by. Nothing is written for a user without a figure, or with whom something
/// is under way. After a lost answer it is not added again.
pub fn grow(store: &Metered<'_>, user: &UserId, by_bytes: i64) -> Result<()> {
    if by_bytes == 0 {
        return Ok(());
    }
    let tenant = Tenant::named(user);
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
        let used_bytes = used_bytes.saturating_add_signed(by_bytes);
        let options = PutOptions {
            condition: Condition::IfMatch(blob.stat.version),
            content_type: blob.stat.content_type,
            metadata: blob.stat.metadata,
        };
        let body = Body::Text(with_used(&text, used_bytes)?);
        match store.put(&tenant.meta_key, body, options) {
            Err(error) if error.code == StoreErrorCode::Conflict => {}
            Err(error) => return Err(error.about(&tenant.meta_key)),
            Ok(_) => return Ok(()),
        }
    }
    Ok(())
}
