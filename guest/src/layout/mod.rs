//! Typed places and keys, both ways; the only code that spells a key. Knows no store.
//!
//! Each system has a file with its table of places ([`pattern`]), over the validated types of
//! [`field`]; [`key_of`] and [`place_of`] are the tables' untyped face and inverse of each other.
//!
//! ```
//! use haversack_core::layout::{System, gsv, key_of, place_of};
//!
//! let agent = gsv::AgentId::parse("hera")?;
//! let date = gsv::Date::parse("2026-02-20")?;
//! let key = gsv::Place::DailyMemory { agent, date }.key();
//! assert_eq!(key, "agents/hera/memory/2026-02-20.md");
//!
//! let place = place_of(System::Gsv, &key)?;
//! assert_eq!(place.kind, "daily-memory");
//! assert_eq!(key_of(&place)?, key);
//! # Ok::<(), haversack_core::types::Error>(())
//! ```

pub mod archive;
pub mod concept;
pub mod field;
pub mod gsv;
pub mod hi_boss;
pub mod key;
pub mod log;
pub mod moltbot;
pub mod pattern;
pub mod run_agent;
pub mod session_key;
pub mod skill_home;
pub mod solven;
pub mod view;

use serde::{Deserialize, Serialize};

use crate::types::{Error, Home, Result};
use field::Field;
use key::quoted;
use pattern::KindInfo;

/// The systems whose layouts are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum System {
    Gsv,
    Moltbot,
    RunAgent,
    Solven,
    HiBoss,
}

impl System {
    pub const ALL: [Self; 5] = [
        Self::Gsv,
        Self::Moltbot,
        Self::RunAgent,
        Self::Solven,
        Self::HiBoss,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Gsv => "gsv",
            Self::Moltbot => "moltbot",
            Self::RunAgent => "run-agent",
            Self::Solven => "solven",
            Self::HiBoss => "hi-boss",
        }
    }

    /// `invalid` for an unknown name, with the five that there are.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|system| system.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid(format!("no system {}; there are {names}", quoted(name)))
        })
    }

    /// What a home is: the field of its places that holds the home's id.
    pub const fn home_field(self) -> &'static str {
        match self {
            Self::Gsv | Self::HiBoss => "agent",
            Self::Moltbot => "user",
            Self::RunAgent => "project",
            Self::Solven => "thread",
        }
    }

    /// The rule that ids of homes obey, for people.
    pub const fn home_rule(self) -> &'static str {
        match self {
            Self::Gsv => gsv::AgentId::RULE,
            Self::Moltbot => moltbot::UserId::RULE,
            Self::RunAgent => run_agent::ProjectId::RULE,
            Self::Solven => solven::ThreadId::RULE,
            Self::HiBoss => hi_boss::AgentName::RULE,
        }
    }

    /// The table of places, most specific first.
    pub const fn kinds(self) -> &'static [KindInfo] {
        match self {
            Self::Gsv => gsv::Place::KINDS,
            Self::Moltbot => moltbot::Place::KINDS,
            Self::RunAgent => run_agent::Place::KINDS,
            Self::Solven => solven::Place::KINDS,
            Self::HiBoss => hi_boss::Place::KINDS,
        }
    }
}

/// Whether a folded prefix of a store's root is one in which a system keeps its homes or what they
/// share, so that it is no run-agent project unless the caller says so.
pub fn is_fixed_root(prefix: &str) -> bool {
    [
        gsv::AGENTS_PREFIX,
        gsv::GLOBAL_SKILLS_PREFIX,
        gsv::MEDIA_PREFIX,
        moltbot::USERS_PREFIX,
        moltbot::DELETED_PREFIX,
        solven::THREADS_PREFIX,
    ]
    .contains(&prefix)
}

/// A thing that a layout has a key for, untyped: `wit/core/layout.wit`, `place`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Place {
    pub system: String,
    pub kind: String,
    #[serde(default)]
    pub fields: Vec<(String, String)>,
}

/// Runs the same code on the typed places of a system.
macro_rules! with_places {
    ($system:expr, $place:ident => $body:expr) => {
        match $system {
            System::Gsv => {
                use gsv::Place as $place;
                $body
            }
            System::Moltbot => {
                use moltbot::Place as $place;
                $body
            }
            System::RunAgent => {
                use run_agent::Place as $place;
                $body
            }
            System::Solven => {
                use solven::Place as $place;
                $body
            }
            System::HiBoss => {
                use hi_boss::Place as $place;
                $body
            }
        }
    };
}

/// The key of a place. `invalid` when a field breaks its rule, or when the key would belong to a
/// more specific kind: [`place_of`] the answer is always `place`.
pub fn key_of(place: &Place) -> Result<String> {
    let system = System::parse(&place.system)?;
    with_places!(system, Typed => {
        let typed = Typed::from_fields(&place.kind, &place.fields)?;
        let key = typed.key();
        key::check(&key)?;
        match Typed::parse(&key) {
            Some(found) if found == typed => Ok(key),
            Some(found) => Err(Error::invalid(format!(
                "{key} is the key of place {}, not of place {}: name the more specific one",
                found.kind(),
                typed.kind()
            ))
            .at(key)),
            None => Err(Error::invalid(format!("{key} is not the key of place {}", typed.kind())).at(key)),
        }
    })
}

/// The most specific place that a key has in a system. `invalid` when it is no key, `not-found` when
/// the layout does not name it.
pub fn place_of(system: System, key: &str) -> Result<Place> {
    key::check(key)?;
    find_place(system, key).ok_or_else(|| {
        Error::not_found(format!(
            "the layout of {} has no place for {}; `layout.systems` lists what it has",
            system.name(),
            quoted(key)
        ))
        .at(key)
    })
}

/// As [`place_of`], without a message.
pub fn find_place(system: System, key: &str) -> Option<Place> {
    with_places!(system, Typed => Typed::parse(key).map(|typed| Place {
        system: system.name().to_owned(),
        kind: typed.kind().to_owned(),
        fields: typed.fields(),
    }))
}

/// A home whose id obeys its system's rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HomeId {
    Gsv(gsv::AgentId),
    Moltbot(moltbot::UserId),
    RunAgent(run_agent::ProjectId),
    Solven(solven::ThreadId),
    HiBoss(hi_boss::AgentName),
}

impl HomeId {
    /// Refuses what breaks the system's rule, and states it.
    pub fn new(system: System, id: &str) -> Result<Self> {
        Ok(match system {
            System::Gsv => Self::Gsv(Field::from_value(id)?),
            System::Moltbot => Self::Moltbot(Field::from_value(id)?),
            System::RunAgent => Self::RunAgent(Field::from_value(id)?),
            System::Solven => Self::Solven(Field::from_value(id)?),
            System::HiBoss => Self::HiBoss(Field::from_value(id)?),
        })
    }

    pub fn system(&self) -> System {
        match self {
            Self::Gsv(_) => System::Gsv,
            Self::Moltbot(_) => System::Moltbot,
            Self::RunAgent(_) => System::RunAgent,
            Self::Solven(_) => System::Solven,
            Self::HiBoss(_) => System::HiBoss,
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Gsv(id) => id.as_str(),
            Self::Moltbot(id) => id.as_str(),
            Self::RunAgent(id) => id.as_str(),
            Self::Solven(id) => id.as_str(),
            Self::HiBoss(id) => id.as_str(),
        }
    }

    /// Every prefix under which something of this home lies; none covers another home's.
    pub fn prefixes(&self) -> Vec<String> {
        match self {
            Self::Gsv(agent) => gsv::home_prefixes(agent),
            Self::Moltbot(user) => moltbot::home_prefixes(user),
            Self::RunAgent(project) => run_agent::home_prefixes(project),
            Self::Solven(thread) => solven::home_prefixes(thread),
            Self::HiBoss(agent) => hi_boss::home_prefixes(agent),
        }
    }

    pub fn to_home(&self) -> Home {
        Home {
            system: self.system().name().to_owned(),
            id: self.as_str().to_owned(),
        }
    }
}

impl std::fmt::Display for HomeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.system().name(), self.as_str())
    }
}

/// A home with its id checked.
pub fn parse_home(home: &Home) -> Result<HomeId> {
    HomeId::new(System::parse(&home.system)?, &home.id)
}

/// Every prefix under which something of a home lies.
pub fn home_prefixes(system: System, id: &str) -> Result<Vec<String>> {
    Ok(HomeId::new(system, id)?.prefixes())
}
