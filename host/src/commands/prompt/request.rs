//! The options of `haversack prompt` as the contract's request: a JSON request first, flags over it.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::commands::budget::{Limits, budget, parse};
use crate::commands::call::Caller;
use crate::commands::clock::{moment, now_ms, offset};
use crate::commands::environment::EnvironmentOptions;
use crate::commands::exit::{Code, Failure};
use crate::commands::home::Home;
use crate::commands::read_text;

#[derive(Debug, Args)]
pub struct RequestOptions {
    /// A JSON request in the form of the WIT record `assemble-request`; `-` is standard input. Flags
    /// go before its members
    #[arg(long, value_name = "FILE")]
    request: Option<PathBuf>,

    /// The session's key, which decides who sees MEMORY.md [default: the main session]
    #[arg(long, value_name = "KEY")]
    session: Option<String>,

    /// The system's name for main sessions [default: main]
    #[arg(long, value_name = "NAME")]
    main_key: Option<String>,

    /// The moment that decides which day is today [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = moment)]
    now: Option<u64>,

    /// How far local time is from UTC, such as +01:00 or -330 (minutes) [default: UTC]
    #[arg(long, value_name = "OFFSET", value_parser = offset, allow_hyphen_values = true)]
    utc_offset: Option<i32>,

    /// The base prompt, before that of the request
    #[arg(long, value_name = "TEXT")]
    base: Option<String>,

    /// A section of your own after the base prompt, from a file; repeat for more
    #[arg(long, value_name = "TITLE=FILE", value_parser = titled_file)]
    section: Vec<(String, PathBuf)>,

    /// Tools to list, a JSON file: [{"name": …, "description": …}, …]
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,

    /// Runtime: the model's name
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// Runtime: the time zone's name
    #[arg(long, value_name = "NAME")]
    time_zone: Option<String>,

    /// Runtime: the channel's name
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,

    /// Runtime: a host's name; repeat for more
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    /// none, hi-boss, openclaw-2026.9, newest-first, or a JSON file with a policy of your own
    #[arg(long, value_name = "PRESET|FILE")]
    budget: Option<String>,

    #[command(flatten)]
    environment: EnvironmentOptions,

    #[command(flatten)]
    limits: Limits,
}

fn titled_file(text: &str) -> Result<(String, PathBuf), String> {
    let (title, file) = text.split_once('=').ok_or("a section is TITLE=FILE")?;
    Ok((title.to_owned(), PathBuf::from(file)))
}

impl RequestOptions {
    /// The request, without a session key where neither a flag nor the JSON gives one.
    pub fn to_json(&self, home: &Home) -> anyhow::Result<Map<String, Value>> {
        let mut request = self.base_request()?;
        request.insert("home".into(), home.to_json());
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                request.insert(name.into(), value);
            }
        };
        set("session-key", self.session.clone().map(Value::from));
        set("main-key", self.main_key.clone().map(Value::from));
        set("now-ms", self.now.map(Value::from));
        set("utc-offset-minutes", self.utc_offset.map(Value::from));
        set("session-prompt", self.base.clone().map(Value::from));
        set("budget", self.budget.as_deref().map(budget).transpose()?);
        if let Some(file) = &self.tools {
            set(
                "tools",
                Some(parse(&read_text(file)?, &file.display().to_string())?),
            );
        }
        if !request.contains_key("now-ms") {
            request.insert("now-ms".into(), json!(now_ms()?));
        }
        request
            .entry("utc-offset-minutes")
            .or_insert_with(|| json!(0));
        self.add_sections(&mut request)?;
        self.add_runtime(&mut request)?;
        let environment = request.remove("environment").unwrap_or(Value::Null);
        request.insert("environment".into(), self.environment.over(environment)?);
        Ok(request)
    }

    /// Put the figures of flags into the request's budget.
    pub async fn add_limits(
        &self,
        caller: &Caller,
        request: &mut Map<String, Value>,
    ) -> anyhow::Result<()> {
        let name = self.budget.as_deref();
        if let Some(budget) = self.limits.budget_with_days(caller, name).await? {
            request.insert("budget".into(), budget);
        }
        Ok(())
    }

    fn add_sections(&self, request: &mut Map<String, Value>) -> anyhow::Result<()> {
        let sections = request.entry("sections").or_insert_with(|| json!([]));
        for (title, file) in &self.section {
            let Value::Array(sections) = &mut *sections else {
                return Err(wrong("`sections` of the request is no list"));
            };
            sections.push(json!({ "title": title, "text": read_text(file)? }));
        }
        Ok(())
    }

    fn add_runtime(&self, request: &mut Map<String, Value>) -> anyhow::Result<()> {
        let runtime = request.entry("runtime").or_insert_with(|| json!({}));
        let Value::Object(runtime) = runtime else {
            return Err(wrong("`runtime` of the request is no object"));
        };
        let given = [
            ("model", &self.model),
            ("time-zone", &self.time_zone),
            ("channel", &self.channel),
        ];
        for (name, value) in given
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_ref()?)))
        {
            runtime.insert(name.into(), json!(value));
        }
        if !self.host.is_empty() {
            runtime.insert("hosts".into(), json!(self.host));
        }
        Ok(())
    }

    fn base_request(&self) -> anyhow::Result<Map<String, Value>> {
        let Some(file) = &self.request else {
            return Ok(Map::new());
        };
        match parse(&read_text(file)?, &file.display().to_string())? {
            Value::Object(members) => Ok(members),
            _ => Err(wrong(&format!(
                "{}: a request is a JSON object",
                file.display()
            ))),
        }
    }
}

fn wrong(message: &str) -> anyhow::Error {
    Failure::new(Code::Invalid, message).into()
}
