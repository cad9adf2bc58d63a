//! `haversack tenant`: users of a service, one file a subcommand.

mod sync;

use clap::{Args, Subcommand};

use super::Shared;

#[derive(Debug, Args)]
pub struct Tenant {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Keep a directory and a user's files in the store the same
    Sync(sync::Sync),
}

impl Tenant {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match &self.action {
            Action::Sync(sync) => sync.run(shared).await,
        }
    }
}
