//! A blob store in a directory, where people and other programs see plain files.
//!
//! This file owns the store's options, its opening, and the hop of each call to a blocking thread;
//! what the calls do is beside it, in `disk/`. None of it knows layouts.
//!
//! # Format 1
//!
//! An object is the file whose path below the root is its key. Everything else lies in `.haversack/`,
//! made with the first write:
//!
//! | path | content |
//! |---|---|
//! | `format` | `1` and a line end; a program refuses a higher number |
//! | `.gitignore` | `*`, so that the folder stays out of repositories |
//! | `locks/00` … `locks/ff` | empty; `flock`ed by who writes a key whose SHA-256 begins with that byte; never removed |
//! | `meta/{first 128 bits of the key's SHA-256, hex}/{content}.json` | `{"key", "content-type", "metadata": [[name, value], …]}`; none for an object without either |
//! | `scratch/{process}-{number}` | files in the making, `flock`ed by their writer; one with a free lock is left over and is removed |
//!
//! The version of content up to 8 MiB is the first 128 bits of its SHA-256 in hexadecimal, and
//! `{content}` above is the same. Larger: `{size}-{mtime}-{ctime}-{inode}`, times in nanoseconds, and
//! `{content}` is `{size}-{mtime}`.
//!
//! A put takes its key's lock, checks the condition, writes and syncs a scratch file, writes the
//! metadata, renames, and syncs the directory. An append takes the lock, then locks the file itself
//! for the time of its one write, and syncs; readers share that lock for the moment in which they
//! learn the size, so they never see half an append. A kill in the middle of an append can leave part
//! of it, which the next one meets as a conflict.
//!
//! # Limits of the medium
//!
//! Editors take no locks: what they save between a put's check and its rename is lost. Metadata of an
//! object that is removed by hand stays until the key is written or deleted again.

mod beneath;
mod concat;
mod errors;
mod list;
mod lock;
mod metadata;
mod read;
mod reserved;
mod scratch;
mod stamp;
mod stream;
mod upload;
mod write;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustix::fs::FileType;
use rustix::io::Errno;

use self::beneath::Root;
use self::metadata::Reader;
use super::backoff::Backoff;
use super::check::{self, error};
use super::{
    Answer, BlobStore, Body, BoxFuture, Error, ErrorCode, PutOptions, Request, Source, Upload,
};

/// What a store's owner may ask for.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskOptions {
    /// Files with a second name are errors and skipped in lists: a link may lead to data outside the
    /// root, and writing through it would change both.
    pub deny_hard_links: bool,
    /// Leave a directory where it is when its last object is deleted: somebody may be in it.
    pub keep_directories: bool,
    /// Check paths segment by segment even where the kernel can do it. It is found out by itself when
    /// the kernel cannot; this is for tests.
    pub check_each_segment: bool,
    /// Whether names that differ only in case are the same file. None: find out, once there is
    /// something of the store's own to look at.
    pub folds_case: Option<bool>,
}

/// A directory as a blob store. Needs a tokio runtime with its timer.
pub struct DiskStore {
    disk: Arc<Disk>,
    backoff: Arc<Backoff>,
}

/// What all calls share.
struct Disk {
    root: Root,
    options: DiskOptions,
    folds_case: OnceLock<bool>,
    /// Left-over files were looked for.
    swept: OnceLock<()>,
}

impl DiskStore {
    /// The store in a directory that exists; `path` may be a link to it. Makes nothing.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, DiskOptions::default())
    }

    pub fn open_with(path: impl AsRef<Path>, options: DiskOptions) -> Result<Self, Error> {
        let path = path.as_ref();
        let root = Root::open(path, options.check_each_segment);
        let root = root.map_err(|errno| not_opened(path, errno))?;
        reserved::check_format(&root)?;
        Ok(DiskStore {
            disk: Arc::new(Disk {
                root,
                options,
                folds_case: OnceLock::new(),
                swept: OnceLock::new(),
            }),
            backoff: Arc::default(),
        })
    }

    /// The same, with the directory made first where it is missing.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::create_with(path, DiskOptions::default())
    }

    pub fn create_with(path: impl AsRef<Path>, options: DiskOptions) -> Result<Self, Error> {
        let path = path.as_ref();
        beneath::create_root(path).map_err(|errno| not_opened(path, errno))?;
        Self::open_with(path, options)
    }

    async fn hop<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Disk) -> T + Send + 'static,
    ) -> Result<T, Error> {
        hop(&self.disk, work).await
    }
}

/// Run `work` where it may block.
async fn hop<T: Send + 'static>(
    disk: &Arc<Disk>,
    work: impl FnOnce(&Disk) -> T + Send + 'static,
) -> Result<T, Error> {
    let disk = Arc::clone(disk);
    let worked = tokio::task::spawn_blocking(move || work(&disk)).await;
    worked.map_err(|cause| {
        let message = format!("the disk store failed inside ({cause}); please report it");
        error(ErrorCode::OutcomeUnknown, message)
    })
}

fn not_opened(path: &Path, errno: Errno) -> Error {
    let path = path.display();
    let (code, message) = match errno {
        Errno::NOENT => (
            ErrorCode::Invalid,
            format!(
                "no store at {path}: there is no such directory; make it (`mkdir -p`) or name another"
            ),
        ),
        Errno::NOTDIR | Errno::EXIST => (
            ErrorCode::Invalid,
            format!(
                "no store at {path}: it is not a directory; name the directory that holds the store"
            ),
        ),
        Errno::ACCESS | Errno::PERM => (
            ErrorCode::Denied,
            format!(
                "no store at {path}: permission denied; run as a user who may read it (`ls -ld`)"
            ),
        ),
        Errno::ROFS => (
            ErrorCode::Denied,
            format!("no store at {path}: the file system is read-only; name a directory elsewhere"),
        ),
        errno => (ErrorCode::Other, format!("no store at {path}: {errno}")),
    };
    error(code, message)
}

impl Disk {
    fn answer_wave(&self, wave: Vec<Request>) -> Vec<Result<Answer, Error>> {
        let metadata = Reader::open(&self.root);
        check::answer_each(wave, |request, left| {
            let metadata = metadata.as_ref().map_err(Error::clone)?.as_ref();
            match request {
                Request::Get(get) => self.get(metadata, get, left).map(Answer::Blob),
                Request::Head(key) => self.head(metadata, &key).map(Answer::Head),
                Request::List(list) => self.page(list).map(Answer::Listing),
            }
        })
    }

    /// The name that lies where `key` asks for another spelling, on a disk that ignores case.
    fn other_spelling(&self, key: &str) -> Result<Option<String>, Error> {
        if !self.folds_case() {
            return Ok(None);
        }
        self.root
            .other_spelling(key)
            .map_err(|errno| errors::failed(&self.root, key, "looking for", errno))
    }

    /// Found out by asking for the store's own folder in another case.
    fn folds_case(&self) -> bool {
        if let Some(known) = self.options.folds_case.or(self.folds_case.get().copied()) {
            return known;
        }
        let is_directory = |name| {
            let stat = self.root.stat(name).ok().flatten();
            stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
        };
        // Before the first write there is nothing to ask for.
        is_directory(".haversack") && *self.folds_case.get_or_init(|| is_directory(".HAVERSACK"))
    }
}

impl BlobStore for DiskStore {
    fn describe(&self) -> Vec<(String, String)> {
        check::describe("disk", true, 1)
    }

    fn read(&self, wave: Vec<Request>) -> BoxFuture<'_, Vec<Result<Answer, Error>>> {
        Box::pin(async move {
            let requests = wave.len();
            let answers = self.hop(|disk| disk.answer_wave(wave)).await;
            answers.unwrap_or_else(|error| vec![Err(error); requests])
        })
    }

    fn put(
        &self,
        key: String,
        body: Body,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async move {
            let name = key.clone();
            let outcome = self.hop(move |disk| disk.put(&key, &body, options)).await;
            self.backoff.settle(&name, outcome.flatten()).await
        })
    }

    fn append(&self, key: String, body: Body, at_bytes: u64) -> BoxFuture<'_, Result<u64, Error>> {
        Box::pin(async move {
            let name = key.clone();
            let outcome = self
                .hop(move |disk| disk.append(&key, &body, at_bytes))
                .await;
            self.backoff.settle(&name, outcome.flatten()).await
        })
    }

    fn concat(
        &self,
        sources: Vec<Source>,
        to: String,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async move {
            let name = to.clone();
            let outcome = self
                .hop(move |disk| disk.concat(sources, &to, options))
                .await;
            self.backoff.settle(&name, outcome.flatten()).await
        })
    }

    fn delete(&self, keys: Vec<String>) -> BoxFuture<'_, Vec<Result<(), Error>>> {
        Box::pin(async move {
            let number = keys.len();
            let answers = self.hop(move |disk| disk.delete(&keys)).await;
            answers.unwrap_or_else(|error| vec![Err(error); number])
        })
    }

    fn upload(
        &self,
        key: String,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<Box<dyn Upload + '_>, Error>> {
        Box::pin(async move {
            let upload = upload::DiskUpload::begin(&self.disk, &self.backoff, key, options).await?;
            Ok(Box::new(upload) as Box<dyn Upload>)
        })
    }
}
