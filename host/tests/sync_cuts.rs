//! A sync that is cut off at each of its writes to the store in turn: killed before it, killed after it, or told that nobody
//! knows. The next whole one loses nothing.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haversack_host::store::check::{error, plain};
use haversack_host::store::{
    Answer, BlobStore, Body, BoxFuture, Condition, Error, ErrorCode, MemoryStore, PutOptions,
    Request, Source, Upload,
};
use haversack_host::sync::{self, Folder, Folders, Job, Owner, Summary, SyncOptions};
use tokio::sync::{Notify, watch};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    KilledBefore,
    KilledAfter,
    Lost,
}

/// A store that breaks at its `at`-th write.
struct Breaking {
    inner: Arc<MemoryStore>,
    cut: Cut,
    left: AtomicUsize,
    killed: Notify,
}

impl Breaking {
    /// Carry out a write, or what becomes of it.
    async fn write<T>(&self, act: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let left = self.left.fetch_sub(1, Ordering::Relaxed);
        if left != 1 {
            return act.await;
        }
        if self.cut != Cut::KilledBefore {
            let _ = act.await;
        }
        if self.cut == Cut::Lost {
            return Err(error(ErrorCode::OutcomeUnknown, "the answer was lost"));
        }
        self.killed.notify_one();
        std::future::pending().await
    }
}

impl BlobStore for Breaking {
    fn describe(&self) -> Vec<(String, String)> {
        self.inner.describe()
    }

    fn read(&self, wave: Vec<Request>) -> BoxFuture<'_, Vec<Result<Answer, Error>>> {
        self.inner.read(wave)
    }

    fn put(
        &self,
        key: String,
        body: Body,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(self.write(self.inner.put(key, body, options)))
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
        Box::pin(self.write(self.inner.concat(sources, to, options)))
    }

    fn delete(&self, keys: Vec<String>) -> BoxFuture<'_, Vec<Result<(), Error>>> {
        Box::pin(async move {
            let deleted = async { self.inner.delete(keys).await.into_iter().collect() };
            match self.write::<()>(deleted).await {
                Ok(()) => vec![Ok(())],
                Err(error) => vec![Err(error)],
            }
        })
    }

    fn upload(
        &self,
        key: String,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<Box<dyn Upload + '_>, Error>> {
        Box::pin(async move {
            let inner = self.inner.upload(key, options).await?;
            let store = self;
            Ok(Box::new(BreakingUpload { inner, store }) as Box<dyn Upload>)
        })
    }
}

struct BreakingUpload<'s> {
    inner: Box<dyn Upload + 's>,
    store: &'s Breaking,
}

impl Upload for BreakingUpload<'_> {
    fn write(&mut self, part: Vec<u8>) -> BoxFuture<'_, Result<(), Error>> {
        self.inner.write(part)
    }

    fn finish<'a>(self: Box<Self>) -> BoxFuture<'a, Result<String, Error>>
    where
        Self: 'a,
    {
        Box::pin(async move { self.store.write(self.inner.finish()).await })
    }

    fn abort<'a>(self: Box<Self>) -> BoxFuture<'a, Result<(), Error>>
    where
        Self: 'a,
    {
        self.inner.abort()
    }
}

async fn once(directory: &Path, store: Arc<dyn BlobStore>) -> Result<Summary, Error> {
    let job = Job {
        directory: directory.to_owned(),
        store,
        folders: Folders(vec![Folder {
            prefix: "workspace/".to_owned(),
            place: "root/clawd/workspace/".to_owned(),
        }]),
        owner: Owner {
            user: "user_1".to_owned(),
            store: "memory".to_owned(),
        },
    };
    let options = SyncOptions {
        once: true,
        at_once: 1,
        ..SyncOptions::default()
    };
    let (_stop, stopped) = watch::channel(false);
    sync::run(&job, &options, stopped, &|_| {}).await
}

fn big(content: u8) -> Vec<u8> {
    vec![content; (8 << 20) + 1]
}

/// Both sides the same, then edited on both; nothing is let go but what `edit` says.
async fn edited(directory: &Path, store: &Arc<MemoryStore>) {
    let workspace = directory.join("root/clawd/workspace");
    std::fs::create_dir_all(&workspace).unwrap();
    let here = |name: &str, content: &[u8]| std::fs::write(workspace.join(name), content).unwrap();
    let there = async |name: &str, content: &[u8]| {
        let (key, body) = (format!("workspace/{name}"), Body::Binary(content.to_vec()));
        let put = store.put(key, body, plain(Condition::Always)).await;
        put.unwrap();
    };
    for name in ["a", "b", "c", "d", "e", "f"] {
        here(name, b"first");
    }
    here("big", &big(1));
    once(directory, store.clone()).await.unwrap();
    here("a", b"changed here");
    there("b", b"changed there").await;
    here("c", b"of here");
    there("c", b"of there").await;
    std::fs::remove_file(workspace.join("d")).unwrap();
    let deleted = store.delete(vec!["workspace/e".to_owned()]).await;
    deleted.into_iter().for_each(|it| it.unwrap());
    std::fs::remove_file(workspace.join("f")).unwrap();
    there("f", b"changed while it was deleted").await;
    here("new here", b"new here");
    there("new there", b"new there").await;
    here("big", &big(2));
}

/// The names and contents on both sides, which are the same.
fn settled(directory: &Path, store: &MemoryStore, what: &str) -> Vec<(String, Vec<u8>)> {
    let objects = store.objects().into_iter();
    let there: Vec<(String, Vec<u8>)> = objects
        .filter_map(|(key, object)| {
            Some((key.strip_prefix("workspace/")?.to_owned(), object.bytes))
        })
        .collect();
    let entries = directory.join("root/clawd/workspace").read_dir().unwrap();
    let mut here: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect();
    here.sort();
    let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
        files.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(&here), names(&there), "{what}");
    assert!(here == there, "{what}: other content");
    here
}

#[tokio::test]
async fn a_sync_that_is_cut_off_anywhere_is_made_good_by_the_next() {
    let mut cuts = 0;
    for cut in [Cut::KilledBefore, Cut::KilledAfter, Cut::Lost] {
        for at in 1.. {
            let what = format!("{cut:?} at write {at}");
            let directory = tempfile::tempdir().unwrap();
            let inner = Arc::new(MemoryStore::new(false));
            edited(directory.path(), &inner).await;
            let store = Arc::new(Breaking {
                inner: inner.clone(),
                cut,
                left: AtomicUsize::new(at),
                killed: Notify::new(),
            });
            let ended = tokio::select! {
                ended = once(directory.path(), store.clone()) => Some(ended),
                () = store.killed.notified() => None,
            };
            let was_cut = store.left.load(Ordering::Relaxed) as isize <= 0;
            // A lost answer is no failure: it is looked up.
            if let Some(ended) = ended {
                let summary = ended.unwrap();
                assert!(summary.failed.is_empty(), "{what}: {:?}", summary.failed);
            }
            let summary = once(directory.path(), inner.clone()).await.unwrap();
            assert!(summary.failed.is_empty(), "{what}: {:?}", summary.failed);
            let files = settled(directory.path(), &inner, &what);
            let holds = |content: &[u8]| files.iter().any(|(_, found)| found == content);
            for content in [
                &b"changed here"[..],
                b"changed there",
                b"of here",
                b"of there",
                b"changed while it was deleted",
                b"new here",
                b"new there",
                &big(2),
            ] {
                assert!(
                    holds(content),
                    "{what}: {:?}…",
                    &content[..content.len().min(30)]
                );
            }
            assert_eq!(files.len(), 8, "{what}: what was deleted is back");
            let again = once(directory.path(), inner.clone()).await.unwrap();
            assert_eq!(again.bytes, 0, "{what}: not at rest");
            if !was_cut {
                break;
            }
            cuts += 1;
        }
    }
    assert!(
        cuts >= 3 * 7,
        "only {cuts} cuts: is everything written in one go now?"
    );
}
