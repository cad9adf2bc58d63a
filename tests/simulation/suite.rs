//! What is done with a scenario: stopped after every store call, crossed at every store call, run under
//! seeds. Each answers how many runs there were, or the report of the first that failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use haversack_host::store::faulty::{At, Fault, Step, Told};

use crate::reduce::reduce;
use crate::report::report;
use crate::scenario::{Crossing, Scenario};
use crate::schedule::{Schedule, Trouble};
use crate::scheduler::{Played, play};

/// Runs of one kind, or the report of the one that failed.
pub type Result = std::result::Result<u64, String>;

/// By what they need: any call, one that changes something, one under a condition.
const FAULTS: [&[Fault]; 3] = [
    &[Fault::StopBefore, Fault::FailBefore],
    &[Fault::StopAfter, Fault::FailAfter, Fault::RateLimit],
    &[
        Fault::ConflictAfter(Told::Nothing),
        Fault::ConflictAfter(Told::Before),
        Fault::ConflictAfter(Told::After),
    ],
];

/// Do `work` for the numbers from `first` on, on two threads, and answer the lowest one that finds something.
fn lowest<F: Send>(
    first: u64,
    number: u64,
    work: impl Fn(u64) -> Option<F> + Sync,
) -> Option<(u64, F)> {
    let lowest = AtomicU64::new(first + number);
    let next = AtomicU64::new(first);
    let share = || {
        let mut found = None;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= lowest.load(Ordering::Relaxed) {
                return found;
            }
            if let Some(what) = work(number) {
                lowest.fetch_min(number, Ordering::Relaxed);
                found = Some((number, what));
            }
        }
    };
    let found = thread::scope(|scope| {
        let other = scope.spawn(share);
        let own = share();
        [own, other.join().ok().flatten()]
    });
    found
        .into_iter()
        .flatten()
        .min_by_key(|(number, _)| *number)
}

/// The same for work that counts its runs.
fn counted(number: usize, work: impl Fn(usize) -> Result + Sync) -> Result {
    let runs = AtomicU64::new(0);
    let failed = lowest(0, number as u64, |index| match work(index as usize) {
        Ok(more) => {
            runs.fetch_add(more, Ordering::Relaxed);
            None
        }
        Err(report) => Some(report),
    });
    match failed {
        Some((_, report)) => Err(report),
        None => Ok(runs.into_inner()),
    }
}

/// One caller; every fault at every store call of every operation, or at each `stride`th, alone; stops also
/// with the operation left until the end.
pub fn every_call<S: Scenario>(scenario: &Arc<S>, stride: usize) -> Result {
    counted(scenario.walk().len(), |operation| {
        let mut runs = 0;
        let mut reached = true;
        for call in (1..).step_by(stride) {
            if !reached {
                break;
            }
            let at = At {
                caller: 0,
                operation,
                call,
            };
            for (needs, faults) in FAULTS.into_iter().enumerate() {
                let mut applies = false;
                for (number, fault) in faults.iter().enumerate() {
                    if number > 0 && !applies {
                        break;
                    }
                    let mut plan = vec![Step::Fault(at, *fault)];
                    applies |= one(scenario, vec![scenario.walk()], &plan)? > 0;
                    runs += 1;
                    if applies && matches!(fault, Fault::StopBefore | Fault::StopAfter) {
                        plan.push(Step::Abandon(at));
                        one(scenario, vec![scenario.walk()], &plan)?;
                        runs += 1;
                    }
                }
                if !applies {
                    reached = needs > 0;
                    break;
                }
            }
        }
        Ok(runs)
    })
}

/// Two callers: the first makes some calls, the second makes some, the first ends, the second ends; for
/// every pair of numbers.
pub fn every_crossing<S: Scenario>(scenario: &Arc<S>) -> Result {
    let crossings = scenario.crossings();
    counted(crossings.len(), |index| {
        let Crossing {
            before,
            first,
            second,
        } = &crossings[index];
        let operation = before.len();
        let own = [before.as_slice(), std::slice::from_ref(first)].concat();
        let programs = vec![own, vec![second.clone()]];
        let mut runs = 0;
        for call in 1.. {
            let over = At {
                caller: 0,
                operation,
                call,
            };
            for call in 1.. {
                let back = At {
                    caller: 1,
                    operation: 0,
                    call,
                };
                let steps = [Step::Switch(over, 1), Step::Switch(back, 0)];
                let taken = one(scenario, programs.clone(), &steps)?;
                runs += 1;
                match taken {
                    0 => return Ok(runs),
                    1 => break,
                    _ => {}
                }
            }
        }
        Ok(runs)
    })
}

/// One planned run. Answers how many of the steps it came to.
fn one<S: Scenario>(
    scenario: &Arc<S>,
    programs: Vec<Vec<S::Operation>>,
    steps: &[Step],
) -> std::result::Result<usize, String> {
    let schedule = Schedule::planned(programs, steps.to_vec());
    let played = play(scenario, &schedule, false);
    match reduce(scenario, &schedule, &played) {
        None => Ok(played.taken.len()),
        Some(reduced) => Err(report(scenario, "a planned run", &reduced)),
    }
}

/// The seeds from `first` on, `number` of them. Answers the lowest that fails, with how it failed.
fn first_failing<S: Scenario>(scenario: &Arc<S>, first: u64, number: u64) -> Option<(u64, Played)> {
    lowest(first, number, |seed| {
        let played = play(scenario, &Schedule::from_seed(&**scenario, seed), false);
        played.failure.is_some().then_some(played)
    })
}

/// Seeds that must all pass.
pub fn seeds<S: Scenario>(scenario: &Arc<S>, first: u64, number: u64) -> Result {
    match first_failing(scenario, first, number) {
        None => Ok(number),
        Some((seed, played)) => Err(reported(scenario, seed, &played)),
    }
}

/// A scenario that must fail within `number` seeds: the first that does, and its report. What is reported
/// still fails, and does not without any single part of it.
pub fn found<S: Scenario>(
    scenario: &Arc<S>,
    number: u64,
) -> std::result::Result<(u64, String), String> {
    let (seed, played) =
        first_failing(scenario, 0, number).ok_or(format!("not found in {number} seeds"))?;
    let schedule = Schedule::from_seed(&**scenario, seed);
    let reduced = reduce(scenario, &schedule, &played).ok_or("failed, and reduced to nothing")?;
    let smallest = &reduced.schedule;
    let fails = |schedule: &Schedule<S>| play(scenario, schedule, false).failure;
    if fails(smallest).as_ref() != Some(&reduced.failure) {
        return Err(format!(
            "seed {seed}: what it was reduced to fails otherwise"
        ));
    }
    let idle = |part: &usize| fails(&smallest.without(*part, part + 1)).is_some();
    if let Some(part) = (0..smallest.parts()).find(idle) {
        return Err(format!("seed {seed}: still fails without part {part}"));
    }
    Ok((seed, reported(scenario, seed, &played)))
}

/// A failing seed, reduced, in words.
pub fn reported<S: Scenario>(scenario: &Arc<S>, seed: u64, played: &Played) -> String {
    let schedule = Schedule::from_seed(&**scenario, seed);
    let name = scenario.name();
    let from = format!("seed {seed} (again with `-- --seed {seed} {name}`)");
    match reduce(scenario, &schedule, played) {
        Some(reduced) => report(scenario, &from, &reduced),
        None => format!("{from}: no failure"),
    }
}

/// Play a seed twice, and once more from the steps it took: all three are the same run.
pub fn replays<S: Scenario>(scenario: &Arc<S>, seed: u64) -> std::result::Result<(), String> {
    let schedule = Schedule::from_seed(&**scenario, seed);
    let first = play(scenario, &schedule, true);
    let again = play(scenario, &schedule, true);
    let planned = Schedule {
        trouble: Trouble::Planned(first.taken.clone()),
        ..schedule.clone()
    };
    let planned = play(scenario, &planned, true);
    for (how, other) in [("from its seed", again), ("from its steps", planned)] {
        if first.trace != other.trace || first.failure != other.failure {
            let both = first.trace.iter().zip(&other.trace);
            let differs = both.into_iter().find(|(one, other)| one != other);
            return Err(format!(
                "seed {seed} played again {how} is another run: {differs:?}"
            ));
        }
    }
    Ok(())
}
