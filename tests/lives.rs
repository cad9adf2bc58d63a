//! The same tests on a disk and in a bucket, as one table. What a place is, the caller says.

use std::time::{Duration, Instant};

use crate::server::Server;
use crate::table::{Table, Verdict};

/// A test by its name.
pub type Life<P> = (&'static str, fn(&P) -> anyhow::Result<()>);

/// All of them on the disk, then all of them in one bucket, each in a place of its own.
pub fn both<P>(
    lives: &[Life<P>],
    on_disk: fn() -> anyhow::Result<P>,
    in_bucket: fn(&Server, usize) -> anyhow::Result<P>,
) -> Table {
    let mut table = Table::default();
    for life in lives {
        run(&mut table, "disk", life, on_disk());
    }
    match Server::start() {
        Ok(server) => {
            for (number, life) in lives.iter().enumerate() {
                run(&mut table, "bucket", life, in_bucket(&server, number));
            }
        }
        Err(verdict) => table.add("bucket", verdict, Duration::default()),
    }
    table
}

/// One of them, in a place of this kind.
pub fn run<P>(table: &mut Table, kind: &str, (name, test): &Life<P>, place: anyhow::Result<P>) {
    let start = Instant::now();
    let verdict = match place.and_then(|place| test(&place)) {
        Ok(()) => Verdict::Passed,
        Err(cause) => Verdict::Failed(format!("{cause:#}")),
    };
    table.add(format!("{kind}: {name}"), verdict, start.elapsed());
}
