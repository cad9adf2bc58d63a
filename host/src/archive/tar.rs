//! Reading a tar from its bytes, one file after the other, in every dialect's words for a long name. Holds no more
//! than a part of a file, whatever the archive claims; knows no store.

use std::io::{ErrorKind, Read};

use ::tar::{EntryType, Header};

use super::head::{BLOCK_BYTES, Extended, Head, padding};
use super::manifest::wrong;
use crate::store::check::{VALUE_BYTES_MAX, error};
use crate::store::key::shown;
use crate::store::{Error, ErrorCode};

/// Names and extensions of one file.
const ABOUT_BYTES_MAX: u64 = 64 << 10;
/// Zeros behind the end: tars are filled up to a tape's block.
const AFTER_END_BYTES_MAX: usize = 16 << 20;

pub struct Tar<R> {
    input: R,
    /// Of the file whose head was answered last.
    left_bytes: u64,
    padding: usize,
}

impl<R: Read> Tar<R> {
    pub fn new(input: R) -> Self {
        Self {
            input,
            left_bytes: 0,
            padding: 0,
        }
    }

    /// The next file, whose bytes are then to be read to their end; none at the end of the archive, when nothing
    /// but zeros is behind it and the compression's own sum is right.
    pub fn next(&mut self) -> Result<Option<Head>, Error> {
        let mut about = Extended::default();
        loop {
            let mut block = [0; BLOCK_BYTES];
            self.fill(&mut block)?;
            if block.iter().all(|byte| *byte == 0) {
                return self.end().map(|()| None);
            }
            let header = Header::from_byte_slice(&block);
            check_sum(header)?;
            let size_bytes = number(header)?;
            let path = String::from_utf8(header.path_bytes().into_owned());
            let path = path.map_err(|_| wrong("a name is not UTF-8"));
            match header.entry_type() {
                EntryType::XHeader => {
                    let long = about.path.take();
                    about = Extended::parse(&self.about(size_bytes)?)?;
                    about.path = about.path.or(long);
                }
                EntryType::GNULongName => {
                    let mut name = self.about(size_bytes)?;
                    while name.last() == Some(&0) {
                        name.pop();
                    }
                    let name = String::from_utf8(name).map_err(|_| wrong("a name is not UTF-8"))?;
                    about.path = Some(name);
                }
                // What holds for all files: none of it is about an object.
                EntryType::XGlobalHeader => drop(self.about(size_bytes)?),
                EntryType::Directory => about = Extended::default(),
                EntryType::Regular | EntryType::Continuous => {
                    let size_bytes = about.size_bytes.unwrap_or(size_bytes);
                    self.left_bytes = size_bytes;
                    self.padding = padding(size_bytes);
                    return Ok(Some(Head {
                        path: about.path.map_or(path, Ok)?,
                        size_bytes,
                        modified_ms: header.mtime().unwrap_or(0).saturating_mul(1_000),
                        content_type: about.content_type,
                        metadata: about.metadata,
                    }));
                }
                kind => {
                    let path = about.path.map_or(path, Ok)?;
                    return Err(wrong(format!(
                        "{} is {}; only files and folders have a place in a store",
                        shown(&path),
                        kind_name(kind)
                    )));
                }
            }
        }
    }

    /// The next part of the file, at most 8 MiB; none at its end.
    pub fn part(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if self.left_bytes == 0 {
            let mut zeros = [0; BLOCK_BYTES];
            let padding = std::mem::take(&mut self.padding);
            self.fill(&mut zeros[..padding])?;
            return Ok(None);
        }
        let length = self.left_bytes.min(VALUE_BYTES_MAX);
        let part = self.bytes(length)?;
        self.left_bytes -= length;
        Ok(Some(part))
    }

    fn about(&mut self, size_bytes: u64) -> Result<Vec<u8>, Error> {
        if size_bytes > ABOUT_BYTES_MAX {
            return Err(wrong(format!(
                "names and attributes of one file claim {size_bytes} bytes, over {ABOUT_BYTES_MAX}"
            )));
        }
        let bytes = self.bytes(size_bytes)?;
        let mut zeros = [0; BLOCK_BYTES];
        self.fill(&mut zeros[..padding(size_bytes)])?;
        Ok(bytes)
    }

    /// Grows with what comes, not with what is claimed.
    fn bytes(&mut self, length: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(length).read_to_end(&mut bytes);
        read.map_err(unread)?;
        match bytes.len() as u64 == length {
            true => Ok(bytes),
            false => Err(unread(ErrorKind::UnexpectedEof.into())),
        }
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        self.input.read_exact(bytes).map_err(unread)
    }

    fn end(&mut self) -> Result<(), Error> {
        let mut bytes = [0; 8 << 10];
        let mut after = 0;
        loop {
            let length = match self.input.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(unread(error)),
            };
            after += length;
            if bytes[..length].iter().any(|byte| *byte != 0) {
                return Err(wrong(
                    "there is more behind its end; archives that were joined or added to are not read",
                ));
            }
            if after > AFTER_END_BYTES_MAX {
                return Err(wrong(format!(
                    "over {AFTER_END_BYTES_MAX} zeros are behind its end"
                )));
            }
        }
    }
}

fn check_sum(header: &Header) -> Result<(), Error> {
    let damaged = || wrong("a header is damaged, or it is no tar");
    let said = header.cksum().map_err(|_| damaged())?;
    let field = 148..156;
    let bytes = header.as_bytes().iter().enumerate();
    let found: u32 = bytes
        .map(|(at, byte)| if field.contains(&at) { b' ' } else { *byte })
        .map(u32::from)
        .sum();
    if said == found {
        Ok(())
    } else {
        Err(damaged())
    }
}

fn number(header: &Header) -> Result<u64, Error> {
    let size = header.entry_size();
    size.map_err(|_| wrong("a header's size is no number"))
}

fn kind_name(kind: EntryType) -> String {
    match kind {
        EntryType::Symlink => "a symbolic link".to_owned(),
        EntryType::Link => "a hard link".to_owned(),
        EntryType::GNUSparse => "a sparse file".to_owned(),
        EntryType::Char | EntryType::Block => "a device".to_owned(),
        EntryType::Fifo => "a pipe".to_owned(),
        kind => format!("of the unknown type {:?}", char::from(kind.as_byte())),
    }
}

/// What reading and decompressing fails with.
pub fn unread(cause: std::io::Error) -> Error {
    match cause.kind() {
        ErrorKind::UnexpectedEof => {
            wrong("it ends in the middle, so something cut it off; copy or export it again")
        }
        ErrorKind::InvalidData | ErrorKind::InvalidInput => {
            wrong(format!("it is damaged ({cause})"))
        }
        _ => error(
            ErrorCode::Other,
            format!("the archive cannot be read: {cause}"),
        ),
    }
}
