//! `haversack memory`: something more to remember, what a prompt would see of it, and for hi-boss what becomes of
//! its files.

mod backup;
mod curate;
mod prune;

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Shared;
use super::budget::{Limits, budget};
use super::call::Caller;
use super::change::{RequestId, TextSource};
use super::clock::{moment, now_ms, offset};
use super::exit::{Code, Failure};
use super::home::Home;
use super::output::{self, Problem, plain};

#[derive(Debug, Args)]
pub struct Memory {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Append to a day's file, gsv a dated section, hi-boss lines; what others append at the same time stays
    Append(Append),
    /// Print long-term memory and the newest days, as a prompt would have them
    Show(Show),
    /// hi-boss: make MEMORY.md where it is missing; at setup and at the start of every session
    Ensure(curate::Ensure),
    /// hi-boss: print MEMORY.md, or a day's file, as it stands
    Read(curate::Read),
    /// hi-boss: write MEMORY.md whole, in the place of the version that was read
    Write(curate::Write),
    /// hi-boss: append lines of a day to MEMORY.md, as they are
    Promote(curate::Promote),
    /// hi-boss: delete files of old days; says what would go, and does it with --yes
    Prune(prune::Prune),
    /// hi-boss: copy MEMORY.md and memories/*.md, and nothing else, to a directory or bucket
    Backup(backup::Backup),
    /// hi-boss: copy them back
    Restore(backup::Restore),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack memory append gsv:hera --text '- Linnea likes tea'
  haversack memory append gsv:hera --file notes.md --at 2026-02-20T23:50:00Z --utc-offset +01:00
  make-a-summary | haversack memory append gsv:hera - --request-id compaction-17 --at 2026-02-20T23:50:00Z
  haversack memory append hi-boss:nex --text 'Boss prefers concise bullets.'

hi-boss: every line that is not blank is a memory. Lines that look like a secret are refused by their number.")]
struct Append {
    /// Whose
    home: Home,
    #[command(flatten)]
    text: TextSource,
    /// The moment that it belongs to, which decides the day [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = moment)]
    at: Option<u64>,
    /// How far local time is from UTC, such as +01:00 or -330 (minutes) [default: UTC]
    #[arg(long, value_name = "OFFSET", value_parser = offset, allow_hyphen_values = true)]
    utc_offset: Option<i32>,
    #[command(flatten)]
    secrets: Secrets,
    #[command(flatten)]
    id: RequestId,
}

#[derive(Debug, Args)]
struct Secrets {
    /// hi-boss: write it even where a line looks like a secret
    #[arg(long)]
    allow_secrets: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack memory show gsv:hera --now 2026-02-20T09:30:00Z
  haversack memory show gsv:hera --days 7 --budget newest-first
  haversack memory show gsv:hera --session agent:hera:discord:dm:anna   (without MEMORY.md)
  haversack memory show hi-boss:nex                                     (as hi-boss cuts it)
  haversack memory show hi-boss:nex --days 7 --per-day-max 1000 --budget newest-first

gsv takes no budget unless one is given, hi-boss takes its own.")]
struct Show {
    /// Whose
    home: Home,
    /// The moment that decides which day is today [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = moment)]
    now: Option<u64>,
    /// How far local time is from UTC, such as +01:00 or -330 (minutes) [default: UTC]
    #[arg(long, value_name = "OFFSET", value_parser = offset, allow_hyphen_values = true)]
    utc_offset: Option<i32>,
    /// none, hi-boss, openclaw-2026.9, newest-first, or a JSON file with a policy of your own
    #[arg(long, value_name = "PRESET|FILE")]
    budget: Option<String>,
    /// The session's key, which decides who sees MEMORY.md [default: the main session]
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// The system's name for main sessions [default: main]
    #[arg(long, value_name = "NAME")]
    main_key: Option<String>,
    #[command(flatten)]
    limits: Limits,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Appended {
    key: String,
    repeat: bool,
    size_bytes: u64,
    problems: Vec<Problem>,
}

#[derive(Debug, Deserialize)]
struct Shown {
    notes: Vec<Value>,
    text: String,
    cuts: Vec<Cut>,
    problems: Vec<Problem>,
}

#[derive(Debug, Deserialize)]
struct Cut {
    key: String,
    rule: String,
    unit: String,
    total: u64,
    kept: u64,
}

impl Memory {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match &self.action {
            Action::Append(append) => append.run(shared).await,
            Action::Show(show) => show.run(shared).await,
            Action::Ensure(ensure) => ensure.run(shared).await,
            Action::Read(read) => read.run(shared).await,
            Action::Write(write) => write.run(shared).await,
            Action::Promote(promote) => promote.run(shared).await,
            Action::Prune(prune) => prune.run(shared).await,
            Action::Backup(backup) => backup.run(shared).await,
            Action::Restore(restore) => restore.run(shared).await,
        }
    }
}

impl Append {
    async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        if self.id.is_given() && self.at.is_none() {
            // Now is another moment in a repeat, and after midnight another file.
            let message = "with --request-id give --at too, the same in every repeat";
            return Err(Failure::new(Code::Invalid, message).into());
        }
        let text = self.text.read()?;
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let request = json!({
            "home": self.home.to_json(),
            "at-ms": self.at.map_or_else(now_ms, Ok)?,
            "utc-offset-minutes": self.utc_offset.unwrap_or(0),
            "text": text,
            "allow-secrets": self.secrets.allow_secrets,
        });
        let after_conflict = "nothing was written: run it again";
        let answer = self
            .id
            .call(&caller, "memory", "append", request, after_conflict)
            .await?;
        let appended: Appended = serde_json::from_value(answer.clone())?;
        output::problems(&appended.problems);
        if shared.json {
            return output::json(&answer);
        }
        let (key, bytes) = (plain(&appended.key), appended.size_bytes);
        output::text(&match appended.repeat {
            true => format!("an earlier call had appended this to {key} ({bytes} bytes)"),
            false => format!("appended to {key} ({bytes} bytes now)"),
        })
    }
}

impl Show {
    async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let limited = self.limits.budget(&caller, self.budget.as_deref()).await?;
        let given = self.budget.as_deref().map(budget).transpose()?;
        let request = json!({
            "home": self.home.to_json(),
            "session-key": self.session,
            "main-key": self.main_key,
            "now-ms": self.now.map_or_else(now_ms, Ok)?,
            "utc-offset-minutes": self.utc_offset.unwrap_or(0),
            "days": self.limits.days,
            "budget": limited.or(given),
        });
        let answer = caller
            .call("memory", "snapshot", json!({ "request": request }))
            .await?;
        let shown: Shown = serde_json::from_value(answer.clone())?;
        if shown.notes.is_empty() {
            check_home(&caller, &self.home).await?;
        }
        output::problems(&shown.problems);
        if shared.json {
            return output::json(&answer);
        }
        for cut in &shown.cuts {
            eprintln!(
                "haversack: cut: {}: kept {} of {} {} ({})",
                plain(&cut.key),
                cut.kept,
                cut.total,
                cut.unit,
                cut.rule
            );
        }
        if shown.text.is_empty() {
            eprintln!("haversack: {} remembers nothing up to that day", self.home);
            return Ok(());
        }
        output::text(&shown.text)
    }
}

/// Nothing found is no news of a home that is there, and a misspelling of one that is not: `not-found`.
pub async fn check_home(caller: &Caller, home: &Home) -> anyhow::Result<()> {
    let arguments = json!({ "home": home.to_json() });
    caller.call("layout", "contents", arguments).await?;
    Ok(())
}
