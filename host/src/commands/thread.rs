//! `haversack thread`: the workspace of a solven thread, beside its files.

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::json;

use super::Shared;
use super::call::Caller;
use super::clock::{moment, now_ms, written};
use super::home::Home;
use super::output::{self, Problem, plain};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack thread configure solven:t1
  haversack files ls solven:t1 / --user ada

Its files are read and changed by `haversack files`, its skills by `haversack skills`.")]
pub struct Thread {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Set a thread's workspace up, once: .bashrc, package.json and the marker; what is there stays
    Configure {
        /// Whose
        home: Home,
        /// The moment that the marker gets [default: now]
        #[arg(long, value_name = "RFC3339", value_parser = moment)]
        at: Option<u64>,
    },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Configured {
    configured_ms: Option<u64>,
    created: Vec<String>,
    problems: Vec<Problem>,
}

impl Thread {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let Action::Configure { home, at } = &self.action;
        let caller = Caller::over_store(shared, Some(&home.system))?;
        let request = json!({
            "home": home.to_json(),
            "now-ms": at.map_or_else(now_ms, Ok)?,
        });
        let arguments = json!({ "request": request });
        let answer = caller.call("threads", "configure", arguments).await?;
        if shared.json {
            return output::json(&answer);
        }
        let configured: Configured = serde_json::from_value(answer)?;
        output::problems(&configured.problems);
        let since = configured.configured_ms.map(written);
        let since = since.map_or_else(|| "before".to_owned(), |at| format!("since {at}"));
        if configured.created.is_empty() {
            return output::text(&format!(
                "{home} is configured {since}; nothing was changed"
            ));
        }
        let created = configured.created.iter();
        let created: Vec<String> = created.map(|key| format!("wrote {}", plain(key))).collect();
        output::text(&created.join("\n"))
    }
}
