//! `haversack:core/prompt`: a system's prompt with its manifest. The shapes are those of
//! `wit/core/prompt.wit`; what each system puts in stands in a file of its own.

mod gsv;
mod hi_boss;
mod scaffold;

use serde::{Deserialize, Serialize};

use crate::layout::System;
use crate::layout::concept::{Concept, require};
use crate::store::Store;
use crate::transform::eligibility::{Environment, Reason};
use crate::transform::truncate::policy::{self, Policy};
use crate::types::{Cost, Home, Problem, Result};

pub use crate::transform::compare::compare;
pub use crate::transform::manifest::Manifest;
pub use crate::transform::truncate::policy::presets;

/// A section of the caller's own, right after the base prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExtraSection {
    #[serde(default)]
    pub title: Option<String>,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tool {
    pub name: String,
    pub description: String,
}

/// What the Runtime section says besides agent and session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Runtime {
    pub model: Option<String>,
    pub time_zone: Option<String>,
    pub channel: Option<String>,
    pub hosts: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    Preset(String),
    Custom(Box<Policy>),
}

impl Budget {
    pub(crate) fn policy(&self) -> Result<Policy> {
        match self {
            Self::Preset(name) => policy::preset(name),
            Self::Custom(policy) => policy.check().map(|()| policy.as_ref().clone()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AssembleRequest {
    pub home: Home,
    pub session_key: String,
    #[serde(default)]
    pub main_key: Option<String>,
    pub now_ms: u64,
    pub utc_offset_minutes: i32,
    #[serde(default)]
    pub session_prompt: Option<String>,
    #[serde(default)]
    pub config_prompt: Option<String>,
    #[serde(default)]
    pub sections: Vec<ExtraSection>,
    #[serde(default)]
    pub tools: Vec<Tool>,
    #[serde(default)]
    pub runtime: Runtime,
    #[serde(default)]
    pub environment: Environment,
    #[serde(default)]
    pub budget: Option<Budget>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HiddenSkill {
    pub directory: String,
    pub key: String,
    pub reasons: Vec<Reason>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AssembleAnswer {
    pub text: String,
    pub manifest: Manifest,
    pub hidden_skills: Vec<HiddenSkill>,
    pub problems: Vec<Problem>,
    /// False when nothing lies in the home: a new one, or a misspelt one.
    pub home_exists: bool,
    pub cost: Cost,
}

/// Put a prompt together. `invalid` for a request that breaks a rule, `unsupported` for a system without
/// a prompt, else what the store answered for a file that cannot be read.
pub fn assemble(store: &dyn Store, request: &AssembleRequest) -> Result<AssembleAnswer> {
    let system = System::parse(&request.home.system)?;
    require(system, Concept::Prompt)?;
    match system {
        System::HiBoss => hi_boss::assemble(store, request),
        _ => gsv::assemble(store, request),
    }
}
