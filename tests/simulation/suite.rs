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

const FAULTS: [Fault; 8] = [
    Fault::StopBefore,
    Fault::StopAfter,
    Fault::FailBefore,
    Fault::FailAfter,
    Fault::RateLimit,
    Fault::ConflictAfter(Told::Nothing),
    Fault::ConflictAfter(Told::Before),
    Fault::ConflictAfter(Told::After),
];

/// One caller; every fault at every store call of every operation, alone; stops also with the operation
/// left until the end.
pub fn every_call<S: Scenario>(scenario: &Arc<S>) -> Result {
    let mut runs = 0;
    for operation in 0..scenario.walk().len() {
        for call in 1.. {
            let at = At {
                caller: 0,
                operation,
                call,
            };
            let mut reached = false;
            for fault in FAULTS {
                let fault_alone = vec![Step::Fault(at, fault)];
                let abandon = Step::Abandon {
                    caller: 0,
                    operation,
                };
                let mut plans = vec![fault_alone];
                if matches!(fault, Fault::StopBefore | Fault::StopAfter) {
                    plans.push(vec![Step::Fault(at, fault), abandon]);
                }
                for steps in plans {
                    let schedule = Schedule::planned(vec![scenario.walk()], steps);
                    let played = play(scenario, &schedule, false);
                    runs += 1;
                    reached |= !played.taken.is_empty();
                    check(scenario, &schedule, &played, "every call")?;
                }
            }
            if !reached {
                break;
            }
        }
    }
    Ok(runs)
}

/// Two callers: the first makes some calls, the second makes some, the first ends, the second ends; for
/// every pair of numbers.
pub fn every_crossing<S: Scenario>(scenario: &Arc<S>) -> Result {
    let mut runs = 0;
    for crossing in scenario.crossings() {
        let Crossing {
            before,
            first,
            second,
        } = crossing;
        let operation = before.len();
        let mut own = before;
        own.push(first);
        let programs = vec![own, vec![second]];
        for call in 1.. {
            let at = At {
                caller: 0,
                operation,
                call,
            };
            let over = Step::Switch(at, 1);
            let mut reached = false;
            for back in 1.. {
                let at = At {
                    caller: 1,
                    operation: 0,
                    call: back,
                };
                let steps = vec![over, Step::Switch(at, 0)];
                let schedule = Schedule::planned(programs.clone(), steps);
                let played = play(scenario, &schedule, false);
                runs += 1;
                check(scenario, &schedule, &played, "every crossing")?;
                reached |= !played.taken.is_empty();
                if played.taken.len() < 2 {
                    break;
                }
            }
            if !reached {
                break;
            }
        }
    }
    Ok(runs)
}

/// The seeds from `first` on, `number` of them. Answers the lowest that fails, with how it failed.
pub fn first_failing<S: Scenario>(
    scenario: &Arc<S>,
    first: u64,
    number: u64,
) -> Option<(u64, Played)> {
    let lowest = AtomicU64::new(u64::MAX);
    let next = AtomicU64::new(first);
    let work = || {
        let mut found: Option<(u64, Played)> = None;
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + number || seed > lowest.load(Ordering::Relaxed) {
                return found;
            }
            let played = play(scenario, &Schedule::from_seed(&**scenario, seed), false);
            if played.failure.is_some() {
                lowest.fetch_min(seed, Ordering::Relaxed);
                found = Some((seed, played));
            }
        }
    };
    let found = thread::scope(|scope| {
        let other = scope.spawn(work);
        let own = work();
        [own, other.join().ok().flatten()]
    });
    found.into_iter().flatten().min_by_key(|(seed, _)| *seed)
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

/// An error with a report where the run failed.
fn check<S: Scenario>(
    scenario: &Arc<S>,
    schedule: &Schedule<S>,
    played: &Played,
    from: &str,
) -> std::result::Result<(), String> {
    match reduce(scenario, schedule, played) {
        None => Ok(()),
        Some(reduced) => Err(report(scenario, from, &reduced)),
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
