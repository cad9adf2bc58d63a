//! Which paths look other than they were last: by lists of both sides, or of this one alone. Changes no file; what
//! becomes of a path is decided later, by a look at it alone.

use std::collections::{BTreeMap, BTreeSet};

use super::manifest::{Files, Known};
use super::{Event, Side, Sides};
use crate::store::check::error;
use crate::store::{
    Answer, BlobStore, Entry, Error, ErrorCode, ListRequest, Request, Skipped, Stat,
};
use crate::transfer::read::unanswered;

/// Heads in one wave.
const HEADS_AT_ONCE: usize = 64;

/// A path to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub key: String,
    /// A list of the store did not have it.
    pub absent_there: bool,
    /// Found by a look at all of both sides: only then anything is deleted here.
    pub full: bool,
    /// How often it failed.
    pub failures: u32,
}

/// The entries of a list by key, and what it passed over.
#[derive(Default)]
struct Listed {
    entries: BTreeMap<String, Entry>,
    skipped: Vec<Skipped>,
}

impl Listed {
    /// Whether the list could not tell about the path.
    fn hides(&self, key: &str) -> bool {
        self.skipped.iter().any(|skipped| {
            let rest = key.strip_prefix(skipped.key.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

impl Sides<'_> {
    /// Look at everything; with `both`, in the store too.
    pub async fn survey(&self, both: bool) -> Result<Vec<Candidate>, Error> {
        let (mut here, mut there) = (Listed::default(), Listed::default());
        for folder in &self.folders.0 {
            list(self.here, &folder.place, &mut here).await?;
            if both {
                list(self.there, &folder.prefix, &mut there).await?;
            }
        }
        self.tell_skipped(Side::Here, &here);
        self.tell_skipped(Side::There, &there);
        let known = self.files().clone();
        if both && there.entries.is_empty() && !known.is_empty() {
            return Err(Self::refuse_emptied(known.len()));
        }
        let keys: BTreeSet<&str> = known.keys().map(String::as_str).collect();
        let found_here: BTreeMap<String, &Entry> = here
            .entries
            .values()
            .filter_map(|entry| Some((self.folders.key(&entry.key)?, entry)))
            .collect();
        let mut all = keys;
        all.extend(found_here.keys().map(String::as_str));
        all.extend(there.entries.keys().map(String::as_str));
        all.retain(|key| {
            let place = self.folders.here(key);
            !there.hides(key) && !place.is_some_and(|place| here.hides(&place))
        });
        let mut suspects: BTreeSet<&str> = BTreeSet::new();
        let (mut unsure_here, mut unsure_there) = (Vec::new(), Vec::new());
        for key in all.iter().copied() {
            let last = known.get(key);
            let entry = found_here.get(key).copied();
            match self.is_same_here(last, entry) {
                Some(true) => {}
                Some(false) => _ = suspects.insert(key),
                None => unsure_here.push(key),
            }
            if both {
                match is_same_there(last, there.entries.get(key)) {
                    Some(true) => {}
                    Some(false) => _ = suspects.insert(key),
                    None => unsure_there.push(key),
                }
            }
        }
        unsure_here.retain(|key| !suspects.contains(key));
        suspects.extend(self.differing_here(&unsure_here, &known).await);
        unsure_there.retain(|key| !suspects.contains(key));
        suspects.extend(self.differing_there(&unsure_there, &known).await);
        let candidate = |key: &str| Candidate {
            key: key.to_owned(),
            absent_there: both && !there.entries.contains_key(key),
            full: both,
            failures: 0,
        };
        Ok(suspects.into_iter().map(candidate).collect())
    }

    /// Look at these paths here, and at what lies or lay below them.
    pub async fn survey_near(&self, keys: Vec<String>) -> Result<Vec<Candidate>, Error> {
        let mut near: BTreeSet<String> = BTreeSet::new();
        for key in keys {
            let below = format!("{key}/");
            let mut listed = Listed::default();
            if let Some(place) = self.folders.here(&below) {
                list(self.here, &place, &mut listed).await?;
            }
            self.tell_skipped(Side::Here, &listed);
            let found = listed.entries.keys();
            near.extend(found.filter_map(|place| self.folders.key(place)));
            let files = self.files();
            let known = files.range(below.clone()..);
            let known = known.take_while(|(key, _)| key.starts_with(&below));
            near.extend(known.map(|(key, _)| key.clone()));
            near.insert(key);
        }
        let known = self.files().clone();
        let keys: Vec<&str> = near.iter().map(String::as_str).collect();
        let differing = self.differing_here(&keys, &known).await;
        let candidate = |key: &str| Candidate {
            key: key.to_owned(),
            absent_there: false,
            full: false,
            failures: 0,
        };
        Ok(differing.into_iter().map(candidate).collect())
    }

    /// A folder that is missing as a whole is lost, a disk that was not mounted perhaps: nobody deleted its files one
    /// by one. It is made, and filled again.
    pub fn restore_folders(&self) -> Result<(), Error> {
        for folder in &self.folders.0 {
            let path = self.directory.join(&folder.place);
            let is_missing = std::fs::symlink_metadata(&path)
                .is_err_and(|cause| cause.kind() == std::io::ErrorKind::NotFound);
            if !is_missing {
                continue;
            }
            self.change_files(|files| files.retain(|key, _| !key.starts_with(&folder.prefix)));
            if self.options.dry_run {
                continue;
            }
            std::fs::create_dir_all(&path).map_err(|cause| {
                let message = format!("cannot make {}: {cause}", path.display());
                error(ErrorCode::Denied, message)
            })?;
        }
        Ok(())
    }

    /// Nothing of these folders in the store, where there was something: another store, or a user who was moved away,
    /// of whom meta.json and messages may be left. To delete everything here for that would be wrong more often than
    /// right.
    fn refuse_emptied(known: usize) -> Error {
        let message = format!(
            "the store has nothing of this user's folders any more, where {known} files were kept the same; nothing \
             was deleted here. If that is meant, remove this directory; to upload it all again, remove \
             {}/manifest.json in it",
            super::manifest::FOLDER
        );
        error(ErrorCode::Conflict, message)
    }

    /// None where only a look into the file tells.
    fn is_same_here(&self, last: Option<&Known>, entry: Option<&Entry>) -> Option<bool> {
        let (Some(last), Some(entry)) = (last, entry) else {
            return Some(last.is_none() && entry.is_none());
        };
        if let Some(version) = &entry.version {
            return Some(*version == last.here);
        }
        if entry.size_bytes != last.size_bytes {
            return Some(false);
        }
        let is_known = last.modified_ms == Some(entry.modified_ms);
        (is_known && !self.options.checksum).then_some(true)
    }

    /// Those whose content here has another version than last. What is the same is remembered by its time.
    async fn differing_here<'k>(&self, keys: &[&'k str], known: &Files) -> BTreeSet<&'k str> {
        let now_ms = super::now_ms();
        let places: Vec<String> = keys
            .iter()
            .map(|key| self.folders.here(key).unwrap_or_default())
            .collect();
        let heads = heads(self.here, &places).await;
        let mut differing = BTreeSet::new();
        for (key, head) in keys.iter().copied().zip(heads) {
            match (head, known.get(key)) {
                (Ok(None), None) => {}
                (Ok(Some(stat)), Some(last)) if stat.version == last.here => {
                    let modified_ms = super::at_rest(stat.modified_ms, now_ms);
                    if modified_ms != last.modified_ms {
                        self.change_files(|files| {
                            let last = files.get_mut(key).filter(|it| it.here == stat.version);
                            if let Some(last) = last {
                                last.modified_ms = modified_ms;
                            }
                        });
                    }
                }
                _ => _ = differing.insert(key),
            }
        }
        differing
    }

    async fn differing_there<'k>(&self, keys: &[&'k str], known: &Files) -> BTreeSet<&'k str> {
        let places: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        let heads = heads(self.there, &places).await;
        let is_same = |key: &str, head: Result<Option<Stat>, Error>| {
            let version = head.ok().flatten().map(|stat| stat.version);
            version.as_ref() == known.get(key).map(|last| &last.there)
        };
        let pairs = keys.iter().copied().zip(heads);
        pairs
            .filter_map(|(key, head)| (!is_same(key, head)).then_some(key))
            .collect()
    }

    /// Each once, as long as it stays so.
    fn tell_skipped(&self, side: Side, listed: &Listed) {
        for Skipped { key, cause } in &listed.skipped {
            if self.is_new(side, key, cause) {
                (self.tell)(Event::Skipped {
                    side,
                    path: key.clone(),
                    cause: cause.clone(),
                });
            }
        }
    }
}

fn is_same_there(last: Option<&Known>, entry: Option<&Entry>) -> Option<bool> {
    let (Some(last), Some(entry)) = (last, entry) else {
        return Some(last.is_none() && entry.is_none());
    };
    match &entry.version {
        Some(version) => Some(*version == last.there),
        None if entry.size_bytes != last.size_bytes => Some(false),
        None => None,
    }
}

async fn list(store: &dyn BlobStore, prefix: &str, listed: &mut Listed) -> Result<(), Error> {
    let mut request = ListRequest {
        prefix: prefix.to_owned(),
        delimiter: false,
        start_after: None,
        cursor: None,
        limit: None,
    };
    loop {
        let page = match store.read(vec![Request::List(request.clone())]).await.pop() {
            Some(Ok(Answer::Listing(page))) => page,
            Some(Err(error)) => return Err(error),
            _ => return Err(unanswered("a list")),
        };
        let entries = page.entries.into_iter();
        listed
            .entries
            .extend(entries.map(|entry| (entry.key.clone(), entry)));
        listed.skipped.extend(page.skipped);
        match page.cursor {
            Some(cursor) => request.cursor = Some(cursor),
            None => return Ok(()),
        }
    }
}

/// What lies under each key, in order.
async fn heads(store: &dyn BlobStore, keys: &[String]) -> Vec<Result<Option<Stat>, Error>> {
    let mut heads = Vec::with_capacity(keys.len());
    for wave in keys.chunks(HEADS_AT_ONCE) {
        let requests = wave.iter().cloned().map(Request::Head).collect();
        let mut answers = store.read(requests).await.into_iter();
        heads.extend(wave.iter().map(|_| match answers.next() {
            Some(Ok(Answer::Head(stat))) => Ok(stat),
            Some(Err(error)) => Err(error),
            _ => Err(unanswered("a head")),
        }));
    }
    heads
}
