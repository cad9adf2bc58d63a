//! MEMORY.md: made where it is missing, written whole, promoted to.

use super::super::text::{CONTENT_TYPE, near_limit};
use super::super::{ChangeAnswer, PromoteRequest, WriteRequest};
use super::secrets;
use crate::format::text::trim;
use crate::layout::hi_boss::{AgentName, Date, Place};
use crate::limits::PROMOTED_LINES_MAX;
use crate::protocol::document::{Change, Current, Edited, Expected, edit, replace};
use crate::protocol::request::{Remembered, RequestId};
use crate::store::{Answer, Blob, BodyKind, GetRequest, Metered, Range, Request, Store};
use crate::transform::secrets::{Secret, of_line};
use crate::transform::{memory_lines, memory_section};
use crate::types::{Error, ErrorCode, Home, Problem, ProblemKind, Result};

/// Make MEMORY.md where there is none: of a legacy note, else empty.
pub fn ensure(store: &dyn Store, home: &Home, request_id: &str) -> Result<ChangeAnswer> {
    let store = Metered::new(store);
    let agent = AgentName::parse(&home.id)?;
    let id = RequestId::parse(request_id)?;
    let key = key_of(&agent);
    let note_key = Place::LegacyNote { agent }.key();
    let get = Request::Get(whole(&note_key));
    let mut answers = store
        .read(vec![Request::Head(key.clone()), get])?
        .into_iter();
    let mut next = |about: &str| match answers.next() {
        Some(answer) => answer.map_err(|error| error.about(about)),
        None => Err(Error::new(ErrorCode::Other, "the store gave no answer")),
    };
    let there = next(&key)?;
    let note = match next(&note_key)? {
        Answer::Blob(note) => note,
        _ => None,
    };
    if let (Answer::Head(Some(stat)), None) = (&there, &note) {
        let remembered = Remembered::from_metadata(&stat.metadata);
        let repeat = remembered.is_some_and(|remembered| remembered.contains(&id));
        return Ok(ChangeAnswer {
            version: stat.version.clone(),
            changed: repeat,
            repeat,
            size_bytes: stat.size_bytes,
            problems: near_limit(&key, stat.size_bytes),
            key,
            cost: store.cost(),
        });
    }
    let made = note.as_ref().map_or(&[][..], |note| note.body.as_bytes());
    let edited = edit(&store, &key, &id, CONTENT_TYPE, |current: Current<'_>| {
        Ok(match current.body {
            Some(_) => Change::Nothing,
            None => Change::Write(made.to_vec()),
        })
    })?;
    let mut problems = Vec::new();
    if let Some(note) = &note {
        problems.extend(let_note_go(&store, &key, &note_key, note)?);
    }
    answer(&store, key, edited, problems)
}

/// Delete the note where MEMORY.md says the same by now, and say what became of it.
fn let_note_go(
    store: &Metered<'_>,
    key: &str,
    note_key: &str,
    note: &Blob,
) -> Result<Option<Problem>> {
    // Its version once more, because there is no conditional delete.
    let wave = vec![Request::Get(whole(key)), Request::Head(note_key.to_owned())];
    let mut answers = store.read(wave)?.into_iter();
    let body = match answers.next() {
        Some(Ok(Answer::Blob(Some(blob)))) => Some(blob.body.into_bytes()),
        Some(Err(error)) => return Err(error.about(key)),
        _ => None,
    };
    let version = match answers.next() {
        Some(Ok(Answer::Head(stat))) => stat.map(|stat| stat.version),
        Some(Err(error)) => return Err(error.about(note_key)),
        _ => None,
    };
    let Some(version) = version else {
        // Somebody else was quicker.
        return Ok(None);
    };
    if body.as_deref() != Some(note.body.as_bytes()) || version != note.stat.version {
        let message = format!(
            "is the legacy name of {key}, which says something else: both are kept; move what is still wanted, \
             then remove it"
        );
        return Ok(Some(Problem::new(ProblemKind::Skipped, note_key, message)));
    }
    for answer in store.delete(vec![note_key.to_owned()])? {
        answer.map_err(|error| error.about(note_key))?;
    }
    let message = format!("was the legacy name, and is {key} now");
    Ok(Some(Problem::new(ProblemKind::Repaired, note_key, message)))
}

/// Write it whole, in the place of the version that was read.
pub fn write(store: &dyn Store, request: &WriteRequest) -> Result<ChangeAnswer> {
    let store = Metered::new(store);
    let agent = AgentName::parse(&request.home.id)?;
    let id = RequestId::parse(&request.request_id)?;
    secrets::check(&request.text, request.allow_secrets)?;
    let key = key_of(&agent);
    let expected = match &request.version {
        Some(version) => Expected::Version(version.clone()),
        None => Expected::Absent,
    };
    let body = request.text.as_bytes();
    let edited = replace(&store, &key, &id, CONTENT_TYPE, &expected, body)?;
    answer(&store, key, edited, Vec::new())
}

/// Append lines of a day's file to it, byte for byte.
pub fn promote(store: &dyn Store, request: &PromoteRequest) -> Result<ChangeAnswer> {
    let store = Metered::new(store);
    let agent = AgentName::parse(&request.home.id)?;
    let id = RequestId::parse(&request.request_id)?;
    let date = Date::parse(&request.date)?;
    if request.lines.is_empty() || request.lines.len() > PROMOTED_LINES_MAX {
        return Err(Error::invalid(format!(
            "{} lines are named; name 1 to {PROMOTED_LINES_MAX}, by their numbers from 1",
            request.lines.len()
        )));
    }
    let key = key_of(&agent);
    let day_key = Place::DailyMemory { agent, date }.key();
    // Read only where this is no repeat: the day may be pruned by then.
    let mut promoted: Option<Vec<u8>> = None;
    let edited = edit(&store, &key, &id, CONTENT_TYPE, |current: Current<'_>| {
        let lines = match &promoted {
            Some(lines) => lines,
            None => promoted.insert(lines_of_day(&store, &day_key, request)?),
        };
        let file = current.body.unwrap_or_default();
        let there = std::str::from_utf8(lines).is_ok_and(|text| memory_section::holds(file, text));
        if !current.knows_requests && there {
            return Ok(Change::Nothing);
        }
        Ok(Change::Write(memory_lines::append(file, lines)))
    })?;
    answer(&store, key, edited, Vec::new())
}

/// The lines that a promotion names, each with a line end.
fn lines_of_day(store: &Metered<'_>, key: &str, request: &PromoteRequest) -> Result<Vec<u8>> {
    let Some(blob) = store.get(whole(key))? else {
        let message = format!("there is no {key}: nothing was remembered on that day");
        return Err(Error::not_found(message).at(key));
    };
    if request
        .version
        .as_ref()
        .is_some_and(|version| *version != blob.stat.version)
    {
        let message = format!("{key} was changed since its lines were counted; count them again");
        let mut error = Error::new(ErrorCode::Conflict, message).at(key);
        error.current = Some(blob.stat.version);
        return Err(error);
    }
    let all: Vec<&[u8]> = memory_lines::lines(blob.body.as_bytes()).collect();
    let mut lines = Vec::new();
    let mut found = Vec::new();
    for number in &request.lines {
        let index = usize::try_from(*number)
            .unwrap_or(usize::MAX)
            .checked_sub(1);
        let Some(line) = index.and_then(|index| all.get(index)) else {
            let message = format!("{key} has {} lines, and no line {number}", all.len());
            return Err(Error::invalid(message).at(key));
        };
        let text = String::from_utf8_lossy(line);
        if trim(&text).is_empty() {
            let message = format!("line {number} of {key} is blank: there is nothing to promote");
            return Err(Error::invalid(message).at(key));
        }
        let secret = of_line(&text).filter(|_| !request.allow_secrets);
        found.extend(secret.map(|what| Secret {
            line: *number,
            what,
        }));
        lines.extend_from_slice(line);
        lines.push(b'\n');
    }
    secrets::refuse(&found).map_err(|error| error.at(key))?;
    Ok(lines)
}

fn answer(
    store: &Metered<'_>,
    key: String,
    edited: Edited,
    mut problems: Vec<Problem>,
) -> Result<ChangeAnswer> {
    let size_bytes = store.head(&key)?.map_or(0, |stat| stat.size_bytes);
    problems.extend(near_limit(&key, size_bytes));
    Ok(ChangeAnswer {
        version: edited.version.unwrap_or_default(),
        changed: edited.changed,
        repeat: edited.repeat,
        size_bytes,
        problems,
        key,
        cost: store.cost(),
    })
}

fn key_of(agent: &AgentName) -> String {
    let agent = agent.clone();
    Place::LongTermMemory { agent }.key()
}

fn whole(key: &str) -> GetRequest {
    GetRequest {
        key: key.to_owned(),
        range: Range::Whole,
        kind: BodyKind::Text,
    }
}
