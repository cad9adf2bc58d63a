//! Finding files by name, and lines by content: in list pages and waves, bounded, and continued where a
//! call ended.

use std::collections::BTreeSet;

use regex_lite::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::read::file;
use super::{File, GlobAnswer, GrepAnswer, GrepRequest, Match, Workspace};
use crate::limits::{
    FILES_GLOB_MAX, FILES_GREP_BYTES_MAX, FILES_GREP_MATCHES_MAX, FILES_LINE_CHARACTERS_MAX,
    FILES_LIST_PAGES_MAX, FILES_PATTERN_BYTES_MAX, WAVE_BYTES_MAX, WAVE_REQUESTS_MAX,
    WORKSPACE_FILE_BYTES_MAX,
};
use crate::store::{Answer, BodyKind, GetRequest, ListRequest, Listing, Metered, Range, Request};
use crate::transform::glob::Glob;
use crate::types::{Error, Problem, ProblemKind, Result};

/// Where a walk through a workspace stands; callers hand it back unread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    /// Which part of the workspace.
    mount: usize,
    /// The last key that is done with; empty at the beginning.
    after: String,
    /// A file after that of which some matches were given, and its last line that was.
    #[serde(default)]
    within: Option<(String, u32)>,
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

    fn to_text(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

/// Files of a workspace in order of parts and keys, as far as a call goes.
struct Walk<'a> {
    store: &'a Metered<'a>,
    workspace: &'a dyn Workspace,
    glob: Option<Glob>,
    place: Place,
    pages_left: usize,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    /// The next page's files that fit, none hidden; none at the end. Whether the walk is at its end of
    /// pages for this call is in `pages_left`.
    fn next_files(&mut self) -> Result<Option<Vec<File>>> {
        let mounts = self.workspace.mounts();
        let Some(mount) = mounts.get(self.place.mount) else {
            return Ok(None);
        };
        self.pages_left = self.pages_left.saturating_sub(1);
        let request = Request::List(ListRequest {
            prefix: mount.prefix.clone(),
            start_after: Some(self.place.after.clone()).filter(|after| !after.is_empty()),
            ..ListRequest::default()
        });
        let listing = match self.store.read(vec![request])?.into_iter().next() {
            Some(Ok(Answer::Listing(listing))) => listing,
            Some(Err(error)) => return Err(error.about(&mount.prefix)),
            _ => Listing::default(),
        };
        let mut files = Vec::new();
        let last = listing.entries.last().map(|entry| entry.key.clone());
        for entry in listing.entries {
            match self.workspace.see(&entry.key) {
                Some(located) => {
                    let fits = self.glob.as_ref().is_none_or(|g| g.matches(&located.path));
                    if fits {
                        files.push(file(located, entry));
                    }
                }
                None => self.problems.push(Problem::new(
                    ProblemKind::Skipped,
                    entry.key,
                    "is not for this session to see",
                )),
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
            None => {
                self.place.mount += 1;
                self.place.after = String::new();
            }
        }
        Ok(Some(files))
    }

    /// Leave out files whose path leads to an earlier part of the workspace.
    fn without_hidden(&self, files: &mut Vec<File>) -> Result<()> {
        let mut keys = Vec::new();
        for file in files.iter() {
            keys.push(self.workspace.locate(&file.path)?.key);
        }
        let mut hidden = BTreeSet::new();
        for (file, part) in files
            .chunks(WAVE_REQUESTS_MAX)
            .zip(keys.chunks(WAVE_REQUESTS_MAX))
        {
            let heads = part.iter().map(|key| Request::Head(key.clone())).collect();
            for ((file, key), answer) in file.iter().zip(part).zip(self.store.read(heads)?) {
                let there = answer.map_err(|error| error.about(key))?;
                if matches!(there, Answer::Head(Some(_))) {
                    hidden.insert(file.path.clone());
                }
            }
        }
        files.retain(|file| !hidden.contains(&file.path));
        Ok(())
    }
}

pub fn glob(
    store: &Metered<'_>,
    workspace: &dyn Workspace,
    pattern: &str,
    continue_from: Option<String>,
) -> Result<GlobAnswer> {
    let mut walk = Walk {
        store,
        workspace,
        glob: Some(Glob::parse(pattern.strip_prefix("./").unwrap_or(pattern))?),
        place: Place::parse(continue_from.as_deref())?,
        pages_left: FILES_LIST_PAGES_MAX,
        problems: Vec::new(),
    };
    let mut found = Vec::new();
    let mut ended = false;
    // A page has at most as many files as a call gives, so that no page is cut.
    while walk.pages_left > 0 && found.is_empty() && !ended {
        let mut more = true;
        while more && walk.pages_left > 0 && found.len() < FILES_GLOB_MAX {
            let before = walk.place.clone();
            match walk.next_files()? {
                Some(files) if found.len() + files.len() > FILES_GLOB_MAX => {
                    walk.place = before;
                    more = false;
                }
                Some(files) => found.extend(files),
                None => {
                    ended = true;
                    more = false;
                }
            }
        }
    }
    Ok(GlobAnswer {
        files: found,
        problems: walk.problems,
        continue_from: (!ended).then(|| walk.place.to_text()).flatten(),
        cost: store.cost(),
    })
}

pub fn grep(
    store: &Metered<'_>,
    workspace: &dyn Workspace,
    request: &GrepRequest,
) -> Result<GrepAnswer> {
    let regex = expression(&request.pattern, request.ignore_case)?;
    let glob = request.glob.as_deref().map(Glob::parse).transpose()?;
    let mut walk = Walk {
        store,
        workspace,
        glob,
        place: Place::parse(request.continue_from.as_deref())?,
        pages_left: FILES_LIST_PAGES_MAX,
        problems: Vec::new(),
    };
    let mut search = Search {
        regex,
        within: walk.place.within.take(),
        bytes_left: FILES_GREP_BYTES_MAX,
        matches: Vec::new(),
        files: 0,
        binary: 0,
        problems: Vec::new(),
    };
    let mut stopped = None;
    let mut ended = false;
    while stopped.is_none() && walk.pages_left > 0 {
        let before = walk.place.clone();
        match walk.next_files()? {
            Some(files) => stopped = search.files(store, &before, files)?,
            None => {
                ended = true;
                break;
            }
        }
    }
    let place = stopped.unwrap_or_else(|| walk.place.clone());
    let mut problems = walk.problems;
    problems.append(&mut search.problems);
    if search.binary > 0 {
        let message = format!("{} binary files were not searched", search.binary);
        problems.push(Problem::new(ProblemKind::Skipped, "", message));
    }
    Ok(GrepAnswer {
        matches: search.matches,
        files: search.files,
        problems,
        continue_from: (!ended).then(|| place.to_text()).flatten(),
        cost: store.cost(),
    })
}

fn expression(pattern: &str, ignore_case: bool) -> Result<Regex> {
    let refuse = |what: &str| Error::invalid(format!("the pattern {pattern:?} {what}"));
    if pattern.is_empty() || pattern.len() > FILES_PATTERN_BYTES_MAX {
        return Err(refuse(&format!(
            "has not 1 to {FILES_PATTERN_BYTES_MAX} bytes"
        )));
    }
    RegexBuilder::new(pattern)
        .case_insensitive(ignore_case)
        .build()
        .map_err(|error| refuse(&format!("is no regular expression: {error}")))
}

struct Search {
    regex: Regex,
    within: Option<(String, u32)>,
    bytes_left: u64,
    matches: Vec<Match>,
    files: u32,
    binary: u32,
    problems: Vec<Problem>,
}

impl Search {
    /// Search files in waves. Answers where to go on when the call has had enough.
    fn files(
        &mut self,
        store: &Metered<'_>,
        before: &Place,
        files: Vec<File>,
    ) -> Result<Option<Place>> {
        let mut place = before.clone();
        let mut files = files.into_iter().peekable();
        while files.peek().is_some() {
            let (mut wave, mut bytes) = (Vec::new(), 0);
            while let Some(file) = files.next_if(|file| {
                wave.is_empty()
                    || (wave.len() < WAVE_REQUESTS_MAX
                        && bytes + read_bytes(file) <= WAVE_BYTES_MAX)
            }) {
                bytes += read_bytes(&file);
                wave.push(file);
            }
            if bytes > self.bytes_left {
                return Ok(Some(place));
            }
            self.bytes_left -= bytes;
            let gets = wave.iter().map(|file| {
                Request::Get(GetRequest {
                    key: file.key.clone(),
                    range: Range::Span {
                        start_bytes: 0,
                        length_bytes: read_bytes(file),
                    },
                    kind: BodyKind::Binary,
                })
            });
            let answers = store.read(gets.collect())?;
            for (file, answer) in wave.into_iter().zip(answers) {
                let key = file.key.clone();
                match answer {
                    Ok(Answer::Blob(Some(blob))) => {
                        if let Some(line) = self.file(file, &blob.body.into_bytes()) {
                            place.within = Some((key, line));
                            return Ok(Some(place));
                        }
                    }
                    Ok(_) => {}
                    Err(error) => {
                        let problem = Problem::new(ProblemKind::Unreadable, &key, error.message);
                        self.problems.push(problem);
                    }
                }
                place.after = key;
            }
        }
        Ok(None)
    }

    /// Search one file. Answers the last line that was given when there is no room for more.
    fn file(&mut self, file: File, bytes: &[u8]) -> Option<u32> {
        let skip = match self.within.take() {
            Some((key, line)) if key == file.key => line,
            _ => 0,
        };
        if bytes.contains(&0) {
            self.binary += 1;
            return None;
        }
        self.files += u32::from(skip == 0);
        if file.size_bytes > bytes.len() as u64 {
            let message = format!(
                "is {} bytes long; its first {} were searched",
                file.size_bytes,
                bytes.len()
            );
            let problem = Problem::new(ProblemKind::Truncated, &file.key, message);
            self.problems.push(problem);
        }
        let mut offset_bytes = 0;
        let mut last_given = skip;
        for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            let text = String::from_utf8_lossy(line);
            let text = text.trim_end_matches(['\n', '\r']);
            if number > skip && self.regex.is_match(text) {
                if self.matches.len() == FILES_GREP_MATCHES_MAX {
                    return Some(last_given);
                }
                self.matches.push(Match {
                    path: file.path.clone(),
                    line: number,
                    offset_bytes,
                    text: text.chars().take(FILES_LINE_CHARACTERS_MAX).collect(),
                });
                last_given = number;
            }
            offset_bytes += line.len() as u64;
        }
        None
    }
}

fn read_bytes(file: &File) -> u64 {
    file.size_bytes.min(WORKSPACE_FILE_BYTES_MAX)
}
