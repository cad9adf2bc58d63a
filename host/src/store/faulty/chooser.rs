//! Who decides what goes wrong: a seed as the run goes on, or a plan made before. Knows no store.

use std::collections::BTreeMap;

use super::plan::{At, Fault, Step, Told};
use super::random::Random;

/// Faults that a seed puts into one run at most, so that every run comes to its end.
const FAULTS_MAX: u32 = 6;

/// What a call can do wrong depends on what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Delete,
    /// A put, concat or append that always happens.
    Write,
    /// One under a condition.
    Conditional,
}

const READ: &[Fault] = &[Fault::FailBefore, Fault::StopBefore];
const DELETE: &[Fault] = &[
    Fault::StopAfter,
    Fault::StopBefore,
    Fault::FailAfter,
    Fault::FailBefore,
    Fault::RateLimit,
];
const CONDITIONAL: &[Fault] = &[
    Fault::StopAfter,
    Fault::StopBefore,
    Fault::FailAfter,
    Fault::FailBefore,
    Fault::RateLimit,
    Fault::ConflictAfter(Told::Nothing),
    Fault::ConflictAfter(Told::Before),
    Fault::ConflictAfter(Told::After),
];

impl Kind {
    fn faults(self) -> &'static [Fault] {
        match self {
            Kind::Read => READ,
            Kind::Delete | Kind::Write => DELETE,
            Kind::Conditional => CONDITIONAL,
        }
    }
}

/// The source of steps.
pub(super) enum Chooser {
    Seeded(Seeded),
    Planned(Planned),
}

/// Chances in 1,024, themselves from the seed: runs of few long turns find other bugs than runs of many
/// short ones.
pub(super) struct Seeded {
    random: Random,
    switch: u32,
    fault: u32,
    reverse: u32,
    abandon: u32,
    rate_rule: bool,
    faults: u32,
}

#[derive(Default)]
pub(super) struct Planned {
    faults: BTreeMap<At, Fault>,
    switches: BTreeMap<At, usize>,
    steps: Vec<Step>,
}

impl Chooser {
    pub fn seeded(seed: u64) -> Self {
        let mut random = Random::new(seed);
        Chooser::Seeded(Seeded {
            switch: *random.pick(&[0, 32, 128, 512]),
            fault: *random.pick(&[0, 10, 40, 100]),
            reverse: *random.pick(&[0, 256]),
            abandon: *random.pick(&[0, 512]),
            rate_rule: random.chance(256),
            faults: 0,
            random,
        })
    }

    pub fn planned(steps: Vec<Step>) -> Self {
        let mut planned = Planned::default();
        for step in &steps {
            match *step {
                Step::Fault(at, fault) => drop(planned.faults.insert(at, fault)),
                Step::Switch(at, to) => drop(planned.switches.insert(at, to)),
                _ => {}
            }
        }
        planned.steps = steps;
        Chooser::Planned(planned)
    }

    /// Which of `others`, who wait, goes on before the call.
    pub fn switch(&mut self, at: At, others: &[usize]) -> Option<usize> {
        match self {
            _ if others.is_empty() => None,
            Chooser::Seeded(seeded) => {
                // Before an operation begins nothing is half done: an even choice.
                let chance = if at.call == 0 { 512 } else { seeded.switch };
                let switches = seeded.random.chance(chance);
                switches.then(|| *seeded.random.pick(others))
            }
            Chooser::Planned(planned) => {
                let to = planned.switches.get(&at).copied();
                to.filter(|to| others.contains(to))
            }
        }
    }

    pub fn fault(&mut self, at: At, kind: Kind) -> Option<Fault> {
        match self {
            Chooser::Seeded(seeded) => {
                let fails = seeded.faults < FAULTS_MAX && seeded.random.chance(seeded.fault);
                seeded.faults += u32::from(fails);
                fails.then(|| *seeded.random.pick(kind.faults()))
            }
            Chooser::Planned(planned) => {
                let fault = planned.faults.get(&at).copied();
                fault.filter(|fault| kind.faults().contains(fault))
            }
        }
    }

    pub fn reverse(&mut self, at: At) -> bool {
        match self {
            Chooser::Seeded(seeded) => seeded.random.chance(seeded.reverse),
            Chooser::Planned(planned) => planned.steps.contains(&Step::Reverse(at)),
        }
    }

    /// By how much the caller's clock goes back before the operation; 0 when it does not.
    pub fn clock_back_ms(&mut self, of: (usize, usize)) -> u64 {
        match self {
            Chooser::Seeded(seeded) => match seeded.random.chance(128) {
                true => *seeded.random.pick(&[1, 1_000, 3_600_000]),
                false => 0,
            },
            Chooser::Planned(planned) => {
                let back = planned.steps.iter().filter_map(|step| match *step {
                    Step::ClockBack {
                        caller,
                        operation,
                        by_ms,
                    } if (caller, operation) == of => Some(by_ms),
                    _ => None,
                });
                back.sum()
            }
        }
    }

    pub fn abandon(&mut self, at: At) -> bool {
        match self {
            Chooser::Seeded(seeded) => seeded.random.chance(seeded.abandon),
            Chooser::Planned(planned) => planned.steps.contains(&Step::Abandon(at)),
        }
    }

    pub fn rate_rule(&self) -> bool {
        match self {
            Chooser::Seeded(seeded) => seeded.rate_rule,
            Chooser::Planned(planned) => planned.steps.contains(&Step::RateRule),
        }
    }
}
