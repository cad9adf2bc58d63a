//! `haversack store check`: the contract suite on a user's own store, below a prefix that it makes and
//! clears. What is checked is the library's.

use clap::Args;
use haversack_host::contract::{self, CHECKS, Outcome, Verdict};
use haversack_host::store::check::plain;
use haversack_host::store::{BlobStore, Body, Condition};
use indicatif::ProgressBar;
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::super::Shared;
use super::super::exit::{Code, Failure};
use super::super::open::open_store;
use super::super::output::{self, Table};

const TEMPLATE: &str = "{bar:30} {pos}/{len}  {msg}";

#[derive(Debug, Args)]
#[command(after_help = "\
It writes objects below a prefix of its own (haversack-check-…), up to 72 MiB each, and removes \
them all; nothing else in the store is touched. Ctrl-C ends it after the check that runs, and \
cleans up too.

Examples:
  haversack store check ./haversack-store
  haversack store check ./haversack-store --json

Exit codes:
  0 every check passed, or does not apply (a bucket cannot append)
  1 one failed
  4 no store there
  5 nothing may be written there")]
pub struct Check {
    /// The store: a directory, or its address
    #[arg(value_name = "URL")]
    location: String,
}

/// How far it came.
struct Ran {
    outcomes: Vec<Outcome>,
    interrupted: bool,
}

impl Check {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let store = open_store(&self.location, &shared.bucket)?;
        let store = store.as_ref();
        let prefix = prefix();
        let mut interrupts = signal(SignalKind::interrupt())?;
        self.try_to_write(store, &prefix).await?;

        let bar = super::bar(CHECKS.len() as u64, TEMPLATE)?;
        let ran = run_checks(store, &prefix, &bar, &mut interrupts).await;
        bar.set_message("clearing up");
        let cleared = tokio::select! {
            cleared = contract::clear(store, &prefix) => cleared,
            _ = interrupts.recv() => Err("stopped while clearing up".to_owned()),
        };
        bar.finish_and_clear();

        if shared.json {
            self.print_json(store, &ran)?;
        } else {
            print_table(&ran.outcomes)?;
        }
        if let Err(cause) = cleared {
            let message = format!(
                "{cause}; what lies below {prefix}/ in {} is left over from this check: remove it",
                self.location
            );
            return Err(Failure::new(Code::Other, message).into());
        }
        if ran.interrupted {
            let message = format!(
                "stopped after {} of {} checks; what they wrote is removed again",
                ran.outcomes.len(),
                CHECKS.len()
            );
            return Err(Failure::new(Code::Other, message).into());
        }
        let failed = ran
            .outcomes
            .iter()
            .filter(|outcome| outcome.failed())
            .count();
        if failed > 0 {
            let message = format!(
                "{failed} of {} checks failed: do not keep an agent's state in {} before they pass",
                ran.outcomes.len(),
                self.location
            );
            return Err(Failure::new(Code::Other, message).into());
        }
        Ok(())
    }

    /// One clear line where everything would fail for one reason.
    async fn try_to_write(&self, store: &dyn BlobStore, prefix: &str) -> anyhow::Result<()> {
        let key = format!("{prefix}/first");
        let body = Body::Text("haversack store check\n".to_owned());
        let put = store
            .put(key.clone(), body, plain(Condition::IfAbsent))
            .await;
        let outcome = match put {
            Ok(_) => store.delete(vec![key]).await.into_iter().collect(),
            Err(error) => Err(error),
        };
        outcome.map_err(|error: haversack_host::store::Error| {
            let message = format!(
                "{} cannot be checked, because nothing can be written there: {}",
                self.location, error.message
            );
            super::failure(&error, message)
        })
    }

    fn print_json(&self, store: &dyn BlobStore, ran: &Ran) -> anyhow::Result<()> {
        let described: serde_json::Map<_, _> = store
            .describe()
            .into_iter()
            .map(|(name, value)| (name, json!(value)))
            .collect();
        let checks: Vec<_> = ran
            .outcomes
            .iter()
            .map(|outcome| {
                let (verdict, detail) = match &outcome.verdict {
                    Verdict::Passed => ("passed", None),
                    Verdict::Failed(what) => ("failed", Some(what)),
                    Verdict::Skipped(reason) => ("skipped", Some(reason)),
                };
                json!({
                    "name": outcome.name,
                    "verdict": verdict,
                    "detail": detail,
                    "sentence": outcome.sentence,
                    "took-ms": outcome.took.as_millis() as u64,
                })
            })
            .collect();
        output::json(&json!({
            "store": self.location,
            "described": described,
            "complete": !ran.interrupted,
            "checks": checks,
        }))
    }
}

/// A key that nobody else uses.
fn prefix() -> String {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let time_ms = time.map_or(0, |time| time.as_millis());
    format!("haversack-check-{}-{time_ms}", std::process::id())
}

/// The first interrupt lets the check that runs come to its end, so that no write of it is still under
/// way when its objects are removed; the second one does not.
async fn run_checks(
    store: &dyn BlobStore,
    prefix: &str,
    bar: &ProgressBar,
    interrupts: &mut Signal,
) -> Ran {
    let mut ran = Ran {
        outcomes: Vec::new(),
        interrupted: false,
    };
    for check in CHECKS {
        bar.set_message(check.name);
        let mut running = Box::pin(check.run(store, prefix));
        let outcome = loop {
            tokio::select! {
                outcome = &mut running => break Some(outcome),
                _ = interrupts.recv() => {
                    if ran.interrupted {
                        break None;
                    }
                    ran.interrupted = true;
                    let name = check.name;
                    super::note(bar, &format!(
                        "stopping after {name} and clearing up; press Ctrl-C again not to wait for it"
                    ));
                }
            }
        };
        ran.outcomes.extend(outcome);
        if ran.interrupted {
            break;
        }
        bar.inc(1);
    }
    ran
}

/// A line a group, then what went wrong or was left out, one by one.
fn print_table(outcomes: &[Outcome]) -> anyhow::Result<()> {
    let group_of = |outcome: &Outcome| {
        let group = outcome.name.split_once('/');
        group.map_or(outcome.name, |(group, _)| group)
    };
    let mut table = Table::new(&["checks", "passed", "failed", "skipped", "ms"]);
    for column in 1..=4 {
        table = table.figures(column);
    }
    for group in outcomes.chunk_by(|a, b| group_of(a) == group_of(b)) {
        let count = |wanted: fn(&Verdict) -> bool| {
            let found = group.iter().filter(|outcome| wanted(&outcome.verdict));
            found.count().to_string()
        };
        let took: u128 = group.iter().map(|outcome| outcome.took.as_millis()).sum();
        table.row([
            group.first().map_or("", group_of).to_owned(),
            count(|verdict| matches!(verdict, Verdict::Passed)),
            count(|verdict| matches!(verdict, Verdict::Failed(_))),
            count(|verdict| matches!(verdict, Verdict::Skipped(_))),
            took.to_string(),
        ]);
    }
    table.print()?;
    let mut lines = String::new();
    for outcome in outcomes {
        let Outcome { name, sentence, .. } = outcome;
        match &outcome.verdict {
            Verdict::Passed => {}
            Verdict::Skipped(reason) => {
                lines += &format!("skipped {name}: {}\n", output::plain(reason));
            }
            Verdict::Failed(what) => {
                lines += &format!("failed  {name}: {}\n", output::plain(what));
                lines += &format!("        the contract: “{sentence}”\n");
            }
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    output::text(&format!("\n{lines}"))
}
