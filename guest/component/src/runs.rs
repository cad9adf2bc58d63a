//! `haversack:core/runs`.

use haversack_core::ops::runs as core;

use crate::Component;
use crate::convert::{Convert, cases, record};
use crate::exports::haversack::core::runs as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn create(request: wit::CreateRequest) -> Result<wit::RunCreated, wit::Error> {
        result(core::create(&Imported, &request.convert()))
    }

    fn update(request: wit::UpdateRequest) -> Result<wit::Written, wit::Error> {
        result(core::update(&Imported, &request.convert()))
    }

    fn info(home: wit::Home, task: String, run: String) -> Result<wit::InfoAnswer, wit::Error> {
        result(core::info(&Imported, &home.convert(), &task, &run))
    }

    fn tree(request: wit::TreeRequest) -> Result<wit::TreeAnswer, wit::Error> {
        result(core::tree(&Imported, &request.convert()))
    }
}

record!(wit::CreateRequest => core::CreateRequest {
    home, task, request_id, at_ms, at_ns, pid, pgid, agent, prompt, parent, previous, cwd, root, backend_provider,
    backend_model, backend_endpoint, command
});
record!(core::RunCreated => wit::RunCreated { run, key, repeat, cost });
record!(wit::UpdateRequest => core::UpdateRequest {
    home, task, run, request_id, agent, pid, pgid, start_ms, end_ms, exit_code, status, cwd, output_path,
    backend_provider, backend_model, backend_endpoint, command, error_summary
});
record!(core::RunInfo => wit::RunInfo {
    run_id, parent_run_id, previous_run_id, project_id, task_id, agent, pid, pgid, start_ms, end_ms, exit_code,
    status, cwd, prompt_path, output_path, stdout_path, stderr_path, backend_provider, backend_model,
    backend_endpoint, commandline, error_summary
});
record!(core::InfoAnswer => wit::InfoAnswer { info, key, version, cost; list problems });
record!(wit::TreeRequest => core::TreeRequest { home, task, continue_from });
cases!(core::Relation => wit::Relation { Root, Child, Earlier });
cases!(core::Fault => wit::Fault {
    DanglingParent, DanglingPrevious, SharedPrevious, Cycle, Unreadable
});
record!(core::Node => wit::Node {
    run, depth, relation, above, parent_run_id, previous_run_id, agent, status, start_ms, end_ms, exit_code;
    list faults
});
record!(core::TaskTree => wit::TaskTree { task; list runs });
record!(core::TreeAnswer => wit::TreeAnswer { continue_from, cost; list tasks, problems });
