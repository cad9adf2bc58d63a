//! Memory of a hi-boss agent through the command line, on a disk and in a bucket: a whole life of it, what is
//! refused, limits, many at once; and what git sees of it.

#[path = "hi_boss/git.rs"]
mod git;
#[path = "hi_boss/lives.rs"]
mod lives;
#[allow(dead_code)] // Sessions need more of it.
#[path = "sessions/place.rs"]
mod place;
#[path = "hi_boss/refusals.rs"]
mod refusals;

use std::process::ExitCode;

use haversack_tests::lives::{Life, both, run};
use haversack_tests::table::Verdict;
use place::Place;

const TESTS: [Life<Place>; 6] = [
    ("a whole life", lives::whole),
    ("limits as options", lives::limits),
    ("a backup there and back", lives::backup),
    ("a legacy note", lives::note),
    ("ten appends at once", lives::at_once),
    ("what cannot be says why", refusals::all),
];

/// Only where there are files.
const ON_DISK: [Life<Place>; 2] = [
    ("git in the space sees memory alone", git::in_the_space),
    ("git in the store sees memory alone", git::in_the_store),
];

fn main() -> ExitCode {
    let mut table = both(&TESTS, Place::on_disk, Place::in_bucket);
    for life in &ON_DISK {
        match git::is_there() {
            true => run(&mut table, "disk", life, Place::on_disk()),
            false => {
                let verdict = Verdict::NoTool("git is not there".to_owned());
                table.add(format!("disk: {}", life.0), verdict, Default::default());
            }
        }
    }
    table.finish()
}
