//! `haversack place`: what a key is.

use clap::Args;
use serde_json::json;

use super::Shared;
use super::call::Caller;
use super::output::{self, plain};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  haversack place gsv agents/hera/memory/2026-02-20.md")]
pub struct Place {
    /// gsv, moltbot, run-agent, solven or hi-boss
    system: String,
    /// The key, as it stands in the store
    key: String,
}

impl Place {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let arguments = json!({ "system": self.system, "key": self.key });
        let place = Caller::without_store(shared)?
            .call("layout", "place-of", arguments)
            .await?;
        if shared.json {
            return output::json(&place);
        }
        let place: PlaceAnswer = serde_json::from_value(place)?;
        output::text(&place.to_string())
    }
}

/// A place record of the contract.
#[derive(Debug, serde::Deserialize)]
pub struct PlaceAnswer {
    pub kind: String,
    pub fields: Vec<(String, String)>,
}

/// `daily-memory agent=hera date=2026-02-20`, which `haversack key` takes back.
impl std::fmt::Display for PlaceAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.kind)?;
        self.fields
            .iter()
            .try_for_each(|(name, value)| write!(f, " {name}={}", plain(value)))
    }
}
