//! `haversack:core/skills`.

use haversack_core::format::skill::Requirements;
use haversack_core::ops::skills as core;
use haversack_core::transform::eligibility as decide;

use crate::Component;
use crate::convert::{Convert, cases, record};
use crate::exports::haversack::core::skills as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn catalogue(request: wit::CatalogueRequest) -> Result<wit::CatalogueAnswer, wit::Error> {
        result(core::catalogue(&Imported, &request.convert()))
    }

    fn read(
        home: wit::Home,
        skill: String,
        user: Option<String>,
    ) -> Result<wit::ReadAnswer, wit::Error> {
        let home = home.convert();
        result(core::read(&Imported, &home, &skill, user.as_deref()))
    }
}

cases!(core::Origin => wit::Origin { Agent, Global });
cases!(decide::ReasonKind => wit::ReasonKind {
    Disabled, InvalidRequirements, NoHost, Unmet, Config, Unreadable, Shadowed,
});
record!(wit::RequirementsOverride => decide::RequirementsOverride {
    bins, any_bins, env, config, os, host_roles, capabilities, any_capabilities
});
record!(wit::Setting => decide::Setting { skill, enabled, always, requires });
record!(wit::Host => decide::Host { id, role, os, capabilities, env, bins });
record!(wit::Environment => decide::Environment { config_json; list hosts, settings });
record!(wit::CatalogueRequest => core::CatalogueRequest { home, user, environment });
record!(Requirements => wit::Requirements {
    bins, any_bins, env, config, os, host_roles, capabilities, any_capabilities
});
record!(decide::Reason => wit::Reason { kind, detail });
record!(core::Skill => wit::Skill {
    name, directory, origin, key, read_path, description, always, emoji, homepage, license, compatibility,
    allowed_tools, requires, install, shown, size_bytes; list reasons
});
record!(core::CatalogueAnswer => wit::CatalogueAnswer { listing, home_exists, cost; list skills, problems });
record!(core::ReadAnswer => wit::ReadAnswer { key, origin, version, text, size_bytes, cost; list problems });
