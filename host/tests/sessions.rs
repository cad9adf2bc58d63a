//! Whole lives of sessions through the command line, on a disk and in a bucket: what is printed, how it ends, and that
//! the archives can be read by tools that are not ours.

#[path = "sessions/archives.rs"]
mod archives;
#[path = "sessions/hosts.rs"]
mod hosts;
#[path = "sessions/lives.rs"]
mod lives;
#[path = "sessions/media.rs"]
mod media;
#[path = "sessions/place.rs"]
mod place;
#[path = "sessions/refusals.rs"]
mod refusals;

use std::process::ExitCode;
use std::time::Instant;

use haversack_tests::server::Server;
use haversack_tests::table::{Table, Verdict};
use place::Place;

type Test = fn(&Place) -> anyhow::Result<()>;

const TESTS: [(&str, Test); 10] = [
    ("a whole life", lives::whole),
    ("a long append in pages", lives::pages),
    ("a session that its host keeps", hosts::own),
    ("a model that fails", lives::failing_model),
    ("archives read by other tools", archives::readable),
    ("what cannot be says why", refusals::all),
    ("a reset is due", refusals::due),
    ("media there and back", media::there_and_back),
    ("media at their limit", media::limit),
    ("media that nobody names", media::orphans),
];

fn main() -> ExitCode {
    let mut table = Table::default();
    for (name, test) in TESTS {
        let place = Place::on_disk();
        run(&mut table, &format!("disk: {name}"), test, place);
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
