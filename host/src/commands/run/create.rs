//! Making projects, tasks and runs.

use clap::Args;
use serde_json::{Value, json};

use super::Task;
use super::stamp::Stamp;
use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::change::{RequestId, TextSource, seed};
use crate::commands::home::Home;
use crate::commands::output;

#[derive(Debug, Args)]
pub struct CreateProject {
    /// The project, as run-agent:PROJECT
    home: Home,
    /// The folder that it lies in
    #[arg(long, value_name = "PATH")]
    root: String,
    /// A folder with its sources, and what lies there; may be given several times
    #[arg(long, value_name = "PATH=TEXT", value_parser = folder)]
    source: Vec<Value>,
    /// Another folder that it uses; may be given several times
    #[arg(long, value_name = "PATH=TEXT", value_parser = folder)]
    additional: Vec<Value>,
    #[command(flatten)]
    request_id: RequestId,
}

/// A path, and behind `=` what lies there.
fn folder(text: &str) -> Result<Value, String> {
    let (path, description) = text.split_once('=').unwrap_or((text, ""));
    Ok(json!({ "path": path, "description": description }))
}

impl CreateProject {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let request = json!({
            "home": self.home.to_json(),
            "folders": {
                "project-root": self.root,
                "source-folders": self.source,
                "additional-folders": self.additional,
            },
        });
        let after = "nothing was written";
        let answer = self
            .request_id
            .call(&caller, "projects", "create", request, after)
            .await?;
        say(shared, &answer, &answer["key"])
    }
}

#[derive(Debug, Args)]
pub struct CreateTask {
    /// The project, as run-agent:PROJECT
    home: Home,
    /// Its name, of which the folder's comes
    name: String,
    #[command(flatten)]
    text: TextSource,
    #[command(flatten)]
    stamp: Stamp,
}

impl CreateTask {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let text = self.text.read()?;
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let request = json!({
            "home": self.home.to_json(),
            "seed": seed(None, &self.name),
            "name": self.name,
            "text": text,
        });
        let answer = self
            .stamp
            .call(&caller, ("projects", "create-task"), request)
            .await?;
        say(shared, &answer, &answer["task"])
    }
}

#[derive(Debug, Args)]
pub struct Start {
    #[command(flatten)]
    task: Task,
    /// The program that runs, such as claude
    #[arg(long, value_name = "NAME")]
    agent: String,
    /// The run that started this one
    #[arg(long, value_name = "RUN")]
    parent: Option<String>,
    /// The run that this one restarts
    #[arg(long, value_name = "RUN")]
    previous: Option<String>,
    /// The folder that it runs in [default: this one]
    #[arg(long, value_name = "PATH")]
    cwd: Option<String>,
    /// Its process group [default: its process]
    #[arg(long, value_name = "PGID")]
    pgid: Option<u32>,
    #[arg(long, value_name = "NAME")]
    backend_provider: Option<String>,
    #[arg(long, value_name = "NAME")]
    backend_model: Option<String>,
    /// Stored without user info and secrets in its query
    #[arg(long, value_name = "URL")]
    backend_endpoint: Option<String>,
    #[command(flatten)]
    prompt: TextSource,
    #[command(flatten)]
    stamp: Stamp,
    /// The command, stored with secrets redacted
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Start {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let prompt = self.prompt.read()?;
        let caller = Caller::over_store(shared, Some(&self.task.home.system))?;
        let here = || std::env::current_dir().ok()?.to_str().map(str::to_owned);
        // A directory as an absolute path; a bucket has no paths, only keys.
        let root = std::fs::canonicalize(&caller.location).ok();
        let request = json!({
            "home": self.task.home.to_json(),
            "task": self.task.task,
            "pgid": self.pgid,
            "agent": self.agent,
            "prompt": prompt,
            "parent": self.parent,
            "previous": self.previous,
            "cwd": self.cwd.clone().or_else(here).unwrap_or_default(),
            "root": root.as_deref().and_then(std::path::Path::to_str),
            "backend-provider": self.backend_provider,
            "backend-model": self.backend_model,
            "backend-endpoint": self.backend_endpoint,
            "command": self.command,
        });
        let answer = self
            .stamp
            .call(&caller, ("runs", "create"), request)
            .await?;
        say(shared, &answer, &answer["run"])
    }
}

/// The answer, or the one word of it that a shell goes on with.
pub fn say(shared: &Shared, answer: &Value, word: &Value) -> anyhow::Result<()> {
    match shared.json {
        true => output::json(answer),
        false => output::text(word.as_str().unwrap_or_default()),
    }
}
