//! A blob store in a bucket that speaks S3: AWS, R2, MinIO and their like. This file owns the store and
//! the order of its checks; what the calls do is beside it, in `s3/`. None of it knows layouts.
//!
//! An object is the bucket's object under the same key, below the store's prefix where it has one.
//! Versions are tags without quotes. Metadata is `x-amz-meta-*`; values that a header cannot carry are
//! encoded words (RFC 2047). Keys below `.haversack/` are nobody's: neither shown nor taken.
//!
//! Every check of a call's own comes before the first request. Nothing is left behind but the parts of
//! an upload whose program was killed, which no list shows; buckets drop those by a rule of their own (R2
//! after a week, AWS where `AbortIncompleteMultipartUpload` is set).

mod bucket;
mod concat;
mod copy;
mod delete;
mod failure;
pub mod faults;
mod list;
mod read;
mod retry;
mod stat;
mod upload;
mod wire;
mod words;
mod write;
mod xml;

use std::sync::Arc;

pub use bucket::{REQUESTS_AT_ONCE, REQUESTS_AT_ONCE_MAX, S3Options};
pub use retry::Retry;

use self::bucket::Bucket;
use super::backoff::Backoff;
use super::{
    Answer, BlobStore, Body, BoxFuture, Error, PutOptions, Request, Source, Upload, check, value,
};

/// A bucket as a blob store. Needs a tokio runtime with its timer and its I/O.
pub struct S3Store {
    bucket: Arc<Bucket>,
    backoff: Arc<Backoff>,
}

impl S3Store {
    /// The store in a bucket. Sends nothing: whether the bucket is there shows with the first call.
    pub fn connect(options: S3Options) -> Result<Self, Error> {
        Ok(S3Store {
            bucket: Arc::new(Bucket::new(options)?),
            backoff: Arc::default(),
        })
    }
}

impl BlobStore for S3Store {
    fn describe(&self) -> Vec<(String, String)> {
        let mut described = check::describe("s3", false, self.bucket.requests_at_once);
        described.extend(self.bucket.key_bytes_max());
        described
    }

    fn read(&self, wave: Vec<Request>) -> BoxFuture<'_, Vec<Result<Answer, Error>>> {
        Box::pin(self.bucket.answer_wave(wave))
    }

    fn put(
        &self,
        key: String,
        body: Body,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async move {
            check::check_put(&key, &body, &options)?;
            stat::check_metadata(&key, &options)?;
            let bytes = value::into_bytes(body).into();
            let outcome = self.bucket.put(&key, bytes, &options).await;
            self.backoff.settle(&key, outcome).await
        })
    }

    fn append(&self, key: String, body: Body, _: u64) -> BoxFuture<'_, Result<u64, Error>> {
        let refused = check::check_append(false, &key, &body);
        Box::pin(std::future::ready(refused.map(|()| 0)))
    }

    fn concat(
        &self,
        sources: Vec<Source>,
        to: String,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async move {
            let outcome = concat::concat(&self.bucket, sources, &to, &options).await;
            self.backoff.settle(&to, outcome).await
        })
    }

    fn delete(&self, keys: Vec<String>) -> BoxFuture<'_, Vec<Result<(), Error>>> {
        Box::pin(self.bucket.delete(keys))
    }

    fn upload(
        &self,
        key: String,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<Box<dyn Upload + '_>, Error>> {
        let begun = upload::begin(&self.bucket, key, options);
        Box::pin(std::future::ready(
            begun.map(|upload| Box::new(upload) as Box<dyn Upload>),
        ))
    }
}
