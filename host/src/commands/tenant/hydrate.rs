//! `haversack tenant hydrate`: start a user, place its files on this disk, and become the command that needs them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use haversack_host::hydrate::hydrate;
use haversack_host::transfer::{Event, Outcome, Summary};
use indicatif::ProgressBar;
use serde_json::json;

use super::open::Opening;
use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::exit::{Code, Failure};
use crate::commands::output::{self, plain};
use crate::commands::store::{bar, failure, note};

const TEMPLATE: &str = "{bar:30} {bytes}/{total_bytes}  {bytes_per_sec}  {msg}";

#[derive(Debug, Args)]
#[command(after_help = "\
Below DIR, config/ goes to root/.clawdbot, skills/ to root/clawd/skills, and with --workspace workspace/ to \
root/clawd/workspace. Messages are never read. Each file is written whole or not at all, and nothing outside DIR: a \
symbolic link on the way is refused. Scratch and locks lie in DIR/.haversack. A file that is there and equal is \
left; one that differs is kept and named, and the command is not started, unless --replace is given.

Examples:
  haversack tenant hydrate moltbot:user_1 --root /
  haversack tenant hydrate moltbot:user_1 --root / --workspace --template /template -- clawdbot gateway
  haversack tenant hydrate moltbot:user_1 --root ./here --replace

The command takes this process's place: its exit code is the exit code, and signals reach it. Where it is not \
started: 3 there is no such program, 5 it may not be run, 7 a file differs or the user may not start.")]
pub struct Hydrate {
    #[command(flatten)]
    opening: Opening,
    /// The directory that stands for the root of the user's machine
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    /// Write over files that are there and different
    #[arg(long)]
    replace: bool,
    /// What to run when the files are there
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

impl Hydrate {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        if shared.json && !self.command.is_empty() {
            let message = "--json and a command both want standard output; leave one of them out";
            return Err(Failure::new(Code::Invalid, message).into());
        }
        let caller = Caller::over_store(shared, Some(&self.opening.home.system))?;
        let opened = self.opening.open(&caller).await?;
        opened.tell()?;
        let bar = bar(0, TEMPLATE)?;
        let tell = |event: Event<'_>| tell(&bar, event);
        let placing = hydrate(
            caller.store.clone(),
            &self.root,
            opened.files,
            self.replace,
            shared.bucket.requests_at_once,
            &tell,
        );
        let placed = tokio::select! {
            placed = placing => Some(placed),
            _ = tokio::signal::ctrl_c() => None,
        };
        bar.finish_and_clear();
        let Some(placed) = placed else {
            let message = "stopped; run the same command again to go on";
            return Err(Failure::new(Code::Other, message).into());
        };
        let summary = placed.map_err(|error| failure(&error, error.message.clone()))?;
        self.print(shared, opened.created, &summary)?;
        self.check(&summary)?;
        self.become_command()
    }

    fn print(&self, shared: &Shared, created: bool, summary: &Summary) -> anyhow::Result<()> {
        let written = summary.copied.objects + summary.replaced.objects;
        let equal = summary.equal.objects;
        if shared.json {
            return output::json(&json!({
                "created": created,
                "written": written,
                "equal": equal,
                "different": summary.different.objects,
                "failed": summary.failed.objects,
                "gone": summary.gone.objects,
            }));
        }
        let new = if created { " (new)" } else { "" };
        let root = self.root.display();
        let home = &self.opening.home;
        let line = format!("{home}{new}: {written} files written below {root}, {equal} were there");
        match self.command.is_empty() {
            true => output::text(&line),
            // Standard output is the command's.
            false => {
                eprintln!("haversack: {line}");
                Ok(())
            }
        }
    }

    fn check(&self, summary: &Summary) -> anyhow::Result<()> {
        let not_run = match self.command.is_empty() {
            true => "",
            false => "; the command was not started",
        };
        if let Some(error) = &summary.first_failure {
            let count = summary.failed.objects;
            let message = format!("{count} files could not be written, as said above{not_run}");
            return Err(failure(error, message));
        }
        match summary.different.objects {
            0 => Ok(()),
            count => {
                let message = format!(
                    "{count} files in {} differ and were kept: move them away, or --replace writes over them{not_run}",
                    self.root.display()
                );
                Err(Failure::new(Code::Conflict, message).into())
            }
        }
    }

    /// Nothing to do without a command.
    fn become_command(&self) -> anyhow::Result<()> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Ok(());
        };
        let error = become_it(Command::new(program).args(arguments))?;
        let message = format!("cannot run {}: {error}", program.display());
        Err(Failure::new(Code::of_io(&error), message).into())
    }
}

/// Comes back only with what went wrong.
#[cfg(unix)]
fn become_it(command: &mut Command) -> anyhow::Result<std::io::Error> {
    use std::os::unix::process::CommandExt;
    Ok(command.exec())
}

#[cfg(not(unix))]
fn become_it(command: &mut Command) -> anyhow::Result<std::io::Error> {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => Ok(error),
    }
}

fn tell(bar: &ProgressBar, event: Event<'_>) {
    match event {
        Event::Listed { bytes, .. } => bar.inc_length(bytes),
        Event::Bytes(bytes) => bar.inc(bytes),
        Event::Skipped(_) => {}
        Event::Settled { key, outcome, .. } => {
            let why = match outcome {
                Outcome::Different(_) => "differs".to_owned(),
                Outcome::Gone => "deleted from the store meanwhile".to_owned(),
                Outcome::Failed(error) => plain(&error.message),
                _ => return,
            };
            note(bar, &format!("{}: {why}", plain(key)));
        }
    }
}
