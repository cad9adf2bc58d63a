//! One run as data: what each caller does, and what goes wrong. Made from a seed; every part of it can be
//! left out. Knows no store.

use haversack_host::store::faulty::{Random, Step};

use crate::scenario::Scenario;

/// Where the trouble comes from.
#[derive(Clone, Debug)]
pub enum Trouble {
    Seeded(u64),
    Planned(Vec<Step>),
}

#[derive(Debug)]
pub struct Schedule<S: Scenario> {
    /// Operations with their numbers, which stay when others are left out; a list a caller.
    pub programs: Vec<Vec<(usize, S::Operation)>>,
    pub trouble: Trouble,
    /// In the end every operation is repeated once more under its request id, and changes nothing.
    pub repeats: bool,
}

impl<S: Scenario> Clone for Schedule<S> {
    fn clone(&self) -> Self {
        Schedule {
            programs: self.programs.clone(),
            trouble: self.trouble.clone(),
            repeats: self.repeats,
        }
    }
}

impl<S: Scenario> Schedule<S> {
    pub fn planned(programs: Vec<Vec<S::Operation>>, steps: Vec<Step>) -> Self {
        Schedule {
            programs: programs.into_iter().map(number).collect(),
            trouble: Trouble::Planned(steps),
            repeats: true,
        }
    }

    pub fn from_seed(scenario: &S, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let callers = *random.pick(&[1, 2, 2, 2, 3, 3, 3]);
        let mut programs = scenario.programs(&mut random, callers);
        // A request that was delivered twice: another caller makes it too, at any time.
        if callers > 1 && random.chance(256) {
            let from = random.below(callers);
            let to = (from + 1 + random.below(callers - 1)) % callers;
            if !programs[from].is_empty() {
                let doubled = random.pick(&programs[from]).clone();
                let place = random.below(programs[to].len() + 1);
                programs[to].insert(place, doubled);
            }
        }
        Schedule {
            programs: programs.into_iter().map(number).collect(),
            repeats: random.chance(256),
            trouble: Trouble::Seeded(random.number()),
        }
    }

    /// How many parts [`without`](Self::without) can leave out.
    pub fn parts(&self) -> usize {
        self.operations() + self.steps().len() + usize::from(self.repeats)
    }

    /// The schedule without the parts from `start` to before `end`.
    pub fn without(&self, start: usize, end: usize) -> Self {
        let out = |part: usize| (start..end).contains(&part);
        let mut part = 0;
        let mut next = || {
            part += 1;
            part - 1
        };
        let mut less = self.clone();
        for program in &mut less.programs {
            program.retain(|_| !out(next()));
        }
        if let Trouble::Planned(steps) = &mut less.trouble {
            steps.retain(|_| !out(next()));
        }
        less.repeats = less.repeats && !out(next());
        less
    }

    pub fn operations(&self) -> usize {
        self.programs.iter().map(Vec::len).sum()
    }

    pub fn steps(&self) -> &[Step] {
        match &self.trouble {
            Trouble::Seeded(_) => &[],
            Trouble::Planned(steps) => steps,
        }
    }
}

fn number<O>(program: Vec<O>) -> Vec<(usize, O)> {
    program.into_iter().enumerate().collect()
}
