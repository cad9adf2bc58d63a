//! The workspace of a gsv agent (spec: gsv, "Workspace tool"): which path leads to which key, and who may
//! read and write there.

use super::{Located, Mount, Viewer, Workspace};
use crate::layout::field::{Field, PathTail};
use crate::layout::gsv::{
    AgentId, GLOBAL_SKILLS_PREFIX, Place, SessionKey, WorkspaceFile, agent_prefix, sessions_prefix,
};
use crate::types::{Error, ErrorCode, Result};

pub struct AgentWorkspace {
    agent: AgentId,
    main: bool,
}

impl AgentWorkspace {
    pub fn of(viewer: &Viewer) -> Result<Self> {
        if viewer.user.is_some() || viewer.ticket.is_some() {
            return Err(Error::invalid(
                "an agent of gsv has no `user` and no `ticket`; they are for threads of solven",
            ));
        }
        let agent = AgentId::parse(&viewer.home.id)?;
        let main = match &viewer.session_key {
            None => true,
            Some(key) => SessionKey::parse_of(&agent, key)?.is_main(viewer.main_key.as_deref()),
        };
        Ok(Self { agent, main })
    }

    /// In any case: some file systems tell no letters apart, and would open it by another spelling.
    fn is_long_term_memory(&self, key: &str) -> bool {
        let place = Place::WorkspaceFile {
            agent: self.agent.clone(),
            file: WorkspaceFile::Memory,
        };
        key.eq_ignore_ascii_case(&place.key())
    }
}

impl Workspace for AgentWorkspace {
    fn root(&self) -> &'static str {
        ""
    }

    fn directory(&self, path: &str) -> Result<String> {
        if path.starts_with('/') {
            // It leads out; the error shows all of it.
            return self.locate(path).map(|located| located.path);
        }
        let plain = path.trim_end_matches('/');
        if matches!(plain, "" | ".") {
            return Ok(String::new());
        }
        let located = self.locate(plain)?;
        Ok(format!("{}/", located.path))
    }

    fn pattern(&self, glob: &str) -> String {
        glob.strip_prefix("./").unwrap_or(glob).to_owned()
    }

    fn unseen(&self) -> &'static str {
        "is not for this session to see"
    }

    fn locate(&self, path: &str) -> Result<Located> {
        let path = path.strip_prefix("./").unwrap_or(path);
        // The rule of a path's tail is the rule against climbing out.
        let tail = PathTail::from_value(path)?;
        let key = format!("{}{}", agent_prefix(&self.agent), tail.to_value());
        if !self.main && self.is_long_term_memory(&key) {
            return Err(Error::new(
                ErrorCode::Denied,
                format!(
                    "{path} is the long-term memory, which only a main session reads and writes"
                ),
            )
            .at(key));
        }
        let fallback = path
            .starts_with(GLOBAL_SKILLS_PREFIX)
            .then(|| path.to_owned());
        Ok(Located {
            writable: !key.starts_with(&sessions_prefix(&self.agent)),
            path: path.to_owned(),
            fallback,
            key,
        })
    }

    fn mounts(&self) -> Vec<Mount> {
        vec![
            Mount {
                prefix: agent_prefix(&self.agent),
                path: String::new(),
                behind: false,
            },
            Mount {
                prefix: GLOBAL_SKILLS_PREFIX.to_owned(),
                path: GLOBAL_SKILLS_PREFIX.to_owned(),
                behind: true,
            },
        ]
    }

    fn see(&self, _: &Mount, key: &str) -> Option<Located> {
        if !self.main && self.is_long_term_memory(key) {
            return None;
        }
        if let Some(path) = key.strip_prefix(&agent_prefix(&self.agent)) {
            return self.locate(path).ok();
        }
        key.starts_with(GLOBAL_SKILLS_PREFIX).then(|| Located {
            path: key.to_owned(),
            key: key.to_owned(),
            fallback: None,
            writable: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::gsv::skills_prefix;
    use crate::types::Home;

    fn workspace(session_key: Option<&str>) -> AgentWorkspace {
        AgentWorkspace::of(&Viewer {
            home: Home {
                system: "gsv".into(),
                id: "hera".into(),
            },
            session_key: session_key.map(str::to_owned),
            main_key: None,
            user: None,
            ticket: None,
        })
        .unwrap()
    }

    #[test]
    fn paths_lead_below_the_agent_or_nowhere() {
        let main = workspace(None);
        let located = main.locate("./memory/2026-02-20.md").unwrap();
        assert_eq!(located.key, "agents/hera/memory/2026-02-20.md");
        assert!(located.writable);
        let skill = main.locate("skills/x/SKILL.md").unwrap();
        assert!(skill.key.starts_with(&skills_prefix(&main.agent)));
        assert_eq!(skill.fallback.as_deref(), Some("skills/x/SKILL.md"));
        assert!(!main.locate("sessions/x.jsonl").unwrap().writable);
        for wrong in [
            "",
            "/",
            "/etc/passwd",
            "../nex/SOUL.md",
            "a/../../b",
            "a//b",
            "a\\b",
            ".",
            "./",
            "a\u{0}b",
        ] {
            assert!(main.locate(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn long_term_memory_is_for_main_sessions() {
        let other = workspace(Some("agent:hera:discord:dm:ann"));
        let error = other.locate("MEMORY.md").unwrap_err();
        assert_eq!(error.code, ErrorCode::Denied);
        assert!(other.locate("memory.MD").is_err());
        let mount = &other.mounts()[0];
        assert_eq!(other.see(mount, "agents/hera/MEMORY.md"), None);
        assert!(
            workspace(Some("agent:hera:main"))
                .locate("MEMORY.md")
                .is_ok()
        );
        assert!(other.see(mount, "agents/hera2/SOUL.md").is_none());
    }
}
