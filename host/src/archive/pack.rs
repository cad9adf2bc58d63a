//! Files into a tar, compressed, and passed on in pieces to whoever takes them. Knows no store.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use super::head::{BLOCK_BYTES, Head, blocks, padding};
use crate::store::check::error;
use crate::store::{Error, ErrorCode};

/// What is passed on at a time, about.
const PIECE_BYTES: usize = 64 << 10;
/// What is compressed before others on the thread have their turn.
const TURN_BYTES: usize = 256 << 10;
/// As the archives of sessions: half the work of the usual level for little more to store.
const LEVEL: u32 = 4;

/// Why an export ended before its end.
#[derive(Debug)]
pub enum Stop {
    /// Nobody takes it any more.
    Dropped,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Failed(error)
    }
}

pub struct Packer {
    gzip: GzEncoder<Vec<u8>>,
    taker: mpsc::Sender<Result<Bytes, Error>>,
}

impl Packer {
    pub fn new(taker: mpsc::Sender<Result<Bytes, Error>>) -> Self {
        Packer {
            gzip: GzEncoder::new(Vec::new(), Compression::new(LEVEL)),
            taker,
        }
    }

    /// An entry of the manifest.
    pub async fn file(&mut self, path: &str, bytes: &[u8]) -> Result<(), Stop> {
        let head = Head {
            path: path.to_owned(),
            size_bytes: bytes.len() as u64,
            ..Head::default()
        };
        self.whole(&head, bytes).await.map(drop)
    }

    /// A file whose bytes are there; the answer is their SHA-256.
    pub async fn whole(&mut self, head: &Head, bytes: &[u8]) -> Result<[u8; 32], Stop> {
        self.begin(head).await?;
        self.bytes(bytes).await?;
        self.end(head).await?;
        Ok(Sha256::digest(bytes).into())
    }

    pub async fn begin(&mut self, head: &Head) -> Result<(), Stop> {
        self.bytes(&blocks(head)).await
    }

    /// What fills the last block, after exactly as many bytes as the head says.
    pub async fn end(&mut self, head: &Head) -> Result<(), Stop> {
        let zeros = [0; BLOCK_BYTES];
        self.bytes(&zeros[..padding(head.size_bytes)]).await
    }

    pub async fn bytes(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        for turn in bytes.chunks(TURN_BYTES) {
            self.gzip.write_all(turn).map_err(broken)?;
            if self.gzip.get_ref().len() >= PIECE_BYTES {
                let piece = std::mem::take(self.gzip.get_mut());
                self.pass(piece).await?;
            } else {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// The archive's end, and gzip's.
    pub async fn finish(mut self) -> Result<(), Stop> {
        self.bytes(&[0; 2 * BLOCK_BYTES]).await?;
        self.gzip.try_finish().map_err(broken)?;
        let piece = std::mem::take(self.gzip.get_mut());
        self.pass(piece).await
    }

    async fn pass(&self, piece: Vec<u8>) -> Result<(), Stop> {
        let passed = self.taker.send(Ok(piece.into())).await;
        passed.map_err(|_| Stop::Dropped)
    }
}

fn broken(cause: std::io::Error) -> Stop {
    let message = format!("the archive could not be compressed: {cause}");
    Stop::Failed(error(ErrorCode::Other, message))
}
