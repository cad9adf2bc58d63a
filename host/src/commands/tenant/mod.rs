//! `haversack tenant`: users with a subscription, one file a subcommand.

mod end;
mod restore;
mod steps;
mod sweep;

use clap::{Args, Subcommand};

use super::Shared;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack tenant end moltbot:user_1
  haversack tenant renew moltbot:user_1
  haversack tenant sweep                (what would happen to whom, and why)
  haversack tenant sweep --apply
  haversack tenant restore moltbot:user_1")]
pub struct Tenant {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Say that a user's subscription has ended: its data stay for another 90 days
    End(end::End),
    /// Say that a user's subscription goes on: it keeps everything, and gets back what was moved
    Renew(restore::Renew),
    /// Bring a deleted user back, for another term
    Restore(restore::Restore),
    /// Show what retention would do to whom and why; with --apply, do it
    Sweep(sweep::Sweep),
}

impl Tenant {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match &self.action {
            Action::End(end) => end.run(shared).await,
            Action::Renew(renew) => renew.run(shared).await,
            Action::Restore(restore) => restore.run(shared).await,
            Action::Sweep(sweep) => sweep.run(shared).await,
        }
    }
}
