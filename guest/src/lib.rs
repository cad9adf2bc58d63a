//! haversack-core: where an agent's durable state lies, how its prompt is put together, what is cut
//! and how that is said. Pure Rust over one seam, [`store::Store`]; no clock, no randomness, no I/O.
//!
//! Read it from the outside in: [`ops`] has one file for each interface of `wit/core/` and is what a
//! host calls; [`transform`] holds the pure functions that decide; [`format`](mod@format) the parsers
//! and printers; [`protocol`] the sequences of writes that may stop anywhere; [`layout`] is the only place
//! that spells a key.
#![forbid(unsafe_code)]
// A trap is our bug, whatever the input.
#![deny(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

pub mod format;
pub mod layout;
pub mod limits;
pub mod ops;
pub mod protocol;
pub mod store;
pub mod transform;
pub mod types;
