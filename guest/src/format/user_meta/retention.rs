//! meta.json as retention changes it: the end of a subscription, and how far a sweep, a restore or a purge is. Each
//! answers the whole document, with every other byte as it was. Knows no rule.

use serde_json::{Value, json};

use super::Subscription;
use crate::format::json_member::set_member;
use crate::format::utc;
use crate::types::Result;

/// Objects are copied to where the user is kept once deleted; nothing is gone yet.
pub const COPYING: &str = "copying";
/// Every object has a verified copy; they go.
pub const EMPTYING: &str = "emptying";
/// Nothing but meta.json is left; the copies stay for a while.
pub const DELETED: &str = "deleted";
/// Copies are on their way back.
pub const RESTORING: &str = "restoring";
/// The copies go; nothing brings them back.
pub const PURGING: &str = "purging";
/// Everything is gone.
pub const PURGED: &str = "purged";

/// What a sweep writes when it claims a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// `deleted/{user}/{when}`.
    pub to: String,
    pub purge_after_ms: u64,
    pub sweep_id: String,
    pub lease_until_ms: u64,
}

fn set(text: &str, members: &[(&str, Value)]) -> Result<String> {
    let mut text = text.to_owned();
    for (name, value) in members {
        text = set_member(&text, &format!("/{name}"), &value.to_string())?;
    }
    Ok(text)
}

fn moment(moment_ms: u64) -> Value {
    json!(utc::print(moment_ms))
}

fn name_of(subscription: Subscription) -> Value {
    json!(match subscription {
        Subscription::Active => "active",
        Subscription::Cancelled => "cancelled",
        Subscription::Expired => "expired",
    })
}

/// The subscription has ended; the data stay until `expires_ms`.
pub fn ended(
    text: &str,
    subscription: Subscription,
    ended_ms: u64,
    expires_ms: u64,
) -> Result<String> {
    set(
        text,
        &[
            ("subscriptionStatus", name_of(subscription)),
            ("subscriptionEndedAt", moment(ended_ms)),
            ("retentionExpiresAt", moment(expires_ms)),
        ],
    )
}

/// The subscription is active again.
pub fn renewed(text: &str) -> Result<String> {
    set(
        text,
        &[
            ("subscriptionStatus", name_of(Subscription::Active)),
            ("subscriptionEndedAt", Value::Null),
            ("retentionExpiresAt", Value::Null),
        ],
    )
}

/// The data of an ended subscription stay until then.
pub fn expiring_at(text: &str, expires_ms: u64) -> Result<String> {
    set(text, &[("retentionExpiresAt", moment(expires_ms))])
}

/// A sweep begins to copy.
pub fn claimed(text: &str, claim: &Claim) -> Result<String> {
    let text = set(
        text,
        &[
            ("state", json!(COPYING)),
            ("to", json!(claim.to)),
            ("purge-after", moment(claim.purge_after_ms)),
        ],
    )?;
    leased(&text, &claim.sweep_id, claim.lease_until_ms)
}

/// The user belongs to this sweep until then.
pub fn leased(text: &str, sweep_id: &str, lease_until_ms: u64) -> Result<String> {
    set(
        text,
        &[
            ("sweep-id", json!(sweep_id)),
            ("lease-until-ms", json!(lease_until_ms)),
        ],
    )
}

pub fn in_state(text: &str, state: &str) -> Result<String> {
    set(text, &[("state", json!(state))])
}

/// The copies of a user who has everything are gone.
pub fn cleared(text: &str) -> Result<String> {
    set(text, &[("purge-after", Value::Null)])
}

/// What is left of a purged user: the name, so that it does not race.
pub fn purged(user: &str) -> String {
    format!(
        "{{\n  \"userId\": {},\n  \"state\": \"{PURGED}\"\n}}\n",
        json!(user)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::user_meta::UserMeta;

    const BEFORE: &str = "{\r\n \"userId\":  \"a\", \"subscriptionStatus\":\"active\",\r\n \"plan\": {\"n\": 1e400}\r\n}\r\n";
    const NOW_MS: u64 = 1_769_644_800_000;

    #[test]
    fn what_is_written_is_read_and_the_rest_stays() -> Result<()> {
        let text = ended(BEFORE, Subscription::Cancelled, NOW_MS, NOW_MS + 1_000)?;
        let claim = Claim {
            to: "there".to_owned(),
            purge_after_ms: NOW_MS + 2_000,
            sweep_id: "s1".to_owned(),
            lease_until_ms: NOW_MS + 7,
        };
        let text = claimed(&text, &claim)?;
        assert!(text.contains("\r\n \"plan\": {\"n\": 1e400}"), "{text}");
        let meta = UserMeta::parse(&text)?;
        assert_eq!(
            meta,
            UserMeta {
                user_id: Some("a".to_owned()),
                subscription: Some(Subscription::Cancelled),
                subscription_ended_ms: Some(NOW_MS),
                retention_expires_ms: Some(NOW_MS + 1_000),
                state: Some(COPYING.to_owned()),
                to: Some("there".to_owned()),
                lease_until_ms: Some(NOW_MS + 7),
                sweep_id: Some("s1".to_owned()),
                purge_after_ms: Some(NOW_MS + 2_000),
                ..UserMeta::default()
            }
        );
        let text = renewed(&in_state(&cleared(&text)?, DELETED)?)?;
        let meta = UserMeta::parse(&text)?;
        assert_eq!(meta.state(), DELETED);
        assert_eq!(meta.subscription, Some(Subscription::Active));
        assert_eq!(
            (
                meta.purge_after_ms,
                meta.retention_expires_ms,
                meta.faults.len()
            ),
            (None, None, 0)
        );
        Ok(())
    }

    #[test]
    fn what_is_left_of_a_purged_user() -> Result<()> {
        let meta = UserMeta::parse(&purged("user_1"))?;
        assert_eq!(
            (meta.user_id.as_deref(), meta.state()),
            (Some("user_1"), PURGED)
        );
        Ok(())
    }
}
