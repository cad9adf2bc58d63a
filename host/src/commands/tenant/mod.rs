//! `haversack tenant`: a user of moltbot as a whole.

mod export;
mod import;

use std::str::FromStr;

use clap::{Args, Subcommand};
use haversack_host::Owner;

use super::Shared;
use super::call::Caller;
use super::exit::{Code, Failure};

#[derive(Debug, Args)]
pub struct Tenant {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write all data of a user into one .tar.gz
    Export(export::Export),
    /// Put back what an export wrote
    Import(import::Import),
}

impl Tenant {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match &self.action {
            Action::Export(export) => export.run(shared).await,
            Action::Import(import) => import.run(shared).await,
        }
    }
}

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

/// Ctrl-C ends the work where it is, and what it made on the way is removed.
async fn unless_interrupted<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::select! {
        done = work => done,
        _ = tokio::signal::ctrl_c() => {
            Err(Failure::new(Code::Other, "interrupted; run it again").into())
        }
    }
}

/// `1 file`, `2 files`.
fn files(number: u64) -> String {
    match number {
        1 => "1 file".to_owned(),
        number => format!("{number} files"),
    }
}
