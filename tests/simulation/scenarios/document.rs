//! Documents changed by compare-and-swap under request ids: lines that are added, made sure of, or added by
//! a whole replacement of what was read.

use std::collections::BTreeSet;

use haversack_core::protocol::document::{Change, Current, Expected, edit, replace};
use haversack_core::protocol::request::RequestId;
use haversack_core::store::{
    Answer as Found, Blob, BodyKind, GetRequest, Metered, Range, Request, Store,
};
use haversack_core::types::{Error, ErrorCode};
use haversack_host::store::faulty::Random;
use haversack_host::store::memory::{Object, Objects};
use haversack_host::store::{Condition, MemoryStore, PutOptions};

use crate::scenario::{Client, Crossing, Outcome, Scenario};

const KEY: &str = "notes.md";
/// What a document holds that another program wrote, and what that said beside it.
const FOREIGN_LINE: &str = "from elsewhere";
const FOREIGN_METADATA: (&str, &str) = ("author", "another program");
const CONTENT_TYPE: &str = "text/markdown";

/// Whether another program has written the document before.
#[derive(Clone)]
pub struct Document {
    pub exists: bool,
}

#[derive(Clone, Debug)]
pub enum Operation {
    /// A line more, whatever is there.
    Add { id: String },
    /// The line is there, once.
    Ensure { id: String, line: String },
    /// Read, and put what was read with a line more in its place.
    Replace { id: String },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Whether the request changed the document.
    Settled { changed: bool },
    /// Somebody else wrote since it was read.
    Refused,
}

/// The lines, and the requests that made them.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    lines: Vec<String>,
    requests: BTreeSet<String>,
}

impl State {
    /// Add a line unless this request has done so.
    fn add(&mut self, id: &str, line: &str) {
        if self.requests.insert(id.to_owned()) {
            self.lines.push(line.to_owned());
        }
    }
}

fn get(store: &dyn Store) -> Result<Option<Blob>, Error> {
    let get = Request::Get(GetRequest {
        key: KEY.to_owned(),
        range: Range::Whole,
        kind: BodyKind::Text,
    });
    match store.read(vec![get]).remove(0) {
        Ok(Found::Blob(blob)) => Ok(blob),
        Ok(_) => Ok(None),
        Err(error) => Err(error.about(KEY)),
    }
}

fn with_line(bytes: Option<&[u8]>, line: &str) -> Vec<u8> {
    let mut bytes = bytes.unwrap_or_default().to_vec();
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    bytes
}

fn has_line(bytes: Option<&[u8]>, line: &str) -> bool {
    let text = String::from_utf8_lossy(bytes.unwrap_or_default());
    text.lines().any(|there| there == line)
}

impl Scenario for Document {
    type Operation = Operation;
    type Answer = Answer;
    type Model = State;
    type View = Vec<String>;

    fn name(&self) -> String {
        let word = if self.exists { "foreign" } else { "new" };
        format!("document-{word}")
    }

    fn store(&self) -> MemoryStore {
        let mut objects = Objects::new();
        if self.exists {
            let (name, value) = FOREIGN_METADATA;
            let options = PutOptions {
                condition: Condition::Always,
                content_type: Some(CONTENT_TYPE.to_owned()),
                metadata: vec![(name.to_owned(), value.to_owned())],
            };
            let bytes = with_line(None, FOREIGN_LINE);
            objects.insert(KEY.to_owned(), Object::new(bytes, options, 0));
        }
        MemoryStore::from_objects(false, objects)
    }

    fn model(&self) -> State {
        let foreign = self.exists.then(|| FOREIGN_LINE.to_owned());
        State {
            lines: foreign.into_iter().collect(),
            requests: BTreeSet::new(),
        }
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = |caller: usize| -> Vec<Operation> {
            let operation = |number| {
                let id = format!("c{caller}-{number}");
                match random.below(4) {
                    0 => Operation::Replace { id },
                    1 => Operation::Ensure {
                        id,
                        line: format!("ensured {}", random.below(2)),
                    },
                    _ => Operation::Add { id },
                }
            };
            (0..3).map(operation).collect()
        };
        (0..callers).map(&mut program).collect()
    }

    fn walk(&self) -> Vec<Operation> {
        let id = |id: &str| id.to_owned();
        let line = "ensured".to_owned();
        vec![
            Operation::Add { id: id("add") },
            Operation::Ensure {
                id: id("ensure"),
                line,
            },
            Operation::Replace { id: id("replace") },
        ]
    }

    fn crossings(&self) -> Vec<Crossing<Operation>> {
        let mut crossings = Vec::new();
        for first in self.walk() {
            for second in self.walk() {
                let second = self.renamed(&second, 0);
                let first = first.clone();
                crossings.push(Crossing {
                    before: Vec::new(),
                    first,
                    second,
                });
            }
        }
        crossings
    }

    fn run(&self, store: &dyn Store, operation: &Operation, _: Client) -> Outcome<Answer> {
        let metered = Metered::new(store);
        let (Operation::Add { id } | Operation::Ensure { id, .. } | Operation::Replace { id }) =
            operation;
        let request = match RequestId::parse(id) {
            Ok(request) => request,
            Err(error) => return Outcome::Wrong(error.message),
        };
        let edited = match operation {
            Operation::Add { id } => edit(&metered, KEY, &request, CONTENT_TYPE, |current| {
                Ok(Change::Write(with_line(current.body, id)))
            }),
            Operation::Ensure { line, .. } => {
                let ensure = |current: Current<'_>| {
                    Ok(match has_line(current.body, line) {
                        true => Change::Nothing,
                        false => Change::Write(with_line(current.body, line)),
                    })
                };
                edit(&metered, KEY, &request, CONTENT_TYPE, ensure)
            }
            Operation::Replace { id } => {
                let blob = match get(store) {
                    Ok(blob) => blob,
                    Err(error) => return Outcome::of(Err(error)),
                };
                let body = with_line(blob.as_ref().map(|blob| blob.body.as_bytes()), id);
                let expected = blob.map_or(Expected::Absent, |b| Expected::Version(b.stat.version));
                let replaced = replace(&metered, KEY, &request, CONTENT_TYPE, &expected, &body);
                if matches!(&replaced, Err(error) if error.code == ErrorCode::Conflict) {
                    return Outcome::Done(Answer::Refused);
                }
                replaced
            }
        };
        Outcome::of(edited.map(|edited| Answer::Settled {
            changed: edited.changed,
        }))
    }

    fn renamed(&self, operation: &Operation, attempt: u32) -> Operation {
        let again = |id: &str| format!("{id}-{attempt}");
        match operation {
            Operation::Add { id } => Operation::Add { id: again(id) },
            Operation::Ensure { id, line } => Operation::Ensure {
                id: again(id),
                line: line.clone(),
            },
            Operation::Replace { id } => Operation::Replace { id: again(id) },
        }
    }

    fn apply(&self, model: &mut State, operation: &Operation, answer: Option<&Answer>) -> bool {
        let says = |changed| answer.is_none_or(|answer| *answer == Answer::Settled { changed });
        match operation {
            Operation::Add { id } => {
                model.add(id, id);
                says(true)
            }
            Operation::Replace { id } if answer == Some(&Answer::Refused) => {
                !model.requests.contains(id)
            }
            Operation::Replace { id } => {
                model.add(id, id);
                says(true)
            }
            Operation::Ensure { id, line } => {
                let there = model.lines.contains(line) && !model.requests.contains(id);
                if !there {
                    model.add(id, line);
                }
                says(!there)
            }
        }
    }

    fn look(&self, store: &dyn Store) -> Result<Vec<String>, String> {
        let blob = get(store).map_err(|error| error.message)?;
        let bytes = blob.as_ref().map(|blob| blob.body.as_bytes());
        let text = String::from_utf8_lossy(bytes.unwrap_or_default());
        Ok(text.lines().map(str::to_owned).collect())
    }

    fn shown(&self, model: &State) -> Vec<String> {
        model.lines.clone()
    }

    fn finish(&self, store: &dyn Store) -> Result<(), String> {
        let blob = get(store).map_err(|error| error.message)?;
        let Some(stat) = blob.map(|blob| blob.stat) else {
            return Ok(());
        };
        let (name, value) = FOREIGN_METADATA;
        let kept = stat.metadata.iter().any(|(n, v)| n == name && v == value);
        if self.exists && !kept {
            return Err("metadata of another program were lost".to_owned());
        }
        if stat.content_type.as_deref() != Some(CONTENT_TYPE) {
            return Err(format!("the content type is {:?}", stat.content_type));
        }
        Ok(())
    }
}
