//! `haversack store copy`: opens the two stores, tells what happens, and ends with what it means. How
//! objects are copied is the library's.

use std::sync::Mutex;

use clap::Args;
use haversack_host::store::Entry;
use haversack_host::store::key::shown;
use haversack_host::transfer::{self, CopyOptions, Count, Event, Outcome, Summary};
use indicatif::{HumanBytes, ProgressBar};
use serde_json::{Value, json};

use super::super::Shared;
use super::super::exit::{Code, Failure};
use super::super::output::{self, Table, plain};
use super::ends::{self, End};

const TEMPLATE: &str = "{bar:30} {bytes}/{total_bytes}  {bytes_per_sec}  {msg}";
/// Lines about single objects on standard error; after these only their number is told.
const LINES_MAX: usize = 100;
/// Objects named in the JSON summary.
const DETAILS_MAX: usize = 1_000;

#[derive(Debug, Args)]
#[command(after_help = "\
Keys, bytes, content types and metadata are copied; every object is read back and compared by its \
SHA-256. What is there and equal is passed over, so running it again goes on where it was stopped. \
Nothing is ever deleted from TO. A directory TO that does not exist is made.

What is there and different is kept and named, unless --replace is given: then it is written over, \
if it is still the one that was looked at. Above 64 MiB that is looked up right before the end of \
the write, not in one step with it. From 8 to 64 MiB the new one lies beside it for a moment, as \
haversack-copy-…; remove one that a kill has left.

Examples:
  haversack store copy ./haversack-store ./backup --dry-run    (what would be done)
  haversack store copy ./haversack-store ./backup
  haversack store copy ./haversack-store ./backup --prefix agents/hera
  haversack store copy ./haversack-store ./backup --replace    (bring it up to date)
  haversack store copy s3://BUCKET r2://ACCOUNT/BUCKET --from-profile aws --to-profile r2

Exit codes:
  0 all of FROM is in TO
  7 something different was kept, or kept changing while it was read
  5 something in FROM cannot be read or is no object (a symbolic link)
With 5 and 7 all the rest is copied.")]
pub struct Copy {
    /// The store to read: a directory, or its address
    from: String,
    /// The store to write: a directory, or its address
    to: String,
    /// Sign for FROM with this profile, and take its endpoint and region
    #[arg(long, value_name = "NAME")]
    from_profile: Option<String>,
    /// Sign for TO with this profile, and take its endpoint and region
    #[arg(long, value_name = "NAME")]
    to_profile: Option<String>,
    /// Only keys below P/; they keep their names
    #[arg(long, value_name = "P")]
    prefix: Option<String>,
    /// Write over objects that are there and different
    #[arg(long)]
    replace: bool,
    /// Say what would be done, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Exactly these, as the component lists them.
    #[arg(skip)]
    only: Option<Vec<Entry>>,
}

/// What is told of single objects while the copy runs.
struct Teller<'a> {
    copy: &'a Copy,
    bar: ProgressBar,
    json: bool,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    listed: u64,
    settled: u64,
    lines: usize,
    details: Vec<Value>,
    details_left_out: usize,
    /// A closed pipe, most likely.
    not_printed: Option<anyhow::Error>,
}

/// One end of a copy: its address, and the profile to sign for it with.
pub type Place = (String, Option<String>);

impl Copy {
    /// A copy of exactly these objects.
    pub fn of_only(
        (from, from_profile): Place,
        (to, to_profile): Place,
        only: Vec<Entry>,
        replace: bool,
        dry_run: bool,
    ) -> Self {
        Self {
            from,
            to,
            from_profile,
            to_profile,
            prefix: None,
            replace,
            dry_run,
            only: Some(only),
        }
    }

    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let end = |location, profile: &Option<String>| End {
            location,
            flags: shared.bucket.with_profile(profile.as_ref()),
        };
        let from = end(self.from.as_str(), &self.from_profile);
        let to = end(self.to.as_str(), &self.to_profile);
        let (from, to) = ends::open(from, to, self.dry_run)?;
        let options = CopyOptions {
            prefix: self.prefix.clone(),
            only: self.only.clone(),
            replace: self.replace,
            dry_run: self.dry_run,
            objects_at_once: shared.bucket.requests_at_once,
        };
        let teller = Teller {
            copy: self,
            bar: super::bar(0, TEMPLATE)?,
            json: shared.json,
            told: Mutex::default(),
        };
        let tell = |event: Event<'_>| teller.tell(event);
        let copied = tokio::select! {
            copied = transfer::copy(&*from, &*to, &options, &tell) => Some(copied),
            _ = tokio::signal::ctrl_c() => None,
        };
        teller.bar.finish_and_clear();
        let told = teller
            .told
            .into_inner()
            .unwrap_or_else(|lock| lock.into_inner());
        let Some(copied) = copied else {
            let message = format!(
                "stopped after {} objects; run the same command again to go on",
                told.settled
            );
            return Err(Failure::new(Code::Other, message).into());
        };
        let summary = copied.map_err(|error| super::failure(&error, error.message.clone()))?;
        if let Some(error) = told.not_printed {
            return Err(error);
        }
        if told.lines > LINES_MAX {
            eprintln!(
                "haversack: and {} more like these; --json names up to {DETAILS_MAX}",
                told.lines - LINES_MAX
            );
        }
        if shared.json {
            self.print_json(&summary, told)?;
        } else {
            self.print_table(&summary)?;
        }
        self.end(&summary)
    }

    fn print_json(&self, summary: &Summary, told: Told) -> anyhow::Result<()> {
        let count = |count: Count| json!({ "objects": count.objects, "bytes": count.bytes });
        output::json(&json!({
            "from": self.from,
            "to": self.to,
            "prefix": self.prefix,
            "dry-run": self.dry_run,
            "copied": count(summary.copied),
            "replaced": count(summary.replaced),
            "equal": count(summary.equal),
            "different": count(summary.different),
            "failed": count(summary.failed),
            "gone": count(summary.gone),
            "skipped": summary.skipped,
            "unlisted": summary.unlisted.as_ref().map(|error| &error.message),
            "details": told.details,
            "details-left-out": told.details_left_out,
        }))
    }

    /// What was copied and what was equal always, the rest where there is any.
    fn print_table(&self, summary: &Summary) -> anyhow::Result<()> {
        let mut table = Table::new(&["", "objects", "bytes", ""])
            .figures(1)
            .figures(2);
        let would = if self.dry_run { "would be " } else { "" };
        for (name, count, remark) in [
            (format!("{would}copied"), summary.copied, ""),
            (format!("{would}replaced"), summary.replaced, ""),
            ("equal".to_owned(), summary.equal, "there already"),
            (
                "different".to_owned(),
                summary.different,
                "kept as they are in TO",
            ),
            ("failed".to_owned(), summary.failed, ""),
            (
                "gone".to_owned(),
                summary.gone,
                "deleted from FROM meanwhile",
            ),
        ] {
            if count.objects > 0 || name.ends_with("copied") || name == "equal" {
                let bytes = HumanBytes(count.bytes).to_string();
                table.row([name, count.objects.to_string(), bytes, remark.to_owned()]);
            }
        }
        if summary.skipped > 0 {
            let number = summary.skipped.to_string();
            let remark = "no objects, or not to be listed";
            table.row([
                "skipped".to_owned(),
                number,
                "-".to_owned(),
                remark.to_owned(),
            ]);
        }
        table.print()
    }

    /// The gravest thing decides: what failed, what differs, what was passed over.
    fn end(&self, summary: &Summary) -> anyhow::Result<()> {
        let (error, message) = match (&summary.unlisted, &summary.first_failure) {
            (Some(error), _) => (
                error,
                format!(
                    "{} could not be listed to its end: {}; run it again",
                    self.from, error.message
                ),
            ),
            (None, Some(error)) => (
                error,
                format!(
                    "{} of the objects could not be copied, as said above; mend that and run it again",
                    summary.failed.objects
                ),
            ),
            (None, None) if summary.different.objects > 0 => {
                let message = format!(
                    "{} different in {} and kept; --replace writes over them",
                    objects_are(summary.different.objects),
                    self.to
                );
                return Err(Failure::new(Code::Conflict, message).into());
            }
            (None, None) if self.prefix.is_some() && summary.looked_at() == 0 => {
                let message = format!(
                    "nothing lies below {} in {}; `--dry-run` without --prefix lists what does",
                    self.prefix.as_deref().unwrap_or_default(),
                    self.from
                );
                return Err(Failure::new(Code::NotFound, message).into());
            }
            (None, None) if summary.skipped > 0 => {
                let message = format!(
                    "not everything in {} is copied: {} skipped, as said above",
                    self.from, summary.skipped
                );
                return Err(Failure::new(Code::Unreadable, message).into());
            }
            (None, None) => return Ok(()),
        };
        Err(super::failure(error, message))
    }
}

fn objects_are(number: u64) -> String {
    match number {
        1 => "1 object is".to_owned(),
        number => format!("{number} objects are"),
    }
}

impl Teller<'_> {
    fn tell(&self, event: Event<'_>) {
        let mut told = self.told.lock().unwrap_or_else(|lock| lock.into_inner());
        match event {
            Event::Listed { objects, bytes } => {
                told.listed += objects;
                self.bar.inc_length(bytes);
            }
            Event::Bytes(bytes) => self.bar.inc(bytes),
            Event::Skipped(skipped) => {
                self.line(&mut told, "skipped", &skipped.key, &skipped.cause);
            }
            Event::Settled {
                key,
                size_bytes,
                outcome,
            } => {
                told.settled += 1;
                let message = format!("{} of {} objects", told.settled, told.listed);
                self.bar.set_message(message);
                self.settled(&mut told, key, size_bytes, outcome);
            }
        }
    }

    fn settled(&self, told: &mut Told, key: &str, size_bytes: u64, outcome: &Outcome) {
        match outcome {
            Outcome::Copied | Outcome::Replaced { .. } if self.copy.dry_run => {
                let replaced = matches!(outcome, Outcome::Replaced { .. });
                let what = if replaced { "replace" } else { "copy" };
                self.plan(told, what, key, size_bytes);
            }
            Outcome::Replaced { in_one_step: false } => self.line(
                told,
                "replaced",
                key,
                "over 64 MiB, so what lay there was looked up right before, not in the same step",
            ),
            Outcome::Different(difference) => {
                self.line(told, "different", key, &difference.to_string());
            }
            Outcome::Gone => self.line(told, "gone", key, "deleted since it was listed"),
            Outcome::Failed(error) => self.line(told, "failed", key, &error.message),
            Outcome::Copied | Outcome::Replaced { .. } | Outcome::Equal => {}
        }
    }

    /// Of a dry run, on standard output, which is what was asked for.
    fn plan(&self, told: &mut Told, what: &str, key: &str, size_bytes: u64) {
        if self.json {
            self.detail(told, what, key, &format!("{size_bytes} bytes"));
            return;
        }
        let size = HumanBytes(size_bytes).to_string();
        let line = format!("{what:<8}{size:>12}  {}", plain(key));
        let printed = self.bar.suspend(|| output::text(&line));
        told.not_printed = told.not_printed.take().or(printed.err());
    }

    fn line(&self, told: &mut Told, what: &str, key: &str, why: &str) {
        self.detail(told, what, key, why);
        told.lines += 1;
        if told.lines <= LINES_MAX {
            let named = shown(key);
            let why = plain(why);
            // Most messages of stores name the key themselves.
            let line = match why.contains(&named) {
                true => format!("{what}: {why}"),
                false => format!("{what}: {}: {why}", plain(key)),
            };
            super::note(&self.bar, &line);
        }
    }

    fn detail(&self, told: &mut Told, what: &str, key: &str, why: &str) {
        if !self.json {
            return;
        }
        if told.details.len() == DETAILS_MAX {
            told.details_left_out += 1;
            return;
        }
        let detail = json!({ "key": key, "outcome": what, "message": why });
        told.details.push(detail);
    }
}
