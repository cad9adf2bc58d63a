//! `haversack:core/media`.

use haversack_core::ops::media as core;

use crate::Component;
use crate::convert::{Convert, cases, list, record};
use crate::exports::haversack::core::media as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn plan(origin: wit::Origin, items: Vec<wit::Item>) -> Result<wit::PlanAnswer, wit::Error> {
        let items: Vec<core::Item> = list(items);
        result(core::plan(&origin.convert(), &items))
    }

    fn plan_message(
        origin: wit::Origin,
        message: String,
    ) -> Result<wit::PlanMessageAnswer, wit::Error> {
        result(core::plan_message(&origin.convert(), &message))
    }

    fn hydrate(
        session: wit::Session,
        messages: Vec<String>,
    ) -> Result<wit::HydrateAnswer, wit::Error> {
        result(core::hydrate(&Imported, &session.convert(), &messages))
    }

    fn discard(request: wit::DiscardRequest) -> Result<wit::DiscardAnswer, wit::Error> {
        result(core::discard(&Imported, &request.convert()))
    }
}

cases!(wit::Kind => core::Kind { Image, Audio, Video, Document });
cases!(core::Kind => wit::Kind { Image, Audio, Video, Document });
cases!(wit::Size => core::Size { Bytes(bytes), Base64(length) });
record!(wit::Base64Length => core::Base64Length { characters, padding });
record!(wit::Item => core::Item { mime_type, size, filename, kind });
record!(wit::Origin => core::Origin { session, seed, uploaded_at_ms });
record!(core::Planned => wit::Planned {
    key, content_type, size_bytes, kind, block; list metadata
});
record!(core::PlanAnswer => wit::PlanAnswer { ; list items, problems });
record!(core::PlannedBlock => wit::PlannedBlock { content_index, planned });
record!(core::PlanMessageAnswer => wit::PlanMessageAnswer { message; list blocks, problems });
record!(core::StoredBlock => wit::StoredBlock {
    message_index, content_index, key, kind, mime_type, size_bytes
});
record!(core::ChangedMessage => wit::ChangedMessage { message_index, message });
record!(core::HydrateAnswer => wit::HydrateAnswer { cost; list blocks, changed, problems });
record!(wit::Named => core::Named { messages, keys });
record!(wit::DiscardRequest => core::DiscardRequest {
    session, request_id, keep, discard, orphans_before_ms, dry_run, continue_from
});
record!(core::Medium => wit::Medium { key, size_bytes, uploaded_at_ms, orphan });
record!(core::DiscardAnswer => wit::DiscardAnswer {
    continue_from, cost; list discarded, kept, problems
});
