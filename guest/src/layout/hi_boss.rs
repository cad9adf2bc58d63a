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
