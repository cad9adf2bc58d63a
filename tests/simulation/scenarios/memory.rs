//! `memory.append`: sections that several append to one day's file, between edits by hand where the scenario
//! says so.

use std::collections::BTreeSet;

use haversack_core::ops::memory::{AppendRequest, append};
use haversack_core::store::{
    Answer, Body, BodyKind, Condition, GetRequest, PutOptions, Range, Request, Store, StoreError,
    StoreErrorCode,
};
use haversack_core::types::Home;
use haversack_host::store::faulty::Random;

use crate::scenario::{Client, Crossing, Outcome, Scenario};
use crate::scheduler::START_MS;

/// The file of the day on which runs begin.
const KEY: &str = "agents/hera/memory/2026-02-19.md";
/// How the lines begin that operations leave; what is between them is the sections' headers.
const MARK: &str = "- ";

#[derive(Clone)]
pub struct Memory {
    /// Whether another program edits the file now and then, and so drops the request ids beside it.
    pub edited: bool,
}

#[derive(Clone, Debug)]
pub enum Operation {
    Append {
        id: String,
    },
    /// A line more at the end, by a program that knows nothing of haversack.
    Edit {
        id: String,
    },
}

/// The lines in order, and the operations that made them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    lines: Vec<String>,
    made: BTreeSet<String>,
}

/// The file and its version.
fn get(store: &dyn Store) -> Result<Option<(String, String)>, StoreError> {
    let get = Request::Get(GetRequest {
        key: KEY.to_owned(),
        range: Range::Whole,
        kind: BodyKind::Text,
    });
    let Answer::Blob(Some(blob)) = store.read(vec![get]).remove(0)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(blob.body.as_bytes()).into_owned();
    Ok(Some((text, blob.stat.version)))
}

fn edit(store: &dyn Store, id: &str) -> Result<(), StoreError> {
    loop {
        let (text, version) = get(store)?.unzip();
        let text = text.unwrap_or_default();
        let line = format!("{MARK}{id}");
        if text.lines().any(|there| there == line) {
            return Ok(());
        }
        let options = PutOptions {
            condition: version.map_or(Condition::IfAbsent, Condition::IfMatch),
            content_type: None,
            metadata: Vec::new(),
        };
        let text = format!("{text}\n{line}\n");
        match store.put(KEY, Body::Text(text), options) {
            Ok(_) => return Ok(()),
            Err(error) if error.code == StoreErrorCode::Conflict => {}
            Err(error) => return Err(error),
        }
    }
}

impl Scenario for Memory {
    type Operation = Operation;
    type Answer = ();
    type Model = State;
    type View = Vec<String>;

    fn name(&self) -> String {
        let word = if self.edited { "-edited" } else { "" };
        format!("memory{word}")
    }

    fn covers(&self) -> &'static [&'static str] {
        &["memory.append"]
    }

    fn model(&self) -> State {
        State::default()
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = |caller: usize| -> Vec<Operation> {
            let operation = |number| {
                let id = format!("c{caller}-{number}");
                match self.edited && random.below(3) == 0 {
                    true => Operation::Edit { id },
                    false => Operation::Append { id },
                }
            };
            (0..3).map(operation).collect()
        };
        (0..callers).map(&mut program).collect()
    }

    fn walk(&self) -> Vec<Operation> {
        let append = |id: &str| Operation::Append { id: id.to_owned() };
        let mut walk = vec![append("first"), append("second")];
        if self.edited {
            let id = "edit".to_owned();
            walk.insert(1, Operation::Edit { id });
        }
        walk
    }

    fn crossings(&self) -> Vec<Crossing<Operation>> {
        let mut walk = self.walk();
        let second = walk.pop();
        let first = walk.pop();
        let both = first.zip(second).into_iter();
        both.map(|(first, second)| Crossing {
            before: Vec::new(),
            first,
            second,
        })
        .collect()
    }

    fn run(&self, store: &dyn Store, operation: &Operation, _: Client) -> Outcome<()> {
        match operation {
            Operation::Append { id } => {
                let request = AppendRequest {
                    home: Home {
                        system: "gsv".to_owned(),
                        id: "hera".to_owned(),
                    },
                    request_id: id.clone(),
                    at_ms: START_MS,
                    utc_offset_minutes: 0,
                    text: format!("{MARK}{id}"),
                    allow_secrets: false,
                };
                match append(store, &request) {
                    Ok(answer) if answer.key != KEY => {
                        Outcome::Wrong(format!("appended to {}", answer.key))
                    }
                    other => Outcome::of(other.map(|_| ())),
                }
            }
            Operation::Edit { id } => match edit(store, id) {
                Ok(()) => Outcome::Done(()),
                Err(error) => Outcome::Again(error.message),
            },
        }
    }

    fn renamed(&self, operation: &Operation, attempt: u32) -> Operation {
        match operation {
            Operation::Append { id } => Operation::Append {
                id: format!("{id}-{attempt}"),
            },
            other => other.clone(),
        }
    }

    fn apply(&self, model: &mut State, operation: &Operation, _: Option<&()>) -> bool {
        let (Operation::Append { id } | Operation::Edit { id }) = operation;
        if model.made.insert(id.clone()) {
            model.lines.push(format!("{MARK}{id}"));
        }
        true
    }

    fn look(&self, store: &dyn Store) -> Result<Vec<String>, String> {
        let found = get(store).map_err(|error| error.message)?;
        let text = found.map(|(text, _)| text).unwrap_or_default();
        let lines = text.lines().filter(|line| line.starts_with(MARK));
        Ok(lines.map(str::to_owned).collect())
    }

    fn shown(&self, model: &State) -> Vec<String> {
        model.lines.clone()
    }
}
