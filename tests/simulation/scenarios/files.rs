//! The workspace tool: files that several write, edit and remove; and files that are moved, which is two
//! steps and says so.

use std::collections::{BTreeMap, BTreeSet};

use haversack_core::ops::files::{
    EditRequest, Expected, RemoveRequest, RenameRequest, Viewer, WriteRequest, edit, remove,
    rename, write,
};
use haversack_core::store::{Answer as Found, BodyKind, GetRequest, Range, Request, Store};
use haversack_core::types::{Error, ErrorCode, Home};
use haversack_host::store::faulty::Random;
use haversack_host::store::memory::{Object, Objects};
use haversack_host::store::{Condition, MemoryStore, check};

use crate::scenario::{Client, Crossing, Outcome, Scenario};

/// Paths that are written and edited, and nothing else: what is removed forgets its request ids.
const WRITTEN: [&str; 2] = ["a.md", "b.md"];
const REMOVED: [&str; 2] = ["c.md", "d.md"];
/// Where files are moved from, and where to: fewer, so that some find it taken.
const SOURCES: [&str; 3] = ["s0.md", "s1.md", "s2.md"];
const TARGETS: [&str; 2] = ["t0.md", "t1.md"];
/// What an edit looks for.
const END: &str = "end\n";

fn key(path: &str) -> String {
    format!("agents/hera/{path}")
}

fn viewer() -> Viewer {
    Viewer {
        home: Home {
            system: "gsv".to_owned(),
            id: "hera".to_owned(),
        },
        session_key: None,
        main_key: None,
        user: None,
        ticket: None,
    }
}

fn object(text: &str) -> Object {
    let options = check::plain(Condition::Always);
    Object::new(text.as_bytes().to_vec(), options, 0)
}

fn text(store: &dyn Store, path: &str) -> Result<Option<String>, String> {
    let get = Request::Get(GetRequest {
        key: key(path),
        range: Range::Whole,
        kind: BodyKind::Text,
    });
    match store.read(vec![get]).remove(0) {
        Ok(Found::Blob(blob)) => {
            Ok(blob.map(|blob| String::from_utf8_lossy(blob.body.as_bytes()).into_owned()))
        }
        Ok(_) => Ok(None),
        Err(error) => Err(error.message),
    }
}

/// Refused for good: `refusal` is the code that says so.
fn outcome<T>(result: Result<T, Error>, refusal: ErrorCode) -> Outcome<Answer> {
    match result {
        Err(error) if error.code == refusal => Outcome::Done(Answer::Refused),
        other => Outcome::of(other.map(|_| Answer::Done)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    Done,
    Refused,
}

/// Writes, edits and removes.
#[derive(Clone)]
pub struct Files;

#[derive(Clone, Debug)]
pub enum Operation {
    Write { id: String, path: &'static str },
    Edit { id: String, path: &'static str },
    Remove { id: String, path: &'static str },
}

/// Texts by path, and the requests that were carried out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    files: BTreeMap<String, String>,
    made: BTreeSet<String>,
}

impl Scenario for Files {
    type Operation = Operation;
    type Answer = Answer;
    type Model = State;
    type View = BTreeMap<String, String>;

    fn name(&self) -> String {
        "files".to_owned()
    }

    fn covers(&self) -> &'static [&'static str] {
        &["files.edit", "files.remove", "files.write"]
    }

    fn store(&self) -> MemoryStore {
        let removed = REMOVED.map(|path| (key(path), object(END)));
        MemoryStore::from_objects(false, Objects::from(removed))
    }

    fn model(&self) -> State {
        let removed = REMOVED.map(|path| (path.to_owned(), END.to_owned()));
        State {
            files: removed.into(),
            made: BTreeSet::new(),
        }
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = |caller: usize| -> Vec<Operation> {
            let operation = |number| {
                let id = format!("c{caller}-{number}");
                match random.below(5) {
                    0 => Operation::Remove {
                        id,
                        path: REMOVED[random.below(REMOVED.len())],
                    },
                    1 | 2 => Operation::Write {
                        id,
                        path: WRITTEN[random.below(WRITTEN.len())],
                    },
                    _ => Operation::Edit {
                        id,
                        path: WRITTEN[random.below(WRITTEN.len())],
                    },
                }
            };
            (0..3).map(operation).collect()
        };
        (0..callers).map(&mut program).collect()
    }

    fn walk(&self) -> Vec<Operation> {
        let id = |id: &str| id.to_owned();
        vec![
            Operation::Edit {
                id: id("early"),
                path: WRITTEN[0],
            },
            Operation::Write {
                id: id("write"),
                path: WRITTEN[0],
            },
            Operation::Edit {
                id: id("edit"),
                path: WRITTEN[0],
            },
            Operation::Remove {
                id: id("remove"),
                path: REMOVED[0],
            },
        ]
    }

    fn crossings(&self) -> Vec<Crossing<Operation>> {
        let [_, write, edit, _] = &self.walk()[..] else {
            return Vec::new();
        };
        let cross = |first: &Operation, second: &Operation| Crossing {
            before: vec![write.clone()],
            first: first.clone(),
            second: self.renamed(second, 2),
        };
        vec![cross(edit, edit), cross(edit, write)]
    }

    fn run(&self, store: &dyn Store, operation: &Operation, _: Client) -> Outcome<Answer> {
        match operation.clone() {
            Operation::Write { id, path } => {
                let request = WriteRequest {
                    viewer: viewer(),
                    text: format!("{id}\n{END}"),
                    request_id: id,
                    path: path.to_owned(),
                    expected: Expected::Any,
                };
                outcome(write(store, &request), ErrorCode::Invalid)
            }
            Operation::Edit { id, path } => {
                let request = EditRequest {
                    viewer: viewer(),
                    new: format!("{id}\n{END}"),
                    request_id: id,
                    path: path.to_owned(),
                    version: None,
                    old: END.to_owned(),
                    everywhere: false,
                };
                outcome(edit(store, &request), ErrorCode::NotFound)
            }
            Operation::Remove { id, path } => {
                let request = RemoveRequest {
                    viewer: viewer(),
                    request_id: id,
                    path: path.to_owned(),
                    version: None,
                };
                outcome(remove(store, &request), ErrorCode::Invalid)
            }
        }
    }

    fn renamed(&self, operation: &Operation, attempt: u32) -> Operation {
        let mut renamed = operation.clone();
        let (Operation::Write { id, .. }
        | Operation::Edit { id, .. }
        | Operation::Remove { id, .. }) = &mut renamed;
        *id = format!("{id}-{attempt}");
        renamed
    }

    fn apply(&self, model: &mut State, operation: &Operation, answer: Option<&Answer>) -> bool {
        let says = |said| answer.is_none_or(|answer| *answer == said);
        match operation {
            Operation::Write { id, path } => {
                if model.made.insert(id.clone()) {
                    let text = format!("{id}\n{END}");
                    model.files.insert((*path).to_owned(), text);
                }
                says(Answer::Done)
            }
            Operation::Edit { id, path } => {
                let Some(text) = model.files.get_mut(*path) else {
                    return says(Answer::Refused);
                };
                if model.made.insert(id.clone()) {
                    *text = text.replace(END, &format!("{id}\n{END}"));
                }
                says(Answer::Done)
            }
            Operation::Remove { path, .. } => {
                model.files.remove(*path);
                says(Answer::Done)
            }
        }
    }

    fn look(&self, store: &dyn Store) -> Result<Self::View, String> {
        let mut files = BTreeMap::new();
        for path in WRITTEN.into_iter().chain(REMOVED) {
            let found = text(store, path)?;
            files.extend(found.map(|text| (path.to_owned(), text)));
        }
        Ok(files)
    }

    fn shown(&self, model: &State) -> Self::View {
        model.files.clone()
    }
}

/// Renames.
#[derive(Clone)]
pub struct Renames;

#[derive(Clone, Debug)]
pub struct Rename {
    id: String,
    from: &'static str,
    to: &'static str,
}

impl Scenario for Renames {
    type Operation = Rename;
    type Answer = Answer;
    type Model = ();
    /// What is there, wherever it lies: in between it may lie in two places, never in none.
    type View = BTreeSet<String>;

    fn name(&self) -> String {
        "files-rename".to_owned()
    }

    fn covers(&self) -> &'static [&'static str] {
        &["files.rename"]
    }

    fn store(&self) -> MemoryStore {
        let sources = SOURCES.map(|path| (key(path), object(path)));
        MemoryStore::from_objects(false, Objects::from(sources))
    }

    fn model(&self) {}

    /// Each caller moves a file of its own.
    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Rename>> {
        let mut program = |caller: usize| -> Vec<Rename> {
            let step = |number| Rename {
                id: format!("c{caller}-{number}"),
                from: SOURCES[caller % SOURCES.len()],
                to: TARGETS[random.below(TARGETS.len())],
            };
            (0..1).map(step).collect()
        };
        (0..callers).map(&mut program).collect()
    }

    fn walk(&self) -> Vec<Rename> {
        let step = |number: usize, to| Rename {
            id: format!("m{number}"),
            from: SOURCES[number],
            to,
        };
        vec![
            step(0, TARGETS[0]),
            step(1, TARGETS[0]),
            step(2, TARGETS[1]),
        ]
    }

    fn crossings(&self) -> Vec<Crossing<Rename>> {
        let walk = self.walk();
        let cross = |second: usize| Crossing {
            before: Vec::new(),
            first: walk[0].clone(),
            second: walk[second].clone(),
        };
        // The same request twice, and two for one target.
        vec![cross(0), cross(1)]
    }

    fn run(&self, store: &dyn Store, operation: &Rename, _: Client) -> Outcome<Answer> {
        let request = RenameRequest {
            viewer: viewer(),
            request_id: operation.id.clone(),
            from: operation.from.to_owned(),
            to: operation.to.to_owned(),
        };
        outcome(rename(store, &request), ErrorCode::Conflict)
    }

    fn apply(&self, (): &mut (), _: &Rename, _: Option<&Answer>) -> bool {
        true
    }

    fn look(&self, store: &dyn Store) -> Result<Self::View, String> {
        let paths = SOURCES.into_iter().chain(TARGETS);
        let texts: Result<Vec<_>, _> = paths.map(|path| text(store, path)).collect();
        Ok(texts?.into_iter().flatten().collect())
    }

    fn shown(&self, (): &()) -> Self::View {
        SOURCES.map(str::to_owned).into()
    }

    /// In the end each lies in one place.
    fn finish(&self, store: &dyn Store) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for path in SOURCES.into_iter().chain(TARGETS) {
            if let Some(text) = text(store, path)?
                && !seen.insert(text.clone())
            {
                return Err(format!("{text} lies in two places, one of them {path}"));
            }
        }
        Ok(())
    }
}
