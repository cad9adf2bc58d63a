//! Copies between stores that misbehave: sources that change under the reader, targets that others write
//! to, that lose or bend what they are given, and calls whose outcome nobody knows.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use haversack_host::store::check::{error, plain};
use haversack_host::store::{
    Answer, BlobStore, Body, BoxFuture, Condition, DiskStore, Error, ErrorCode, MemoryStore,
    PutOptions, Request, Source, Upload,
};
use haversack_host::transfer::{self, CopyOptions, Event, ONE_STEP_BYTES_MAX, Outcome, Summary};

const LARGE: usize = (20 << 20) + 7;

/// What a meddler hears of a call before it happens; an error is answered instead of making the call.
type Hook = Box<dyn FnMut(&MemoryStore, &str) -> Result<(), Error> + Send>;

/// A memory store with somebody else at work in it.
struct Meddled {
    inner: Arc<MemoryStore>,
    before: Mutex<Hook>,
    /// Errors to answer after the call has happened.
    after_put: Mutex<Vec<Error>>,
    /// What is stored of a body that is put.
    bend: fn(Body, PutOptions) -> (Body, PutOptions),
}

impl Meddled {
    fn new(inner: &Arc<MemoryStore>, before: Hook) -> Self {
        Meddled {
            inner: Arc::clone(inner),
            before: Mutex::new(before),
            after_put: Mutex::default(),
            bend: |body, options| (body, options),
        }
    }

    fn hear(&self, call: &str) -> Result<(), Error> {
        (self.before.lock().expect("unpoisoned"))(&self.inner, call)
    }
}

impl BlobStore for Meddled {
    fn describe(&self) -> Vec<(String, String)> {
        self.inner.describe()
    }

    fn read(&self, wave: Vec<Request>) -> BoxFuture<'_, Vec<Result<Answer, Error>>> {
        Box::pin(async move {
            let mut answers = Vec::new();
            for request in wave {
                let call = match &request {
                    Request::Get(get) => format!("get {} {:?}", get.key, get.range),
                    Request::Head(key) => format!("head {key}"),
                    Request::List(_) => "list".to_owned(),
                };
                answers.push(match self.hear(&call) {
                    Ok(()) => self.inner.read(vec![request]).await.remove(0),
                    Err(error) => Err(error),
                });
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
        Box::pin(async move {
            self.hear(&format!("put {key}"))?;
            let (body, options) = (self.bend)(body, options);
            let version = self.inner.put(key, body, options).await?;
            match self.after_put.lock().expect("unpoisoned").pop() {
                Some(error) => Err(error),
                None => Ok(version),
            }
        })
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
        Box::pin(async move {
            self.hear(&format!("concat {to}"))?;
            self.inner.concat(sources, to, options).await
        })
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

fn memory() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new(true))
}

fn nobody() -> Hook {
    Box::new(|_, _| Ok(()))
}

/// Write at once; an object over the value limit by way of an upload.
fn write(store: &MemoryStore, key: &str, bytes: &[u8]) {
    let begun = store.upload(key.to_owned(), plain(Condition::Always));
    let mut upload = begun.now_or_never().expect("at once").expect("begun");
    for part in bytes.chunks(8 << 20) {
        let written = upload.write(part.to_vec()).now_or_never();
        written.expect("at once").expect("written");
    }
    let finished = upload.finish().now_or_never();
    finished.expect("at once").expect("finished");
}

fn bytes(store: &MemoryStore, key: &str) -> Option<Vec<u8>> {
    store.objects().remove(key).map(|object| object.bytes)
}

/// A copy, and what it told of each object.
async fn copy(
    from: &dyn BlobStore,
    to: &dyn BlobStore,
    options: &CopyOptions,
) -> (Summary, Vec<(String, Outcome)>) {
    let told = Mutex::new(Vec::new());
    let passed = Mutex::new((0, 0));
    let tell = |event: Event<'_>| match event {
        Event::Settled { key, outcome, .. } => {
            let mut told = told.lock().expect("unpoisoned");
            told.push((key.to_owned(), outcome.clone()));
        }
        Event::Listed { bytes, .. } => passed.lock().expect("unpoisoned").0 += bytes,
        Event::Bytes(bytes) => passed.lock().expect("unpoisoned").1 += bytes,
        Event::Skipped(_) => {}
    };
    let summary = transfer::copy(from, to, options, &tell).await;
    let (listed, settled) = passed.into_inner().expect("unpoisoned");
    assert_eq!(listed, settled, "every listed byte is settled once");
    let mut told = told.into_inner().expect("unpoisoned");
    told.sort_by(|a, b| a.0.cmp(&b.0));
    (summary.expect("options that can be"), told)
}

fn replacing() -> CopyOptions {
    CopyOptions {
        replace: true,
        ..CopyOptions::default()
    }
}

fn failure(outcome: &Outcome) -> &Error {
    match outcome {
        Outcome::Failed(error) => error,
        other => panic!("not failed: {other:?}"),
    }
}

#[tokio::test]
async fn all_that_an_object_is_arrives_at_every_size() {
    let from = memory();
    // Around a part, and two pages of three.
    for (number, size) in [0, 1, (8 << 20) - 1, 8 << 20, (8 << 20) + 1, LARGE]
        .into_iter()
        .enumerate()
    {
        let pattern: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
        write(&from, &format!("o/{number}"), &pattern);
    }
    let marked = PutOptions {
        condition: Condition::Always,
        content_type: Some("text/markdown".to_owned()),
        metadata: vec![("sessionKey".to_owned(), "agent:hera:main Zoë".to_owned())],
    };
    let body = Body::Text("marked".to_owned());
    let put = from.put("marked".to_owned(), body, marked).await;
    put.expect("written");
    let mut paged = MemoryStore::from_objects(false, from.objects());
    paged.page_max = 3;
    let to = memory();
    for at_once in [1, 2, 64] {
        let options = CopyOptions {
            objects_at_once: at_once,
            ..CopyOptions::default()
        };
        let (summary, _) = copy(&paged, &*to, &options).await;
        let settled = summary.copied.objects + summary.equal.objects;
        assert_eq!((settled, summary.looked_at()), (7, 7));
        assert_eq!(to.objects(), from.objects());
    }
}

#[tokio::test]
async fn a_source_that_changes_is_read_again_once() {
    for changes in [1, 2] {
        let (from, to) = (memory(), memory());
        write(&from, "o", &vec![0; LARGE]);
        let mut left = changes;
        let hook: Hook = Box::new(move |store, call| {
            // The second part: the first is of the version before.
            if call.contains("start-bytes: 8388608") || call.contains("start_bytes: 8388608") {
                if left > 0 {
                    write(store, "o", &vec![left; LARGE]);
                }
                left = u8::saturating_sub(left, 1);
            }
            Ok(())
        });
        let (summary, told) = copy(&Meddled::new(&from, hook), &*to, &CopyOptions::default()).await;
        if changes == 1 {
            assert_eq!(summary.copied.objects, 1);
            assert_eq!(bytes(&to, "o"), Some(vec![1; LARGE]));
        } else {
            assert_eq!(summary.failed.objects, 1);
            let error = failure(&told[0].1);
            assert_eq!(error.code, ErrorCode::Conflict);
            assert!(error.message.contains("changed while it was read"));
            assert_eq!(bytes(&to, "o"), None, "nothing half read is written");
        }
    }
}

#[tokio::test]
async fn an_object_that_goes_away_is_no_failure() {
    let (from, to) = (memory(), memory());
    write(&from, "o", b"x");
    let hook: Hook = Box::new(|store, call| {
        if call.starts_with("get o") {
            let _ = store.delete(vec!["o".to_owned()]).now_or_never();
        }
        Ok(())
    });
    let (summary, _) = copy(&Meddled::new(&from, hook), &*to, &CopyOptions::default()).await;
    assert_eq!(summary.gone.objects, 1);
    assert!(to.objects().is_empty());
}

#[tokio::test]
async fn what_somebody_writes_meanwhile_is_never_written_over() {
    for (options, was_there, theirs, kept) in [
        (CopyOptions::default(), false, &b"theirs"[..], "different"),
        (CopyOptions::default(), false, b"mine", "equal"),
        (replacing(), true, b"theirs", "different"),
        (replacing(), true, b"mine", "equal"),
    ] {
        let (from, to) = (memory(), memory());
        write(&from, "o", b"mine");
        if was_there {
            write(&to, "o", b"old");
        }
        let hook: Hook = Box::new(move |store, call| {
            if call == "put o" {
                write(store, "o", theirs);
            }
            Ok(())
        });
        let (summary, told) = copy(&*from, &Meddled::new(&to, hook), &options).await;
        let found = match summary {
            Summary { different, .. } if different.objects == 1 => "different",
            Summary { equal, .. } if equal.objects == 1 => "equal",
            _ => panic!("{told:?}"),
        };
        assert_eq!(found, kept);
        assert_eq!(bytes(&to, "o").as_deref(), Some(theirs));
    }
}

#[tokio::test]
async fn larger_ones_are_replaced_by_way_of_another_object_that_goes_again() {
    for theirs in [None, Some(&b"theirs"[..])] {
        let (from, to) = (memory(), memory());
        write(&from, "o", &vec![1; LARGE]);
        write(&to, "o", &vec![0; LARGE]);
        let hook: Hook = Box::new(move |store, call| {
            if let (true, Some(theirs)) = (call == "concat o", theirs) {
                write(store, "o", theirs);
            }
            Ok(())
        });
        let (summary, _) = copy(&*from, &Meddled::new(&to, hook), &replacing()).await;
        let left: Vec<_> = to.objects().into_keys().collect();
        assert_eq!(left, ["o"]);
        match theirs {
            None => {
                assert_eq!(summary.replaced.objects, 1);
                assert_eq!(bytes(&to, "o"), Some(vec![1; LARGE]));
            }
            Some(theirs) => {
                assert_eq!(summary.different.objects, 1);
                assert_eq!(bytes(&to, "o").as_deref(), Some(theirs));
            }
        }
    }
}

#[tokio::test]
async fn up_to_64_mib_the_check_and_the_write_are_one_step() {
    let place = tempfile::tempdir().expect("a directory");
    let store = |name: &str| DiskStore::create(place.path().join(name)).expect("a store");
    let (from, to) = (store("from"), store("to"));
    for (name, size) in [
        ("fits", ONE_STEP_BYTES_MAX),
        ("over", ONE_STEP_BYTES_MAX + 1),
    ] {
        let file = std::fs::File::create(place.path().join("from").join(name)).expect("made");
        file.set_len(size).expect("grown");
        std::fs::write(place.path().join("to").join(name), "old").expect("written");
    }
    let (summary, told) = copy(&from, &to, &replacing()).await;
    assert_eq!(summary.replaced.objects, 2);
    for ((key, outcome), (expected, one_step)) in told.iter().zip([("fits", true), ("over", false)])
    {
        assert_eq!(key, expected);
        let Outcome::Replaced { in_one_step } = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(*in_one_step, one_step);
    }
    let (summary, _) = copy(&from, &to, &CopyOptions::default()).await;
    assert_eq!(summary.equal.objects, 2);
}

#[tokio::test]
async fn a_target_that_bends_what_it_is_given_is_found_out() {
    type Bend = fn(Body, PutOptions) -> (Body, PutOptions);
    let bends: [(Bend, &str); 3] = [
        (
            |_, options| (Body::Text("nime".to_owned()), options),
            "other bytes",
        ),
        (
            |body, options| {
                let metadata = Vec::new();
                (
                    body,
                    PutOptions {
                        metadata,
                        ..options
                    },
                )
            },
            "other metadata",
        ),
        (
            |body, options| {
                let content_type = Some("text/html".to_owned());
                let options = PutOptions {
                    content_type,
                    ..options
                };
                (body, options)
            },
            "content type",
        ),
    ];
    for (bend, named) in bends {
        let (from, to) = (memory(), memory());
        let options = PutOptions {
            metadata: vec![("a".to_owned(), "1".to_owned())],
            ..plain(Condition::Always)
        };
        let body = Body::Text("mine".to_owned());
        let put = from.put("o".to_owned(), body, options).await;
        put.expect("written");
        let mut bending = Meddled::new(&to, nobody());
        bending.bend = bend;
        let (_, told) = copy(&*from, &bending, &CopyOptions::default()).await;
        let error = failure(&told[0].1);
        assert!(error.message.contains("\"o\""), "{error:?}");
        assert!(error.message.contains(named), "{error:?}");
    }
}

#[tokio::test]
async fn an_unknown_outcome_is_settled_by_reading_back() {
    let (from, to) = (memory(), memory());
    write(&from, "o", b"mine");
    let unknown = || error(ErrorCode::OutcomeUnknown, "the connection broke");
    let target = Meddled::new(&to, nobody());
    target.after_put.lock().expect("unpoisoned").push(unknown());
    let (summary, _) = copy(&*from, &target, &CopyOptions::default()).await;
    assert_eq!(summary.copied.objects, 1);

    // And where it did not happen, it is done again.
    let (to, mut lost) = (memory(), 1);
    let hook: Hook = Box::new(move |_, call| {
        if call == "put o" && lost > 0 {
            lost -= 1;
            return Err(unknown());
        }
        Ok(())
    });
    let (summary, _) = copy(&*from, &Meddled::new(&to, hook), &CopyOptions::default()).await;
    assert_eq!(summary.copied.objects, 1);
    assert_eq!(bytes(&to, "o").as_deref(), Some(&b"mine"[..]));
}

#[tokio::test]
async fn one_failure_stops_nothing_else() {
    let (from, to) = (memory(), memory());
    for key in ["a", "b", "c"] {
        write(&from, key, key.as_bytes());
    }
    let refuse = |what: &'static str| -> Hook {
        Box::new(move |_, call| match call.starts_with(what) {
            true => Err(error(ErrorCode::Denied, format!("{what}: no"))),
            false => Ok(()),
        })
    };
    let target = Meddled::new(&to, refuse("put b"));
    let (summary, told) = copy(&*from, &target, &CopyOptions::default()).await;
    assert_eq!((summary.copied.objects, summary.failed.objects), (2, 1));
    assert_eq!(failure(&told[1].1).code, ErrorCode::Denied);
    assert!(summary.first_failure.is_some());

    let source = Meddled::new(&from, refuse("list"));
    let (summary, _) = copy(&source, &*to, &CopyOptions::default()).await;
    assert_eq!(summary.unlisted.expect("told").message, "list: no");
}

#[tokio::test]
async fn a_dry_run_finds_the_same_and_writes_nothing() {
    let (from, to) = (memory(), memory());
    for key in ["equal", "new", "other"] {
        write(&from, key, key.as_bytes());
    }
    write(&to, "equal", b"equal");
    write(&to, "other", b"old");
    let before = to.objects();
    for replace in [false, true] {
        let options = CopyOptions {
            replace,
            dry_run: true,
            ..CopyOptions::default()
        };
        let (summary, _) = copy(&*from, &*to, &options).await;
        let counts = [
            summary.equal.objects,
            summary.copied.objects,
            summary.different.objects,
            summary.replaced.objects,
        ];
        assert_eq!(counts, if replace { [1, 1, 0, 1] } else { [1, 1, 1, 0] });
        assert_eq!(to.objects(), before);
    }
}
