//! The protocols under simulation, one a file.

pub mod counter;
pub mod document;
pub mod log;
