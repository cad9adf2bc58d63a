//! Keys of gsv: the reference's bucket plus the session state and live log of spec/protocols.md.
//! Knows no store and no format.

pub use super::field::{
    AgentId, ArchiveName, Date, EpochMs, LineNumber, MediaExtension, MediaId, PathTail, PieceName,
    SegmentHash, SegmentMs, SessionId, SkillName, WorkspaceFile,
};
pub use super::session_key::{EncodedSessionKey, SessionKey};
use super::{System, pattern::places};

/// Where the agents lie.
pub const AGENTS_PREFIX: &str = "agents/";

/// Where the skills of every agent lie.
pub const GLOBAL_SKILLS_PREFIX: &str = "skills/";

/// Where the media of every session lie.
pub const MEDIA_PREFIX: &str = "media/";

/// Everything of an agent but its media: `agents/hera/`.
pub fn agent_prefix(agent: &AgentId) -> String {
    format!("agents/{agent}/")
}

/// Where an agent's own skills lie: `agents/hera/skills/`.
pub fn skills_prefix(agent: &AgentId) -> String {
    format!("agents/{agent}/skills/")
}

/// Where an agent's daily notes lie: `agents/hera/memory/`.
pub fn memory_prefix(agent: &AgentId) -> String {
    format!("agents/{agent}/memory/")
}

/// Where state, logs and archives of an agent's sessions lie: `agents/hera/sessions/`.
pub fn sessions_prefix(agent: &AgentId) -> String {
    format!("agents/{agent}/sessions/")
}

/// Where the states of an agent's session keys lie, and nothing else: a key begins with `agent:{id}:`.
pub fn session_states_prefix(agent: &AgentId) -> String {
    format!("agents/{agent}/sessions/agent%3A{agent}%3A")
}

/// Where the parts of a session lie, in the order of their timestamps.
pub fn session_parts_prefix(agent: &AgentId, session: &SessionId) -> String {
    format!("agents/{agent}/sessions/{session}-part")
}

/// The media of one session, which a reset deletes: `media/agent:hera:main/`.
pub fn media_prefix(session: &SessionKey) -> String {
    format!("media/{session}/")
}

/// What belongs to an agent. Session keys hold the agent between colons, so `hera` covers no `hera2`.
pub fn home_prefixes(agent: &AgentId) -> Vec<String> {
    vec![agent_prefix(agent), format!("media/agent:{agent}:")]
}

/// The path under which an agent reads a skill's file: its own `agents/{id}/skills/X` reads as
/// `skills/X`, as a global one does. Any other key is answered as it is.
pub fn read_path<'k>(key: &'k str, agent: &AgentId) -> &'k str {
    match key.strip_prefix(&agent_prefix(agent)) {
        Some(path) if path.starts_with(GLOBAL_SKILLS_PREFIX) => path,
        _ => key,
    }
}

places! { System::Gsv;
    /// A file with a meaning for the prompt; all are optional.
    WorkspaceFile "workspace-file" { agent: AgentId, file: WorkspaceFile } =
        "agents/{agent}/{file}";
    /// What an agent noted on one day.
    DailyMemory "daily-memory" { agent: AgentId, date: Date } =
        "agents/{agent}/memory/{date}.md";
    /// Messages that one compaction removed from a live session.
    ArchivePart "archive-part" { agent: AgentId, session: SessionId, timestamp: EpochMs } =
        "agents/{agent}/sessions/{session}-part{timestamp}.jsonl.gz";
    /// The messages of a session as they stood when it was reset.
    Archive "archive" { agent: AgentId, session: SessionId } =
        "agents/{agent}/sessions/{session}.jsonl.gz";
    /// Which session a session key has now, and what is pending for it.
    SessionState "session-state" { agent: AgentId, key: EncodedSessionKey } =
        "agents/{agent}/sessions/{key}.state.json"
        where key.session_key().agent() == agent => "the session key is one of this agent";
    /// A piece of an archive that is being made; deleted once the archive is verified.
    ArchivePiece "archive-piece" { agent: AgentId, session: SessionId, archive: ArchiveName, piece: PieceName } =
        "agents/{agent}/sessions/{session}/pieces/{archive}/{piece}.deflate";
    /// A segment of the live log that is not folded in yet.
    LogSegment "log-segment" { agent: AgentId, session: SessionId, ms: SegmentMs, hash: SegmentHash } =
        "agents/{agent}/sessions/{session}/new/{ms}-{hash}.jsonl";
    /// Older lines of the live log, sealed.
    SealedLog "sealed-log" { agent: AgentId, session: SessionId, line: LineNumber, hash: SegmentHash } =
        "agents/{agent}/sessions/{session}/old/{line}-{hash}.jsonl";
    /// The live log: the newest messages of a session.
    Log "log" { agent: AgentId, session: SessionId } =
        "agents/{agent}/sessions/{session}.jsonl";
    /// A skill of the agent's own; it hides a global one of the same directory name.
    Skill "skill" { agent: AgentId, name: SkillName } =
        "agents/{agent}/skills/{name}/SKILL.md";
    /// Another file of the agent's own skill.
    SkillFile "skill-file" { agent: AgentId, name: SkillName, path: PathTail } =
        "agents/{agent}/skills/{name}/{path}";
    /// Any other file of an agent.
    AgentFile "agent-file" { agent: AgentId, path: PathTail } =
        "agents/{agent}/{path}";
    /// A skill that every agent has.
    GlobalSkill "global-skill" { name: SkillName } =
        "skills/{name}/SKILL.md";
    /// Another file of a global skill.
    GlobalSkillFile "global-skill-file" { name: SkillName, path: PathTail } =
        "skills/{name}/{path}";
    /// A file that lies beside the global skills.
    GlobalSkillsFile "global-skills-file" { path: PathTail } =
        "skills/{path}";
    /// An attachment or an image of a tool's result; it lives as long as its session.
    Media "media" { session: SessionKey, id: MediaId, extension: MediaExtension } =
        "media/{session}/{id}.{extension}";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_covers_one_agent() {
        let [a, ab] = ["a", "ab"].map(|id| home_prefixes(&AgentId::parse(id).unwrap()));
        for prefix in &a {
            assert!(ab.iter().all(|other| !other.starts_with(prefix.as_str())));
        }
    }

    #[test]
    fn own_skills_read_as_global_ones_do() {
        let hera = AgentId::parse("hera").unwrap();
        for (key, path) in [
            ("agents/hera/skills/x/SKILL.md", "skills/x/SKILL.md"),
            ("agents/hera/skills/x/ref/a.md", "skills/x/ref/a.md"),
            ("skills/x/SKILL.md", "skills/x/SKILL.md"),
            (
                "agents/nex/skills/x/SKILL.md",
                "agents/nex/skills/x/SKILL.md",
            ),
            ("agents/hera/SOUL.md", "agents/hera/SOUL.md"),
        ] {
            assert_eq!(read_path(key, &hera), path);
        }
    }

    #[test]
    fn state_of_another_agents_session_is_no_state() {
        let key = "agents/hera/sessions/agent%3Anex%3Amain.state.json";
        assert_eq!(Place::parse(key).unwrap().kind(), "agent-file");
        let own = "agents/hera/sessions/agent%3Ahera%3Amain.state.json";
        assert_eq!(Place::parse(own).unwrap().kind(), "session-state");
    }
}
