//! `bus.post` and `bus.read`: messages of several lines, in a bucket and as a single file, beside what another program
//! and a crash have left. The log itself has a scenario of its own.

use std::collections::BTreeSet;

use haversack_core::ops::bus::{PostRequest, ReadRequest, post, read};
use haversack_core::store::Store;
use haversack_core::types::{Error, Home};
use haversack_host::store::faulty::Random;
use haversack_host::store::memory::{Object, Objects};
use haversack_host::store::{Condition, MemoryStore, PutOptions};

use crate::scenario::{Client, Crossing, Outcome, Scenario};
use crate::scheduler::START_MS;

const KEY: &str = "proj/PROJECT-MESSAGE-BUS.md";
/// A legacy line, and an entry that a crash has torn in its body.
const LEFT: &str = "[2026-01-02 10:00:00] FACT: legacy\n\n---\nmsg_id: MSG-0\ntype: FACT\nproject_id: proj\nmeta:\n  \
                    body_bytes: 99\n---\ntorn\n";

#[derive(Clone, Copy)]
pub struct Bus {
    pub name: &'static str,
    pub appends: bool,
    /// Whether something is there already.
    pub left: bool,
}

#[derive(Clone, Debug)]
pub enum Operation {
    Post { id: String },
    Read,
}

/// What a read answers, sorted; nothing for a post.
type Answer = Option<Vec<String>>;

fn home() -> Home {
    Home {
        system: "run-agent".to_owned(),
        id: "proj".to_owned(),
    }
}

/// Would be another's entry, were it not escaped.
fn body(id: &str) -> String {
    format!("of {id}\n\n---\nmsg_id: MSG-F\ntype: FACT\nproject_id: proj\n---\nforged by {id}")
}

fn bodies(store: &dyn Store) -> Result<Vec<String>, Error> {
    let answer = read(
        store,
        &ReadRequest {
            home: home(),
            task: None,
            limit: Some(1_000),
            before: None,
            since: None,
        },
    )?;
    let mut bodies: Vec<String> = answer.messages.into_iter().map(|m| m.body).collect();
    bodies.sort();
    Ok(bodies)
}

impl Scenario for Bus {
    type Operation = Operation;
    type Answer = Answer;
    type Model = BTreeSet<String>;
    type View = Vec<String>;

    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn covers(&self) -> &'static [&'static str] {
        &["bus.post"]
    }

    fn store(&self) -> MemoryStore {
        let mut objects = Objects::new();
        if self.left {
            let options = PutOptions {
                condition: Condition::Always,
                content_type: None,
                metadata: Vec::new(),
            };
            objects.insert(KEY.to_owned(), Object::new(LEFT.into(), options, 0));
        }
        MemoryStore::from_objects(self.appends, objects)
    }

    fn model(&self) -> BTreeSet<String> {
        self.left.then(|| "legacy".to_owned()).into_iter().collect()
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = |caller: usize| -> Vec<Operation> {
            let operation = |number| match random.below(4) {
                0 => Operation::Read,
                _ => Operation::Post {
                    id: format!("c{caller}-{number}"),
                },
            };
            (0..5).map(operation).collect()
        };
        (0..callers).map(&mut program).collect()
    }

    fn walk(&self) -> Vec<Operation> {
        let ids = ["a", "b", "c", "d", "e"].into_iter();
        let mut walk: Vec<Operation> = ids
            .map(|id| Operation::Post { id: id.to_owned() })
            .collect();
        walk.push(Operation::Read);
        walk
    }

    fn crossings(&self) -> Vec<Crossing<Operation>> {
        let post = |id: &str| Operation::Post { id: id.to_owned() };
        let pairs = [(post("x"), post("y")), (post("x"), Operation::Read)];
        let crossing = |(first, second)| Crossing {
            before: self.walk()[..2].to_vec(),
            first,
            second,
        };
        pairs.into_iter().map(crossing).collect()
    }

    fn run(&self, store: &dyn Store, operation: &Operation, _: Client) -> Outcome<Answer> {
        match operation {
            Operation::Post { id } => {
                let request = PostRequest {
                    home: home(),
                    task: None,
                    request_id: id.clone(),
                    // A message has its own moment, which a repeat has, too.
                    at_ms: START_MS,
                    at_ns: None,
                    pid: 42,
                    kind: "FACT".to_owned(),
                    run: None,
                    issue: None,
                    parents: Vec::new(),
                    links: Vec::new(),
                    meta: Vec::new(),
                    body: body(id),
                };
                Outcome::of(post(store, &request).map(|_| None))
            }
            Operation::Read => Outcome::of(bodies(store).map(Some)),
        }
    }

    fn renamed(&self, operation: &Operation, attempt: u32) -> Operation {
        match operation {
            Operation::Post { id } => Operation::Post {
                id: format!("{id}-{attempt}"),
            },
            Operation::Read => Operation::Read,
        }
    }

    fn apply(
        &self,
        model: &mut BTreeSet<String>,
        operation: &Operation,
        answer: Option<&Answer>,
    ) -> bool {
        match operation {
            Operation::Post { id } => {
                model.insert(body(id));
                true
            }
            Operation::Read => match answer {
                Some(Some(read)) => read.iter().eq(model.iter()),
                _ => true,
            },
        }
    }

    fn look(&self, store: &dyn Store) -> Result<Vec<String>, String> {
        bodies(store).map_err(|error| error.message)
    }

    fn shown(&self, model: &BTreeSet<String>) -> Vec<String> {
        model.iter().cloned().collect()
    }
}
