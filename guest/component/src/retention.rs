//! `haversack:core/retention`.

use haversack_core::ops::retention as core;

use crate::Component;
use crate::convert::{Convert, cases, record};
use crate::exports::haversack::core::retention as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn end(request: wit::EndRequest) -> Result<wit::EndAnswer, wit::Error> {
        result(core::end(&Imported, &request.convert()))
    }

    fn plan(request: wit::PlanRequest) -> Result<wit::PlanAnswer, wit::Error> {
        result(core::plan(&Imported, &request.convert()))
    }

    fn apply(request: wit::StepRequest) -> Result<wit::StepAnswer, wit::Error> {
        result(core::apply(&Imported, &request.convert()))
    }

    fn purge(request: wit::StepRequest) -> Result<wit::StepAnswer, wit::Error> {
        result(core::purge(&Imported, &request.convert()))
    }

    fn renew(request: wit::StepRequest) -> Result<wit::StepAnswer, wit::Error> {
        result(core::renew(&Imported, &request.convert()))
    }

    fn restore(request: wit::StepRequest) -> Result<wit::StepAnswer, wit::Error> {
        result(core::restore(&Imported, &request.convert()))
    }
}

cases!(wit::Ending => core::Ending { Cancelled, Expired });
cases!(core::Action => wit::Action { Keep, SoftDelete, Purge, ClearCopies, Attend });
cases!(core::Step => wit::Step { Done, Again, Wait, Kept, Blocked });
record!(wit::EndRequest => core::EndRequest { home, request_id, now_ms, ending, retention_days });
record!(core::EndAnswer => wit::EndAnswer { state, ended_ms, expires_ms, changed, repeat, cost });
record!(wit::PlanRequest => core::PlanRequest {
    system, now_ms, retention_days, grace_days, continue_from
});
record!(core::Planned => wit::Planned { home, state, since_ms, due_ms, action, why });
record!(core::PlanAnswer => wit::PlanAnswer { continue_from, cost; list users, problems });
record!(wit::StepRequest => core::StepRequest {
    home, request_id, now_ms, retention_days, grace_days, budget_requests, continue_from
});
record!(core::StepAnswer => wit::StepAnswer {
    step, state, why, to, objects, size_bytes, repeat, continue_from, retry_after_ms, cost; list problems
});
