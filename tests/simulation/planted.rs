//! Faults planted into correct protocols, at the seam: each turns the calls of a right protocol into those
//! of a wrong one, and the simulation has to notice. Knows keys only through what it is given.

use std::cell::RefCell;
use std::collections::BTreeMap;

use haversack_core::store::{
    Answer, Body, Condition, GetRequest, PutOptions, Request, Source, Store, StoreErrorCode,
    StoreResult,
};
use haversack_host::store::MemoryStore;
use haversack_host::store::faulty::Random;

use crate::scenario::{Client, Crossing, Outcome, Scenario};

/// Which keys a breakage is about.
pub type Keys = fn(&str) -> bool;

#[derive(Clone, Copy)]
pub enum Breakage {
    /// Conditions of puts and concats to these keys are dropped.
    Unconditional(Keys),
    /// What the operation has read is deleted before it is preserved, not after.
    DeletesBefore { sources: Keys, target: Keys },
    /// New objects get the first free name instead of one of their own.
    ReusesNames(fn(&str, u32) -> Option<String>),
    /// What a look at one of these keys has found, every later look finds.
    SeesOnce(Keys),
    /// The text of these objects is read as another.
    Misreads(Keys, fn(&str) -> String),
    /// The client takes a lost answer for a failure, and comes again under another request id.
    LostIsFailure,
}

/// A scenario with one thing broken.
pub struct Planted<S> {
    pub name: &'static str,
    pub scenario: S,
    pub breakage: Breakage,
}

impl<S: Scenario> Scenario for Planted<S> {
    type Operation = S::Operation;
    type Answer = S::Answer;
    type Model = S::Model;
    type View = S::View;

    fn name(&self) -> String {
        format!("planted/{}/{}", self.scenario.name(), self.name)
    }

    fn store(&self) -> MemoryStore {
        self.scenario.store()
    }

    fn model(&self) -> S::Model {
        self.scenario.model()
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<S::Operation>> {
        self.scenario.programs(random, callers)
    }

    fn walk(&self) -> Vec<S::Operation> {
        self.scenario.walk()
    }

    fn crossings(&self) -> Vec<Crossing<S::Operation>> {
        self.scenario.crossings()
    }

    fn run(
        &self,
        store: &dyn Store,
        operation: &S::Operation,
        client: Client<'_>,
    ) -> Outcome<S::Answer> {
        let broken = Broken {
            inner: store,
            breakage: self.breakage,
            read: RefCell::default(),
            seen: RefCell::default(),
        };
        match self.breakage {
            Breakage::LostIsFailure if client.attempt > 0 => {
                let renamed = self.scenario.renamed(operation, client.attempt);
                self.scenario.run(store, &renamed, client)
            }
            _ => self.scenario.run(&broken, operation, client),
        }
    }

    fn apply(
        &self,
        model: &mut S::Model,
        operation: &S::Operation,
        answer: Option<&S::Answer>,
    ) -> bool {
        self.scenario.apply(model, operation, answer)
    }

    fn look(&self, store: &dyn Store) -> Result<S::View, String> {
        self.scenario.look(store)
    }

    fn shown(&self, model: &S::Model) -> S::View {
        self.scenario.shown(model)
    }

    fn finish(&self, store: &dyn Store) -> Result<(), String> {
        self.scenario.finish(store)
    }
}

/// The store as one attempt of the broken protocol uses it.
struct Broken<'a> {
    inner: &'a dyn Store,
    breakage: Breakage,
    /// Sources that the attempt has read so far.
    read: RefCell<Vec<String>>,
    /// What looks have found so far.
    seen: RefCell<BTreeMap<String, Answer>>,
}

impl Broken<'_> {
    /// What becomes of a write to `key` before it is made.
    fn before_write(&self, key: &str, options: &mut PutOptions) {
        match self.breakage {
            Breakage::Unconditional(keys) if keys(key) => options.condition = Condition::Always,
            Breakage::DeletesBefore { target, .. } if target(key) => {
                let sources = self.read.take();
                if !sources.is_empty() {
                    self.inner.delete(sources);
                }
            }
            _ => {}
        }
    }

    /// What the operation makes of an answer.
    fn believed(&self, request: &Request, answer: Answer) -> Answer {
        match (self.breakage, request, answer) {
            (Breakage::SeesOnce(keys), Request::Head(key), answer) if keys(key) => {
                let mut seen = self.seen.borrow_mut();
                seen.entry(key.clone()).or_insert(answer).clone()
            }
            (
                Breakage::Misreads(keys, misread),
                Request::Get(get),
                Answer::Blob(Some(mut blob)),
            ) if keys(&get.key) => {
                let text = String::from_utf8_lossy(blob.body.as_bytes());
                blob.body = Body::Text(misread(&text));
                Answer::Blob(Some(blob))
            }
            (_, _, answer) => answer,
        }
    }

    /// Put under the first free name.
    fn put_free(&self, names: impl Iterator<Item = String>, body: &Body) -> StoreResult<String> {
        let mut last = Ok(String::new());
        for name in names {
            let options = PutOptions {
                condition: Condition::IfAbsent,
                content_type: None,
                metadata: Vec::new(),
            };
            last = self.inner.put(&name, body.clone(), options);
            if !matches!(&last, Err(error) if error.code == StoreErrorCode::Conflict) {
                break;
            }
        }
        last
    }
}

impl Store for Broken<'_> {
    fn describe(&self) -> Vec<(String, String)> {
        self.inner.describe()
    }

    fn read(&self, wave: Vec<Request>) -> Vec<StoreResult<Answer>> {
        for request in &wave {
            if let Request::Get(GetRequest { key, .. }) | Request::Head(key) = request
                && let Breakage::DeletesBefore { sources, .. } = self.breakage
                && sources(key)
            {
                self.read.borrow_mut().push(key.clone());
            }
        }
        let answers = self.inner.read(wave.clone()).into_iter().zip(wave);
        let believed = |(answer, request): (StoreResult<Answer>, Request)| {
            answer.map(|answer| self.believed(&request, answer))
        };
        answers.map(believed).collect()
    }

    fn put(&self, key: &str, body: Body, mut options: PutOptions) -> StoreResult<String> {
        self.before_write(key, &mut options);
        if let Breakage::ReusesNames(free) = self.breakage
            && free(key, 0).is_some()
        {
            return self.put_free((0..100).filter_map(|number| free(key, number)), &body);
        }
        self.inner.put(key, body, options)
    }

    fn append(&self, key: &str, body: Body, at_bytes: u64) -> StoreResult<u64> {
        self.inner.append(key, body, at_bytes)
    }

    fn concat(
        &self,
        sources: Vec<Source>,
        to: &str,
        mut options: PutOptions,
    ) -> StoreResult<String> {
        self.before_write(to, &mut options);
        self.inner.concat(sources, to, options)
    }

    fn delete(&self, keys: Vec<String>) -> Vec<StoreResult<()>> {
        self.inner.delete(keys)
    }
}
