//! `haversack:core/files`: the workspace tool of an agent. The shapes are those of `wit/core/files.wit`;
//! which path leads where stands in a file for each system, what is done there in a file for each kind of
//! call.

mod change;
mod gsv;
mod lines;
mod read;
mod rename;
mod search;
mod solven;
mod walk;

use serde::{Deserialize, Serialize};

use crate::layout::System;
use crate::layout::concept::{Concept, require};
use crate::store::{Metered, Store};
use crate::types::{Cost, Home, Problem, Result};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Viewer {
    pub home: Home,
    #[serde(default)]
    pub session_key: Option<String>,
    #[serde(default)]
    pub main_key: Option<String>,
    #[serde(default)]
    pub user: Option<String>,
    #[serde(default)]
    pub ticket: Option<String>,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Located {
    path: String,
    key: String,
    /// Where the file is read when there is none under `key`: a global skill behind an own one.
    fallback: Option<String>,
    writable: bool,
}

/// A prefix of the store under which a part of the workspace lies.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    /// What the keys begin with; a slash at its end.
    prefix: String,
    /// What the paths begin with instead.
    path: String,
    /// Hidden behind a file of the same path in an earlier mount.
    behind: bool,
}

/// What a viewer sees, by path and by key.
trait Workspace {
    /// What every path begins with; empty where paths are relative.
    fn root(&self) -> &'static str;
    /// Where the path of a file leads; `invalid` where it leads out, `denied` where this viewer may not read.
    fn locate(&self, path: &str) -> Result<Located>;
    /// The path of a directory with its slash; the root for the workspace itself.
    fn directory(&self, path: &str) -> Result<String>;
    /// A glob over paths as [`Workspace::see`] gives them.
    fn pattern(&self, glob: &str) -> String;
    /// Every part of the workspace, in the order in which one hides another.
    fn mounts(&self) -> Vec<Mount>;
    /// The file that a key of a mount is, if this viewer may read it; none hides it.
    fn see(&self, mount: &Mount, key: &str) -> Option<Located>;
    /// Why a key that lies in a mount is not seen.
    fn unseen(&self) -> &'static str;
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct File {
    pub path: String,
    pub key: String,
    pub size_bytes: u64,
    pub modified_ms: u64,
    pub version: Option<String>,
    pub writable: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ListAnswer {
    pub files: Vec<File>,
    pub directories: Vec<String>,
    pub problems: Vec<Problem>,
    pub continue_from: Option<String>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReadAnswer {
    pub path: String,
    pub key: String,
    pub version: String,
    pub text: String,
    pub size_bytes: u64,
    pub writable: bool,
    pub next_bytes: Option<u64>,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinesRequest {
    pub viewer: Viewer,
    pub path: String,
    #[serde(default)]
    pub first_line: Option<u32>,
    #[serde(default)]
    pub lines: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LinesAnswer {
    pub path: String,
    pub key: String,
    pub version: String,
    pub text: String,
    pub lines: u32,
    pub next_line: Option<u32>,
    pub size_bytes: u64,
    pub writable: bool,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    Any,
    Absent,
    Version(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ChangeAnswer {
    pub path: String,
    pub key: String,
    pub version: Option<String>,
    pub changed: bool,
    pub repeat: bool,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WriteRequest {
    pub viewer: Viewer,
    pub request_id: String,
    pub path: String,
    pub text: String,
    pub expected: Expected,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EditRequest {
    pub viewer: Viewer,
    pub request_id: String,
    pub path: String,
    #[serde(default)]
    pub version: Option<String>,
    pub old: String,
    pub new: String,
    #[serde(default)]
    pub everywhere: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RenameRequest {
    pub viewer: Viewer,
    pub request_id: String,
    pub from: String,
    pub to: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RemoveRequest {
    pub viewer: Viewer,
    pub request_id: String,
    pub path: String,
    #[serde(default)]
    pub version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct GlobAnswer {
    pub files: Vec<File>,
    pub problems: Vec<Problem>,
    pub continue_from: Option<String>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GrepRequest {
    pub viewer: Viewer,
    pub pattern: String,
    #[serde(default)]
    pub ignore_case: bool,
    #[serde(default)]
    pub glob: Option<String>,
    #[serde(default)]
    pub continue_from: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Match {
    pub path: String,
    pub line: u32,
    pub offset_bytes: u64,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct GrepAnswer {
    pub matches: Vec<Match>,
    pub files: u32,
    pub problems: Vec<Problem>,
    pub continue_from: Option<String>,
    pub cost: Cost,
}

fn workspace(viewer: &Viewer) -> Result<Box<dyn Workspace>> {
    let system = System::parse(&viewer.home.system)?;
    require(system, Concept::Files)?;
    Ok(match system {
        System::Solven => Box::new(solven::ThreadWorkspace::of(viewer)?),
        _ => Box::new(gsv::AgentWorkspace::of(viewer)?),
    })
}

/// What lies in a directory.
pub fn list(
    store: &dyn Store,
    viewer: &Viewer,
    directory: &str,
    continue_from: Option<String>,
) -> Result<ListAnswer> {
    let workspace = workspace(viewer)?;
    read::list(
        &Metered::new(store),
        workspace.as_ref(),
        directory,
        continue_from,
    )
}

/// The text of a file from an offset on.
pub fn read(
    store: &dyn Store,
    viewer: &Viewer,
    path: &str,
    start_bytes: Option<u64>,
) -> Result<ReadAnswer> {
    let workspace = workspace(viewer)?;
    read::read(
        &Metered::new(store),
        workspace.as_ref(),
        path,
        start_bytes.unwrap_or(0),
    )
}

/// Lines of a file with their numbers.
pub fn read_lines(store: &dyn Store, request: &LinesRequest) -> Result<LinesAnswer> {
    let workspace = workspace(&request.viewer)?;
    lines::read_lines(&Metered::new(store), workspace.as_ref(), request)
}

/// Write a file whole.
pub fn write(store: &dyn Store, request: &WriteRequest) -> Result<ChangeAnswer> {
    let workspace = workspace(&request.viewer)?;
    change::write(&Metered::new(store), workspace.as_ref(), request)
}

/// Replace literal text in a file.
pub fn edit(store: &dyn Store, request: &EditRequest) -> Result<ChangeAnswer> {
    let workspace = workspace(&request.viewer)?;
    change::edit(&Metered::new(store), workspace.as_ref(), request)
}

/// Move a file to a path that is free.
pub fn rename(store: &dyn Store, request: &RenameRequest) -> Result<ChangeAnswer> {
    let workspace = workspace(&request.viewer)?;
    rename::rename(&Metered::new(store), workspace.as_ref(), request)
}

/// Delete a file.
pub fn remove(store: &dyn Store, request: &RemoveRequest) -> Result<ChangeAnswer> {
    let workspace = workspace(&request.viewer)?;
    change::remove(&Metered::new(store), workspace.as_ref(), request)
}

/// Files whose path fits a pattern.
pub fn glob(
    store: &dyn Store,
    viewer: &Viewer,
    pattern: &str,
    continue_from: Option<String>,
) -> Result<GlobAnswer> {
    let workspace = workspace(viewer)?;
    search::glob(
        &Metered::new(store),
        workspace.as_ref(),
        pattern,
        continue_from,
    )
}

/// Lines that fit a pattern.
pub fn grep(store: &dyn Store, request: &GrepRequest) -> Result<GrepAnswer> {
    let workspace = workspace(&request.viewer)?;
    search::grep(&Metered::new(store), workspace.as_ref(), request)
}
