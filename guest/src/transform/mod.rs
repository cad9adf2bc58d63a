//! Pure functions that decide: what goes into a prompt, what is cut, which skill is shown.

pub mod assemble;
pub mod compaction;
pub mod compare;
pub mod eligibility;
pub mod estimate;
pub mod glob;
pub mod heartbeat;
pub mod manifest;
pub mod media;
pub mod memory_lines;
pub mod memory_section;
pub mod memory_snapshot;
pub mod proot;
pub mod redact;
pub mod reset_policy;
pub mod retention;
pub mod run_tree;
pub mod secrets;
pub mod skill_listing;
pub mod task_slug;
pub mod tier;
pub mod tooling;
pub mod truncate;
