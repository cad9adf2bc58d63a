//! The protocols under simulation, one a file.

pub mod archive;
pub mod counter;
pub mod document;
pub mod files;
pub mod log;
pub mod memory;
