//! `haversack:core/tenants`.

use haversack_core::ops::tenants as core;

use crate::Component;
use crate::convert::{Convert, cases, list, record};
use crate::exports::haversack::core::tenants as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn open(request: wit::OpenRequest) -> Result<wit::OpenAnswer, wit::Error> {
        result(core::open(&Imported, &request.convert()))
    }

    fn status(request: wit::StatusRequest) -> Result<wit::StatusAnswer, wit::Error> {
        result(core::status(&Imported, &request.convert()))
    }

    fn touch(request: wit::TouchRequest) -> Result<wit::TouchAnswer, wit::Error> {
        result(core::touch(&Imported, &request.convert()))
    }

    fn tiers() -> Vec<wit::TierPreset> {
        list(core::tiers())
    }

    fn admit(request: wit::AdmitRequest) -> Result<wit::AdmitAnswer, wit::Error> {
        result(core::admit(&Imported, &request.convert()))
    }

    fn usage(request: wit::UsageRequest) -> Result<wit::UsageAnswer, wit::Error> {
        result(core::usage(&Imported, &request.convert()))
    }
}

cases!(core::UserState => wit::UserState {
    Active, Creating, Copying, Emptying, Restoring, Deleted, Purging, Purged
});
record!(wit::TemplateFile => core::TemplateFile { path, text });
record!(wit::OpenRequest => core::OpenRequest { home, now_ms, workspace, cursor; list template });
record!(core::Placement => wit::Placement { key, path, size_bytes });
record!(core::OpenAnswer => wit::OpenAnswer { created, next, cost; list files, problems });
record!(wit::StatusRequest => core::StatusRequest { home });
cases!(core::SubscriptionStatus => wit::SubscriptionStatus { Active, Cancelled, Expired });
record!(core::StatusAnswer => wit::StatusAnswer {
    state, created_ms, subscription, subscription_ended_ms, retention_expires_ms, last_active_ms, storage_used_bytes,
    cost; list problems
});
record!(wit::TouchRequest => core::TouchRequest { home, now_ms });
record!(core::TouchAnswer => wit::TouchAnswer { written, cost });
record!(wit::Limits => core::Limits { storage_bytes, history_days });
record!(core::Limits => wit::Limits { storage_bytes, history_days });
cases!(wit::Tier => core::Tier { Preset(name), Custom(limits) });
record!(core::TierPreset => wit::TierPreset { name, limits });
record!(wit::AdmitRequest => core::AdmitRequest { home, tier, more_bytes });
record!(core::AdmitAnswer => wit::AdmitAnswer { left_bytes, stored_bytes, cost; list problems });
record!(wit::UsageRequest => core::UsageRequest { home, pages, cursor, tier, repair });
cases!(core::Category => wit::Category { Config, Sessions, Workspace, Skills, Other, Meta });
record!(core::CategoryUsage => wit::CategoryUsage { category, objects, size_bytes });
record!(core::UsageAnswer => wit::UsageAnswer {
    objects, size_bytes, stored_bytes, repaired, left_bytes, next, cost; list categories, problems
});
