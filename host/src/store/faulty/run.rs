//! One run of several callers: whose turn it is, what time it is, what went wrong so far. Exactly one caller
//! goes on at a time, so a run is a function of its seed or plan. Knows keys and outcomes, no store.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use super::chooser::{Chooser, Kind};
use super::plan::{At, Fault, Step};

/// What every store call takes.
const CALL_MS: u64 = 20;
/// R2 takes one write to a key in this time.
const RATE_RULE_MS: u64 = 1_000;
/// Store calls in one run: a run with more goes round in a circle.
const CALLS_MAX: u32 = 20_000;

/// Shared by the [`FaultyStore`](super::FaultyStore)s of all callers.
pub struct Run {
    state: Mutex<State>,
    changed: Option<Watch>,
}

/// What looks at the store whenever it has changed.
type Watch = Box<dyn Fn() + Send + Sync>;

struct State {
    chooser: Chooser,
    taken: Vec<Step>,
    callers: Vec<Caller>,
    running: usize,
    now_ms: u64,
    rate_rule: bool,
    written_ms: BTreeMap<String, u64>,
    calls: u32,
    ended: Option<String>,
    trace: Option<Vec<String>>,
}

#[derive(Default)]
struct Caller {
    done: bool,
    stopped: bool,
    operation: usize,
    call: u32,
    clock_back_ms: u64,
    /// When the host ends the call that is under way.
    ends_ms: Option<u64>,
    waker: Option<Waker>,
}

/// What is to become of a call whose turn has come.
pub(super) struct Turn {
    pub at: At,
    pub fault: Option<Fault>,
}

impl Run {
    /// A run of `callers` that begins at `now_ms`; what goes wrong comes from `seed`.
    pub fn seeded(seed: u64, callers: usize, now_ms: u64) -> Self {
        Run::new(Chooser::seeded(seed), callers, now_ms)
    }

    /// A run in which exactly `steps` go wrong, as far as it comes to them.
    pub fn planned(steps: Vec<Step>, callers: usize, now_ms: u64) -> Self {
        Run::new(Chooser::planned(steps), callers, now_ms)
    }

    fn new(chooser: Chooser, callers: usize, now_ms: u64) -> Self {
        let rate_rule = chooser.rate_rule();
        let state = State {
            chooser,
            taken: rate_rule.then_some(Step::RateRule).into_iter().collect(),
            callers: (0..callers).map(|_| Caller::default()).collect(),
            running: 0,
            now_ms,
            rate_rule,
            written_ms: BTreeMap::new(),
            calls: 0,
            ended: None,
            trace: None,
        };
        Run {
            state: Mutex::new(state),
            changed: None,
        }
    }

    /// Call `watch` after every store call that changed something, before its caller goes on.
    pub fn watched(mut self, watch: impl Fn() + Send + Sync + 'static) -> Self {
        self.changed = Some(Box::new(watch));
        self
    }

    /// Keep a line about every call.
    pub fn traced(self) -> Self {
        self.lock().trace = Some(Vec::new());
        self
    }

    /// The lines, each a call with its outcome, or whatever was [`note`](Run::note)d.
    pub fn trace(&self) -> Vec<String> {
        self.lock().trace.clone().unwrap_or_default()
    }

    /// Put a line between those of the calls.
    pub fn note(&self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.lock().trace {
            trace.push(line());
        }
    }

    /// The steps that were taken. A planned run of them is this run again.
    pub fn taken(&self) -> Vec<Step> {
        self.lock().taken.clone()
    }

    /// Let every caller stop at its next call, for a reason; the first one counts.
    pub fn end(&self, reason: String) {
        let mut state = self.lock();
        state.ended.get_or_insert(reason);
        state.callers.iter().for_each(wake);
    }

    /// Why the run was ended before its time, if it was.
    pub fn ended(&self) -> Option<String> {
        self.lock().ended.clone()
    }

    /// Time passes: a caller waits before it tries again.
    pub fn wait(&self, for_ms: u64) {
        self.lock().now_ms += for_ms;
    }

    /// What the caller's clock says.
    pub(super) fn now_ms(&self, caller: usize) -> u64 {
        let state = self.lock();
        state.now_ms - state.callers[caller].clock_back_ms
    }

    /// The caller begins a call of its own, which ends in `deadline_ms`.
    pub(super) fn begin_call(&self, caller: usize, deadline_ms: u64, behind_ms_max: u64) -> u64 {
        let mut state = self.lock();
        let now_ms = state.now_ms;
        let this = &mut state.callers[caller];
        this.ends_ms = Some(now_ms + deadline_ms);
        now_ms - this.clock_back_ms.min(behind_ms_max)
    }

    /// The caller begins an operation: decide whose turn it is, and whether its clock goes back.
    pub(super) async fn begin(&self, caller: usize, operation: usize) {
        self.wait_for_turn(caller).await;
        let at = {
            let mut state = self.lock();
            let state = &mut *state;
            let back_ms = state.chooser.clock_back_ms((caller, operation));
            if back_ms > 0 {
                state.taken.push(Step::ClockBack {
                    caller,
                    operation,
                    by_ms: back_ms,
                });
            }
            let this = &mut state.callers[caller];
            this.clock_back_ms += back_ms;
            this.operation = operation;
            this.call = 0;
            this.ends_ms = None;
            state.at(caller)
        };
        self.yield_turn(at).await;
    }

    /// The caller makes a call: wait for its turn, then say what becomes of it.
    pub(super) async fn turn(&self, caller: usize, kind: Kind) -> Turn {
        let at = {
            let mut state = self.lock();
            state.callers[caller].call += 1;
            state.at(caller)
        };
        self.yield_turn(at).await;
        let mut state = self.lock();
        let state = &mut *state;
        state.now_ms += CALL_MS;
        state.calls += 1;
        if state.calls > CALLS_MAX {
            let reason = format!("the run has not come to its end after {CALLS_MAX} store calls");
            state.ended.get_or_insert(reason);
        }
        if state.ended.is_some() {
            let fault = Some(Fault::StopBefore);
            return Turn { at, fault };
        }
        if state.callers[caller]
            .ends_ms
            .is_some_and(|ends_ms| state.now_ms > ends_ms)
        {
            let fault = Some(Fault::StopBefore);
            return Turn { at, fault };
        }
        let fault = state.chooser.fault(at, kind);
        state
            .taken
            .extend(fault.map(|fault| Step::Fault(at, fault)));
        Turn { at, fault }
    }

    /// Whether the wave or delete whose first call comes next is carried out from its end.
    pub(super) fn reverses(&self, caller: usize) -> bool {
        let mut state = self.lock();
        let mut at = state.at(caller);
        at.call += 1;
        let reverses = state.chooser.reverse(at);
        if reverses {
            state.taken.push(Step::Reverse(at));
        }
        reverses
    }

    /// Whether the rate rule lets a write to `key` through now; every write that gets so far counts.
    pub(super) fn takes_write(&self, key: &str) -> bool {
        let mut state = self.lock();
        if !state.rate_rule {
            return true;
        }
        let now_ms = state.now_ms;
        let last = state.written_ms.get(key);
        if last.is_some_and(|last| now_ms < last + RATE_RULE_MS) {
            return false;
        }
        state.written_ms.insert(key.to_owned(), now_ms);
        true
    }

    /// Something in the store has changed.
    pub(super) fn changed(&self) {
        if let Some(watch) = &self.changed {
            watch();
        }
    }

    pub(super) fn stop(&self, caller: usize) {
        self.lock().callers[caller].stopped = true;
    }

    /// Whether the caller was stopped since it was last asked.
    pub(super) fn take_stopped(&self, caller: usize) -> bool {
        std::mem::take(&mut self.lock().callers[caller].stopped)
    }

    /// Whether the operation that stopped is left alone until the end.
    pub(super) fn abandons(&self, caller: usize) -> bool {
        let mut state = self.lock();
        let at = state.at(caller);
        let abandons = state.chooser.abandon(at);
        if abandons {
            state.taken.push(Step::Abandon(at));
        }
        abandons
    }

    /// The caller makes no more calls: the first that waits goes on.
    pub(super) fn leave(&self, caller: usize) {
        let mut state = self.lock();
        state.callers[caller].done = true;
        if state.running == caller
            && let Some(next) = state.callers.iter().position(|other| !other.done)
        {
            state.running = next;
            wake(&state.callers[next]);
        }
    }

    async fn yield_turn(&self, at: At) {
        {
            let mut state = self.lock();
            let state = &mut *state;
            let waits = |other: &usize| *other != at.caller && !state.callers[*other].done;
            let others: Vec<usize> = (0..state.callers.len()).filter(waits).collect();
            let to = match state.ended {
                None => state.chooser.switch(at, &others),
                Some(_) => None,
            };
            if let Some(to) = to {
                state.taken.push(Step::Switch(at, to));
                state.running = to;
                wake(&state.callers[to]);
            }
        }
        self.wait_for_turn(at.caller).await;
    }

    async fn wait_for_turn(&self, caller: usize) {
        poll_fn(|context| {
            let mut state = self.lock();
            if state.running == caller || state.ended.is_some() {
                return Poll::Ready(());
            }
            state.callers[caller].waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn at(&self, caller: usize) -> At {
        let Caller {
            operation, call, ..
        } = self.callers[caller];
        At {
            caller,
            operation,
            call,
        }
    }
}

fn wake(caller: &Caller) {
    if let Some(waker) = &caller.waker {
        waker.wake_by_ref();
    }
}
