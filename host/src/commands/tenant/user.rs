//! The USER argument of commands that take one user: an id, or a home.

use std::str::FromStr;

use haversack_host::Owner;

use crate::commands::call::Caller;
use crate::commands::exit::{Code, Failure};

/// A user's id, or its home, `moltbot:USER`. Whether the id is good is the component's to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User(String);

impl FromStr for User {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let user = text.strip_prefix("moltbot:").unwrap_or(text);
        Ok(User(user.to_owned()))
    }
}

impl User {
    /// `invalid` for what is no user id.
    pub async fn owner(&self, caller: &Caller) -> anyhow::Result<Owner> {
        let User(user) = self;
        let key = caller
            .call("layout", "key-of", Owner::question(user))
            .await?;
        let owner = key.as_str().and_then(|key| Owner::of_meta_key(user, key));
        Ok(
            owner
                .ok_or_else(|| Failure::new(Code::Other, format!("the key of a user is {key}")))?,
        )
    }
}
