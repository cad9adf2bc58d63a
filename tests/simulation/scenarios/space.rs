//! The internal space of a hi-boss agent: made, appended to, written, promoted to and pruned by several; with a
//! legacy note that becomes MEMORY.md where the scenario says so.

use std::collections::BTreeSet;

use haversack_core::ops::memory::{
    AppendRequest, PromoteRequest, PruneRequest, Pruned, WriteRequest, append, ensure, promote,
    prune, write,
};
use haversack_core::store::{Answer as Found, BodyKind, GetRequest, Range, Request, Store};
use haversack_core::types::{Error, ErrorCode, Home};
use haversack_host::store::faulty::Random;
use haversack_host::store::memory::{Object, Objects};
use haversack_host::store::{Condition, MemoryStore, check};

use crate::scenario::{Client, Crossing, Outcome, Scenario};
use crate::scheduler::START_MS;

const LONG_TERM: &str = "agents/nex/internal_space/MEMORY.md";
const NOTE: &str = "agents/nex/internal_space/Note.md";
/// The day on which runs begin.
const TODAY: &str = "agents/nex/internal_space/memories/2026-02-19.md";
/// Promoted from, and never pruned.
const SOURCE: &str = "agents/nex/internal_space/memories/2026-02-18.md";
const SOURCE_DATE: &str = "2026-02-18";
const SOURCE_LINES: [&str; 3] = ["p1", "p2", "p3"];
/// Pruned, and never appended to.
const OLD: [&str; 2] = [
    "agents/nex/internal_space/memories/2025-12-30.md",
    "agents/nex/internal_space/memories/2026-02-17.md",
];
const NOTED: &str = "from the note";

pub fn is_note(key: &str) -> bool {
    key == NOTE
}

pub fn is_long_term(key: &str) -> bool {
    key == LONG_TERM
}

#[derive(Clone)]
pub struct Space {
    /// Whether a legacy note lies there, and no MEMORY.md.
    pub note: bool,
}

#[derive(Clone, Debug)]
pub enum Operation {
    Ensure {
        id: String,
    },
    Append {
        id: String,
    },
    /// Read, and put what was read with a line more in its place.
    Write {
        id: String,
    },
    Promote {
        id: String,
        line: usize,
    },
    Prune {
        id: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    Done,
    /// Somebody else wrote since it was read.
    Refused,
}

/// Lines of MEMORY.md, none without one; of today's file; how many old days there are.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    long_term: Option<Vec<String>>,
    today: Vec<String>,
    old: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct State {
    view: View,
    made: BTreeSet<String>,
}

fn home() -> Home {
    Home {
        system: "hi-boss".to_owned(),
        id: "nex".to_owned(),
    }
}

fn object(lines: &[&str]) -> Object {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    Object::new(text.into_bytes(), check::plain(Condition::Always), 0)
}

/// Text and version.
fn get(store: &dyn Store, key: &str) -> Result<Option<(String, String)>, Error> {
    let get = Request::Get(GetRequest {
        key: key.to_owned(),
        range: Range::Whole,
        kind: BodyKind::Text,
    });
    match store.read(vec![get]).remove(0) {
        Ok(Found::Blob(Some(blob))) => {
            let text = String::from_utf8_lossy(blob.body.as_bytes()).into_owned();
            Ok(Some((text, blob.stat.version)))
        }
        Ok(_) => Ok(None),
        Err(error) => Err(error.about(key)),
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// A conflict is an answer of its own.
fn outcome<T>(result: Result<T, Error>) -> Outcome<Answer> {
    match result {
        Err(error) if error.code == ErrorCode::Conflict => Outcome::Done(Answer::Refused),
        other => Outcome::of(other.map(|_| Answer::Done)),
    }
}

fn write_a_line(store: &dyn Store, id: &str) -> Outcome<Answer> {
    let (text, version) = match get(store, LONG_TERM) {
        Ok(found) => found.unzip(),
        Err(error) => return Outcome::of(Err(error)),
    };
    let text = text.unwrap_or_default();
    outcome(write(
        store,
        &WriteRequest {
            home: home(),
            request_id: id.to_owned(),
            text: format!("{text}{id}\n"),
            version,
            allow_secrets: false,
        },
    ))
}

impl Operation {
    fn id(&self) -> &String {
        match self {
            Self::Ensure { id }
            | Self::Append { id }
            | Self::Write { id }
            | Self::Promote { id, .. }
            | Self::Prune { id } => id,
        }
    }
}

impl Scenario for Space {
    type Operation = Operation;
    type Answer = Answer;
    type Model = State;
    type View = View;

    fn name(&self) -> String {
        let word = if self.note { "-note" } else { "" };
        format!("space{word}")
    }

    fn covers(&self) -> &'static [&'static str] {
        &[
            "memory.append",
            "memory.ensure",
            "memory.promote",
            "memory.prune",
            "memory.write",
        ]
    }

    fn store(&self) -> MemoryStore {
        let mut objects: Objects = OLD.map(|key| (key.to_owned(), object(&["old"]))).into();
        objects.insert(SOURCE.to_owned(), object(&SOURCE_LINES));
        if self.note {
            objects.insert(NOTE.to_owned(), object(&[NOTED]));
        }
        MemoryStore::from_objects(false, objects)
    }

    fn model(&self) -> State {
        State {
            view: View {
                long_term: None,
                today: Vec::new(),
                old: OLD.len(),
            },
            made: BTreeSet::new(),
        }
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = |caller: usize| -> Vec<Operation> {
            let mut operation = |number| {
                let id = format!("c{caller}-{number}");
                match random.below(6) {
                    0 => Operation::Ensure { id },
                    1 => Operation::Write { id },
                    2 => Operation::Prune { id },
                    3 => Operation::Append { id },
                    _ => {
                        let line = random.below(3);
                        Operation::Promote { id, line }
                    }
                }
            };
            (0..3).map(&mut operation).collect()
        };
        (0..callers).map(&mut program).collect()
    }

    fn walk(&self) -> Vec<Operation> {
        let id = |id: &str| id.to_owned();
        vec![
            Operation::Ensure { id: id("ensure") },
            Operation::Append { id: id("append") },
            Operation::Promote {
                id: id("promote"),
                line: 1,
            },
            Operation::Write { id: id("write") },
            Operation::Prune { id: id("prune") },
        ]
    }

    fn crossings(&self) -> Vec<Crossing<Operation>> {
        let mut crossings = Vec::new();
        for first in self.walk() {
            for second in self.walk() {
                crossings.push(Crossing {
                    before: Vec::new(),
                    first: first.clone(),
                    second: self.renamed(&second, 0),
                });
            }
        }
        crossings
    }

    fn run(&self, store: &dyn Store, operation: &Operation, _: Client) -> Outcome<Answer> {
        let (home, request_id) = (home(), operation.id().clone());
        let done = |result: Result<(), Error>| Outcome::of(result.map(|()| Answer::Done));
        match operation {
            Operation::Ensure { id } => done(ensure(store, &home, id).map(|_| ())),
            Operation::Append { id } => {
                let request = AppendRequest {
                    home,
                    request_id,
                    at_ms: START_MS,
                    utc_offset_minutes: 0,
                    text: id.clone(),
                    allow_secrets: false,
                };
                match append(store, &request) {
                    Ok(answer) if answer.key != TODAY => {
                        Outcome::Wrong(format!("appended to {}", answer.key))
                    }
                    other => done(other.map(|_| ())),
                }
            }
            Operation::Write { id } => write_a_line(store, id),
            Operation::Promote { line, .. } => {
                let request = PromoteRequest {
                    home,
                    request_id,
                    date: SOURCE_DATE.to_owned(),
                    lines: vec![*line as u32 + 1],
                    version: None,
                    allow_secrets: false,
                };
                done(promote(store, &request).map(|_| ()))
            }
            Operation::Prune { .. } => {
                let request = PruneRequest {
                    home,
                    request_id,
                    pruned: Pruned::Before(SOURCE_DATE.to_owned()),
                    now_ms: START_MS,
                    utc_offset_minutes: 0,
                    dry_run: false,
                    continue_from: None,
                };
                done(prune(store, &request).map(|_| ()))
            }
        }
    }

    fn renamed(&self, operation: &Operation, attempt: u32) -> Operation {
        let id = format!("{}-{attempt}", operation.id());
        match operation {
            Operation::Ensure { .. } => Operation::Ensure { id },
            Operation::Append { .. } => Operation::Append { id },
            Operation::Write { .. } => Operation::Write { id },
            Operation::Promote { line, .. } => Operation::Promote { id, line: *line },
            Operation::Prune { .. } => Operation::Prune { id },
        }
    }

    fn apply(&self, model: &mut State, operation: &Operation, answer: Option<&Answer>) -> bool {
        let view = &mut model.view;
        match operation {
            Operation::Ensure { .. } => {
                let noted = self.note.then(|| NOTED.to_owned());
                view.long_term.get_or_insert(noted.into_iter().collect());
            }
            Operation::Append { id } => {
                if model.made.insert(id.clone()) {
                    view.today.push(id.clone());
                }
            }
            Operation::Write { id } if answer == Some(&Answer::Refused) => {
                return !model.made.contains(id);
            }
            Operation::Write { id } => {
                if model.made.insert(id.clone()) {
                    view.long_term.get_or_insert_default().push(id.clone());
                }
            }
            Operation::Promote { id, line } => {
                if model.made.insert(id.clone()) {
                    let line = SOURCE_LINES[*line].to_owned();
                    view.long_term.get_or_insert_default().push(line);
                }
            }
            Operation::Prune { .. } => view.old = 0,
        }
        answer.is_none_or(|answer| *answer == Answer::Done)
    }

    fn look(&self, store: &dyn Store) -> Result<View, String> {
        let text = |key: &str| match get(store, key) {
            Ok(found) => Ok(found.map(|(text, _)| text)),
            Err(error) => Err(error.message),
        };
        let mut old = 0;
        for key in OLD {
            old += usize::from(text(key)?.is_some());
        }
        // One delete takes both; a store may stop in between, and a repeat finishes.
        let old = if old == 1 { OLD.len() } else { old };
        Ok(View {
            long_term: text(LONG_TERM)?.map(|text| lines(&text)),
            today: lines(&text(TODAY)?.unwrap_or_default()),
            old,
        })
    }

    fn shown(&self, model: &State) -> View {
        model.view.clone()
    }

    /// What the note said is in MEMORY.md, or still in the note.
    fn finish(&self, store: &dyn Store) -> Result<(), String> {
        let mut kept = !self.note;
        for key in [NOTE, LONG_TERM] {
            let found = get(store, key).map_err(|error| error.message)?;
            kept |= found.is_some_and(|(text, _)| text.contains(NOTED));
        }
        match kept {
            true => Ok(()),
            false => Err("what the legacy note said is lost".to_owned()),
        }
    }
}
