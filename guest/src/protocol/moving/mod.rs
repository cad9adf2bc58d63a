//! Everything below one prefix, moved below another and back: copied by the store itself, verified, and only then
//! deleted (spec/protocols.md, "Retention sweep", steps 3, 5, 6 and 7). Who may do so when, the caller knows; this
//! knows no system, no state and no clock.
//!
//! A copy says in its metadata which version of its source it is. That, the size and the content type are what is
//! verified. An object that changed since is copied again; a copy whose source went by other means stays.

mod back;
mod forth;

use std::cell::Cell;

use crate::limits::{
    LIST_PAGE_MAX, MOVING_BATCH_OBJECTS, RETENTION_COPIED_BYTES_MAX, WAVE_REQUESTS_MAX,
};
use crate::store::{
    Answer, ListRequest, Listing, Metered, Request, Stat, StoreError, StoreErrorCode, metadatum,
};
use crate::types::{Error, Problem, ProblemKind, Result};

/// In a copy's metadata: the version of its source, and its size.
const VERSION: &str = "moved-version";
const BYTES: &str = "moved-bytes";

/// Requests that an object takes: two looks at both its places, and the copy.
const OBJECT_REQUESTS: u32 = 5;

/// From where, and to where.
pub struct Moving<'a> {
    pub store: &'a Metered<'a>,
    pub budget: &'a Budget,
    /// Where the objects lie, with its slash.
    pub home: &'a str,
    /// Where their copies lie, with its slash.
    pub copies: &'a str,
    /// The one key of the home that stays where it is.
    pub stays: &'a str,
}

/// What one call may spend.
pub struct Budget {
    requests_max: u32,
    copied_bytes: Cell<u64>,
}

/// What a call has done.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Objects that are where they should be now, and were looked at by this call.
    pub objects: u32,
    pub size_bytes: u64,
    pub problems: Vec<Problem>,
    pub end: End,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub enum End {
    /// All of it is done.
    #[default]
    Finished,
    /// The budget is spent: behind this name it goes on.
    After(String),
    /// The store refuses something for good; the problems say what.
    Blocked,
}

/// One object, at both its places.
struct Pair {
    /// Below either prefix.
    name: String,
    live: Option<Stat>,
    copy: Option<Stat>,
}

impl Budget {
    pub fn new(requests_max: u32) -> Self {
        Self {
            requests_max,
            copied_bytes: Cell::new(0),
        }
    }

    fn left(&self, store: &Metered<'_>) -> u32 {
        self.requests_max.saturating_sub(store.cost().requests)
    }

    /// How many objects to take next; none when the budget is spent. The first of a call are always taken.
    fn batch(&self, store: &Metered<'_>, is_first: bool) -> Option<u32> {
        let fit = self.left(store).saturating_sub(2) / OBJECT_REQUESTS;
        let fit = if is_first { fit.max(1) } else { fit };
        let most = u32::try_from(MOVING_BATCH_OBJECTS).unwrap_or(u32::MAX);
        (fit > 0).then_some(fit.min(most))
    }

    /// Whether so much more may be copied in this call, which is then counted; the first always.
    pub fn takes(&self, bytes: u64) -> bool {
        let copied = self.copied_bytes.get();
        let sum = copied.saturating_add(bytes);
        let takes = copied == 0 || sum <= RETENTION_COPIED_BYTES_MAX;
        if takes {
            self.copied_bytes.set(sum.max(1));
        }
        takes
    }
}

impl Done {
    fn count<'p>(&mut self, stats: impl IntoIterator<Item = &'p Stat>) {
        for stat in stats {
            self.objects += 1;
            self.size_bytes += stat.size_bytes;
        }
    }
}

impl Moving<'_> {
    /// What the objects of these names are at both places, in one wave. One whose copy the store cannot have, such as
    /// for the length of its key, is told among `refused` and left out.
    fn look(&self, names: Vec<String>, refused: &mut Vec<Problem>) -> Result<Vec<Pair>> {
        let head = |prefix: &str, name: &String| Request::Head(format!("{prefix}{name}"));
        let wave = names
            .iter()
            .flat_map(|name| [head(self.home, name), head(self.copies, name)])
            .collect();
        let mut answers = self.store.read(wave)?.into_iter();
        let mut pairs = Vec::with_capacity(names.len());
        for name in names {
            let mut next = || match answers.next() {
                Some(Ok(Answer::Head(stat))) => Ok(stat),
                Some(Err(error)) => Err(error),
                _ => Ok(None),
            };
            let (live, copy) = (next(), next());
            let live = live.map_err(|error| error.about(&format!("{}{name}", self.home)))?;
            match copy {
                Ok(copy) => pairs.push(Pair { name, live, copy }),
                Err(error) if is_refused(&error) => refused.push(self.refused(&name, &error)),
                Err(error) => return Err(error.about(&format!("{}{name}", self.copies))),
            }
        }
        Ok(pairs)
    }

    /// What the store says of a copy that it will never have.
    fn refused(&self, name: &str, error: &StoreError) -> Problem {
        let message = format!(
            "cannot be copied to {}{name}: {}; its user stays whole",
            self.copies, error.message
        );
        Problem::new(
            ProblemKind::Unreadable,
            format!("{}{name}", self.home),
            message,
        )
    }

    /// The names of the next objects below a prefix, and whether more follow.
    fn page(
        &self,
        prefix: &str,
        after: Option<&String>,
        limit: u32,
        problems: &mut Vec<Problem>,
    ) -> Result<(Listing, Vec<String>)> {
        let listing = self.store.list(ListRequest {
            prefix: prefix.to_owned(),
            start_after: after.map(|after| format!("{prefix}{after}")),
            limit: Some(limit),
            ..ListRequest::default()
        })?;
        let skipped = listing.skipped.iter();
        problems.extend(skipped.map(|it| {
            let message = format!("{}; it stays where it is", it.cause);
            Problem::new(ProblemKind::Skipped, it.key.clone(), message)
        }));
        let entries = listing.entries.iter();
        let moves = entries.filter(|entry| entry.key != self.stays);
        let names = moves.filter_map(|entry| entry.key.strip_prefix(prefix).map(str::to_owned));
        let names = names.collect();
        Ok((listing, names))
    }
}

/// The last name of a page, where more follow.
fn behind(prefix: &str, listing: &Listing) -> Option<String> {
    listing.cursor.as_ref()?;
    let last = listing.last_key()?.strip_prefix(prefix)?;
    Some(last.to_owned())
}

/// Whether a copy says that it is this version of its source, and is as long.
fn is_copy_of(copy: &Stat, live: &Stat) -> bool {
    let says = |name: &str, value: &str| metadatum(&copy.metadata, name) == Some(value);
    copy.size_bytes == live.size_bytes
        && says(VERSION, &live.version)
        && says(BYTES, &live.size_bytes.to_string())
        && (live.content_type.is_none() || live.content_type == copy.content_type)
}

/// The metadata without what makes a copy of it.
fn own_metadata(stat: &Stat) -> Vec<(String, String)> {
    let ours = |name: &str| {
        [VERSION, BYTES]
            .iter()
            .any(|ours| name.eq_ignore_ascii_case(ours))
    };
    let metadata = stat.metadata.iter();
    metadata.filter(|(name, _)| !ours(name)).cloned().collect()
}

/// Whether trying again does not help.
fn is_refused(error: &StoreError) -> bool {
    use StoreErrorCode::{Denied, Invalid, TooLarge, Unsupported};
    matches!(error.code, Denied | Invalid | TooLarge | Unsupported)
}

/// Whether nothing lies below a prefix but the one key that stays there.
pub fn is_empty(store: &Metered<'_>, home: &str, stays: &str) -> Result<bool> {
    let moving = Moving {
        store,
        budget: &Budget::new(0),
        home,
        copies: home,
        stays,
    };
    Ok(moving.first_names(1)?.0.is_empty())
}

/// Delete everything below a prefix, a page at a time.
pub fn delete_below(store: &Metered<'_>, budget: &Budget, prefix: &str) -> Result<Done> {
    let mut done = Done::default();
    let mut passed_over = None;
    loop {
        let listing = store.list(ListRequest {
            prefix: prefix.to_owned(),
            start_after: passed_over.clone(),
            limit: Some(LIST_PAGE_MAX),
            ..ListRequest::default()
        })?;
        let last = listing.last_key().cloned();
        for it in listing.skipped {
            let message = format!("{}; it stays where it is", it.cause);
            done.problems
                .push(Problem::new(ProblemKind::Skipped, it.key, message));
        }
        let keys: Vec<String> = listing.entries.iter().map(|it| it.key.clone()).collect();
        if keys.is_empty() {
            // A page of what stays is not the end of the list.
            match last.filter(|_| listing.cursor.is_some()) {
                Some(last) => passed_over = Some(last),
                None => return Ok(done),
            }
            continue;
        }
        for (key, answer) in keys.iter().zip(store.delete(keys.clone())?) {
            answer.map_err(|error| error.about(key))?;
        }
        done.objects += u32::try_from(keys.len()).unwrap_or(u32::MAX);
        done.size_bytes += listing.entries.iter().map(|it| it.size_bytes).sum::<u64>();
        if listing.cursor.is_none() {
            return Ok(done);
        }
        if budget.left(store) < 2 {
            done.end = End::After(String::new());
            return Ok(done);
        }
        done.problems.clear();
    }
}

const _: () = assert!(MOVING_BATCH_OBJECTS * 2 <= WAVE_REQUESTS_MAX);

/// The error of a write whose result is not what it should be.
fn differs(key: &str) -> Error {
    Error::new(
        crate::types::ErrorCode::Other,
        format!("{key} is not what was copied there, although the store said so; nothing was deleted, try again"),
    )
    .at(key)
}
