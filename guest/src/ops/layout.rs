//! Interface `layout`: where things lie, what there is. Thin over [`crate::layout`]; spells no key.
//!
//! Types and functions are those of `wit/core/layout.wit`, which is their manual.

mod contents;
mod homes;

use serde::{Deserialize, Serialize};

pub use crate::layout::Place;
pub use crate::layout::concept::Support;
pub use crate::layout::session_key::{Conversation, Dm, DmScope, Room};
pub use contents::{ContentsPage, Item, Skipped, contents};
pub use homes::{HomesPage, homes};

use crate::layout::concept::{self, Concept};
use crate::layout::field::AgentId;
use crate::layout::session_key;
use crate::layout::{self, view};
use crate::types::{Error, Result};

/// One kind of place: its key as a template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlaceKind {
    pub name: String,
    pub template: String,
    pub description: String,
}

/// Whether a system has a concept, and whether haversack does it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ConceptSupport {
    pub name: String,
    pub support: Support,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct System {
    pub name: String,
    pub home_field: String,
    pub home_rule: String,
    pub concepts: Vec<ConceptSupport>,
    pub places: Vec<PlaceKind>,
}

/// Every system with its table of concepts and places.
pub fn systems() -> Vec<System> {
    layout::System::ALL.into_iter().map(describe).collect()
}

fn describe(system: layout::System) -> System {
    System {
        name: system.name().to_owned(),
        home_field: system.home_field().to_owned(),
        home_rule: system.home_rule().to_owned(),
        concepts: Concept::ALL
            .iter()
            .map(|concept| ConceptSupport {
                name: concept.name().to_owned(),
                support: concept::support(system, *concept),
            })
            .collect(),
        places: system
            .kinds()
            .iter()
            .map(|kind| PlaceKind {
                name: kind.name.to_owned(),
                template: kind.template.to_owned(),
                description: kind.description(),
            })
            .collect(),
    }
}

/// The key of a place; the inverse of [`place_of`].
pub fn key_of(place: &Place) -> Result<String> {
    layout::key_of(place)
}

/// The most specific place that a key has in a system.
pub fn place_of(system: &str, key: &str) -> Result<Place> {
    layout::place_of(layout::System::parse(system)?, key)
}

/// A session key in canonical form, and whether it is the agent's main session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SessionKey {
    pub key: String,
    pub main: bool,
}

/// The key of a gsv conversation; without `main_key` the main session's is `main`.
pub fn session_key_of(
    agent: &str,
    main_key: Option<&str>,
    conversation: &Conversation,
) -> Result<SessionKey> {
    let agent = AgentId::parse(agent)?;
    let key = session_key::SessionKey::of(&agent, main_key, conversation)?;
    Ok(SessionKey {
        main: key.is_main(main_key),
        key: key.to_string(),
    })
}

/// What a solven thread sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct View {
    pub thread: String,
    #[serde(default)]
    pub user: Option<String>,
    #[serde(default)]
    pub ticket: Option<String>,
}

/// Where an agent's path leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MappedPath {
    pub path: String,
    pub key: String,
    pub writable: bool,
}

/// The key behind a path of the agent.
pub fn view_key(view: &View, path: &str) -> Result<MappedPath> {
    parse_view(view)?.key_of(path).map(MappedPath::from)
}

/// The path under which the agent sees a key.
pub fn view_path(view: &View, key: &str) -> Result<MappedPath> {
    parse_view(view)?.path_of(key).map(MappedPath::from)
}

fn parse_view(view: &View) -> Result<view::View> {
    view::View::parse(&view.thread, view.user.as_deref(), view.ticket.as_deref())
}

impl From<view::Mapped> for MappedPath {
    fn from(mapped: view::Mapped) -> Self {
        Self {
            path: mapped.path,
            key: mapped.key,
            writable: mapped.writable,
        }
    }
}

/// A continuation is JSON, so that no two hosts differ; callers hand it back unread.
fn write_continuation<T: Serialize>(progress: &T) -> Result<String> {
    serde_json::to_string(progress)
        .map_err(|error| Error::invalid(format!("continue-from cannot be written: {error}")))
}

fn read_continuation<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T> {
    serde_json::from_str(text).map_err(|_| bad_continuation())
}

fn bad_continuation() -> Error {
    Error::invalid(
        "continue-from is not one that this call answered for these arguments: leave it out to begin anew",
    )
}
