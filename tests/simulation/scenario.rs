//! What a protocol says of itself to be simulated: operations, how to run one, what each means, what a
//! reader sees. Knows no schedule and no fault.

use std::fmt::Debug;

use haversack_core::store::Store;
use haversack_core::types::{Error, ErrorCode};
use haversack_host::store::MemoryStore;
use haversack_host::store::faulty::Random;

/// The time of one attempt, for clients that make several calls in it.
pub trait Time {
    /// A call begins, and the host ends it in its time; answers what the client's clock says.
    fn begin_call(&self) -> u64;
    /// The client waits before its next call.
    fn wait(&self, for_ms: u64);
}

/// What the client of one attempt knows.
#[derive(Clone, Copy)]
pub struct Client<'a> {
    /// What its clock said when it made the operation; the same in every attempt, as a message's time is.
    pub made_ms: u64,
    /// How many answers it has heard that were no acknowledgement. Every attempt has the same request id.
    pub attempt: u32,
    pub time: &'a dyn Time,
}

/// How one attempt ended.
#[derive(Clone, Debug)]
pub enum Outcome<A> {
    /// Acknowledged, or refused for good: the operation is over.
    Done(A),
    /// The client may try again with the same request id.
    Again(String),
    /// An answer that no run may give.
    Wrong(String),
}

impl<A> Outcome<A> {
    /// What a client does with an answer of the core: conflicts and outages are tried again.
    pub fn of(result: Result<A, Error>) -> Self {
        match result {
            Ok(answer) => Outcome::Done(answer),
            Err(error) => match error.code {
                ErrorCode::Conflict | ErrorCode::Unavailable => Outcome::Again(error.message),
                code => Outcome::Wrong(format!("{code:?}: {}", error.message)),
            },
        }
    }
}

/// Two operations to be crossed at every store call of either, after others have gone before.
pub struct Crossing<O> {
    pub before: Vec<O>,
    pub first: O,
    pub second: O,
}

/// A protocol under simulation, and its model: a plain value that operations change one after the other.
pub trait Scenario: Send + Sync + 'static {
    type Operation: Clone + Debug + Send + Sync;
    type Answer: Clone + Debug + PartialEq + Send;
    type Model: Clone + Debug + PartialEq;
    type View: Clone + Debug + PartialEq + Send;

    fn name(&self) -> String;
    /// The exported functions that it runs, as `interface.function`.
    fn covers(&self) -> &'static [&'static str] {
        &[]
    }
    /// How many runs of a small protocol one run of this is worth: so many fewer seeds it gets.
    fn weight(&self) -> u64 {
        1
    }
    /// The store that a run begins with.
    fn store(&self) -> MemoryStore {
        MemoryStore::new(false)
    }
    /// What that store means.
    fn model(&self) -> Self::Model;
    /// What `callers` do, a list each.
    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Self::Operation>>;
    /// A short list with every kind of operation, for stopping after every single store call of it.
    fn walk(&self) -> Vec<Self::Operation>;
    /// Pairs worth crossing at every store call.
    fn crossings(&self) -> Vec<Crossing<Self::Operation>> {
        Vec::new()
    }
    fn run(
        &self,
        store: &dyn Store,
        operation: &Self::Operation,
        client: Client<'_>,
    ) -> Outcome<Self::Answer>;
    /// The operation under another request id, as a client makes it that takes a lost answer for a failure.
    fn renamed(&self, operation: &Self::Operation, _attempt: u32) -> Self::Operation {
        operation.clone()
    }
    /// Let the operation happen to the model, and say whether it may answer so; `answer` is none where
    /// nobody heard it. A repeat under the same request id changes nothing and answers the same.
    fn apply(
        &self,
        model: &mut Self::Model,
        operation: &Self::Operation,
        answer: Option<&Self::Answer>,
    ) -> bool;
    /// What a reader sees at this moment; an error where it sees half of something.
    fn look(&self, store: &dyn Store) -> Result<Self::View, String>;
    /// What a reader of the model sees.
    fn shown(&self, model: &Self::Model) -> Self::View;
    /// What else holds once every operation is acknowledged, such as that nothing is left over.
    fn finish(&self, _store: &dyn Store) -> Result<(), String> {
        Ok(())
    }
}
