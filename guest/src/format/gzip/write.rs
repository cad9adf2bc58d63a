//! One gzip member from pieces that are compressed apart, so that an archive of any length needs the
//! memory of one piece and can be continued after any of them. Knows no reader.

use miniz_oxide::DataFormat;
use miniz_oxide::deflate::core::{CompressorOxide, TDEFLFlush, TDEFLStatus, compress_to_output};

use super::Checksum;
use crate::limits::{ARCHIVE_DEFLATE_LEVEL, ARCHIVE_PIECE_RAW_BYTES_MAX};
use crate::types::{Error, ErrorCode, Result};

/// Begins the member: deflate, no optional field, no time, unknown system. No time, so that the same
/// messages are the same bytes.
pub const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// An empty final block: what ends a deflate stream that stands at a byte.
const FINAL_BLOCK: [u8; 2] = [3, 0];

/// Compressed bytes with what they are of. Pieces in order, the first with [`Piece::opened`], the last
/// with [`Piece::closed`], are one gzip member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub bytes: Vec<u8>,
    /// Of this piece's raw bytes alone.
    pub checksum: Checksum,
}

impl Piece {
    /// Compress `raw`, at most [`ARCHIVE_PIECE_RAW_BYTES_MAX`] bytes. The result ends at a byte and looks
    /// back at nothing, so it may follow any other piece.
    // The whole compressor is compiled into this function. Inside a still larger one, code generators of hosts run
    // out of registers for its loops.
    #[inline(never)]
    pub fn of(raw: &[u8]) -> Result<Self> {
        if raw.len() > ARCHIVE_PIECE_RAW_BYTES_MAX {
            return Err(Error::too_large(format!(
                "a piece of {} bytes is larger than {ARCHIVE_PIECE_RAW_BYTES_MAX}; give it in several",
                raw.len()
            )));
        }
        let mut compressor = Box::<CompressorOxide>::default();
        compressor.set_format_and_level(DataFormat::Raw, ARCHIVE_DEFLATE_LEVEL);
        let mut bytes = Vec::new();
        if !raw.is_empty() {
            let (status, taken_bytes) =
                compress_to_output(&mut compressor, raw, TDEFLFlush::Full, |output| {
                    bytes.extend_from_slice(output);
                    true
                });
            if status != TDEFLStatus::Okay || taken_bytes != raw.len() {
                return Err(Error::new(
                    ErrorCode::Other,
                    format!(
                        "the compressor stopped after {taken_bytes} of {} bytes, which is a bug",
                        raw.len()
                    ),
                ));
            }
        }
        Ok(Self {
            bytes,
            checksum: Checksum::of(raw),
        })
    }

    /// The first piece of a member.
    pub fn opened(mut self) -> Self {
        self.bytes.splice(..0, HEADER);
        self
    }

    /// The last piece of a member; `whole` is of all its pieces, this one included.
    pub fn closed(mut self, whole: Checksum) -> Self {
        self.bytes.extend_from_slice(&FINAL_BLOCK);
        self.bytes.extend_from_slice(&whole.trailer());
        self
    }
}

/// `raw` as one member, in as many pieces as it needs; at least one.
pub fn compress(raw: &[u8]) -> Result<Vec<Piece>> {
    let mut pieces = raw
        .chunks(ARCHIVE_PIECE_RAW_BYTES_MAX)
        .map(Piece::of)
        .collect::<Result<Vec<_>>>()?;
    let whole = pieces.iter().fold(Checksum::default(), |whole, piece| {
        whole.combine(piece.checksum)
    });
    let last = match pieces.pop() {
        Some(last) => last,
        None => Piece::of(&[])?,
    };
    pieces.push(last.closed(whole));
    let first = pieces.remove(0);
    pieces.insert(0, first.opened());
    Ok(pieces)
}
