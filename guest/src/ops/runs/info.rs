//! What a run-info.yaml says, read leniently: an id that is missing comes from the path.

use super::{InfoAnswer, RunInfo, RunPlace};
use crate::format::run_info;
use crate::format::text::decode;
use crate::layout::run_agent::{ProjectId, RunId, TaskId};
use crate::limits::RUN_FILE_BYTES_MAX;
use crate::store::{Blob, BodyKind, GetRequest, Metered, Range, Request, Store};
use crate::types::{Error, Home, Problem, ProblemKind, Result};

pub fn info(store: &dyn Store, home: &Home, task: &str, run: &str) -> Result<InfoAnswer> {
    let store = Metered::new(store);
    let place = RunPlace::of(home, task, run)?;
    let key = place.info();
    let (task, run) = (&place.task, &place.run);
    let blob = store.get(get(&key))?.ok_or_else(|| {
        Error::not_found(format!(
            "task {task} has no run {run}; runs.tree lists those that it has"
        ))
        .at(&key)
    })?;
    let version = blob.stat.version.clone();
    let mut problems = Vec::new();
    let info = read(&key, blob, &mut problems).ok_or_else(|| {
        let causes: Vec<String> = problems
            .iter()
            .map(|problem| match problem.line {
                Some(line) => format!("line {line}: {}", problem.message),
                None => problem.message.clone(),
            })
            .collect();
        Error::invalid(format!("{key} cannot be read: {}", causes.join("; "))).at(&key)
    })?;
    Ok(InfoAnswer {
        info: with_ids(info, &place.project, task, run),
        key,
        version,
        problems,
        cost: store.cost(),
    })
}

/// The first 64 KiB, so that 256 fit into a wave.
pub(super) fn get(key: &str) -> GetRequest {
    GetRequest {
        key: key.to_owned(),
        range: Range::Span {
            start_bytes: 0,
            length_bytes: RUN_FILE_BYTES_MAX as u64,
        },
        kind: BodyKind::Text,
    }
}

pub(super) fn request(key: &str) -> Request {
    Request::Get(get(key))
}

/// None where it is no YAML, or too long; a problem says why.
pub(super) fn read(
    key: &str,
    blob: Blob,
    problems: &mut Vec<Problem>,
) -> Option<run_info::RunInfo> {
    if blob.stat.size_bytes > RUN_FILE_BYTES_MAX as u64 {
        let message = format!(
            "has {} bytes, over {RUN_FILE_BYTES_MAX}; it was not read",
            blob.stat.size_bytes
        );
        problems.push(Problem::new(ProblemKind::Unreadable, key, message));
        return None;
    }
    let decoded = decode(blob.body.into_bytes());
    problems.extend(decoded.damage.map(|(offset, line)| {
        let message = format!("is not UTF-8 from byte {offset} on; shown with U+FFFD");
        Problem::new(ProblemKind::Repaired, key, message).on_line(line)
    }));
    let (info, findings) = run_info::parse(&decoded.text);
    problems.extend(findings.into_iter().map(|finding| finding.at(key)));
    info
}

fn with_ids(info: run_info::RunInfo, project: &ProjectId, task: &TaskId, run: &RunId) -> RunInfo {
    RunInfo {
        run_id: info.run_id.unwrap_or_else(|| run.to_string()),
        parent_run_id: info.parent_run_id,
        previous_run_id: info.previous_run_id,
        project_id: info.project_id.unwrap_or_else(|| project.to_string()),
        task_id: info.task_id.unwrap_or_else(|| task.to_string()),
        agent: info.agent,
        pid: info.pid,
        pgid: info.pgid,
        start_ms: info.start_ms,
        end_ms: info.end_ms,
        exit_code: info.exit_code,
        status: info.status,
        cwd: info.cwd,
        prompt_path: info.prompt_path,
        output_path: info.output_path,
        stdout_path: info.stdout_path,
        stderr_path: info.stderr_path,
        backend_provider: info.backend_provider,
        backend_model: info.backend_model,
        backend_endpoint: info.backend_endpoint,
        commandline: info.commandline,
        error_summary: info.error_summary,
    }
}
