//! Makes a failing schedule smaller until no single part of it can be left out. Replays each time; knows
//! nothing of what failed.

use std::sync::Arc;

use crate::scenario::Scenario;
use crate::schedule::{Schedule, Trouble};
use crate::scheduler::{Played, play};

/// The smallest schedule found, and how it failed.
pub struct Reduced<S: Scenario> {
    pub schedule: Schedule<S>,
    pub failure: String,
    pub replays: u32,
}

/// `schedule` failed as `played`.
pub fn reduce<S: Scenario>(
    scenario: &Arc<S>,
    schedule: &Schedule<S>,
    played: &Played,
) -> Option<Reduced<S>> {
    let mut smallest = Reduced {
        schedule: Schedule {
            trouble: Trouble::Planned(played.taken.clone()),
            ..schedule.clone()
        },
        failure: played.failure.clone()?,
        replays: 0,
    };
    // Halves first, then ever smaller pieces, then single parts until none can go.
    let mut piece = smallest.schedule.parts().div_ceil(2).max(1);
    loop {
        let found = pass(scenario, &mut smallest, piece);
        if piece > 1 {
            piece = piece.div_ceil(2);
        } else if !found {
            return Some(smallest);
        }
    }
}

/// Leave out one piece after the other wherever the run still fails. Answers whether any could go.
fn pass<S: Scenario>(scenario: &Arc<S>, smallest: &mut Reduced<S>, piece: usize) -> bool {
    let mut found = false;
    let mut start = 0;
    while start < smallest.schedule.parts() {
        let mut less = smallest.schedule.without(start, start + piece);
        let played = play(scenario, &less, false);
        smallest.replays += 1;
        match played.failure {
            Some(failure) => {
                // Steps that the run no longer comes to are gone with it.
                less.trouble = Trouble::Planned(played.taken);
                smallest.schedule = less;
                smallest.failure = failure;
                found = true;
            }
            None => start += piece,
        }
    }
    found
}
