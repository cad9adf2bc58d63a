//! `sessions.mirror`: hosts that pass one session of their own, each in its own pages, while it is compacted,
//! reset, or was begun with appends. Every message is at its place, once, whatever the clocks say.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use haversack_core::ops::sessions::{StatusRequest, append, mirror, status};
use haversack_core::store::Store;
use haversack_core::types::Error;
use haversack_host::store::MemoryStore;
use haversack_host::store::faulty::Random;
use haversack_host::store::memory::Objects;

use super::mirror_host::{
    Answer, appending, commit_ready, name, number_of, page, pass, ready_of, reset, say,
};
use super::session_reader::{KEY, archived, given, home, keys, late, live, name_of, state};
use crate::bridge::Bridge;
use crate::scenario::{Client, Crossing, Outcome, Scenario};
use crate::scheduler::START_MS;

/// Messages of each of the host's sessions, and what a session to be compacted begins with.
const MESSAGES: u64 = 5;
const BEGUN: u64 = 12;

/// What the key has when a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Nobody resets then: there is nothing to begin with.
    Nothing,
    /// One of the host's, with its first message.
    Own,
    /// A session that takes appends, and is to be reset to the host's.
    Appends,
    /// One of the host's that a host is ready to compact.
    Ready,
}

#[derive(Clone)]
pub struct Mirrors {
    pub name: &'static str,
    pub appends: bool,
    pub begin: Begin,
}

#[derive(Clone, Debug)]
pub enum Operation {
    /// One page of the session with this number.
    Pass {
        session: usize,
        first: u64,
        count: u64,
    },
    Append {
        id: String,
    },
    /// From the session with this number to the next, to its end.
    Reset {
        session: usize,
        id: String,
    },
    Commit {
        id: String,
    },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The number of the session of now.
    current: usize,
    /// Messages of each of the host's sessions.
    held: [u64; 4],
    appended: BTreeSet<String>,
}

/// What lies there when a run begins, and a host's state that is ready for the commit.
#[derive(Clone, Default)]
struct Beginning {
    objects: Objects,
    ready: String,
}

impl Mirrors {
    fn beginning(&self) -> &'static Beginning {
        static BEGINNINGS: [[OnceLock<Beginning>; 4]; 2] =
            [const { [const { OnceLock::new() }; 4] }; 2];
        BEGINNINGS[usize::from(self.appends)][self.begin as usize].get_or_init(|| {
            self.begun()
                .unwrap_or_else(|error| panic!("no beginning: {error}"))
        })
    }

    fn begun(&self) -> Result<Beginning, Error> {
        let inner = MemoryStore::new(self.appends);
        let store = Bridge::plain(&inner);
        let mut ready = String::new();
        match self.begin {
            Begin::Nothing => {}
            Begin::Own => drop(mirror(&store, &page(0, 0, 1, START_MS))?),
            Begin::Appends => {
                append(&store, &appending("begin", START_MS))?;
            }
            Begin::Ready => {
                mirror(&store, &page(0, 0, BEGUN, START_MS))?;
                ready = ready_of(&store)?;
            }
        }
        let objects = inner.objects().clone();
        Ok(Beginning { objects, ready })
    }
}

impl Scenario for Mirrors {
    type Operation = Operation;
    type Answer = Answer;
    type Model = State;
    type View = State;

    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn weight(&self) -> u64 {
        match self.begin {
            Begin::Own => 8,
            Begin::Appends => 4,
            Begin::Nothing => 1,
            Begin::Ready => 4,
        }
    }

    fn store(&self) -> MemoryStore {
        MemoryStore::from_objects(self.appends, self.beginning().objects.clone())
    }

    fn model(&self) -> State {
        let mut state = State::default();
        match self.begin {
            Begin::Nothing => {}
            Begin::Own => state.held[0] = 1,
            Begin::Appends => drop(state.appended.insert("begin".to_owned())),
            Begin::Ready => state.held[0] = BEGUN,
        }
        state
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = |caller: usize| {
            let id = |number: usize| format!("c{caller}-{number}");
            let mut all = Vec::new();
            if self.begin == Begin::Appends {
                let many = random.below(3);
                all.extend((0..many).map(|number| Operation::Append { id: id(number) }));
                all.push(reset_of(0, id(10)));
            }
            let sessions = match self.begin {
                Begin::Own => 0..2,
                Begin::Appends => 1..2,
                Begin::Nothing | Begin::Ready => 0..1,
            };
            for session in sessions {
                let mut first = self.model().held[session];
                let end = first + MESSAGES;
                if session > 0 && self.begin == Begin::Own {
                    all.push(reset_of(session - 1, id(20)));
                }
                while first < end {
                    let count = (1 + random.below(4) as u64).min(end - first);
                    all.push(Operation::Pass {
                        session,
                        first,
                        count,
                    });
                    first += count;
                    // Now and then a host begins a page before its end.
                    first -= u64::from(first < end && count > 1 && random.below(3) == 0);
                }
            }
            if self.begin == Begin::Ready {
                let at = random.below(all.len());
                all.insert(at, Operation::Commit { id: id(30) });
            }
            all
        };
        (0..callers).map(&mut program).collect()
    }

    fn walk(&self) -> Vec<Operation> {
        let id = |text: &str| text.to_owned();
        match self.begin {
            Begin::Nothing => vec![pass_of(0, 0, 2), pass_of(0, 1, 3), pass_of(0, 4, 1)],
            Begin::Own => vec![
                pass_of(0, 0, 2),
                pass_of(0, 1, 3),
                reset_of(0, id("r0")),
                pass_of(1, 0, 1),
                reset_of(1, id("r1")),
                reset_of(2, id("r2")),
            ],
            Begin::Appends => vec![
                Operation::Append { id: id("a") },
                reset_of(0, id("r0")),
                pass_of(1, 0, 2),
                Operation::Append { id: id("b") },
                pass_of(1, 1, 3),
            ],
            Begin::Ready => vec![
                pass_of(0, BEGUN - 1, 2),
                Operation::Commit { id: id("c") },
                pass_of(0, BEGUN + 1, 2),
            ],
        }
    }

    fn crossings(&self) -> Vec<Crossing<Operation>> {
        let crossing = |before, first, second| Crossing {
            before,
            first,
            second,
        };
        let id = |text: &str| text.to_owned();
        match self.begin {
            Begin::Nothing => vec![crossing(vec![], pass_of(0, 0, 3), pass_of(0, 0, 2))],
            Begin::Own => vec![
                crossing(vec![], pass_of(0, 1, 2), pass_of(0, 0, 3)),
                crossing(vec![], pass_of(0, 1, 2), reset_of(0, id("r"))),
            ],
            Begin::Appends => vec![crossing(
                vec![],
                Operation::Append { id: id("a") },
                reset_of(0, id("r")),
            )],
            Begin::Ready => vec![
                crossing(
                    vec![],
                    pass_of(0, BEGUN, 2),
                    Operation::Commit { id: id("c") },
                ),
                crossing(
                    vec![Operation::Commit { id: id("c") }],
                    pass_of(0, BEGUN, 3),
                    pass_of(0, BEGUN, 1),
                ),
            ],
        }
    }

    fn run(&self, store: &dyn Store, operation: &Operation, client: Client) -> Outcome<Answer> {
        let now_ms = client.made_ms;
        match operation {
            Operation::Pass {
                session,
                first,
                count,
            } => pass(store, *session, *first, *count, now_ms),
            Operation::Append { id } => say(store, id, now_ms),
            Operation::Commit { id } => commit_ready(store, &self.beginning().ready, id, now_ms),
            Operation::Reset { session, id } => reset(store, *session, id, now_ms),
        }
    }

    fn renamed(&self, operation: &Operation, attempt: u32) -> Operation {
        let mut renamed = operation.clone();
        match &mut renamed {
            Operation::Pass { .. } => {}
            Operation::Append { id }
            | Operation::Reset { id, .. }
            | Operation::Commit { id, .. } => *id = format!("{id}-{attempt}"),
        }
        renamed
    }

    fn apply(&self, model: &mut State, operation: &Operation, answer: Option<&Answer>) -> bool {
        let is_over = answer == Some(&Answer::Over);
        match operation {
            Operation::Pass { session, .. } if is_over => model.current > *session,
            Operation::Pass { session, first, .. } if answer == Some(&Answer::TooEarly) => {
                model.current < *session || model.held[*session] < *first
            }
            Operation::Pass {
                session,
                first,
                count,
            } => {
                let held = &mut model.held[*session];
                let fits = *held >= *first && model.current >= *session;
                *held = (*held).max(first + count);
                fits
            }
            Operation::Append { .. } if is_over => model.current > 0,
            Operation::Append { id } => {
                model.appended.insert(id.clone());
                true
            }
            Operation::Reset { session, .. } if answer == Some(&Answer::TooEarly) => {
                model.current < *session
            }
            Operation::Reset { session, .. } => {
                model.current = model.current.max(session + 1);
                true
            }
            Operation::Commit { .. } => true,
        }
    }

    /// Every session that the key has or had: at each place what belongs there.
    fn look(&self, store: &dyn Store) -> Result<State, String> {
        let mut seen = State::default();
        let Some(state) = state(store)? else {
            return Ok(seen);
        };
        seen.current = number_of(&state.session_id);
        let sessions = state.previous.iter().chain([&state.session_id]);
        for session in sessions {
            let number = number_of(session);
            let late = late(store, session)?;
            let names: Vec<String> = match archived(store, session)? {
                Some(lines) => lines.iter().map(|json| name_of(json)).collect(),
                None => live(store, Some(session))?
                    .iter()
                    .filter(|message| !message.is_summary)
                    .map(|message| name_of(&message.json))
                    .filter(|name| !late.contains(name))
                    .collect(),
            };
            if number == 0 && self.begin == Begin::Appends {
                seen.appended.extend(names.iter().cloned());
                if seen.appended.len() < names.len() {
                    return Err(format!("something stands twice: {names:?}"));
                }
                continue;
            }
            seen.held[number] = names.len() as u64;
            let places = 0..names.len() as u64;
            if !places
                .map(|place| name(number, place))
                .eq(names.iter().cloned())
            {
                return Err(format!("out of place: {names:?}"));
            }
        }
        self.check_given(store, seen.held[seen.current], seen.current)?;
        Ok(seen)
    }

    fn shown(&self, model: &State) -> State {
        model.clone()
    }

    /// No reset is pending, all is counted once the last page is passed again, nothing is left of logs that are over.
    fn finish(&self, store: &dyn Store) -> Result<(), String> {
        let Some(state) = state(store)? else {
            return Ok(());
        };
        let seen = self.look(store)?;
        let request = StatusRequest {
            home: home(),
            session_key: KEY.to_owned(),
        };
        let held = seen.held[seen.current];
        if held > 0 {
            let last = page(seen.current, held - 1, 1, START_MS);
            mirror(store, &last).map_err(|error| error.message)?;
        }
        let status = status(store, &request).map_err(|error| error.message)?;
        if state.pending_reset().is_some()
            || (state.mirrored.is_some() && status.counts.messages != held)
        {
            return Err(format!("in the end {held} are held, and {status:?}"));
        }
        for key in keys(store, "agents/hera/sessions/")? {
            let is_over = |session: &String| key.contains(session.as_str());
            let is_of_the_log = !key.ends_with(".jsonl.gz") && !key.contains("/pieces/");
            if state.previous.iter().any(is_over) && is_of_the_log {
                return Err(format!("in the end {key} is left"));
            }
        }
        Ok(())
    }
}

impl Mirrors {
    /// A model is given all messages, or a summary and the newest of them.
    fn check_given(&self, store: &dyn Store, held: u64, session: usize) -> Result<(), String> {
        if held == 0 {
            return Ok(());
        }
        let context = given(store)?;
        let is_short = context.messages.first().is_some_and(|m| m.is_summary);
        let own = context.messages.iter().skip(usize::from(is_short));
        let names: Vec<String> = own.map(|message| name_of(&message.json)).collect();
        let first = held.saturating_sub(names.len() as u64);
        let expected = (first..held).map(|place| name(session, place));
        match expected.eq(names.iter().cloned()) && (is_short == (first > 0)) {
            true => Ok(()),
            false => Err(format!("of {held} messages a model is given {names:?}")),
        }
    }
}

fn pass_of(session: usize, first: u64, count: u64) -> Operation {
    Operation::Pass {
        session,
        first,
        count,
    }
}

fn reset_of(session: usize, id: String) -> Operation {
    Operation::Reset { session, id }
}
