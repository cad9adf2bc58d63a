//! An object of any size in the making: a scratch file that grows, and the hash of what is small enough
//! to be known by it. Shared by what joins objects and what receives them in parts.

use rustix::fd::AsFd;
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::Disk;
use super::lock::Stripe;
use super::reserved::Reserved;
use super::scratch::Scratch;
use crate::store::check::VALUE_BYTES_MAX;
use crate::store::{Error, PutOptions, value};

pub struct Stream<D: AsFd> {
    file: Scratch<D>,
    hash: Sha256,
    size_bytes: u64,
}

impl<D: AsFd> Stream<D> {
    pub fn new(file: Scratch<D>) -> Self {
        Stream {
            file,
            hash: Sha256::new(),
            size_bytes: 0,
        }
    }

    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        self.size_bytes += bytes.len() as u64;
        if self.size_bytes <= VALUE_BYTES_MAX {
            self.hash.update(bytes);
        }
        self.file.write(bytes)
    }
}

impl Disk {
    /// Check the condition under the key's lock and give what was written its place.
    pub fn commit_stream(
        &self,
        reserved: &Reserved,
        stream: Stream<impl AsFd>,
        key: &str,
        options: PutOptions,
    ) -> Result<String, Error> {
        let small = stream.size_bytes <= VALUE_BYTES_MAX;
        let version = small.then(|| value::hex(&stream.hash.finalize()[..16]));
        let _stripe = Stripe::take(&self.root, reserved, key)?;
        let old = self.check_place(key)?;
        self.check_condition(key, &options.condition)?;
        self.commit(reserved, stream.file, key, version, options, old)
    }
}
