//! One deflate stream, in steps: compressed bytes of any number in, raw bytes of a bounded number out.
//! Knows nothing of gzip.

use std::ops::Range;

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_HAS_MORE_INPUT;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use super::Checksum;

/// How far deflate looks back.
const WINDOW_BYTES: usize = 32 << 10;

/// What the stream waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    ForInput,
    ForOutput,
    /// For nothing: it has ended, and everything was given out.
    Ended,
    /// It is broken, and everything before that was given out.
    Broken,
}

/// Input taken and output given by one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub consumed_bytes: usize,
    pub written_bytes: usize,
    pub waits: Waits,
}

pub struct Inflater {
    core: Box<DecompressorOxide>,
    window: Vec<u8>,
    at: usize,
    /// What of the window is still to be given out.
    pending: Range<usize>,
    status: TINFLStatus,
    /// Of everything that was decoded.
    pub checksum: Checksum,
}

impl Inflater {
    pub fn new() -> Self {
        Self {
            core: Box::default(),
            window: vec![0; WINDOW_BYTES],
            at: 0,
            pending: 0..0,
            status: TINFLStatus::NeedsMoreInput,
            checksum: Checksum::default(),
        }
    }

    /// A stream that goes on behind a full flush, with the checksum of what came before it.
    pub fn behind_flush(checksum: Checksum) -> Self {
        Self {
            checksum,
            ..Self::new()
        }
    }

    /// Begin another stream.
    pub fn restart(&mut self) {
        self.core.init();
        self.at = 0;
        self.pending = 0..0;
        self.status = TINFLStatus::NeedsMoreInput;
        self.checksum = Checksum::default();
    }

    /// Decode some of `input` into `output`; give the rest again.
    pub fn step(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        let mut consumed_bytes = 0;
        if self.pending.is_empty() && !self.is_over() {
            let (status, consumed, decoded) = decompress(
                &mut self.core,
                input,
                &mut self.window,
                self.at,
                TINFL_FLAG_HAS_MORE_INPUT,
            );
            consumed_bytes = consumed;
            self.status = status;
            self.pending = self.at..self.at + decoded;
            self.at = (self.at + decoded) % WINDOW_BYTES;
            let new = self.window.get(self.pending.clone()).unwrap_or_default();
            self.checksum = self.checksum.and(new);
        }
        let written_bytes = self.give(output);
        let waits = match self.status {
            _ if !self.pending.is_empty() => Waits::ForOutput,
            TINFLStatus::Done => Waits::Ended,
            TINFLStatus::NeedsMoreInput => Waits::ForInput,
            TINFLStatus::HasMoreOutput => Waits::ForOutput,
            _ => Waits::Broken,
        };
        Step {
            consumed_bytes,
            written_bytes,
            waits,
        }
    }

    fn is_over(&self) -> bool {
        !matches!(
            self.status,
            TINFLStatus::NeedsMoreInput | TINFLStatus::HasMoreOutput
        )
    }

    fn give(&mut self, output: &mut [u8]) -> usize {
        let length = self.pending.len().min(output.len());
        let from = self.pending.start..self.pending.start + length;
        if let (Some(given), Some(place)) = (self.window.get(from), output.get_mut(..length)) {
            place.copy_from_slice(given);
        }
        self.pending.start += length;
        length
    }
}
