//! A truncation policy from the command line, and JSON files that it may name.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::call::Caller;
use super::exit::{Code, Failure};
use super::read_text;

/// Figures in the place of a policy's own.
#[derive(Debug, Args)]
#[command(
    next_help_heading = "Limits, in UTF-16 units; without --budget the other ones are hi-boss'"
)]
pub struct Limits {
    /// How many days that have a file, at most 14 [default: 2]
    #[arg(long, value_name = "N")]
    pub days: Option<u32>,
    /// Of MEMORY.md [default: the budget's, else hi-boss' 12000]
    #[arg(long, value_name = "N")]
    long_term_max: Option<u64>,
    /// Of one day's file [default: the budget's, else hi-boss' 4000]
    #[arg(long, value_name = "N")]
    per_day_max: Option<u64>,
    /// Of all days together [default: that of a day times the days]
    #[arg(long, value_name = "N")]
    daily_max: Option<u64>,
    /// Of everything; the oldest day gives way first [default: the budget's, else hi-boss' 20000]
    #[arg(long, value_name = "N")]
    total_max: Option<u64>,
}

impl Limits {
    /// The policy with these figures; none where no limit is given. `--days` alone is none.
    pub async fn budget(
        &self,
        caller: &Caller,
        name: Option<&str>,
    ) -> anyhow::Result<Option<Value>> {
        let figures = [
            ("file-limit", self.long_term_max),
            ("daily-limit", self.per_day_max),
            ("daily-total-limit", self.daily_max),
            ("total-limit", self.total_max),
        ];
        if figures.iter().all(|(_, figure)| figure.is_none()) {
            return Ok(None);
        }
        self.policy(caller, name, &figures).await.map(Some)
    }

    /// As [`Limits::budget`], where `--days` alone changes the policy too.
    pub async fn budget_with_days(
        &self,
        caller: &Caller,
        name: Option<&str>,
    ) -> anyhow::Result<Option<Value>> {
        match (self.budget(caller, name).await?, self.days) {
            (None, Some(_)) => self.policy(caller, name, &[]).await.map(Some),
            (budget, _) => Ok(budget),
        }
    }

    async fn policy(
        &self,
        caller: &Caller,
        name: Option<&str>,
        figures: &[(&str, Option<u64>)],
    ) -> anyhow::Result<Value> {
        let given = budget(name.unwrap_or("hi-boss"))?;
        let mut policy = match given.get("custom") {
            Some(policy) => policy.clone(),
            None => preset(caller, &given["preset"]).await?,
        };
        if self.per_day_max.is_some() || self.days.is_some() {
            policy["daily-total-limit"] = Value::Null;
        }
        if let Some(days) = self.days {
            policy["daily-files"] = json!(days);
        }
        for (member, figure) in figures {
            if let Some(figure) = figure {
                policy[*member] = json!(figure);
            }
        }
        Ok(json!({ "custom": policy }))
    }
}

async fn preset(caller: &Caller, name: &Value) -> anyhow::Result<Value> {
    let presets = caller.call("prompt", "presets", json!({})).await?;
    let presets = presets.as_array().cloned().unwrap_or_default();
    let names: Vec<String> = presets.iter().map(|it| it["name"].to_string()).collect();
    let found = presets.into_iter().find(|preset| preset["name"] == *name);
    found.ok_or_else(|| {
        let message = format!(
            "there is no budget preset {name}; the presets are {}",
            names.join(", ")
        );
        Failure::new(Code::Invalid, message).into()
    })
}

/// A preset by name, else a policy from a file.
pub fn budget(text: &str) -> anyhow::Result<Value> {
    let names_a_file = text.ends_with(".json") || text.contains(std::path::MAIN_SEPARATOR);
    if !names_a_file {
        return Ok(json!({ "preset": text }));
    }
    let policy = parse(&read_text(&PathBuf::from(text))?, text)?;
    Ok(json!({ "custom": policy }))
}

/// JSON from a file that messages call `name`.
pub fn parse(text: &str, name: &str) -> anyhow::Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| Failure::new(Code::Invalid, format!("{name} is not JSON: {error}")).into())
}
