//! A failure in words: what every caller did, what went wrong on purpose, every store call, and what does
//! not fit. Knows no particular protocol.

use std::fmt::Write;
use std::sync::Arc;

use crate::reduce::Reduced;
use crate::scenario::Scenario;
use crate::scheduler::play;

/// Lines of store calls that a report shows at most.
const TRACE_LINES_MAX: usize = 120;

pub fn report<S: Scenario>(scenario: &Arc<S>, from: &str, reduced: &Reduced<S>) -> String {
    let Reduced {
        schedule,
        failure,
        replays,
    } = reduced;
    let mut text = format!("{from}: {failure}\n    reduced by {replays} replays to");
    for (caller, program) in schedule.programs.iter().enumerate() {
        for (number, operation) in program {
            let _ = write!(
                text,
                "\n      caller {caller}, operation {number}: {operation:?}"
            );
        }
    }
    for step in schedule.steps() {
        let _ = write!(text, "\n      {step}");
    }
    if schedule.repeats {
        text.push_str("\n      in the end every operation once more");
    }
    text.push_str("\n    store calls");
    let trace = play(scenario, schedule, true).trace;
    for line in trace.iter().take(TRACE_LINES_MAX) {
        let _ = write!(text, "\n      {line}");
    }
    if trace.len() > TRACE_LINES_MAX {
        let _ = write!(
            text,
            "\n      and {} lines more",
            trace.len() - TRACE_LINES_MAX
        );
    }
    text
}
