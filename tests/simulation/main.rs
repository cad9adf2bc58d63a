//! The simulation: protocols under stops, lost answers, limits, clocks that go back and racing callers, every
//! run a function of its seed.
//!
//! `cargo test -p haversack-tests --test simulation -- --seeds 100000 [--seed N] [SCENARIO]`: more seeds than by
//! default, or one alone, with its store calls; of the scenarios whose names contain the word.

use haversack_tests::bridge;
mod order;
mod planted;
mod reduce;
mod registry;
mod report;
mod roster;
mod scenario;
mod scenarios;
mod schedule;
mod scheduler;
mod suite;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use haversack_host::contract;
use haversack_host::store::MemoryStore;
use haversack_host::store::faulty::{FaultyStore, Run};
use haversack_tests::table::{Table, Verdict};

use crate::planted::{Breakage, Planted};
use crate::scenario::Scenario;
use crate::schedule::Schedule;
use crate::scheduler::play;

/// Seeds of each scenario in an ordinary run.
const SEEDS: u64 = 300;
/// Within which a planted fault is found.
const SEEDS_PLANTED: u64 = 1_000;

/// What the command line asks for.
struct Asked {
    seeds: u64,
    seed: Option<u64>,
    names: Vec<String>,
}

impl Asked {
    fn parse() -> Result<Asked, String> {
        let mut asked = Asked {
            seeds: SEEDS,
            seed: None,
            names: Vec::new(),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut number = || {
                let value = arguments.next().unwrap_or_default();
                let number = value.parse::<u64>();
                number.map_err(|_| format!("{argument} takes a number, not {value:?}"))
            };
            match argument.as_str() {
                "--seeds" => asked.seeds = number()?,
                "--seed" => asked.seed = Some(number()?),
                // What cargo passes to every test program, such as --nocapture.
                flag if flag.starts_with('-') => {}
                name => asked.names.push(name.to_owned()),
            }
        }
        Ok(asked)
    }

    fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|asked| name.contains(asked.as_str()))
    }
}

/// The rows of the report, and which exports the scenarios cover.
struct Simulation {
    asked: Asked,
    table: Table,
    covered: BTreeSet<&'static str>,
}

fn main() -> ExitCode {
    let asked = match Asked::parse() {
        Ok(asked) => asked,
        Err(what) => {
            eprintln!("{what}");
            return ExitCode::FAILURE;
        }
    };
    let mut simulation = Simulation {
        asked,
        table: Table::default(),
        covered: BTreeSet::new(),
    };
    simulation.contract();
    roster::all(&mut simulation);
    simulation.finish()
}

impl Simulation {
    /// A scenario that must hold, whatever happens.
    fn correct<S: Scenario>(&mut self, scenario: S) {
        let scenario = Arc::new(scenario);
        let name = scenario.name();
        self.covered.extend(scenario.covers());
        if !self.asked.wants(&name) {
            return;
        }
        if let Some(seed) = self.asked.seed {
            return self.one_seed(&scenario, seed);
        }
        let seeds = self.asked.seeds.div_ceil(scenario.weight());
        // Of a heavy scenario a part; all of it where more is asked for.
        let stride = match self.asked.seeds > SEEDS {
            true => 1,
            false => scenario.weight() as usize,
        };
        let calls = match stride {
            1 => "every call".to_owned(),
            _ => format!("one call in {stride}"),
        };
        self.row(format!("{name}: replays exactly"), || {
            (0..10).try_for_each(|seed| suite::replays(&scenario, seed))?;
            Ok(30)
        });
        self.row(format!("{name}: every fault at {calls}"), || {
            suite::every_call(&scenario, stride)
        });
        self.row(format!("{name}: crossed at every call"), || {
            suite::every_crossing(&scenario)
        });
        self.row(format!("{name}: seeds"), || {
            suite::seeds(&scenario, 0, seeds)
        });
    }

    /// The scenario with a fault that must be found.
    fn planted<S: Scenario + Clone>(
        &mut self,
        name: &'static str,
        scenario: S,
        breakage: Breakage,
    ) {
        let correct = Arc::new(scenario.clone());
        let planted = Arc::new(Planted {
            name,
            scenario,
            breakage,
        });
        let name = planted.name();
        if !self.asked.wants(&name) {
            return;
        }
        if let Some(seed) = self.asked.seed {
            return self.one_seed(&planted, seed);
        }
        self.row(format!("{name}: found"), || {
            let (seed, words) = suite::found(&planted, SEEDS_PLANTED)?;
            println!("{words}");
            // Unbroken, it survives the same seeds.
            suite::seeds(&correct, 0, seed + 1)?;
            Ok(seed + 1)
        });
    }

    /// Where nothing goes wrong, the faulty store is a store like any other.
    fn contract(&mut self) {
        let name = "faulty store: keeps the contract";
        if self.asked.wants(name) {
            self.row(name.to_owned(), || {
                let run = Arc::new(Run::planned(Vec::new(), 1, 0));
                let store = FaultyStore::new(Arc::new(MemoryStore::new(true)), run, 0);
                let checks = contract::run(&store, "scratch", |_| {});
                let failed = |outcome: &&contract::Outcome| outcome.failed();
                let outcomes = bridge::block_on(checks, || false);
                match outcomes.iter().find(failed) {
                    Some(failed) => Err(failed.to_string()),
                    None => Ok(outcomes.len() as u64),
                }
            });
        }
    }

    fn row(&mut self, name: String, runs: impl FnOnce() -> suite::Result) {
        let start = Instant::now();
        let (name, verdict) = match runs() {
            Ok(runs) => (format!("{name}, {runs} runs"), Verdict::Passed),
            Err(what) => (name, Verdict::Failed(what)),
        };
        self.table.add(name, verdict, start.elapsed());
    }

    /// One seed with all its store calls; reduced where it fails.
    fn one_seed<S: Scenario>(&mut self, scenario: &Arc<S>, seed: u64) {
        self.row(format!("{}: seed {seed}", scenario.name()), || {
            let played = play(scenario, &Schedule::from_seed(&**scenario, seed), true);
            played.trace.iter().for_each(|line| println!("  {line}"));
            match played.failure {
                None => Ok(1),
                Some(_) => Err(suite::reported(scenario, seed, &played)),
            }
        });
    }

    fn finish(mut self) -> ExitCode {
        let uncovered: Vec<_> = registry::REGISTERED
            .iter()
            .filter(|name| !self.covered.contains(*name))
            .collect();
        let verdict = if uncovered.is_empty() {
            Verdict::Passed
        } else {
            Verdict::Failed(format!("registered, and in no scenario: {uncovered:?}"))
        };
        self.table
            .add("registered exports", verdict, Default::default());
        self.table.finish()
    }
}
