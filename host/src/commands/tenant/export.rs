//! `haversack tenant export`: takes the library's stream to a file or to standard output.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use futures_util::StreamExt;
use haversack_host::archive::{self, Progress};
use indicatif::{HumanBytes, ProgressBar};
use serde_json::json;
use tempfile::NamedTempFile;

use super::{User, files, unless_interrupted};
use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::exit::{Code, Failure};
use crate::commands::output::{self, plain};
use crate::commands::store;

const TEMPLATE: &str = "{bar:30} {bytes}/{total_bytes}  {bytes_per_sec}  {msg}";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack tenant export user_1                          (makes user_1.tar.gz)
  haversack tenant export user_1 --output backup/user_1.tar.gz
  haversack tenant export user_1 --output - | ssh HOST 'cat > user_1.tar.gz'
  tar tzf user_1.tar.gz

Every object is in it as it was at one moment, with its content type and metadata; haversack-export/ says what \
each one's SHA-256 is, and which changed while the export ran. A file that exists is not written over.

Exit codes:
  0 everything is in it
  5 something in the store is no object (a symbolic link) or cannot be read; the rest is in it
  7 a file over 8 MiB was rewritten while it was read: there is no archive, run it again")]
pub struct Export {
    /// Whose data
    user: User,
    /// Where to: a file, or - for standard output [default: USER.tar.gz]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Export {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some("moltbot"))?;
        let owner = self.user.owner(&caller).await?;
        // One that has no document, or none that can be read, is exported as it is.
        let status = caller.call("tenants", "status", owner.status_question());
        if let Ok(status) = status.await
            && let Some(why) = owner.elsewhere(&status)
        {
            return Err(Failure::new(Code::Conflict, why).into());
        }
        let user = owner.user.clone();
        let path = self.output.clone();
        let path = path.unwrap_or_else(|| format!("{user}.tar.gz").into());
        let to_stdout = path == Path::new("-");
        let mut to = if to_stdout {
            Target::stdout(shared.json)?
        } else {
            Target::file(&path)?
        };
        let export = archive::Export::open(caller.store.clone(), owner).await;
        let export = export.map_err(|error| store::failure(&error, error.message.clone()))?;
        let export = export.ok_or_else(|| {
            let message = format!(
                "there is no user {user} in {}: `haversack ls` lists the homes there",
                caller.location
            );
            Failure::new(Code::NotFound, message)
        })?;
        let progress = export.progress();
        let now = || {
            progress
                .lock()
                .unwrap_or_else(|lock| lock.into_inner())
                .clone()
        };
        let bar = store::bar(0, TEMPLATE)?;
        let taken = async {
            let mut stream = std::pin::pin!(export.stream());
            while let Some(piece) = stream.next().await {
                let piece = piece.map_err(|error| store::failure(&error, error.message.clone()))?;
                to.write(&piece)?;
                show(&bar, &now());
            }
            anyhow::ensure!(
                now().done,
                "the export broke off, which is a bug: please report it"
            );
            Ok(())
        };
        unless_interrupted(taken).await?;
        bar.finish_and_clear();
        to.finish(&path)?;
        report(shared, &user, &path, &now())
    }
}

fn show(bar: &ProgressBar, progress: &Progress) {
    bar.set_length(progress.listed_bytes);
    bar.set_position(progress.bytes);
    bar.set_message(format!("{} of {} files", progress.files, progress.listed));
}

fn report(shared: &Shared, user: &str, path: &Path, progress: &Progress) -> anyhow::Result<()> {
    for (path, cause) in &progress.left_out {
        eprintln!("haversack: left out: {}: {}", plain(path), plain(cause));
    }
    let to_stdout = path == Path::new("-");
    if shared.json {
        let left_out = progress.left_out.iter();
        let left_out: Vec<_> = left_out
            .map(|(path, cause)| json!({ "path": path, "cause": cause }))
            .collect();
        output::json(&json!({
            "user": user,
            "file": path.display().to_string(),
            "files": progress.files,
            "bytes": progress.bytes,
            "changed": progress.changed,
            "left-out": left_out,
            "left-out-count": progress.left_out_count,
        }))?;
    } else if !to_stdout {
        let (files, bytes) = (files(progress.files), HumanBytes(progress.bytes));
        output::text(&format!(
            "exported {files} of {user}, {bytes}, to {}",
            path.display()
        ))?;
        if progress.changed > 0 {
            let changed = progress.changed;
            output::text(&format!(
                "  {changed} changed meanwhile; the sums in it say which"
            ))?;
        }
    }
    if progress.left_out_count == 0 {
        return Ok(());
    }
    let message = format!(
        "not everything of {user} is in it: {} left out, as said above",
        progress.left_out_count
    );
    Err(Failure::new(Code::Unreadable, message).into())
}

/// Where the archive goes. A file has its name once it is whole.
enum Target {
    Stdout,
    File(NamedTempFile),
}

impl Target {
    fn stdout(json: bool) -> anyhow::Result<Self> {
        let problem = if json {
            "--json and --output - both want standard output; leave one out"
        } else if std::io::stdout().is_terminal() {
            "an archive is nothing for a terminal; redirect it, or name a file with --output"
        } else {
            return Ok(Target::Stdout);
        };
        Err(Failure::new(Code::Invalid, problem).into())
    }

    fn file(path: &Path) -> anyhow::Result<Self> {
        if path.exists() {
            return Err(exists(path));
        }
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
        let made = tempfile::Builder::new()
            .prefix(".haversack-export-")
            .tempfile_in(folder.unwrap_or(Path::new(".")));
        Ok(Target::File(made.map_err(|error| unwritten(path, &error))?))
    }

    fn write(&mut self, piece: &[u8]) -> anyhow::Result<()> {
        match self {
            Target::Stdout => Ok(std::io::stdout().lock().write_all(piece)?),
            Target::File(file) => Ok(file.write_all(piece)?),
        }
    }

    fn finish(self, path: &Path) -> anyhow::Result<()> {
        let Target::File(file) = self else {
            return Ok(std::io::stdout().lock().flush()?);
        };
        file.as_file().sync_all()?;
        match file.persist_noclobber(path) {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(exists(path))
            }
            Err(error) => Err(unwritten(path, &error.error)),
        }
    }
}

fn exists(path: &Path) -> anyhow::Error {
    let message = format!(
        "{} exists; remove it, or name another with --output",
        path.display()
    );
    Failure::new(Code::Conflict, message).into()
}

fn unwritten(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let message = format!("cannot write {}: {error}", path.display());
    Failure::new(Code::of_io(error), message).into()
}
