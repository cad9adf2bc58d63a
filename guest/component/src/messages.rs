//! `haversack:core/messages`.

use haversack_core::ops::messages as core;

use crate::Component;
use crate::convert::{Convert, record};
use crate::exports::haversack::core::messages as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn append(request: wit::AppendRequest) -> Result<wit::AppendAnswer, wit::Error> {
        result(core::append(&Imported, &request.convert()))
    }

    fn history(request: wit::HistoryRequest) -> Result<wit::HistoryAnswer, wit::Error> {
        result(core::history(&Imported, &request.convert()))
    }

    fn refresh(request: wit::RefreshRequest) -> Result<wit::RefreshAnswer, wit::Error> {
        result(core::refresh(&Imported, &request.convert()))
    }
}

record!(wit::AppendRequest => core::AppendRequest { home, session_key, messages, tier });
record!(core::AppendAnswer => wit::AppendAnswer { repeat, cost; list problems });
record!(wit::HistoryRequest => core::HistoryRequest {
    home, session_key, limit, before, tier, now_ms
});
record!(core::ChatMessage => wit::ChatMessage { id, json });
record!(core::HistoryAnswer => wit::HistoryAnswer {
    before, limit, ended_early, skipped, withheld, cost; list messages, problems
});
record!(wit::RefreshRequest => core::RefreshRequest { home, session_key });
record!(core::RefreshAnswer => wit::RefreshAnswer {
    created_ms, updated_ms, message_count, size_bytes, last_message_id, again, cost; list problems
});
