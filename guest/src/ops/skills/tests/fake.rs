//! A store in memory that logs its waves and can fail.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::store::*;

#[derive(Default)]
pub(super) struct Fake {
    pub objects: BTreeMap<String, Vec<u8>>,
    pub errors: BTreeMap<String, StoreErrorCode>,
    pub skipped: Vec<Skipped>,
    pub page: usize,
    /// Ranged gets leave out the version.
    pub appends: bool,
    pub log: RefCell<Vec<Vec<String>>>,
}

impl Fake {
    pub fn of(objects: &[(&str, &str)]) -> Self {
        let objects = objects
            .iter()
            .map(|(key, text)| ((*key).to_owned(), text.as_bytes().to_vec()));
        Self {
            objects: objects.collect(),
            page: 1_000,
            ..Self::default()
        }
    }

    fn get(&self, get: &GetRequest) -> Option<Blob> {
        let bytes = self.objects.get(&get.key)?;
        let (part, ranged) = match get.range {
            Range::Whole => (bytes.as_slice(), false),
            Range::Span { length_bytes, .. } => {
                (&bytes[..bytes.len().min(length_bytes as usize)], true)
            }
            Range::Last(_) => unreachable!(),
        };
        let body = match String::from_utf8(part.to_vec()) {
            Ok(text) if !text.starts_with('\u{feff}') => Body::Text(text),
            _ => Body::Binary(part.to_vec()),
        };
        let version = if ranged && self.appends {
            String::new()
        } else {
            format!("v{}", bytes.len())
        };
        let stat = Stat {
            version,
            content_type: None,
            metadata: vec![],
            size_bytes: bytes.len() as u64,
            modified_ms: 0,
        };
        Some(Blob { body, stat })
    }

    fn list(&self, list: &ListRequest) -> Listing {
        assert!(list.prefix.ends_with('/'));
        if !list.delimiter {
            // The probe for a home: one key is enough.
            let key = self
                .objects
                .keys()
                .find(|key| key.starts_with(&list.prefix));
            let entry = |key: &String| crate::store::Entry {
                key: key.clone(),
                size_bytes: 0,
                modified_ms: 0,
                version: None,
            };
            return Listing {
                entries: key.map(entry).into_iter().collect(),
                ..Listing::default()
            };
        }
        let mut prefixes: Vec<String> = self
            .objects
            .keys()
            .filter_map(|key| key.strip_prefix(&list.prefix)?.split_once('/'))
            .map(|(directory, _)| format!("{}{directory}/", list.prefix))
            .collect();
        prefixes.dedup();
        let from = list
            .cursor
            .as_deref()
            .map_or(0, |cursor| cursor.parse().unwrap());
        let to = prefixes.len().min(from + self.page);
        Listing {
            entries: vec![],
            skipped: self
                .skipped
                .iter()
                .filter(|s| s.key.starts_with(&list.prefix))
                .cloned()
                .collect(),
            cursor: (to < prefixes.len()).then(|| to.to_string()),
            prefixes: prefixes[from..to].to_vec(),
        }
    }
}

impl Store for Fake {
    fn describe(&self) -> Vec<(String, String)> {
        vec![]
    }

    fn read(&self, wave: Vec<Request>) -> Vec<StoreResult<Answer>> {
        let mut log = Vec::new();
        let answer = |request: &Request| {
            let (line, key, answer) = match request {
                Request::Get(get) => (
                    format!("get {}", get.key),
                    &get.key,
                    Answer::Blob(self.get(get)),
                ),
                Request::List(list) => (
                    format!("list {}", list.prefix),
                    &list.prefix,
                    Answer::Listing(self.list(list)),
                ),
                Request::Head(_) => unreachable!(),
            };
            log.push(line);
            match self.errors.get(key) {
                Some(code) => Err(StoreError {
                    code: *code,
                    message: "a symbolic link".to_owned(),
                    retry_after_ms: Some(7),
                    current: None,
                }),
                None => Ok(answer),
            }
        };
        let answers = wave.iter().map(answer).collect();
        self.log.borrow_mut().push(log);
        answers
    }

    fn put(&self, _: &str, _: Body, _: PutOptions) -> StoreResult<String> {
        unreachable!()
    }
    fn append(&self, _: &str, _: Body, _: u64) -> StoreResult<u64> {
        unreachable!()
    }
    fn concat(&self, _: Vec<Source>, _: &str, _: PutOptions) -> StoreResult<String> {
        unreachable!()
    }
    fn delete(&self, _: Vec<String>) -> Vec<StoreResult<()>> {
        unreachable!()
    }
}
