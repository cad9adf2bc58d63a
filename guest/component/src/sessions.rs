//! `haversack:core/sessions`.

use haversack_core::ops::sessions as core;
use haversack_core::transform::reset_policy::ResetPolicy;

use crate::Component;
use crate::convert::{Convert, cases, record};
use crate::exports::haversack::core::sessions as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn append(request: wit::AppendRequest) -> Result<wit::AppendAnswer, wit::Error> {
        result(core::append(&Imported, &request.convert()))
    }

    fn mirror(request: wit::MirrorRequest) -> Result<wit::MirrorAnswer, wit::Error> {
        result(core::mirror(&Imported, &request.convert()))
    }

    fn history(request: wit::HistoryRequest) -> Result<wit::HistoryAnswer, wit::Error> {
        result(core::history(&Imported, &request.convert()))
    }

    fn context(request: wit::ContextRequest) -> Result<wit::ContextAnswer, wit::Error> {
        result(core::context(&Imported, &request.convert()))
    }

    fn status(request: wit::StatusRequest) -> Result<wit::StatusAnswer, wit::Error> {
        result(core::status(&Imported, &request.convert()))
    }

    fn list(request: wit::ListRequest) -> Result<wit::ListAnswer, wit::Error> {
        result(core::list(&Imported, &request.convert()))
    }

    fn due(request: wit::DueRequest) -> Result<wit::DueAnswer, wit::Error> {
        result(core::due(&Imported, &request.convert()))
    }

    fn reset_begin(request: wit::ResetBeginRequest) -> Result<wit::ResetAnswer, wit::Error> {
        result(core::reset_begin(&Imported, &request.convert()))
    }

    fn reset_resume(request: wit::ResetResumeRequest) -> Result<wit::ResetAnswer, wit::Error> {
        result(core::reset_resume(&Imported, &request.convert()))
    }

    fn reset_commit(request: wit::ResetCommitRequest) -> Result<wit::ResetAnswer, wit::Error> {
        result(core::reset_commit(&Imported, &request.convert()))
    }

    fn transcript(request: wit::TranscriptRequest) -> Result<wit::TranscriptAnswer, wit::Error> {
        result(core::transcript(&Imported, &request.convert()))
    }
}

record!(wit::AppendRequest => core::AppendRequest {
    home, session_key, request_id, seed, now_ms, messages
});
record!(core::AppendAnswer => wit::AppendAnswer { session_id, ids, repeat, cost; list problems });
record!(wit::MirrorRequest => core::MirrorRequest {
    home, session_key, session_id, first, messages, now_ms
});
record!(core::MirrorAnswer => wit::MirrorAnswer { session_id, next, repeat, cost; list problems });
record!(wit::HistoryRequest => core::HistoryRequest { home, session_key, session_id, count, before });
record!(core::SessionMessage => wit::SessionMessage { id, json, is_summary });
record!(core::HistoryAnswer => wit::HistoryAnswer {
    session_id, before, bytes_ended, cost; list messages, problems
});
record!(wit::ContextRequest => core::ContextRequest { home, session_key });
cases!(core::RepairKind => wit::RepairKind { NoResult, LeftOut, Moved });
record!(core::Repair => wit::Repair { kind, id });
record!(core::ContextAnswer => wit::ContextAnswer {
    session_id, estimated_tokens, cost; list messages, repairs, problems
});
record!(wit::StatusRequest => core::StatusRequest { home, session_key });
record!(core::Counts => wit::Counts { messages, input_tokens, output_tokens, total_tokens });
cases!(core::PendingKind => wit::PendingKind { Reset, Compaction });
record!(core::PendingStep => wit::PendingStep { kind, request_id, at_ms, stage });
record!(core::StatusAnswer => wit::StatusAnswer {
    session_id, previous, epoch, last_activity_ms, has_messages, counts, pending, cost
});
record!(wit::ListRequest => core::ListRequest { home, cursor, limit });
cases!(core::SessionKind => wit::SessionKind { Live, Archive, Part });
cases!(core::CountsFrom => wit::CountsFrom { State, Metadata, Content, Unknown });
record!(core::SessionItem => wit::SessionItem {
    kind, key, session_key, session_id, part_ms, at_ms, size_bytes, messages, input_tokens, output_tokens,
    total_tokens, counts_from
});
record!(core::ListAnswer => wit::ListAnswer { next, cost; list sessions, problems });
record!(wit::DueRequest => core::DueRequest {
    home, session_key, policy, now_ms, utc_offset_minutes, cursor
});
record!(core::DueSession => wit::DueSession { session_key, session_id, last_activity_ms });
record!(core::DueAnswer => wit::DueAnswer { next, cost; list due, problems });
record!(wit::ResetBeginRequest => core::ResetBeginRequest {
    home, session_key, request_id, session_id, seed, now_ms, utc_offset_minutes, keep_media, window_tokens
});
record!(wit::ResetResumeRequest => core::ResetResumeRequest { home, session_key, request_id, state, reply });
record!(wit::ResetCommitRequest => core::ResetCommitRequest { home, session_key, request_id, state });
cases!(core::ResetStep => wit::ResetStep { Nothing, Again, Ask, Commit, Done });
record!(core::ResetAnswer => wit::ResetAnswer {
    step, request_id, session_id, archived_session_id, archive, messages, ask, state, deleted_media, cost;
    list problems
});
record!(wit::TranscriptRequest => core::TranscriptRequest { home, session_id, parts, cursor, limit });
record!(core::TranscriptMessage => wit::TranscriptMessage { key, json, is_summary });
record!(core::TranscriptAnswer => wit::TranscriptAnswer { next, cost; list messages, problems });

impl Convert<ResetPolicy> for wit::ResetPolicy {
    fn convert(self) -> ResetPolicy {
        match self {
            Self::Manual => ResetPolicy::Manual,
            Self::Daily(daily) => ResetPolicy::Daily { hour: daily.hour },
            Self::Idle(idle) => ResetPolicy::Idle {
                minutes: idle.minutes,
            },
        }
    }
}
