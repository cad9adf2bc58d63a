//! The harness' own protocol: a counter in one object, changed by compare-and-swap, that keeps the request
//! ids it has seen. Small enough to be right at a glance, so that what the harness says of it can be judged.

use std::collections::BTreeSet;

use haversack_core::store::{
    Answer, Body, BodyKind, Condition, GetRequest, PutOptions, Range, Request, Store, StoreError,
    StoreErrorCode,
};
use haversack_host::store::faulty::Random;

use crate::scenario::{Client, Crossing, Outcome, Scenario};

const KEY: &str = "counter";

#[derive(Clone)]
pub struct Counter;

#[derive(Clone, Debug)]
pub enum Operation {
    Add { id: String, amount: u64 },
    Read,
}

/// The counter and the ids that were added to it. Their order does not matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    sum: u64,
    ids: BTreeSet<String>,
}

impl State {
    fn parse(text: &str) -> Option<State> {
        let (sum, ids) = text.split_once('\n')?;
        Some(State {
            sum: sum.parse().ok()?,
            ids: ids.lines().map(str::to_owned).collect(),
        })
    }

    fn render(&self) -> String {
        let ids: Vec<&str> = self.ids.iter().map(String::as_str).collect();
        format!("{}\n{}", self.sum, ids.join("\n"))
    }
}

/// The counter with its version; none where there is none yet.
fn read(store: &dyn Store) -> Result<(State, Option<String>), StoreError> {
    let get = Request::Get(GetRequest {
        key: KEY.to_owned(),
        range: Range::Whole,
        kind: BodyKind::Text,
    });
    match store.read(vec![get]).remove(0)? {
        Answer::Blob(Some(blob)) => {
            let text = String::from_utf8_lossy(blob.body.as_bytes()).into_owned();
            let state = State::parse(&text).unwrap_or_default();
            Ok((state, Some(blob.stat.version)))
        }
        _ => Ok((State::default(), None)),
    }
}

fn add(store: &dyn Store, id: &str, amount: u64) -> Result<u64, StoreError> {
    loop {
        let (mut state, version) = read(store)?;
        if state.ids.contains(id) {
            return Ok(amount);
        }
        state.sum += amount;
        state.ids.insert(id.to_owned());
        let options = PutOptions {
            condition: version.map_or(Condition::IfAbsent, Condition::IfMatch),
            content_type: None,
            metadata: Vec::new(),
        };
        match store.put(KEY, Body::Text(state.render()), options) {
            Ok(_) => return Ok(amount),
            Err(error) if error.code == StoreErrorCode::Conflict => {}
            Err(error) => return Err(error),
        }
    }
}

impl Scenario for Counter {
    type Operation = Operation;
    type Answer = u64;
    type Model = State;
    type View = u64;

    fn name(&self) -> String {
        "counter".to_owned()
    }

    fn model(&self) -> State {
        State::default()
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = |caller: usize| -> Vec<Operation> {
            let operation = |number| match random.below(3) {
                0 => Operation::Read,
                _ => Operation::Add {
                    id: format!("c{caller}-{number}"),
                    amount: 1 + random.below(9) as u64,
                },
            };
            (0..3).map(operation).collect()
        };
        (0..callers).map(&mut program).collect()
    }

    fn walk(&self) -> Vec<Operation> {
        let add = |id: &str| Operation::Add {
            id: id.to_owned(),
            amount: 1,
        };
        vec![add("first"), Operation::Read, add("second")]
    }

    fn crossings(&self) -> Vec<Crossing<Operation>> {
        let mut walk = self.walk();
        let second = walk.remove(2);
        let first = walk.remove(0);
        vec![Crossing {
            before: Vec::new(),
            first,
            second,
        }]
    }

    fn run(&self, store: &dyn Store, operation: &Operation, _: Client) -> Outcome<u64> {
        let result = match operation {
            Operation::Add { id, amount } => add(store, id, *amount),
            Operation::Read => read(store).map(|(state, _)| state.sum),
        };
        match result {
            Ok(answer) => Outcome::Done(answer),
            Err(error) => Outcome::Again(error.message),
        }
    }

    fn renamed(&self, operation: &Operation, attempt: u32) -> Operation {
        match operation {
            Operation::Add { id, amount } => Operation::Add {
                id: format!("{id}-{attempt}"),
                amount: *amount,
            },
            Operation::Read => Operation::Read,
        }
    }

    fn apply(&self, model: &mut State, operation: &Operation, answer: Option<&u64>) -> bool {
        let said = match operation {
            Operation::Add { id, amount } => {
                if model.ids.insert(id.clone()) {
                    model.sum += amount;
                }
                *amount
            }
            Operation::Read => model.sum,
        };
        answer.is_none_or(|answer| *answer == said)
    }

    fn look(&self, store: &dyn Store) -> Result<u64, String> {
        let (state, _) = read(store).map_err(|error| error.message)?;
        Ok(state.sum)
    }

    fn shown(&self, model: &State) -> u64 {
        model.sum
    }
}
