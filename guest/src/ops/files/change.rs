//! Writing, editing, moving and removing one file of a workspace.

use super::{
    ChangeAnswer, EditRequest, Expected, Located, RemoveRequest, RenameRequest, Workspace,
    WriteRequest,
};
use crate::protocol::document::{self, Change, Current, Edited};
use crate::protocol::request::{Remembered, RequestId};
use crate::store::{Answer, Condition, Metered, PutOptions, Request, Source, Stat, StoreErrorCode};
use crate::types::{Error, ErrorCode, Result};

pub fn write(
    store: &Metered<'_>,
    workspace: &dyn Workspace,
    request: &WriteRequest,
) -> Result<ChangeAnswer> {
    let id = RequestId::parse(&request.request_id)?;
    let located = writable(workspace, &request.path)?;
    let (key, body) = (&located.key, request.text.as_bytes());
    let content_type = content_type(&located.path);
    let expected = match &request.expected {
        Expected::Any => {
            let edited = document::edit(store, key, &id, content_type, |_| {
                Ok(Change::Write(body.to_vec()))
            })?;
            return Ok(answer(store, located, edited));
        }
        Expected::Absent => document::Expected::Absent,
        Expected::Version(version) => document::Expected::Version(version.clone()),
    };
    let edited = document::replace(store, key, &id, content_type, &expected, body)?;
    Ok(answer(store, located, edited))
}

pub fn edit(
    store: &Metered<'_>,
    workspace: &dyn Workspace,
    request: &EditRequest,
) -> Result<ChangeAnswer> {
    let id = RequestId::parse(&request.request_id)?;
    let located = writable(workspace, &request.path)?;
    if request.old.is_empty() {
        return Err(Error::invalid(
            "the old text is empty: name the text to replace, or write the file whole",
        ));
    }
    let path = located.path.clone();
    let edited = document::edit_version(
        store,
        &located.key,
        &id,
        content_type(&path),
        request.version.as_deref(),
        |current: Current<'_>| replaced(&path, current, request).map(Change::Write),
    )?;
    Ok(answer(store, located, edited))
}

/// The file with the old text replaced; bytes elsewhere stay, whatever they are.
fn replaced(path: &str, current: Current<'_>, request: &EditRequest) -> Result<Vec<u8>> {
    let Some(body) = current.body else {
        return Err(Error::not_found(format!(
            "{path} is not there; write it whole"
        )));
    };
    let (old, new) = (request.old.as_bytes(), request.new.as_bytes());
    let places = occurrences(body, old);
    match places.len() {
        0 => {
            return Err(Error::not_found(format!(
                "{path} does not have the old text; read it again: every character counts, line ends too"
            )));
        }
        1 => {}
        _ if request.everywhere => {}
        many => {
            return Err(Error::invalid(format!(
                "{path} has the old text {many} times; give more of its surroundings, or ask for all of them"
            )));
        }
    }
    let mut edited = Vec::with_capacity(body.len());
    let mut from = 0;
    for at in places {
        edited.extend_from_slice(body.get(from..at).unwrap_or_default());
        edited.extend_from_slice(new);
        from = at + old.len();
    }
    edited.extend_from_slice(body.get(from..).unwrap_or_default());
    Ok(edited)
}

/// Offsets of all occurrences that do not overlap.
fn occurrences(body: &[u8], wanted: &[u8]) -> Vec<usize> {
    let (mut found, mut from) = (Vec::new(), 0);
    let Some(first) = wanted.first() else {
        return found;
    };
    while let Some(rest) = body.get(from..) {
        let Some(at) = rest.iter().position(|byte| byte == first) else {
            break;
        };
        if rest.get(at..).is_some_and(|rest| rest.starts_with(wanted)) {
            found.push(from + at);
            from += at + wanted.len();
        } else {
            from += at + 1;
        }
    }
    found
}

pub fn rename(
    store: &Metered<'_>,
    workspace: &dyn Workspace,
    request: &RenameRequest,
) -> Result<ChangeAnswer> {
    let id = RequestId::parse(&request.request_id)?;
    let from = writable(workspace, &request.from)?;
    let to = writable(workspace, &request.to)?;
    if from.key == to.key {
        return Err(Error::invalid(format!(
            "{} cannot be moved to itself",
            from.path
        )));
    }
    let (source, target) = stats(store, &from.key, &to.key)?;
    let done = |target: &Stat| is_of(target, &id);
    let (source, target) = match (source, target) {
        (None, Some(target)) if done(&target) => {
            return Ok(moved(store, to, target.version, true));
        }
        (None, _) => {
            return Err(Error::not_found(format!("{} is not there", from.path)).at(&from.key));
        }
        (Some(_), Some(target)) if !done(&target) => return Err(taken(&to, &target)),
        (Some(source), target) => (source, target),
    };
    let (version, repeat) = match target {
        Some(target) if target.size_bytes == source.size_bytes => (target.version, true),
        // Copied by an earlier call, and the source was changed since.
        Some(_) => return Err(changed_meanwhile(&from, &to, source)),
        None => (copy(store, &from, &to, &source, &id)?, false),
    };
    // What is deleted is what was copied, as far as a look can tell.
    match stat(store, &from.key)? {
        Some(now) if now.version != source.version => {
            return Err(changed_meanwhile(&from, &to, now));
        }
        _ => delete(store, &from.key)?,
    }
    Ok(moved(store, to, version, repeat))
}

/// Copy at the version that was seen, with the request's id in the copy's metadata.
fn copy(
    store: &Metered<'_>,
    from: &Located,
    to: &Located,
    source: &Stat,
    id: &RequestId,
) -> Result<String> {
    let metadata = Remembered::default()
        .with(id)
        .into_metadata(source.metadata.clone());
    let options = PutOptions {
        condition: Condition::IfAbsent,
        content_type: source.content_type.clone(),
        metadata,
    };
    let sources = vec![Source {
        key: from.key.clone(),
        if_match: Some(source.version.clone()),
    }];
    match store.concat(sources, &to.key, options) {
        Ok(version) => Ok(version),
        Err(error)
            if matches!(
                error.code,
                StoreErrorCode::Conflict | StoreErrorCode::OutcomeUnknown
            ) =>
        {
            match stat(store, &to.key)? {
                Some(target) if is_of(&target, id) => Ok(target.version),
                Some(target) => Err(taken(to, &target)),
                None => Err(error.about(&from.key)),
            }
        }
        Err(error) => Err(error.about(&to.key)),
    }
}

pub fn remove(
    store: &Metered<'_>,
    workspace: &dyn Workspace,
    request: &RemoveRequest,
) -> Result<ChangeAnswer> {
    RequestId::parse(&request.request_id)?;
    let located = writable(workspace, &request.path)?;
    let there = stat(store, &located.key)?;
    let changed = there.is_some();
    if let Some(stat) = there {
        if request.version.as_ref().is_some_and(|v| *v != stat.version) {
            let message = format!(
                "{} was changed since it was read; read it again",
                located.path
            );
            let mut error = Error::new(ErrorCode::Conflict, message).at(located.key);
            error.current = Some(stat.version);
            return Err(error);
        }
        delete(store, &located.key)?;
    }
    Ok(ChangeAnswer {
        path: located.path,
        key: located.key,
        version: None,
        changed,
        repeat: false,
        cost: store.cost(),
    })
}

fn writable(workspace: &dyn Workspace, path: &str) -> Result<Located> {
    let located = workspace.locate(path)?;
    if located.writable {
        return Ok(located);
    }
    let message = format!("{} is read-only", located.path);
    Err(Error::new(ErrorCode::Denied, message).at(located.key))
}

/// A guess that no reader depends on; an existing file keeps its own.
fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("md") => "text/markdown; charset=utf-8",
        Some("json") => "application/json",
        _ => "text/plain; charset=utf-8",
    }
}

fn is_of(stat: &Stat, id: &RequestId) -> bool {
    Remembered::from_metadata(&stat.metadata).is_some_and(|ids| ids.contains(id))
}

fn stats(store: &Metered<'_>, a: &str, b: &str) -> Result<(Option<Stat>, Option<Stat>)> {
    let wave = vec![Request::Head(a.to_owned()), Request::Head(b.to_owned())];
    let mut answers = store.read(wave)?.into_iter();
    let mut next = |key: &str| match answers.next() {
        Some(Ok(Answer::Head(stat))) => Ok(stat),
        Some(Err(error)) => Err(error.about(key)),
        _ => Ok(None),
    };
    Ok((next(a)?, next(b)?))
}

fn stat(store: &Metered<'_>, key: &str) -> Result<Option<Stat>> {
    match store
        .read(vec![Request::Head(key.to_owned())])?
        .into_iter()
        .next()
    {
        Some(Ok(Answer::Head(stat))) => Ok(stat),
        Some(Err(error)) => Err(error.about(key)),
        _ => Ok(None),
    }
}

fn delete(store: &Metered<'_>, key: &str) -> Result<()> {
    for answer in store.delete(vec![key.to_owned()])? {
        answer.map_err(|error| error.about(key))?;
    }
    Ok(())
}

fn taken(to: &Located, there: &Stat) -> Error {
    let message = format!("{} is there already; nothing was moved", to.path);
    let mut error = Error::new(ErrorCode::Conflict, message).at(&to.key);
    error.current = Some(there.version.clone());
    error
}

fn changed_meanwhile(from: &Located, to: &Located, now: Stat) -> Error {
    let message = format!(
        "{} was changed after it was copied to {}; both are left: compare them, and remove one",
        from.path, to.path
    );
    let mut error = Error::new(ErrorCode::Conflict, message).at(&from.key);
    error.current = Some(now.version);
    error
}

fn answer(store: &Metered<'_>, located: Located, edited: Edited) -> ChangeAnswer {
    ChangeAnswer {
        path: located.path,
        key: located.key,
        version: edited.version,
        changed: edited.changed,
        repeat: edited.repeat,
        cost: store.cost(),
    }
}

fn moved(store: &Metered<'_>, to: Located, version: String, repeat: bool) -> ChangeAnswer {
    ChangeAnswer {
        path: to.path,
        key: to.key,
        version: Some(version),
        changed: true,
        repeat,
        cost: store.cost(),
    }
}

#[cfg(test)]
mod tests {
    use super::occurrences;

    #[test]
    fn occurrences_do_not_overlap() {
        assert_eq!(occurrences(b"aaaa", b"aa"), [0, 2]);
        assert_eq!(occurrences(b"abc", b"c"), [2]);
        assert!(occurrences(b"abc", b"abcd").is_empty());
        assert!(occurrences(b"", b"a").is_empty());
    }
}
