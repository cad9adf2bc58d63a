//! The blob stores a host can offer, behind one trait. One file a store. What each promises is in
//! `wit/store/blobs.wit`; [`crate::contract`] checks it. Knows nothing of layouts or the component.

pub mod check;
pub mod disk;
pub mod key;
pub mod memory;
pub mod value;

use std::future::Future;
use std::pin::Pin;

pub use crate::bindings::blobs::{
    Answer, Blob, Body, BodyKind, Condition, Entry, Error, ErrorCode, GetRequest, ListRequest,
    Listing, PutOptions, Range, Request, Skipped, Source, Span, Stat,
};

pub use disk::DiskStore;
pub use memory::MemoryStore;

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
}
