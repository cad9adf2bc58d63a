//! Retention of a user: swept, renewed, ended, restored and purged by several, while messages are appended and a file
//! is edited. What was acknowledged before anything is deleted can be found, where meta.json says that it lies.

use std::collections::BTreeSet;

use haversack_core::ops::messages;
use haversack_core::ops::retention::{
    EndRequest, Step, StepAnswer, StepRequest, apply, end, purge, renew, restore,
};
use haversack_core::store::{Body, Condition, PutOptions, Store};
use haversack_core::types::{Error, ErrorCode, Home};
use haversack_host::store::MemoryStore;
use haversack_host::store::faulty::Random;

use super::retention_reader::{self as reader, Standing, View};
use crate::scenario::{Client, Crossing, Outcome, Scenario};

/// Calls of one attempt: a sweep of these few objects takes about ten.
const CALLS_MAX: usize = 60;
/// What a client waits after a call that did not come through.
const AGAIN_MS: u64 = 1_100;

#[derive(Clone, Copy)]
pub struct Retention {
    pub name: &'static str,
    pub appends: bool,
    /// Whether the user was deleted before, and its copies are past their time.
    pub is_deleted: bool,
    /// Store requests of a call: the least takes two objects, so that a sweep has many calls.
    pub budget: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    Sweep,
    Renew,
    End,
    Restore,
    Purge,
    Append,
    Edit,
}

#[derive(Clone, Debug)]
pub struct Operation {
    id: String,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    Done,
    /// Everything lies in deleted/ now.
    Deleted,
    Purged,
    /// Nothing was done.
    Kept,
    /// Nothing is due: an attempt before that nobody heard of may have done it.
    Over,
    /// Not now.
    Refused,
    /// There is nothing left.
    Gone,
    /// Written, and a sweep may have been deleting at that moment.
    Late,
}

#[derive(Clone, Debug, PartialEq)]
pub struct State {
    view: View,
    ended: bool,
    due: bool,
    made: BTreeSet<String>,
}

fn home() -> Home {
    Home {
        system: "moltbot".to_owned(),
        id: "a".to_owned(),
    }
}

impl Retention {
    /// Call until it is settled, as a command does: after a pause where that helps. A sweep leaves what another has
    /// claimed.
    fn steps(
        &self,
        store: &dyn Store,
        id: &str,
        client: Client<'_>,
        call: fn(&dyn Store, &StepRequest) -> Result<StepAnswer, Error>,
    ) -> Result<StepAnswer, Error> {
        let mut from = None;
        let mut last = None;
        for _ in 0..CALLS_MAX {
            let request = StepRequest {
                home: home(),
                request_id: id.to_owned(),
                now_ms: client.time.begin_call(),
                retention_days: None,
                grace_days: None,
                budget_requests: Some(self.budget),
                continue_from: from.clone(),
            };
            match call(store, &request) {
                Ok(answer) => match answer.step {
                    Step::Again => from = answer.continue_from,
                    Step::Wait if answer.state != "restoring" => return Ok(answer),
                    Step::Wait => client.time.wait(answer.retry_after_ms.unwrap_or(AGAIN_MS)),
                    Step::Done | Step::Kept | Step::Blocked => return Ok(answer),
                },
                Err(error) if error.code == ErrorCode::Unavailable => {
                    client.time.wait(AGAIN_MS);
                    last = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::new(ErrorCode::Other, "too many steps")))
    }

    /// Write, and look before and after whether a sweep may be deleting.
    fn write(
        &self,
        store: &dyn Store,
        client: Client<'_>,
        write: impl FnOnce() -> Result<(), Error>,
    ) -> Outcome<Answer> {
        client.time.begin_call();
        let is_open = || reader::state(store).map(|state| ["active", "copying"].contains(&&*state));
        let answer = || {
            if !is_open()? {
                return Ok(Answer::Refused);
            }
            write()?;
            Ok(match is_open()? {
                true => Answer::Done,
                false => Answer::Late,
            })
        };
        Outcome::of(answer())
    }

    fn edit(&self, store: &dyn Store, id: &str) -> Result<(), Error> {
        let key = reader::CONFIG;
        let found = reader::get(store, key)?;
        let text = found.as_ref().map(|blob| blob.body.as_bytes().to_vec());
        let mut text = text.unwrap_or_default();
        let line = format!("{id}\n");
        if String::from_utf8_lossy(&text)
            .lines()
            .any(|line| line == id)
        {
            return Ok(());
        }
        text.extend(line.bytes());
        let options = PutOptions {
            condition: match found {
                Some(blob) => Condition::IfMatch(blob.stat.version),
                None => Condition::IfAbsent,
            },
            content_type: Some("application/json".to_owned()),
            metadata: vec![("kept".to_owned(), "yes".to_owned())],
        };
        let text = String::from_utf8_lossy(&text).into_owned();
        let put = store.put(key, Body::Text(text), options);
        put.map(drop).map_err(|error| error.about(key))
    }
}

fn answered(
    result: Result<StepAnswer, Error>,
    answer: impl Fn(&StepAnswer) -> Answer,
) -> Outcome<Answer> {
    match result {
        Ok(step) if step.step == Step::Blocked => Outcome::Wrong(format!("blocked: {step:?}")),
        Ok(step) if step.step == Step::Kept => Outcome::Done(Answer::Over),
        Ok(step) => Outcome::Done(answer(&step)),
        Err(error) if error.code == ErrorCode::NotFound => Outcome::Done(Answer::Gone),
        Err(error)
            if error.code == ErrorCode::Conflict
                && (error.message.contains("nothing to restore")
                    || error.message.contains("at this time")
                    || error.message.contains("is being restored")) =>
        {
            Outcome::Done(Answer::Refused)
        }
        Err(error) => Outcome::of(Err(error)),
    }
}

impl Scenario for Retention {
    type Operation = Operation;
    type Answer = Answer;
    type Model = State;
    type View = View;

    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn covers(&self) -> &'static [&'static str] {
        &[
            "retention.apply",
            "retention.end",
            "retention.purge",
            "retention.renew",
            "retention.restore",
        ]
    }

    fn weight(&self) -> u64 {
        8
    }

    fn store(&self) -> MemoryStore {
        MemoryStore::from_objects(self.appends, reader::objects(self.is_deleted))
    }

    fn model(&self) -> State {
        State {
            view: View {
                standing: match self.is_deleted {
                    true => Standing::Away,
                    false => Standing::Here,
                },
                sure: reader::contents(),
                maybe: BTreeSet::new(),
            },
            ended: true,
            due: true,
            made: BTreeSet::new(),
        }
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        use What::{Append, Edit, End, Purge, Renew, Restore, Sweep};
        let kinds: &[What] = match self.is_deleted {
            false => &[
                Sweep, Sweep, Sweep, Renew, Renew, End, Restore, Append, Edit, Edit,
            ],
            true => &[Purge, Purge, Restore, Restore, Renew, Sweep, End, Edit],
        };
        let mut program = |caller: usize| -> Vec<Operation> {
            let operation = |number| Operation {
                id: format!("c{caller}-{number}"),
                what: *random.pick(kinds),
            };
            (0..3).map(operation).collect()
        };
        (0..callers).map(&mut program).collect()
    }

    fn walk(&self) -> Vec<Operation> {
        use What::{Append, Edit, End, Purge, Renew, Restore, Sweep};
        let kinds: &[What] = match self.is_deleted {
            false => &[Edit, Append, Sweep, Restore, Renew, End, Edit],
            true => &[Purge, End],
        };
        let numbered = kinds.iter().enumerate();
        let operation = |(number, what): (usize, &What)| Operation {
            id: format!("w{number}"),
            what: *what,
        };
        numbered.map(operation).collect()
    }

    fn crossings(&self) -> Vec<Crossing<Operation>> {
        use What::{Append, Edit, Purge, Renew, Restore, Sweep};
        let pairs: &[(What, What)] = match self.is_deleted {
            false => &[
                (Sweep, Renew),
                (Sweep, Sweep),
                (Sweep, Edit),
                (Sweep, Append),
            ],
            true => &[(Restore, Purge), (Purge, Renew)],
        };
        let operation = |id: &str, what: What| Operation {
            id: id.to_owned(),
            what,
        };
        let crossing = |(first, second): &(What, What)| Crossing {
            before: Vec::new(),
            first: operation("first", *first),
            second: operation("second", *second),
        };
        pairs.iter().map(crossing).collect()
    }

    fn run(&self, store: &dyn Store, operation: &Operation, client: Client<'_>) -> Outcome<Answer> {
        let id = &operation.id;
        match operation.what {
            What::Sweep => answered(self.steps(store, id, client, apply), |step| {
                match step.step {
                    Step::Wait => Answer::Kept,
                    _ => Answer::Deleted,
                }
            }),
            What::Renew => answered(self.steps(store, id, client, renew), |_| Answer::Done),
            What::Restore => answered(self.steps(store, id, client, restore), |_| Answer::Done),
            What::Purge => answered(self.steps(store, id, client, purge), |step| {
                match step.state == "purged" {
                    true => Answer::Purged,
                    false => Answer::Kept,
                }
            }),
            What::End => {
                let request = EndRequest {
                    home: home(),
                    request_id: id.clone(),
                    now_ms: client.time.begin_call(),
                    ending: None,
                    retention_days: Some(0),
                };
                match end(store, &request) {
                    Ok(_) => Outcome::Done(Answer::Done),
                    Err(error) => answered(Err(error), |_| Answer::Done),
                }
            }
            What::Append => self.write(store, client, || {
                let request = messages::AppendRequest {
                    home: home(),
                    session_key: "main".to_owned(),
                    messages: vec![reader::message(id)],
                    tier: None,
                };
                messages::append(store, &request).map(drop)
            }),
            What::Edit => self.write(store, client, || self.edit(store, id)),
        }
    }

    fn renamed(&self, operation: &Operation, attempt: u32) -> Operation {
        Operation {
            id: format!("{}-{attempt}", operation.id),
            what: operation.what,
        }
    }

    fn apply(&self, model: &mut State, operation: &Operation, answer: Option<&Answer>) -> bool {
        let standing = model.view.standing;
        match answer {
            Some(Answer::Gone) => return standing == Standing::Gone,
            // Nothing was done, and its repeat may find something to do.
            Some(Answer::Kept | Answer::Refused) => return true,
            Some(Answer::Over) if operation.what != What::Sweep => return true,
            _ => {}
        }
        // What changes nothing is not remembered.
        let is_new = !model.made.contains(&operation.id);
        let before = (model.view.standing, model.ended, model.due);
        let may = self.happen(model, operation, answer, is_new);
        if before != (model.view.standing, model.ended, model.due) {
            model.made.insert(operation.id.clone());
        }
        may
    }

    fn look(&self, store: &dyn Store) -> Result<View, String> {
        reader::look(store)
    }

    fn shown(&self, model: &State) -> View {
        model.view.clone()
    }

    /// Nothing is half done, nothing is there twice, and of a purged user nothing is left.
    fn finish(&self, store: &dyn Store) -> Result<(), String> {
        reader::finish(store)
    }
}

impl Retention {
    /// What an operation that was not refused makes of the model, and whether it may answer so.
    fn happen(
        &self,
        model: &mut State,
        operation: &Operation,
        answer: Option<&Answer>,
        is_new: bool,
    ) -> bool {
        let standing = model.view.standing;
        let did = !matches!(answer, None | Some(Answer::Over));
        match operation.what {
            What::Append | What::Edit => {
                let is_sure = answer == Some(&Answer::Done);
                let id = operation.id.clone();
                match is_sure {
                    true => model.view.sure.insert(id),
                    false => model.view.maybe.insert(id),
                };
                true
            }
            // A repeat does nothing.
            _ if !is_new => true,
            What::Sweep => match standing {
                Standing::Here if model.ended && model.due => {
                    model.view.standing = Standing::Away;
                    true
                }
                Standing::Here => !did,
                _ => true,
            },
            What::Renew => {
                if standing == Standing::Gone {
                    return !did;
                }
                model.view.standing = Standing::Here;
                model.ended = false;
                true
            }
            What::Restore => {
                if standing == Standing::Away {
                    model.view.standing = Standing::Here;
                    model.due = false;
                }
                standing != Standing::Gone || !did
            }
            What::End => {
                if standing == Standing::Here && !model.ended {
                    model.ended = true;
                    model.due = true;
                }
                true
            }
            What::Purge => {
                if standing == Standing::Away {
                    model.view.standing = Standing::Gone;
                }
                standing != Standing::Here || !did
            }
        }
    }
}
