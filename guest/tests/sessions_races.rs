//! Sessions of gsv stopped after every store call, and raced between any two: what was acknowledged is in
//! exactly one session.

#[path = "support/bucket.rs"]
mod bucket;
#[path = "support/failing.rs"]
mod failing;
#[path = "support/talk.rs"]
mod talk;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use bucket::Bucket;
use failing::Failing;
use haversack_core::ops::sessions::*;
use haversack_core::store::Store;
use talk::*;

/// Stopped after each store call, with the answer or without it, and repeated: as if it had gone through.
#[test]
fn an_append_stopped_anywhere_is_finished_by_its_repeat() {
    for appends in [false, true] {
        for loses_an_answer in [false, true] {
            for calls in 0..60 {
                let bucket = Bucket::new(appends);
                let failing = Failing {
                    inner: &bucket,
                    left: Cell::new(calls),
                    loses_an_answer,
                };
                let mut acknowledged = Vec::new();
                for number in 0..4 {
                    let name = format!("m{number}");
                    let request = appending(&name, &[text(&name)], NOW + number);
                    if append(&failing, &request).is_ok() {
                        acknowledged.push(name);
                    }
                }
                assert_eq!(
                    live(&bucket)[..acknowledged.len().min(live(&bucket).len())],
                    acknowledged
                );
                for number in 0..4 {
                    say(&bucket, number);
                }
                assert_eq!(live(&bucket), ["m0", "m1", "m2", "m3"], "{appends} {calls}");
                assert_eq!(status_of(&bucket).counts.messages, 4, "{appends} {calls}");
            }
        }
    }
}

#[test]
fn a_reset_stopped_anywhere_is_finished_by_its_repeat() {
    for appends in [false, true] {
        for loses_an_answer in [false, true] {
            let mut calls = 0;
            loop {
                let bucket = Bucket::new(appends);
                for number in 0..5 {
                    say(&bucket, number);
                }
                insert_media(&bucket, 1, NOW - 5);
                let failing = Failing {
                    inner: &bucket,
                    left: Cell::new(calls),
                    loses_an_answer,
                };
                let ended = reset(&failing, "reset-1").is_ok();
                // A message that comes in between belongs to exactly one session.
                say(&bucket, 7);
                say(&bucket, 4);
                if !ended {
                    let done = reset(&bucket, "reset-1").unwrap();
                    assert_eq!(done.step, ResetStep::Done, "{calls}");
                }
                let [archive] = archives(&bucket).try_into().unwrap();
                let archived: Vec<String> = lines(&bucket, &archive)
                    .iter()
                    .map(|line| name_of(line))
                    .collect();
                let mut all = archived.clone();
                all.extend(live(&bucket));
                assert_eq!(
                    all,
                    ["m0", "m1", "m2", "m3", "m4", "m7"],
                    "{appends} {loses_an_answer} {calls}"
                );
                let status = status_of(&bucket);
                assert_eq!((status.pending, status.epoch), (None, 1));
                let keys = bucket.keys("");
                assert!(
                    keys.iter()
                        .all(|key| !key.contains("pieces/") && !key.starts_with("media/")),
                    "{keys:?}"
                );
                let of_the_old = keys.iter().filter(|key| key.contains(&status.previous[0]));
                assert_eq!(of_the_old.count(), 1, "{keys:?}");
                if ended {
                    break;
                }
                calls += 1;
            }
            assert!(calls > 15, "{calls}");
        }
    }
}

/// A store in which something happens once, after so many calls.
struct Interrupted<'a> {
    inner: &'a Bucket,
    left: Cell<usize>,
    act: &'a dyn Fn(&Bucket),
}

impl Interrupted<'_> {
    fn tick(&self) {
        let left = self.left.get();
        if left == 0 {
            self.left.set(usize::MAX);
            (self.act)(self.inner);
        } else if left != usize::MAX {
            self.left.set(left - 1);
        }
    }
}

mod interrupted {
    use super::*;
    use haversack_core::store::*;

    impl Store for Interrupted<'_> {
        fn describe(&self) -> Vec<(String, String)> {
            self.inner.describe()
        }
        fn read(&self, wave: Vec<Request>) -> Vec<StoreResult<Answer>> {
            self.tick();
            self.inner.read(wave)
        }
        fn put(&self, key: &str, body: Body, options: PutOptions) -> StoreResult<String> {
            self.tick();
            self.inner.put(key, body, options)
        }
        fn append(&self, key: &str, body: Body, at_bytes: u64) -> StoreResult<u64> {
            self.tick();
            self.inner.append(key, body, at_bytes)
        }
        fn concat(&self, from: Vec<Source>, to: &str, options: PutOptions) -> StoreResult<String> {
            self.tick();
            self.inner.concat(from, to, options)
        }
        fn delete(&self, keys: Vec<String>) -> Vec<StoreResult<()>> {
            self.tick();
            self.inner.delete(keys)
        }
    }
}

/// A whole reset, or its begin, between any two store calls of an append; and the other way round.
#[test]
fn an_append_that_races_with_a_reset_is_in_one_session() {
    for appends in [false, true] {
        for begin_only in [false, true] {
            for calls in 0..12 {
                let bucket = Bucket::new(appends);
                for number in 0..3 {
                    say(&bucket, number);
                }
                let act = |bucket: &Bucket| {
                    if begin_only {
                        reset_begin(bucket, &ending("reset-1")).unwrap();
                    } else {
                        reset(bucket, "reset-1").unwrap();
                    }
                };
                let racing = Interrupted {
                    inner: &bucket,
                    left: Cell::new(calls),
                    act: &act,
                };
                append(&racing, &appending("x", &[text("mx")], NOW + 9)).unwrap();
                reset(&bucket, "reset-1").unwrap();
                let again = append(&bucket, &appending("x", &[text("mx")], NOW + 9)).unwrap();
                assert!(again.repeat, "{appends} {begin_only} {calls}");
                assert_eq!(
                    everything(&bucket),
                    ["m0", "m1", "m2", "mx"],
                    "{appends} {begin_only} {calls}"
                );
            }
            for calls in 0..60 {
                let bucket = Bucket::new(appends);
                for number in 0..3 {
                    say(&bucket, number);
                }
                let act = |bucket: &Bucket| {
                    append(bucket, &appending("x", &[text("mx")], NOW + 9)).unwrap();
                };
                let racing = Interrupted {
                    inner: &bucket,
                    left: Cell::new(calls),
                    act: &act,
                };
                reset(&racing, "reset-1").unwrap();
                if racing.left.get() == usize::MAX {
                    assert_eq!(
                        everything(&bucket),
                        ["m0", "m1", "m2", "mx"],
                        "{appends} {calls}"
                    );
                }
            }
        }
    }
}

/// Callers that come in between each other's store calls, are stopped, repeat, and begin resets: by a seed.
struct World {
    bucket: Bucket,
    random: Cell<u64>,
    depth: Cell<u32>,
    begun: Cell<u64>,
    acknowledged: RefCell<BTreeSet<String>>,
}

impl World {
    fn below(&self, bound: u64) -> u64 {
        let next = self
            .random
            .get()
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.random.set(next);
        (next >> 33) % bound
    }

    /// One caller's call, which others may come into and which may be stopped.
    fn step(&self) {
        if self.depth.get() > 2 {
            return;
        }
        self.depth.set(self.depth.get() + 1);
        let between = Between { world: self };
        let stopped = Failing {
            inner: &between,
            left: Cell::new(match self.below(3) {
                0 => self.below(25) as usize,
                _ => usize::MAX,
            }),
            loses_an_answer: self.below(2) == 0,
        };
        match self.below(8) {
            0 => drop(reset(&stopped, &format!("reset-{}", self.below(4)))),
            1 => drop(reset_begin(
                &stopped,
                &ending(&format!("reset-{}", self.below(4))),
            )),
            2 if self.begun.get() > 0 => self.say(&stopped, self.below(self.begun.get())),
            _ if self.begun.get() < 10 => {
                self.begun.set(self.begun.get() + 1);
                self.say(&stopped, self.begun.get() - 1);
            }
            _ => {}
        }
        self.depth.set(self.depth.get() - 1);
    }

    fn say(&self, store: &dyn Store, number: u64) {
        let name = format!("m{number}");
        if append(store, &appending(&name, &[text(&name)], NOW + number)).is_ok() {
            self.acknowledged.borrow_mut().insert(name);
        }
    }
}

/// The bucket, before each call of which somebody else may do something.
struct Between<'a> {
    world: &'a World,
}

impl Between<'_> {
    fn bucket(&self) -> &Bucket {
        if self.world.below(12) == 0 {
            self.world.step();
        }
        &self.world.bucket
    }
}

mod between {
    use super::*;
    use haversack_core::store::*;

    impl Store for Between<'_> {
        fn describe(&self) -> Vec<(String, String)> {
            self.world.bucket.describe()
        }
        fn read(&self, wave: Vec<Request>) -> Vec<StoreResult<Answer>> {
            self.bucket().read(wave)
        }
        fn put(&self, key: &str, body: Body, options: PutOptions) -> StoreResult<String> {
            self.bucket().put(key, body, options)
        }
        fn append(&self, key: &str, body: Body, at_bytes: u64) -> StoreResult<u64> {
            self.bucket().append(key, body, at_bytes)
        }
        fn concat(&self, from: Vec<Source>, to: &str, options: PutOptions) -> StoreResult<String> {
            self.bucket().concat(from, to, options)
        }
        fn delete(&self, keys: Vec<String>) -> Vec<StoreResult<()>> {
            self.bucket().delete(keys)
        }
    }
}

#[test]
fn whoever_comes_in_between_nothing_acknowledged_is_lost_or_doubled() {
    let runs: u64 = std::env::var("HAVERSACK_RUNS").map_or(400, |runs| runs.parse().unwrap());
    for seed in 0..runs {
        let world = World {
            bucket: Bucket::new(seed % 2 == 1),
            random: Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            depth: Cell::new(0),
            begun: Cell::new(0),
            acknowledged: RefCell::default(),
        };
        for _ in 0..12 {
            world.step();
        }
        reset(&world.bucket, "reset-9").unwrap();
        // What was not acknowledged is repeated, as a caller does.
        for number in 0..world.begun.get() {
            let name = format!("m{number}");
            if !world.acknowledged.borrow().contains(&name) {
                world.say(&world.bucket, number);
            }
        }
        let mut expected: Vec<String> = (0..world.begun.get()).map(|n| format!("m{n}")).collect();
        expected.sort();
        assert_eq!(
            everything(&world.bucket),
            expected,
            "seed {seed}: {:#?}",
            world.bucket.keys("")
        );
    }
}
