//! `haversack memory prune`: which days would go, and with --yes they do.

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::change::{RequestId, advised};
use crate::commands::clock::{moment, now_ms, offset};
use crate::commands::home::Home;
use crate::commands::output::{self, Problem, plain};

#[derive(Debug, Args)]
#[command(after_help = "\
Only files whose names are real dates go, and never today's. Nothing goes by itself, and nothing without --yes. \
Back up first: `haversack memory backup`.

Examples:
  haversack memory prune hi-boss:nex --before 2026-01-01          (what would go)
  haversack memory prune hi-boss:nex --keep-days 90 --yes")]
pub struct Prune {
    /// Whose
    home: Home,
    #[command(flatten)]
    which: Which,
    /// The moment that decides which day is today [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = moment)]
    now: Option<u64>,
    /// How far local time is from UTC, such as +01:00 or -330 (minutes) [default: UTC]
    #[arg(long, value_name = "OFFSET", value_parser = offset, allow_hyphen_values = true)]
    utc_offset: Option<i32>,
    /// Delete them
    #[arg(long)]
    yes: bool,
    /// Only say what would go, which is what happens without --yes
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    #[command(flatten)]
    id: RequestId,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// Days older than this date
    #[arg(long, value_name = "YYYY-MM-DD")]
    before: Option<String>,
    /// All but the last N days, today included
    #[arg(long, value_name = "N")]
    keep_days: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Page {
    before: String,
    days: Vec<Value>,
    problems: Vec<Value>,
    continue_from: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Day {
    key: String,
    size_bytes: u64,
}

impl Prune {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let id = self.id.or_new()?;
        let mut request = json!({
            "home": self.home.to_json(),
            "request-id": id,
            "pruned": match (&self.which.before, self.which.keep_days) {
                (Some(date), _) => json!({ "before": date }),
                (None, days) => json!({ "keep-days": days }),
            },
            "now-ms": self.now.map_or_else(now_ms, Ok)?,
            "utc-offset-minutes": self.utc_offset.unwrap_or(0),
            "dry-run": !self.yes,
        });
        let (mut days, mut problems) = (Vec::new(), Vec::new());
        let before = loop {
            let arguments = json!({ "request": request });
            let answer = caller.call("memory", "prune", arguments).await;
            let answer = answer
                .map_err(|error| advised(error, &format!("--request-id {id}"), "run it again"))?;
            let page: Page = serde_json::from_value(answer)?;
            days.extend(page.days);
            problems.extend(page.problems);
            match page.continue_from {
                Some(next) => request["continue-from"] = json!(next),
                None => break page.before,
            }
        };
        if shared.json {
            return output::json(&json!({
                "dry-run": !self.yes,
                "before": before,
                "days": days,
                "problems": problems,
                "request-id": id,
            }));
        }
        let problems: Vec<Problem> = serde_json::from_value(Value::Array(problems))?;
        output::problems(&problems);
        for day in &days {
            let Day { key, size_bytes } = Day::deserialize(day)?;
            output::text(&format!("{size_bytes:>10}  {}", plain(&key)))?;
        }
        match (days.len(), self.yes) {
            (0, _) => eprintln!("haversack: no day of {} is older than {before}", self.home),
            (gone, true) => eprintln!("haversack: {gone} days before {before} deleted"),
            (gone, false) => {
                eprintln!("haversack: {gone} days before {before} would go; --yes deletes them");
            }
        }
        Ok(())
    }
}
