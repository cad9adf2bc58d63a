//! `haversack:core/prompt`.

use haversack_core::ops::prompt as core;
use haversack_core::transform::{compare, manifest, truncate};

use crate::Component;
use crate::convert::{Convert, cases, list, record};
use crate::exports::haversack::core::prompt as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn assemble(request: wit::AssembleRequest) -> Result<wit::AssembleAnswer, wit::Error> {
        result(core::assemble(&Imported, &request.convert()))
    }

    fn compare(before: wit::Manifest, after: wit::Manifest) -> wit::Comparison {
        core::compare(&before.convert(), &after.convert()).convert()
    }

    fn presets() -> Vec<wit::Policy> {
        list(core::presets())
    }
}

/// Types that go both ways.
macro_rules! both {
    (cases $core:ty, $wit:ty { $($body:tt)+ }) => {
        cases!($core => $wit { $($body)+ });
        cases!($wit => $core { $($body)+ });
    };
    (record $core:path, $wit:path { $($body:tt)+ }) => {
        record!($core => $wit { $($body)+ });
        record!($wit => $core { $($body)+ });
    };
}

both!(cases truncate::Unit, wit::Unit { Bytes, Characters, Utf16, Tokens });
both!(cases truncate::policy::Shape, wit::Shape { HeadTail, NewestLines });
both!(cases truncate::policy::Spending, wit::Spending { PromptOrder, OldestDailyFirst });
both!(cases truncate::CutRule, wit::CutRule {
    ReadLimit, FileLimit, DailyLimit, DailyFiles, DailyTotalLimit, TotalLimit,
});
both!(cases manifest::Mode, wit::Mode { Normal, Bootstrap });
both!(cases manifest::Stability, wit::Stability { Stable, Volatile });
both!(record truncate::policy::NameLimit, wit::NameLimit { name, limit });
both!(record truncate::Policy, wit::Policy {
    name, unit, file_limit, file_marker, daily_limit, daily_marker, daily_total_limit, daily_total_marker,
    daily_files, total_limit, total_marker, spending, shape, head_percent, marker_counted, line_ends, smallest,
    warn_percent; list file_limits
});
both!(record truncate::KeptRange, wit::KeptRange { start_bytes, end_bytes });
both!(record truncate::Cut, wit::Cut { key, rule, unit, limit, total, kept; list ranges });
both!(record manifest::Section, wit::Section {
    title, key, hash, offset_bytes, length_bytes, bytes_before, bytes_after, tokens, stability; list cuts
});
both!(record manifest::Manifest, wit::Manifest {
    home, session_key, main, mode, today, yesterday, policy, hash, length_bytes, tokens, stable_bytes;
    list sections
});
cases!(wit::Budget => core::Budget { Preset(name), Custom(policy) });
record!(wit::ExtraSection => core::ExtraSection { title, text });
record!(wit::Tool => core::Tool { name, description });
record!(wit::Runtime => core::Runtime { model, time_zone, channel, hosts });
record!(wit::AssembleRequest => core::AssembleRequest {
    home, session_key, main_key, now_ms, utc_offset_minutes, session_prompt, config_prompt, runtime, environment,
    budget; list sections, tools
});
record!(core::HiddenSkill => wit::HiddenSkill { directory, key; list reasons });
record!(core::AssembleAnswer => wit::AssembleAnswer {
    text, manifest, home_exists, cost; list hidden_skills, problems
});
cases!(compare::Change => wit::Change { Changed, Added, Removed });
record!(compare::Difference => wit::Difference { change, index, title, key, stability, message });
record!(compare::Comparison => wit::Comparison { same, shared_bytes, first });
