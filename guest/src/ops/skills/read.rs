//! The text of one skill, found by its directory, else by the name in its front matter. Does not ask who
//! may see it; spells no key.

use crate::format::skill::decode;
use crate::layout::field::SkillName;
use crate::layout::skill_home::SkillHome;
use crate::limits::{VALUE_BYTES_MAX, WORKSPACE_FILE_BYTES_MAX};
use crate::store::{
    Answer, Blob, BodyKind, GetRequest, Metered, Range, Request, Store, StoreResult,
};
use crate::transform::eligibility::{Conditions, Environment, ReasonKind};
use crate::types::{Error, ErrorCode, Home, Problem, ProblemKind, Result};

use super::near_names::near_names;
use super::{Origin, ReadAnswer, home_of, list_requests, load, pages_of};

/// The text of a skill. The agent's own wins, also when it cannot be read: that is the error then.
pub fn read(store: &dyn Store, home: &Home, skill: &str, user: Option<&str>) -> Result<ReadAnswer> {
    let home = home_of(home, user)?;
    let store = Metered::new(store);
    let mut found = by_directory(&store, &home, skill)?;
    if found.is_none() {
        found = Some(by_name(&store, &home, skill)?);
    }
    let (origin, key, blob) = found.ok_or_else(|| gone(skill))?;
    let (version, blob) = with_version(&store, &key, blob)?;
    let size_bytes = blob.stat.size_bytes;
    let cut = size_bytes > WORKSPACE_FILE_BYTES_MAX;
    let bytes = blob.body.as_bytes();
    let kept = usize::try_from(WORKSPACE_FILE_BYTES_MAX).unwrap_or(usize::MAX);
    let bytes = bytes.get(..kept).unwrap_or(bytes);
    let mut text = decode(bytes, cut)
        .map_err(|finding| Error::invalid(format!("{key}: {}", finding.message)).at(&key))?
        .to_owned();
    let mut problems = Vec::new();
    if cut {
        let kept = text.len();
        let path = home.read_path(&key);
        text.push_str(&format!(
            "\n[cut here: {kept} of the {size_bytes} bytes of {path} are shown]\n"
        ));
        let message = format!("it has {size_bytes} bytes; the first {kept} were read");
        problems.push(Problem::new(ProblemKind::Truncated, &key, message));
    }
    Ok(ReadAnswer {
        key,
        origin,
        version,
        text,
        size_bytes,
        problems,
        cost: store.cost(),
    })
}

type Found = (Origin, String, Blob);

fn by_directory(store: &Metered<'_>, home: &SkillHome, skill: &str) -> Result<Option<Found>> {
    let Ok(name) = SkillName::parse(skill) else {
        return Ok(None);
    };
    let own = home.own_key(name.clone()).map(|key| (Origin::Agent, key));
    let shared = (Origin::Global, home.shared_key(name));
    let keys: Vec<(Origin, String)> = own.into_iter().chain([shared]).collect();
    let wave = keys.iter().map(|(_, key)| get_request(key, false));
    let answers = store.read(wave.collect())?;
    for ((origin, key), answer) in keys.into_iter().zip(answers) {
        if let Some(blob) = blob_of(&key, answer)? {
            return Ok(Some((origin, key, blob)));
        }
    }
    Ok(None)
}

fn by_name(store: &Metered<'_>, home: &SkillHome, skill: &str) -> Result<Found> {
    let environment = Environment::default();
    let conditions = Conditions::new(&environment)?;
    let first_pages = pages_of(home, store.read(list_requests(home))?)?;
    let skills = load(store, home, first_pages, None, &conditions)?.skills;
    let is_shadowed = |reasons: &[super::Reason]| {
        let mut reasons = reasons.iter();
        reasons.any(|reason| reason.kind == ReasonKind::Shadowed)
    };
    let found = skills
        .iter()
        .find(|found| found.name == skill && !is_shadowed(&found.reasons));
    let Some(found) = found else {
        let names = skills
            .iter()
            .flat_map(|skill| [skill.directory.as_str(), skill.name.as_str()]);
        let near = near_names(skill, names);
        let hint = match near.as_slice() {
            [] if skills.is_empty() => {
                format!(
                    "{} has none, and there are no {} ones",
                    home.who(),
                    home.shared_name()
                )
            }
            [] => format!(
                "`haversack skills list {}` lists the {} there are",
                home.written(),
                skills.len()
            ),
            near => format!("did you mean {}?", near.join(", ")),
        };
        return Err(Error::not_found(format!(
            "no skill has the directory or name {skill:?}; {hint}"
        )));
    };
    let answers = store.read(vec![get_request(&found.key, false)])?;
    let answer = answers.into_iter().next().ok_or_else(|| gone(skill))?;
    let blob = blob_of(&found.key, answer)?.ok_or_else(|| gone(skill))?;
    Ok((found.origin, found.key.clone(), blob))
}

fn gone(skill: &str) -> Error {
    Error::not_found(format!("the skill {skill:?} was removed while it was read"))
}

/// The version of what was read. A store that appends may leave it out of ranged gets; then the file
/// is read whole, so that text and version belong together.
fn with_version(store: &Metered<'_>, key: &str, blob: Blob) -> Result<(String, Blob)> {
    let stat = &blob.stat;
    if !stat.version.is_empty() {
        return Ok((stat.version.clone(), blob));
    }
    if stat.size_bytes <= VALUE_BYTES_MAX {
        let answers = store.read(vec![get_request(key, true)])?;
        let answer = answers.into_iter().next();
        let whole = answer
            .map(|answer| blob_of(key, answer))
            .transpose()?
            .flatten();
        let whole = whole.ok_or_else(|| gone(key))?;
        return Ok((whole.stat.version.clone(), whole));
    }
    // Larger than any get: the version of a head belongs to the text only if nothing else differs.
    let answers = store.read(vec![Request::Head(key.to_owned())])?;
    let version = match answers.into_iter().next() {
        Some(Ok(Answer::Head(Some(head))))
            if (head.size_bytes, head.modified_ms) == (stat.size_bytes, stat.modified_ms) =>
        {
            head.version
        }
        Some(Err(error)) => return Err(error.about(key)),
        _ => String::new(),
    };
    Ok((version, blob))
}

fn get_request(key: &str, whole: bool) -> Request {
    let range = if whole {
        Range::Whole
    } else {
        Range::Span {
            start_bytes: 0,
            length_bytes: WORKSPACE_FILE_BYTES_MAX,
        }
    };
    Request::Get(GetRequest {
        key: key.to_owned(),
        range,
        kind: BodyKind::Text,
    })
}

fn blob_of(key: &str, answer: StoreResult<Answer>) -> Result<Option<Blob>> {
    match answer {
        Ok(Answer::Blob(blob)) => Ok(blob),
        Ok(_) => Err(Error::new(
            ErrorCode::Other,
            format!("{key}: the host's blob store gave another answer than was asked for"),
        )),
        Err(error) => Err(error.about(key)),
    }
}
