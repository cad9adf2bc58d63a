//! Archives as others make them, well or badly: tar by hand, gzip around it. Knows nothing of the importer.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::{EntryType, Header};

/// Entries in order, which [`Tar::done`] ends and compresses.
#[derive(Default)]
pub struct Tar(Vec<u8>);

impl Tar {
    pub fn file(self, path: &str, bytes: &[u8]) -> Self {
        self.entry(EntryType::Regular, path, bytes.len() as u64, bytes)
    }

    /// A header of any claim, and then these bytes, filled up to a block.
    pub fn entry(mut self, kind: EntryType, path: &str, size_bytes: u64, bytes: &[u8]) -> Self {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size_bytes);
        header.set_mode(0o644);
        // Names that `set_path` refuses are the point.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        self.0.extend(header.as_bytes());
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    /// As the next file's extended header.
    pub fn extended(self, records: &str) -> Self {
        let size_bytes = records.len() as u64;
        self.entry(EntryType::XHeader, "x", size_bytes, records.as_bytes())
    }

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    pub fn end(self) -> Self {
        self.raw(&[0; 1_024])
    }

    pub fn done(self) -> Vec<u8> {
        gzip(&self.end().0)
    }

    pub fn without_end(self) -> Vec<u8> {
        gzip(&self.0)
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

pub fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(bytes)
        .read_to_end(&mut plain)
        .expect("a gzip");
    plain
}
