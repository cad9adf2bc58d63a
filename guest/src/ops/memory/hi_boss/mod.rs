//! Memory of a hi-boss agent: MEMORY.md and a file for each day in its internal space (hi-boss reference; spec:
//! hi-boss).

mod append;
mod backup;
mod long_term;
mod prune;
mod read;
mod secrets;
mod snapshot;

pub use append::append;
pub use backup::backup_files;
pub use long_term::{ensure, promote, write};
pub use prune::prune;
pub use read::read;
pub use snapshot::snapshot;
pub(in crate::ops) use snapshot::{load, policy_of};
