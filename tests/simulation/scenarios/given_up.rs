//! A compaction that is being committed, or was given up, when the session is reset: what was said stands in
//! one session once, and in a part only where its summary stands.

use std::collections::BTreeSet;

use haversack_core::ops::sessions::append;
use haversack_core::store::Store;
use haversack_host::store::MemoryStore;
use haversack_host::store::faulty::Random;

use super::compaction::{Compactions, appending, parts, turns};
use super::resetting;
use super::session_reader::{everything, keys, name_of, says, state};
use crate::scenario::{Client, Outcome, Scenario};
use crate::scheduler::START_MS;

/// Over the time after which a compaction counts as given up.
const LATER_MS: u64 = 600_000;

#[derive(Clone)]
pub struct GivenUp(pub Compactions);

#[derive(Clone, Debug)]
pub enum Operation {
    Say {
        id: String,
    },
    /// By a host that was ready before the run began.
    Commit {
        id: String,
    },
    /// A whole reset, at once or later.
    Reset {
        id: String,
        later: bool,
    },
}

impl GivenUp {
    /// Everything that was said, in order, once; none of it behind its own end.
    fn said(&self, store: &dyn Store) -> Result<Vec<String>, String> {
        let said = everything(store)?;
        let before: Vec<String> = turns().iter().map(|json| name_of(json)).collect();
        let is_message = |name: &&String| !name.starts_with('{');
        let mut names: Vec<String> = said.names.iter().filter(is_message).cloned().collect();
        let is_published = said.archived.iter().any(|name| name.starts_with('{'));
        let parts = parts(store)?;
        if is_published {
            let [part] = parts.as_slice() else {
                return Err(format!("a summary stands for {} parts", parts.len()));
            };
            names.splice(0..0, part.iter().cloned());
        }
        let (of_before, later): (Vec<_>, Vec<_>) = names
            .iter()
            .cloned()
            .partition(|name| before.contains(name));
        let once: BTreeSet<&String> = later.iter().collect();
        if of_before != before || once.len() != later.len() {
            return Err(format!(
                "not every message once, or out of order: {names:?}"
            ));
        }
        let late = said.late.into_iter().filter(|name| !name.starts_with('{'));
        Ok(later.into_iter().chain(late).collect())
    }
}

impl Scenario for GivenUp {
    type Operation = Operation;
    type Answer = ();
    /// The messages that were said.
    type Model = BTreeSet<String>;
    type View = BTreeSet<String>;

    fn name(&self) -> String {
        self.0.name.to_owned()
    }

    fn covers(&self) -> &'static [&'static str] {
        &[
            "compaction.commit",
            "sessions.append",
            "sessions.reset-begin",
        ]
    }

    fn weight(&self) -> u64 {
        4
    }

    fn store(&self) -> MemoryStore {
        self.0.store()
    }

    fn model(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = |caller: usize| -> Vec<Operation> {
            let operation = |number| {
                let id = format!("c{caller}-{number}");
                match random.below(4) {
                    0 => Operation::Say { id },
                    1 => Operation::Reset { id, later: false },
                    2 => Operation::Reset { id, later: true },
                    _ => Operation::Commit { id },
                }
            };
            (0..2).map(operation).collect()
        };
        (0..callers).map(&mut program).collect()
    }

    fn walk(&self) -> Vec<Operation> {
        let id = str::to_owned;
        vec![
            Operation::Commit { id: id("commit") },
            Operation::Reset {
                id: id("reset"),
                later: true,
            },
            Operation::Say { id: id("said") },
        ]
    }

    fn run(&self, store: &dyn Store, operation: &Operation, client: Client) -> Outcome<()> {
        match operation {
            Operation::Say { id } => {
                let request = appending(id, START_MS, vec![says(id, None)]);
                Outcome::of(append(store, &request).map(|_| ()))
            }
            // Whether it won or was told: nothing else is promised.
            Operation::Commit { id } => match self.0.commit(store, id, client.made_ms) {
                Outcome::Done(_) => Outcome::Done(()),
                Outcome::Again(what) if what.contains("is being reset") => Outcome::Done(()),
                Outcome::Again(what) => Outcome::Again(what),
                Outcome::Wrong(what) => Outcome::Wrong(what),
            },
            Operation::Reset { id, later } => {
                let now_ms = client.made_ms + LATER_MS * u64::from(*later);
                match resetting::run(store, id, now_ms, None) {
                    Outcome::Again(what) if what.contains("counts as given up") => {
                        Outcome::Done(())
                    }
                    outcome => outcome,
                }
            }
        }
    }

    fn renamed(&self, operation: &Operation, attempt: u32) -> Operation {
        let mut renamed = operation.clone();
        let (Operation::Say { id } | Operation::Commit { id } | Operation::Reset { id, .. }) =
            &mut renamed;
        *id = format!("{id}-{attempt}");
        renamed
    }

    fn apply(&self, model: &mut BTreeSet<String>, operation: &Operation, _: Option<&()>) -> bool {
        if let Operation::Say { id } = operation {
            model.insert(id.clone());
        }
        true
    }

    fn look(&self, store: &dyn Store) -> Result<BTreeSet<String>, String> {
        Ok(self.said(store)?.into_iter().collect())
    }

    fn shown(&self, model: &BTreeSet<String>) -> BTreeSet<String> {
        model.clone()
    }

    /// Nothing is pending, no piece is left over, and a part is there only with its summary.
    fn finish(&self, store: &dyn Store) -> Result<(), String> {
        let record = state(store)?.ok_or("the session is gone")?;
        if let Some(pending) = &record.pending {
            return Err(format!("in the end {pending:?} is pending"));
        }
        let is_summary = |name: &String| name.starts_with('{');
        let summaries = everything(store)?
            .names
            .iter()
            .filter(|name| is_summary(name))
            .count();
        let parts = parts(store)?.len();
        if parts != summaries {
            return Err(format!(
                "in the end {summaries} summaries stand for {parts} parts"
            ));
        }
        let keys = keys(store, "agents/hera/sessions/")?;
        match keys.iter().find(|key| key.contains("/pieces/")) {
            Some(key) => Err(format!("in the end {key} is left over")),
            None => Ok(()),
        }
    }
}
