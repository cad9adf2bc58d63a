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
use std::time::Instant;

use haversack_tests::server::Server;
use haversack_tests::table::{Table, Verdict};
use place::Place;

type Test = fn(&Place) -> anyhow::Result<()>;

const TESTS: [(&str, Test); 6] = [
    ("a whole life", lives::whole),
    ("limits as options", lives::limits),
    ("a backup there and back", lives::backup),
    ("a legacy note", lives::note),
    ("ten appends at once", lives::at_once),
    ("what cannot be says why", refusals::all),
];

/// Only where there are files.
const ON_DISK: [(&str, Test); 2] = [
    ("git in the space sees memory alone", git::in_the_space),
    ("git in the store sees memory alone", git::in_the_store),
];

fn main() -> ExitCode {
    let mut table = Table::default();
    for (name, test) in TESTS {
        let place = Place::on_disk();
        run(&mut table, &format!("disk: {name}"), test, place);
    }
    for (name, test) in ON_DISK {
        match git::is_there() {
            true => run(&mut table, &format!("disk: {name}"), test, Place::on_disk()),
            false => {
                let verdict = Verdict::NoTool("git is not there".to_owned());
                table.add(format!("disk: {name}"), verdict, Default::default());
            }
        }
    }
    match Server::start() {
        Ok(server) => {
            for (number, (name, test)) in TESTS.into_iter().enumerate() {
                let place = Place::in_bucket(&server, number);
                run(&mut table, &format!("bucket: {name}"), test, place);
            }
        }
        Err(verdict) => table.add("bucket", verdict, Default::default()),
    }
    table.finish()
}

fn run(table: &mut Table, name: &str, test: Test, place: anyhow::Result<Place>) {
    let start = Instant::now();
    let verdict = match place.and_then(|place| test(&place)) {
        Ok(()) => Verdict::Passed,
        Err(cause) => Verdict::Failed(format!("{cause:#}")),
    };
    table.add(name, verdict, start.elapsed());
}
