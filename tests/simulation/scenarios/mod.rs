//! The protocols under simulation, one a file.

pub mod counter;
