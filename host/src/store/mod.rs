//! The blob stores a host can offer, behind one trait. One file a store. What each promises is in
//! `wit/store/blobs.wit`; [`crate::contract`] checks it. Knows nothing of layouts or the component.

pub mod address;
mod backoff;
pub mod check;
pub mod credentials;
pub mod disk;
pub mod faulty;
pub mod fenced;
pub mod key;
pub mod memory;
pub mod s3;
pub mod scoped;
pub mod value;

use std::future::Future;
use std::pin::Pin;

pub use crate::bindings::blobs::{
    Answer, Blob, Body, BodyKind, Condition, Entry, Error, ErrorCode, GetRequest, ListRequest,
    Listing, PutOptions, Range, Request, Skipped, Source, Span, Stat,
};

pub use disk::DiskStore;
pub use fenced::FencedStore;
pub use memory::MemoryStore;
pub use s3::S3Store;
pub use scoped::ScopedStore;

/// A future that can cross threads, so that `dyn BlobStore` is possible.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A blob store, as `wit/store/blobs.wit` describes it, for any number of callers at once.
pub trait BlobStore: Send + Sync {
    fn describe(&self) -> Vec<(String, String)>;
    fn read(&self, wave: Vec<Request>) -> BoxFuture<'_, Vec<Result<Answer, Error>>>;
    fn put(
        &self,
        key: String,
        body: Body,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>>;
    fn append(&self, key: String, body: Body, at_bytes: u64) -> BoxFuture<'_, Result<u64, Error>>;
    fn concat(
        &self,
        sources: Vec<Source>,
        to: String,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>>;
    fn delete(&self, keys: Vec<String>) -> BoxFuture<'_, Vec<Result<(), Error>>>;

    /// Begin an object of any size, for hosts only: copies, imports, media. The guest knows no such call.
    ///
    /// The condition is `always` or `if-absent`, checked when it is finished.
    fn upload(
        &self,
        key: String,
        _options: PutOptions,
    ) -> BoxFuture<'_, Result<Box<dyn Upload + '_>, Error>> {
        let message = format!("key {}: this store takes no uploads", key::shown(&key));
        Box::pin(std::future::ready(Err(check::error(
            ErrorCode::Unsupported,
            message,
        ))))
    }
}

/// An object that is being written in parts. Nothing is seen under its key before it is finished; one
/// that is dropped leaves at most scratch, which the store sweeps.
pub trait Upload: Send {
    /// Add `part`, of any length up to the value limit, to the end.
    fn write(&mut self, part: Vec<u8>) -> BoxFuture<'_, Result<(), Error>>;
    /// Make the object appear, durably, and answer its version.
    fn finish<'a>(self: Box<Self>) -> BoxFuture<'a, Result<String, Error>>
    where
        Self: 'a;
    /// Give it up and remove what was stored of it.
    fn abort<'a>(self: Box<Self>) -> BoxFuture<'a, Result<(), Error>>
    where
        Self: 'a;
}
