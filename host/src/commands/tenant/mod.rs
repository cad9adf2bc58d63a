//! `haversack tenant`: users of a service, one file a subcommand.

mod hydrate;
mod open;
mod status;
mod template;
mod tier;
mod usage;

use clap::{Args, Subcommand};

use super::Shared;
use super::change::advised;
use super::exit::{Code, Failure};

pub use tier::tier;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack tenant open moltbot:user_1 --template ./template
  haversack tenant hydrate moltbot:user_1 --root / -- clawdbot gateway
  haversack tenant status moltbot:user_1
  haversack tenant usage moltbot:user_1 --repair

A user's meta.json says who it is and how its subscription stands; it is changed one member at a time, and one that \
cannot be read is left as it is.")]
pub struct Tenant {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Start a user: create it from a template, or say what it has
    Open(open::Open),
    /// Start a user, place its files below a directory, and run a command
    Hydrate(hydrate::Hydrate),
    /// Print what meta.json says
    Status(status::Status),
    /// Say that the user is active, at most once a minute
    Touch(status::Touch),
    /// Count what a user takes
    Usage(usage::Usage),
}

impl Tenant {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match &self.action {
            Action::Open(open) => open.run(shared).await,
            Action::Hydrate(hydrate) => hydrate.run(shared).await,
            Action::Status(status) => status.run(shared).await,
            Action::Touch(touch) => touch.run(shared).await,
            Action::Usage(usage) => usage.run(shared).await,
        }
    }
}

/// The error of a call that the same command repeats. What a conflict needs, its message says.
fn repeatable(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<Failure>() {
        Some(failure) if failure.code() == Code::Conflict => error,
        _ => advised(error, "the same command", ""),
    }
}
