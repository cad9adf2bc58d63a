//! A small memory store for tests of the core: reads and lists as `wit/store/blobs.wit` says, and
//! remembers its waves. Writes are not its business.
#![allow(dead_code)]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use haversack_core::store::{
    Answer, Blob, Body, Entry, Listing, PutOptions, Range, Request, Source, Stat, Store,
    StoreError, StoreErrorCode, StoreResult,
};

/// Objects by key; `page_max` bounds a list page below what is asked for.
pub struct MemoryStore {
    pub objects: BTreeMap<String, Vec<u8>>,
    pub page_max: usize,
    pub waves: RefCell<Vec<usize>>,
    pub denied: Cell<Option<&'static str>>,
}

impl MemoryStore {
    pub fn with_keys<K: Into<String>>(keys: impl IntoIterator<Item = K>) -> Self {
        Self {
            objects: keys
                .into_iter()
                .map(|key| (key.into(), b"x".to_vec()))
                .collect(),
            page_max: 1_000,
            waves: RefCell::default(),
            denied: Cell::default(),
        }
    }

    fn list(&self, request: &haversack_core::store::ListRequest) -> Listing {
        let limit = request
            .limit
            .map_or(1_000, |limit| limit as usize)
            .min(self.page_max);
        let from = request.cursor.clone().or(request.start_after.clone());
        let mut listing = Listing::default();
        for (key, bytes) in &self.objects {
            let Some(rest) = key.strip_prefix(&request.prefix) else {
                continue;
            };
            let folded = match rest.split_once('/') {
                Some((directory, _)) if request.delimiter => {
                    Some(format!("{}{directory}/", request.prefix))
                }
                _ => None,
            };
            // A cursor names the last thing of the page before; a folded one covers its keys.
            let place = folded.as_ref().unwrap_or(key);
            let passed = match (&request.cursor, &from) {
                (Some(cursor), _) => place <= cursor,
                (None, Some(after)) => key <= after,
                (None, None) => false,
            };
            if passed || listing.prefixes.last() == folded.as_ref() && folded.is_some() {
                continue;
            }
            if listing.entries.len() + listing.prefixes.len() == limit {
                let last_entry = listing.entries.last().map(|entry| &entry.key);
                listing.cursor = last_entry.max(listing.prefixes.last()).cloned();
                break;
            }
            match folded {
                Some(prefix) => listing.prefixes.push(prefix),
                None => listing.entries.push(Entry {
                    key: key.clone(),
                    size_bytes: bytes.len() as u64,
                    modified_ms: 7,
                    version: None,
                }),
            }
        }
        listing
    }

    fn stat(bytes: &[u8]) -> Stat {
        Stat {
            version: format!("{}", bytes.len()),
            content_type: None,
            metadata: Vec::new(),
            size_bytes: bytes.len() as u64,
            modified_ms: 7,
        }
    }

    fn answer(&self, request: Request) -> StoreResult<Answer> {
        let key = match &request {
            Request::Get(get) => &get.key,
            Request::Head(key) => key,
            Request::List(list) => &list.prefix,
        };
        if self.denied.get().is_some_and(|denied| key == denied) {
            return Err(StoreError {
                code: StoreErrorCode::Denied,
                message: "not yours".to_owned(),
                retry_after_ms: None,
                current: None,
            });
        }
        Ok(match request {
            Request::List(list) => Answer::Listing(self.list(&list)),
            Request::Head(key) => {
                Answer::Head(self.objects.get(&key).map(|bytes| Self::stat(bytes)))
            }
            Request::Get(get) => Answer::Blob(self.objects.get(&get.key).map(|bytes| {
                assert_eq!(get.range, Range::Whole, "this store reads whole objects");
                Blob {
                    body: Body::Binary(bytes.clone()),
                    stat: Self::stat(bytes),
                }
            })),
        })
    }
}

fn no_writes<T>() -> StoreResult<T> {
    Err(StoreError {
        code: StoreErrorCode::Unsupported,
        message: "this store takes no writes".to_owned(),
        retry_after_ms: None,
        current: None,
    })
}

impl Store for MemoryStore {
    fn describe(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn read(&self, wave: Vec<Request>) -> Vec<StoreResult<Answer>> {
        self.waves.borrow_mut().push(wave.len());
        wave.into_iter()
            .map(|request| self.answer(request))
            .collect()
    }

    fn put(&self, _: &str, _: Body, _: PutOptions) -> StoreResult<String> {
        no_writes()
    }

    fn append(&self, _: &str, _: Body, _: u64) -> StoreResult<u64> {
        no_writes()
    }

    fn concat(&self, _: Vec<Source>, _: &str, _: PutOptions) -> StoreResult<String> {
        no_writes()
    }

    fn delete(&self, keys: Vec<String>) -> Vec<StoreResult<()>> {
        keys.iter().map(|_| no_writes()).collect()
    }
}
