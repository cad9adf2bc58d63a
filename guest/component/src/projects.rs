//! `haversack:core/projects`.

use haversack_core::ops::projects as core;

use crate::Component;
use crate::convert::{Convert, record};
use crate::exports::haversack::core::projects as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn create(request: wit::CreateRequest) -> Result<wit::Written, wit::Error> {
        result(core::create(&Imported, &request.convert()))
    }

    fn folders(home: wit::Home) -> Result<wit::FoldersAnswer, wit::Error> {
        result(core::folders(&Imported, &home.convert()))
    }

    fn set_folders(request: wit::SetFoldersRequest) -> Result<wit::Written, wit::Error> {
        result(core::set_folders(&Imported, &request.convert()))
    }

    fn create_task(request: wit::CreateTaskRequest) -> Result<wit::TaskCreated, wit::Error> {
        result(core::create_task(&Imported, &request.convert()))
    }

    fn task(home: wit::Home, task: String) -> Result<wit::TaskAnswer, wit::Error> {
        result(core::task(&Imported, &home.convert(), &task))
    }

    fn set_state(request: wit::SetStateRequest) -> Result<wit::Written, wit::Error> {
        result(core::set_state(&Imported, &request.convert()))
    }

    fn mark_done(request: wit::MarkDoneRequest) -> Result<wit::Written, wit::Error> {
        result(core::mark_done(&Imported, &request.convert()))
    }

    fn reopen(home: wit::Home, task: String) -> Result<wit::ReopenAnswer, wit::Error> {
        result(core::reopen(&Imported, &home.convert(), &task))
    }
}

record!(wit::Folder => core::Folder { path, description });
record!(core::Folder => wit::Folder { path, description });
record!(wit::HomeFolders => core::HomeFolders {
    project_root; list source_folders, additional_folders
});
record!(core::HomeFolders => wit::HomeFolders {
    project_root; list source_folders, additional_folders
});
record!(wit::CreateRequest => core::CreateRequest { home, request_id, folders });
record!(core::Written => wit::Written { key, changed, repeat, cost });
record!(core::FoldersAnswer => wit::FoldersAnswer { folders, version, cost; list problems });
record!(wit::SetFoldersRequest => core::SetFoldersRequest { home, request_id, version, folders });
record!(wit::CreateTaskRequest => core::CreateTaskRequest {
    home, request_id, at_ms, at_ns, pid, seed, name, text
});
record!(core::TaskCreated => wit::TaskCreated { task, key, repeat, cost });
record!(core::TaskAnswer => wit::TaskAnswer { text, state, done, cost; list problems });
record!(wit::SetStateRequest => core::SetStateRequest { home, task, request_id, text });
record!(wit::MarkDoneRequest => core::MarkDoneRequest { home, task, request_id });
record!(core::ReopenAnswer => wit::ReopenAnswer { was_done, cost });
