//! Setting up the workspace of a thread: once, whoever does it, and the marker only when everything is there.

use std::collections::BTreeMap;

use haversack_core::ops::files::{self, Viewer};
use haversack_core::ops::threads::{ConfigureRequest, configure};
use haversack_core::store::Store;
use haversack_core::types::{ErrorCode, Home};
use haversack_host::store::faulty::Random;

use crate::scenario::{Client, Crossing, Outcome, Scenario};

#[derive(Clone)]
pub struct Threads;

/// Configure the thread at this second.
#[derive(Clone, Debug, PartialEq)]
pub struct Configure {
    second: u64,
}

const MARKER: &str = "/.workspace_configured";
const OTHERS: [&str; 2] = ["/.bashrc", "/package.json"];

fn home() -> Home {
    Home {
        system: "solven".to_owned(),
        id: "t1".to_owned(),
    }
}

fn viewer() -> Viewer {
    Viewer {
        home: home(),
        session_key: None,
        main_key: None,
        user: None,
        ticket: None,
    }
}

impl Scenario for Threads {
    type Operation = Configure;
    /// When the thread was configured, in seconds.
    type Answer = u64;
    type Model = Option<u64>;
    /// Whether it is.
    type View = bool;

    fn name(&self) -> String {
        "threads".to_owned()
    }

    fn model(&self) -> Self::Model {
        None
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Configure>> {
        let mut program = |caller: usize| -> Vec<Configure> {
            let operation = |number: u64| Configure {
                second: 1_000 + caller as u64 * 10 + number + random.below(100) as u64,
            };
            (0..2).map(operation).collect()
        };
        (0..callers).map(&mut program).collect()
    }

    fn walk(&self) -> Vec<Configure> {
        vec![Configure { second: 1_000 }, Configure { second: 2_000 }]
    }

    fn crossings(&self) -> Vec<Crossing<Configure>> {
        vec![Crossing {
            before: Vec::new(),
            first: Configure { second: 1_000 },
            second: Configure { second: 2_000 },
        }]
    }

    fn run(&self, store: &dyn Store, operation: &Configure, _: Client) -> Outcome<u64> {
        let request = ConfigureRequest {
            home: home(),
            now_ms: operation.second * 1_000,
        };
        let configured = configure(store, &request);
        Outcome::of(configured.map(|answer| answer.configured_ms.unwrap_or_default() / 1_000))
    }

    fn apply(&self, model: &mut Self::Model, operation: &Configure, answer: Option<&u64>) -> bool {
        let since = *model.get_or_insert(operation.second);
        answer.is_none_or(|answer| *answer == since)
    }

    fn look(&self, store: &dyn Store) -> Result<bool, String> {
        let mut there = BTreeMap::new();
        // The marker first: what it promises is there by then.
        for path in [MARKER].into_iter().chain(OTHERS) {
            let read = match files::read(store, &viewer(), path, None) {
                Ok(file) => Some(file.text),
                Err(error) if error.code == ErrorCode::NotFound => None,
                Err(error) => return Err(error.message),
            };
            there.insert(path, read);
        }
        let is_configured = there[MARKER].is_some();
        match OTHERS
            .iter()
            .find(|path| is_configured && there[**path].is_none())
        {
            Some(path) => Err(format!("the marker is there, and {path} is not")),
            None => Ok(is_configured),
        }
    }

    fn shown(&self, model: &Self::Model) -> bool {
        model.is_some()
    }
}
