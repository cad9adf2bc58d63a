//! `compaction.commit`: hosts that have asked a model about the same messages and commit at once, while
//! others append. Every message is in a part or in what a model is given, once; there is one part.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use haversack_core::format::message::Message;
use haversack_core::ops::compaction::{
    BeginRequest, CommitRequest, Conditions, Next, Reply, Session, Settings, begin, commit, resume,
};
use haversack_core::ops::sessions::{AppendRequest, TranscriptRequest, append, transcript};
use haversack_core::store::Store;
use haversack_core::transform::compaction::Facts;
use haversack_core::transform::compaction::pairing::check;
use haversack_core::types::{ErrorCode, Problem};
use haversack_host::store::MemoryStore;
use haversack_host::store::faulty::Random;
use haversack_host::store::memory::Objects;

use super::session_reader::{
    KEY, SEED, compactions, given, home, keys, memories, name_of, says, state,
};
use crate::bridge::Bridge;
use crate::scenario::{Client, Outcome, Scenario};
use crate::scheduler::START_MS;

/// Turns before the compaction.
const TURNS: usize = 4;
/// How the section of the day begins that a compaction writes, once for all that the model remembers.
const SECTION: &str = "### Extracted from context compaction";
/// Calls of a commit that nobody disturbs.
const CALLS_MAX: usize = 20;

#[derive(Clone)]
pub struct Compactions {
    pub name: &'static str,
    pub appends: bool,
    pub with_model: bool,
}

#[derive(Clone, Debug)]
pub enum Operation {
    Say {
        id: String,
        at_ms: u64,
    },
    /// By a host that was ready before the run began.
    Commit {
        id: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    Said,
    /// This one's summary is published.
    Won,
    /// Somebody else's is, or is about to be.
    Told,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    said: BTreeSet<String>,
    winner: Option<String>,
}

/// What lies there when a run begins, and a host's state that is ready for the commit.
struct Beginning {
    objects: Objects,
    ready: String,
}

fn session() -> Session {
    Session {
        home: home(),
        session_key: KEY.to_owned(),
    }
}

/// Turns of a working agent: a question, a call, its result, an answer.
pub fn turns() -> Vec<String> {
    let turn = |number: usize| {
        let (call, result) = (format!("call{number}"), "out ".repeat(100));
        [
            says(&format!("q{number}"), None),
            format!(
                r#"{{"says":"{call}","role":"assistant","content":[{{"type":"toolCall","id":"{call}","name":"Bash","arguments":{{}}}}]}}"#
            ),
            format!(
                r#"{{"says":"r{number}","role":"toolResult","toolCallId":"{call}","toolName":"Bash","content":"{result}"}}"#
            ),
            format!(r#"{{"says":"a{number}","role":"assistant","content":"{result}"}}"#),
        ]
    };
    (0..TURNS).flat_map(turn).collect()
}

pub fn appending(id: &str, at_ms: u64, messages: Vec<String>) -> AppendRequest {
    AppendRequest {
        home: home(),
        session_key: KEY.to_owned(),
        request_id: id.to_owned(),
        seed: SEED.to_owned(),
        now_ms: at_ms,
        messages,
    }
}

impl Compactions {
    fn beginning(&self) -> &'static Beginning {
        static BEGINNINGS: [[OnceLock<Beginning>; 2]; 2] =
            [const { [const { OnceLock::new() }; 2] }; 2];
        let [appends, with_model] = [self.appends, self.with_model].map(usize::from);
        BEGINNINGS[appends][with_model].get_or_init(|| {
            self.begun()
                .unwrap_or_else(|what| panic!("nothing to compact: {what}"))
        })
    }

    fn begun(&self) -> Result<Beginning, String> {
        let inner = MemoryStore::new(self.appends);
        let store = Bridge::plain(&inner);
        append(&store, &appending("turns", START_MS - 1_000, turns())).map_err(|e| e.message)?;
        let request = BeginRequest {
            conditions: Conditions {
                session: session(),
                window_tokens: 2_000,
                system_tokens: 0,
                settings: Some(Settings {
                    keep_recent_tokens: 300,
                    ..Settings::default()
                }),
            },
            force: true,
            with_model: self.with_model,
            now_ms: START_MS,
            utc_offset_minutes: 0,
        };
        let mut step = begin(&store, &request).map_err(|error| error.message)?;
        while let Next::Ask(_) = step.next {
            let text = "<summary>s</summary><memories>- m</memories>".to_owned();
            step = resume(&store, &session(), &step.state, &Reply::Text(text))
                .map_err(|error| error.message)?;
        }
        match step.next {
            Next::Ready(_) => Ok(Beginning {
                objects: inner.objects().clone(),
                ready: step.state,
            }),
            other => Err(format!("{other:?}")),
        }
    }

    /// The commit by a host that was ready; the inner error is the message of the one that was quicker.
    pub fn commit(&self, store: &dyn Store, id: &str, now_ms: u64) -> Outcome<Result<(), String>> {
        let request = CommitRequest {
            session: session(),
            state: self.beginning().ready.clone(),
            request_id: id.to_owned(),
            now_ms,
        };
        for _ in 0..CALLS_MAX {
            match commit(store, &request) {
                Ok(answer) if answer.committed.is_none() => {}
                Ok(_) => return Outcome::Done(Ok(())),
                Err(error)
                    if error.code == ErrorCode::Conflict
                        && error.message.contains("begin again") =>
                {
                    return Outcome::Done(Err(error.message));
                }
                Err(error) => return Outcome::of(Err(error)),
            }
        }
        Outcome::Wrong(format!("not committed in {CALLS_MAX} calls"))
    }
}

/// Who is told that somebody else was quicker: there has to be somebody.
fn told(store: &dyn Store, id: &str, why: String) -> Outcome<Answer> {
    match state(store) {
        Err(what) => Outcome::Again(what),
        Ok(Some(record)) if record.last_part_ms > 0 => Outcome::Done(Answer::Told),
        Ok(_) => Outcome::Wrong(format!("{id} is alone, and is told: {why}")),
    }
}

/// The archives of parts, each with the names in it.
pub fn parts(store: &dyn Store) -> Result<Vec<Vec<String>>, String> {
    let keys = keys(store, "agents/hera/sessions/")?;
    let parts = keys
        .iter()
        .filter(|key| key.ends_with(".jsonl.gz") && key.contains("-part"));
    let mut found = Vec::new();
    for key in parts {
        let session = key
            .rsplit('/')
            .next()
            .and_then(|name| name.split("-part").next());
        let request = TranscriptRequest {
            home: home(),
            session_id: session.unwrap_or_default().to_owned(),
            parts: true,
            cursor: None,
            limit: None,
        };
        let mut page = transcript(store, &request).map_err(|error| error.message)?;
        // One that nobody published is told, and its messages are the archive's alone.
        let is_left = |problem: &Problem| problem.message.contains("given up");
        let left: Vec<Problem> = page.problems.extract_if(.., |it| is_left(it)).collect();
        if !page.problems.is_empty() {
            return Err(format!("{key} has problems: {:?}", page.problems));
        }
        if left.iter().any(|problem| problem.key == *key) {
            continue;
        }
        let of_it = page.messages.iter().filter(|message| message.key == *key);
        found.push(of_it.map(|message| name_of(&message.json)).collect());
    }
    Ok(found)
}

impl Scenario for Compactions {
    type Operation = Operation;
    type Answer = Answer;
    type Model = State;
    type View = State;

    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn covers(&self) -> &'static [&'static str] {
        &["compaction.commit", "sessions.append"]
    }

    fn weight(&self) -> u64 {
        4
    }

    fn store(&self) -> MemoryStore {
        MemoryStore::from_objects(self.appends, self.beginning().objects.clone())
    }

    fn model(&self) -> State {
        State::default()
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = |caller: usize| -> Vec<Operation> {
            let operation = |number| {
                let id = format!("c{caller}-{number}");
                match random.below(2) {
                    0 => Operation::Commit { id },
                    _ => Operation::Say {
                        id,
                        // Also by clocks that are behind.
                        at_ms: START_MS - 5_000 + 2_500 * random.below(4) as u64,
                    },
                }
            };
            (0..2).map(operation).collect()
        };
        (0..callers).map(&mut program).collect()
    }

    fn walk(&self) -> Vec<Operation> {
        vec![
            Operation::Say {
                id: "early".to_owned(),
                at_ms: START_MS - 5_000,
            },
            Operation::Commit {
                id: "commit".to_owned(),
            },
        ]
    }

    fn run(&self, store: &dyn Store, operation: &Operation, client: Client) -> Outcome<Answer> {
        match operation {
            Operation::Say { id, at_ms } => {
                let request = appending(id, *at_ms, vec![says(id, None)]);
                Outcome::of(append(store, &request).map(|_| Answer::Said))
            }
            Operation::Commit { id } => match self.commit(store, id, client.made_ms) {
                Outcome::Done(Ok(())) => Outcome::Done(Answer::Won),
                Outcome::Done(Err(why)) => told(store, id, why),
                Outcome::Again(what) => Outcome::Again(what),
                Outcome::Wrong(what) => Outcome::Wrong(what),
            },
        }
    }

    fn renamed(&self, operation: &Operation, attempt: u32) -> Operation {
        let mut renamed = operation.clone();
        let (Operation::Say { id, .. } | Operation::Commit { id }) = &mut renamed;
        *id = format!("{id}-{attempt}");
        renamed
    }

    fn apply(&self, model: &mut State, operation: &Operation, answer: Option<&Answer>) -> bool {
        match (operation, answer) {
            (Operation::Say { id, .. }, _) => {
                model.said.insert(id.clone());
                true
            }
            (Operation::Commit { .. }, Some(Answer::Told)) => true,
            (Operation::Commit { id }, answer) => {
                let winner = model.winner.get_or_insert_with(|| id.clone());
                answer.is_none() || winner == id
            }
        }
    }

    fn look(&self, store: &dyn Store) -> Result<State, String> {
        let context = given(store)?;
        let facts: Result<Vec<Facts>, _> = context
            .messages
            .iter()
            .map(|message| Message::parse(&message.json).map(|message| Facts::of(&message)))
            .collect();
        let facts = facts.map_err(|fault| fault.to_string())?;
        if let Err(breach) = check(&facts) {
            return Err(format!("no provider takes the context: {breach:?}"));
        }
        if !context.repairs.is_empty() {
            return Err(format!("the context is repaired: {:?}", context.repairs));
        }
        let summaries = compactions(store)?;
        let (summary, kept): (Vec<_>, Vec<_>) =
            context.messages.into_iter().partition(|m| m.is_summary);
        let kept: Vec<String> = kept.iter().map(|message| name_of(&message.json)).collect();
        let parts = parts(store)?;
        let published = !summaries.is_empty();
        if summaries.len() > 1 || summary.len() != summaries.len() || parts.len() > 1 {
            return Err(format!(
                "{} parts, summaries {summaries:?}, of which {} are given",
                parts.len(),
                summary.len()
            ));
        }
        let part = parts.into_iter().next().unwrap_or_default();
        if !published && !kept.starts_with(&part) {
            return Err(format!("{part:?} is a part, and no beginning of {kept:?}"));
        }
        let whole = match published {
            true => [part, kept].concat(),
            false => kept,
        };
        let before: Vec<String> = turns().iter().map(|json| name_of(json)).collect();
        let (of_before, later): (Vec<_>, Vec<_>) = whole
            .iter()
            .cloned()
            .partition(|name| before.contains(name));
        let said: BTreeSet<String> = later.iter().cloned().collect();
        if of_before != before || said.len() != later.len() {
            return Err(format!(
                "not every message once, or out of order: {whole:?}"
            ));
        }
        let remembered = memories(store)?.matches(SECTION).count();
        let expected = usize::from(self.with_model);
        if remembered > expected || published && remembered != expected {
            return Err(format!("it is remembered {remembered} times"));
        }
        Ok(State {
            said,
            winner: summaries.into_iter().next(),
        })
    }

    fn shown(&self, model: &State) -> State {
        model.clone()
    }

    /// Who claimed has come to the end, and nothing else is left.
    fn finish(&self, store: &dyn Store) -> Result<(), String> {
        let record = state(store)?.ok_or("the session is gone")?;
        if let Some(pending) = &record.pending {
            return Err(format!("in the end {pending:?} is pending"));
        }
        let published = self.look(store)?.winner.is_some();
        if published != (record.last_part_ms > 0) {
            return Err(format!(
                "claimed {}, published {published}",
                record.last_part_ms
            ));
        }
        let keys = keys(store, "agents/hera/sessions/")?;
        match keys.iter().find(|key| key.contains("/pieces/")) {
            Some(key) => Err(format!("in the end {key} is left over")),
            None => Ok(()),
        }
    }
}
