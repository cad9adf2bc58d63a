//! `haversack ls`: a store, or a home, by what things are.

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Shared;
use super::call::Caller;
use super::exit::{Code, Failure};
use super::home::Home;
use super::output::{self, plain};
use super::place::PlaceAnswer;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  haversack ls                  (the homes in the store)\n  haversack ls gsv:hera         (everything of hera)"
)]
pub struct Ls {
    /// Whose; leave it out to list the homes in the store
    home: Option<Home>,
    /// Look for homes of this system only
    #[arg(long, value_name = "SYSTEM", conflicts_with = "home")]
    system: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Item {
    key: String,
    size_bytes: u64,
    place: Option<PlaceAnswer>,
}

impl Ls {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match &self.home {
            Some(home) => contents(shared, home).await,
            None => self.homes(shared).await,
        }
    }

    async fn homes(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, self.system.as_deref())?;
        let mut homes = Vec::new();
        let mut skipped = Vec::new();
        let mut arguments = json!({ "system": self.system });
        loop {
            let mut page = caller.call("layout", "homes", arguments.clone()).await?;
            append(&mut homes, page["homes"].take());
            append(&mut skipped, page["skipped"].take());
            match page["continue-from"].take() {
                Value::Null => break,
                next => arguments["continue-from"] = next,
            }
        }
        if shared.json {
            return output::json(&json!({ "homes": homes, "skipped": skipped }));
        }
        print_skipped(&skipped);
        if homes.is_empty() {
            let message = format!(
                "no homes of any known system in {}; `haversack systems` says where each keeps them",
                caller.location
            );
            return Err(Failure::new(Code::NotFound, message).into());
        }
        for home in &homes {
            let part = |name: &str| plain(home[name].as_str().unwrap_or_default());
            output::text(&format!("{}:{}", part("system"), part("id")))?;
        }
        Ok(())
    }
}

/// Pages are printed as they come, so that a home of any size needs no more memory than a page.
async fn contents(shared: &Shared, home: &Home) -> anyhow::Result<()> {
    let caller = Caller::over_store(shared, Some(&home.system))?;
    let mut arguments = json!({ "home": home.to_json() });
    let mut all = (Vec::new(), Vec::new());
    loop {
        let mut page = caller.call("layout", "contents", arguments.clone()).await?;
        if shared.json {
            append(&mut all.0, page["items"].take());
            append(&mut all.1, page["skipped"].take());
        } else {
            print_page(&page)?;
        }
        match page["continue-from"].take() {
            Value::Null => break,
            next => arguments["continue-from"] = next,
        }
    }
    if shared.json {
        output::json(&json!({ "items": all.0, "skipped": all.1 }))?;
    }
    Ok(())
}

fn print_page(page: &Value) -> anyhow::Result<()> {
    let items: Vec<Item> = serde_json::from_value(page["items"].clone())?;
    for item in items {
        let what = item
            .place
            .map_or_else(|| "-".to_owned(), |place| place.kind);
        output::text(&format!(
            "{:<18}  {:>10}  {}",
            what,
            item.size_bytes,
            plain(&item.key)
        ))?;
    }
    print_skipped(page["skipped"].as_array().map_or(&[], Vec::as_slice));
    Ok(())
}

/// What a list passed over, on standard error.
fn print_skipped(all: &[Value]) {
    for skipped in all {
        let part = |name: &str| plain(skipped[name].as_str().unwrap_or_default());
        eprintln!("haversack: skipped: {}: {}", part("key"), part("cause"));
    }
}

fn append(to: &mut Vec<Value>, list: Value) {
    if let Value::Array(items) = list {
        to.extend(items);
    }
}
