//! The memory store under the cases: `wit/store/blobs.wit` over a map, which records every call,
//! pages as a case asks, and fails where a case says. Knows no adapter.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use haversack_core::limits;
use haversack_core::store::{
    Answer, Blob, Body, BodyKind, Condition, Entry, GetRequest, ListRequest, Listing, PutOptions,
    Range, Request, Skipped, Source, Stat, Store, StoreError, StoreErrorCode, StoreResult,
};
use serde_json::Value;

use crate::case::{Case, Object, Objects, StoreSettings};
use crate::record;

/// Sources that one concat takes, and bytes of metadata that one object takes.
const CONCAT_SOURCES_MAX: usize = 256;
const METADATA_BYTES_MAX: usize = 2_048;

pub struct MemoryStore {
    settings: StoreSettings,
    state: Mutex<State>,
}

struct State {
    objects: BTreeMap<String, (Object, u64)>,
    writes: u64,
    calls: Vec<Value>,
}

impl MemoryStore {
    /// A store that holds what the case begins with, and behaves as the case says.
    pub fn of(case: &Case) -> Self {
        let objects = case.objects.iter();
        let objects = objects.map(|(key, object)| (key.clone(), (object.clone(), 0)));
        Self {
            settings: case.settings.clone(),
            state: Mutex::new(State {
                objects: objects.collect(),
                writes: 0,
                calls: Vec::new(),
            }),
        }
    }

    pub fn objects(&self) -> Objects {
        let state = self.state();
        let objects = state.objects.iter();
        objects.map(|(k, (o, _))| (k.clone(), o.clone())).collect()
    }

    pub fn calls(&self) -> Vec<Value> {
        self.state().calls.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The failure that the case plants for this key, if any; and the rules that keys obey.
    fn check(&self, key: &str) -> StoreResult<()> {
        check_key(key)?;
        let mut planted = self.settings.fail.iter();
        match planted.find(|f| f.key.as_deref() == Some(key)) {
            Some(failure) => Err(failure.into()),
            None => Ok(()),
        }
    }

    fn get(&self, state: &State, get: &GetRequest) -> StoreResult<Option<Blob>> {
        self.check(&get.key)?;
        let Some((object, version)) = state.objects.get(&get.key) else {
            return Ok(None);
        };
        let size = object.bytes.len();
        let at_most = |bytes: u64| usize::try_from(bytes).unwrap_or(size).min(size);
        let range = match get.range {
            Range::Whole => 0..size,
            Range::Span {
                start_bytes,
                length_bytes,
            } => at_most(start_bytes)..at_most(start_bytes.saturating_add(length_bytes)),
            Range::Last(bytes) => size - at_most(bytes)..size,
        };
        if range.len() as u64 > limits::VALUE_BYTES_MAX {
            return Err(error(StoreErrorCode::TooLarge, "over value-bytes-max"));
        }
        let bytes = object.bytes[range].to_vec();
        let wants_text = get.kind == BodyKind::Text && !bytes.starts_with(b"\xef\xbb\xbf");
        let body = match String::from_utf8(bytes) {
            Ok(text) if wants_text => Body::Text(text),
            Ok(text) => Body::Binary(text.into_bytes()),
            Err(no_text) => Body::Binary(no_text.into_bytes()),
        };
        let mut stat = stat(object, *version);
        if self.settings.append && get.range != Range::Whole {
            stat.version.clear();
        }
        Ok(Some(Blob { body, stat }))
    }

    fn list(&self, state: &State, list: &ListRequest) -> StoreResult<Listing> {
        let mut planted = self.settings.fail.iter();
        if let Some(failure) = planted.find(|f| f.list.as_ref() == Some(&list.prefix)) {
            return Err(failure.into());
        }
        let asked = list.limit.unwrap_or(limits::LIST_PAGE_MAX);
        if asked == 0 || asked > limits::LIST_PAGE_MAX {
            return Err(error(StoreErrorCode::Invalid, "limit is from 1 to 1,000"));
        }
        let limit = asked.min(self.settings.page_size.unwrap_or(asked)) as usize;

        let skipped = self.settings.skipped.iter().map(|s| (&s.key, Some(s)));
        let mut all: Vec<_> = state.objects.keys().map(|key| (key, None)).collect();
        all.extend(skipped);
        all.sort_by_key(|(key, _)| *key);

        let mut page = Listing::default();
        let mut last: Option<String> = None;
        let mut taken = 0;
        for (key, unlisted) in all {
            let Some(rest) = key.strip_prefix(&list.prefix) else {
                continue;
            };
            if list.start_after.as_ref().is_some_and(|after| key <= after) {
                continue;
            }
            let folded = rest.find('/').filter(|_| list.delimiter);
            let item = match folded {
                Some(slash) => key[..list.prefix.len() + slash + 1].to_owned(),
                None => key.clone(),
            };
            let before = list.cursor.as_ref().is_some_and(|cursor| item <= *cursor);
            if before || last.as_ref() == Some(&item) {
                continue;
            }
            if taken == limit {
                page.cursor = last;
                return Ok(page);
            }
            taken += 1;
            if folded.is_some() {
                page.prefixes.push(item.clone());
            } else if let Some(skipped) = unlisted {
                page.skipped.push(Skipped {
                    key: skipped.key.clone(),
                    cause: skipped.cause.clone(),
                });
            } else if let Some((object, version)) = state.objects.get(key) {
                page.entries.push(Entry {
                    key: key.clone(),
                    size_bytes: object.bytes.len() as u64,
                    modified_ms: 0,
                    version: (!self.settings.append).then(|| format!("v{version}")),
                });
            }
            last = Some(item);
        }
        Ok(page)
    }

    /// Write under a condition; the caller has checked key and options.
    fn write(&self, key: &str, bytes: Vec<u8>, options: PutOptions) -> StoreResult<String> {
        let mut state = self.state();
        let there = state.objects.get(key).map(|(_, n)| format!("v{n}"));
        let holds = match &options.condition {
            Condition::Always => true,
            Condition::IfAbsent => there.is_none(),
            Condition::IfMatch(version) => there.as_ref() == Some(version),
        };
        if !holds {
            let mut conflict = error(StoreErrorCode::Conflict, "the condition does not hold");
            conflict.current = there;
            return Err(conflict);
        }
        check_tree(&state.objects, key)?;
        state.writes += 1;
        let version = state.writes;
        let object = Object {
            bytes,
            content_type: options.content_type,
            metadata: options.metadata,
        };
        state.objects.insert(key.to_owned(), (object, version));
        Ok(format!("v{version}"))
    }

    fn source(&self, source: &Source) -> StoreResult<Vec<u8>> {
        self.check(&source.key)?;
        let state = self.state();
        let found = state.objects.get(&source.key);
        let matches = |version: &u64| {
            let wanted = source.if_match.as_ref();
            wanted.is_none_or(|wanted| *wanted == format!("v{version}"))
        };
        match found {
            Some((object, version)) if matches(version) => Ok(object.bytes.clone()),
            Some((_, version)) => {
                let message = format!("{} has another version", source.key);
                let mut conflict = error(StoreErrorCode::Conflict, &message);
                conflict.current = Some(format!("v{version}"));
                Err(conflict)
            }
            None => {
                let message = format!("{} does not exist", source.key);
                Err(error(StoreErrorCode::Conflict, &message))
            }
        }
    }
}

impl Store for MemoryStore {
    fn describe(&self) -> Vec<(String, String)> {
        let append = if self.settings.append { "yes" } else { "no" };
        [
            ("kind", "memory"),
            ("append", append),
            ("value-bytes-max", "8388608"),
            ("wave-requests-max", "256"),
            ("wave-bytes-max", "16777216"),
            ("requests-at-once", "1"),
            ("concat-sources-max", "256"),
            ("concat-bytes-max", "5368709120"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }

    fn read(&self, wave: Vec<Request>) -> Vec<StoreResult<Answer>> {
        let mut state = self.state();
        state.calls.push(record::read(&wave));
        if wave.len() > limits::WAVE_REQUESTS_MAX {
            let too_large = error(StoreErrorCode::TooLarge, "over wave-requests-max");
            return wave.iter().map(|_| Err(too_large.clone())).collect();
        }
        let mut left = limits::WAVE_BYTES_MAX;
        let answer = |request: &Request| match request {
            Request::Get(get) => {
                let blob = self.get(&state, get)?;
                let bytes = blob.as_ref().map_or(0, |b| b.body.as_bytes().len() as u64);
                let rest = left.checked_sub(bytes);
                left = rest.ok_or(error(StoreErrorCode::TooLarge, "over wave-bytes-max"))?;
                Ok(Answer::Blob(blob))
            }
            Request::Head(key) => {
                self.check(key)?;
                let found = state.objects.get(key);
                Ok(Answer::Head(found.map(|(object, n)| stat(object, *n))))
            }
            Request::List(list) => self.list(&state, list).map(Answer::Listing),
        };
        wave.iter().map(answer).collect()
    }

    fn put(&self, key: &str, body: Body, options: PutOptions) -> StoreResult<String> {
        self.state().calls.push(record::put(key, &body, &options));
        self.check(key)?;
        check_metadata(&options)?;
        if body.as_bytes().len() as u64 > limits::VALUE_BYTES_MAX {
            return Err(error(StoreErrorCode::TooLarge, "over value-bytes-max"));
        }
        self.write(key, body.into_bytes(), options)
    }

    fn append(&self, key: &str, body: Body, at_bytes: u64) -> StoreResult<u64> {
        let call = record::append(key, &body, at_bytes);
        self.state().calls.push(call);
        if !self.settings.append {
            return Err(error(
                StoreErrorCode::Unsupported,
                "this store has no append",
            ));
        }
        self.check(key)?;
        let mut state = self.state();
        let object = state
            .objects
            .get(key)
            .map(|(object, _)| object.bytes.clone());
        let mut bytes = object.unwrap_or_default();
        if bytes.len() as u64 != at_bytes {
            let mut conflict = error(StoreErrorCode::Conflict, "the object has another size");
            conflict.current = Some(bytes.len().to_string());
            return Err(conflict);
        }
        check_tree(&state.objects, key)?;
        bytes.extend_from_slice(body.as_bytes());
        let size = bytes.len() as u64;
        state.writes += 1;
        let version = state.writes;
        let object = Object {
            bytes,
            ..Object::default()
        };
        state.objects.insert(key.to_owned(), (object, version));
        Ok(size)
    }

    fn concat(&self, sources: Vec<Source>, to: &str, options: PutOptions) -> StoreResult<String> {
        let call = record::concat(&sources, to, &options);
        self.state().calls.push(call);
        self.check(to)?;
        check_metadata(&options)?;
        if sources.len() > CONCAT_SOURCES_MAX {
            return Err(error(StoreErrorCode::TooLarge, "over concat-sources-max"));
        }
        if sources.iter().any(|source| source.key == to) {
            return Err(error(StoreErrorCode::Invalid, "the target is a source"));
        }
        let mut bytes = Vec::new();
        for source in &sources {
            bytes.extend(self.source(source)?);
        }
        self.write(to, bytes, options)
    }

    fn delete(&self, keys: Vec<String>) -> Vec<StoreResult<()>> {
        self.state().calls.push(record::delete(&keys));
        let delete = |key: &String| {
            self.check(key)?;
            self.state().objects.remove(key);
            Ok(())
        };
        keys.iter().map(delete).collect()
    }
}

impl From<&crate::case::Failure> for StoreError {
    fn from(failure: &crate::case::Failure) -> Self {
        use StoreErrorCode as Code;
        let code = match failure.code.as_str() {
            "conflict" => Code::Conflict,
            "too-large" => Code::TooLarge,
            "denied" => Code::Denied,
            "invalid" => Code::Invalid,
            "unavailable" => Code::Unavailable,
            "outcome-unknown" => Code::OutcomeUnknown,
            "unsupported" => Code::Unsupported,
            _ => Code::Other,
        };
        let mut error = error(code, &failure.message);
        error.retry_after_ms = failure.retry_after_ms;
        error
    }
}

fn stat(object: &Object, version: u64) -> Stat {
    Stat {
        version: format!("v{version}"),
        content_type: object.content_type.clone(),
        metadata: object.metadata.clone(),
        size_bytes: object.bytes.len() as u64,
        modified_ms: 0,
    }
}

fn error(code: StoreErrorCode, message: &str) -> StoreError {
    StoreError {
        code,
        message: message.to_owned(),
        retry_after_ms: None,
        current: None,
    }
}

/// The rules of keys, but for normal form C: no case names a key that breaks it.
fn check_key(key: &str) -> StoreResult<()> {
    let segment_is_bad = |segment: &str| {
        matches!(segment, "" | "." | "..") || segment.len() > limits::SEGMENT_BYTES_MAX
    };
    let bad = key.len() > limits::KEY_BYTES_MAX
        || key.split('/').any(segment_is_bad)
        || key.contains(|letter: char| letter == '\\' || letter.is_control())
        || key.split('/').next() == Some(".haversack");
    if bad {
        return Err(error(StoreErrorCode::Invalid, &format!("no key: {key:?}")));
    }
    Ok(())
}

/// No key is a directory of another.
fn check_tree(objects: &BTreeMap<String, (Object, u64)>, key: &str) -> StoreResult<()> {
    let below = format!("{key}/");
    let above = key.match_indices('/').map(|(slash, _)| &key[..slash]);
    let mut clash = above.filter(|folder| objects.contains_key(*folder));
    let first_below = objects.range(below.clone()..).next();
    if clash.next().is_some() || first_below.is_some_and(|(k, _)| k.starts_with(&below)) {
        let message = format!("{key} is a directory of another key, or lies below one");
        return Err(error(StoreErrorCode::Invalid, &message));
    }
    Ok(())
}

fn check_metadata(options: &PutOptions) -> StoreResult<()> {
    let pairs = options.metadata.iter();
    let bytes: usize = pairs.map(|(name, value)| name.len() + value.len()).sum();
    if bytes > METADATA_BYTES_MAX {
        return Err(error(StoreErrorCode::TooLarge, "metadata over 2,048 bytes"));
    }
    Ok(())
}
