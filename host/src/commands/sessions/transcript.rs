//! `haversack sessions transcript`: an archived session to standard output, in the memory of a page.

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::home::Home;
use crate::commands::output::{self, Problem};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack sessions ls gsv:hera                       (shows the ids)
  haversack sessions transcript gsv:hera SESSION-ID > session.jsonl
  haversack sessions transcript gsv:hera SESSION-ID --parts --json

Messages come byte for byte as they were appended. With --json each line is an object with the message in `json`, \
the archive that it is from in `key`, and whether it is a summary.")]
pub struct Transcript {
    /// Whose
    home: Home,
    /// The id of an archived session; the session key's live one has `history`
    session_id: String,
    /// What compactions removed too, in front of what was left
    #[arg(long)]
    parts: bool,
}

#[derive(Debug, Deserialize)]
struct Page {
    messages: Vec<serde_json::Value>,
    next: Option<String>,
    problems: Vec<Problem>,
}

impl Transcript {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let mut request = json!({
            "home": self.home.to_json(),
            "session-id": self.session_id,
            "parts": self.parts,
        });
        loop {
            let answer = caller
                .call("sessions", "transcript", json!({ "request": request }))
                .await?;
            let page: Page = serde_json::from_value(answer)?;
            output::problems(&page.problems);
            let lines = page.messages.iter().map(|message| match shared.json {
                true => message.to_string(),
                false => message["json"].as_str().unwrap_or_default().to_owned(),
            });
            let lines: Vec<_> = lines.collect();
            if !lines.is_empty() {
                output::text(&lines.join("\n"))?;
            }
            match page.next {
                Some(next) => request["cursor"] = json!(next),
                None => return Ok(()),
            }
        }
    }
}
