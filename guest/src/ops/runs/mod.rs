//! `haversack:core/runs`: executions of an agent within a task, and their tree. The shapes are those of
//! `wit/core/runs.wit`, which is the manual.

mod create;
mod info;
mod tree;
mod update;

use serde::{Deserialize, Serialize};

use crate::layout::concept::Concept;
use crate::layout::run_agent::{Place, ProjectId, RunId, TaskId};
use crate::limits::RUN_VALUE_BYTES_MAX;
use crate::types::{Cost, Error, Home, Problem, Result};

pub use super::projects::Written;
use super::projects::project_of;
pub use create::create;
pub use info::info;
pub use tree::tree;
pub use update::update;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CreateRequest {
    pub home: Home,
    pub task: String,
    pub request_id: String,
    pub at_ms: u64,
    #[serde(default)]
    pub at_ns: Option<u32>,
    pub pid: u32,
    #[serde(default)]
    pub pgid: Option<u32>,
    pub agent: String,
    pub prompt: String,
    #[serde(default)]
    pub parent: Option<String>,
    #[serde(default)]
    pub previous: Option<String>,
    pub cwd: String,
    #[serde(default)]
    pub root: Option<String>,
    #[serde(default)]
    pub backend_provider: Option<String>,
    #[serde(default)]
    pub backend_model: Option<String>,
    #[serde(default)]
    pub backend_endpoint: Option<String>,
    #[serde(default)]
    pub command: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RunCreated {
    pub run: String,
    pub key: String,
    pub repeat: bool,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UpdateRequest {
    pub home: Home,
    pub task: String,
    pub run: String,
    pub request_id: String,
    #[serde(default)]
    pub agent: Option<String>,
    #[serde(default)]
    pub pid: Option<u32>,
    #[serde(default)]
    pub pgid: Option<u32>,
    #[serde(default)]
    pub start_ms: Option<u64>,
    #[serde(default)]
    pub end_ms: Option<u64>,
    #[serde(default)]
    pub exit_code: Option<i32>,
    #[serde(default)]
    pub status: Option<String>,
    #[serde(default)]
    pub cwd: Option<String>,
    #[serde(default)]
    pub output_path: Option<String>,
    #[serde(default)]
    pub backend_provider: Option<String>,
    #[serde(default)]
    pub backend_model: Option<String>,
    #[serde(default)]
    pub backend_endpoint: Option<String>,
    #[serde(default)]
    pub command: Vec<String>,
    #[serde(default)]
    pub error_summary: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RunInfo {
    pub run_id: String,
    pub parent_run_id: Option<String>,
    pub previous_run_id: Option<String>,
    pub project_id: String,
    pub task_id: String,
    pub agent: Option<String>,
    pub pid: Option<u32>,
    pub pgid: Option<u32>,
    pub start_ms: Option<u64>,
    pub end_ms: Option<u64>,
    pub exit_code: Option<i32>,
    pub status: Option<String>,
    pub cwd: Option<String>,
    pub prompt_path: Option<String>,
    pub output_path: Option<String>,
    pub stdout_path: Option<String>,
    pub stderr_path: Option<String>,
    pub backend_provider: Option<String>,
    pub backend_model: Option<String>,
    pub backend_endpoint: Option<String>,
    pub commandline: Option<String>,
    pub error_summary: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct InfoAnswer {
    pub info: RunInfo,
    pub key: String,
    pub version: String,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TreeRequest {
    pub home: Home,
    #[serde(default)]
    pub task: Option<String>,
    #[serde(default)]
    pub continue_from: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    Root,
    Child,
    Earlier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    DanglingParent,
    DanglingPrevious,
    SharedPrevious,
    Cycle,
    Unreadable,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Node {
    pub run: String,
    pub depth: u32,
    pub relation: Relation,
    pub above: Option<String>,
    pub faults: Vec<Fault>,
    pub parent_run_id: Option<String>,
    pub previous_run_id: Option<String>,
    pub agent: Option<String>,
    pub status: Option<String>,
    pub start_ms: Option<u64>,
    pub end_ms: Option<u64>,
    pub exit_code: Option<i32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TaskTree {
    pub task: String,
    pub runs: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TreeAnswer {
    pub tasks: Vec<TaskTree>,
    pub continue_from: Option<String>,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

/// A run's folder.
struct RunPlace {
    project: ProjectId,
    task: TaskId,
    run: RunId,
}

impl RunPlace {
    fn of(home: &Home, task: &str, run: &str) -> Result<Self> {
        Ok(Self {
            project: project_of(home, Concept::Runs)?,
            task: TaskId::parse(task)?,
            run: RunId::parse(run)?,
        })
    }

    fn info(&self) -> String {
        let (project, task) = (self.project.clone(), self.task.clone());
        let run = self.run.clone();
        Place::RunInfo { project, task, run }.key()
    }
}

/// `too-large` for a value that no run-info.yaml should hold.
fn check_value(name: &str, value: &str) -> Result<()> {
    if value.len() <= RUN_VALUE_BYTES_MAX {
        return Ok(());
    }
    Err(Error::too_large(format!(
        "{name} has {} bytes, over {RUN_VALUE_BYTES_MAX}; nothing was written: shorten it",
        value.len()
    )))
}
