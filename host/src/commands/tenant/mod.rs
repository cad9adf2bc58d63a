//! `haversack tenant`: users of a service, one file a subcommand.

mod end;
mod export;
mod hydrate;
mod import;
mod open;
mod restore;
mod status;
mod steps;
mod sweep;
mod sync;
mod template;
mod tier;
mod usage;
mod user;

use clap::{Args, Subcommand};

use super::Shared;
use super::change::advised;
use super::exit::{Code, Failure};

pub use tier::tier;
pub use user::User;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack tenant open moltbot:user_1 --template ./template
  haversack tenant hydrate moltbot:user_1 --root / -- clawdbot gateway
  haversack tenant sync moltbot:user_1 DIR
  haversack tenant status moltbot:user_1
  haversack tenant usage moltbot:user_1 --repair
  haversack tenant end moltbot:user_1
  haversack tenant renew moltbot:user_1
  haversack tenant sweep                (what would happen to whom, and why)
  haversack tenant sweep --apply
  haversack tenant restore moltbot:user_1
  haversack tenant export moltbot:user_1 --output user_1.tar.gz

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
    /// Keep a directory and a user's files in the store the same
    Sync(sync::Sync),
    /// Print what meta.json says
    Status(status::Status),
    /// Say that the user is active, at most once a minute
    Touch(status::Touch),
    /// Count what a user takes
    Usage(usage::Usage),
    /// Write all data of a user into one .tar.gz
    Export(export::Export),
    /// Put back what an export wrote
    Import(import::Import),
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
            Action::Open(open) => open.run(shared).await,
            Action::Hydrate(hydrate) => hydrate.run(shared).await,
            Action::Sync(sync) => sync.run(shared).await,
            Action::Status(status) => status.run(shared).await,
            Action::Touch(touch) => touch.run(shared).await,
            Action::Usage(usage) => usage.run(shared).await,
            Action::Export(export) => export.run(shared).await,
            Action::Import(import) => import.run(shared).await,
            Action::End(end) => end.run(shared).await,
            Action::Renew(renew) => renew.run(shared).await,
            Action::Restore(restore) => restore.run(shared).await,
            Action::Sweep(sweep) => sweep.run(shared).await,
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
