//! Plays a schedule: a thread a caller, of which one goes on at a time, clients that try again, a reader
//! that looks after every change. Answers what happened and what was wrong with it.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use haversack_host::store::faulty::{FaultyStore, Run, Step};
use haversack_host::store::{BlobStore, MemoryStore};

use crate::bridge::{Bridge, Stopped, block_on};
use crate::order::{Event, unexplained};
use crate::scenario::{Client, Outcome, Scenario, Time};
use crate::schedule::{Schedule, Trouble};

/// The time at which runs begin.
pub const START_MS: u64 = 1_771_500_000_000;
/// Tries of one operation: with six faults in a run at most, more means that it never succeeds.
const TRIES_MAX: u32 = 40;
/// When operations are repeated that were long acknowledged, or left.
const REPEATED_AFTER_MS: u64 = 3_600_000;
/// What a client waits before it tries again: longer than R2's rule asks.
const RETRY_MS: u64 = 1_100;

/// A host ends a call after so long.
const CALL_DEADLINE_MS: u64 = 60_000;
/// Leases hold where the clocks of hosts differ by no more.
const CLOCKS_DIFFER_MS: u64 = 30_000;

/// How a run went.
pub struct Played {
    pub failure: Option<String>,
    /// What went wrong on purpose; a plan of these steps is the same run.
    pub taken: Vec<Step>,
    pub trace: Vec<String>,
}

/// What happens in a run, as it happens.
struct History<S: Scenario> {
    events: Vec<Event<S>>,
    failure: Option<String>,
    /// Operations that were left after a stop, by index.
    abandoned: Vec<usize>,
}

struct Stage<S: Scenario> {
    scenario: Arc<S>,
    inner: Arc<MemoryStore>,
    history: Mutex<History<S>>,
}

impl<S: Scenario> Stage<S> {
    fn lock(&self) -> MutexGuard<'_, History<S>> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, event: Event<S>) {
        self.lock().events.push(event);
    }

    fn fail(&self, failure: String) {
        self.lock().failure.get_or_insert(failure);
    }

    fn look(&self) {
        let store = Bridge::plain(&*self.inner);
        let seen = catch_unwind(AssertUnwindSafe(|| self.scenario.look(&store)));
        match seen {
            Ok(Ok(view)) => self.note(Event::Looked(view)),
            Ok(Err(half)) => self.fail(format!("a reader fails: {half}")),
            Err(panic) => self.fail(format!("a reader panics: {}", said(&*panic))),
        }
    }

    /// One attempt, whose answer is noted.
    fn attempt(&self, store: &Bridge, operation: &S::Operation, client: Client<'_>) -> Attempt<S> {
        let ran = AssertUnwindSafe(|| self.scenario.run(store, operation, client));
        match catch_unwind(ran) {
            Ok(Outcome::Done(answer)) => Attempt::Done(answer),
            Ok(Outcome::Again(why)) => Attempt::Again(why),
            Ok(Outcome::Wrong(what)) => Attempt::Wrong(format!("{operation:?}: {what}")),
            Err(payload) if payload.is::<Stopped>() => Attempt::Stopped,
            Err(panic) => Attempt::Wrong(format!("{operation:?} panics: {}", said(&*panic))),
        }
    }
}

/// Time as the calls of a run make it pass.
struct RunTime<'a> {
    run: &'a Run,
    store: &'a FaultyStore,
}

impl Time for RunTime<'_> {
    fn begin_call(&self) -> u64 {
        self.store.begin_call(CALL_DEADLINE_MS, CLOCKS_DIFFER_MS)
    }

    fn wait(&self, for_ms: u64) {
        self.run.wait(for_ms);
    }
}

/// Time after all callers: it passes where somebody waits.
struct LateTime(Cell<u64>);

impl Time for LateTime {
    fn begin_call(&self) -> u64 {
        self.0.get()
    }

    fn wait(&self, for_ms: u64) {
        self.0.set(self.0.get() + for_ms);
    }
}

enum Attempt<S: Scenario> {
    Done(S::Answer),
    Again(String),
    Stopped,
    Wrong(String),
}

/// Play `schedule` from the scenario's beginning to its end, and check it.
pub fn play<S: Scenario>(scenario: &Arc<S>, schedule: &Schedule<S>, traced: bool) -> Played {
    let stage = Arc::new(Stage {
        scenario: scenario.clone(),
        inner: Arc::new(scenario.store()),
        history: Mutex::new(History {
            events: Vec::new(),
            failure: None,
            abandoned: Vec::new(),
        }),
    });
    let callers = schedule.programs.len();
    let mut run = match &schedule.trouble {
        Trouble::Seeded(seed) => Run::seeded(*seed, callers, START_MS),
        Trouble::Planned(steps) => Run::planned(steps.clone(), callers, START_MS),
    };
    if traced {
        run = run.traced();
    }
    let watcher = stage.clone();
    let run = Arc::new(run.watched(move || watcher.look()));
    let mut operations: Vec<S::Operation> = Vec::new();
    let mut programs = Vec::new();
    for program in &schedule.programs {
        let first = operations.len();
        operations.extend(program.iter().map(|(_, operation)| operation.clone()));
        programs.push((first, program));
    }
    thread::scope(|scope| {
        let mut programs = programs.into_iter().enumerate();
        let own = programs.next();
        for (caller, (first, program)) in programs {
            let (stage, run) = (&stage, &run);
            scope.spawn(move || call_all(stage, run, caller, first, program));
        }
        if let Some((caller, (first, program))) = own {
            call_all(&stage, &run, caller, first, program);
        }
    });
    let ended = run.ended();
    if ended.is_none() {
        finish(&stage, &run, &mut operations, schedule.repeats);
    }
    let mut history = stage.lock();
    let events = std::mem::take(&mut history.events);
    let failure = history.failure.take().or(ended);
    Played {
        failure: failure.or_else(|| unexplained(&**scenario, &operations, &events)),
        taken: run.taken(),
        trace: run.trace(),
    }
}

/// What one caller does: its operations one after the other, each until it is acknowledged.
fn call_all<S: Scenario>(
    stage: &Stage<S>,
    run: &Arc<Run>,
    caller: usize,
    first: usize,
    program: &[(usize, S::Operation)],
) {
    let inner: Arc<dyn BlobStore> = stage.inner.clone();
    let store = FaultyStore::new(inner, run.clone(), caller);
    'operations: for (index, (number, operation)) in program.iter().enumerate() {
        let index = first + index;
        block_on(store.begin(*number), || false);
        if run.ended().is_some() {
            return;
        }
        stage.note(Event::Called(index));
        let made_ms = store.now_ms();
        run.note(|| {
            let at_ms = made_ms as i64 - START_MS as i64;
            format!("caller {caller} begins operation {number} at {at_ms} ms: {operation:?}")
        });
        let bridge = Bridge::of(&store);
        let mut attempt = 0;
        for _ in 0..TRIES_MAX {
            let time = RunTime { run, store: &store };
            let client = Client {
                made_ms,
                attempt,
                time: &time,
            };
            match stage.attempt(&bridge, operation, client) {
                Attempt::Done(answer) => {
                    run.note(|| format!("caller {caller} hears {answer:?}"));
                    stage.note(Event::Answered(index, answer));
                    continue 'operations;
                }
                Attempt::Wrong(what) => return run.end(what),
                Attempt::Again(why) => {
                    run.note(|| format!("caller {caller} tries again: {why}"));
                    run.wait(RETRY_MS);
                    attempt += 1;
                }
                Attempt::Stopped if run.ended().is_some() => return,
                Attempt::Stopped if store.abandons() => {
                    stage.lock().abandoned.push(index);
                    continue 'operations;
                }
                Attempt::Stopped => run.note(|| format!("caller {caller} starts again")),
            }
        }
        return run.end(format!(
            "{operation:?} was not acknowledged in {TRIES_MAX} tries"
        ));
    }
}

/// After all callers: what was left is repeated; and whatever was acknowledged, if the schedule says so.
fn finish<S: Scenario>(
    stage: &Stage<S>,
    run: &Run,
    operations: &mut Vec<S::Operation>,
    repeats: bool,
) {
    stage.look();
    let store = Bridge::plain(&*stage.inner);
    let abandoned = std::mem::take(&mut stage.lock().abandoned);
    let made = operations.len();
    let time = LateTime(Cell::new(START_MS + REPEATED_AFTER_MS));
    for index in 0..made {
        let left = abandoned.contains(&index);
        if !left && !repeats {
            continue;
        }
        let operation = operations[index].clone();
        let index = if left {
            index
        } else {
            operations.push(operation.clone());
            stage.note(Event::Called(operations.len() - 1));
            operations.len() - 1
        };
        run.note(|| format!("in the end, once more: {operation:?}"));
        let client = Client {
            made_ms: START_MS + REPEATED_AFTER_MS,
            attempt: 0,
            time: &time,
        };
        match stage.attempt(&store, &operation, client) {
            Attempt::Done(answer) => {
                run.note(|| format!("it hears {answer:?}"));
                stage.note(Event::Answered(index, answer));
            }
            Attempt::Again(what) | Attempt::Wrong(what) => {
                stage.fail(format!(
                    "with nobody else and no fault, {operation:?}: {what}"
                ));
            }
            Attempt::Stopped => {}
        }
        stage.look();
    }
    // Of nothing nothing is left over.
    if made > 0
        && let Err(what) = stage.scenario.finish(&store)
    {
        stage.fail(what);
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no words".to_owned())
}
