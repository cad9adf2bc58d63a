//! The interface `skills`: what there is, who may see it and why, and the text of one. The loading is
//! shared with the prompt, which asks for both lists in its own first wave. Spells no key.

mod load;
mod near_names;
mod read;

use serde::{Deserialize, Serialize};

pub use crate::format::skill::Requirements;
pub use crate::transform::eligibility::{
    Conditions, Environment, Host, Reason, ReasonKind, RequirementsOverride, Setting,
};
pub use load::{Loaded, list_requests, load, pages_of};
pub use read::read;

use crate::layout::System;
use crate::layout::concept::{self, Concept};
use crate::layout::skill_home::SkillHome;
use crate::ops::presence;
use crate::store::{Metered, Store};
use crate::types::{Cost, Home, Problem, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    Agent,
    Global,
}

/// A skill of a home, shown or hidden. `always` and `requires` are what was decided upon: the front
/// matter's as the setting overrides them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Skill {
    pub name: String,
    pub directory: String,
    pub origin: Origin,
    pub key: String,
    pub read_path: String,
    pub description: String,
    pub always: bool,
    pub emoji: Option<String>,
    pub homepage: Option<String>,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    pub allowed_tools: Option<Vec<String>>,
    pub requires: Requirements,
    pub install: Vec<String>,
    pub shown: bool,
    pub reasons: Vec<Reason>,
    pub size_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CatalogueRequest {
    pub home: Home,
    #[serde(default)]
    pub user: Option<String>,
    pub environment: Environment,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CatalogueAnswer {
    pub skills: Vec<Skill>,
    pub listing: String,
    pub problems: Vec<Problem>,
    /// False when nothing lies in the home: a new one, or a misspelt one.
    pub home_exists: bool,
    pub cost: Cost,
}

/// The arguments of `read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReadRequest {
    pub home: Home,
    pub skill: String,
    #[serde(default)]
    pub user: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReadAnswer {
    pub key: String,
    pub origin: Origin,
    pub version: String,
    pub text: String,
    pub size_bytes: u64,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

/// All skills of a home, in two waves: both lists, then every file.
pub fn catalogue(store: &dyn Store, request: &CatalogueRequest) -> Result<CatalogueAnswer> {
    let home = home_of(&request.home, request.user.as_deref())?;
    let conditions = Conditions::new(&request.environment)?;
    let store = Metered::new(store);
    let first_pages = pages_of(&home, store.read(list_requests(&home))?)?;
    let [own, _] = &first_pages;
    // A thread's skills are not its own: they say nothing of the thread.
    let seen = !home.shared_first() && presence::holds_something(own);
    let probe = (!seen).then(|| presence::probe(home.prefix()));
    let loaded = load(&store, &home, first_pages, probe, &conditions)?;
    Ok(CatalogueAnswer {
        listing: loaded.listing(),
        home_exists: seen || presence::exists(loaded.rider, &home.prefix())?,
        skills: loaded.skills,
        problems: loaded.problems,
        cost: store.cost(),
    })
}

fn home_of(home: &Home, user: Option<&str>) -> Result<SkillHome> {
    concept::require(System::parse(&home.system)?, Concept::Skills)?;
    SkillHome::parse(home, user)
}

#[cfg(test)]
mod tests;
