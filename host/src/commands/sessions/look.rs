//! `haversack sessions history` and `context`: the messages of a live session, as people or as programs read
//! them.

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Which;
use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::output::{self, Problem};
use crate::commands::say;

#[derive(Debug, Args)]
pub struct Look {
    #[command(flatten)]
    which: Which,
    /// Print the messages as they were appended, JSON on one line each
    #[arg(long)]
    jsonl: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack sessions history gsv:hera --session agent:hera:main
  haversack sessions history gsv:hera --session agent:hera:main --count 1000 --jsonl | grep greenhouse
  haversack sessions history gsv:hera --session agent:hera:main --before CURSOR    (an older page)")]
pub struct History {
    #[command(flatten)]
    look: Look,
    /// How many, at most 1000
    #[arg(long, value_name = "N", default_value_t = 100)]
    count: u32,
    /// Where to go on towards older messages, as the page before says
    #[arg(long, value_name = "CURSOR")]
    before: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Messages {
    messages: Vec<Message>,
    problems: Vec<Problem>,
    before: Option<String>,
    #[serde(default)]
    repairs: Vec<Repair>,
    #[serde(rename = "estimated-tokens")]
    estimated_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Message {
    json: String,
    is_summary: bool,
}

#[derive(Debug, Deserialize)]
struct Repair {
    kind: String,
    id: Option<String>,
}

impl History {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let mut request = self.look.which.to_json();
        request["count"] = json!(self.count);
        request["before"] = json!(self.before);
        self.look.call(shared, "history", request).await
    }
}

impl Look {
    pub async fn context(&self, shared: &Shared) -> anyhow::Result<()> {
        self.call(shared, "context", self.which.to_json()).await
    }

    async fn call(&self, shared: &Shared, function: &str, request: Value) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        let answer = caller
            .call("sessions", function, json!({ "request": request }))
            .await?;
        if shared.json {
            return output::json(&answer);
        }
        let found: Messages = serde_json::from_value(answer)?;
        output::problems(&found.problems);
        for message in &found.messages {
            output::text(&match self.jsonl {
                true => message.json.clone(),
                false if message.is_summary => format!("{}  (a summary)", say::line(&message.json)),
                false => say::line(&message.json),
            })?;
        }
        for Repair { kind, id } in &found.repairs {
            let what = match kind.as_str() {
                "no-result" => "a call got no result, and one that says so stands behind it",
                "left-out" => "a result without its call is left out",
                _ => "a result was moved behind its call",
            };
            let id = id.as_deref().unwrap_or("a message without an id");
            eprintln!("haversack: repaired: {id}: {what}");
        }
        if let Some(before) = &found.before {
            eprintln!("haversack: there are older messages: --before {before}");
        }
        if let Some(tokens) = found.estimated_tokens {
            let count = found.messages.len();
            eprintln!("haversack: {count} messages, about {tokens} tokens");
        }
        Ok(())
    }
}
