//! The whole of a sync, from opening the directory to the summary. What happens in between, and in which order, is
//! `order.rs`'s.

use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use super::event::{Event, Summary};
use super::feed::Feed;
use super::manifest::State;
use super::order::Order;
use super::{FOLDER, Job, Sides, SyncOptions, budget};
use crate::store::check::error;
use crate::store::disk::DiskOptions;
use crate::store::{Answer, BlobStore, DiskStore, Error, ErrorCode, ListRequest, Request};

/// What a killed upload left in the store is removed when it is this old.
const LEFT_OVER_MS: u64 = 24 * 60 * 60 * 1_000;

/// Keep a directory and a store the same, until `stop` says true; `tell` hears what happens.
///
/// An error is one that ends all of it: the directory is another's, or a first comparison is not possible. What does not
/// work for single paths is in the summary.
pub async fn run(
    job: &Job,
    options: &SyncOptions,
    mut stop: watch::Receiver<bool>,
    tell: &(dyn Fn(Event) + Sync),
) -> Result<Summary, Error> {
    if !options.dry_run {
        std::fs::create_dir_all(&job.directory).map_err(|cause| no_directory(job, &cause))?;
    }
    let directory = job.directory.canonicalize();
    let directory = directory.map_err(|cause| no_directory(job, &cause))?;
    let here = DiskStore::open_with(
        &directory,
        DiskOptions {
            keep_directories: true,
            ..DiskOptions::default()
        },
    )?;
    let owner = job.owner.clone();
    let (state, files) = match options.dry_run {
        true => State::look(&directory, owner)?,
        false => State::take(&directory, owner)?,
    };
    let listens = !options.once && !options.dry_run && options.poll.is_none();
    let mut feed = match listens {
        true => Some(Feed::new(directory.clone(), job.folders.clone())?),
        false => None,
    };
    let described = job.store.describe();
    let key_bytes_max = described
        .iter()
        .find_map(|(name, value)| value.parse().ok().filter(|_| name == "key-bytes-max"));
    let summary = Mutex::new(Summary::default());
    let count = |event: Event| {
        if let Event::Skipped { .. } = event {
            let mut summary = summary.lock().unwrap_or_else(PoisonError::into_inner);
            summary.skipped += 1;
        }
        tell(event);
    };
    let sides = Sides {
        directory,
        here: &here,
        there: &*job.store,
        folders: job.folders.clone(),
        options: options.clone(),
        key_bytes_max: key_bytes_max.unwrap_or(crate::store::key::KEY_BYTES_MAX),
        tell: &count,
        budget: budget(),
        state,
        files: Mutex::new(files),
        unsaved: Default::default(),
        said: Mutex::default(),
    };
    if !options.dry_run {
        sweep(sides.there).await;
    }
    let mut order = Order::new(&sides);
    let ended = order.keep(feed.as_mut(), &mut stop).await;
    order.save(true);
    let (done, failed) = order.into_outcome();
    ended?;
    let skipped = summary
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .skipped;
    Ok(Summary {
        files: sides.files().len() as u64,
        failed,
        skipped,
        ..done
    })
}

fn no_directory(job: &Job, cause: &std::io::Error) -> Error {
    let directory = job.directory.display();
    let code = match cause.kind() {
        std::io::ErrorKind::PermissionDenied => ErrorCode::Denied,
        _ => ErrorCode::Invalid,
    };
    error(
        code,
        format!("cannot use the directory {directory}: {cause}"),
    )
}

/// Remove what uploads that were killed left beside, long ago. Not being able to is no reason not to begin.
async fn sweep(there: &dyn BlobStore) {
    let request = ListRequest {
        prefix: format!("{FOLDER}/"),
        delimiter: false,
        start_after: None,
        cursor: None,
        limit: None,
    };
    let page = there.read(vec![Request::List(request)]).await.pop();
    let Some(Ok(Answer::Listing(page))) = page else {
        return;
    };
    let old_ms = super::now_ms().saturating_sub(LEFT_OVER_MS);
    let old = page.entries.into_iter();
    let old: Vec<String> = old
        .filter(|entry| entry.modified_ms < old_ms)
        .map(|entry| entry.key)
        .collect();
    if !old.is_empty() {
        let _ = there.delete(old).await;
    }
}
