//! From an unpacked archive into the user's place in a store: create-only unless told otherwise, read back, and
//! `meta.json` last, because the user is there once it is. Copying is `transfer`'s.

use std::sync::Arc;

use super::Owner;
use crate::store::check::error;
use crate::store::{
    Answer, Blob, BlobStore, BodyKind, Condition, Entry, Error, ErrorCode, GetRequest, ListRequest,
    PutOptions, Range, Request, ScopedStore,
};
use crate::transfer::{self, CopyOptions, Event, Outcome, Summary};

/// What says that a user is there.
const META: &str = "meta.json";

#[derive(Clone, Copy, Debug)]
pub struct ImportOptions {
    /// Write over objects that are there and differ.
    pub replace: bool,
    /// Find out what would be done, and write nothing.
    pub dry_run: bool,
    pub objects_at_once: usize,
}

/// How an import ended.
#[derive(Debug, Default)]
pub struct Imported {
    /// In the order in which they were done: everything else, and then `meta.json`.
    pub copies: Vec<Summary>,
    /// Objects differ from what is there, and so nothing was written.
    pub refused: bool,
}

/// Copy what lies in `staging` below `from` to below `to` in `target`. Without `replace`, nothing at all is
/// written where an object that differs is there already; what is equal is passed over, so that an import that was
/// stopped goes on when it is run again. Nothing is deleted from `target`.
///
/// What goes wrong with single objects is in the summaries; `meta.json` is only written where nothing did.
pub async fn import(
    staging: Arc<dyn BlobStore>,
    from: &Owner,
    target: Arc<dyn BlobStore>,
    to: &Owner,
    options: ImportOptions,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Imported, Error> {
    let from = ScopedStore::new(staging, from.prefix.clone())?;
    let to = ScopedStore::new(target, to.prefix.clone())?;
    let copying = CopyOptions {
        replace: options.replace,
        dry_run: options.dry_run,
        objects_at_once: options.objects_at_once,
        ..CopyOptions::default()
    };
    let mut imported = Imported::default();
    if options.dry_run {
        let would = transfer::copy(&from, &to, &copying, tell).await?;
        imported.copies.push(would);
        return Ok(imported);
    }
    if !options.replace && !is_empty(&to).await? {
        let found = differences(&from, &to, &copying, tell).await?;
        if found.different.objects > 0 {
            imported.refused = true;
            imported.copies.push(found);
            return Ok(imported);
        }
    }
    let meta = take_meta(&from).await?;
    let others = transfer::copy(&from, &to, &copying, tell).await?;
    let whole = is_whole(&others);
    imported.copies.push(others);
    let Some(meta) = meta else {
        return Ok(imported);
    };
    let last = put_back(&from, meta).await?;
    if whole {
        let only = CopyOptions {
            only: Some(vec![last]),
            ..copying
        };
        let copied = transfer::copy(&from, &to, &only, tell).await?;
        imported.copies.push(copied);
    }
    Ok(imported)
}

fn is_whole(summary: &Summary) -> bool {
    let wrong = summary.failed.objects + summary.different.objects + summary.gone.objects;
    wrong == 0 && summary.skipped == 0 && summary.unlisted.is_none()
}

async fn is_empty(store: &ScopedStore) -> Result<bool, Error> {
    let list = Request::List(ListRequest {
        prefix: String::new(),
        delimiter: false,
        start_after: None,
        cursor: None,
        limit: Some(1),
    });
    match answer(store, list).await? {
        Answer::Listing(page) => Ok(page.entries.is_empty() && page.cursor.is_none()),
        _ => Err(unanswered()),
    }
}

/// What a copy would find, of which only what differs is told.
async fn differences(
    from: &ScopedStore,
    to: &ScopedStore,
    copying: &CopyOptions,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Summary, Error> {
    let look = CopyOptions {
        dry_run: true,
        ..copying.clone()
    };
    let different = |event: Event<'_>| {
        if let Event::Settled {
            outcome: Outcome::Different(_),
            ..
        } = event
        {
            tell(event);
        }
    };
    transfer::copy(from, to, &look, &different).await
}

/// Taken out of the staging store, so that a copy of all of it is one of all the rest.
async fn take_meta(staging: &ScopedStore) -> Result<Option<Blob>, Error> {
    let get = Request::Get(GetRequest {
        key: META.to_owned(),
        range: Range::Whole,
        kind: BodyKind::Binary,
    });
    let Answer::Blob(meta) = answer(staging, get).await? else {
        return Err(unanswered());
    };
    let deleted = staging.delete(vec![META.to_owned()]).await;
    deleted.into_iter().collect::<Result<(), Error>>()?;
    Ok(meta)
}

async fn put_back(staging: &ScopedStore, meta: Blob) -> Result<Entry, Error> {
    let Blob { body, stat } = meta;
    let options = PutOptions {
        condition: Condition::Always,
        content_type: stat.content_type,
        metadata: stat.metadata,
    };
    staging.put(META.to_owned(), body, options).await?;
    Ok(Entry {
        key: META.to_owned(),
        size_bytes: stat.size_bytes,
        modified_ms: stat.modified_ms,
        version: None,
    })
}

async fn answer(store: &ScopedStore, request: Request) -> Result<Answer, Error> {
    let answer = store.read(vec![request]).await.pop();
    answer.unwrap_or_else(|| Err(unanswered()))
}

fn unanswered() -> Error {
    let message = "the store answered something else than it was asked; `haversack store check` shows what else it does";
    error(ErrorCode::Other, message)
}
