//! `haversack bus`: what runs of a project or a task tell each other.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::Shared;
use super::call::Caller;
use super::change::TextSource;
use super::home::Home;
use super::output::{self, plain};
use super::run::look::{said, tell};
use super::run::stamp::Stamp;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack bus post run-agent:proj --type FACT --text 'Tea is green.'
  haversack bus post run-agent:proj --task TASK --type QUESTION --parent MSG-… --file question.md
  haversack bus tail run-agent:proj --task TASK --limit 5
  haversack bus read run-agent:proj --since MSG-20260220-093000123456789-PID00042-0001
  haversack bus follow run-agent:proj

A message's text is kept to the byte, and none can pass for another message.")]
pub struct Bus {
    #[command(subcommand)]
    action: Action,
}

/// Which bus.
#[derive(Debug, Args)]
struct Which {
    /// The project, as run-agent:PROJECT
    home: Home,
    /// The bus of this task [default: that of the project]
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
}

impl Which {
    fn to_json(&self) -> Value {
        json!({ "home": self.home.to_json(), "task": self.task })
    }
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Post a message
    Post(Box<Post>),
    /// Print all messages, or those since one
    Read(Read),
    /// Print the newest messages
    Tail(Tail),
    /// Print the newest messages, and each that comes, until interrupted
    Follow(Follow),
}

#[derive(Debug, Args)]
struct Post {
    #[command(flatten)]
    which: Which,
    /// What it is: FACT, QUESTION, ISSUE, PROGRESS or another word in capitals
    #[arg(long = "type", value_name = "TYPE")]
    kind: String,
    /// The run that posts it
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// The issue that it belongs to
    #[arg(long, value_name = "MSG-ID")]
    issue: Option<String>,
    /// A message that it refers to, and how; may be given several times
    #[arg(long, value_name = "MSG-ID[:KIND]", value_parser = parent)]
    parent: Vec<Value>,
    /// May be given several times
    #[arg(long, value_name = "URL")]
    link: Vec<String>,
    /// May be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    meta: Vec<Value>,
    #[command(flatten)]
    text: TextSource,
    #[command(flatten)]
    stamp: Stamp,
}

fn parent(text: &str) -> Result<Value, String> {
    let (id, kind) = match text.split_once(':') {
        Some((id, kind)) => (id, Some(kind)),
        None => (text, None),
    };
    Ok(json!({ "msg-id": id, "kind": kind, "meta": [] }))
}

fn pair(text: &str) -> Result<Value, String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    Ok(json!([name, value]))
}

#[derive(Debug, Args)]
struct Read {
    #[command(flatten)]
    which: Which,
    /// Only what came behind this message
    #[arg(long, value_name = "MSG-ID")]
    since: Option<String>,
}

#[derive(Debug, Args)]
struct Tail {
    #[command(flatten)]
    which: Which,
    /// How many, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// Where to go on towards older messages, as the page before says
    #[arg(long, value_name = "CURSOR")]
    before: Option<String>,
}

#[derive(Debug, Args)]
struct Follow {
    #[command(flatten)]
    which: Which,
    /// How many of the newest to begin with, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// How often to look
    #[arg(long, value_name = "MS", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(50..))]
    interval_ms: u64,
}

/// Messages of one call while reading all.
const PAGE: u32 = 1_000;
/// Newest messages that following looks at each time.
const FOLLOWED: u32 = 100;

impl Bus {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match &self.action {
            Action::Post(post) => post.run(shared).await,
            Action::Read(read) => read.run(shared).await,
            Action::Tail(tail) => tail.run(shared).await,
            Action::Follow(follow) => follow.run(shared).await,
        }
    }
}

impl Post {
    async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let body = self.text.read()?;
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        let mut request = self.which.to_json();
        request["kind"] = json!(self.kind);
        request["run"] = json!(self.run);
        request["issue"] = json!(self.issue);
        request["parents"] = json!(self.parent);
        request["links"] = json!(self.link);
        request["meta"] = json!(self.meta);
        request["body"] = json!(body);
        let answer = self.stamp.call(&caller, ("bus", "post"), request).await?;
        if shared.json {
            return output::json(&answer);
        }
        tell(&answer)?;
        output::text(&said(&answer["msg-id"]))
    }
}

impl Read {
    async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        let mut request = self.which.to_json();
        request["since"] = json!(self.since);
        request["limit"] = json!(PAGE);
        // Pages come newest first, and a `since` that is not there shows only at the end.
        let mut pages = Vec::new();
        let mut problems = Vec::new();
        loop {
            let arguments = json!({ "request": request });
            let mut page = caller.call("bus", "read", arguments).await?;
            if shared.json {
                problems.extend(page["problems"].as_array().cloned().into_iter().flatten());
            } else {
                tell(&page)?;
            }
            let Value::Array(messages) = page["messages"].take() else {
                anyhow::bail!("bus.read answered no messages");
            };
            pages.push(messages);
            match page["before"].take() {
                Value::Null => break,
                before => request["before"] = before,
            }
        }
        let messages: Vec<Value> = pages.into_iter().rev().flatten().collect();
        match shared.json {
            true => output::json(&json!({ "messages": messages, "problems": problems })),
            false => messages.iter().try_for_each(print),
        }
    }
}

impl Tail {
    async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        let mut request = self.which.to_json();
        request["limit"] = json!(self.limit);
        request["before"] = json!(self.before);
        let arguments = json!({ "request": request });
        let answer = caller.call("bus", "read", arguments).await?;
        if shared.json {
            return output::json(&answer);
        }
        tell(&answer)?;
        for message in answer["messages"].as_array().into_iter().flatten() {
            print(message)?;
        }
        match answer["before"].as_str() {
            Some(before) => eprintln!("haversack: there are older messages: --before {before}"),
            None if answer["messages"] == json!([]) => {
                eprintln!("haversack: this bus of {} has no messages", self.which.home);
            }
            None => {}
        }
        Ok(())
    }
}

impl Follow {
    /// Looks at whole pages each time, back to one that holds nothing new: a message of a clock that is late may stand
    /// before others that were printed.
    async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut is_first = true;
        loop {
            let mut request = self.which.to_json();
            request["limit"] = json!(self.limit.max(FOLLOWED));
            let mut fresh = Vec::new();
            loop {
                let arguments = json!({ "request": request });
                let mut page = caller.call("bus", "read", arguments).await?;
                let messages = page["messages"].as_array().cloned().unwrap_or_default();
                let new: Vec<Value> = messages
                    .iter()
                    .filter(|message| !seen.contains(&name(message)))
                    .cloned()
                    .collect();
                let all_new = new.len() == messages.len() && !new.is_empty();
                fresh.push(new);
                match page["before"].take() {
                    Value::String(before) if all_new && !is_first => {
                        request["before"] = json!(before)
                    }
                    _ => break,
                }
            }
            let fresh: Vec<Value> = fresh.into_iter().rev().flatten().collect();
            // What is older than asked for is seen, and not printed.
            let older = fresh.len().saturating_sub(usize::try_from(self.limit)?);
            let printed = fresh.iter().skip(if is_first { older } else { 0 });
            for message in printed {
                match shared.json {
                    true => output::text(&message.to_string())?,
                    false => print(message)?,
                }
            }
            seen.extend(fresh.iter().map(name));
            is_first = false;
            tokio::time::sleep(Duration::from_millis(self.interval_ms)).await;
        }
    }
}

/// By its id; a legacy line by what it says.
fn name(message: &Value) -> String {
    match message["msg-id"].as_str() {
        Some(id) => id.to_owned(),
        None => message.to_string(),
    }
}

/// Who and what on a line, the text indented below.
fn print(message: &Value) -> anyhow::Result<()> {
    let mut words = Vec::new();
    for member in ["at", "kind", "msg-id", "run-id"] {
        words.extend(message[member].as_str().map(plain));
    }
    for parent in message["parents"].as_array().into_iter().flatten() {
        words.push(format!("> {}", plain(&said(&parent["msg-id"]))));
    }
    output::text(&words.join("  "))?;
    for line in message["body"].as_str().unwrap_or_default().lines() {
        output::text(&format!("    {}", plain(line)))?;
    }
    Ok(())
}
