//! One file for each exported interface: load, transform, answer. The only code that touches the store.

pub mod bus;
pub mod compaction;
pub mod documents;
pub mod facts;
pub mod files;
pub mod layout;
mod load;
pub mod media;
pub mod memory;
pub mod messages;
mod moment;
mod presence;
mod problems;
pub mod projects;
pub mod prompt;
pub mod retention;
pub mod runs;
pub mod sessions;
pub mod skills;
mod stamp;
pub mod tenants;
pub mod threads;
