//! The header of a gzip member (RFC 1952, section 2.3), byte by byte and without keeping any of it, so
//! that nothing a header claims is allocated. Knows nothing of what follows.

use super::Fault;

const FHCRC: u8 = 1 << 1;
const FEXTRA: u8 = 1 << 2;
const FNAME: u8 = 1 << 3;
const FCOMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

/// Which byte is expected next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// The ten bytes that every member has.
    Fixed(u8),
    ExtraLengthLow,
    ExtraLengthHigh(u8),
    Extra(u16),
    Name,
    Comment,
    ChecksumLow,
    ChecksumHigh(u8),
    End,
}

/// A header that is being read.
#[derive(Debug, Clone)]
pub struct Header {
    at: At,
    flags: u8,
    hasher: crc32fast::Hasher,
}

impl Header {
    pub fn new() -> Self {
        Self {
            at: At::Fixed(0),
            flags: 0,
            hasher: crc32fast::Hasher::new(),
        }
    }

    /// Take the next byte; true when it was the last.
    pub fn push(&mut self, byte: u8) -> Result<bool, Fault> {
        let is_checksum = matches!(self.at, At::ChecksumLow | At::ChecksumHigh(_));
        if !is_checksum {
            self.hasher.update(&[byte]);
        }
        self.at = match self.at {
            At::Fixed(index) => self.fixed(index, byte)?,
            At::ExtraLengthLow => At::ExtraLengthHigh(byte),
            At::ExtraLengthHigh(low) => match u16::from_le_bytes([low, byte]) {
                0 => self.after(FEXTRA),
                length => At::Extra(length),
            },
            At::Extra(0 | 1) => self.after(FEXTRA),
            At::Extra(left) => At::Extra(left - 1),
            At::Name if byte == 0 => self.after(FNAME),
            At::Comment if byte == 0 => self.after(FCOMMENT),
            At::ChecksumLow => At::ChecksumHigh(byte),
            At::ChecksumHigh(low) => {
                let found = self.hasher.clone().finalize() & 0xffff;
                if u32::from(u16::from_le_bytes([low, byte])) != found {
                    return Err(Fault::Header("its own checksum does not fit"));
                }
                At::End
            }
            stays @ (At::Name | At::Comment | At::End) => stays,
        };
        Ok(self.at == At::End)
    }

    fn fixed(&mut self, index: u8, byte: u8) -> Result<At, Fault> {
        match (index, byte) {
            (0, 0x1f) | (1, 0x8b) | (2, 8) => {}
            (0 | 1, _) => return Err(Fault::NotGzip),
            (2, _) => return Err(Fault::Header("only method 8, deflate, is known")),
            (3, flags) if flags & RESERVED != 0 => {
                return Err(Fault::Header("the three upper flags are reserved"));
            }
            (3, flags) => self.flags = flags,
            (9, _) => return Ok(self.after(0)),
            _ => {}
        }
        Ok(At::Fixed(index + 1))
    }

    /// What comes after the field of this flag: optional fields stand in an order of their own.
    fn after(&self, flag: u8) -> At {
        let order = [
            (FEXTRA, At::ExtraLengthLow),
            (FNAME, At::Name),
            (FCOMMENT, At::Comment),
            (FHCRC, At::ChecksumLow),
        ];
        let passed = match order.iter().position(|(field, _)| *field == flag) {
            Some(index) => index + 1,
            None => 0,
        };
        order
            .into_iter()
            .skip(passed)
            .find(|(field, _)| self.flags & field != 0)
            .map_or(At::End, |(_, at)| at)
    }
}
