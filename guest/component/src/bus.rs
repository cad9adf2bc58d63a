//! `haversack:core/bus`.

use haversack_core::ops::bus as core;

use crate::Component;
use crate::convert::{Convert, record};
use crate::exports::haversack::core::bus as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn post(request: wit::PostRequest) -> Result<wit::PostAnswer, wit::Error> {
        result(core::post(&Imported, &request.convert()))
    }

    fn read(request: wit::ReadRequest) -> Result<wit::ReadAnswer, wit::Error> {
        result(core::read(&Imported, &request.convert()))
    }
}

record!(wit::Reference => core::Reference { msg_id, kind, meta });
record!(core::Reference => wit::Reference { msg_id, kind, meta });
record!(wit::PostRequest => core::PostRequest {
    home, task, request_id, at_ms, at_ns, pid, kind, run, issue, links, meta, body; list parents
});
record!(core::PostAnswer => wit::PostAnswer { msg_id, repeat, cost; list problems });
record!(wit::ReadRequest => core::ReadRequest { home, task, limit, before, since });
record!(core::BusMessage => wit::BusMessage {
    msg_id, at, at_ms, kind, project_id, task_id, run_id, issue_id, links, meta, body, legacy; list parents
});
record!(core::ReadAnswer => wit::ReadAnswer {
    before, limit, ended_early, skipped, cost; list messages, problems
});
