//! Whose data: a user, and the prefix of the keys. The component's layout says what both may be; this only asks.

use serde_json::{Value, json};

/// A user of moltbot, whose id is good, and the prefix of the user's keys, which ends in a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub user: String,
    pub prefix: String,
}

impl Owner {
    /// What `layout.key-of` is to be asked; it refuses what is no user id.
    pub fn question(user: &str) -> Value {
        let place = json!({ "system": "moltbot", "kind": "user-meta", "fields": [["user", user]] });
        json!({ "place": place })
    }

    /// From its answer, the key of the user's `meta.json`.
    pub fn of_meta_key(user: &str, key: &str) -> Option<Self> {
        let (above, _) = key.rsplit_once('/')?;
        Some(Owner {
            user: user.to_owned(),
            prefix: format!("{above}/"),
        })
    }
}
