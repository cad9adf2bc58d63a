//! `haversack tenant status` and `touch`: what a user's meta.json says, and that the user is active.

use clap::Args;
use serde_json::{Value, json};

use super::repeatable;
use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::clock::{self, written};
use crate::commands::home::Home;
use crate::commands::output::{self, Problem, plain};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack tenant status moltbot:user_1
  haversack tenant status moltbot:user_1 --json | jq .state

States: active, creating (its template is not whole yet), copying and emptying (its subscription is long over and it \
is being moved away), restoring, deleted, purging, purged.")]
pub struct Status {
    /// Whose
    home: Home,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack tenant touch moltbot:user_1

Call it as often as you like: lastActiveAt is written where it is a minute old, and never set back.")]
pub struct Touch {
    /// Whose
    home: Home,
    /// The moment, instead of this machine's clock
    #[arg(long, value_name = "MOMENT", value_parser = clock::moment)]
    now: Option<u64>,
}

impl Status {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let arguments = json!({ "request": { "home": self.home.to_json() } });
        let answer = caller.call("tenants", "status", arguments).await?;
        if shared.json {
            return output::json(&answer);
        }
        let problems: Vec<Problem> = serde_json::from_value(answer["problems"].clone())?;
        output::problems(&problems);
        let word = |member: &str| plain(answer[member].as_str().unwrap_or("unknown"));
        let moment = |member: &str| answer[member].as_u64().map_or("-".to_owned(), written);
        let bytes = &answer["storage-used-bytes"];
        let bytes = bytes
            .as_u64()
            .map_or("unknown".to_owned(), |n| n.to_string());
        for (name, value) in [
            ("state", word("state")),
            ("subscription", word("subscription")),
            ("created", moment("created-ms")),
            ("last active", moment("last-active-ms")),
            ("ended", moment("subscription-ended-ms")),
            ("kept until", moment("retention-expires-ms")),
            ("bytes", bytes),
        ] {
            output::text(&format!("{name:<12}  {value}"))?;
        }
        Ok(())
    }
}

impl Touch {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let now_ms = self.now.map_or_else(clock::now_ms, Ok)?;
        let arguments = json!({ "request": { "home": self.home.to_json(), "now-ms": now_ms } });
        let answer = caller.call("tenants", "touch", arguments).await;
        let answer = answer.map_err(repeatable)?;
        if shared.json {
            return output::json(&answer);
        }
        output::text(match answer["written"] == Value::Bool(true) {
            true => "written",
            false => "not a minute since the last time: nothing was written",
        })
    }
}
