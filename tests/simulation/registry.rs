//! The exported operations that the simulation runs: every export that takes a request id is here, or
//! `tests/tidy.rs` fails; and every name here is covered by a scenario, or the simulation fails.

/// As `interface.function`, in order.
pub const REGISTERED: &[&str] = &[
    "bus.post",
    "compaction.commit",
    "facts.write",
    "files.edit",
    "files.remove",
    "files.rename",
    "files.write",
    "media.discard",
    "memory.append",
    "memory.ensure",
    "memory.promote",
    "memory.prune",
    "memory.write",
    "messages.append",
    "projects.create",
    "projects.create-task",
    "projects.mark-done",
    "projects.set-folders",
    "projects.set-state",
    "runs.create",
    "runs.update",
    "sessions.append",
    "sessions.reset-begin",
    "sessions.reset-commit",
    "sessions.reset-resume",
];
