//! `haversack:core/facts`: what holds for a project or a task, an object for each fact. The shapes are those of
//! `wit/core/facts.wit`, which is the manual.

use serde::{Deserialize, Serialize};

use super::projects::{MARKDOWN, check_text, project_of, require_task};
use super::stamp;
use crate::format::fact::Fact;
use crate::format::text::decode;
use crate::format::utc;
use crate::layout::concept::Concept;
use crate::layout::run_agent::{FactName, Place, ProjectId, RunId, TaskId, Timestamp, facts_begin};
use crate::limits::{FACTS_PAGE_MAX, RUN_FILE_BYTES_MAX, RUN_VALUE_BYTES_MAX};
use crate::protocol::request::RequestId;
use crate::store::{Answer, BodyKind, GetRequest, ListRequest, Metered, Range, Request, Store};
use crate::transform::task_slug;
use crate::types::{Cost, Error, Home, Problem, ProblemKind, Result};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WriteRequest {
    pub home: Home,
    #[serde(default)]
    pub task: Option<String>,
    pub request_id: String,
    pub at_ms: u64,
    #[serde(default)]
    pub at_ns: Option<u32>,
    pub pid: u32,
    pub run: String,
    pub title: String,
    #[serde(default)]
    pub name: Option<String>,
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WriteAnswer {
    pub key: String,
    pub repeat: bool,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FactEntry {
    pub key: String,
    pub created_at: String,
    pub scope: String,
    pub run_id: String,
    pub title: String,
    pub size_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ListAnswer {
    pub facts: Vec<FactEntry>,
    pub continue_from: Option<String>,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReadAnswer {
    pub fact: FactEntry,
    pub body: String,
    pub version: String,
    pub cost: Cost,
}

pub fn write(store: &dyn Store, request: &WriteRequest) -> Result<WriteAnswer> {
    let store = Metered::new(store);
    let scope = Scope::of(&request.home, request.task.as_deref())?;
    let id = RequestId::parse(&request.request_id)?;
    let timestamp = stamp::timestamp(request.at_ms, request.at_ns, request.pid)?;
    check_text("a fact", &request.body)?;
    if request.title.trim().is_empty() || request.title.len() > RUN_VALUE_BYTES_MAX {
        return Err(Error::invalid(format!(
            "a fact has a title of 1 to {RUN_VALUE_BYTES_MAX} bytes; say in a line what holds"
        )));
    }
    if request.run.is_empty() {
        return Err(Error::invalid(
            "a fact has a run-id; name the run that found it out",
        ));
    }
    RunId::parse(&request.run)?;
    if let Some(task) = &scope.task {
        require_task(&store, &scope.project, task)?;
    }
    let fact = Fact {
        created_at: utc::print_ms(request.at_ms).unwrap_or_default(),
        scope: scope.name().to_owned(),
        run_id: request.run.clone(),
        title: request.title.clone(),
        body: request.body.clone(),
    };
    let named = request.name.as_deref().unwrap_or(&request.title);
    let slug = task_slug::slug(named, named);
    let created = stamp::create(&store, &id, MARKDOWN, fact.render().as_bytes(), |number| {
        Ok(((), scope.key(&timestamp, &slug, number)?))
    })?;
    Ok(WriteAnswer {
        key: created.key,
        repeat: created.repeat,
        cost: store.cost(),
    })
}

/// One page of facts, oldest first; those that are none are problems.
pub fn list(
    store: &dyn Store,
    home: &Home,
    task: Option<&str>,
    continue_from: Option<&str>,
) -> Result<ListAnswer> {
    let store = Metered::new(store);
    let scope = Scope::of(home, task)?;
    let (prefix, begin) = facts_begin(&scope.project, scope.task.as_ref());
    let start_after = match continue_from {
        None => begin.clone(),
        Some(key) if key.starts_with(&begin) => key.to_owned(),
        Some(_) => {
            return Err(Error::invalid(
                "continue-from is of another list; pass the one that a page gave",
            ));
        }
    };
    let mut keys: Vec<(String, u64)> = Vec::new();
    let mut problems = Vec::new();
    let mut list = ListRequest {
        prefix,
        delimiter: true,
        start_after: Some(start_after),
        limit: Some(u32::try_from(FACTS_PAGE_MAX).unwrap_or(u32::MAX)),
        ..ListRequest::default()
    };
    let mut next = None;
    loop {
        let listing = store.list(list.clone())?;
        let passed = listing
            .last_key()
            .is_some_and(|last| !last.starts_with(&begin));
        for entry in listing.entries {
            if keys.len() == FACTS_PAGE_MAX {
                next = keys.last().map(|(key, _)| key.clone());
                break;
            }
            if !entry.key.starts_with(&begin) {
                continue;
            }
            match Place::parse(&entry.key) {
                Some(Place::Fact { .. } | Place::TaskFacts { .. }) => {
                    keys.push((entry.key, entry.size_bytes))
                }
                _ => {
                    let message = "is named like a fact, and is none by its name";
                    problems.push(Problem::new(ProblemKind::Skipped, entry.key, message));
                }
            }
        }
        list.cursor = listing.cursor;
        if passed || next.is_some() || list.cursor.is_none() {
            break;
        }
    }
    let wave = keys
        .iter()
        .map(|(key, _)| get(key, RUN_FILE_BYTES_MAX as u64));
    let answers = match keys.is_empty() {
        true => Vec::new(),
        false => store.read(wave.collect())?,
    };
    let mut facts = Vec::new();
    for ((key, size_bytes), answer) in keys.into_iter().zip(answers) {
        let blob = match answer.map_err(|error| error.about(&key))? {
            Answer::Blob(Some(blob)) => blob,
            // Deleted since it was listed.
            _ => continue,
        };
        match Fact::parse(&decode(blob.body.into_bytes()).text) {
            Ok(fact) => facts.push(entry(key, size_bytes, &fact)),
            Err(why) => problems.push(Problem::new(ProblemKind::Unreadable, key, why)),
        }
    }
    Ok(ListAnswer {
        facts,
        continue_from: next,
        problems,
        cost: store.cost(),
    })
}

pub fn read(store: &dyn Store, home: &Home, key: &str) -> Result<ReadAnswer> {
    let store = Metered::new(store);
    let project = project_of(home, Concept::Facts)?;
    let own = match Place::parse(key) {
        Some(Place::Fact { project, .. } | Place::TaskFacts { project, .. }) => Some(project),
        _ => None,
    };
    if own.as_ref() != Some(&project) {
        let shown: String = key.chars().take(80).collect();
        return Err(Error::invalid(format!(
            "{shown:?} is no fact of project {project}; pass a key that facts.list gave"
        )));
    }
    let blob = store.get(GetRequest {
        key: key.to_owned(),
        range: Range::Whole,
        kind: BodyKind::Text,
    })?;
    let blob = blob.ok_or_else(|| Error::not_found(format!("there is no {key}")).at(key))?;
    let size_bytes = blob.stat.size_bytes;
    let fact = Fact::parse(&decode(blob.body.into_bytes()).text);
    let fact = fact.map_err(|why| Error::invalid(format!("{key} {why}")).at(key))?;
    Ok(ReadAnswer {
        fact: entry(key.to_owned(), size_bytes, &fact),
        body: fact.body,
        version: blob.stat.version,
        cost: store.cost(),
    })
}

fn get(key: &str, length_bytes: u64) -> Request {
    Request::Get(GetRequest {
        key: key.to_owned(),
        range: Range::Span {
            start_bytes: 0,
            length_bytes,
        },
        kind: BodyKind::Text,
    })
}

fn entry(key: String, size_bytes: u64, fact: &Fact) -> FactEntry {
    FactEntry {
        key,
        created_at: fact.created_at.clone(),
        scope: fact.scope.clone(),
        run_id: fact.run_id.clone(),
        title: fact.title.clone(),
        size_bytes,
    }
}

struct Scope {
    project: ProjectId,
    task: Option<TaskId>,
}

impl Scope {
    fn of(home: &Home, task: Option<&str>) -> Result<Self> {
        Ok(Self {
            project: project_of(home, Concept::Facts)?,
            task: task.map(TaskId::parse).transpose()?,
        })
    }

    fn name(&self) -> &'static str {
        if self.task.is_some() {
            "task"
        } else {
            "project"
        }
    }

    /// A fact of a task has no name: of several of one moment the timestamp is numbered.
    fn key(&self, timestamp: &Timestamp, slug: &str, number: u32) -> Result<String> {
        let project = self.project.clone();
        let place = match &self.task {
            Some(task) => Place::TaskFacts {
                project,
                task: task.clone(),
                timestamp: Timestamp::parse(&timestamp.numbered(number))?,
            },
            None => Place::Fact {
                project,
                timestamp: timestamp.clone(),
                name: FactName::parse(&task_slug::numbered(slug, number))?,
            },
        };
        let key = place.key();
        crate::layout::key::check(&key)?;
        Ok(key)
    }
}
