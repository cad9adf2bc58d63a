//! Appends to a session key that is reset meanwhile, with memories or without: every message is in one
//! session, memories are written once, and media go only behind an archive.

use std::collections::BTreeSet;

use haversack_core::ops::sessions::{AppendRequest, StatusRequest, append, status};
use haversack_core::store::Store;
use haversack_core::types::Error;
use haversack_host::store::faulty::Random;
use haversack_host::store::memory::{Object, Objects};
use haversack_host::store::{Condition, MemoryStore, check};

use super::resetting;
use super::session_reader::{
    KEY, SEED, Said, everything, given, home, keys, live, memories, says, state,
};
use crate::scenario::{Client, Outcome, Scenario};
use crate::scheduler::START_MS;

/// Media that are never orphans by their age.
const UPLOADED_MS: u64 = START_MS * 2;
const CALLERS_MAX: usize = 3;

/// Appends and resets of one key.
#[derive(Clone)]
pub struct Sessions {
    pub name: &'static str,
    pub appends: bool,
    /// Whether resets ask a model for memories.
    pub remembers: bool,
}

#[derive(Clone, Debug)]
pub enum Operation {
    /// Two requests, the second after the answer to the first: two messages, of which one shows a medium,
    /// then one. Their time is the message's own, so that every repeat has it.
    Say { id: String, at_ms: u64 },
    /// A whole reset, with whatever the model answers.
    Reset { id: String },
}

/// The messages of one [`Operation::Say`], in the order in which they were said.
fn names(id: &str) -> [String; 3] {
    ["0", "1", "2"].map(|number| format!("{id}.{number}"))
}

fn id_of(caller: usize, number: usize) -> String {
    format!("c{caller}-{number}")
}

/// The medium of a caller's first append; the others have none.
fn medium(id: &str) -> Option<String> {
    let caller: usize = id.strip_prefix('c')?.strip_suffix("-0")?.parse().ok()?;
    Some(format!(
        "media/{KEY}/00000000-0000-4000-8000-00000000000{caller}.png"
    ))
}

/// The line that the model has a session remembered by.
fn remembered(session_id: &str) -> String {
    format!("- of {session_id}")
}

fn append_of(id: &str, request: &str, at_ms: u64, messages: Vec<String>) -> AppendRequest {
    AppendRequest {
        home: home(),
        session_key: KEY.to_owned(),
        request_id: format!("{id}-{request}"),
        seed: SEED.to_owned(),
        now_ms: at_ms,
        messages,
    }
}

fn say(store: &dyn Store, id: &str, at_ms: u64) -> Result<(), Error> {
    let [first, second, third] = names(id);
    let messages = vec![says(&first, None), says(&second, medium(id).as_deref())];
    append(store, &append_of(id, "a", at_ms, messages))?;
    append(
        store,
        &append_of(id, "b", at_ms + 1, vec![says(&third, None)]),
    )?;
    Ok(())
}

impl Sessions {
    /// What holds at every moment.
    fn check(&self, store: &dyn Store, said: &Said) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        if let Some(twice) = said.names.iter().find(|name| !seen.insert(*name)) {
            return Err(format!("{twice} stands twice: {:?}", said.names));
        }
        let live_now = &said.names[said.names.len() - said.live..];
        if said.archived.len() + said.live > 0 {
            let context = given(store)?;
            let lines = live(store, None)?.into_iter().map(|message| message.json);
            if !lines.eq(context.messages.into_iter().map(|message| message.json)) {
                return Err(format!("the context is not what is live: {live_now:?}"));
            }
        }
        let there = keys(store, "media/")?;
        for name in said.names.iter().chain(&said.late) {
            let key = name.strip_suffix(".1").and_then(medium);
            if let Some(key) = key
                && !there.contains(&key)
                && !said.archived.contains(name)
            {
                return Err(format!("{key} is gone, and {name} is in no archive"));
            }
        }
        let memories = memories(store)?;
        for session in &said.archives {
            let times = memories.matches(&remembered(session)).count();
            if times > usize::from(self.remembers) {
                return Err(format!("{session} is remembered {times} times"));
            }
        }
        Ok(())
    }
}

impl Scenario for Sessions {
    type Operation = Operation;
    type Answer = ();
    /// The appends that happened.
    type Model = BTreeSet<String>;
    type View = BTreeSet<String>;

    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn covers(&self) -> &'static [&'static str] {
        match self.remembers {
            true => &[
                "sessions.append",
                "sessions.reset-begin",
                "sessions.reset-resume",
                "sessions.reset-commit",
            ],
            false => &[
                "sessions.append",
                "sessions.reset-begin",
                "sessions.reset-commit",
            ],
        }
    }

    fn weight(&self) -> u64 {
        8
    }

    fn store(&self) -> MemoryStore {
        let mut objects = Objects::new();
        for caller in 0..CALLERS_MAX {
            let mut options = check::plain(Condition::Always);
            options.metadata = vec![("uploadedAt".to_owned(), UPLOADED_MS.to_string())];
            let key = medium(&id_of(caller, 0)).unwrap_or_default();
            objects.insert(key, Object::new(b"png".to_vec(), options, 0));
        }
        MemoryStore::from_objects(self.appends, objects)
    }

    fn model(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = |caller: usize| -> Vec<Operation> {
            let operation = |number| {
                let id = id_of(caller, number);
                match random.below(5) {
                    0 | 1 => Operation::Reset { id },
                    _ => Operation::Say {
                        id,
                        at_ms: START_MS + random.below(4) as u64,
                    },
                }
            };
            // Together fewer requests than a session key remembers over its resets.
            (0..if callers > 2 { 2 } else { 3 })
                .map(operation)
                .collect()
        };
        (0..callers).map(&mut program).collect()
    }

    fn walk(&self) -> Vec<Operation> {
        let say = |number: usize| Operation::Say {
            id: id_of(0, number),
            at_ms: START_MS + 10 * number as u64,
        };
        let reset = |id: &str| Operation::Reset { id: id.to_owned() };
        vec![
            say(0),
            reset("first"),
            say(1),
            say(2),
            reset("second"),
            say(3),
        ]
    }

    fn run(&self, store: &dyn Store, operation: &Operation, _: Client) -> Outcome<()> {
        match operation {
            Operation::Say { id, at_ms } => Outcome::of(say(store, id, *at_ms)),
            Operation::Reset { id } => {
                let model: &dyn Fn(&str) -> String = &remembered;
                resetting::run(
                    store,
                    id,
                    START_MS + 60_000,
                    self.remembers.then_some(model),
                )
            }
        }
    }

    fn renamed(&self, operation: &Operation, attempt: u32) -> Operation {
        let mut renamed = operation.clone();
        let (Operation::Say { id, .. } | Operation::Reset { id }) = &mut renamed;
        *id = format!("{id}-{attempt}");
        renamed
    }

    fn apply(&self, model: &mut BTreeSet<String>, operation: &Operation, _: Option<&()>) -> bool {
        if let Operation::Say { id, .. } = operation {
            model.insert(id.clone());
        }
        true
    }

    /// Appends of which everything is there, in its order; of one that goes on its first request may be.
    fn look(&self, store: &dyn Store) -> Result<Self::View, String> {
        let said = everything(store)?;
        self.check(store, &said)?;
        let place = |name: &String| said.names.iter().position(|there| there == name);
        let mut whole = BTreeSet::new();
        for name in &said.names {
            let Some(id) = name.strip_suffix(".0") else {
                continue;
            };
            let [first, second, third] = names(id).each_ref().map(place);
            if second != first.map(|first| first + 1) {
                return Err(format!("{id} is not in one piece: {:?}", said.names));
            }
            if third.is_some_and(|third| Some(third) < first) {
                return Err(format!("{id} is out of order: {:?}", said.names));
            }
            if third.is_some() || said.late.contains(&names(id)[2]) {
                whole.insert(id.to_owned());
            }
        }
        Ok(whole)
    }

    fn shown(&self, model: &BTreeSet<String>) -> Self::View {
        model.clone()
    }

    /// Nothing is pending, nothing is left of logs that are over, and what was archived is done with.
    fn finish(&self, store: &dyn Store) -> Result<(), String> {
        let Some(state) = state(store)? else {
            return Ok(());
        };
        if let Some(pending) = &state.pending {
            return Err(format!("in the end {pending:?} is pending"));
        }
        let said = everything(store)?;
        if !said.late.is_empty() {
            return Err(format!("in the end {:?} lie in no session", said.late));
        }
        let there = keys(store, "agents/hera/sessions/")?;
        for key in &there {
            let is_over = |session: &String| key.contains(session.as_str());
            if state.previous.iter().any(is_over) && !key.ends_with(".jsonl.gz") {
                return Err(format!(
                    "in the end {key} is left of a session that is over"
                ));
            }
        }
        let media = keys(store, "media/")?;
        for name in &said.archived {
            if let Some(key) = name.strip_suffix(".1").and_then(medium)
                && media.contains(&key)
            {
                return Err(format!(
                    "in the end {key} is left of a session that is over"
                ));
            }
        }
        let memories = memories(store)?;
        for session in &said.archives {
            if self.remembers && !memories.contains(&remembered(session)) {
                return Err(format!("in the end {session} is not remembered"));
            }
        }
        let request = StatusRequest {
            home: home(),
            session_key: KEY.to_owned(),
        };
        let status = status(store, &request).map_err(|error| error.message)?;
        match status.has_messages == (said.live > 0)
            && status.counts.messages <= said.live as u64
            && status.epoch >= said.archives.len() as u64
        {
            true => Ok(()),
            false => Err(format!("{} messages live, and {status:?}", said.live)),
        }
    }
}
