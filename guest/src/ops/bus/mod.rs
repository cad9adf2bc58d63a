//! `haversack:core/bus`: messages between the runs of a project or a task, in a log that only grows. The shapes are
//! those of `wit/core/bus.wit`, which is the manual.

mod post;
mod read;

use serde::{Deserialize, Serialize};

use crate::format::bus::{BusEntries, Parent};
use crate::layout::System;
use crate::layout::concept::{Concept, require};
use crate::layout::log::LogKeys;
use crate::layout::run_agent::{ProjectId, TaskId};
use crate::protocol::log::Log;
use crate::store::Metered;
use crate::types::{Cost, Home, Problem, Result};

pub use post::post;
pub use read::read;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reference {
    pub msg_id: String,
    #[serde(default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub meta: Vec<(String, String)>,
}

impl Reference {
    fn of(parent: Parent) -> Self {
        Self {
            msg_id: parent.msg_id,
            kind: parent.kind,
            meta: parent.meta,
        }
    }

    fn to_parent(&self) -> Parent {
        Parent {
            msg_id: self.msg_id.clone(),
            kind: self.kind.clone(),
            meta: self.meta.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PostRequest {
    pub home: Home,
    #[serde(default)]
    pub task: Option<String>,
    pub request_id: String,
    pub at_ms: u64,
    #[serde(default)]
    pub at_ns: Option<u32>,
    pub pid: u32,
    pub kind: String,
    #[serde(default)]
    pub run: Option<String>,
    #[serde(default)]
    pub issue: Option<String>,
    #[serde(default)]
    pub parents: Vec<Reference>,
    #[serde(default)]
    pub links: Vec<String>,
    #[serde(default)]
    pub meta: Vec<(String, String)>,
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PostAnswer {
    pub msg_id: String,
    pub repeat: bool,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReadRequest {
    pub home: Home,
    #[serde(default)]
    pub task: Option<String>,
    #[serde(default)]
    pub limit: Option<u32>,
    #[serde(default)]
    pub before: Option<String>,
    #[serde(default)]
    pub since: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BusMessage {
    pub msg_id: Option<String>,
    pub at: Option<String>,
    pub at_ms: Option<u64>,
    pub kind: String,
    pub project_id: String,
    pub task_id: Option<String>,
    pub run_id: Option<String>,
    pub issue_id: Option<String>,
    pub parents: Vec<Reference>,
    pub links: Vec<String>,
    pub meta: Vec<(String, String)>,
    pub body: String,
    pub legacy: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReadAnswer {
    pub messages: Vec<BusMessage>,
    pub before: Option<String>,
    pub limit: u32,
    pub ended_early: bool,
    pub skipped: u32,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

/// Whose bus, and where it lies.
struct Bus {
    project: ProjectId,
    task: Option<TaskId>,
    keys: LogKeys,
}

impl Bus {
    fn of(home: &Home, task: Option<&str>) -> Result<Self> {
        require(System::parse(&home.system)?, Concept::MessageBus)?;
        let project = ProjectId::parse(&home.id)?;
        let task = task.map(TaskId::parse).transpose()?;
        Ok(Self {
            keys: match &task {
                None => LogKeys::project_bus(&project),
                Some(task) => LogKeys::task_bus(&project, task),
            },
            project,
            task,
        })
    }

    fn log<'a>(&'a self, store: &'a Metered<'a>) -> Log<'a> {
        Log {
            store,
            keys: &self.keys,
            format: &BusEntries,
        }
    }
}
