//! An archive's files as pieces, decompressed and hashed on a thread of their own, which waits for whoever takes them.
//! Knows no store.

use std::io::{BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use super::head::Head;
use super::manifest::wrong;
use super::tar::{Tar, unread};
use crate::store::check::{VALUE_BYTES_MAX, error};
use crate::store::{Error, ErrorCode};

/// How a gzip begins.
const MAGIC: &[u8] = &[0x1f, 0x8b];
/// Parts of up to 8 MiB that wait.
const WAITING_MAX: usize = 1;

pub enum Piece {
    /// A file of at most 8 MiB, and its SHA-256.
    Whole(Head, Vec<u8>, [u8; 32]),
    /// A larger one; parts follow, and then its SHA-256.
    Large(Head),
    Part(Vec<u8>),
    Done([u8; 32]),
    /// The archive was whole.
    End,
}

/// The pieces of the `.tar.gz` that `input` reads, up to an error or [`Piece::End`].
pub fn pieces(input: impl Read + Send + 'static) -> mpsc::Receiver<Result<Piece, Error>> {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    let failed = sender.clone();
    let started = std::thread::Builder::new()
        .name("haversack-archive".to_owned())
        .spawn(move || {
            if let Err(error) = read(input, &sender) {
                // Whoever asked may have gone.
                let _ = sender.blocking_send(Err(error));
            }
        });
    if let Err(cause) = started {
        let message = format!("no thread to read the archive: {cause}; try again later");
        let _ = failed.try_send(Err(error(ErrorCode::Unavailable, message)));
    }
    receiver
}

fn read(input: impl Read, sender: &mpsc::Sender<Result<Piece, Error>>) -> Result<(), Error> {
    let mut input = BufReader::new(input);
    let first = input.fill_buf().map_err(unread)?;
    if !first.starts_with(MAGIC) && !MAGIC.starts_with(first) {
        return Err(wrong("it is no gzip"));
    }
    let gzip = MultiGzDecoder::new(input);
    let mut tar = Tar::new(BufReader::with_capacity(64 << 10, gzip));
    // False where nobody takes any more.
    let send = |piece| sender.blocking_send(Ok(piece)).is_ok();
    while let Some(head) = tar.next()? {
        let mut hash = Sha256::new();
        if head.size_bytes <= VALUE_BYTES_MAX {
            let mut whole = Vec::new();
            while let Some(part) = tar.part()? {
                hash.update(&part);
                whole = part;
            }
            if !send(Piece::Whole(head, whole, hash.finalize().into())) {
                return Ok(());
            }
            continue;
        }
        if !send(Piece::Large(head)) {
            return Ok(());
        }
        while let Some(part) = tar.part()? {
            hash.update(&part);
            if !send(Piece::Part(part)) {
                return Ok(());
            }
        }
        if !send(Piece::Done(hash.finalize().into())) {
            return Ok(());
        }
    }
    send(Piece::End);
    Ok(())
}
