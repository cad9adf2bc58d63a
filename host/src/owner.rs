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

    /// What `tenants.status` is to be asked, whether the data are all in their place.
    pub fn status_question(&self) -> Value {
        json!({ "request": { "home": { "system": "moltbot", "id": self.user } } })
    }

    /// From its answer: why what lies there is not all of the user's; none where it is, as far as is known.
    pub fn elsewhere(&self, status: &Value) -> Option<String> {
        let state = status["state"].as_str().unwrap_or_default();
        let is_partly_gone =
            ["emptying", "deleted", "restoring", "purging", "purged"].contains(&state);
        is_partly_gone.then(|| {
            format!(
                "user {} is {state}, so that not all of its data are in their place; renew or restore it first",
                self.user
            )
        })
    }
}
