//! Writing, editing and removing one file of a workspace; moving one stands in `rename`.

use super::{ChangeAnswer, EditRequest, Expected, Located, RemoveRequest, Workspace, WriteRequest};
use crate::limits::VALUE_BYTES_MAX;
use crate::protocol::document::{self, Change, Current, Edited};
use crate::protocol::request::RequestId;
use crate::store::{Answer, Metered, Request, Stat};
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
    match document::replace(store, key, &id, content_type, &expected, body) {
        Ok(edited) => Ok(answer(store, located, edited)),
        // The version was perhaps that of the global file, which the caller has read.
        Err(error) if is_gone(&error) => Err(global_or(store, &located, error)?),
        Err(error) => Err(error),
    }
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
    let path = &located.path;
    let (mut missing, mut was_read) = (false, false);
    let edited = document::edit_version(
        store,
        &located.key,
        &id,
        content_type(path),
        request.version.as_deref(),
        |current: Current<'_>| {
            was_read = true;
            let Some(body) = current.body else {
                missing = true;
                let message = format!("{path} is not there; write it whole");
                return Err(Error::not_found(message).at(&located.key));
            };
            if !current.knows_requests && is_done(body, request) {
                return Ok(Change::Nothing);
            }
            replaced(&located, body, request).map(Change::Write)
        },
    );
    match edited {
        Ok(edited) => Ok(answer(store, located, edited)),
        Err(error) if missing || is_gone(&error) => Err(global_or(store, &located, error)?),
        Err(error) if error.code == ErrorCode::TooLarge && !was_read => {
            let message =
                format!("{path} is too large to edit: a file has at most {VALUE_BYTES_MAX} bytes");
            Err(Error::too_large(message).at(&located.key))
        }
        Err(error) => Err(error),
    }
}

/// Whether a version was expected where nothing lies.
fn is_gone(error: &Error) -> bool {
    error.code == ErrorCode::Conflict && error.current.is_none()
}

/// What to say of a path where no own file lies: `denied` when a global one is read there.
pub(super) fn global_or(store: &Metered<'_>, located: &Located, error: Error) -> Result<Error> {
    let Some(global) = &located.fallback else {
        return Ok(error);
    };
    Ok(match stats(store, &located.key, global)? {
        (None, Some(_)) => read_only_global(located, global),
        _ => error,
    })
}

fn read_only_global(located: &Located, global: &str) -> Error {
    let message = format!(
        "{} is a global file, read-only here; an own one, written whole as a new file, goes before it",
        located.path
    );
    Error::new(ErrorCode::Denied, message).at(global)
}

/// Whether the file says already what the edit makes of it: asked where another program wrote the file and
/// the ids of earlier calls are gone. The old text is then nowhere, or only within the new one.
fn is_done(body: &[u8], request: &EditRequest) -> bool {
    let (old, new) = (request.old.as_bytes(), request.new.as_bytes());
    let done = occurrences(body, new);
    let within = |at: &usize| {
        let inside = |from: &usize| from <= at && at + old.len() <= from + new.len();
        done.iter().any(inside)
    };
    !done.is_empty() && occurrences(body, old).iter().all(within)
}

/// The file with the old text replaced; bytes elsewhere stay, whatever they are.
fn replaced(located: &Located, body: &[u8], request: &EditRequest) -> Result<Vec<u8>> {
    let Located { path, key, .. } = located;
    let (old, new) = (request.old.as_bytes(), request.new.as_bytes());
    let places = occurrences(body, old);
    match places.len() {
        0 => {
            return Err(Error::not_found(format!(
                "{path} does not have the old text; read it again: every character counts, line ends too"
            ))
            .at(key));
        }
        1 => {}
        _ if request.everywhere => {}
        many => {
            return Err(Error::invalid(format!(
                "{path} has the old text {many} times; give more of its surroundings, or ask for all of them"
            ))
            .at(key));
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

pub fn remove(
    store: &Metered<'_>,
    workspace: &dyn Workspace,
    request: &RemoveRequest,
) -> Result<ChangeAnswer> {
    RequestId::parse(&request.request_id)?;
    let located = writable(workspace, &request.path)?;
    let there = store.head(&located.key)?;
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
    } else if let Some(global) = &located.fallback
        && store.head(global)?.is_some()
    {
        return Err(read_only_global(&located, global));
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

pub(super) fn writable(workspace: &dyn Workspace, path: &str) -> Result<Located> {
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

pub(super) fn stats(store: &Metered<'_>, a: &str, b: &str) -> Result<(Option<Stat>, Option<Stat>)> {
    let wave = vec![Request::Head(a.to_owned()), Request::Head(b.to_owned())];
    let mut answers = store.read(wave)?.into_iter();
    let mut next = |key: &str| match answers.next() {
        Some(Ok(Answer::Head(stat))) => Ok(stat),
        Some(Err(error)) => Err(error.about(key)),
        _ => Ok(None),
    };
    Ok((next(a)?, next(b)?))
}

pub(super) fn delete(store: &Metered<'_>, key: &str) -> Result<()> {
    for answer in store.delete(vec![key.to_owned()])? {
        answer.map_err(|error| error.about(key))?;
    }
    Ok(())
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
