//! `haversack tenant sync`: opens the two sides, tells what happens, passes signals on, and ends with what it means. How
//! they are kept the same is the library's, which folders the layout's.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use haversack_core::layout::moltbot::{self, UserId};
use haversack_core::layout::{System, concept};
use haversack_host::store::ScopedStore;
use haversack_host::sync::{self, Event, Folder, Folders, Job, Owner, Step, Summary, SyncOptions};
use indicatif::{HumanBytes, ProgressBar};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::commands::Shared;
use crate::commands::call::location;
use crate::commands::exit::{Code, Failure};
use crate::commands::home::Home;
use crate::commands::open::open;
use crate::commands::output::{self, plain};
use crate::commands::progress::bar;
use crate::commands::store::ends::{End, position};
use crate::commands::store::{failure, note};

#[derive(Debug, Args)]
#[command(after_help = "\
  DIR/root/.clawdbot         is config/ in the store
  DIR/root/clawd/skills      is skills/
  DIR/root/clawd/workspace   is workspace/

Every save, new file, rename and delete goes to the store within moments, large files in parts. Everything is compared \
at the start and each --every. What changed in the store comes here. What changed on both sides is kept in both versions: \
the store's keeps the name, the one here becomes NAME.conflict-HASH.EXT, on both sides, and is reported. A delete goes \
through where the other side is as it was, else the file comes back.

DIR/.haversack-sync holds what both sides had last; without it nothing is lost, only deletes come back. One sync at a time \
may be at work on a DIR, and a DIR is one user's in one store, on one file system. Ctrl-C and SIGTERM end it once \
everything is written; a second Ctrl-C at once. A killed one goes on when it is run again.

Bytes are what is kept the same: no times, no modes (a file that is replaced here keeps its mode), no empty directories. \
Links, sockets and pipes are passed over and said, and so are names that no key can have: not UTF-8, not in normal form C, \
over 255 bytes. Names that differ only in case need a file system that tells them apart. DIR/.haversack holds files in \
the making. What one machine writes in the moment in which another deletes it, or replaces over 64 MiB, is lost: no store does these under a condition.

Examples:
  haversack tenant sync moltbot:user_1 / --store r2://ACCOUNT/BUCKET
  haversack tenant sync moltbot:user_1 ./user_1 --once       (from cron, say: a backup)
  haversack tenant sync moltbot:user_1 ./user_1 --dry-run    (what would be done, and why)
  haversack tenant sync moltbot:user_1 ./user_1 --json       (a line for each thing that happens)")]
pub struct Sync {
    /// Whose: moltbot:USER
    home: Home,
    /// The directory, as the user's machine sees its root; made where it is missing
    dir: PathBuf,
    /// Compare everything once, do what is to be done, and end
    #[arg(long)]
    once: bool,
    /// Say what would be done and why, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Time between two comparisons of everything
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = time)]
    every: Duration,
    /// Look at the directory so often, where the operating system does not tell of changes (network file systems)
    #[arg(long, value_name = "TIME", value_parser = time)]
    poll: Option<Duration>,
    /// Look into every file here, also where size and time are as they were
    #[arg(long)]
    checksum: bool,
    /// Time to finish in when told to stop
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    stop_within: Duration,
}

/// `30s`, `5m`, `1h 30m`; at least 100 ms and at most a day.
fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time from 100ms to 24h; write it like 30s, 5m or 1h");
    let time: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    let time = Duration::try_from(time).map_err(|_| wrong())?;
    let may_be = Duration::from_millis(100)..=Duration::from_secs(24 * 60 * 60);
    may_be.contains(&time).then_some(time).ok_or_else(wrong)
}

/// What is told while it runs.
struct Teller {
    bar: ProgressBar,
    json: bool,
    dry_run: bool,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    found: u64,
    settled: u64,
    bytes: u64,
    /// A closed pipe, most likely.
    not_printed: Option<anyhow::Error>,
}

impl Sync {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        // Before anything else, so that no signal is missed.
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let job = self.job(shared)?;
        let options = SyncOptions {
            once: self.once,
            dry_run: self.dry_run,
            every: self.every,
            poll: self.poll,
            checksum: self.checksum,
            stop_within: self.stop_within,
            at_once: shared.bucket.requests_at_once.min(16),
        };
        let teller = Teller {
            bar: bar(Some(0))?,
            json: shared.json,
            dry_run: self.dry_run,
            told: Mutex::default(),
        };
        let tell = |event: Event| teller.tell(event);
        let (stop, stopped) = watch::channel(false);
        let mut running = Box::pin(sync::run(&job, &options, stopped, &tell));
        let summary = loop {
            let asked_again = tokio::select! {
                summary = &mut running => break summary,
                _ = interrupt.recv() => stop.send_replace(true),
                // Whoever sends it twice is only impatient.
                _ = terminate.recv() => { stop.send_replace(true); false }
            };
            if asked_again {
                teller.bar.finish_and_clear();
                let message =
                    "stopped at once, with work left; run the same command again to go on";
                return Err(Failure::new(Code::Other, message).into());
            }
        };
        drop(running);
        teller.bar.finish_and_clear();
        let summary = summary.map_err(|error| failure(&error, error.message.clone()))?;
        let told = teller.told.into_inner();
        if let Some(error) = told.unwrap_or_else(PoisonError::into_inner).not_printed {
            return Err(error);
        }
        self.print(shared, &summary)?;
        end(&summary)
    }

    /// The user's part of the store, the directory, and which folders go together.
    fn job(&self, shared: &Shared) -> anyhow::Result<Job> {
        let system = System::parse(&self.home.system).map_err(refused)?;
        concept::require(system, concept::Concept::Sync).map_err(refused)?;
        let user = UserId::parse(&self.home.id).map_err(refused)?;
        let location = location(shared, Some(&self.home.system))?;
        let store = open(&location, &shared.bucket, Some(&self.home.system))?;
        let there = position(&End {
            location: &location,
            flags: shared.bucket.clone(),
        });
        let directory = self.dir.display().to_string();
        let here = position(&End {
            location: &directory,
            flags: shared.bucket.clone(),
        });
        // The root directory holds every store, and that is fine as long as no folder does.
        let folders = moltbot::placed_folders();
        let places = folders.iter().map(|(_, place)| {
            let segments = place.split('/').filter(|segment| !segment.is_empty());
            let place: Vec<String> = segments.map(str::to_owned).collect();
            [here.clone(), place].concat()
        });
        let is_mixed = |place: Vec<String>| there.starts_with(&place) || place.starts_with(&there);
        if there == here || places.into_iter().any(is_mixed) {
            let message = format!(
                "{directory} and the store {location} lie inside each other: what is written to the one would change \
                 the other; name a directory outside"
            );
            return Err(Failure::new(Code::Invalid, message).into());
        }
        let scoped = ScopedStore::new(store, moltbot::user_prefix(&user));
        let scoped = scoped.map_err(|error| failure(&error, error.message.clone()))?;
        let folder = |(prefix, place): &(&str, &str)| Folder {
            prefix: (*prefix).to_owned(),
            place: (*place).to_owned(),
        };
        Ok(Job {
            directory: self.dir.clone(),
            store: Arc::new(scoped),
            folders: Folders(folders.iter().map(folder).collect()),
            owner: Owner {
                user: self.home.to_string(),
                store: there.join(" "),
            },
        })
    }

    fn print(&self, shared: &Shared, summary: &Summary) -> anyhow::Result<()> {
        let Summary {
            uploaded,
            downloaded,
            deleted_there,
            deleted_here,
            conflicts,
            recorded,
            bytes,
            files,
            skipped,
            failed,
            left,
        } = summary;
        if shared.json {
            let ended = json!({
                "event": "ended", "dry-run": self.dry_run, "uploaded": uploaded, "downloaded": downloaded,
                "deleted-there": deleted_there, "deleted-here": deleted_here, "conflicts": conflicts,
                "recorded": recorded, "bytes": bytes, "files": files, "skipped": skipped, "failed": failed.len(),
                "left": left,
            });
            return output::text(&serde_json::to_string(&ended)?);
        }
        let would = if self.dry_run { "would be " } else { "" };
        let counts = [
            ("uploaded", uploaded),
            ("downloaded", downloaded),
            ("deleted in the store", deleted_there),
            ("deleted here", deleted_here),
            ("kept in both versions", conflicts),
            ("skipped", skipped),
        ];
        let counts: Vec<String> = counts
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(what, count)| format!("{count} {would}{what}"))
            .collect();
        let what = match counts.is_empty() {
            true => "nothing to do".to_owned(),
            false => counts.join(", "),
        };
        let bytes = HumanBytes(*bytes);
        output::text(&format!(
            "{what} ({bytes}); {files} files are the same on both sides"
        ))
    }
}

fn refused(error: haversack_core::types::Error) -> anyhow::Error {
    let code = match error.code {
        haversack_core::types::ErrorCode::Unsupported => Code::Unsupported,
        _ => Code::Invalid,
    };
    Failure::new(code, error.message).into()
}

/// What is left decides, then what did not work.
fn end(summary: &Summary) -> anyhow::Result<()> {
    if summary.left > 0 {
        let message = format!(
            "the time to stop in is over, and {} paths or more are left; run it again to go on, or give it more \
             --stop-within",
            summary.left
        );
        return Err(Failure::new(Code::Unavailable, message).into());
    }
    match summary.failed.as_slice() {
        [] => Ok(()),
        [(_, error), ..] => {
            let count = summary.failed.len();
            let paths = if count == 1 { "path" } else { "paths" };
            let message = format!(
                "{count} {paths} could not be kept the same, as said above; mend that and run it again"
            );
            Err(failure(error, message))
        }
    }
}

impl Teller {
    fn tell(&self, event: Event) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        match &event {
            Event::Found { paths } => {
                told.found += paths;
                self.bar.set_length(told.found);
            }
            Event::Bytes { bytes } => {
                told.bytes += bytes;
                self.bar.set_message(HumanBytes(told.bytes).to_string());
                return;
            }
            Event::Settled { .. } => {
                told.settled += 1;
                self.bar.set_position(told.settled);
            }
            _ => {}
        }
        if self.json {
            let line = serde_json::to_string(&event).map_err(anyhow::Error::from);
            self.print(&mut told, line.and_then(|line| output::text(&line)));
            return;
        }
        match event {
            Event::Settled {
                key,
                step,
                why,
                size_bytes,
                kept_as,
            } => {
                if let Some(line) = self.line(&key, step, why, size_bytes, kept_as.as_deref()) {
                    let printed = self.bar.suspend(|| output::text(&line));
                    self.print(&mut told, printed);
                }
            }
            Event::Skipped { path, cause, .. } => {
                note(
                    &self.bar,
                    &format!("skipped: {}: {}", plain(&path), plain(&cause)),
                );
            }
            Event::Failed { message, .. } => {
                note(&self.bar, &format!("failed: {}", plain(&message)))
            }
            Event::AtRest { files } if !self.dry_run => {
                note(
                    &self.bar,
                    &format!("{files} files are the same; waiting for changes"),
                );
            }
            Event::Stopping => note(&self.bar, "stopping: looking whether something is left"),
            Event::Found { .. } | Event::Bytes { .. } | Event::AtRest { .. } => {}
        }
    }

    /// None for what changes neither side.
    fn line(
        &self,
        key: &str,
        step: Step,
        why: &str,
        size_bytes: u64,
        kept_as: Option<&str>,
    ) -> Option<String> {
        let what = match step {
            Step::Nothing | Step::Look { .. } | Step::Record | Step::Forget => return None,
            step => step.name(),
        };
        let kept = match kept_as {
            Some(kept_as) => format!("; the one here is {} now, on both sides", plain(kept_as)),
            None => String::new(),
        };
        let size = HumanBytes(size_bytes).to_string();
        Some(format!(
            "{what:<12} {size:>12}  {}  ({why}{kept})",
            plain(key)
        ))
    }

    fn print(&self, told: &mut Told, printed: anyhow::Result<()>) {
        told.not_printed = told.not_printed.take().or(printed.err());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, ms) in [
            ("100ms", 100),
            ("30s", 30_000),
            ("5m", 300_000),
            ("24h", 86_400_000),
        ] {
            assert_eq!(time(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["99ms", "24h 1s", "5", "-5m", "soon", ""] {
            assert!(time(text).unwrap_err().contains("5m"), "{text}");
        }
    }
}
