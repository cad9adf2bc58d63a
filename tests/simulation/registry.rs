//! The exported operations that the simulation runs: every export that takes a request id is here, or
//! `tests/tidy.rs` fails; and every name here is covered by a scenario, or the simulation fails.

/// As `interface.function`, in order.
pub const REGISTERED: &[&str] = &[
    "compaction.commit",
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
    "retention.apply",
    "retention.end",
    "retention.purge",
    "retention.renew",
    "retention.restore",
    "sessions.append",
    "sessions.reset-begin",
    "sessions.reset-commit",
    "sessions.reset-resume",
];
