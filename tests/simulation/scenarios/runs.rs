//! `runs.create` and `runs.update`: runs that would all have the same id, and updates of one run-info.yaml.

use std::collections::{BTreeMap, BTreeSet};

use haversack_core::ops::runs::{
    CreateRequest, Fault, TreeRequest, UpdateRequest, create, info, tree, update,
};
use haversack_core::store::{Answer as Found, BodyKind, GetRequest, Range, Request, Store};
use haversack_core::types::{Error, Home};
use haversack_host::store::faulty::Random;
use haversack_host::store::memory::{Object, Objects};
use haversack_host::store::{Condition, MemoryStore, PutOptions};

use crate::scenario::{Client, Crossing, Outcome, Scenario};

const TASK: &str = "task-20260220-0930001230-42-fix";
const OLD_RUN: &str = "20260220-0930000000-1";
const AT_MS: u64 = 1_771_579_800_123;
const FIELDS: [&str; 3] = ["agent", "cwd", "error-summary"];

#[derive(Clone, Copy)]
pub struct Runs;

#[derive(Clone, Debug)]
pub enum Operation {
    Create { id: String },
    Update { id: String, field: usize },
}

/// The prompts of all runs, and the fields of the old one, with the requests that set them.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    prompts: BTreeSet<String>,
    fields: BTreeMap<usize, String>,
    requests: BTreeSet<String>,
}

fn home() -> Home {
    Home {
        system: "run-agent".to_owned(),
        id: "proj".to_owned(),
    }
}

fn key(run: &str, file: &str) -> String {
    format!("proj/{TASK}/runs/{run}/{file}")
}

fn prompt(store: &dyn Store, run: &str) -> Result<String, Error> {
    let key = key(run, "prompt.md");
    let get = Request::Get(GetRequest {
        key: key.clone(),
        range: Range::Whole,
        kind: BodyKind::Text,
    });
    match store.read(vec![get]).remove(0) {
        Ok(Found::Blob(Some(blob))) => {
            Ok(String::from_utf8_lossy(blob.body.as_bytes()).into_owned())
        }
        Ok(_) => Ok("none".to_owned()),
        Err(error) => Err(error.about(&key)),
    }
}

type View = (Vec<String>, Vec<Option<String>>);

fn view(store: &dyn Store) -> Result<View, Error> {
    let request = TreeRequest {
        home: home(),
        task: Some(TASK.to_owned()),
        continue_from: None,
    };
    let answer = tree(store, &request)?;
    let mut prompts = Vec::new();
    for node in answer.tasks.into_iter().flat_map(|task| task.runs) {
        // Between its two writes a run is a folder and no run yet.
        if node.run != OLD_RUN && !node.faults.contains(&Fault::Unreadable) {
            prompts.push(prompt(store, &node.run)?);
        }
    }
    prompts.sort();
    let old = info(store, &home(), TASK, OLD_RUN)?.info;
    Ok((prompts, vec![old.agent, old.cwd, old.error_summary]))
}

impl Scenario for Runs {
    type Operation = Operation;
    type Answer = ();
    type Model = State;
    type View = View;

    fn name(&self) -> String {
        "runs".to_owned()
    }

    fn covers(&self) -> &'static [&'static str] {
        &["runs.create", "runs.update"]
    }

    fn store(&self) -> MemoryStore {
        let mut objects = Objects::new();
        let options = || PutOptions {
            condition: Condition::Always,
            content_type: None,
            metadata: Vec::new(),
        };
        let info = b"run_id: x\nextra: kept\n".to_vec();
        objects.insert(
            key(OLD_RUN, "run-info.yaml"),
            Object::new(info, options(), 0),
        );
        MemoryStore::from_objects(false, objects)
    }

    fn model(&self) -> State {
        State {
            prompts: BTreeSet::new(),
            fields: BTreeMap::new(),
            requests: BTreeSet::new(),
        }
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = |caller: usize| -> Vec<Operation> {
            let operation = |number| {
                let id = format!("c{caller}-{number}");
                match random.below(3) {
                    0 => Operation::Create { id },
                    _ => Operation::Update {
                        id,
                        field: random.below(FIELDS.len()),
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
            Operation::Create { id: id("a") },
            Operation::Update {
                id: id("b"),
                field: 0,
            },
            Operation::Create { id: id("c") },
            Operation::Update {
                id: id("d"),
                field: 2,
            },
        ]
    }

    fn crossings(&self) -> Vec<Crossing<Operation>> {
        let id = |id: &str| id.to_owned();
        let update = |name: &str, field| Operation::Update {
            id: id(name),
            field,
        };
        let pairs = [
            (
                Operation::Create { id: id("x") },
                Operation::Create { id: id("y") },
            ),
            (update("x", 0), update("y", 1)),
            (update("x", 0), update("y", 0)),
        ];
        let crossing = |(first, second)| Crossing {
            before: Vec::new(),
            first,
            second,
        };
        pairs.into_iter().map(crossing).collect()
    }

    fn run(&self, store: &dyn Store, operation: &Operation, _: Client) -> Outcome<()> {
        match operation {
            Operation::Create { id } => {
                let request = CreateRequest {
                    home: home(),
                    task: TASK.to_owned(),
                    request_id: id.clone(),
                    at_ms: AT_MS,
                    at_ns: None,
                    pid: 42,
                    pgid: None,
                    agent: "claude".to_owned(),
                    prompt: id.clone(),
                    parent: None,
                    previous: None,
                    cwd: String::new(),
                    root: None,
                    backend_provider: None,
                    backend_model: None,
                    backend_endpoint: None,
                    command: Vec::new(),
                };
                Outcome::of(create(store, &request).map(drop))
            }
            Operation::Update { id, field } => {
                let value = |at: usize| (*field == at).then(|| id.clone());
                let request = UpdateRequest {
                    home: home(),
                    task: TASK.to_owned(),
                    run: OLD_RUN.to_owned(),
                    request_id: id.clone(),
                    agent: value(0),
                    cwd: value(1),
                    error_summary: value(2),
                    pid: None,
                    pgid: None,
                    start_ms: None,
                    end_ms: None,
                    exit_code: None,
                    status: None,
                    output_path: None,
                    backend_provider: None,
                    backend_model: None,
                    backend_endpoint: None,
                    command: Vec::new(),
                };
                Outcome::of(update(store, &request).map(drop))
            }
        }
    }

    fn renamed(&self, operation: &Operation, attempt: u32) -> Operation {
        let again = |id: &str| format!("{id}-{attempt}");
        match operation {
            Operation::Create { id } => Operation::Create { id: again(id) },
            Operation::Update { id, field } => Operation::Update {
                id: again(id),
                field: *field,
            },
        }
    }

    fn apply(&self, model: &mut State, operation: &Operation, _: Option<&()>) -> bool {
        match operation {
            Operation::Create { id } => {
                model.prompts.insert(id.clone());
            }
            Operation::Update { id, field } => {
                if model.requests.insert(id.clone()) {
                    model.fields.insert(*field, id.clone());
                }
            }
        }
        true
    }

    fn look(&self, store: &dyn Store) -> Result<View, String> {
        view(store).map_err(|error| error.message)
    }

    fn shown(&self, model: &State) -> View {
        let fields = (0..FIELDS.len()).map(|field| model.fields.get(&field).cloned());
        (model.prompts.iter().cloned().collect(), fields.collect())
    }

    fn finish(&self, store: &dyn Store) -> Result<(), String> {
        let key = key(OLD_RUN, "run-info.yaml");
        let get = Request::Get(GetRequest {
            key,
            range: Range::Whole,
            kind: BodyKind::Text,
        });
        match store.read(vec![get]).remove(0) {
            Ok(Found::Blob(Some(blob)))
                if String::from_utf8_lossy(blob.body.as_bytes()).contains("extra: kept\n") =>
            {
                Ok(())
            }
            other => Err(format!("a name of another program was lost: {other:?}")),
        }
    }
}
