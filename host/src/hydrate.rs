//! Objects of a store as files below a directory: a copy under other names. What lies there and differs is kept
//! unless told otherwise, nothing outside is touched, no link is followed: as the disk store promises. Knows no layout.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::store::{
    Answer, BlobStore, Body, BoxFuture, DiskStore, Entry, Error, PutOptions, Request, Source, Stat,
    Upload,
};
use crate::transfer::{self, CopyOptions, Event, Summary};

/// An object, and where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    pub key: String,
    /// Below the directory, with `/` between segments.
    pub path: String,
    pub size_bytes: u64,
}

/// Place objects of `store` below `directory`, which is made where it is missing. `replace` writes over files that
/// are there and differ. Content types and metadata stay behind. Events and figures name paths.
pub async fn hydrate(
    store: Arc<dyn BlobStore>,
    directory: &Path,
    placements: Vec<Placement>,
    replace: bool,
    objects_at_once: usize,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Summary, Error> {
    let here = Files {
        inner: Arc::new(DiskStore::create(directory)?),
        keys: HashMap::new(),
    };
    let only = placements.iter().map(|placement| Entry {
        key: placement.path.clone(),
        size_bytes: placement.size_bytes,
        modified_ms: 0,
        version: None,
    });
    let options = CopyOptions {
        only: Some(only.collect()),
        replace,
        objects_at_once,
        ..CopyOptions::default()
    };
    let keys = placements.into_iter();
    let there = Files {
        inner: store,
        keys: keys
            .map(|placement| (placement.path, placement.key))
            .collect(),
    };
    transfer::copy(&there, &here, &options, &tell).await
}

/// A store whose objects are plain files: bytes, and nothing that a file has not. Those that have another key inside
/// are for reading.
struct Files {
    inner: Arc<dyn BlobStore>,
    /// The key inside, by the name here.
    keys: HashMap<String, String>,
}

impl Files {
    fn inward(&self, request: Request) -> Request {
        let inside = |key: String| self.keys.get(&key).cloned().unwrap_or(key);
        match request {
            Request::Get(mut get) => {
                get.key = inside(get.key);
                Request::Get(get)
            }
            Request::Head(key) => Request::Head(inside(key)),
            list @ Request::List(_) => list,
        }
    }
}

fn bare(stat: &mut Stat) {
    stat.content_type = None;
    stat.metadata.clear();
}

impl BlobStore for Files {
    fn describe(&self) -> Vec<(String, String)> {
        self.inner.describe()
    }

    fn read(&self, wave: Vec<Request>) -> BoxFuture<'_, Vec<Result<Answer, Error>>> {
        Box::pin(async move {
            let wave = wave.into_iter().map(|request| self.inward(request));
            let mut answers = self.inner.read(wave.collect()).await;
            for answer in answers.iter_mut().flatten() {
                match answer {
                    Answer::Blob(Some(blob)) => bare(&mut blob.stat),
                    Answer::Head(Some(stat)) => bare(stat),
                    _ => {}
                }
            }
            answers
        })
    }

    fn put(
        &self,
        key: String,
        body: Body,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>> {
        self.inner.put(key, body, options)
    }

    fn append(&self, key: String, body: Body, at_bytes: u64) -> BoxFuture<'_, Result<u64, Error>> {
        self.inner.append(key, body, at_bytes)
    }

    fn concat(
        &self,
        sources: Vec<Source>,
        to: String,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>> {
        self.inner.concat(sources, to, options)
    }

    fn delete(&self, keys: Vec<String>) -> BoxFuture<'_, Vec<Result<(), Error>>> {
        self.inner.delete(keys)
    }

    fn upload(
        &self,
        key: String,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<Box<dyn Upload + '_>, Error>> {
        self.inner.upload(key, options)
    }
}
