//! Loads every skill of an agent in as few waves as can be: lists, further pages of lists, then all files
//! together. Decides nothing but precedence; spells no key.

use std::collections::BTreeMap;

use crate::format::front_matter::Finding;
use crate::format::skill::{self, SkillFile};
use crate::layout::field::SkillName;
use crate::layout::skill_home::SkillHome;
use crate::limits::{SKILL_BYTES_MAX, WAVE_REQUESTS_MAX};
use crate::store::{
    Answer, Blob, BodyKind, GetRequest, ListRequest, Listing, Metered, Range, Request,
    StoreErrorCode, StoreResult,
};
use crate::transform::eligibility::{Conditions, Names, Reason, ReasonKind, decide};
use crate::transform::skill_listing::{self, ListedSkill};
use crate::types::{Error, ErrorCode, Problem, ProblemKind, Result};

use super::{Origin, Skill};

/// The skills of a home, root by root, each by directory name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    pub skills: Vec<Skill>,
    pub problems: Vec<Problem>,
    /// The answer to the caller's request that rode along.
    pub rider: Option<StoreResult<Answer>>,
}

impl Loaded {
    /// The text for the prompt; empty when no skill is shown.
    pub fn listing(&self) -> String {
        let shown: Vec<_> = self
            .skills
            .iter()
            .filter(|skill| skill.shown)
            .map(|skill| ListedSkill {
                name: &skill.name,
                always: skill.always,
                description: &skill.description,
                location: &skill.key,
                read_path: &skill.read_path,
            })
            .collect();
        let hidden = self.skills.iter().filter_map(|skill| skill.reasons.first());
        let hidden: Vec<_> = hidden.map(|reason| reason.kind).collect();
        skill_listing::render(&shown, &hidden)
    }
}

/// The requests for the first page of both roots, to be sent in one wave with whatever else is needed.
pub fn list_requests(home: &SkillHome) -> Vec<Request> {
    let roots = home.own_root().into_iter().chain([home.shared_root()]);
    roots.map(|root| list_request(root, None)).collect()
}

fn list_request(prefix: String, cursor: Option<String>) -> Request {
    Request::List(ListRequest {
        prefix,
        delimiter: true,
        cursor,
        ..ListRequest::default()
    })
}

/// The answers to [`list_requests`], its own first. A list that fails fails the call: which skills there are is
/// unknown.
pub fn pages_of(home: &SkillHome, answers: Vec<StoreResult<Answer>>) -> Result<[Listing; 2]> {
    let mut answers = answers.into_iter();
    let own = match home.own_root() {
        Some(root) => page_of(&root, answers.next())?,
        None => Listing::default(),
    };
    Ok([own, page_of(&home.shared_root(), answers.next())?])
}

fn page_of(prefix: &str, answer: Option<StoreResult<Answer>>) -> Result<Listing> {
    match answer {
        Some(Ok(Answer::Listing(listing))) => Ok(listing),
        Some(Err(error)) => Err(error.about(prefix)),
        _ => Err(host_bug(prefix)),
    }
}

fn host_bug(key: &str) -> Error {
    let message = format!("{key}: the host's blob store gave another answer than was asked for");
    Error::new(ErrorCode::Other, message).at(key)
}

/// A skill's directory, and what lies in it.
struct Found {
    origin: Origin,
    directory: String,
    key: String,
    size_bytes: u64,
    file: SkillFile,
}

/// Load every skill, given the first pages of both lists, and decide who may see it.
///
/// A store that is unavailable fails the call. Any other error on a file hides that skill as
/// unreadable. Where both roots have a directory both files are read in the same wave, because only
/// then it is known whether the agent's own is a skill and so hides the global one. `rider` is a
/// request of the caller's own that goes into the last wave of files.
pub fn load(
    store: &Metered<'_>,
    home: &SkillHome,
    first_pages: [Listing; 2],
    rider: Option<Request>,
    conditions: &Conditions<'_>,
) -> Result<Loaded> {
    let mut problems = Vec::new();
    let directories = directories_of(store, home, first_pages, &mut problems)?;
    let mut found = Vec::new();
    // A wave at a time, so that never more than one wave's bodies are in memory.
    let mut parts: Vec<&[Directory]> = directories.chunks(WAVE_REQUESTS_MAX).collect();
    if parts.is_empty() && rider.is_some() {
        parts.push(&[]);
    }
    let mut rider = rider;
    let mut rider_answer = None;
    let last = parts.len().saturating_sub(1);
    for (number, part) in parts.into_iter().enumerate() {
        let files = part.iter().map(|at| get_request(at.key.clone()));
        // The last wave is the one with room.
        let riding = if number == last { rider.take() } else { None };
        let mut answers = store.read(files.chain(riding).collect())?;
        if answers.len() > part.len() {
            rider_answer = answers.pop();
        }
        for (at, answer) in part.iter().zip(answers) {
            let key = at.key.clone();
            let read = match answer {
                Ok(Answer::Blob(Some(blob))) => Some((blob.stat.size_bytes, parse(&blob))),
                Ok(Answer::Blob(None)) => {
                    let message = "no such file, so its directory is no skill";
                    problems.push(Problem::new(ProblemKind::Skipped, key.as_str(), message));
                    None
                }
                Ok(_) => return Err(host_bug(&key)),
                Err(error) => match error.code {
                    StoreErrorCode::Unavailable | StoreErrorCode::OutcomeUnknown => {
                        return Err(error.about(&key));
                    }
                    _ => {
                        let finding = Finding::new(ProblemKind::Unreadable, None, error.message);
                        Some((0, skill::unreadable(vec![finding])))
                    }
                },
            };
            if let Some((size_bytes, file)) = read {
                found.push(Found {
                    origin: at.origin,
                    directory: at.name.clone(),
                    key,
                    size_bytes,
                    file,
                });
            }
        }
    }
    let own_skills: BTreeMap<&str, &Found> = found
        .iter()
        .filter(|found| found.origin == Origin::Agent)
        .map(|found| (found.directory.as_str(), found))
        .collect();
    let mut skills = Vec::with_capacity(found.len());
    for at in &found {
        let own = match at.origin {
            Origin::Agent => None,
            Origin::Global => own_skills.get(at.directory.as_str()).copied(),
        };
        if own.is_some_and(|own| own.file.unreadable.is_none()) {
            // Precedence, not hiding: it is no news that the agent's own is used.
            continue;
        }
        let findings = at.file.findings.iter();
        problems.extend(findings.map(|finding| finding.clone().at(&at.key)));
        skills.push(skill_of(at, own, home, conditions));
    }
    Ok(Loaded {
        skills,
        problems,
        rider: rider_answer,
    })
}

/// A directory of a root, and the file in it that makes it a skill.
struct Directory {
    origin: Origin,
    name: String,
    key: String,
}

/// The directories of both roots, after reading the pages that are left.
fn directories_of(
    store: &Metered<'_>,
    home: &SkillHome,
    first_pages: [Listing; 2],
    problems: &mut Vec<Problem>,
) -> Result<Vec<Directory>> {
    let roots = [home.own_root().unwrap_or_default(), home.shared_root()];
    let mut names: [Vec<SkillName>; 2] = [Vec::new(), Vec::new()];
    let mut pages: Vec<(usize, Listing)> = first_pages.into_iter().enumerate().collect();
    while !pages.is_empty() {
        let mut next = Vec::new();
        for (at, page) in pages {
            let (Some(root), Some(names)) = (roots.get(at), names.get_mut(at)) else {
                continue;
            };
            collect(root, page.prefixes, names, problems);
            problems.extend(
                page.skipped
                    .into_iter()
                    .map(|skipped| Problem::new(ProblemKind::Skipped, skipped.key, skipped.cause)),
            );
            if let Some(cursor) = page.cursor {
                next.push((at, root.clone(), cursor));
            }
        }
        let wave = next
            .iter()
            .map(|(_, prefix, cursor)| list_request(prefix.clone(), Some(cursor.clone())))
            .collect();
        let answers = if next.is_empty() {
            Vec::new()
        } else {
            store.read(wave)?
        };
        pages = Vec::with_capacity(next.len());
        for ((at, prefix, cursor), answer) in next.into_iter().zip(answers) {
            let page = page_of(&prefix, Some(answer))?;
            if page.cursor.as_ref() == Some(&cursor) {
                let message = format!("{prefix}: the store's list does not advance");
                return Err(Error::new(ErrorCode::Other, message).at(prefix));
            }
            pages.push((at, page));
        }
    }
    // Lists order by `name/`, which puts `a-b/` before `a/`.
    for names in &mut names {
        names.sort();
        names.dedup();
    }
    let [own, shared] = names;
    let directory = |origin, name: SkillName| {
        let key = match origin {
            Origin::Agent => home.own_key(name.clone())?,
            Origin::Global => home.shared_key(name.clone()),
        };
        let name = name.as_str().to_owned();
        Some(Directory { origin, name, key })
    };
    let own = own.into_iter().map(|name| (Origin::Agent, name));
    let shared = shared.into_iter().map(|name| (Origin::Global, name));
    let all: Vec<(Origin, SkillName)> = match home.shared_first() {
        true => shared.chain(own).collect(),
        false => own.chain(shared).collect(),
    };
    let all = all.into_iter();
    Ok(all
        .filter_map(|(origin, name)| directory(origin, name))
        .collect())
}

/// Take the directories of one page.
fn collect(
    root: &str,
    prefixes: Vec<String>,
    names: &mut Vec<SkillName>,
    problems: &mut Vec<Problem>,
) {
    for prefix in prefixes {
        let directory = prefix.strip_prefix(root).unwrap_or(&prefix);
        match SkillName::parse(directory.strip_suffix('/').unwrap_or(directory)) {
            Ok(name) => names.push(name),
            Err(error) => {
                problems.push(Problem::new(ProblemKind::Skipped, prefix, error.message));
            }
        }
    }
}

fn get_request(key: String) -> Request {
    Request::Get(GetRequest {
        key,
        range: Range::Span {
            start_bytes: 0,
            length_bytes: SKILL_BYTES_MAX,
        },
        kind: BodyKind::Text,
    })
}

fn parse(blob: &Blob) -> SkillFile {
    let size_bytes = blob.stat.size_bytes;
    let cut = size_bytes > SKILL_BYTES_MAX;
    let mut file = skill::parse(blob.body.as_bytes(), cut);
    if cut {
        let message = format!(
            "it has {size_bytes} bytes, of which the first {SKILL_BYTES_MAX} are read for the listing; \
             move detail into other files of the skill"
        );
        file.findings
            .push(Finding::new(ProblemKind::Truncated, None, message));
    }
    file
}

fn skill_of(
    found: &Found,
    own: Option<&Found>,
    home: &SkillHome,
    conditions: &Conditions<'_>,
) -> Skill {
    let header = found.file.header.clone();
    let name = header
        .name
        .clone()
        .unwrap_or_else(|| found.directory.clone());
    let read_path = home.read_path(&found.key);
    let names = Names {
        name: &name,
        directory: &found.directory,
        key: &found.key,
        read_path: &read_path,
    };
    let decision = decide(&header, names, conditions);
    let mut reasons = decision.reasons;
    if let Some(cause) = &found.file.unreadable {
        // What it requires is not known, but that it is switched off is.
        reasons.retain(|reason| reason.kind == ReasonKind::Disabled);
        reasons.push(Reason::new(ReasonKind::Unreadable, cause.as_str()));
    }
    if let Some(own) = own {
        let detail = format!("{} could not be read and still hides it", own.key);
        reasons.insert(0, Reason::new(ReasonKind::Shadowed, detail));
    }
    Skill {
        name,
        directory: found.directory.clone(),
        origin: found.origin,
        key: found.key.clone(),
        read_path,
        description: header.description,
        always: decision.always,
        emoji: header.emoji,
        homepage: header.homepage,
        license: header.license,
        compatibility: header.compatibility,
        allowed_tools: header.allowed_tools,
        requires: decision.requires,
        install: header.install,
        shown: reasons.is_empty(),
        reasons,
        size_bytes: found.size_bytes,
    }
}
