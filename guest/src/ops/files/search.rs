//! Finding files by name, and lines by content.

use std::borrow::Cow;

use regex_lite::{Regex, RegexBuilder};

use super::walk::{Place, Walk};
use super::{File, GlobAnswer, GrepAnswer, GrepRequest, Match, Workspace};
use crate::format::text::back_to_character;
use crate::limits::{
    FILES_GLOB_MAX, FILES_GREP_BYTES_MAX, FILES_GREP_MATCHES_MAX, FILES_LINE_CHARACTERS_MAX,
    FILES_PATTERN_BYTES_MAX, FILES_PATTERN_PROGRAM_BYTES_MAX, WAVE_BYTES_MAX, WAVE_REQUESTS_MAX,
    WORKSPACE_FILE_BYTES_MAX,
};
use crate::store::{Answer, BodyKind, GetRequest, Metered, Range, Request};
use crate::types::{Error, Problem, ProblemKind, Result};

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
