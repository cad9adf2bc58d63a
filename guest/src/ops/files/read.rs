//! Listing a directory of a workspace, and reading a file.

use std::collections::BTreeMap;

use super::{File, ListAnswer, Located, Mount, ReadAnswer, Workspace};
use crate::format::text::{back_to_character, decode};
use crate::limits::WORKSPACE_FILE_BYTES_MAX;
use crate::store::{
    Answer, Blob, BodyKind, Entry, GetRequest, ListRequest, Listing, Metered, Range, Request,
};
use crate::types::{Error, Problem, ProblemKind, Result};

/// Sorts behind every key that begins with what stands before it: U+10FFFF is no character.
const BEHIND: char = '\u{10ffff}';

pub fn list(
    store: &Metered<'_>,
    workspace: &dyn Workspace,
    directory: &str,
    continue_from: Option<String>,
) -> Result<ListAnswer> {
    let directory = workspace.directory(directory)?;
    let after = continue_from.unwrap_or_default();
    if !after.is_empty() && !after.starts_with(&directory) {
        return Err(Error::invalid(
            "continue-from is not one that this directory gave: leave it out to begin anew",
        ));
    }
    let mut page = Page::default();
    let mut prefixes = Vec::new();
    for mount in workspace.mounts() {
        if let Some(rest) = directory.strip_prefix(&mount.path) {
            let prefix = format!("{}{rest}", mount.prefix);
            prefixes.push((mount, prefix, directory.clone(), true));
        } else if let Some(below) = mount.path.strip_prefix(&directory) {
            // The directory holds the one that this part of the workspace begins in.
            let name = below.split('/').next().unwrap_or_default();
            let prefix = mount.prefix.clone();
            let path = format!("{directory}{name}/");
            prefixes.push((mount, prefix, path, false));
        }
    }
    let wave = prefixes.iter().map(|(_, prefix, path, inside)| {
        let start_after = after
            .strip_prefix(path.as_str())
            .filter(|rest| *inside && !rest.is_empty())
            .map(|rest| match rest.ends_with('/') {
                true => format!("{prefix}{rest}{BEHIND}"),
                false => format!("{prefix}{rest}"),
            });
        ListRequest {
            prefix: prefix.clone(),
            delimiter: *inside,
            start_after,
            cursor: None,
            limit: (!*inside).then_some(1),
        }
    });
    let listings = listings(store, wave.collect())?;
    for ((mount, prefix, path, inside), listing) in prefixes.iter().zip(listings) {
        if *inside {
            page.take(workspace, mount, (prefix, path), listing);
        } else if *path > after {
            // Also what is no object shows that there is something.
            if !listing.entries.is_empty() || !listing.skipped.is_empty() {
                page.directories.insert(path.clone(), ());
            }
            for skipped in listing.skipped {
                let problem = Problem::new(ProblemKind::Skipped, skipped.key, skipped.cause);
                page.problems.push((path.clone(), problem));
            }
        }
    }
    Ok(page.answer(store))
}

/// One page for each list in a wave. A store may give a page of nothing and a cursor: then it is asked on,
/// so that a page without an item is the end.
pub fn listings(store: &Metered<'_>, wave: Vec<ListRequest>) -> Result<Vec<Listing>> {
    let first = store.read(wave.iter().cloned().map(Request::List).collect())?;
    let mut listings = Vec::new();
    for (mut request, mut answer) in wave.into_iter().zip(first) {
        loop {
            let listing = match answer.map_err(|error| error.about(&request.prefix))? {
                Answer::Listing(listing) => listing,
                _ => Listing::default(),
            };
            if listing.cursor.is_none() || listing.last_key().is_some() {
                listings.push(listing);
                break;
            }
            request.cursor = listing.cursor;
            let again = store.read(vec![Request::List(request.clone())])?;
            answer = again.into_iter().next().unwrap_or(Ok(Answer::Head(None)));
        }
    }
    Ok(listings)
}

/// What the parts of a workspace list together.
#[derive(Default)]
struct Page {
    files: BTreeMap<String, File>,
    directories: BTreeMap<String, ()>,
    /// By the path that each is about.
    problems: Vec<(String, Problem)>,
    /// The least of the last paths of parts that have more: nothing behind it is complete.
    horizon: Option<String>,
}

impl Page {
    /// What lies below a prefix of a mount, which is this path.
    fn take(
        &mut self,
        workspace: &dyn Workspace,
        mount: &Mount,
        (prefix, path): (&str, &str),
        listing: Listing,
    ) {
        let path_of = |key: &str| key.strip_prefix(prefix).map(|rest| format!("{path}{rest}"));
        if listing.cursor.is_some()
            && let Some(last) = listing.last_key().and_then(|last| path_of(last))
        {
            let least = self.horizon.take().map(|horizon| horizon.min(last.clone()));
            self.horizon = Some(least.unwrap_or(last));
        }
        for folded in listing.prefixes {
            let Some(directory) = path_of(&folded) else {
                continue;
            };
            match workspace.directory(&directory) {
                Ok(_) => drop(self.directories.insert(directory, ())),
                Err(_) => self.problems.push((directory, unseen(workspace, folded))),
            }
        }
        for entry in listing.entries {
            match workspace.see(mount, &entry.key) {
                // An earlier part of the workspace hides it.
                Some(located) if self.files.contains_key(&located.path) => {}
                Some(located) => {
                    let file = file(located, entry);
                    self.files.insert(file.path.clone(), file);
                }
                None => {
                    let path = path_of(&entry.key).unwrap_or_default();
                    self.problems.push((path, unseen(workspace, entry.key)));
                }
            }
        }
        for skipped in listing.skipped {
            let path = path_of(&skipped.key).unwrap_or_default();
            let problem = Problem::new(ProblemKind::Skipped, skipped.key, skipped.cause);
            self.problems.push((path, problem));
        }
    }

    fn answer(self, store: &Metered<'_>) -> ListAnswer {
        let horizon = self.horizon;
        let within = |path: &String| horizon.as_ref().is_none_or(|horizon| path <= horizon);
        ListAnswer {
            files: self
                .files
                .into_values()
                .filter(|file| within(&file.path))
                .collect(),
            directories: self.directories.into_keys().filter(within).collect(),
            problems: self
                .problems
                .into_iter()
                .filter_map(|(path, problem)| within(&path).then_some(problem))
                .collect(),
            continue_from: horizon.clone(),
            cost: store.cost(),
        }
    }
}

/// That a key in a mount is not shown.
pub fn unseen(workspace: &dyn Workspace, key: String) -> Problem {
    Problem::new(ProblemKind::Skipped, key, workspace.unseen())
}

pub fn file(located: Located, entry: Entry) -> File {
    File {
        path: located.path,
        key: entry.key,
        size_bytes: entry.size_bytes,
        modified_ms: entry.modified_ms,
        version: entry.version,
        writable: located.writable,
    }
}

pub fn read(
    store: &Metered<'_>,
    workspace: &dyn Workspace,
    path: &str,
    start_bytes: u64,
) -> Result<ReadAnswer> {
    let located = workspace.locate(path)?;
    let get = |key: &String| {
        Request::Get(GetRequest {
            key: key.clone(),
            range: Range::Span {
                start_bytes,
                length_bytes: WORKSPACE_FILE_BYTES_MAX,
            },
            kind: BodyKind::Text,
        })
    };
    let mut keys = vec![located.key.clone()];
    keys.extend(located.fallback.clone());
    let answers = store.read(keys.iter().map(get).collect())?;
    for (key, answer) in keys.into_iter().zip(answers) {
        if let Answer::Blob(Some(blob)) = answer.map_err(|error| error.about(&key))? {
            let writable = located.writable && key == located.key;
            return shown(store, located.path, key, writable, start_bytes, blob);
        }
    }
    Err(Error::not_found(format!("{} is not there", located.path)).at(located.key))
}

fn shown(
    store: &Metered<'_>,
    path: String,
    key: String,
    writable: bool,
    start_bytes: u64,
    blob: Blob,
) -> Result<ReadAnswer> {
    let size_bytes = blob.stat.size_bytes;
    let mut version = blob.stat.version;
    let mut bytes = blob.body.into_bytes();
    if bytes.contains(&0) {
        return Err(Error::invalid(format!(
            "{path} is binary ({size_bytes} bytes); this call reads text"
        ))
        .at(key));
    }
    let end = start_bytes.saturating_add(bytes.len() as u64);
    let mut next_bytes = None;
    if end < size_bytes {
        back_to_character(&mut bytes);
        next_bytes = Some(start_bytes + bytes.len() as u64);
    }
    if version.is_empty() {
        // A store that appends may give ranges without one.
        let wave = vec![Request::Head(key.clone())];
        if let Some(Ok(Answer::Head(Some(stat)))) = store.read(wave)?.into_iter().next() {
            version = stat.version;
        }
    }
    let decoded = decode(bytes);
    let mut problems = Vec::new();
    if let Some((offset, line)) = decoded.damage {
        let message = format!(
            "is not UTF-8 at byte {}; what cannot be read is shown as U+FFFD",
            start_bytes + offset as u64
        );
        let problem = Problem::new(ProblemKind::Repaired, &key, message);
        problems.push(match start_bytes {
            0 => problem.on_line(line),
            _ => problem,
        });
    }
    Ok(ReadAnswer {
        path,
        key,
        version,
        text: decoded.text,
        size_bytes,
        writable,
        next_bytes,
        problems,
        cost: store.cost(),
    })
}
