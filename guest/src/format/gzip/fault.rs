//! What can be wrong with a gzip file, in words for people. Knows no decoder.

use std::fmt;

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The file does not begin as gzip does.
    NotGzip,
    /// The header of a member breaks a rule.
    Header(&'static str),
    /// The compressed data makes no sense.
    Data,
    /// The raw bytes are not those that were compressed.
    Checksum { recorded: u32, found: u32 },
    /// As many raw bytes as recorded, modulo 2^32, should have come out.
    Length { recorded: u32, found: u64 },
    /// The file ends inside a member.
    Torn,
    /// After the last member stands something that is neither a member nor zeros.
    Garbage,
}

/// What is wrong, where, and how much was saved before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    pub fault: Fault,
    /// How far the file was read.
    pub offset_bytes: u64,
    /// Raw bytes that were given out. Those of the member that is damaged are unchecked.
    pub raw_bytes: u64,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, saved) = (self.offset_bytes, self.raw_bytes);
        match &self.fault {
            Fault::NotGzip => write!(f, "this is no gzip file: it begins otherwise"),
            Fault::Header(rule) => write!(f, "the gzip header before byte {at} is broken: {rule}"),
            Fault::Data => write!(f, "the compressed data is broken before byte {at}"),
            Fault::Checksum { recorded, found } => write!(
                f,
                "the raw bytes have the CRC-32 {found:08x} and the gzip member before byte {at} \
                 records {recorded:08x}"
            ),
            Fault::Length { recorded, found } => write!(
                f,
                "{found} raw bytes came out and the gzip member before byte {at} records {recorded}"
            ),
            Fault::Torn => write!(f, "the file is torn off at byte {at}"),
            Fault::Garbage => write!(
                f,
                "after the last gzip member, from byte {at} on, is garbage"
            ),
        }?;
        write!(f, "; {saved} raw bytes were saved")
    }
}
