//! `tenants.open`, `touch` and `usage` with a repair, while another program adds members to the same document: a
//! user begins once and whole, whoever opens it finds the same files, and no change of a member is lost.

use std::collections::BTreeSet;

use haversack_core::format::json_member::set_member;
use haversack_core::format::user_meta::UserMeta;
use haversack_core::ops::tenants::{
    OpenRequest, TemplateFile, TouchRequest, UsageAnswer, UsageRequest, open, touch, usage,
};
use haversack_core::store::{
    Answer as StoreAnswer, Body, BodyKind, Condition, GetRequest, PutOptions, Range, Request,
    Store, StoreErrorCode,
};
use haversack_core::types::{Error, ErrorCode, Home};
use haversack_host::store::MemoryStore;
use haversack_host::store::faulty::Random;

use crate::bridge::Bridge;
use crate::scenario::{Client, Crossing, Outcome, Scenario};
use crate::scheduler::START_MS;

const META: &str = "users/user_1/meta.json";
const FILES: [&str; 2] = ["config/clawdbot.json", "workspace/notes.md"];

#[derive(Clone)]
pub struct Tenants {
    /// Whether an earlier life of the user left its name.
    pub purged: bool,
}

#[derive(Clone, Debug)]
pub enum Operation {
    /// With a template whose files hold this text.
    Open {
        text: String,
        at_ms: u64,
    },
    Touch {
        at_ms: u64,
    },
    Count,
    /// A member more, by a program that knows nothing of haversack.
    Mark {
        id: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// What the template's files hold.
    Files(Vec<String>),
    Done,
    /// There is no such user.
    Absent,
}

/// A user as its document says.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    last_active_ms: u64,
    marks: BTreeSet<String>,
}

/// And what somebody was told that its files hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    user: Option<User>,
    files: Option<Vec<String>>,
}

fn home() -> Home {
    Home {
        system: "moltbot".to_owned(),
        id: "user_1".to_owned(),
    }
}

fn key(file: &str) -> String {
    format!("users/user_1/{file}")
}

/// Text and version; an error as a client tells it.
fn get(store: &dyn Store, key: &str) -> Result<Option<(String, String)>, String> {
    let get = Request::Get(GetRequest {
        key: key.to_owned(),
        range: Range::Whole,
        kind: BodyKind::Text,
    });
    match store.read(vec![get]).remove(0) {
        Ok(StoreAnswer::Blob(Some(blob))) => {
            let text = String::from_utf8_lossy(blob.body.as_bytes()).into_owned();
            Ok(Some((text, blob.stat.version)))
        }
        Ok(_) => Ok(None),
        Err(error) => Err(error.message),
    }
}

fn files(store: &dyn Store) -> Result<Vec<String>, String> {
    let text = |file| {
        let found = get(store, &key(file))?;
        found.map_or(Err(format!("{file} is missing")), |(text, _)| Ok(text))
    };
    FILES.into_iter().map(text).collect()
}

fn mark(store: &dyn Store, id: &str) -> Outcome<Answer> {
    loop {
        let (text, version) = match get(store, META) {
            Ok(Some((text, _))) if text.contains("purged") => return Outcome::Done(Answer::Absent),
            Ok(Some(found)) => found,
            Ok(None) => return Outcome::Done(Answer::Absent),
            Err(what) => return Outcome::Again(what),
        };
        if text.contains(&format!("mark-{id}\"")) {
            return Outcome::Done(Answer::Done);
        }
        let Ok(text) = set_member(&text, &format!("/mark-{id}"), "1e400") else {
            return Outcome::Wrong(format!("not JSON: {text}"));
        };
        let options = PutOptions {
            condition: Condition::IfMatch(version),
            content_type: None,
            metadata: Vec::new(),
        };
        match store.put(META, Body::Text(text), options) {
            Ok(_) => return Outcome::Done(Answer::Done),
            Err(error) if error.code == StoreErrorCode::Conflict => {}
            Err(error) => return Outcome::Again(error.message),
        }
    }
}

/// A page a call, to the end.
fn count(store: &dyn Store) -> Result<UsageAnswer, Error> {
    let mut cursor = None;
    loop {
        let answer = usage(
            store,
            &UsageRequest {
                home: home(),
                pages: Some(1),
                cursor,
                tier: None,
                repair: true,
            },
        )?;
        cursor = answer.next.clone();
        if cursor.is_none() {
            return Ok(answer);
        }
    }
}

/// A user that is not there is an answer too.
fn settled(result: Result<(), Error>) -> Outcome<Answer> {
    match result {
        Err(error) if error.code == ErrorCode::NotFound => Outcome::Done(Answer::Absent),
        other => Outcome::of(other.map(|()| Answer::Done)),
    }
}

impl Scenario for Tenants {
    type Operation = Operation;
    type Answer = Answer;
    type Model = State;
    type View = Option<User>;

    fn name(&self) -> String {
        match self.purged {
            true => "tenants-purged".to_owned(),
            false => "tenants".to_owned(),
        }
    }

    fn store(&self) -> MemoryStore {
        let store = MemoryStore::new(false);
        if self.purged {
            let text = "{\"userId\":\"user_1\",\"state\":\"purged\"}\n";
            let options = PutOptions {
                condition: Condition::IfAbsent,
                content_type: None,
                metadata: Vec::new(),
            };
            let put = Bridge::plain(&store).put(META, Body::Text(text.to_owned()), options);
            put.expect("an empty store takes it");
        }
        store
    }

    fn model(&self) -> State {
        State::default()
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = |caller: usize| -> Vec<Operation> {
            let operation = |number| {
                let at_ms = START_MS + 20_000 * random.below(10) as u64;
                match random.below(6) {
                    0 | 1 => Operation::Open {
                        text: format!("of {caller}"),
                        at_ms,
                    },
                    2 | 3 => Operation::Touch { at_ms },
                    4 => Operation::Count,
                    _ => Operation::Mark {
                        id: format!("c{caller}-{number}"),
                    },
                }
            };
            (0..4).map(operation).collect()
        };
        (0..callers).map(&mut program).collect()
    }

    fn walk(&self) -> Vec<Operation> {
        vec![
            Operation::Touch { at_ms: START_MS },
            Operation::Open {
                text: "first".to_owned(),
                at_ms: START_MS,
            },
            Operation::Mark { id: "a".to_owned() },
            Operation::Touch {
                at_ms: START_MS + 60_000,
            },
            Operation::Count,
            Operation::Open {
                text: "second".to_owned(),
                at_ms: START_MS + 120_000,
            },
            Operation::Touch { at_ms: START_MS },
        ]
    }

    fn crossings(&self) -> Vec<Crossing<Operation>> {
        let open = |text: &str| Operation::Open {
            text: text.to_owned(),
            at_ms: START_MS,
        };
        let touch = Operation::Touch {
            at_ms: START_MS + 60_000,
        };
        let mark = Operation::Mark { id: "x".to_owned() };
        let pairs = [
            (Vec::new(), open("one"), open("another")),
            (Vec::new(), open("one"), touch.clone()),
            (Vec::new(), open("one"), Operation::Count),
            (Vec::new(), open("one"), mark.clone()),
            (vec![open("one")], Operation::Count, Operation::Count),
            (vec![open("one")], Operation::Count, touch.clone()),
            (vec![open("one")], Operation::Count, mark.clone()),
            (vec![open("one")], touch.clone(), touch),
        ];
        let crossing = |(before, first, second)| Crossing {
            before,
            first,
            second,
        };
        pairs.into_iter().map(crossing).collect()
    }

    fn run(&self, store: &dyn Store, operation: &Operation, _: Client) -> Outcome<Answer> {
        match operation {
            Operation::Open { text, at_ms } => {
                let file = |path: &str| TemplateFile {
                    path: path.to_owned(),
                    text: text.clone(),
                };
                let request = OpenRequest {
                    home: home(),
                    now_ms: *at_ms,
                    template: FILES.map(file).to_vec(),
                    workspace: true,
                    cursor: None,
                };
                match open(store, &request) {
                    Ok(answer) if answer.files.len() != FILES.len() => {
                        Outcome::Wrong(format!("{answer:?}"))
                    }
                    Ok(_) => match files(store) {
                        Ok(files) => Outcome::Done(Answer::Files(files)),
                        Err(what) => Outcome::Again(what),
                    },
                    Err(error) => Outcome::of(Err(error)),
                }
            }
            Operation::Touch { at_ms } => {
                let request = TouchRequest {
                    home: home(),
                    now_ms: *at_ms,
                };
                settled(touch(store, &request).map(drop))
            }
            Operation::Count => settled(count(store).map(drop)),
            Operation::Mark { id } => mark(store, id),
        }
    }

    fn apply(&self, model: &mut State, operation: &Operation, answer: Option<&Answer>) -> bool {
        let absent = answer.map(|answer| *answer == Answer::Absent);
        let user = match (&mut model.user, operation) {
            (user, Operation::Open { at_ms, .. }) => {
                user.get_or_insert_with(|| User {
                    last_active_ms: at_ms / 1_000 * 1_000,
                    marks: BTreeSet::new(),
                });
                let Some(Answer::Files(files)) = answer else {
                    return answer.is_none();
                };
                return model.files.get_or_insert_with(|| files.clone()) == files;
            }
            (None, _) => return absent.unwrap_or(true),
            (Some(user), _) => user,
        };
        match operation {
            Operation::Touch { at_ms } if *at_ms >= user.last_active_ms + 60_000 => {
                user.last_active_ms = at_ms / 1_000 * 1_000;
            }
            Operation::Mark { id } => {
                user.marks.insert(id.clone());
            }
            _ => {}
        }
        !absent.unwrap_or(false)
    }

    /// Whoever is told that the user is active finds it whole.
    fn look(&self, store: &dyn Store) -> Result<Option<User>, String> {
        let Some((text, _)) = get(store, META)? else {
            return Ok(None);
        };
        let meta = UserMeta::parse(&text).map_err(|error| error.message)?;
        match meta.state.as_deref() {
            Some("purged") => return Ok(None),
            Some("active") => drop(files(store)?),
            _ => {}
        }
        let marks = text.split("mark-").skip(1);
        let marks = marks.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
        Ok(Some(User {
            last_active_ms: meta.last_active_ms.ok_or("never active")?,
            marks: marks.collect(),
        }))
    }

    fn shown(&self, model: &State) -> Option<User> {
        model.user.clone()
    }

    /// A count by one alone is exact, and so is what it writes.
    fn finish(&self, store: &dyn Store) -> Result<(), String> {
        match count(store).and_then(|_| count(store)) {
            Ok(counted) if counted.stored_bytes != Some(counted.size_bytes) => {
                Err(format!("{counted:?}"))
            }
            Ok(_) => Ok(()),
            Err(error) if error.code == ErrorCode::NotFound => Ok(()),
            Err(error) => Err(error.message),
        }
    }
}

/// For planted faults.
pub fn is_meta(key: &str) -> bool {
    key == META
}
