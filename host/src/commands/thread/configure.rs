//! `haversack thread configure`: sets the workspace of a thread up.

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::clock::{moment, now_ms, written};
use crate::commands::home::Home;
use crate::commands::output::{self, Problem, plain};

#[derive(Debug, Args)]
pub struct Configure {
    /// Whose
    home: Home,
    /// The moment that the marker gets [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = moment)]
    at: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Configured {
    configured_ms: Option<u64>,
    created: Vec<String>,
    problems: Vec<Problem>,
}

impl Configure {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let home = &self.home;
        let caller = Caller::over_store(shared, Some(&home.system))?;
        let request = json!({
            "home": home.to_json(),
            "now-ms": self.at.map_or_else(now_ms, Ok)?,
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
