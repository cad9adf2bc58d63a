//! An archive into a store of its own, each file checked on the way: whose it is, its name, its size, its sum.
//! What is refused has touched nothing but that store. Knows no target.

use std::io::Read;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc::Receiver;

use super::Owner;
use super::check::{Check, Unpacked};
use super::head::Head;
use super::manifest::{FOLDER, wrong};
use super::pieces::{Piece, pieces};
use crate::store::key::{key_problem, shown};
use crate::store::{BlobStore, Body, BoxFuture, Condition, Error, ErrorCode, PutOptions, check};

/// Files of up to 8 MiB that are written at the same time.
const WRITES_AT_ONCE: usize = 8;

/// What an archive may hold. A small file can claim to be anything.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub files_max: u64,
    /// All files together, unpacked.
    pub bytes_max: u64,
}

impl Default for Limits {
    /// A million files, 128 GiB.
    fn default() -> Self {
        Limits {
            files_max: 1_000_000,
            bytes_max: 128 << 30,
        }
    }
}

/// Unpack the `.tar.gz` of `owner` into `staging`, an empty store, under the keys that it had. `tell` hears of each
/// file's bytes.
///
/// Errors: `invalid` for an archive that is damaged, not whole, or of somebody else; `unsupported` for a newer
/// format; `too-large` over the limits; and those of `staging`.
pub async fn unpack(
    input: impl Read + Send + 'static,
    staging: &dyn BlobStore,
    owner: &Owner,
    limits: Limits,
    tell: &(dyn Fn(u64) + Sync),
) -> Result<Unpacked, Error> {
    let mut unpacking = Unpacking {
        pieces: pieces(input),
        staging,
        writes: FuturesUnordered::new(),
        check: Check::new(owner),
        left: limits,
        limits,
    };
    while let Some(piece) = unpacking.piece().await? {
        tell(unpacking.file(piece).await?);
    }
    while let Some(written) = unpacking.writes.next().await {
        written?;
    }
    unpacking.check.end()
}

struct Unpacking<'a> {
    pieces: Receiver<Result<Piece, Error>>,
    staging: &'a dyn BlobStore,
    writes: FuturesUnordered<BoxFuture<'a, Result<(), Error>>>,
    check: Check<'a>,
    limits: Limits,
    /// What may still come.
    left: Limits,
}

impl Unpacking<'_> {
    /// None at the archive's end.
    async fn piece(&mut self) -> Result<Option<Piece>, Error> {
        match self.pieces.recv().await {
            Some(Ok(Piece::End)) => Ok(None),
            Some(piece) => piece.map(Some),
            None => Err(check::error(
                ErrorCode::Other,
                "the thread that reads the archive broke off, which is a bug: please report it",
            )),
        }
    }

    /// Take a file; the answer is how many bytes of the user's it had.
    async fn file(&mut self, piece: Piece) -> Result<u64, Error> {
        let (head, whole) = match piece {
            Piece::Whole(head, bytes, hash) => (head, Some((bytes, hash))),
            Piece::Large(head) => (head, None),
            // Only `large` takes these.
            Piece::Part(_) | Piece::Done(_) | Piece::End => return Ok(0),
        };
        let (path, size_bytes) = (key(&head)?, head.size_bytes);
        self.check.admit(&path)?;
        if path.starts_with(FOLDER) {
            let Some((bytes, _)) = whole else {
                return Err(wrong(format!("{} is too large", shown(&path))));
            };
            self.check.manifest(&path, &bytes)?;
            return Ok(0);
        }
        self.within_limits(&path, size_bytes)?;
        let hash = match whole {
            Some((bytes, hash)) => {
                self.write(&path, bytes, options(head)).await?;
                hash
            }
            None => self.large(&path, options(head)).await?,
        };
        self.check.file(&path, size_bytes, hash)?;
        Ok(size_bytes)
    }

    fn within_limits(&mut self, path: &str, size_bytes: u64) -> Result<(), Error> {
        let Limits {
            files_max,
            bytes_max,
        } = self.limits;
        let files = self.left.files_max.checked_sub(1);
        let bytes = self.left.bytes_max.checked_sub(size_bytes);
        let over = match (files, bytes) {
            (Some(files_max), Some(bytes_max)) => {
                self.left = Limits {
                    files_max,
                    bytes_max,
                };
                return Ok(());
            }
            (None, _) => format!("it holds over {files_max} files"),
            (_, None) => format!(
                "{} claims {size_bytes} bytes, and all files together may have {bytes_max}",
                shown(path)
            ),
        };
        Err(Error {
            code: ErrorCode::TooLarge,
            ..wrong(over)
        })
    }

    async fn write(
        &mut self,
        path: &str,
        bytes: Vec<u8>,
        options: PutOptions,
    ) -> Result<(), Error> {
        let path = path.to_owned();
        let write = self.staging.put(path.clone(), Body::Binary(bytes), options);
        self.writes.push(Box::pin(async move {
            let written = write.await.map(drop);
            written.map_err(|error| staged(&path, error))
        }));
        while self.writes.len() >= WRITES_AT_ONCE {
            self.writes.next().await.unwrap_or(Ok(()))?;
        }
        Ok(())
    }

    async fn large(&mut self, path: &str, options: PutOptions) -> Result<[u8; 32], Error> {
        let staging = self.staging;
        let begun = staging.upload(path.to_owned(), options).await;
        let mut upload = begun.map_err(|error| staged(path, error))?;
        loop {
            match self.piece().await? {
                Some(Piece::Part(part)) => {
                    let written = upload.write(part).await;
                    written.map_err(|error| staged(path, error))?;
                }
                Some(Piece::Done(hash)) => {
                    let finished = upload.finish().await;
                    finished.map_err(|error| staged(path, error))?;
                    return Ok(hash);
                }
                _ => return Err(wrong(format!("{} has no end", shown(path)))),
            }
        }
    }
}

/// The key that a file's name is; `tar` puts `./` before what it finds below `.`.
fn key(head: &Head) -> Result<String, Error> {
    let mut path = head.path.as_str();
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    match key_problem(path) {
        None => Ok(path.to_owned()),
        Some((code, rule)) => Err(Error {
            code,
            ..wrong(format!("its file {} cannot be a key: {rule}", shown(path)))
        }),
    }
}

fn options(head: Head) -> PutOptions {
    PutOptions {
        condition: Condition::IfAbsent,
        content_type: head.content_type,
        metadata: head.metadata,
    }
}

/// The store is empty at first, so that what conflicts is twice in the archive.
fn staged(path: &str, error: Error) -> Error {
    match error.code {
        ErrorCode::Conflict => wrong(format!("it holds {} twice", shown(path))),
        ErrorCode::Invalid | ErrorCode::TooLarge => Error {
            code: error.code,
            ..wrong(error.message)
        },
        _ => error,
    }
}
