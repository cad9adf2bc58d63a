//! A gzip file, in steps: members one after the other, each checked, and what is wrong said with how
//! much was saved. Knows no message; allocates nothing by what the file claims.

use super::header::Header;
use super::inflate::{Inflater, Waits};
use super::{Checksum, Damage, Fault, length_modulo};
use crate::limits::ARCHIVE_STEP_RAW_BYTES;

/// Where in a file the next byte stands.
enum At {
    Header(Header),
    Body,
    /// The eight last bytes of a member, low byte first, and how many of them are here.
    Trailer(u64, u32),
    /// After a member: another one, zeros, or the end.
    Between,
    /// The rest of the file is of no use.
    Damaged(Damage),
}

/// Reads a file that is given in chunks of any size.
pub struct Decoder {
    at: At,
    /// One for all members: a file may hold very many very small ones.
    inflater: Inflater,
    members: u64,
    /// Of the members that are whole, one after the other.
    checksum: Checksum,
    /// Compressed bytes taken.
    offset_bytes: u64,
    /// Raw bytes given.
    raw_bytes: u64,
}

/// What one [`Decoder::feed`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub consumed_bytes: usize,
    pub written_bytes: usize,
}

/// Where decoding can begin again in the first member of a file: behind a full flush, from which on nothing looks
/// back. Everything before it counts as read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Footing {
    pub offset_bytes: u64,
    /// Of the raw bytes before it.
    pub checksum: Checksum,
}

/// What there was in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "damage is told here and nowhere else"]
pub struct Summary {
    /// Members that are whole and whose checksum fits.
    pub members: u64,
    /// Of these members' raw bytes, one after the other.
    pub checksum: Checksum,
    pub raw_bytes: u64,
    /// None when every byte of the file was accounted for.
    pub damage: Option<Damage>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    pub fn new() -> Self {
        Self {
            at: At::Header(Header::new()),
            inflater: Inflater::new(),
            members: 0,
            checksum: Checksum::default(),
            offset_bytes: 0,
            raw_bytes: 0,
        }
    }

    /// Goes on at a footing that an earlier decoder of the same file gave.
    pub fn at(footing: Footing) -> Self {
        if footing.offset_bytes == 0 {
            return Self::new();
        }
        Self {
            at: At::Body,
            inflater: Inflater::behind_flush(footing.checksum),
            offset_bytes: footing.offset_bytes,
            raw_bytes: footing.checksum.raw_bytes,
            ..Self::new()
        }
    }

    /// What to go on with from here, once all that was fed is given out. The caller knows that a full flush ends
    /// here; none where none can: outside the first member's data.
    pub fn footing(&self) -> Option<Footing> {
        let is_inside = matches!(self.at, At::Body) && self.members == 0;
        is_inside.then_some(Footing {
            offset_bytes: self.offset_bytes,
            checksum: self.inflater.checksum,
        })
    }

    /// Take from `input`, the next bytes of the file, and fill `output`, which is not empty. Call again,
    /// with what was not consumed, until all of it is and `output` was not filled.
    pub fn feed(&mut self, input: &[u8], output: &mut [u8]) -> Progress {
        let mut progress = Progress {
            consumed_bytes: 0,
            written_bytes: 0,
        };
        loop {
            let rest = input.get(progress.consumed_bytes..).unwrap_or_default();
            let place = output.get_mut(progress.written_bytes..).unwrap_or_default();
            let (done, waits) = match &self.at {
                At::Body => self.body(rest, place),
                _ => self.framing(rest),
            };
            progress.consumed_bytes += done.consumed_bytes;
            progress.written_bytes += done.written_bytes;
            let is_stuck = match waits {
                Waits::ForInput => progress.consumed_bytes == input.len(),
                Waits::ForOutput => progress.written_bytes == output.len(),
                Waits::Ended | Waits::Broken => false,
            };
            if is_stuck {
                return progress;
            }
        }
    }

    /// The file ends here.
    pub fn finish(self) -> Summary {
        let damage = match self.at {
            At::Damaged(damage) => Some(damage),
            At::Between => None,
            _ => Some(Damage {
                fault: Fault::Torn,
                offset_bytes: self.offset_bytes,
                raw_bytes: self.raw_bytes,
            }),
        };
        Summary {
            members: self.members,
            checksum: self.checksum,
            raw_bytes: self.raw_bytes,
            damage,
        }
    }

    /// Whether damage was met, so that reading on is of no use.
    pub fn is_damaged(&self) -> bool {
        matches!(self.at, At::Damaged(_))
    }

    fn body(&mut self, input: &[u8], output: &mut [u8]) -> (Progress, Waits) {
        let step = self.inflater.step(input, output);
        self.offset_bytes += step.consumed_bytes as u64;
        self.raw_bytes += step.written_bytes as u64;
        match step.waits {
            Waits::Broken => self.damage(Fault::Data),
            Waits::Ended => self.at = At::Trailer(0, 0),
            Waits::ForInput | Waits::ForOutput => {}
        }
        let progress = Progress {
            consumed_bytes: step.consumed_bytes,
            written_bytes: step.written_bytes,
        };
        (progress, step.waits)
    }

    /// Everything that is not compressed data, a byte at a time.
    fn framing(&mut self, input: &[u8]) -> (Progress, Waits) {
        if self.is_damaged() {
            return (Progress::of(input.len()), Waits::ForInput);
        }
        let Some(byte) = input.first() else {
            return (Progress::of(0), Waits::ForInput);
        };
        self.offset_bytes += 1;
        match std::mem::replace(&mut self.at, At::Between) {
            At::Header(mut header) => match header.push(*byte) {
                Ok(false) => self.at = At::Header(header),
                Ok(true) => {
                    self.inflater.restart();
                    self.at = At::Body;
                }
                Err(Fault::NotGzip) if self.members > 0 => self.damage(Fault::Garbage),
                Err(fault) => self.damage(fault),
            },
            At::Trailer(bytes, count) => {
                let bytes = bytes | u64::from(*byte) << (8 * count);
                match count {
                    7 => self.check(bytes),
                    _ => self.at = At::Trailer(bytes, count + 1),
                }
            }
            At::Between if *byte == 0 => {}
            At::Between => {
                let mut header = Header::new();
                match header.push(*byte) {
                    Ok(_) => self.at = At::Header(header),
                    Err(_) => self.damage(Fault::Garbage),
                }
            }
            at @ (At::Body | At::Damaged(_)) => self.at = at,
        }
        (Progress::of(1), Waits::ForInput)
    }

    fn check(&mut self, trailer: u64) {
        let found = self.inflater.checksum;
        let recorded_crc32 = length_modulo(trailer);
        let recorded_length = length_modulo(trailer >> 32);
        if found.crc32 != recorded_crc32 {
            self.damage(Fault::Checksum {
                recorded: recorded_crc32,
                found: found.crc32,
            });
        } else if length_modulo(found.raw_bytes) != recorded_length {
            self.damage(Fault::Length {
                recorded: recorded_length,
                found: found.raw_bytes,
            });
        } else {
            self.members += 1;
            self.checksum = self.checksum.combine(found);
        }
    }

    fn damage(&mut self, fault: Fault) {
        self.at = At::Damaged(Damage {
            fault,
            offset_bytes: self.offset_bytes,
            raw_bytes: self.raw_bytes,
        });
    }
}

impl Progress {
    fn of(consumed_bytes: usize) -> Self {
        Self {
            consumed_bytes,
            written_bytes: 0,
        }
    }
}

/// The raw bytes of a whole file, at most `raw_bytes_max` of them: a file that holds more answers none.
/// Only for what is known to be small.
pub fn decode(file: &[u8], raw_bytes_max: usize) -> Option<(Vec<u8>, Summary)> {
    let mut decoder = Decoder::new();
    let mut raw = Vec::new();
    let mut step = vec![0; ARCHIVE_STEP_RAW_BYTES];
    let mut rest = file;
    loop {
        let progress = decoder.feed(rest, &mut step);
        raw.extend_from_slice(step.get(..progress.written_bytes)?);
        rest = rest.get(progress.consumed_bytes..)?;
        if raw.len() > raw_bytes_max {
            return None;
        }
        if rest.is_empty() && progress.written_bytes < step.len() {
            return Some((raw, decoder.finish()));
        }
    }
}
