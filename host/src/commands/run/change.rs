//! Changing how a task and a run stand.

use clap::Args;
use serde_json::json;

use super::Task;
use super::create::say;
use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::change::{RequestId, TextSource};
use crate::commands::clock::moment;
use crate::commands::output;

/// How to go on when somebody else was there first.
const AFTER: &str = "run it again";

#[derive(Debug, Args)]
pub struct State {
    #[command(flatten)]
    task: Task,
    #[command(flatten)]
    text: TextSource,
    #[command(flatten)]
    request_id: RequestId,
}

impl State {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let text = self.text.read()?;
        let caller = Caller::over_store(shared, Some(&self.task.home.system))?;
        let home = self.task.home.to_json();
        let request = json!({ "home": home, "task": self.task.task, "text": text });
        let call = self
            .request_id
            .call(&caller, "projects", "set-state", request, AFTER);
        let answer = call.await?;
        say(shared, &answer, &answer["key"])
    }
}

#[derive(Debug, Args)]
pub struct Done {
    #[command(flatten)]
    task: Task,
    /// Delete DONE instead, so that the task goes on
    #[arg(long)]
    reopen: bool,
    #[command(flatten)]
    request_id: RequestId,
}

impl Done {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.task.home.system))?;
        let task = json!({ "home": self.task.home.to_json(), "task": self.task.task });
        let (answer, said) = match self.reopen {
            true => {
                let answer = caller.call("projects", "reopen", task).await?;
                let said = match answer["was-done"] == true {
                    true => "reopened",
                    false => "was not done",
                };
                (answer, said)
            }
            false => {
                let call = self
                    .request_id
                    .call(&caller, "projects", "mark-done", task, AFTER);
                let answer = call.await?;
                let said = match answer["changed"] == true {
                    true => "done",
                    false => "was done already",
                };
                (answer, said)
            }
        };
        match shared.json {
            true => output::json(&answer),
            false => output::text(said),
        }
    }
}

#[derive(Debug, Args)]
pub struct Update {
    #[command(flatten)]
    task: Task,
    /// The run, as start prints it
    run: String,
    /// running, completed, failed or another word
    #[arg(long, value_name = "WORD")]
    status: Option<String>,
    #[arg(long, value_name = "CODE", allow_hyphen_values = true)]
    exit_code: Option<i32>,
    /// When it began
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    start: Option<u64>,
    /// When it ended
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    end: Option<u64>,
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    #[arg(long, value_name = "PGID")]
    pgid: Option<u32>,
    #[arg(long, value_name = "PATH")]
    cwd: Option<String>,
    #[arg(long, value_name = "PATH")]
    output_path: Option<String>,
    #[arg(long, value_name = "NAME")]
    backend_provider: Option<String>,
    #[arg(long, value_name = "NAME")]
    backend_model: Option<String>,
    #[arg(long, value_name = "URL")]
    backend_endpoint: Option<String>,
    /// What went wrong, on a line
    #[arg(long, value_name = "TEXT")]
    error_summary: Option<String>,
    #[command(flatten)]
    request_id: RequestId,
    /// The command, stored with secrets redacted
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Update {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.task.home.system))?;
        let request = json!({
            "home": self.task.home.to_json(),
            "task": self.task.task,
            "run": self.run,
            "status": self.status,
            "exit-code": self.exit_code,
            "start-ms": self.start,
            "end-ms": self.end,
            "agent": self.agent,
            "pid": self.pid,
            "pgid": self.pgid,
            "cwd": self.cwd,
            "output-path": self.output_path,
            "backend-provider": self.backend_provider,
            "backend-model": self.backend_model,
            "backend-endpoint": self.backend_endpoint,
            "command": self.command,
            "error-summary": self.error_summary,
        });
        let answer = self
            .request_id
            .call(&caller, "runs", "update", request, AFTER)
            .await?;
        say(shared, &answer, &answer["key"])
    }
}
