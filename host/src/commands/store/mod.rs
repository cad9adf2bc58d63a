//! `haversack store`: stores as a whole. What its subcommands share: bars, sizes, how a store's error
//! becomes an exit code.

mod check;
pub(in crate::commands) mod copy;
pub(in crate::commands) mod ends;

use std::time::Duration;

use clap::{Args, Subcommand};
use haversack_host::store::{Error, ErrorCode};
use indicatif::{ProgressBar, ProgressStyle};

use super::Shared;
use super::exit::{Code, Failure};

#[derive(Debug, Args)]
pub struct Store {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Find out whether a store keeps every promise that haversack counts on
    Check(check::Check),
    /// Copy a store, or a part of it, to another; run it again to go on or to bring the copy up to date
    Copy(copy::Copy),
}

impl Store {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match &self.action {
            Action::Check(check) => check.run(shared).await,
            Action::Copy(copy) => copy.run(shared).await,
        }
    }
}

/// A bar on standard error, which is not drawn unless that is a terminal.
pub fn bar(length: u64, template: &str) -> anyhow::Result<ProgressBar> {
    let bar = ProgressBar::new(length);
    bar.set_style(ProgressStyle::with_template(template)?.progress_chars("=> "));
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    Ok(bar)
}

/// A line on standard error, above the bar where there is one.
pub fn note(bar: &ProgressBar, line: &str) {
    bar.suspend(|| eprintln!("haversack: {line}"));
}

/// What the code of a store's error means for how the program ends.
fn code(error: &Error) -> Code {
    match error.code {
        ErrorCode::Conflict => Code::Conflict,
        ErrorCode::TooLarge => Code::TooLarge,
        ErrorCode::Denied => Code::Unreadable,
        ErrorCode::Invalid => Code::Invalid,
        ErrorCode::Unavailable => Code::Unavailable,
        ErrorCode::Unsupported => Code::Unsupported,
        ErrorCode::OutcomeUnknown | ErrorCode::Other => Code::Other,
    }
}

pub fn failure(error: &Error, message: String) -> anyhow::Error {
    Failure::new(code(error), message).into()
}
