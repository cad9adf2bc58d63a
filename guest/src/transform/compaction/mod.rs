//! Compaction of a gsv conversation: whether, where to cut, what to ask a model, and what to make of its
//! reply (spec: gsv, Compaction). Pure: knows no store, and works on [`Facts`] about messages, so that a
//! hundred thousand of them never lie in memory at once.
//!
//! In the order of a compaction: [`should_compact`](mod@should_compact), [`cut`](mod@cut), then for each
//! [`chunk`] a [`request`](mod@request) and a [`reply`](mod@reply), and the [`summary`] message at last.
//! [`context`](mod@context) shows what is kept to a model, repaired where the log is broken.

pub mod chunk;
pub mod context;
pub mod cut;
pub mod estimate;
pub mod facts;
pub mod pairing;
pub mod render;
pub mod reply;
pub mod request;
pub mod should_compact;
pub mod summary;
#[cfg(test)]
mod tests;
pub mod tiers;
pub mod window;

pub use facts::{Call, Facts};
pub use tiers::Tier;
pub use window::{Settings, Window};
