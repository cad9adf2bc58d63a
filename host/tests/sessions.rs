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

use haversack_tests::lives::{Life, both};
use place::Place;

const TESTS: [Life<Place>; 10] = [
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
    both(&TESTS, Place::on_disk, Place::in_bucket).finish()
}
