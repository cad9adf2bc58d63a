//! `haversack tenant usage`: count what a user takes, in as many calls as it needs.

use clap::Args;
use serde_json::{Value, json};

use super::{repeatable, tier};
use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::home::Home;
use crate::commands::output::{self, Problem, Table};
use crate::commands::progress;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack tenant usage moltbot:user_1
  haversack tenant usage moltbot:user_1 --repair      (correct storageUsedBytes in meta.json)
  haversack tenant usage moltbot:user_1 --tier pro    (what is left)

Everything below the user is counted, meta.json included; copies below deleted/ are not. What is written during the \
count may be in it or not.")]
pub struct Usage {
    /// Whose
    home: Home,
    /// Write what was counted to meta.json
    #[arg(long)]
    repair: bool,
    /// Say what is left: starter (1 GB), pro (10 GB), business (100 GB), or limits as JSON
    #[arg(long, value_name = "TIER", value_parser = tier)]
    tier: Option<Value>,
}

impl Usage {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let mut request = json!({
            "home": self.home.to_json(), "repair": self.repair, "tier": self.tier,
        });
        let bar = progress::bar(None)?;
        let mut problems: Vec<Value> = Vec::new();
        let mut answer = loop {
            let arguments = json!({ "request": request });
            let answer = caller.call("tenants", "usage", arguments).await;
            let mut answer = answer.map_err(repeatable)?;
            problems.extend(answer["problems"].as_array().into_iter().flatten().cloned());
            let next = answer["next"].take();
            if next.is_null() {
                break answer;
            }
            bar.set_message(format!("{} objects", answer["objects"]));
            request["cursor"] = next;
        };
        bar.finish_and_clear();
        answer["problems"] = json!(problems);
        if shared.json {
            return output::json(&answer);
        }
        let problems: Vec<Problem> = serde_json::from_value(json!(problems))?;
        output::problems(&problems);
        self.print(&answer)
    }

    fn print(&self, answer: &Value) -> anyhow::Result<()> {
        let mut table = Table::new(&["", "objects", "bytes"]).figures(1).figures(2);
        let row = |name: &str, of: &Value| {
            let figure = |member: &str| of[member].as_u64().unwrap_or_default().to_string();
            [name.to_owned(), figure("objects"), figure("size-bytes")]
        };
        for category in answer["categories"].as_array().into_iter().flatten() {
            table.row(row(
                category["category"].as_str().unwrap_or_default(),
                category,
            ));
        }
        table.row(row("all", answer));
        table.print()?;
        let stored = answer["stored-bytes"].as_u64();
        let stored = stored.map_or("nothing".to_owned(), |bytes| bytes.to_string());
        let now = if answer["repaired"] == true {
            " now"
        } else {
            ""
        };
        output::text(&format!("meta.json says {stored}{now}"))?;
        match answer["left-bytes"].as_u64() {
            Some(left) => output::text(&format!("{left} bytes are left")),
            None => Ok(()),
        }
    }
}
