//! Where the skills of a home lie, for the systems that have them: a root of its own and one that all share. Knows
//! no store.

use super::field::{SkillName, ThreadId, UserId};
use super::{System, gsv, solven};
use crate::layout::view::View;
use crate::types::{Error, Home, Result};

/// Whose skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillHome {
    /// An agent of gsv: its own, then the global ones.
    Agent(gsv::AgentId),
    /// A thread of solven: system skills, then its user's, where it has one.
    Thread {
        thread: ThreadId,
        user: Option<UserId>,
    },
}

impl SkillHome {
    /// `invalid` for bad ids, and for a user of a system whose skills belong to no user.
    pub fn parse(home: &Home, user: Option<&str>) -> Result<Self> {
        match (System::parse(&home.system)?, user) {
            (System::Solven, user) => Ok(Self::Thread {
                thread: ThreadId::parse(&home.id)?,
                user: user.map(UserId::parse).transpose()?,
            }),
            (_, None) => Ok(Self::Agent(gsv::AgentId::parse(&home.id)?)),
            (system, Some(_)) => Err(Error::invalid(format!(
                "skills of {} belong to no user; leave `user` out",
                system.name()
            ))),
        }
    }

    /// Where its own lie; none where it can have none.
    pub fn own_root(&self) -> Option<String> {
        match self {
            Self::Agent(agent) => Some(gsv::skills_prefix(agent)),
            Self::Thread { user, .. } => user.as_ref().map(solven::user_skills_prefix),
        }
    }

    /// Where those lie that all share.
    pub fn shared_root(&self) -> String {
        match self {
            Self::Agent(_) => gsv::GLOBAL_SKILLS_PREFIX.to_owned(),
            Self::Thread { .. } => solven::SYSTEM_SKILLS_PREFIX.to_owned(),
        }
    }

    /// Whether the shared ones are listed before its own.
    pub fn shared_first(&self) -> bool {
        matches!(self, Self::Thread { .. })
    }

    /// The file of an own skill; none where it can have none.
    pub fn own_key(&self, name: SkillName) -> Option<String> {
        match self {
            Self::Agent(agent) => {
                let agent = agent.clone();
                Some(gsv::Place::Skill { agent, name }.key())
            }
            Self::Thread { user, .. } => {
                let user = user.clone()?;
                Some(solven::Place::UserSkill { user, name }.key())
            }
        }
    }

    /// The file of a shared skill.
    pub fn shared_key(&self, name: SkillName) -> String {
        match self {
            Self::Agent(_) => gsv::Place::GlobalSkill { name }.key(),
            Self::Thread { .. } => solven::Place::SystemSkill { name }.key(),
        }
    }

    /// The path under which the agent reads a file of a skill.
    pub fn read_path(&self, key: &str) -> String {
        match self {
            Self::Agent(agent) => gsv::read_path(key, agent).to_owned(),
            Self::Thread { thread, user } => {
                let view = View {
                    thread: thread.clone(),
                    user: user.clone(),
                    ticket: None,
                };
                view.path_of(key)
                    .map_or_else(|_| key.to_owned(), |mapped| mapped.path)
            }
        }
    }

    /// Everything of the home.
    pub fn prefix(&self) -> String {
        match self {
            Self::Agent(agent) => gsv::agent_prefix(agent),
            Self::Thread { thread, .. } => solven::thread_prefix(thread),
        }
    }

    /// `agent hera`, for people.
    pub fn who(&self) -> String {
        match self {
            Self::Agent(agent) => format!("agent {agent}"),
            Self::Thread { thread, user: None } => format!("thread {thread}, which has no user,"),
            Self::Thread {
                user: Some(user), ..
            } => format!("user {user}"),
        }
    }

    /// `gsv:hera`, as a home is written.
    pub fn written(&self) -> String {
        match self {
            Self::Agent(agent) => format!("gsv:{agent}"),
            Self::Thread { thread, .. } => format!("solven:{thread}"),
        }
    }

    /// What the shared ones are called.
    pub fn shared_name(&self) -> &'static str {
        match self {
            Self::Agent(_) => "global",
            Self::Thread { .. } => "system",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(system: &str, id: &str) -> Home {
        Home {
            system: system.to_owned(),
            id: id.to_owned(),
        }
    }

    #[test]
    fn roots_and_keys() -> Result<()> {
        let name = SkillName::parse("pdf")?;
        for (home, user, own, shared, path) in [
            (
                home("gsv", "hera"),
                None,
                Some("agents/hera/skills/pdf/SKILL.md"),
                "skills/pdf/SKILL.md",
                "skills/pdf/SKILL.md",
            ),
            (
                home("solven", "t1"),
                Some("ada"),
                Some("skills/ada/pdf/SKILL.md"),
                "skills/system/pdf/SKILL.md",
                "/.solven/skills/ada/pdf/SKILL.md",
            ),
            (
                home("solven", "t1"),
                None,
                None,
                "skills/system/pdf/SKILL.md",
                "/.solven/skills/system/pdf/SKILL.md",
            ),
        ] {
            let of = SkillHome::parse(&home, user)?;
            let own_key = of.own_key(name.clone());
            assert_eq!(own_key.as_deref(), own);
            assert_eq!(of.shared_key(name.clone()), shared);
            assert!(shared.starts_with(&of.shared_root()));
            let key = own_key.unwrap_or_else(|| shared.to_owned());
            assert_eq!(of.read_path(&key), path);
            assert_eq!(own.is_some(), of.own_root().is_some());
        }
        assert!(SkillHome::parse(&home("gsv", "hera"), Some("ada")).is_err());
        assert!(SkillHome::parse(&home("solven", "t1"), Some("system")).is_err());
        Ok(())
    }
}
