//! A walk through the files of a workspace that fit a glob: page after page, bounded, and continued where a
//! call ended. Knows nothing of their content.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::read::{file, listings, unseen};
use super::{File, Mount, Workspace};
use crate::layout::field::{Field, PathTail};
use crate::limits::{FILES_LIST_PAGES_MAX, WAVE_REQUESTS_MAX};
use crate::store::{Answer, ListRequest, Metered, Request};
use crate::transform::glob::Glob;
use crate::types::{Error, Problem, ProblemKind, Result};

/// Where a walk through a workspace stands; callers hand it back unread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Which part of the workspace.
    mount: usize,
    /// The last key that is done with; empty at the beginning.
    pub after: String,
    /// A file after that of which some matches were given, and its last line that was.
    #[serde(default)]
    pub within: Option<(String, u32)>,
}

impl Place {
    fn parse(text: Option<&str>) -> Result<Self> {
        let Some(text) = text else {
            return Ok(Self::default());
        };
        serde_json::from_str(text).map_err(|_| {
            Error::invalid(
                "continue-from is not one that this call gave: leave it out to begin anew",
            )
        })
    }

    fn next_mount(&self) -> Self {
        Self {
            mount: self.mount + 1,
            ..Self::default()
        }
    }

    fn to_text(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

/// Files of a workspace in order of parts and keys, as far as a call goes.
pub struct Walk<'a> {
    store: &'a Metered<'a>,
    workspace: &'a dyn Workspace,
    glob: Option<Glob>,
    /// Everything that fits lies below this path; nothing else is listed.
    directory: String,
    pub place: Place,
    pages_left: usize,
    pub problems: Vec<Problem>,
}

impl Walk<'_> {
    pub fn new<'a>(
        store: &'a Metered<'a>,
        workspace: &'a dyn Workspace,
        glob: Option<&str>,
        continue_from: Option<&str>,
    ) -> Result<Walk<'a>> {
        let pattern = glob.map(|glob| workspace.pattern(glob));
        Ok(Walk {
            store,
            workspace,
            glob: pattern.as_deref().map(Glob::parse).transpose()?,
            directory: directory_of(workspace.root(), pattern.as_deref().unwrap_or_default()),
            place: Place::parse(continue_from)?,
            pages_left: FILES_LIST_PAGES_MAX,
            problems: Vec::new(),
        })
    }

    /// Where the next call goes on; none at the end of the workspace.
    pub fn rest(&self, place: &Place) -> Option<String> {
        let ended = place.mount >= self.workspace.mounts().len();
        (!ended).then(|| place.to_text()).flatten()
    }

    /// The files of the next page, of at most `limit` keys, that fit, none hidden; none at the end of the
    /// workspace or of the pages that a call may read.
    pub fn next_files(&mut self, limit: Option<u32>) -> Result<Option<Vec<File>>> {
        let mounts = self.workspace.mounts();
        let Some(mount) = mounts.get(self.place.mount) else {
            return Ok(None);
        };
        let Some(prefix) = prefix_in(mount, &self.directory) else {
            self.place = self.place.next_mount();
            return Ok(Some(Vec::new()));
        };
        let Some(pages_left) = self.pages_left.checked_sub(1) else {
            return Ok(None);
        };
        self.pages_left = pages_left;
        let request = ListRequest {
            prefix,
            start_after: Some(self.place.after.clone()).filter(|after| !after.is_empty()),
            limit,
            ..ListRequest::default()
        };
        let mut answers = listings(self.store, vec![request])?;
        let listing = answers.pop().unwrap_or_default();
        let last = listing.last_key().cloned();
        let mut files = Vec::new();
        for entry in listing.entries {
            match self.workspace.see(mount, &entry.key) {
                Some(located) if self.fits(&located.path) => files.push(file(located, entry)),
                Some(_) => {}
                None => {
                    if path_in(mount, &entry.key).is_some_and(|path| self.fits(&path)) {
                        self.problems.push(unseen(self.workspace, entry.key));
                    }
                }
            }
        }
        for skipped in listing.skipped {
            let problem = Problem::new(ProblemKind::Skipped, skipped.key, skipped.cause);
            self.problems.push(problem);
        }
        if mount.behind {
            self.without_hidden(&mut files)?;
        }
        match last.filter(|_| listing.cursor.is_some()) {
            Some(last) => self.place.after = last,
            None => self.place = self.place.next_mount(),
        }
        Ok(Some(files))
    }

    fn fits(&self, path: &str) -> bool {
        let glob = self.glob.as_ref();
        glob.is_none_or(|glob| glob.matches(path))
    }

    /// Leave out files whose path leads to an earlier part of the workspace.
    fn without_hidden(&mut self, files: &mut Vec<File>) -> Result<()> {
        let mut keys = Vec::new();
        // A path that is too long to be the agent's own hides nothing.
        files.retain(|file| match self.workspace.locate(&file.path) {
            Ok(located) => {
                keys.push(located.key);
                true
            }
            Err(error) => {
                let problem = Problem::new(ProblemKind::Skipped, &file.key, error.message);
                self.problems.push(problem);
                false
            }
        });
        let mut hidden = BTreeSet::new();
        for (file, part) in files
            .chunks(WAVE_REQUESTS_MAX)
            .zip(keys.chunks(WAVE_REQUESTS_MAX))
        {
            let heads = part.iter().map(|key| Request::Head(key.clone())).collect();
            for ((file, key), answer) in file.iter().zip(part).zip(self.store.read(heads)?) {
                match answer {
                    Ok(Answer::Head(Some(_))) => {
                        hidden.insert(file.path.clone());
                    }
                    Ok(_) => {}
                    // Something lies there that cannot be read, a link perhaps: it still hides the file.
                    Err(error) => {
                        hidden.insert(file.path.clone());
                        let problem = Problem::new(ProblemKind::Unreadable, key, error.message);
                        self.problems.push(problem);
                    }
                }
            }
        }
        files.retain(|file| !hidden.contains(&file.path));
        Ok(())
    }
}

/// Where everything that fits lies; the root where the pattern says so of no path inside the workspace.
fn directory_of(root: &str, pattern: &str) -> String {
    let directory = Glob::directory_of(pattern);
    let is_path = |path: &str| PathTail::from_value(path).is_ok();
    let inside = directory.strip_prefix(root);
    let inside = inside.and_then(|inside| inside.strip_suffix('/'));
    match inside.is_some_and(is_path) {
        true => directory.to_owned(),
        false => root.to_owned(),
    }
}

/// What the keys below a directory begin with in a part of the workspace; none where it has nothing there.
fn prefix_in(mount: &Mount, directory: &str) -> Option<String> {
    match directory.strip_prefix(&mount.path) {
        Some(rest) => Some(format!("{}{rest}", mount.prefix)),
        None => mount
            .path
            .starts_with(directory)
            .then(|| mount.prefix.clone()),
    }
}

/// The path of a key in a part of the workspace, whoever may see it.
fn path_in(mount: &Mount, key: &str) -> Option<String> {
    let rest = key.strip_prefix(&mount.prefix)?;
    Some(format!("{}{rest}", mount.path))
}
