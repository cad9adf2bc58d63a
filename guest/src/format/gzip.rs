//! Gzip in pieces: the codec of archives of any length (spec: protocols). [`write`](mod@write) makes one
//! member from pieces that are compressed apart; [`read`](mod@read) takes what any program wrote. Knows
//! no store and no message.
//!
//! ```
//! use haversack_core::format::gzip::{Checksum, Piece, decode};
//!
//! let (one, two) = (Piece::of(b"{\"role\":\"user\"}\n")?, Piece::of(b"{}\n")?);
//! let whole = one.checksum.combine(two.checksum);
//! let file = [one.opened().bytes, two.closed(whole).bytes].concat();
//!
//! let (raw, summary) = decode(&file, 1_000).expect("it is small");
//! assert_eq!(raw, b"{\"role\":\"user\"}\n{}\n");
//! assert_eq!((summary.members, summary.damage), (1, None));
//! # Ok::<(), haversack_core::types::Error>(())
//! ```

mod fault;
mod header;
mod inflate;
pub mod read;
#[cfg(test)]
mod tests;
pub mod write;

pub use fault::{Damage, Fault};
pub use read::{Decoder, Footing, Progress, Summary, decode};
pub use write::{Piece, compress};

/// CRC-32 and length of a run of raw bytes, which is what a gzip member ends with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checksum {
    pub crc32: u32,
    pub raw_bytes: u64,
}

impl Checksum {
    /// Of one run of bytes.
    pub fn of(raw: &[u8]) -> Self {
        Self {
            crc32: crc32fast::hash(raw),
            raw_bytes: raw.len() as u64,
        }
    }

    /// Of this run and the `next` one right after it, without looking at either.
    pub fn combine(self, next: Self) -> Self {
        let mut hasher = self.hasher();
        hasher.combine(&next.hasher());
        Self {
            crc32: hasher.finalize(),
            raw_bytes: self.raw_bytes.saturating_add(next.raw_bytes),
        }
    }

    /// Of this run and `raw` right after it.
    fn and(self, raw: &[u8]) -> Self {
        let mut hasher = self.hasher();
        hasher.update(raw);
        Self {
            crc32: hasher.finalize(),
            raw_bytes: self.raw_bytes.saturating_add(raw.len() as u64),
        }
    }

    /// The eight bytes at the end of a member: CRC-32, then the length modulo 2^32.
    fn trailer(self) -> [u8; 8] {
        let [a, b, c, d] = self.crc32.to_le_bytes();
        let [e, f, g, h] = length_modulo(self.raw_bytes).to_le_bytes();
        [a, b, c, d, e, f, g, h]
    }

    fn hasher(self) -> crc32fast::Hasher {
        crc32fast::Hasher::new_with_initial_len(self.crc32, self.raw_bytes)
    }
}

/// A length as a member's end has it.
fn length_modulo(raw_bytes: u64) -> u32 {
    (raw_bytes & u64::from(u32::MAX)) as u32
}
