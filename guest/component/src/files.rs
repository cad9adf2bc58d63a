//! `haversack:core/files`.

use haversack_core::ops::files as core;

use crate::Component;
use crate::convert::{Convert, record};
use crate::exports::haversack::core::files as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn list(
        viewer: wit::Viewer,
        directory: String,
        continue_from: Option<String>,
    ) -> Result<wit::ListAnswer, wit::Error> {
        let viewer = viewer.convert();
        result(core::list(&Imported, &viewer, &directory, continue_from))
    }

    fn read(
        viewer: wit::Viewer,
        path: String,
        start_bytes: Option<u64>,
    ) -> Result<wit::ReadAnswer, wit::Error> {
        result(core::read(&Imported, &viewer.convert(), &path, start_bytes))
    }

    fn read_lines(request: wit::LinesRequest) -> Result<wit::LinesAnswer, wit::Error> {
        result(core::read_lines(&Imported, &request.convert()))
    }

    fn write(request: wit::WriteRequest) -> Result<wit::ChangeAnswer, wit::Error> {
        result(core::write(&Imported, &request.convert()))
    }

    fn edit(request: wit::EditRequest) -> Result<wit::ChangeAnswer, wit::Error> {
        result(core::edit(&Imported, &request.convert()))
    }

    fn rename(request: wit::RenameRequest) -> Result<wit::ChangeAnswer, wit::Error> {
        result(core::rename(&Imported, &request.convert()))
    }

    fn remove(request: wit::RemoveRequest) -> Result<wit::ChangeAnswer, wit::Error> {
        result(core::remove(&Imported, &request.convert()))
    }

    fn glob(
        viewer: wit::Viewer,
        pattern: String,
        continue_from: Option<String>,
    ) -> Result<wit::GlobAnswer, wit::Error> {
        let viewer = viewer.convert();
        result(core::glob(&Imported, &viewer, &pattern, continue_from))
    }

    fn grep(request: wit::GrepRequest) -> Result<wit::GrepAnswer, wit::Error> {
        result(core::grep(&Imported, &request.convert()))
    }
}

impl Convert<core::Expected> for wit::Expected {
    fn convert(self) -> core::Expected {
        match self {
            Self::Any => core::Expected::Any,
            Self::Absent => core::Expected::Absent,
            Self::Version(version) => core::Expected::Version(version),
        }
    }
}

record!(wit::Viewer => core::Viewer { home, session_key, main_key, user, ticket });
record!(wit::LinesRequest => core::LinesRequest { viewer, path, first_line, lines });
record!(core::LinesAnswer => wit::LinesAnswer {
    path, key, version, text, lines, next_line, size_bytes, writable, cost; list problems
});
record!(wit::WriteRequest => core::WriteRequest { viewer, request_id, path, text, expected });
record!(wit::EditRequest => core::EditRequest {
    viewer, request_id, path, version, old, new, everywhere
});
record!(wit::RenameRequest => core::RenameRequest { viewer, request_id, from, to });
record!(wit::RemoveRequest => core::RemoveRequest { viewer, request_id, path, version });
record!(wit::GrepRequest => core::GrepRequest {
    viewer, pattern, ignore_case, glob, continue_from
});
record!(core::File => wit::File { path, key, size_bytes, modified_ms, version, writable });
record!(core::ListAnswer => wit::ListAnswer { directories, continue_from, cost; list files, problems });
record!(core::ReadAnswer => wit::ReadAnswer {
    path, key, version, text, size_bytes, writable, next_bytes, cost; list problems
});
record!(core::ChangeAnswer => wit::ChangeAnswer { path, key, version, changed, repeat, cost });
record!(core::GlobAnswer => wit::GlobAnswer { continue_from, cost; list files, problems });
record!(core::Match => wit::Match { path, line, offset_bytes, text });
record!(core::GrepAnswer => wit::GrepAnswer { files, continue_from, cost; list matches, problems });
