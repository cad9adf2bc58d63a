//! Keys of run-agent: projects, tasks, runs, facts and the message buses with the segments of
//! spec/protocols.md. Knows no store and no format.

pub use super::field::{
    FactName, LineNumber, PathTail, ProjectId, RunId, SegmentHash, SegmentMs, TaskId, TaskSlug,
    Timestamp,
};
use super::{System, pattern::places};

/// Everything of a project: `proj/`.
pub fn project_prefix(project: &ProjectId) -> String {
    format!("{project}/")
}

/// Everything of a task.
pub fn task_prefix(project: &ProjectId, task: &TaskId) -> String {
    format!("{project}/{task}/")
}

/// The runs of a task.
pub fn runs_prefix(project: &ProjectId, task: &TaskId) -> String {
    format!("{project}/{task}/runs/")
}

/// Stands before every task of a project, and behind its facts.
pub fn tasks_begin(project: &ProjectId) -> String {
    format!("{project}/task-")
}

/// The folder in which the facts of a project or a task lie, and how their keys begin.
pub fn facts_begin(project: &ProjectId, task: Option<&TaskId>) -> (String, String) {
    let (prefix, word) = match task {
        None => (project_prefix(project), "FACT-"),
        Some(task) => (task_prefix(project, task), "TASK-FACTS-"),
    };
    let begin = format!("{prefix}{word}");
    (prefix, begin)
}

/// What belongs to a project.
pub fn home_prefixes(project: &ProjectId) -> Vec<String> {
    vec![project_prefix(project)]
}

/// Whether a listed key, or a folded prefix, one level below a directory shows that the directory is
/// a project: a file that projects have, a task, or the segments of a bus.
pub fn shows_project(listed: &str) -> bool {
    let is_named = |key: &str| {
        Place::parse(key).is_some_and(|place| !matches!(place, Place::ProjectFile { .. }))
    };
    match listed.strip_suffix('/') {
        None => is_named(listed),
        // A folder is a task's when a file in it would be.
        Some(folder) => folder.ends_with("/PROJECT-MESSAGE-BUS") || is_named(&format!("{listed}x")),
    }
}

places! { System::RunAgent;
    /// The messages of a project; on a store that does not append, the newest of them.
    ProjectBus "project-bus" { project: ProjectId } =
        "{project}/PROJECT-MESSAGE-BUS.md";
    /// A segment of the project's messages that is not folded in yet.
    ProjectBusSegment "project-bus-segment" { project: ProjectId, ms: SegmentMs, hash: SegmentHash } =
        "{project}/PROJECT-MESSAGE-BUS/new/{ms}-{hash}.md";
    /// Older messages of a project, sealed.
    SealedProjectBus "sealed-project-bus" { project: ProjectId, line: LineNumber, hash: SegmentHash } =
        "{project}/PROJECT-MESSAGE-BUS/old/{line}-{hash}.md";
    /// Which folders the project works in.
    HomeFolders "home-folders" { project: ProjectId } =
        "{project}/home-folders.md";
    /// Something that holds for the whole project.
    Fact "fact" { project: ProjectId, timestamp: Timestamp, name: FactName } =
        "{project}/FACT-{timestamp}-{name}.md";
    /// What the task is; written once.
    Task "task" { project: ProjectId, task: TaskId } =
        "{project}/{task}/TASK.md";
    /// How the task stands; overwritten whole.
    TaskState "task-state" { project: ProjectId, task: TaskId } =
        "{project}/{task}/TASK_STATE.md";
    /// Present when the task is done.
    TaskDone "task-done" { project: ProjectId, task: TaskId } =
        "{project}/{task}/DONE";
    /// The messages of a task; on a store that does not append, the newest of them.
    TaskBus "task-bus" { project: ProjectId, task: TaskId } =
        "{project}/{task}/TASK-MESSAGE-BUS.md";
    /// A segment of the task's messages that is not folded in yet.
    TaskBusSegment "task-bus-segment" { project: ProjectId, task: TaskId, ms: SegmentMs, hash: SegmentHash } =
        "{project}/{task}/TASK-MESSAGE-BUS/new/{ms}-{hash}.md";
    /// Older messages of a task, sealed.
    SealedTaskBus "sealed-task-bus" { project: ProjectId, task: TaskId, line: LineNumber, hash: SegmentHash } =
        "{project}/{task}/TASK-MESSAGE-BUS/old/{line}-{hash}.md";
    /// Something that holds for one task.
    TaskFacts "task-facts" { project: ProjectId, task: TaskId, timestamp: Timestamp } =
        "{project}/{task}/TASK-FACTS-{timestamp}.md";
    /// Ids, times, process and exit code of a run.
    RunInfo "run-info" { project: ProjectId, task: TaskId, run: RunId } =
        "{project}/{task}/runs/{run}/run-info.yaml";
    /// What the run was asked.
    RunPrompt "run-prompt" { project: ProjectId, task: TaskId, run: RunId } =
        "{project}/{task}/runs/{run}/prompt.md";
    /// What the run answered.
    RunOutput "run-output" { project: ProjectId, task: TaskId, run: RunId } =
        "{project}/{task}/runs/{run}/output.md";
    /// The run's standard output.
    RunStdout "run-stdout" { project: ProjectId, task: TaskId, run: RunId } =
        "{project}/{task}/runs/{run}/agent-stdout.txt";
    /// The run's standard error.
    RunStderr "run-stderr" { project: ProjectId, task: TaskId, run: RunId } =
        "{project}/{task}/runs/{run}/agent-stderr.txt";
    /// Any other file of a run.
    RunFile "run-file" { project: ProjectId, task: TaskId, run: RunId, path: PathTail } =
        "{project}/{task}/runs/{run}/{path}";
    /// Any other file of a task.
    TaskFile "task-file" { project: ProjectId, task: TaskId, path: PathTail } =
        "{project}/{task}/{path}";
    /// Any other file of a project.
    ProjectFile "project-file" { project: ProjectId, path: PathTail } =
        "{project}/{path}";
}
