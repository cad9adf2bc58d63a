//! The message bus of run-agent: a file of entries of several lines, `---`, a YAML header, `---`, a body. Knows no
//! store and no key.
//!
//! ```text
//! [2026-01-02 10:00:00] PROGRESS: a legacy message, of one line, before the first entry
//!
//! ---                          opens: a blank line before it, `msg_id:` behind it
//! msg_id: MSG-20260220-093000123456789-PID00042-0001
//! ts: 2026-02-20T09:30:00.123Z
//! type: FACT
//! project_id: proj
//! meta:
//!   body_bytes: 5              ours: how long the body is as it stands here; a shorter one is torn
//!   escaped: true              ours, where it has lines with a backslash more than they were posted with
//! ---                          closes: a line of the header before it
//! body
//! ```
//!
//! **Footing.** What is written never has a blank line in a header, nor a line `---` in a body. So in a piece that
//! begins anywhere an entry begins at a line `---` with a blank line before it and a name of the header behind it.
//! **Torn.** A fragment stays, and is ended by a line [`TORN`] before the next entry: that is no YAML, so that any
//! reader discards a header with it, and ours a body, too.

mod body;
mod frame;
pub mod message;

use super::entries::{Entry, EntryFormat};

pub use frame::{Frame, Kind, frames, whole};
pub use message::{Message, Parent};

/// The line that ends a fragment.
pub const TORN: &str = "{haversack: torn";

/// The entries of a bus, as the log protocol takes them.
#[derive(Debug, Clone, Copy)]
pub struct BusEntries;

impl EntryFormat for BusEntries {
    fn content_type(&self) -> &'static str {
        "text/markdown"
    }

    fn footing(&self, piece: &[u8]) -> Option<usize> {
        frame::footing(piece)
    }

    fn entries<'a>(&self, piece: &'a [u8]) -> Vec<Entry<'a>> {
        let frames = frames(piece).into_iter();
        frames
            .map(|frame| Entry {
                bytes: frame.bytes,
                content: frame.bytes,
                id: frame.id(),
                problem: frame.problem(),
                is_ended: !matches!(frame.kind, Kind::Torn { is_ended: false }),
            })
            .collect()
    }

    fn count(&self, piece: &[u8]) -> usize {
        frames(piece).len()
    }

    fn separator(&self, end: &[u8]) -> &'static [u8] {
        frame::separator(end)
    }
}

#[cfg(test)]
mod tests;
