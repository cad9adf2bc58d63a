//! `haversack thread`: the workspace of a solven thread, beside its files. What each subcommand takes; what it does stands
//! in files of its own.

mod configure;
mod exec;

use clap::{Args, Subcommand};

use super::Shared;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack thread configure solven:t1
  haversack thread exec solven:t1 --user ada -- python main.py
  haversack files ls solven:t1 / --user ada

Its files are read and changed by `haversack files`, its skills by `haversack skills`.")]
pub struct Thread {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Set a thread's workspace up, once: .bashrc, package.json and the marker; what is there stays
    Configure(configure::Configure),
    /// Run a command that sees the thread as /, its mounts and the system's directories (a view, not a wall)
    Exec(exec::Exec),
}

impl Thread {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match &self.action {
            Action::Configure(configure) => configure.run(shared).await,
            Action::Exec(exec) => exec.run(shared).await,
        }
    }
}
