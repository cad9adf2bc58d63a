//! Making a run: prompt.md takes the name, run-info.yaml makes it a run. Stopped between them, the repeat finishes.

use super::{CreateRequest, RunCreated, check_value};
use crate::format::run_info::{Fields, Set, render};
use crate::layout::concept::Concept;
use crate::layout::run_agent::{Place, RunId, TaskId};
use crate::limits::RUN_FILE_BYTES_MAX;
use crate::ops::projects::{MARKDOWN, YAML, check_text, project_of, require_task};
use crate::ops::stamp;
use crate::protocol::document::{Expected, replace};
use crate::protocol::request::RequestId;
use crate::store::{Metered, Store};
use crate::transform::redact;
use crate::types::{Error, Result};

/// What a run is while it runs.
const RUNNING: &str = "running";

pub fn create(store: &dyn Store, request: &CreateRequest) -> Result<RunCreated> {
    let store = Metered::new(store);
    let project = project_of(&request.home, Concept::Runs)?;
    let task = TaskId::parse(&request.task)?;
    let id = RequestId::parse(&request.request_id)?;
    let timestamp = stamp::timestamp(request.at_ms, request.at_ns, request.pid)?;
    check_text("a prompt", &request.prompt)?;
    let fields = fields(request)?;
    require_task(&store, &project, &task)?;
    let place = |run: &RunId, place: fn(_, _, _) -> Place| {
        place(project.clone(), task.clone(), run.clone()).key()
    };
    let prompt = |project, task, run| Place::RunPrompt { project, task, run };
    let named = stamp::create(&store, &id, MARKDOWN, request.prompt.as_bytes(), |number| {
        let run = RunId::parse(&timestamp.numbered(number))?;
        let key = place(&run, prompt);
        Ok((run, key))
    })?;
    let run = named.name;
    let paths = [
        ("prompt_path", named.key),
        (
            "output_path",
            place(&run, |project, task, run| Place::RunOutput {
                project,
                task,
                run,
            }),
        ),
        (
            "stdout_path",
            place(&run, |project, task, run| Place::RunStdout {
                project,
                task,
                run,
            }),
        ),
        (
            "stderr_path",
            place(&run, |project, task, run| Place::RunStderr {
                project,
                task,
                run,
            }),
        ),
    ];
    let root = request
        .root
        .as_deref()
        .map(|root| root.trim_end_matches('/'));
    let below = |key: String| match root {
        Some(root) => format!("{root}/{key}"),
        None => key,
    };
    let mut all: Fields = vec![
        ("run_id", Set::Text(run.to_string())),
        ("project_id", Set::Text(project.to_string())),
        ("task_id", Set::Text(task.to_string())),
    ];
    all.extend(fields);
    all.extend(paths.map(|(name, key)| (name, Set::Text(below(key)))));
    let text = render(&all);
    if text.len() > RUN_FILE_BYTES_MAX {
        return Err(Error::too_large(format!(
            "a run-info.yaml of {} bytes, over {RUN_FILE_BYTES_MAX}; shorten its values",
            text.len()
        )));
    }
    let key = place(&run, |project, task, run| Place::RunInfo {
        project,
        task,
        run,
    });
    let made = replace(&store, &key, &id, YAML, &Expected::Absent, text.as_bytes())?;
    Ok(RunCreated {
        run: run.to_string(),
        key,
        repeat: named.repeat && made.repeat,
        cost: store.cost(),
    })
}

fn fields(request: &CreateRequest) -> Result<Fields> {
    let mut fields: Fields = Vec::new();
    for (name, run) in [
        ("parent_run_id", &request.parent),
        ("previous_run_id", &request.previous),
    ] {
        if let Some(run) = run {
            RunId::parse(run)?;
            fields.push((name, Set::Text(run.clone())));
        }
    }
    if request.agent.is_empty() {
        return Err(Error::invalid(
            "agent is empty; it names the program that runs, such as claude",
        ));
    }
    let command = (!request.command.is_empty()).then(|| redact::command(&request.command));
    let endpoint = request.backend_endpoint.as_deref().map(redact::endpoint);
    for (name, value) in [
        ("agent", Some(&request.agent)),
        ("cwd", Some(&request.cwd)),
        ("backend_provider", request.backend_provider.as_ref()),
        ("backend_model", request.backend_model.as_ref()),
        ("backend_endpoint", endpoint.as_ref()),
        ("commandline", command.as_ref()),
    ] {
        if let Some(value) = value {
            check_value(name, value)?;
            fields.push((name, Set::Text(value.clone())));
        }
    }
    if let Some(root) = &request.root {
        check_value("root", root)?;
    }
    fields.extend([
        ("pid", Set::Number(request.pid.into())),
        (
            "pgid",
            Set::Number(request.pgid.unwrap_or(request.pid).into()),
        ),
        ("start_time", Set::Time(Some(request.at_ms))),
        ("status", Set::Text(RUNNING.to_owned())),
    ]);
    Ok(fields)
}
