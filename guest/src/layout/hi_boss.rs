//! Keys of hi-boss: an agent's `internal_space/`, nothing beside it. Knows no store and no format.

pub use super::field::{AgentName, Date, PathTail};
use super::{System, pattern::places};

/// Where the agents lie.
pub const AGENTS_PREFIX: &str = "agents/";

/// Everything that hi-boss keeps for an agent: `agents/nex/internal_space/`.
pub fn space_prefix(agent: &AgentName) -> String {
    format!("agents/{agent}/internal_space/")
}

/// The daily files: `agents/nex/internal_space/memories/`.
pub fn memories_prefix(agent: &AgentName) -> String {
    format!("agents/{agent}/internal_space/memories/")
}

/// Whether a backup holds it: `MEMORY.md` and `memories/*.md`, nothing deeper (reference, "Backup
/// compatibility").
pub fn is_backed_up(agent: &AgentName, key: &str) -> bool {
    let agent = agent.clone();
    if key
        == (Place::LongTermMemory {
            agent: agent.clone(),
        })
        .key()
    {
        return true;
    }
    let name = key.strip_prefix(&memories_prefix(&agent));
    name.is_some_and(|name| name.ends_with(".md") && !name.contains('/'))
}

/// What belongs to an agent.
pub fn home_prefixes(agent: &AgentName) -> Vec<String> {
    vec![space_prefix(agent)]
}

places! { System::HiBoss;
    /// What the agent knows for good.
    LongTermMemory "long-term-memory" { agent: AgentName } =
        "agents/{agent}/internal_space/MEMORY.md";
    /// What the agent noted on one day.
    DailyMemory "daily-memory" { agent: AgentName, date: Date } =
        "agents/{agent}/internal_space/memories/{date}.md";
    /// The long-term memory under its old name; it becomes MEMORY.md.
    LegacyNote "legacy-note" { agent: AgentName } =
        "agents/{agent}/internal_space/Note.md";
    /// Any other file of the internal space.
    SpaceFile "space-file" { agent: AgentName, path: PathTail } =
        "agents/{agent}/internal_space/{path}";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_holds_memory_and_days_and_nothing_else() -> crate::types::Result<()> {
        let nex = AgentName::parse("nex")?;
        for (name, held) in [
            ("MEMORY.md", true),
            ("memories/2026-02-20.md", true),
            ("memories/2026-02-30.md", true),
            ("memories/ideas.md", true),
            ("memories/ideas.txt", false),
            ("memories/2025/2025-01-01.md", false),
            ("MEMORY.md.bak", false),
            ("Note.md", false),
            ("notes.md", false),
        ] {
            let key = format!("{}{name}", space_prefix(&nex));
            assert_eq!(is_backed_up(&nex, &key), held, "{name}");
        }
        assert!(!is_backed_up(&nex, "agents/nexus/internal_space/MEMORY.md"));
        Ok(())
    }
}
