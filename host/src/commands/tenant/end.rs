//! `haversack tenant end`: the dates from which retention counts.

use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::json;

use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::change::RequestId;
use crate::commands::clock::{moment, now_ms, written};
use crate::commands::home::Home;
use crate::commands::output;

#[derive(Debug, Args)]
#[command(after_help = "\
What has ended already keeps its dates, so that ending it again postpones nothing.

Examples:
  haversack tenant end moltbot:user_1
  haversack tenant end moltbot:user_1 --status expired --retention-days 30")]
pub struct End {
    /// Whose
    user: Home,
    /// How it ended
    #[arg(long, value_name = "STATUS", default_value = "cancelled")]
    status: Status,
    /// Days that the data stay
    #[arg(long, value_name = "DAYS", default_value_t = 90)]
    retention_days: u32,
    /// When it ended [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = moment)]
    now: Option<u64>,
    #[command(flatten)]
    id: RequestId,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Status {
    Cancelled,
    Expired,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Answer {
    state: String,
    expires_ms: Option<u64>,
    changed: bool,
}

impl End {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.user.system))?;
        let request = json!({
            "home": self.user.to_json(),
            "now-ms": self.now.map_or_else(now_ms, Ok)?,
            "ending": match self.status {
                Status::Cancelled => "cancelled",
                Status::Expired => "expired",
            },
            "retention-days": self.retention_days,
        });
        let answer = self
            .id
            .call(&caller, "retention", "end", request, "run it again")
            .await?;
        if shared.json {
            return output::json(&answer);
        }
        let answer: Answer = serde_json::from_value(answer)?;
        let until = answer
            .expires_ms
            .map_or_else(|| "nobody knows when".to_owned(), written);
        let user = &self.user;
        output::text(&match (answer.changed, answer.state.as_str()) {
            (true, _) => {
                format!("the subscription of {user} has ended; its data stay until {until}")
            }
            (false, "active" | "creating") => {
                format!("the subscription of {user} had ended already; its data stay until {until}")
            }
            (false, state) => {
                format!("the subscription of {user} had ended already; it is {state}")
            }
        })
    }
}
