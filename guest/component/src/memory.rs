//! `haversack:core/memory`.

use haversack_core::ops::memory as core;

use crate::Component;
use crate::convert::{Convert, record};
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
}

record!(wit::AppendRequest => core::AppendRequest {
    home, request_id, at_ms, utc_offset_minutes, text
});
record!(core::AppendAnswer => wit::AppendAnswer {
    key, version, repeat, size_bytes, cost; list problems
});
record!(wit::SnapshotRequest => core::SnapshotRequest {
    home, session_key, main_key, now_ms, utc_offset_minutes, days, budget
});
record!(core::Note => wit::Note { key, date, version, text, size_bytes });
record!(core::SnapshotAnswer => wit::SnapshotAnswer { text, cost; list notes, cuts, problems });
