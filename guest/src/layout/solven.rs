//! Keys of solven: threads and skills. What a thread's agent sees of them is `view`'s. Knows no store
//! and no format.

pub use super::field::{PathTail, SkillName, ThreadId, UserId};
use super::{System, pattern::places};

/// Where the threads lie.
pub const THREADS_PREFIX: &str = "threads/";

/// The skills that every thread sees.
pub const SYSTEM_SKILLS_PREFIX: &str = "skills/system/";

/// The skills of one user: `skills/ada/`.
pub fn user_skills_prefix(user: &UserId) -> String {
    format!("skills/{user}/")
}

/// A thread's workspace: `threads/t1/`.
pub fn thread_prefix(thread: &ThreadId) -> String {
    format!("threads/{thread}/")
}

/// What belongs to a thread.
pub fn home_prefixes(thread: &ThreadId) -> Vec<String> {
    vec![thread_prefix(thread)]
}

places! { System::Solven;
    /// Present since the workspace was configured; holds the time.
    WorkspaceMarker "workspace-marker" { thread: ThreadId } =
        "threads/{thread}/.workspace_configured";
    /// The shell's start file, which activates `.venv`.
    ShellConfig "shell-config" { thread: ThreadId } =
        "threads/{thread}/.bashrc";
    /// The Node.js configuration of a thread.
    NodeConfig "node-config" { thread: ThreadId } =
        "threads/{thread}/package.json";
    /// A file of the thread's Python environment.
    PythonFile "python-file" { thread: ThreadId, path: PathTail } =
        "threads/{thread}/.venv/{path}";
    /// A file of the thread's Node.js dependencies.
    NodeModuleFile "node-module-file" { thread: ThreadId, path: PathTail } =
        "threads/{thread}/node_modules/{path}";
    /// Something where the reference links skills; the thread's agent sees a mount there.
    SkillsLink "skills-link" { thread: ThreadId, path: PathTail } =
        "threads/{thread}/.solven/{path}";
    /// Something where the reference links the ticket; the thread's agent sees a mount there.
    TicketLink "ticket-link" { thread: ThreadId } =
        "threads/{thread}/.ticket";
    /// Any other file of a thread.
    ThreadFile "thread-file" { thread: ThreadId, path: PathTail } =
        "threads/{thread}/{path}";
    /// A skill that every thread sees.
    SystemSkill "system-skill" { name: SkillName } =
        "skills/system/{name}/SKILL.md";
    /// Another file of a system skill.
    SystemSkillFile "system-skill-file" { name: SkillName, path: PathTail } =
        "skills/system/{name}/{path}";
    /// A file that lies beside the system skills.
    SystemSkillsFile "system-skills-file" { path: PathTail } =
        "skills/system/{path}";
    /// A skill of one user.
    UserSkill "user-skill" { user: UserId, name: SkillName } =
        "skills/{user}/{name}/SKILL.md";
    /// Another file of a user's skill.
    UserSkillFile "user-skill-file" { user: UserId, name: SkillName, path: PathTail } =
        "skills/{user}/{name}/{path}";
    /// A file that lies beside a user's skills.
    UserSkillsFile "user-skills-file" { user: UserId, path: PathTail } =
        "skills/{user}/{path}";
}
