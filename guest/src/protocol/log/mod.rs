//! A log that many may append to at once (spec/protocols.md, "Log"): on a store that appends, the single
//! file of the reference; elsewhere create-only segments, which now and then are folded into the head,
//! which now and then is sealed. Knows no system and no format of entries.
//!
//! ```text
//! head   messages.jsonl            the newest folded entries; the only key that is rewritten
//! new/   {ms}-{hash of ids}.jsonl  one append each, until a fold took it over
//! old/   {first entry}-{hash}.jsonl  earlier heads, immutable, chained by their metadata
//! ```

mod append;
mod chain;
mod close;
mod cursor;
mod extend;
mod fold;
mod forward;
mod head;
mod measure;
mod pending;
mod read;
mod single;

use sha2::{Digest, Sha256};

pub use append::{Appended, NewEntry};
pub use close::{Closed, Leftover};
pub use fold::{Fold, Folded};
pub use forward::{Forward, ForwardEntry, ForwardRun, Position};
pub use measure::{Measured, Settled};
pub use pending::Segment;
pub use read::{LogEntry, Page, ReadOptions};

use crate::format::entries::EntryFormat;
use crate::layout::log::LogKeys;
use crate::store::Metered;

/// One log in a store.
#[derive(Clone, Copy)]
pub struct Log<'a> {
    pub store: &'a Metered<'a>,
    pub keys: &'a LogKeys,
    pub format: &'a dyn EntryFormat,
}

/// 96 bits of SHA-256, in hexadecimal.
fn hash96(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let digest = hasher.finalize();
    digest
        .iter()
        .take(12)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
