//! `haversack messages`: chat logs of users. Appending from a file or standard input, in calls of what one takes.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::Caller;
use super::change::advised;
use super::clock::{now_ms, written};
use super::exit::{Code, Failure};
use super::home::Home;
use super::output::{self, Problem, plain};
use super::tenant::tier;
use super::{Shared, read_text, say};

/// What one call takes.
const CALL_MESSAGES_MAX: usize = 256;
const CALL_BYTES_MAX: usize = 4 << 20;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack messages append moltbot:user_1 --session main chat.jsonl
  echo '{\"id\":\"msg_1\",\"role\":\"user\",\"content\":\"Tea?\",\"timestamp\":1706572800000}' |
    haversack messages append moltbot:user_1 --session main
  haversack messages history moltbot:user_1 --session main --limit 20
  haversack messages refresh moltbot:user_1 --session main

A message has id, role, content and timestamp (milliseconds), and is known by its id: what was appended is \
durable, and appending it again adds nothing among the newest 256.")]
pub struct Messages {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Append messages, JSON on one line each
    Append(Append),
    /// Print the newest messages
    History(History),
    /// Bring the session's metadata.json up to date and print what it says
    Refresh(Refresh),
}

/// Which chat.
#[derive(Debug, Args)]
struct Which {
    /// Whose
    home: Home,
    /// The session's key
    #[arg(long, value_name = "KEY", default_value = "main")]
    session: String,
}

impl Which {
    fn to_json(&self) -> Value {
        json!({ "home": self.home.to_json(), "session-key": self.session })
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack messages append moltbot:user_1 --session main chat.jsonl
  tail -n 1 chat.jsonl | haversack messages append moltbot:user_1

Over 256 messages or 4 MiB are appended in several calls, each all or none. Stopped between them, run it again \
with what is missing, or with all of it where that is at most 256 messages: those that are there are known by \
their ids.")]
struct Append {
    #[command(flatten)]
    which: Which,
    /// A file of messages, JSON on one line each; - is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Refuse what would take the user over its tier: starter (1 GB), pro (10 GB), business (100 GB), or limits as JSON
    #[arg(long, value_name = "TIER", value_parser = tier)]
    tier: Option<Value>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack messages history moltbot:user_1 --session main
  haversack messages history moltbot:user_1 --limit 1000 --jsonl | grep greenhouse
  haversack messages history moltbot:user_1 --before CURSOR    (an older page)")]
struct History {
    #[command(flatten)]
    which: Which,
    /// How many, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
    /// Where to go on towards older messages, as the page before says
    #[arg(long, value_name = "CURSOR")]
    before: Option<String>,
    /// Leave out what is older than the tier's days: starter (30 days), pro, business, or limits as JSON
    #[arg(long, value_name = "TIER", value_parser = tier)]
    tier: Option<Value>,
    /// Print the messages as they were appended, JSON on one line each
    #[arg(long)]
    jsonl: bool,
}

#[derive(Debug, Args)]
struct Refresh {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Known {
    created_ms: Option<u64>,
    updated_ms: Option<u64>,
    message_count: Option<u64>,
    size_bytes: u64,
    last_message_id: Option<String>,
    again: bool,
    problems: Vec<Problem>,
}

impl Messages {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match &self.action {
            Action::Append(append) => append.run(shared).await,
            Action::History(history) => history.run(shared).await,
            Action::Refresh(refresh) => refresh.run(shared).await,
        }
    }
}

impl Append {
    async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let text = read_text(&self.file)?;
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        if lines.is_empty() {
            let message = format!(
                "{} has no message; give one JSON object a line",
                self.file.display()
            );
            return Err(Failure::new(Code::Invalid, message).into());
        }
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        let mut request = self.which.to_json();
        request["tier"] = json!(self.tier);
        let (mut appended, mut repeated) = (0, 0);
        for part in calls(&lines) {
            request["messages"] = json!(part);
            let arguments = json!({ "request": request });
            let answer = caller.call("messages", "append", arguments).await;
            let answer = answer.map_err(|error| {
                let from = appended + repeated;
                let error = match from {
                    0 => error,
                    from => after(error, from),
                };
                advised(error, "the same command", "run it again")
            })?;
            let problems: Vec<Problem> = serde_json::from_value(answer["problems"].clone())?;
            output::problems(&problems);
            match answer["repeat"] == true {
                true => repeated += part.len(),
                false => appended += part.len(),
            }
        }
        if shared.json {
            return output::json(&json!({ "appended": appended, "repeated": repeated }));
        }
        let session = plain(&self.which.session);
        if repeated > 0 {
            output::text(&format!(
                "{repeated} of {} messages were there already",
                lines.len()
            ))?;
        }
        match appended {
            0 => Ok(()),
            1 => output::text(&format!("appended 1 message to {session}")),
            count => output::text(&format!("appended {count} messages to {session}")),
        }
    }
}

/// The error of a later call, which says what is in.
fn after(error: anyhow::Error, messages: usize) -> anyhow::Error {
    match error.downcast_ref::<Failure>() {
        Some(failure) => {
            let message = format!("{failure}; the first {messages} messages are in");
            Failure::new(failure.code(), message).into()
        }
        None => error,
    }
}

/// The messages in parts that one call takes each. What is over the limit alone is the component's to refuse.
fn calls<'t>(lines: &[&'t str]) -> Vec<Vec<&'t str>> {
    let mut calls: Vec<Vec<&str>> = Vec::new();
    let mut bytes = 0;
    for line in lines {
        let more = line.len() + 1;
        match calls.last_mut() {
            Some(part) if part.len() < CALL_MESSAGES_MAX && bytes + more <= CALL_BYTES_MAX => {
                part.push(line);
                bytes += more;
            }
            _ => {
                calls.push(vec![line]);
                bytes = more;
            }
        }
    }
    calls
}

impl History {
    async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        let mut request = self.which.to_json();
        request["limit"] = json!(self.limit);
        request["before"] = json!(self.before);
        if self.tier.is_some() {
            request["tier"] = json!(self.tier);
            request["now-ms"] = json!(now_ms()?);
        }
        let arguments = json!({ "request": request });
        let answer = caller.call("messages", "history", arguments).await?;
        if shared.json {
            return output::json(&answer);
        }
        let problems: Vec<Problem> = serde_json::from_value(answer["problems"].clone())?;
        output::problems(&problems);
        for message in answer["messages"].as_array().into_iter().flatten() {
            let json = message["json"].as_str().unwrap_or_default();
            output::text(&match self.jsonl {
                true => json.to_owned(),
                false => say::line(json),
            })?;
        }
        if let Some(withheld) = answer["withheld"].as_u64().filter(|count| *count > 0) {
            eprintln!(
                "haversack: {withheld} messages are older than the tier's days, and stay stored"
            );
        }
        match answer["before"].as_str() {
            Some(before) => eprintln!("haversack: there are older messages: --before {before}"),
            None if answer["messages"] == json!([]) && answer["withheld"] == 0 => {
                let (home, session) = (&self.which.home, plain(&self.which.session));
                eprintln!("haversack: {home} has no messages in session {session}");
            }
            None => {}
        }
        Ok(())
    }
}

impl Refresh {
    async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        let arguments = json!({ "request": self.which.to_json() });
        loop {
            let answer = caller.call("messages", "refresh", arguments.clone()).await;
            let answer =
                answer.map_err(|error| advised(error, "the same command", "run it again"))?;
            let known: Known = serde_json::from_value(answer.clone())?;
            output::problems(&known.problems);
            if known.again {
                continue;
            }
            if shared.json {
                return output::json(&answer);
            }
            let moment = |ms: Option<u64>| ms.map_or_else(|| "unknown".to_owned(), written);
            let count = known.message_count.map_or_else(
                || "unknown (part of the log came from elsewhere and was not read)".to_owned(),
                |count| count.to_string(),
            );
            let last = known
                .last_message_id
                .as_deref()
                .map_or_else(|| "without an id".to_owned(), plain);
            output::text(&format!("messages  {count}"))?;
            output::text(&format!("bytes     {}", known.size_bytes))?;
            output::text(&format!("created   {}", moment(known.created_ms)))?;
            output::text(&format!("updated   {}", moment(known.updated_ms)))?;
            return output::text(&format!("last      {last}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_end_at_either_limit() {
        let counts = |lines: &[&str]| calls(lines).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(counts(&["{}"; 257]), [256, 1]);
        let half = "x".repeat(CALL_BYTES_MAX / 2 - 1);
        assert_eq!(counts(&[&half, &half]), [2]);
        assert_eq!(counts(&[&half, &format!("{half}x")]), [1, 1]);
    }
}
