//! The component's one import, answered by a [`BlobStore`]. Converts nothing: both sides speak the types
//! of `wit/store/blobs.wit`.

use std::sync::Arc;

use crate::bindings::blobs;
use crate::store::BlobStore;

/// The host's side of one call.
pub struct Imports {
    store: Arc<dyn BlobStore>,
}

impl Imports {
    pub(crate) fn new(store: Arc<dyn BlobStore>) -> Self {
        Self { store }
    }
}

impl blobs::Host for Imports {
    async fn describe(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(self.store.describe())
    }

    async fn read(
        &mut self,
        wave: Vec<blobs::Request>,
    ) -> wasmtime::Result<Vec<Result<blobs::Answer, blobs::Error>>> {
        Ok(self.store.read(wave).await)
    }

    async fn put(
        &mut self,
        key: String,
        body: blobs::Body,
        options: blobs::PutOptions,
    ) -> wasmtime::Result<Result<String, blobs::Error>> {
        Ok(self.store.put(key, body, options).await)
    }

    async fn append(
        &mut self,
        key: String,
        body: blobs::Body,
        at_bytes: u64,
    ) -> wasmtime::Result<Result<u64, blobs::Error>> {
        Ok(self.store.append(key, body, at_bytes).await)
    }

    async fn concat(
        &mut self,
        sources: Vec<blobs::Source>,
        to: String,
        options: blobs::PutOptions,
    ) -> wasmtime::Result<Result<String, blobs::Error>> {
        Ok(self.store.concat(sources, to, options).await)
    }

    async fn delete(
        &mut self,
        keys: Vec<String>,
    ) -> wasmtime::Result<Vec<Result<(), blobs::Error>>> {
        Ok(self.store.delete(keys).await)
    }
}
