//! Users of moltbot: what starting one, touching and counting promise, at every number that they promise it with.
//! Crashes and races are the simulation's.

#[path = "support/bucket.rs"]
#[allow(dead_code)]
mod bucket;

use bucket::Bucket;
use haversack_core::ops::tenants::{
    OpenAnswer, OpenRequest, TemplateFile, UsageAnswer, UsageRequest, open, usage,
};
use haversack_core::store::{
    Answer, Body, Listing, PutOptions, Request, Skipped, Source, Store, StoreResult,
};
use haversack_core::types::{Error, ErrorCode, Home};

const META: &str = "users/user_1/meta.json";

fn home() -> Home {
    Home {
        system: "moltbot".to_owned(),
        id: "user_1".to_owned(),
    }
}

fn start(
    store: &dyn Store,
    template: Vec<TemplateFile>,
    cursor: Option<String>,
) -> Result<OpenAnswer, Error> {
    open(
        store,
        &OpenRequest {
            home: home(),
            now_ms: 1_769_644_800_000,
            template,
            workspace: true,
            cursor,
        },
    )
}

fn count(
    store: &dyn Store,
    pages: Option<u32>,
    cursor: Option<String>,
) -> Result<UsageAnswer, Error> {
    usage(
        store,
        &UsageRequest {
            home: home(),
            pages,
            cursor,
            tier: None,
            repair: true,
        },
    )
}

/// Files of so many bytes each.
fn template(files: usize, bytes: usize) -> Vec<TemplateFile> {
    let file = |number| TemplateFile {
        path: format!("workspace/{number}"),
        text: "x".repeat(bytes),
    };
    (0..files).map(file).collect()
}

/// A bucket whose list pages have one object each, beside what it has to pass over.
struct Small {
    bucket: Bucket,
    skipped: usize,
    /// Whether a list begins with a page of nothing and a cursor.
    begins_empty: bool,
}

impl Small {
    fn with_objects(count: usize) -> Self {
        let bucket = Bucket::new(false);
        bucket.insert(META, b"{\"userId\":\"user_1\"}\n");
        for number in 1..count {
            bucket.insert(&format!("users/user_1/workspace/{number:06}"), b"12");
        }
        Self {
            bucket,
            skipped: 0,
            begins_empty: false,
        }
    }
}

impl Store for Small {
    fn describe(&self) -> Vec<(String, String)> {
        self.bucket.describe()
    }

    fn read(&self, mut wave: Vec<Request>) -> Vec<StoreResult<Answer>> {
        let mut empty = Vec::new();
        for (at, request) in wave.iter_mut().enumerate() {
            if let Request::List(list) = request {
                list.limit = Some(1);
                if self.begins_empty && list.cursor.take().is_none() && list.start_after.is_none() {
                    empty.push(at);
                }
            }
        }
        let mut answers = self.bucket.read(wave);
        for at in empty {
            answers[at] = Ok(Answer::Listing(Listing {
                cursor: Some("go on".to_owned()),
                ..Listing::default()
            }));
        }
        for answer in &mut answers {
            if let Ok(Answer::Listing(listing)) = answer {
                listing
                    .skipped
                    .extend((0..self.skipped).map(|number| Skipped {
                        key: format!("users/user_1/config/{number}"),
                        cause: "a symbolic link".to_owned(),
                    }));
            }
        }
        answers
    }

    fn put(&self, key: &str, body: Body, options: PutOptions) -> StoreResult<String> {
        self.bucket.put(key, body, options)
    }

    fn append(&self, key: &str, body: Body, at_bytes: u64) -> StoreResult<u64> {
        self.bucket.append(key, body, at_bytes)
    }

    fn concat(&self, sources: Vec<Source>, to: &str, options: PutOptions) -> StoreResult<String> {
        self.bucket.concat(sources, to, options)
    }

    fn delete(&self, keys: Vec<String>) -> Vec<StoreResult<()>> {
        self.bucket.delete(keys)
    }
}

#[test]
fn a_template_has_256_files_and_4_mib() {
    for (files, bytes, fits) in [
        (256, 1, true),
        (257, 0, false),
        (1, 4 << 20, true),
        (1, (4 << 20) + 1, false),
        (256, 16 << 10, true),
        (256, (16 << 10) + 1, false),
    ] {
        let bucket = Bucket::new(false);
        let answer = start(&bucket, template(files, bytes), None);
        match answer {
            Ok(answer) => {
                assert!(fits && answer.created, "{files} of {bytes}");
                assert_eq!(answer.files.len(), files);
                // meta.json counts itself and the template.
                let counted = count(&bucket, None, None).unwrap();
                assert!(!counted.repaired, "{counted:?}");
                assert_eq!(counted.stored_bytes, Some(counted.size_bytes));
            }
            Err(error) => {
                assert!(!fits, "{error}");
                assert_eq!(error.code, ErrorCode::TooLarge);
                assert!(bucket.keys("").is_empty(), "nothing was written");
            }
        }
    }
}

#[test]
fn a_call_counts_8_pages_or_as_many_as_it_is_told() {
    for (pages, objects, whole) in [
        (None, 8, true),
        (None, 9, false),
        (Some(0), 1, true),
        (Some(0), 2, false),
        (Some(2), 2, true),
        (Some(2), 3, false),
        (Some(1_000), 256, true),
        (Some(1_000), 257, false),
    ] {
        let small = Small::with_objects(objects);
        let answer = count(&small, pages, None).unwrap();
        assert_eq!(answer.next.is_none(), whole, "{pages:?} of {objects}");
        assert_eq!(answer.repaired, whole);
        let last = match answer.next {
            Some(next) => count(&small, pages, Some(next)).unwrap(),
            None => answer,
        };
        let bytes = small.bucket.bytes(META).unwrap().len() as u64;
        assert_eq!(last.objects, objects as u64);
        assert!(last.repaired && last.next.is_none());
        assert_eq!(last.stored_bytes, Some(bytes + 2 * (objects as u64 - 1)));
    }
}

#[test]
fn a_page_of_files_is_8_pages_of_the_store() {
    // Three lists begin: config and skills are empty, a page each.
    for (objects, pages) in [(7, 1), (8, 2), (15, 2), (16, 3)] {
        let small = Small::with_objects(objects);
        let mut files = Vec::new();
        let mut cursor = None;
        for page in 1.. {
            let answer = start(&small, Vec::new(), cursor).unwrap();
            files.extend(answer.files.into_iter().map(|file| file.path));
            cursor = answer.next;
            if cursor.is_none() {
                assert_eq!(page, pages, "{objects} objects");
                break;
            }
        }
        let expected: Vec<String> = (1..objects)
            .map(|number| format!("root/clawd/workspace/{number:06}"))
            .collect();
        assert_eq!(files, expected);
    }
}

#[test]
fn so_many_things_that_were_passed_over_are_told_one_by_one() {
    for (skipped, told) in [(256, 256), (257, 257), (1_000, 257)] {
        let mut small = Small::with_objects(1);
        small.skipped = skipped;
        let problems = count(&small, None, None).unwrap().problems;
        assert_eq!(problems.len(), told);
        let last = &problems.last().unwrap().message;
        assert_eq!(last.contains("more"), skipped > 256, "{last}");
    }
}

#[test]
fn a_list_that_begins_with_an_empty_page_is_read_on() {
    let mut small = Small::with_objects(4);
    small.begins_empty = true;
    let answer = start(&small, Vec::new(), None).unwrap();
    assert_eq!(answer.files.len(), 3);
    assert_eq!(count(&small, None, None).unwrap().objects, 4);
}
