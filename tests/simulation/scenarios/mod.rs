//! The protocols under simulation, one a file.

pub mod archive;
pub mod compaction;
pub mod counter;
pub mod discard;
pub mod document;
pub mod files;
pub mod log;
pub mod memory;
pub mod session_reader;
pub mod sessions;
pub mod space;
