//! Moving one file of a workspace: copied, looked at again, and only then deleted.

use super::change::{delete, global_or, stats, writable};
use super::{ChangeAnswer, Located, RenameRequest, Workspace};
use crate::protocol::request::{Remembered, RequestId};
use crate::store::metadatum;
use crate::store::{Condition, Metered, PutOptions, Source, Stat};
use crate::types::{Error, ErrorCode, Result};

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
            // The two looks of a wave are not one moment: another delivery of this request may have finished
            // in between.
            if let Some(target) = store.head(&to.key)?.filter(done) {
                return Ok(moved(store, to, target.version, true));
            }
            let missing = Error::not_found(format!("{} is not there", from.path)).at(&from.key);
            return Err(global_or(store, &from, missing)?);
        }
        (Some(_), Some(target)) if !done(&target) => return Err(taken(&to, &target)),
        (Some(source), target) => (source, target),
    };
    let (version, repeat) = match target {
        // Copied by an earlier call; the source goes only if it is still what was copied.
        Some(target) if copied_version(&target) == Some(source.version.as_str()) => {
            (target.version, true)
        }
        Some(_) => return Err(changed_meanwhile(&from, &to, source)),
        None => (copy(store, &from, &to, &source, &id)?, false),
    };
    // What is deleted is what was copied, as far as a look can tell.
    match store.head(&from.key)? {
        Some(now) if now.version != source.version => {
            return Err(changed_meanwhile(&from, &to, now));
        }
        Some(_) => delete(store, &from.key)?,
        // Another delivery of this request has finished.
        None => {}
    }
    Ok(moved(store, to, version, repeat))
}

/// Copy at the version that was seen, with that and the request's id in the copy's metadata.
fn copy(
    store: &Metered<'_>,
    from: &Located,
    to: &Located,
    source: &Stat,
    id: &RequestId,
) -> Result<String> {
    let mut metadata = Remembered::default()
        .with(id)
        .into_metadata(source.metadata.clone());
    metadata.retain(|(name, _)| !name.eq_ignore_ascii_case(COPIED_VERSION));
    metadata.push((COPIED_VERSION.to_owned(), source.version.clone()));
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
        Err(error) if error.is_unsure() => match store.head(&to.key)? {
            Some(target) if is_of(&target, id) => Ok(target.version),
            Some(target) => Err(taken(to, &target)),
            None => Err(error.about(&from.key)),
        },
        Err(error) => Err(error.about(&to.key)),
    }
}

/// Where a copy's metadata say which version of the source it is of.
const COPIED_VERSION: &str = "haversack-copied-version";

fn copied_version(stat: &Stat) -> Option<&str> {
    metadatum(&stat.metadata, COPIED_VERSION)
}

fn is_of(stat: &Stat, id: &RequestId) -> bool {
    Remembered::from_metadata(&stat.metadata).is_some_and(|ids| ids.contains(id))
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
