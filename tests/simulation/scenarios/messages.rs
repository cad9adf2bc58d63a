//! `messages.append`, `history` and `refresh`: chat logs whose appends fold and count on the way, in a bucket and
//! as a single file, also into the user's figure. The log itself has a scenario of its own.

use std::collections::BTreeSet;

use haversack_core::ops::messages::{
    AppendRequest, HistoryRequest, RefreshRequest, append, history, refresh,
};
use haversack_core::ops::tenants::{UsageRequest, usage};
use haversack_core::store::{Body, Condition, PutOptions, Store};
use haversack_core::types::{ErrorCode, Home};
use haversack_host::store::MemoryStore;
use haversack_host::store::faulty::Random;

use crate::bridge::Bridge;
use crate::scenario::{Client, Crossing, Outcome, Scenario};
use crate::scheduler::START_MS;

/// It counts itself.
const META: &str = "{\"userId\":\"user_1\",\"storageUsedBytes\":41}";

#[derive(Clone, Copy)]
pub struct Chats {
    pub name: &'static str,
    pub appends: bool,
}

#[derive(Clone, Debug)]
pub enum Operation {
    Append { ids: Vec<String> },
    History,
    Refresh,
}

/// What a history answers, sorted; nothing for the rest.
type Answer = Option<Vec<String>>;

fn home() -> Home {
    Home {
        system: "moltbot".to_owned(),
        id: "user_1".to_owned(),
    }
}

fn message(id: &str) -> String {
    format!(r#"{{"id":"{id}","role":"user","content":"of {id}","timestamp":{START_MS}}}"#)
}

fn page(store: &dyn Store) -> Result<Result<Vec<String>, String>, haversack_core::types::Error> {
    let page = history(
        store,
        &HistoryRequest {
            home: home(),
            session_key: "main".to_owned(),
            limit: Some(1_000),
            before: None,
            tier: None,
            now_ms: None,
        },
    )?;
    if page.skipped > 0 || !page.problems.is_empty() {
        return Ok(Err(format!("{page:?}")));
    }
    let mut all: Vec<String> = page.messages.into_iter().map(|m| m.json).collect();
    all.sort();
    Ok(Ok(all))
}

/// How many metadata.json says there are; none for a session without messages.
fn count(store: &dyn Store) -> Result<Option<u64>, haversack_core::types::Error> {
    let request = RefreshRequest {
        home: home(),
        session_key: "main".to_owned(),
    };
    match refresh(store, &request) {
        Ok(known) => Ok(known.message_count),
        Err(error) if error.code == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Scenario for Chats {
    type Operation = Operation;
    type Answer = Answer;
    type Model = BTreeSet<String>;
    type View = Vec<String>;

    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn covers(&self) -> &'static [&'static str] {
        &["messages.append"]
    }

    fn store(&self) -> MemoryStore {
        let store = MemoryStore::new(self.appends);
        let options = PutOptions {
            condition: Condition::IfAbsent,
            content_type: None,
            metadata: Vec::new(),
        };
        let body = Body::Text(META.to_owned());
        let put = Bridge::plain(&store).put("users/user_1/meta.json", body, options);
        put.expect("an empty store takes it");
        store
    }

    fn model(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = |caller: usize| -> Vec<Operation> {
            let operation = |number| match random.below(6) {
                0 => Operation::History,
                1 | 2 => Operation::Refresh,
                _ => Operation::Append {
                    ids: (0..=random.below(2))
                        .map(|message| format!("c{caller}-{number}-{message}"))
                        .collect(),
                },
            };
            (0..5).map(operation).collect()
        };
        (0..callers).map(&mut program).collect()
    }

    /// Long enough that the head is sealed.
    fn walk(&self) -> Vec<Operation> {
        let append = |id: &str| Operation::Append {
            ids: vec![id.to_owned()],
        };
        let mut walk: Vec<Operation> = ["a", "b", "c", "d"]
            .into_iter()
            .flat_map(|id| [append(id), Operation::Refresh])
            .collect();
        walk.push(Operation::History);
        walk
    }

    fn crossings(&self) -> Vec<Crossing<Operation>> {
        let walk = self.walk();
        let append = Operation::Append {
            ids: vec!["x".to_owned()],
        };
        let pairs = [
            (Operation::Refresh, Operation::Refresh),
            (Operation::Refresh, append.clone()),
            (Operation::History, Operation::Refresh),
            (append.clone(), append),
        ];
        let crossing = |(first, second): (Operation, Operation)| Crossing {
            before: walk[..5].to_vec(),
            first,
            second,
        };
        pairs.into_iter().map(crossing).collect()
    }

    fn run(&self, store: &dyn Store, operation: &Operation, _: Client) -> Outcome<Answer> {
        match operation {
            Operation::Append { ids } => {
                let request = AppendRequest {
                    home: home(),
                    session_key: "main".to_owned(),
                    messages: ids.iter().map(|id| message(id)).collect(),
                    tier: None,
                };
                Outcome::of(append(store, &request).map(|_| None))
            }
            Operation::History => match page(store) {
                Ok(Ok(all)) => Outcome::Done(Some(all)),
                Ok(Err(what)) => Outcome::Wrong(what),
                Err(error) => Outcome::of(Err(error)),
            },
            Operation::Refresh => Outcome::of(count(store).map(|_| None)),
        }
    }

    fn renamed(&self, operation: &Operation, attempt: u32) -> Operation {
        match operation {
            Operation::Append { ids } => Operation::Append {
                ids: ids.iter().map(|id| format!("{id}-{attempt}")).collect(),
            },
            other => other.clone(),
        }
    }

    fn apply(
        &self,
        model: &mut BTreeSet<String>,
        operation: &Operation,
        answer: Option<&Answer>,
    ) -> bool {
        match operation {
            Operation::Append { ids } => {
                model.extend(ids.iter().map(|id| message(id)));
                true
            }
            Operation::Refresh => true,
            Operation::History => match answer {
                Some(Some(read)) => read.iter().eq(model.iter()),
                _ => true,
            },
        }
    }

    fn look(&self, store: &dyn Store) -> Result<Vec<String>, String> {
        page(store).map_err(|error| error.message)?
    }

    fn shown(&self, model: &BTreeSet<String>) -> Vec<String> {
        model.iter().cloned().collect()
    }

    /// metadata.json counts each message once; the user's figure may have missed what it was to be told, and holds
    /// nothing twice.
    fn finish(&self, store: &dyn Store) -> Result<(), String> {
        let all = self.look(store)?;
        let counted = count(store).map_err(|error| error.message)?;
        if counted.unwrap_or_default() != all.len() as u64 {
            return Err(format!("{counted:?} were counted of {all:?}"));
        }
        let request = UsageRequest {
            home: home(),
            pages: None,
            cursor: None,
            tier: None,
            repair: false,
        };
        let usage = usage(store, &request).map_err(|error| error.message)?;
        match usage.stored_bytes {
            Some(stored_bytes) if stored_bytes <= usage.size_bytes => Ok(()),
            _ => Err(format!("{usage:?}")),
        }
    }
}
