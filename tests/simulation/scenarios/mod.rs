//! The protocols under simulation, one a file.

pub mod archive;
pub mod bus;
pub mod compaction;
pub mod counter;
pub mod discard;
pub mod document;
pub mod files;
pub mod given_up;
pub mod log;
pub mod memory;
pub mod messages;
pub mod mirror;
pub mod mirror_host;
pub mod resetting;
pub mod retention;
pub mod retention_reader;
pub mod runs;
pub mod session_reader;
pub mod sessions;
pub mod space;
pub mod tasks;
pub mod tenants;
pub mod threads;
