//! Sequences of writes that are safe to stop after any one of them (spec/protocols.md): documents,
//! logs, archives, moves. State machines over the store; the simulation drives them. Know no system.

pub mod archive;
pub mod document;
pub mod log;
pub mod moving;
pub mod request;
