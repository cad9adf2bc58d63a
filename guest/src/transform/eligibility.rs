//! Who may see a skill, and why not (spec/gsv.md, "Skills"): the front matter's requirements, the
//! configuration's entry for the skill, the hosts that the agent can use. Knows no store, no key and no
//! file.

mod lacks;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::format::json_member;
use crate::format::skill::{Field, InvalidRequirement, Requirements, SkillHeader, unknown_value};
use crate::types::{Error, Result};

/// Requirements that replace those of the front matter, field by field; none leaves the field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RequirementsOverride {
    pub bins: Option<Vec<String>>,
    pub any_bins: Option<Vec<String>>,
    pub env: Option<Vec<String>>,
    pub config: Option<Vec<String>>,
    pub os: Option<Vec<String>>,
    pub host_roles: Option<Vec<String>>,
    pub capabilities: Option<Vec<String>>,
    pub any_capabilities: Option<Vec<String>>,
}

impl RequirementsOverride {
    fn field(&self, field: Field) -> Option<&Vec<String>> {
        match field {
            Field::Bins => self.bins.as_ref(),
            Field::AnyBins => self.any_bins.as_ref(),
            Field::Env => self.env.as_ref(),
            Field::Config => self.config.as_ref(),
            Field::Os => self.os.as_ref(),
            Field::HostRoles => self.host_roles.as_ref(),
            Field::Capabilities => self.capabilities.as_ref(),
            Field::AnyCapabilities => self.any_capabilities.as_ref(),
        }
    }
}

/// The configuration's entry for a skill, found by its name, directory, key or read path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Setting {
    pub skill: String,
    #[serde(default)]
    pub enabled: Option<bool>,
    #[serde(default)]
    pub always: Option<bool>,
    #[serde(default)]
    pub requires: Option<RequirementsOverride>,
}

/// A machine that the agent can use. One host must satisfy all of a skill's requirements.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Host {
    pub id: String,
    pub role: String,
    #[serde(default)]
    pub os: Option<String>,
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Names only.
    #[serde(default)]
    pub env: Vec<String>,
    #[serde(default)]
    pub bins: Vec<String>,
}

/// Against what eligibility is decided.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Environment {
    pub hosts: Vec<Host>,
    pub settings: Vec<Setting>,
    pub config_json: Option<String>,
}

/// Why a skill is hidden. The order is that of the listing's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReasonKind {
    Disabled,
    InvalidRequirements,
    NoHost,
    Unmet,
    Config,
    Unreadable,
    Shadowed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Reason {
    pub kind: ReasonKind,
    pub detail: String,
}

impl Reason {
    pub fn new(kind: ReasonKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
        }
    }
}

/// An environment that was checked, to decide about many skills.
pub struct Conditions<'a> {
    hosts: &'a [Host],
    settings: &'a [Setting],
    config: Option<&'a RawValue>,
}

impl<'a> Conditions<'a> {
    /// `invalid` when the configuration is not JSON, or names a skill twice.
    pub fn new(environment: &'a Environment) -> Result<Self> {
        let config = environment.config_json.as_deref();
        let mut named = BTreeSet::new();
        for setting in &environment.settings {
            if !named.insert(setting.skill.as_str()) {
                return Err(Error::invalid(format!(
                    "environment.settings has two entries for `{}`; join them",
                    setting.skill
                )));
            }
        }
        Ok(Self {
            hosts: &environment.hosts,
            settings: &environment.settings,
            config: config
                .map(|json| json_member::parse("environment.config-json", json))
                .transpose()?,
        })
    }
}

/// What a skill can be called in the configuration.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    pub name: &'a str,
    pub directory: &'a str,
    pub key: &'a str,
    pub read_path: &'a str,
}

/// Whether a skill is shown, and what was decided upon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// Empty: it is shown.
    pub reasons: Vec<Reason>,
    /// After the configuration's say.
    pub always: bool,
    pub requires: Requirements,
}

/// Decide about one skill: a setting that disables; then, of the front matter as the setting overrides
/// it, invalid requirements unless `always`, `always`, no requirements, one host for all, the
/// configuration. The host's and the configuration's reasons are given together.
pub fn decide(header: &SkillHeader, names: Names<'_>, conditions: &Conditions<'_>) -> Decision {
    let setting = setting_of(names, conditions.settings);
    let mut invalid: Vec<String> = Vec::new();
    let requires = requirements_of(header, setting, &mut invalid);
    let always = setting
        .and_then(|setting| setting.always)
        .unwrap_or(header.always);
    let decided = |reasons| Decision {
        reasons,
        always,
        requires: requires.clone(),
    };
    if let Some(setting) = setting
        && setting.enabled == Some(false)
    {
        let detail = format!("the setting `{}` says enabled: false", setting.skill);
        return decided(vec![Reason::new(ReasonKind::Disabled, detail)]);
    }
    if always {
        return decided(Vec::new());
    }
    if !invalid.is_empty() {
        let detail = invalid.join("; ");
        return decided(vec![Reason::new(ReasonKind::InvalidRequirements, detail)]);
    }
    let mut reasons = Vec::new();
    reasons.extend(lacks::of_hosts(&requires, conditions.hosts));
    reasons.extend(lacks::of_config(&requires.config, conditions.config));
    decided(reasons)
}

/// The setting for a skill: the first that its name finds, else its directory, key, read path.
fn setting_of<'s>(names: Names<'_>, settings: &'s [Setting]) -> Option<&'s Setting> {
    [names.name, names.directory, names.key, names.read_path]
        .into_iter()
        .find_map(|name| settings.iter().find(|setting| setting.skill == name))
}

/// The front matter's requirements, field by field replaced by the setting's; what is not of a known
/// shape after that goes into `invalid`.
fn requirements_of(
    header: &SkillHeader,
    setting: Option<&Setting>,
    invalid: &mut Vec<String>,
) -> Requirements {
    let mut requires = header.requires.clone();
    let replaced = setting.and_then(|setting| setting.requires.as_ref());
    let replaces = |field: Field| replaced.and_then(|replaced| replaced.field(field));
    for InvalidRequirement {
        field,
        line,
        message,
    } in &header.invalid_requirements
    {
        if field.and_then(replaces).is_none() {
            invalid.push(format!("line {line}: {message}"));
        }
    }
    for field in Field::ALL {
        if let Some(values) = replaces(field) {
            requires.field_mut(field).clone_from(values);
            if let Some(message) = unknown_value(field, values) {
                invalid.push(format!("in the setting: {message}"));
            }
        }
    }
    requires
}

#[cfg(test)]
mod tests;
