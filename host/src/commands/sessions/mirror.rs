//! `haversack sessions mirror`: a session that its host keeps itself, from a file or standard input, in pages that
//! one call takes, from where it went on last.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::Which;
use super::pages::{PAGE_MESSAGES_MAX, messages, named, pages};
use crate::commands::call::Caller;
use crate::commands::clock::{moment, now_ms};
use crate::commands::output::{self, Problem, plain};
use crate::commands::{Shared, progress, read_text};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack sessions mirror gsv:hera --session agent:hera:main --session-id UUID session.jsonl
  haversack sessions mirror gsv:hera --session agent:hera:main --session-id UUID --first 120 newest.jsonl

For a host with a session store of its own: afterwards `compact` and `sessions reset --session-id NEXT` work under its \
session id. Each message has its place in the session, from 0, for good. Run it again whenever the file has grown, or \
when it was stopped: what is held already is not written again, and of it the newest 256 messages of the file are \
compared. A message that is another than was passed before is refused, and so is a gap.")]
pub struct Mirror {
    #[command(flatten)]
    which: Which,
    /// The host's own id of the session, a UUID
    #[arg(long, value_name = "ID")]
    session_id: String,
    /// A file of messages, JSON on one line each; - is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// The place in the session of the file's first message
    #[arg(long, value_name = "N", default_value_t = 0)]
    first: u64,
    /// When it was said, where the last message has no timestamp [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = moment)]
    at: Option<u64>,
}

impl Mirror {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let text = read_text(&self.file)?;
        let messages = messages(&text, &named(&self.file))?;
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        let mut request = self.which.to_json();
        request["session-id"] = json!(self.session_id);
        request["now-ms"] = json!(self.at.map_or_else(now_ms, Ok)?);
        request["first"] = json!(0);
        request["messages"] = json!([]);
        let before = next_of(&page(&caller, &request).await?);
        let held = usize::try_from(before.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let held = held.min(messages.len());
        let skipped = held.saturating_sub(PAGE_MESSAGES_MAX);
        let (mut first, mut next) = (self.first.saturating_add(skipped as u64), before);
        let bar = progress::bar(Some(messages.len() as u64))?;
        bar.set_position(skipped as u64);
        for page_of in pages(messages.get(skipped..).unwrap_or_default()) {
            request["first"] = json!(first);
            request["messages"] = json!(page_of);
            let answer = page(&caller, &request).await;
            let answer = answer.inspect_err(|_| bar.finish_and_clear())?;
            first += page_of.len() as u64;
            next = next_of(&answer);
            bar.inc(page_of.len() as u64);
        }
        bar.finish_and_clear();
        let passed = messages.len() - held;
        if shared.json {
            return output::json(&json!({
                "session-id": self.session_id,
                "passed": passed,
                "held": held,
                "next": next,
            }));
        }
        let key = plain(&self.which.session);
        output::text(&format!(
            "passed {passed} of {} messages to {key}, session {}, which has {next} now",
            messages.len(),
            plain(&self.session_id)
        ))
    }
}

/// One call; what it had to say besides is printed.
async fn page(caller: &Caller, request: &Value) -> anyhow::Result<Value> {
    let answer = caller
        .call("sessions", "mirror", json!({ "request": request }))
        .await?;
    let problems: Vec<Problem> = serde_json::from_value(answer["problems"].clone())?;
    output::problems(&problems);
    Ok(answer)
}

fn next_of(answer: &Value) -> u64 {
    answer["next"].as_u64().unwrap_or_default()
}
