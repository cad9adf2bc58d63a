//! `haversack:core/memory`.

use haversack_core::ops::memory as core;

use crate::Component;
use crate::convert::{Convert, cases, record};
use crate::exports::haversack::core::memory as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn append(request: wit::AppendRequest) -> Result<wit::AppendAnswer, wit::Error> {
        result(core::append(&Imported, &request.convert()))
    }

    fn snapshot(request: wit::SnapshotRequest) -> Result<wit::SnapshotAnswer, wit::Error> {
        result(core::snapshot(&Imported, &request.convert()))
    }

    fn ensure(home: wit::Home, request_id: String) -> Result<wit::ChangeAnswer, wit::Error> {
        result(core::ensure(&Imported, &home.convert(), &request_id))
    }

    fn read(home: wit::Home, date: Option<String>) -> Result<wit::ReadAnswer, wit::Error> {
        result(core::read(&Imported, &home.convert(), date.as_deref()))
    }

    fn write(request: wit::WriteRequest) -> Result<wit::ChangeAnswer, wit::Error> {
        result(core::write(&Imported, &request.convert()))
    }

    fn promote(request: wit::PromoteRequest) -> Result<wit::ChangeAnswer, wit::Error> {
        result(core::promote(&Imported, &request.convert()))
    }

    fn prune(request: wit::PruneRequest) -> Result<wit::PruneAnswer, wit::Error> {
        result(core::prune(&Imported, &request.convert()))
    }

    fn backup_files(
        home: wit::Home,
        continue_from: Option<String>,
    ) -> Result<wit::BackupAnswer, wit::Error> {
        result(core::backup_files(
            &Imported,
            &home.convert(),
            continue_from.as_deref(),
        ))
    }
}

record!(wit::AppendRequest => core::AppendRequest {
    home, request_id, at_ms, utc_offset_minutes, text, allow_secrets
});
record!(core::AppendAnswer => wit::AppendAnswer {
    key, version, repeat, size_bytes, cost; list problems
});
record!(wit::SnapshotRequest => core::SnapshotRequest {
    home, session_key, main_key, now_ms, utc_offset_minutes, days, budget
});
record!(core::Note => wit::Note { key, date, version, text, size_bytes });
record!(core::SnapshotAnswer => wit::SnapshotAnswer { text, cost; list notes, cuts, problems });
record!(core::ChangeAnswer => wit::ChangeAnswer {
    key, version, changed, repeat, size_bytes, cost; list problems
});
record!(core::ReadAnswer => wit::ReadAnswer { key, version, text, size_bytes, cost; list problems });
record!(wit::WriteRequest => core::WriteRequest { home, request_id, text, version, allow_secrets });
record!(wit::PromoteRequest => core::PromoteRequest {
    home, request_id, date, version, allow_secrets, lines
});
cases!(wit::Pruned => core::Pruned { Before(date), KeepDays(days) });
record!(wit::PruneRequest => core::PruneRequest {
    home, request_id, pruned, now_ms, utc_offset_minutes, dry_run, continue_from
});
record!(core::PrunedDay => wit::PrunedDay { date, key, size_bytes });
record!(core::PruneAnswer => wit::PruneAnswer {
    before, continue_from, cost; list days, problems
});
record!(core::BackupFile => wit::BackupFile { key, size_bytes });
record!(core::BackupAnswer => wit::BackupAnswer { continue_from, cost; list files, problems });
