//! Finding files by name, and lines by content: in list pages and waves, bounded, and continued where a
//! call ended.

use std::borrow::Cow;
use std::collections::BTreeSet;

use regex_lite::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::read::{file, last_key, listings, not_for_this_session};
use super::{File, GlobAnswer, GrepAnswer, GrepRequest, Match, Mount, Workspace};
use crate::format::text::back_to_character;
use crate::limits::{
    FILES_GLOB_MAX, FILES_GREP_BYTES_MAX, FILES_GREP_MATCHES_MAX, FILES_LINE_CHARACTERS_MAX,
    FILES_LIST_PAGES_MAX, FILES_PATTERN_BYTES_MAX, FILES_PATTERN_PROGRAM_BYTES_MAX, WAVE_BYTES_MAX,
    WAVE_REQUESTS_MAX, WORKSPACE_FILE_BYTES_MAX,
};
use crate::store::{Answer, BodyKind, GetRequest, ListRequest, Metered, Range, Request};
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
    fn new<'a>(
        store: &'a Metered<'a>,
        workspace: &'a dyn Workspace,
        glob: Option<&str>,
        continue_from: Option<&str>,
    ) -> Result<Walk<'a>> {
        let pattern = glob.map(|glob| glob.strip_prefix("./").unwrap_or(glob));
        Ok(Walk {
            store,
            workspace,
            glob: pattern.map(Glob::parse).transpose()?,
            place: Place::parse(continue_from)?,
            pages_left: FILES_LIST_PAGES_MAX,
            problems: Vec::new(),
        })
    }

    /// Where the next call goes on; none at the end of the workspace.
    fn rest(&self, place: &Place) -> Option<String> {
        let ended = place.mount >= self.workspace.mounts().len();
        (!ended).then(|| place.to_text()).flatten()
    }

    /// The files of the next page, of at most `limit` keys, that fit, none hidden; none at the end of the
    /// workspace or of the pages that a call may read.
    fn next_files(&mut self, limit: Option<u32>) -> Result<Option<Vec<File>>> {
        let mounts = self.workspace.mounts();
        let mount = mounts.get(self.place.mount);
        let (Some(mount), Some(pages_left)) = (mount, self.pages_left.checked_sub(1)) else {
            return Ok(None);
        };
        self.pages_left = pages_left;
        let request = ListRequest {
            prefix: mount.prefix.clone(),
            start_after: Some(self.place.after.clone()).filter(|after| !after.is_empty()),
            limit,
            ..ListRequest::default()
        };
        let mut answers = listings(self.store, vec![request])?;
        let listing = answers.pop().unwrap_or_default();
        let last = last_key(&listing).cloned();
        let mut files = Vec::new();
        for entry in listing.entries {
            match self.workspace.see(&entry.key) {
                Some(located) if self.fits(&located.path) => files.push(file(located, entry)),
                Some(_) => {}
                None => {
                    if path_in(mount, &entry.key).is_some_and(|path| self.fits(&path)) {
                        self.problems.push(not_for_this_session(entry.key));
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
            None => {
                self.place.mount += 1;
                self.place.after = String::new();
            }
        }
        Ok(Some(files))
    }

    fn fits(&self, path: &str) -> bool {
        let glob = self.glob.as_ref();
        glob.is_none_or(|glob| glob.matches(path))
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

/// The path of a key in a part of the workspace, whoever may see it.
fn path_in(mount: &Mount, key: &str) -> Option<String> {
    let rest = key.strip_prefix(&mount.prefix)?;
    Some(format!("{}{rest}", mount.path))
}

pub fn glob(
    store: &Metered<'_>,
    workspace: &dyn Workspace,
    pattern: &str,
    continue_from: Option<String>,
) -> Result<GlobAnswer> {
    let mut walk = Walk::new(store, workspace, Some(pattern), continue_from.as_deref())?;
    let mut found = Vec::new();
    // No page is larger than what there is room for, so that none is cut.
    while let Some(room) = FILES_GLOB_MAX.checked_sub(found.len()).filter(|r| *r > 0) {
        let Some(files) = walk.next_files(u32::try_from(room).ok())? else {
            break;
        };
        found.extend(files);
    }
    Ok(GlobAnswer {
        files: found,
        continue_from: walk.rest(&walk.place),
        problems: walk.problems,
        cost: store.cost(),
    })
}

pub fn grep(
    store: &Metered<'_>,
    workspace: &dyn Workspace,
    request: &GrepRequest,
) -> Result<GrepAnswer> {
    let regex = expression(&request.pattern, request.ignore_case)?;
    let continue_from = request.continue_from.as_deref();
    let mut walk = Walk::new(store, workspace, request.glob.as_deref(), continue_from)?;
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
    while stopped.is_none() {
        let before = walk.place.clone();
        let Some(files) = walk.next_files(None)? else {
            break;
        };
        stopped = search.files(store, &before, files)?;
    }
    let continue_from = walk.rest(stopped.as_ref().unwrap_or(&walk.place));
    let mut problems = walk.problems;
    problems.append(&mut search.problems);
    if search.binary > 0 {
        let message = format!("binary files that were not searched: {}", search.binary);
        problems.push(Problem::new(ProblemKind::Skipped, "", message));
    }
    Ok(GrepAnswer {
        matches: search.matches,
        files: search.files,
        problems,
        continue_from,
        cost: store.cost(),
    })
}

fn expression(pattern: &str, ignore_case: bool) -> Result<Regex> {
    if pattern.is_empty() || pattern.len() > FILES_PATTERN_BYTES_MAX {
        return Err(Error::invalid(format!(
            "the pattern has {} bytes; it must have 1 to {FILES_PATTERN_BYTES_MAX}",
            pattern.len()
        )));
    }
    RegexBuilder::new(pattern)
        .case_insensitive(ignore_case)
        .size_limit(FILES_PATTERN_PROGRAM_BYTES_MAX)
        .build()
        .map_err(|error| {
            let message = format!("the pattern {pattern:?} is no regular expression: {error}");
            Error::invalid(message)
        })
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
                        let mut bytes = blob.body.into_bytes();
                        if file.size_bytes > bytes.len() as u64 {
                            back_to_character(&mut bytes);
                        }
                        if let Some(line) = self.file(file, &bytes) {
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
        self.files += 1;
        if file.size_bytes > bytes.len() as u64 {
            let message = format!(
                "is {} bytes long; its first {} were searched",
                file.size_bytes,
                bytes.len()
            );
            let problem = Problem::new(ProblemKind::Truncated, &file.key, message);
            self.problems.push(problem);
        }
        let (mut offset_bytes, mut last_given, mut damaged) = (0, skip, false);
        for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            let text = String::from_utf8_lossy(line);
            if matches!(text, Cow::Owned(_)) && !damaged {
                damaged = true;
                let message = "is not UTF-8; what cannot be read is searched as U+FFFD";
                let problem = Problem::new(ProblemKind::Repaired, &file.key, message);
                self.problems.push(problem.on_line(number));
            }
            let text = text.trim_end_matches(['\n', '\r']);
            // A byte order mark is before the first line, not in it.
            let text = text
                .strip_prefix('\u{feff}')
                .filter(|_| number == 1)
                .unwrap_or(text);
            if number > skip && self.regex.is_match(text) {
                if self.matches.len() == FILES_GREP_MATCHES_MAX {
                    return Some(last_given);
                }
                self.matches.push(Match {
                    path: file.path.clone(),
                    line: number,
                    offset_bytes,
                    text: shortened(text),
                });
                last_given = number;
            }
            offset_bytes += line.len() as u64;
        }
        None
    }
}

/// A line as an answer holds it.
fn shortened(line: &str) -> String {
    match line.char_indices().nth(FILES_LINE_CHARACTERS_MAX) {
        None => line.to_owned(),
        Some((end, _)) => {
            let (kept, rest) = line.split_at_checked(end).unwrap_or((line, ""));
            format!("{kept}… [{} more characters]", rest.chars().count())
        }
    }
}

fn read_bytes(file: &File) -> u64 {
    file.size_bytes.min(WORKSPACE_FILE_BYTES_MAX)
}
