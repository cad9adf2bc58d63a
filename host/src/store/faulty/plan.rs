//! What goes wrong in a run, as data: a list of steps, each of which can be left out. Knows no store.

use std::fmt;

/// A store call: the `call`-th, from 1, of a caller's operation, over all its attempts. 0 is the moment
/// before the operation begins. Each member of a wave and each key of a delete is a call of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    pub caller: usize,
    pub operation: usize,
    pub call: u32,
}

/// What a caller hears of a conflict that its own write brought about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// No version, as S3 answers a failed condition.
    Nothing,
    /// What the caller's own condition named: a stale answer.
    Before,
    /// What its write has made: somebody looked after it.
    After,
}

/// How one store call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `unavailable`, and nothing happened.
    FailBefore,
    /// `outcome-unknown` after it took effect.
    FailAfter,
    /// `unavailable` with a time to wait, and nothing happened.
    RateLimit,
    /// A conditional write took effect, its answer was lost, a client below sent it again, and what comes
    /// back is the conflict with itself.
    ConflictAfter(Told),
    /// The caller stops before the call, as when its process is killed.
    StopBefore,
    /// The caller stops after the call took effect.
    StopAfter,
}

/// One thing that makes a run other than a caller after the other without any fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Fault(At, Fault),
    /// Before the call another caller goes on, and this one waits for its next turn.
    Switch(At, usize),
    /// The wave or delete that begins with the call is carried out from its end.
    Reverse(At),
    /// The caller's clock goes back before the operation.
    ClockBack {
        caller: usize,
        operation: usize,
        by_ms: u64,
    },
    /// After the stop at the call the caller goes on with its next operation; this one is repeated at the
    /// very end.
    Abandon(At),
    /// A second write to a key within a second is refused with 429, all through the run.
    RateRule,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let At {
            caller,
            operation,
            call,
        } = self;
        match call {
            0 => write!(f, "caller {caller} begins operation {operation}"),
            _ => write!(f, "call {call} of caller {caller}'s operation {operation}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::FailBefore => "fails without effect",
            Fault::FailAfter => "takes effect and its answer is lost",
            Fault::RateLimit => "is refused with 429",
            Fault::ConflictAfter(Told::Nothing) => "takes effect and answers a conflict",
            Fault::ConflictAfter(Told::Before) => {
                "takes effect and answers a conflict with the version before it"
            }
            Fault::ConflictAfter(Told::After) => {
                "takes effect and answers a conflict with its own version"
            }
            Fault::StopBefore => "is not made: the caller stops",
            Fault::StopAfter => "takes effect and the caller stops",
        })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Fault(at, fault) => write!(f, "{at} {fault}"),
            Step::Switch(at, to) => write!(f, "before {at}, caller {to} goes on"),
            Step::Reverse(at) => write!(f, "what begins with {at} is done from its end"),
            Step::ClockBack {
                caller,
                operation,
                by_ms,
            } => write!(
                f,
                "before operation {operation} of caller {caller} its clock goes back {by_ms} ms"
            ),
            Step::Abandon(at) => {
                write!(f, "after the stop at {at} the operation is left to the end")
            }
            Step::RateRule => f.write_str("one write a second to each key"),
        }
    }
}
