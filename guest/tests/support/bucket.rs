//! A small bucket for tests of the protocols: every call of `wit/store/blobs.wit`, counted, in memory.
//! Knows no failures; those are the simulation's.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use haversack_core::store::{
    Answer, Blob, Body, Condition, Entry, Listing, PutOptions, Range, Request, Source, Stat, Store,
    StoreError, StoreErrorCode, StoreResult,
};

#[derive(Clone)]
pub struct Object {
    pub bytes: Vec<u8>,
    pub options: PutOptions,
    pub version: u64,
}

#[derive(Default)]
pub struct Bucket {
    pub objects: RefCell<BTreeMap<String, Object>>,
    pub appends: bool,
    pub bytes_sent: Cell<u64>,
    pub bytes_read: Cell<u64>,
    pub waves: Cell<u32>,
    versions: Cell<u64>,
}

impl Bucket {
    pub fn new(appends: bool) -> Self {
        Self {
            appends,
            ..Self::default()
        }
    }

    pub fn insert(&self, key: &str, bytes: &[u8]) {
        let options = PutOptions {
            condition: Condition::Always,
            content_type: None,
            metadata: Vec::new(),
        };
        self.write(key, bytes.to_vec(), options).unwrap();
    }

    pub fn bytes(&self, key: &str) -> Option<Vec<u8>> {
        self.objects.borrow().get(key).map(|o| o.bytes.clone())
    }

    pub fn keys(&self, prefix: &str) -> Vec<String> {
        let objects = self.objects.borrow();
        let keys = objects.keys().filter(|key| key.starts_with(prefix));
        keys.cloned().collect()
    }

    fn write(&self, key: &str, bytes: Vec<u8>, options: PutOptions) -> StoreResult<String> {
        let mut objects = self.objects.borrow_mut();
        let current = objects.get(key).map(|object| object.version.to_string());
        let holds = match &options.condition {
            Condition::Always => true,
            Condition::IfAbsent => current.is_none(),
            Condition::IfMatch(version) => current.as_ref() == Some(version),
        };
        if !holds {
            return Err(StoreError {
                code: StoreErrorCode::Conflict,
                message: "a condition".to_owned(),
                retry_after_ms: None,
                current,
            });
        }
        let version = self.versions.get() + 1;
        self.versions.set(version);
        let object = Object {
            bytes,
            options,
            version,
        };
        objects.insert(key.to_owned(), object);
        Ok(version.to_string())
    }

    fn stat(object: &Object) -> Stat {
        Stat {
            version: object.version.to_string(),
            content_type: object.options.content_type.clone(),
            metadata: object.options.metadata.clone(),
            size_bytes: object.bytes.len() as u64,
            modified_ms: object.version,
        }
    }

    fn answer(&self, request: &Request) -> Answer {
        let objects = self.objects.borrow();
        match request {
            Request::Head(key) => Answer::Head(objects.get(key).map(Self::stat)),
            Request::Get(get) => Answer::Blob(objects.get(&get.key).map(|object| {
                let size = object.bytes.len();
                let clamp = |n: u64| usize::try_from(n).unwrap_or(size).min(size);
                let range = match get.range {
                    Range::Whole => 0..size,
                    Range::Span {
                        start_bytes,
                        length_bytes,
                    } => clamp(start_bytes)..clamp(start_bytes.saturating_add(length_bytes)),
                    Range::Last(bytes) => size - clamp(bytes)..size,
                };
                let part = object.bytes[range].to_vec();
                self.bytes_read
                    .set(self.bytes_read.get() + part.len() as u64);
                Blob {
                    body: Body::Binary(part),
                    stat: Self::stat(object),
                }
            })),
            Request::List(list) => {
                let after = list.cursor.clone().or(list.start_after.clone());
                let after = after.unwrap_or_default();
                let limit = list.limit.map_or(1_000, |limit| limit as usize).min(1_000);
                let mut listing = Listing::default();
                for (key, object) in objects.range(list.prefix.clone()..) {
                    let Some(rest) = key.strip_prefix(&list.prefix) else {
                        break;
                    };
                    let folded = rest.split_once('/').filter(|_| list.delimiter);
                    let folded = folded.map(|(name, _)| format!("{}{name}/", list.prefix));
                    let passed = match (&folded, &list.cursor) {
                        (Some(folded), Some(cursor)) => folded <= cursor,
                        _ => *key <= after,
                    };
                    if passed || (folded.is_some() && listing.prefixes.last() == folded.as_ref()) {
                        continue;
                    }
                    if listing.entries.len() + listing.prefixes.len() == limit {
                        let entry = listing.entries.last().map(|e: &Entry| e.key.clone());
                        listing.cursor = entry.max(listing.prefixes.last().cloned());
                        break;
                    }
                    match folded {
                        Some(folded) => listing.prefixes.push(folded),
                        None => listing.entries.push(Entry {
                            key: key.clone(),
                            size_bytes: object.bytes.len() as u64,
                            modified_ms: object.version,
                            version: Some(object.version.to_string()),
                        }),
                    }
                }
                Answer::Listing(listing)
            }
        }
    }
}

impl Store for Bucket {
    fn describe(&self) -> Vec<(String, String)> {
        let appends = if self.appends { "yes" } else { "no" };
        vec![("append".to_owned(), appends.to_owned())]
    }

    fn read(&self, wave: Vec<Request>) -> Vec<StoreResult<Answer>> {
        self.waves.set(self.waves.get() + 1);
        wave.iter()
            .map(|request| Ok(self.answer(request)))
            .collect()
    }

    fn put(&self, key: &str, body: Body, options: PutOptions) -> StoreResult<String> {
        let bytes = body.into_bytes();
        self.bytes_sent
            .set(self.bytes_sent.get() + bytes.len() as u64);
        self.write(key, bytes, options)
    }

    fn append(&self, key: &str, body: Body, at_bytes: u64) -> StoreResult<u64> {
        let bytes = body.into_bytes();
        self.bytes_sent
            .set(self.bytes_sent.get() + bytes.len() as u64);
        let mut whole = self.bytes(key).unwrap_or_default();
        if whole.len() as u64 != at_bytes {
            return Err(StoreError {
                code: StoreErrorCode::Conflict,
                message: "another size".to_owned(),
                retry_after_ms: None,
                current: Some(whole.len().to_string()),
            });
        }
        whole.extend(bytes);
        self.insert(key, &whole);
        Ok(whole.len() as u64)
    }

    fn concat(&self, sources: Vec<Source>, to: &str, options: PutOptions) -> StoreResult<String> {
        let mut bytes = Vec::new();
        for source in sources {
            let part = self.bytes(&source.key).ok_or_else(|| StoreError {
                code: StoreErrorCode::Conflict,
                message: format!("{} is missing", source.key),
                retry_after_ms: None,
                current: None,
            })?;
            bytes.extend(part);
        }
        self.write(to, bytes, options)
    }

    fn delete(&self, keys: Vec<String>) -> Vec<StoreResult<()>> {
        let mut objects = self.objects.borrow_mut();
        let delete = |key: String| {
            objects.remove(&key);
            Ok(())
        };
        keys.into_iter().map(delete).collect()
    }
}
