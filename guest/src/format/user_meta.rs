//! meta.json of a moltbot user: who it is, and the subscription that decides how long the data stays. Changed one
//! member at a time, every other byte stays. Knows no store and no key.

mod retention;

use serde_json::{Value, json};

use super::json_member::{find, parse, set_member};
use super::utc;
use crate::types::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subscription {
    Active,
    Cancelled,
    Expired,
}

/// What a meta.json says. A member that is missing is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserMeta {
    pub user_id: Option<String>,
    pub created_ms: Option<u64>,
    pub subscription: Option<Subscription>,
    pub subscription_ended_ms: Option<u64>,
    pub retention_expires_ms: Option<u64>,
    pub last_active_ms: Option<u64>,
    pub storage_used_bytes: Option<u64>,
    /// Ours: how far something is that takes several writes; none and `active` mean nothing is. JSON where it is no
    /// text.
    pub state: Option<String>,
    /// Ours: where the copies lie that the last sweep made, `deleted/{user}/{when}`.
    pub to: Option<String>,
    /// Ours: until when the user belongs to the sweep that claimed it, and which that is.
    pub lease_until_ms: Option<u64>,
    pub sweep_id: Option<String>,
    /// Ours: when nobody needs the copies any more.
    pub purge_after_ms: Option<u64>,
    /// Members that are there and not as they should be, for people.
    pub faults: Vec<String>,
}

/// While the template of a new user is being written.
pub const CREATING: &str = "creating";
/// Nothing is under way.
pub const ACTIVE: &str = "active";

pub use retention::{
    COPYING, Claim, DELETED, EMPTYING, PURGED, PURGING, RESTORING, claimed, cleared, ended,
    expiring_at, in_state, leased, purged, renewed,
};

impl UserMeta {
    /// Where the user stands: `active` where nothing is said.
    pub fn state(&self) -> &str {
        self.state.as_deref().unwrap_or(ACTIVE)
    }

    /// `invalid` for what is no JSON object.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let json = parse("it", text)?;
        if !json.get().starts_with('{') {
            return Err(Error::invalid("it is no JSON object"));
        }
        let mut faults = Vec::new();
        let mut member = |name: &str, rule: &str, reads: &dyn Fn(&Value) -> bool| {
            let value: Value = serde_json::from_str(find(json, &[name])?).ok()?;
            match reads(&value) {
                true => Some(value),
                false if value.is_null() => None,
                false => {
                    let shown: String = value.to_string().chars().take(40).collect();
                    faults.push(format!("`{name}` is {shown}; it should be {rule}"));
                    None
                }
            }
        };
        let text_of = |value: Value| value.as_str().map(str::to_owned);
        let ms_of = |value: Value| value.as_str().and_then(utc::parse);
        let is_moment = |value: &Value| {
            value
                .as_str()
                .is_some_and(|text| utc::parse(text).is_some())
        };
        let moment = "a moment like 2026-01-29T00:00:00Z";
        // One that is no text says something all the same: it is not taken for none.
        let other_state = find(json, &["state"])
            .and_then(|raw| serde_json::from_str::<Value>(raw).ok())
            .filter(|value| !value.is_null() && !value.is_string())
            .map(|value| value.to_string());
        let subscription = |value: &Value| subscription_of(value).is_some();
        Ok(Self {
            user_id: member("userId", "text", &Value::is_string).and_then(text_of),
            created_ms: member("createdAt", moment, &is_moment).and_then(ms_of),
            subscription: member(
                "subscriptionStatus",
                "active, cancelled or expired",
                &subscription,
            )
            .as_ref()
            .and_then(subscription_of),
            subscription_ended_ms: member("subscriptionEndedAt", moment, &is_moment)
                .and_then(ms_of),
            retention_expires_ms: member("retentionExpiresAt", moment, &is_moment).and_then(ms_of),
            last_active_ms: member("lastActiveAt", moment, &is_moment).and_then(ms_of),
            storage_used_bytes: member("storageUsedBytes", "a number of bytes", &Value::is_u64)
                .and_then(|value| value.as_u64()),
            state: member("state", "text", &Value::is_string)
                .and_then(text_of)
                .or(other_state),
            to: member("to", "text", &Value::is_string).and_then(text_of),
            lease_until_ms: member("lease-until-ms", "milliseconds", &Value::is_u64)
                .and_then(|value| value.as_u64()),
            sweep_id: member("sweep-id", "text", &Value::is_string).and_then(text_of),
            purge_after_ms: member("purge-after", moment, &is_moment).and_then(ms_of),
            faults,
        })
    }
}

fn subscription_of(value: &Value) -> Option<Subscription> {
    match value.as_str()? {
        "active" => Some(Subscription::Active),
        "cancelled" => Some(Subscription::Cancelled),
        "expired" => Some(Subscription::Expired),
        _ => None,
    }
}

/// The document of a user that begins now.
pub fn fresh(user: &str, now_ms: u64) -> String {
    document(user, now_ms, CREATING, json!(0))
}

/// The document of a user whose data were there first; nobody has counted them.
pub fn adopted(user: &str, now_ms: u64) -> String {
    document(user, now_ms, ACTIVE, Value::Null)
}

fn document(user: &str, now_ms: u64, state: &str, used_bytes: Value) -> String {
    let now = json!(utc::print(now_ms));
    let members = [
        ("userId", json!(user)),
        ("createdAt", now.clone()),
        ("subscriptionStatus", json!("active")),
        ("subscriptionEndedAt", Value::Null),
        ("retentionExpiresAt", Value::Null),
        ("lastActiveAt", now),
        ("storageUsedBytes", used_bytes),
        ("state", json!(state)),
    ];
    let lines = members.map(|(name, value)| format!("  \"{name}\": {value}"));
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// The document with its user's template written: `other_bytes` of files, and itself.
pub fn begun(text: &str, other_bytes: u64) -> Result<String> {
    let active = json!(ACTIVE).to_string();
    counted(&set_member(text, "/state", &active)?, other_bytes)
}

/// The document of a user who has `other_bytes` and itself.
pub fn counted(text: &str, other_bytes: u64) -> Result<String> {
    let mut text = text.to_owned();
    // Its own length counts, and the figure is part of it. The third is right: digits grow by one at most.
    for _ in 0..3 {
        let used = other_bytes.saturating_add(text.len() as u64);
        text = set_member(&text, "/storageUsedBytes", &used.to_string())?;
    }
    Ok(text)
}

/// The document of a user who has so much, by another's count.
pub fn with_used(text: &str, used_bytes: u64) -> Result<String> {
    set_member(text, "/storageUsedBytes", &used_bytes.to_string())
}

/// The document of a user that was active at this moment.
pub fn active_at(text: &str, now_ms: u64) -> Result<String> {
    set_member(
        text,
        "/lastActiveAt",
        &json!(utc::print(now_ms)).to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_is_read() -> Result<()> {
        let text = r#"{
  "userId": "user_abc123",
  "createdAt": "2026-01-29T00:00:00Z",
  "subscriptionStatus": "active",
  "subscriptionEndedAt": null,
  "retentionExpiresAt": null,
  "lastActiveAt": "2026-01-29T23:00:00Z",
  "storageUsedBytes": 12345678
}"#;
        let meta = UserMeta::parse(text)?;
        assert_eq!(
            meta,
            UserMeta {
                user_id: Some("user_abc123".to_owned()),
                created_ms: Some(1_769_644_800_000),
                subscription: Some(Subscription::Active),
                last_active_ms: Some(1_769_727_600_000),
                storage_used_bytes: Some(12_345_678),
                ..UserMeta::default()
            }
        );
        let later = active_at(text, 1_769_727_660_999)?;
        assert_eq!(later, text.replace("23:00:00", "23:01:00"));
        Ok(())
    }

    #[test]
    fn what_is_not_as_it_should_be_is_told() -> Result<()> {
        let meta = UserMeta::parse(
            r#"{"userId":7,"createdAt":"yesterday","subscriptionStatus":"trial","storageUsedBytes":-1,"state":null,"lease-until-ms":null}"#,
        )?;
        assert_eq!(meta.faults.len(), 4, "{:?}", meta.faults);
        assert_eq!(
            UserMeta {
                faults: Vec::new(),
                ..meta
            },
            UserMeta::default()
        );
        for text in ["", "[]", "{\"userId\":\"a\"", "7"] {
            assert!(UserMeta::parse(text).is_err(), "{text}");
        }
        Ok(())
    }

    #[test]
    fn a_new_user_counts_its_own_document() -> Result<()> {
        for other in [0, 1, 700, 799, 99_700, 99_800, 12_345_678] {
            let text = begun(&fresh("user_1", 1_769_644_800_000), other)?;
            let meta = UserMeta::parse(&text)?;
            assert_eq!(meta.storage_used_bytes, Some(other + text.len() as u64));
            assert_eq!(
                (meta.state.as_deref(), meta.faults.len()),
                (Some(ACTIVE), 0)
            );
        }
        Ok(())
    }

    #[test]
    fn a_count_is_right_whatever_stood_there() -> Result<()> {
        for before in [
            "",
            r#","storageUsedBytes":null"#,
            r#","storageUsedBytes":12345678901"#,
        ] {
            for other in (0..100).chain(9_950..10_050) {
                let text = counted(&format!(r#"{{"userId":"a"{before}}}"#), other)?;
                let used = UserMeta::parse(&text)?.storage_used_bytes;
                assert_eq!(used, Some(other + text.len() as u64), "{text}");
            }
        }
        Ok(())
    }

    #[test]
    fn a_state_that_is_no_text_is_not_active() -> Result<()> {
        let meta = UserMeta::parse(r#"{"state":7}"#)?;
        assert_eq!(meta.state.as_deref(), Some("7"));
        Ok(())
    }
}
