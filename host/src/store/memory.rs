//! A blob store in memory: for tests, and the example to read before writing a store of your own.
//! Deterministic: the clock is a number that the owner sets. Knows nothing of files or networks.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::key::{check_directories, check_key};
use super::*;

/// One object: its bytes, and everything else about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    pub bytes: Vec<u8>,
    pub stat: Stat,
}

impl Object {
    /// What a put with these options, at this time, leaves in the store.
    pub fn new(bytes: Vec<u8>, options: PutOptions, modified_ms: u64) -> Self {
        let stat = Stat {
            version: value::version(&bytes),
            content_type: options.content_type,
            metadata: options.metadata,
            size_bytes: bytes.len() as u64,
            modified_ms,
        };
        Object { bytes, stat }
    }
}

/// Byte order of UTF-8 is the order of Rust's strings, so a sorted map is all a list needs.
pub type Objects = BTreeMap<String, Object>;

type Written<'a, T> = BoxFuture<'a, Result<T, Error>>;

pub struct MemoryStore {
    objects: Mutex<Objects>,
    /// Whether `append` works. Without it the store is like a bucket.
    pub appends: bool,
    /// Entries on one page of a list at most: below 1,000 its callers meet short pages.
    pub page_max: u32,
    /// The time that every write records.
    pub now_ms: u64,
}

impl MemoryStore {
    pub fn new(appends: bool) -> Self {
        Self::from_objects(appends, Objects::new())
    }

    pub fn from_objects(appends: bool, objects: Objects) -> Self {
        MemoryStore {
            objects: Mutex::new(objects),
            appends,
            page_max: check::LIST_PAGE_MAX,
            now_ms: 0,
        }
    }

    pub fn objects(&self) -> Objects {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The end of every write, under its caller's lock, so that no two pass the same condition.
    fn write(
        &self,
        objects: &mut Objects,
        key: String,
        bytes: Vec<u8>,
        options: PutOptions,
    ) -> Result<String, Error> {
        check_directories(&key, objects)?;
        let current = stat(objects, &key).map(|stat| stat.version);
        check::check_condition(&key, &options.condition, current)?;
        let object = Object::new(bytes, options, self.now_ms);
        let version = object.stat.version.clone();
        objects.insert(key, object);
        Ok(version)
    }
}

fn stat(objects: &Objects, key: &str) -> Option<Stat> {
    objects.get(key).map(|object| object.stat.clone())
}

/// One page of a list. Its cursor is the last thing on it: a key, or a folded prefix with its slash,
/// which no key ends with.
fn page(objects: &Objects, request: ListRequest, page_max: u32) -> Result<Listing, Error> {
    check::check_list(&request)?;
    let mut last = check::position(&request)?;
    let prefix = request.prefix.as_str();
    let after = request.start_after.unwrap_or_default();
    let limit = request.limit.unwrap_or(page_max).min(page_max) as usize;
    let mut page = check::empty_page();
    let under_prefix = objects
        .range(prefix.to_owned()..)
        .take_while(|(key, _)| key.starts_with(prefix));
    for (key, object) in under_prefix {
        let passed = *key <= last || (last.ends_with('/') && key.starts_with(&last));
        if passed || *key <= after {
            continue;
        }
        if page.entries.len() + page.prefixes.len() == limit {
            page.cursor = Some(last);
            break;
        }
        if let Some(slash) = key[prefix.len()..].find('/').filter(|_| request.delimiter) {
            last = key[..=prefix.len() + slash].to_owned();
            page.prefixes.push(last.clone());
        } else {
            last = key.clone();
            page.entries.push(Entry {
                key: last.clone(),
                size_bytes: object.stat.size_bytes,
                modified_ms: object.stat.modified_ms,
                version: Some(object.stat.version.clone()),
            });
        }
    }
    Ok(page)
}

impl BlobStore for MemoryStore {
    fn describe(&self) -> Vec<(String, String)> {
        check::describe("memory", self.appends, 1)
    }

    fn read(&self, wave: Vec<Request>) -> BoxFuture<'_, Vec<Result<Answer, Error>>> {
        // `left` is what remains of the wave's bytes.
        let answer = |request, left: &mut u64| {
            let objects = self.lock();
            match request {
                Request::Get(GetRequest { key, range, kind }) => {
                    check_key(&key)?;
                    let Some(object) = objects.get(&key) else {
                        return Ok(Answer::Blob(None));
                    };
                    let part = value::cut(&object.bytes, &range);
                    check::check_read(&key, part.len() as u64, left)?;
                    let (body, stat) = (value::body(part.to_vec(), kind), object.stat.clone());
                    Ok(Answer::Blob(Some(Blob { body, stat })))
                }
                Request::Head(key) => {
                    check_key(&key)?;
                    Ok(Answer::Head(stat(&objects, &key)))
                }
                Request::List(request) => {
                    page(&objects, request, self.page_max).map(Answer::Listing)
                }
            }
        };
        Box::pin(std::future::ready(check::answer_each(wave, answer)))
    }

    fn put(&self, key: String, body: Body, options: PutOptions) -> Written<'_, String> {
        Box::pin(async move {
            check::check_put(&key, &body, &options)?;
            self.write(&mut self.lock(), key, value::into_bytes(body), options)
        })
    }

    fn append(&self, key: String, body: Body, at_bytes: u64) -> Written<'_, u64> {
        Box::pin(async move {
            check::check_append(self.appends, &key, &body)?;
            let mut objects = self.lock();
            let object = objects.get(&key);
            let mut bytes = object.map_or(vec![], |object| object.bytes.clone());
            check::check_size(&key, at_bytes, bytes.len() as u64)?;
            bytes.extend_from_slice(value::bytes(&body));
            let size = bytes.len() as u64;
            self.write(&mut objects, key, bytes, check::plain(Condition::Always))?;
            Ok(size)
        })
    }

    fn concat(&self, from: Vec<Source>, to: String, options: PutOptions) -> Written<'_, String> {
        Box::pin(async move {
            check::check_concat(&from, &to, &options)?;
            let mut objects = self.lock();
            let mut bytes = Vec::new();
            for Source { key, if_match } in from {
                let current = stat(&objects, &key).map(|stat| stat.version);
                check::check_source(&key, if_match, current)?;
                bytes.extend_from_slice(&objects[&key].bytes);
            }
            check::check_concat_size(&to, bytes.len() as u64, &options)?;
            self.write(&mut objects, to, bytes, options)
        })
    }

    fn delete(&self, keys: Vec<String>) -> BoxFuture<'_, Vec<Result<(), Error>>> {
        let delete = |key: String| check_key(&key).map(|()| drop(self.lock().remove(&key)));
        Box::pin(std::future::ready(keys.into_iter().map(delete).collect()))
    }

    fn upload(
        &self,
        key: String,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<Box<dyn Upload + '_>, Error>> {
        let begun = check::check_upload(&key, &options).map(|()| {
            Box::new(MemoryUpload {
                store: self,
                key,
                options,
                bytes: Vec::new(),
            }) as Box<dyn Upload>
        });
        Box::pin(std::future::ready(begun))
    }
}

struct MemoryUpload<'s> {
    store: &'s MemoryStore,
    key: String,
    options: PutOptions,
    bytes: Vec<u8>,
}

impl Upload for MemoryUpload<'_> {
    fn write(&mut self, part: Vec<u8>) -> BoxFuture<'_, Result<(), Error>> {
        let checked = check::check_part(&self.key, &part);
        if checked.is_ok() {
            self.bytes.extend(part);
        }
        Box::pin(std::future::ready(checked))
    }

    fn finish<'a>(self: Box<Self>) -> BoxFuture<'a, Result<String, Error>>
    where
        Self: 'a,
    {
        let MemoryUpload {
            store,
            key,
            options,
            bytes,
        } = *self;
        let version = store.write(&mut store.lock(), key, bytes, options);
        Box::pin(std::future::ready(version))
    }

    fn abort<'a>(self: Box<Self>) -> BoxFuture<'a, Result<(), Error>>
    where
        Self: 'a,
    {
        Box::pin(std::future::ready(Ok(())))
    }
}
