//! What lies in a home: its roots, one after another, in pages. Spells no key.

use serde::{Deserialize, Serialize};

use super::{bad_continuation, read_continuation, write_continuation};
use crate::layout::{HomeId, Place, find_place, parse_home};
use crate::limits::{LIST_PAGE_MAX, PAGES_PER_CALL_MAX};
use crate::store::{self, Answer, ListRequest, Listing, Metered, Request, Store};
use crate::types::{Cost, Error, Home, Result};

/// An object of a home. No place when the layout does not name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Item {
    pub key: String,
    pub size_bytes: u64,
    pub modified_ms: u64,
    pub place: Option<Place>,
}

/// What a list had to pass over, with the cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Skipped {
    pub key: String,
    pub cause: String,
}

impl From<store::Skipped> for Skipped {
    fn from(skipped: store::Skipped) -> Self {
        Self {
            key: skipped.key,
            cause: skipped.cause,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ContentsPage {
    pub items: Vec<Item>,
    pub skipped: Vec<Skipped>,
    pub continue_from: Option<String>,
    pub cost: Cost,
}

/// Where a call goes on: a root of the home, and the store's cursor in it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Progress {
    home: String,
    root: usize,
    cursor: Option<String>,
}

/// What lies in `home`, at most [`PAGES_PER_CALL_MAX`] list pages a call; a home without any object
/// is `not-found`.
pub fn contents(
    store: &dyn Store,
    home: &Home,
    continue_from: Option<String>,
) -> Result<ContentsPage> {
    let store = Metered::new(store);
    let home = parse_home(home)?;
    let prefixes = home.prefixes();
    let start = match &continue_from {
        None => Progress {
            home: home.to_string(),
            root: 0,
            cursor: None,
        },
        Some(text) => read_continuation::<Progress>(text)?,
    };
    if start.home != home.to_string() || start.root >= prefixes.len() {
        return Err(bad_continuation());
    }

    let mut collected = Collected::default();
    let next = collected.collect(&store, &home, &prefixes, start, continue_from.is_none())?;
    let Collected { items, skipped, .. } = collected;
    if continue_from.is_none() && next.is_none() && items.is_empty() && skipped.is_empty() {
        return Err(Error::not_found(format!(
            "{home} has nothing in this store: no object begins with {}. List the homes that there are (`haversack ls`); a home begins with its \
             first object",
            prefixes.join(" or ")
        )));
    }
    Ok(ContentsPage {
        items,
        skipped,
        continue_from: next.as_ref().map(write_continuation).transpose()?,
        cost: store.cost(),
    })
}

#[derive(Default)]
struct Collected {
    items: Vec<Item>,
    skipped: Vec<Skipped>,
    pages: usize,
}

impl Collected {
    /// Reads pages from `start` on; answers where to go on when the pages of a call are used up.
    fn collect(
        &mut self,
        store: &Metered<'_>,
        home: &HomeId,
        prefixes: &[String],
        start: Progress,
        fresh: bool,
    ) -> Result<Option<Progress>> {
        // A fresh call asks for the first page of every root together: most homes end there.
        let mut asked: Vec<ListRequest> = Vec::new();
        for (root, prefix) in prefixes.iter().enumerate().skip(start.root) {
            let cursor = start.cursor.clone().filter(|_| root == start.root);
            if fresh || root == start.root {
                asked.push(request(prefix, cursor));
            }
        }
        let mut first_pages = self.read(store, asked)?.into_iter();

        for (root, prefix) in prefixes.iter().enumerate().skip(start.root) {
            let at = |cursor| Progress {
                home: home.to_string(),
                root,
                cursor,
            };
            let mut listing = match first_pages.next() {
                Some(listing) => listing,
                None if self.pages >= PAGES_PER_CALL_MAX => return Ok(Some(at(None))),
                None => self.read_one(store, request(prefix, None))?,
            };
            while let Some(cursor) = self.take(home, listing) {
                if self.pages >= PAGES_PER_CALL_MAX {
                    return Ok(Some(at(Some(cursor))));
                }
                listing = self.read_one(store, request(prefix, Some(cursor)))?;
            }
        }
        Ok(None)
    }

    fn read_one(&mut self, store: &Metered<'_>, request: ListRequest) -> Result<Listing> {
        Ok(self.read(store, vec![request])?.pop().unwrap_or_default())
    }

    fn read(&mut self, store: &Metered<'_>, requests: Vec<ListRequest>) -> Result<Vec<Listing>> {
        self.pages += requests.len();
        read_lists(store, requests)
    }

    /// Adds a page and answers its cursor.
    fn take(&mut self, home: &HomeId, listing: Listing) -> Option<String> {
        self.items
            .extend(listing.entries.into_iter().map(|entry| Item {
                place: find_place(home.system(), &entry.key),
                key: entry.key,
                size_bytes: entry.size_bytes,
                modified_ms: entry.modified_ms,
            }));
        self.skipped
            .extend(listing.skipped.into_iter().map(Skipped::from));
        listing.cursor
    }
}

fn request(prefix: &str, cursor: Option<String>) -> ListRequest {
    ListRequest {
        prefix: prefix.to_owned(),
        cursor,
        limit: Some(LIST_PAGE_MAX),
        ..ListRequest::default()
    }
}

/// Lists in one wave; the first that fails fails the call, naming its prefix.
pub(super) fn read_lists(store: &Metered<'_>, requests: Vec<ListRequest>) -> Result<Vec<Listing>> {
    let prefixes: Vec<_> = requests
        .iter()
        .map(|request| request.prefix.clone())
        .collect();
    let answers = store.read(requests.into_iter().map(Request::List).collect())?;
    let mut listings = Vec::with_capacity(answers.len());
    for (answer, prefix) in answers.into_iter().zip(prefixes) {
        match answer.map_err(|error| error.about(&prefix))? {
            Answer::Listing(listing) => listings.push(listing),
            // `Metered` has checked that a list is answered by a listing.
            Answer::Blob(_) | Answer::Head(_) => listings.push(Listing::default()),
        }
    }
    Ok(listings)
}
