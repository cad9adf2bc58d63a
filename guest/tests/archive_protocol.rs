//! The archive protocol by itself: one member of any length, continued, repeated, compared. Crashes and
//! races are the simulation's.

#[path = "support/bucket.rs"]
mod bucket;

use bucket::Bucket;
use haversack_core::format::gzip;
use haversack_core::layout::archive::ArchiveKeys;
use haversack_core::layout::gsv::{AgentId, SessionId};
use haversack_core::limits::ARCHIVE_FOOTINGS_MAX;
use haversack_core::protocol::archive::{
    Progress, RawSource, Run, Target, Totals, archive, footings_of,
};
use haversack_core::store::Metered;
use haversack_core::types::{ErrorCode, Result};

/// Runs of lines, by number.
struct Lines {
    runs: usize,
    each: &'static str,
    reads: usize,
}

impl RawSource for Lines {
    fn run_at(&mut self, position: Option<&str>) -> Result<Run> {
        self.reads += 1;
        let number: usize = position.map_or(0, |position| position.parse().unwrap());
        let raw = match self.runs {
            0 => String::new(),
            _ => format!("{{\"n\":{number},\"text\":\"{}\"}}\n", self.each),
        };
        Ok(Run {
            entries: u64::from(self.runs > 0),
            raw: raw.into_bytes(),
            next: (number + 1 < self.runs).then(|| (number + 1).to_string()),
        })
    }
}

fn keys() -> ArchiveKeys {
    let session = SessionId::parse("0b5a4c9e-6f0d-4b7e-9f43-2a5a5c6d7e8f");
    ArchiveKeys::of_session(&AgentId::parse("hera").unwrap(), &session.unwrap())
}

fn run(bucket: &Bucket, source: &mut Lines, origin: &str, pieces_max: usize) -> Result<Progress> {
    let keys = keys();
    let metadata = |totals: &Totals| vec![("messageCount".to_owned(), totals.entries.to_string())];
    let target = Target {
        keys: &keys,
        content_type: "application/gzip",
        origin,
        metadata: &metadata,
    };
    archive(&Metered::new(bucket), &target, source, pieces_max)
}

fn lines(runs: usize) -> Lines {
    Lines {
        runs,
        each: "hello",
        reads: 0,
    }
}

fn raw(runs: usize) -> Vec<u8> {
    let mut lines = lines(runs);
    let run = |number: usize| lines.run_at(Some(&number.to_string())).unwrap().raw;
    (0..runs).flat_map(run).collect()
}

fn decoded(bucket: &Bucket) -> Vec<u8> {
    let bytes = bucket.bytes(keys().archive()).unwrap();
    let (raw, summary) = gzip::decode(&bytes, 1 << 20).unwrap();
    assert_eq!((summary.members, summary.damage), (1, None));
    raw
}

#[test]
fn pieces_become_one_member_and_the_staging_goes() {
    // 256 are joined in one step, 257 in two.
    for runs in [1, 2, 255, 256, 257, 600] {
        let bucket = Bucket::new(false);
        let progress = run(&bucket, &mut lines(runs), "r1", 10_000).unwrap();
        let Progress::Done(archived) = progress else {
            panic!("{progress:?}")
        };
        assert_eq!(archived.totals.entries, runs as u64);
        assert_eq!(bucket.keys(""), [keys().archive()]);
        assert_eq!(decoded(&bucket), raw(runs));
        let objects = bucket.objects.borrow();
        let options = &objects[keys().archive()].options;
        let (count, footings) = options.metadata.split_first().unwrap();
        assert_eq!(*count, ("messageCount".to_owned(), runs.to_string()));
        assert_eq!(footings.len(), usize::from(runs > 1), "{footings:?}");
        let footings = footings_of(&options.metadata);
        assert!(footings.len() < runs && footings.len() <= ARCHIVE_FOOTINGS_MAX);
        assert!(footings.is_sorted());
        assert_eq!(options.content_type.as_deref(), Some("application/gzip"));
    }
}

#[test]
fn nothing_is_archived_as_nothing() {
    let bucket = Bucket::new(false);
    let progress = run(&bucket, &mut lines(0), "r1", 1).unwrap();
    assert_eq!(progress, Progress::Nothing);
    assert!(bucket.keys("").is_empty());
}

/// A call that stages few pieces leaves the rest to the next, which reads nothing twice.
#[test]
fn it_goes_on_where_it_stopped() {
    let bucket = Bucket::new(false);
    let mut source = lines(10);
    for staged in [3, 6, 9] {
        let progress = run(&bucket, &mut source, "r1", 3).unwrap();
        assert_eq!(progress, Progress::More { pieces: staged });
        assert!(bucket.bytes(keys().archive()).is_none());
    }
    let progress = run(&bucket, &mut source, "r1", 3).unwrap();
    assert!(matches!(progress, Progress::Done(_)));
    assert_eq!(source.reads, 10);
    assert_eq!(decoded(&bucket), raw(10));
}

#[test]
fn a_repeat_finds_it_done_and_other_content_is_a_conflict() {
    let bucket = Bucket::new(false);
    run(&bucket, &mut lines(10), "r1", 100).unwrap();
    let before = bucket.bytes_sent.get();
    let progress = run(&bucket, &mut lines(10), "r1", 100).unwrap();
    assert!(matches!(progress, Progress::Done(_)));
    assert_eq!(bucket.bytes_sent.get(), before);
    for other in [lines(9), lines(11)] {
        let mut other = other;
        let error = run(&bucket, &mut other, "r2", 100).unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict);
        assert_eq!(decoded(&bucket), raw(10));
    }
}

/// Pieces that something else left are no part of this archive.
#[test]
fn pieces_of_another_origin_are_written_anew() {
    for runs in [4, 300] {
        let bucket = Bucket::new(false);
        let mut other = Lines {
            runs: 400,
            each: "other",
            reads: 0,
        };
        run(&bucket, &mut other, "other", 350).unwrap();
        bucket.insert(&keys().joined(0).unwrap(), b"left of something else");
        run(&bucket, &mut lines(runs), "r1", 1_000).unwrap();
        assert_eq!(decoded(&bucket), raw(runs));
        assert_eq!(bucket.keys(""), [keys().archive()]);
    }
}

#[test]
fn a_damaged_archive_is_told_and_nothing_is_deleted() {
    let bucket = Bucket::new(false);
    run(&bucket, &mut lines(10), "r1", 100).unwrap();
    let whole = bucket.bytes(keys().archive()).unwrap();
    for wrong in [&whole[..whole.len() - 1], &[], b"no gzip"] {
        bucket.insert(keys().archive(), wrong);
        let error = run(&bucket, &mut lines(10), "r1", 100).unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict, "{error}");
        assert_eq!(bucket.bytes(keys().archive()).unwrap(), wrong);
    }
}
