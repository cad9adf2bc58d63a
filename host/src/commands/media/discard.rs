//! `haversack media orphans` and `discard`: which media of a session go. What they do is said first and done with
//! --yes.

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::change::RequestId;
use crate::commands::clock::{now_ms, written};
use crate::commands::exit::{Code, Failure};
use crate::commands::output::{self, Problem, plain};
use crate::commands::sessions::{Which, is_not_found};

/// Messages asked for at once, so that one call takes their blocks.
const PAGE_MESSAGES: u32 = 100;

#[derive(Debug, Args)]
pub struct Orphans {
    #[command(flatten)]
    which: Which,
    /// Only those uploaded so many minutes ago: a message that names a newer one may be on its way
    #[arg(long, value_name = "MINUTES", default_value_t = 60)]
    older_than: u64,
    #[command(flatten)]
    go: Go,
}

#[derive(Debug, Args)]
pub struct Discard {
    #[command(flatten)]
    which: Which,
    /// Keys of media, as their blocks say them in `r2Key`
    #[arg(required = true)]
    keys: Vec<String>,
    #[command(flatten)]
    go: Go,
}

#[derive(Debug, Args)]
struct Go {
    /// Delete them
    #[arg(long)]
    yes: bool,
    /// Only say what would go, which is what happens without --yes
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    #[command(flatten)]
    id: RequestId,
}

#[derive(Debug, Default, Deserialize)]
struct Page {
    discarded: Vec<Value>,
    kept: Vec<Value>,
    problems: Vec<Value>,
    #[serde(rename = "continue-from")]
    continue_from: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Medium {
    key: String,
    size_bytes: u64,
    uploaded_at_ms: Option<u64>,
}

impl Orphans {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        // The moment before the messages are read, so that what is named meanwhile is young.
        let before_ms = now_ms()?.saturating_sub(self.older_than.saturating_mul(60_000));
        let named = named(&caller, &self.which).await?;
        let request = json!({ "keep": { "keys": named }, "orphans-before-ms": before_ms });
        self.go.run(shared, &caller, &self.which, request).await
    }
}

impl Discard {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        let request = json!({ "discard": { "keys": self.keys } });
        self.go.run(shared, &caller, &self.which, request).await
    }
}

impl Go {
    async fn run(
        &self,
        shared: &Shared,
        caller: &Caller,
        which: &Which,
        mut request: Value,
    ) -> anyhow::Result<()> {
        request["session"] = which.to_json();
        request["request-id"] = json!(self.id.or_new()?);
        request["dry-run"] = json!(!self.yes);
        let mut all = Page::default();
        loop {
            let arguments = json!({ "request": request });
            let answer = caller.call("media", "discard", arguments).await?;
            let page: Page = serde_json::from_value(answer)?;
            all.discarded.extend(page.discarded);
            all.kept.extend(page.kept);
            // Told of the same keys on every page.
            let news = page
                .problems
                .into_iter()
                .filter(|problem| !all.problems.contains(problem));
            let news: Vec<_> = news.collect();
            all.problems.extend(news);
            match page.continue_from {
                Some(next) => request["continue-from"] = json!(next),
                None => break,
            }
        }
        if shared.json {
            return output::json(&json!({
                "dry-run": !self.yes,
                "discarded": all.discarded,
                "kept": all.kept,
                "problems": all.problems,
            }));
        }
        let problems: Vec<Problem> = serde_json::from_value(Value::Array(all.problems))?;
        output::problems(&problems);
        for medium in &all.discarded {
            let Medium {
                key,
                size_bytes,
                uploaded_at_ms,
            } = Medium::deserialize(medium)?;
            let at = uploaded_at_ms.map(written).unwrap_or_default();
            output::text(&format!("{size_bytes:>10}  {at:<20}  {}", plain(&key)))?;
        }
        let (gone, kept) = (all.discarded.len(), all.kept.len());
        match (gone, self.yes) {
            (0, _) => eprintln!("haversack: nothing goes, {kept} stay"),
            (_, true) => eprintln!("haversack: {gone} deleted, {kept} stay"),
            (_, false) => eprintln!("haversack: {gone} would go, {kept} stay; --yes deletes them"),
        }
        Ok(())
    }
}

/// Every medium that the live session names. A line that cannot be read may name one, so that nothing goes then.
async fn named(caller: &Caller, which: &Which) -> anyhow::Result<Vec<String>> {
    let mut request = which.to_json();
    request["count"] = json!(PAGE_MESSAGES);
    let mut keys = Vec::new();
    loop {
        let arguments = json!({ "request": request });
        let page = match caller.call("sessions", "history", arguments).await {
            Err(error) if is_not_found(&error) => return Ok(keys),
            page => page?,
        };
        refuse_unread(&page["problems"])?;
        let messages = page["messages"].as_array().into_iter().flatten();
        let messages: Vec<&Value> = messages.map(|message| &message["json"]).collect();
        let arguments = json!({ "session": which.to_json(), "messages": messages });
        let found = caller.call("media", "hydrate", arguments).await?;
        let without_key = found["problems"].as_array().into_iter().flatten();
        let without_key = without_key.filter(|problem| problem["key"] == "").cloned();
        refuse_unread(&Value::Array(without_key.collect()))?;
        let blocks = found["blocks"].as_array().into_iter().flatten();
        keys.extend(blocks.filter_map(|block| block["key"].as_str().map(str::to_owned)));
        match &page["before"] {
            Value::Null => return Ok(keys),
            before => request["before"] = before.clone(),
        }
    }
}

fn refuse_unread(problems: &Value) -> anyhow::Result<()> {
    let Some(first) = problems.as_array().and_then(|problems| problems.first()) else {
        return Ok(());
    };
    let message = format!(
        "a line of the session cannot be read, so what it names is not known and nothing was deleted: {}",
        plain(first["message"].as_str().unwrap_or_default())
    );
    Err(Failure::new(Code::Unreadable, message).into())
}
