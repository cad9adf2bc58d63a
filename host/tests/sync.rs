//! A user's directory kept the same with the store through the command line, on a disk and in a bucket: saves, renames,
//! deletes, conflicts, large files, kills, signals, and what is refused.

#[path = "sync/edits.rs"]
mod edits;
#[path = "sync/kills.rs"]
mod kills;
#[path = "sync/machine.rs"]
mod machine;
#[allow(dead_code)] // Sessions need more of it.
#[path = "sessions/place.rs"]
mod place;
#[path = "sync/refusals.rs"]
mod refusals;
#[path = "sync/watching.rs"]
mod watching;

use std::process::ExitCode;

use haversack_tests::lives::{Life, both};
use haversack_tests::table::wanted;
use place::Place;

const TESTS: [Life<Place>; 13] = [
    ("every save goes through", watching::saves),
    ("folders that come and go", watching::folders),
    ("looking instead of listening", watching::polling),
    ("told to stop with work left", watching::stops),
    ("what another machine does comes here", edits::two_machines),
    ("deletes go through or come back", edits::deletes),
    ("both versions of a conflict", edits::conflict),
    ("a lost manifest and a lost folder", edits::lost),
    ("a large file in parts, killed", kills::large_file),
    ("random edits and kills", kills::random),
    ("what cannot be a file", refusals::odd),
    ("one user, one store, one sync", refusals::owners),
    ("a dry run changes nothing", refusals::dry_run),
];

fn main() -> ExitCode {
    let lives: Vec<Life<Place>> = TESTS.into_iter().filter(|(name, _)| wanted(name)).collect();
    both(&lives, Place::on_disk, Place::in_bucket).finish()
}
