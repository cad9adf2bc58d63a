//! `haversack:core/projects`: projects and tasks of run-agent, each a few documents. The shapes are those of
//! `wit/core/projects.wit`, which is the manual.

mod create;
mod folders;
mod task;

use serde::{Deserialize, Serialize};

use crate::layout::System;
use crate::layout::concept::{Concept, require};
use crate::layout::run_agent::{ProjectId, TaskId, task_prefix};
use crate::limits::RUN_TEXT_BYTES_MAX;
use crate::ops::presence::holds_something;
use crate::protocol::document::Edited;
use crate::store::{ListRequest, Metered};
use crate::types::{Cost, Error, Home, Problem, Result};

pub use create::{create, create_task};
pub use folders::{folders, set_folders};
pub use task::{mark_done, reopen, set_state, task};

pub(super) const YAML: &str = "application/yaml";
pub(super) const MARKDOWN: &str = "text/markdown";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Folder {
    pub path: String,
    pub description: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HomeFolders {
    pub project_root: String,
    #[serde(default)]
    pub source_folders: Vec<Folder>,
    #[serde(default)]
    pub additional_folders: Vec<Folder>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CreateRequest {
    pub home: Home,
    pub request_id: String,
    pub folders: HomeFolders,
}

/// What became of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Written {
    pub key: String,
    pub changed: bool,
    pub repeat: bool,
    pub cost: Cost,
}

impl Written {
    pub(super) fn of(key: String, edited: &Edited, store: &Metered<'_>) -> Self {
        Self {
            key,
            changed: edited.changed,
            repeat: edited.repeat,
            cost: store.cost(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FoldersAnswer {
    pub folders: Option<HomeFolders>,
    pub version: Option<String>,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SetFoldersRequest {
    pub home: Home,
    pub request_id: String,
    #[serde(default)]
    pub version: Option<String>,
    pub folders: HomeFolders,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CreateTaskRequest {
    pub home: Home,
    pub request_id: String,
    pub at_ms: u64,
    #[serde(default)]
    pub at_ns: Option<u32>,
    pub pid: u32,
    pub seed: String,
    pub name: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TaskCreated {
    pub task: String,
    pub key: String,
    pub repeat: bool,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TaskAnswer {
    pub text: Option<String>,
    pub state: Option<String>,
    pub done: bool,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SetStateRequest {
    pub home: Home,
    pub task: String,
    pub request_id: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MarkDoneRequest {
    pub home: Home,
    pub task: String,
    pub request_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReopenAnswer {
    pub was_done: bool,
    pub cost: Cost,
}

/// The project of a home.
pub(super) fn project_of(home: &Home, concept: Concept) -> Result<ProjectId> {
    require(System::parse(&home.system)?, concept)?;
    ProjectId::parse(&home.id)
}

/// A project in which something new may be made: its name has to be one that the reference writes.
pub(super) fn new_project_of(home: &Home, concept: Concept) -> Result<ProjectId> {
    let project = project_of(home, concept)?;
    match project.is_canonical() {
        true => Ok(project),
        false => Err(Error::invalid(format!(
            "project {project}: a new project's id is a Java identifier, a letter, `_` or `$` and then digits, too; \
             names in kebab-case are only read"
        ))),
    }
}

pub(super) fn check_text(what: &str, text: &str) -> Result<()> {
    if text.len() <= RUN_TEXT_BYTES_MAX {
        return Ok(());
    }
    Err(Error::too_large(format!(
        "{what} of {} bytes, over {RUN_TEXT_BYTES_MAX}; nothing was written: put the rest into a file of the \
         workspace",
        text.len()
    )))
}

/// `not-found` unless something lies in the task's folder.
pub(super) fn require_task(store: &Metered<'_>, project: &ProjectId, task: &TaskId) -> Result<()> {
    let prefix = task_prefix(project, task);
    let listing = store.list(ListRequest {
        prefix: prefix.clone(),
        limit: Some(1),
        ..ListRequest::default()
    })?;
    match holds_something(&listing) {
        true => Ok(()),
        false => Err(Error::not_found(format!(
            "project {project} has no task {task}; projects.create-task makes one"
        ))
        .at(prefix)),
    }
}
