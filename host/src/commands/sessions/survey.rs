//! `haversack sessions status`, `ls` and `due`: what there is of sessions, without their messages.

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Which;
use crate::commands::call::Caller;
use crate::commands::clock::{moment, now_ms, offset, written};
use crate::commands::home::Home;
use crate::commands::memory::check_home;
use crate::commands::output::{self, plain};
use crate::commands::{Shared, pages};

#[derive(Debug, Args)]
pub struct Status {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Known {
    session_id: String,
    previous: Vec<String>,
    epoch: u64,
    last_activity_ms: u64,
    counts: Counts,
    pending: Option<Pending>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Counts {
    messages: u64,
    input_tokens: u64,
    output_tokens: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Pending {
    kind: String,
    request_id: String,
    at_ms: u64,
    stage: String,
}

impl Status {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        let arguments = json!({ "request": self.which.to_json() });
        let answer = caller.call("sessions", "status", arguments).await?;
        if shared.json {
            return output::json(&answer);
        }
        let known: Known = serde_json::from_value(answer)?;
        let mut lines = vec![
            ("session", known.session_id),
            ("last activity", written(known.last_activity_ms)),
            ("messages", known.counts.messages.to_string()),
            (
                "tokens",
                format!(
                    "{} in, {} out",
                    known.counts.input_tokens, known.counts.output_tokens
                ),
            ),
            ("sessions before", known.epoch.to_string()),
        ];
        if let Some(last) = known.previous.last() {
            lines.push(("the last of them", last.clone()));
        }
        if let Some(pending) = known.pending {
            let Pending {
                kind,
                request_id,
                at_ms,
                stage,
            } = pending;
            let since = written(at_ms);
            let what =
                format!("{kind}, {stage}, since {since}: repeat it with --request-id {request_id}");
            lines.push(("pending", what));
        }
        for (name, value) in lines {
            output::text(&format!("{name:<16}  {}", plain(&value)))?;
        }
        Ok(())
    }
}

#[derive(Debug, Args)]
pub struct Ls {
    /// Whose
    home: Home,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Item {
    kind: String,
    session_key: Option<String>,
    session_id: String,
    at_ms: Option<u64>,
    size_bytes: u64,
    messages: Option<u64>,
    part_ms: Option<u64>,
}

/// Wide enough for what they hold, because pages are printed as they come.
fn row(cells: [&str; 6]) -> anyhow::Result<()> {
    let [kind, messages, bytes, at, id, key] = cells;
    output::text(&format!(
        "{kind:<7}  {messages:>8}  {bytes:>10}  {at:<20}  {id:<36}  {key}"
    ))
}

impl Ls {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let request = json!({ "home": self.home.to_json() });
        let mut is_first = true;
        let print = |item: &Value| {
            if std::mem::take(&mut is_first) {
                row(["KIND", "MESSAGES", "BYTES", "AT", "SESSION", "KEY"])?;
            }
            let item = Item::deserialize(item)?;
            let at = item.at_ms.or(item.part_ms).map(written).unwrap_or_default();
            let messages = item
                .messages
                .map_or_else(|| "?".to_owned(), |n| n.to_string());
            let key = plain(item.session_key.as_deref().unwrap_or("?"));
            // A live session's size would be that of its state.
            let bytes = match item.kind.as_str() {
                "live" => "-".to_owned(),
                _ => item.size_bytes.to_string(),
            };
            let id = plain(&item.session_id);
            row([&item.kind, &messages, &bytes, &at, &id, &key])
        };
        let count = pages::each(
            &caller,
            shared,
            ("sessions", "list"),
            request,
            "sessions",
            print,
        );
        if count.await? == 0 {
            check_home(&caller, &self.home).await?;
            eprintln!("haversack: {} has no sessions", self.home);
        }
        Ok(())
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack sessions due gsv:hera --daily 4                     (not since 4:00 o'clock)
  haversack sessions due gsv:hera --idle 120 --json             (for over two hours)
  haversack sessions due gsv:hera --session agent:hera:main --daily 4 --utc-offset +01:00

A reset that was begun and not finished is listed too, whatever the policy says: `haversack sessions reset` ends it.")]
pub struct Due {
    /// Whose
    home: Home,
    /// Only this session [default: all]
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    #[command(flatten)]
    policy: Policy,
    /// The moment that decides [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = moment)]
    now: Option<u64>,
    /// How far local time is from UTC, such as +01:00 or -330 (minutes) [default: UTC]
    #[arg(long, value_name = "OFFSET", value_parser = offset, allow_hyphen_values = true)]
    utc_offset: Option<i32>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Policy {
    /// Due once this hour, 0 to 23, has struck since the last activity
    #[arg(long, value_name = "HOUR")]
    daily: Option<u8>,
    /// Due after more than so many minutes without activity
    #[arg(long, value_name = "MINUTES")]
    idle: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct DueSession {
    session_key: String,
    session_id: String,
    last_activity_ms: u64,
}

impl Due {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let policy = match (self.policy.daily, self.policy.idle) {
            (Some(hour), _) => json!({ "daily": { "hour": hour } }),
            (None, minutes) => json!({ "idle": { "minutes": minutes } }),
        };
        let request = json!({
            "home": self.home.to_json(),
            "session-key": self.session,
            "policy": policy,
            "now-ms": self.now.map_or_else(now_ms, Ok)?,
            "utc-offset-minutes": self.utc_offset.unwrap_or(0),
        });
        let print = |due: &Value| {
            let due = DueSession::deserialize(due)?;
            let (id, since) = (plain(&due.session_id), written(due.last_activity_ms));
            output::text(&format!(
                "{since:<20}  {id:<36}  {}",
                plain(&due.session_key)
            ))
        };
        let count = pages::each(&caller, shared, ("sessions", "due"), request, "due", print);
        if count.await? == 0 {
            check_home(&caller, &self.home).await?;
            eprintln!("haversack: no session is due");
        }
        Ok(())
    }
}
