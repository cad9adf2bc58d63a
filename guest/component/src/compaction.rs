//! `haversack:core/compaction`.

use haversack_core::ops::compaction as core;

use crate::Component;
use crate::convert::{Convert, cases, record};
use crate::exports::haversack::core::compaction as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn should_compact(conditions: wit::Conditions) -> Result<wit::Verdict, wit::Error> {
        result(core::should_compact(&Imported, &conditions.convert()))
    }

    fn begin(request: wit::BeginRequest) -> Result<wit::Step, wit::Error> {
        result(core::begin(&Imported, &request.convert()))
    }

    fn resume(
        session: wit::Session,
        state: String,
        reply: wit::Reply,
    ) -> Result<wit::Step, wit::Error> {
        let (session, reply) = (session.convert(), reply.convert());
        result(core::resume(&Imported, &session, &state, &reply))
    }

    fn commit(request: wit::CommitRequest) -> Result<wit::CommitAnswer, wit::Error> {
        result(core::commit(&Imported, &request.convert()))
    }
}

record!(wit::Settings => core::Settings {
    enabled, reserve_tokens, keep_recent_tokens, extract_memories
});
record!(wit::Conditions => core::Conditions {
    session, window_tokens, system_tokens, settings
});
record!(core::Verdict => wit::Verdict {
    compact, messages, tokens, reported, usable_tokens, cost; list problems
});
record!(wit::BeginRequest => core::BeginRequest {
    conditions, force, with_model, now_ms, utc_offset_minutes
});
cases!(core::Tier => wit::Tier { Full, Partial, Plain });
record!(core::Question => wit::Question { prompt, tier, messages_done, messages_total });
record!(core::Summary => wit::Summary { text, memories, tier, messages });
cases!(core::Next => wit::Next { Nothing(why), Ask(question), Ready(summary) });
record!(core::Step => wit::Step { next, state, cost; list problems });
cases!(wit::Reply => core::Reply { Text(text), Failed(why) });
record!(wit::CommitRequest => core::CommitRequest { session, state, request_id, now_ms });
record!(core::Committed => wit::Committed {
    part_key, part_ms, removed_messages, summary_message, first_kept, first_kept_place, memory_key,
    repeat
});
record!(core::CommitAnswer => wit::CommitAnswer { committed, cost; list problems });
