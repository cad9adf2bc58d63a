//! The conformance corpus as a library: cases, comparer, runner, adapters. The format of a case is
//! documented in `tests/README.md`; this crate knows no system and no layout. Beside it, what the store
//! suites share.

pub mod adapters;
pub mod bless;
pub mod bridge;
pub mod case;
pub mod compare;
pub mod lives;
pub mod long_session;
pub mod memory;
pub mod record;
pub mod runner;
pub mod server;
pub mod store_calls;
pub mod table;
