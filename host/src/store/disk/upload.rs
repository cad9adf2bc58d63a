//! Uploads: parts go straight into a scratch file, so that an object of any size costs the memory of
//! one part. Knows files in the making; the rules of writes are `write.rs`'s.

use std::sync::Arc;

use rustix::fd::OwnedFd;

use super::errors::failed;
use super::stream::Stream;
use super::{Disk, hop};
use crate::store::backoff::Backoff;
use crate::store::check::{self, error};
use crate::store::key::shown;
use crate::store::{BoxFuture, Error, ErrorCode, PutOptions, Upload};

pub struct DiskUpload {
    disk: Arc<Disk>,
    backoff: Arc<Backoff>,
    key: String,
    options: PutOptions,
    /// None after a write that failed or was given up half-way: what the file holds is then unknown.
    stream: Option<Stream<OwnedFd>>,
}

impl DiskUpload {
    pub async fn begin(
        disk: &Arc<Disk>,
        backoff: &Arc<Backoff>,
        key: String,
        options: PutOptions,
    ) -> Result<Self, Error> {
        check::check_upload(&key, &options)?;
        let name = key.clone();
        let begun = hop(disk, move |disk| {
            // Nothing is sent in vain where no object may lie.
            disk.check_place(&name)?;
            let reserved = disk.reserved()?;
            disk.scratch(reserved.scratch, &name).map(Stream::new)
        });
        Ok(DiskUpload {
            stream: Some(begun.await.flatten()?),
            disk: Arc::clone(disk),
            backoff: Arc::clone(backoff),
            key,
            options,
        })
    }
}

fn lost(key: &str) -> Error {
    let message = format!(
        "key {}: a part of this upload was not written; begin the upload anew",
        shown(key)
    );
    error(ErrorCode::Other, message)
}

impl Upload for DiskUpload {
    fn write(&mut self, part: Vec<u8>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            check::check_part(&self.key, &part)?;
            let mut stream = self.stream.take().ok_or_else(|| lost(&self.key))?;
            let key = self.key.clone();
            let written = hop(&self.disk, move |disk| match stream.write(&part) {
                Ok(()) => Ok(stream),
                Err(errno) => Err(failed(&disk.root, &key, "writing", errno)),
            });
            self.stream = Some(written.await.flatten()?);
            Ok(())
        })
    }

    fn finish<'a>(self: Box<Self>) -> BoxFuture<'a, Result<String, Error>>
    where
        Self: 'a,
    {
        Box::pin(async move {
            let DiskUpload {
                disk,
                backoff,
                key,
                options,
                stream,
            } = *self;
            let stream = stream.ok_or_else(|| lost(&key))?;
            let name = key.clone();
            let placed = hop(&disk, move |disk| {
                disk.commit_stream(&disk.reserved()?, stream, &key, options)
            });
            backoff.settle(&name, placed.await.flatten()).await
        })
    }

    fn abort<'a>(self: Box<Self>) -> BoxFuture<'a, Result<(), Error>>
    where
        Self: 'a,
    {
        // Dropping the scratch file removes it.
        let DiskUpload { disk, stream, .. } = *self;
        Box::pin(async move { hop(&disk, move |_| drop(stream)).await })
    }
}
