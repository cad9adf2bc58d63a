//! The order in which things happen: compare everything, wait for changes, look at what is quiet, compare again, and
//! stop with nothing left. Knows paths only as work to do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::watch;

use super::event::{Event, Side, Summary};
use super::feed::{Change, Feed};
use super::pending::{PATHS_MAX, Pending};
use super::settle::Settled;
use super::survey::Candidate;
use super::{FOLDER, Sides};
use crate::store::{Error, ErrorCode};

/// Between two saves of the manifest while much is under way.
const SAVE_EVERY: Duration = Duration::from_secs(1);
/// Before something that failed, but may pass, is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// What is under way, and comes to an end.
enum Done {
    Surveyed {
        both: bool,
        found: Result<Vec<Candidate>, Error>,
    },
    Near(Result<Vec<Candidate>, Error>),
    Settled(Candidate, Result<Settled, Error>),
}

/// Why something happens next.
enum Woken {
    Done(Done),
    Change(Change),
    Stop,
    Time,
}

/// A sync under way.
pub struct Order<'s> {
    sides: &'s Sides<'s>,
    running: FuturesUnordered<LocalBoxFuture<'s, Done>>,
    /// The paths among them.
    busy: BTreeSet<String>,
    queue: BTreeMap<String, Candidate>,
    /// Failed once; tried again when the others, which they may have waited for, are done.
    later: Vec<Candidate>,
    pending: Pending,
    surveying: bool,
    /// A look at everything is wanted, in the store too or not.
    wanted: Option<bool>,
    next_full: Instant,
    next_poll: Option<Instant>,
    /// Until when to stop.
    stop_at: Option<Instant>,
    /// The last look, after which nothing is left.
    looked_last: bool,
    rested: bool,
    saved: Instant,
    done: Summary,
    failed: BTreeMap<String, Error>,
}

impl<'s> Order<'s> {
    pub fn new(sides: &'s Sides<'s>) -> Self {
        let now = Instant::now();
        Order {
            sides,
            running: FuturesUnordered::new(),
            busy: BTreeSet::new(),
            queue: BTreeMap::new(),
            later: Vec::new(),
            pending: Pending::default(),
            surveying: false,
            wanted: Some(true),
            next_full: now + sides.options.every,
            next_poll: sides.options.poll.map(|poll| now + poll),
            stop_at: None,
            looked_last: false,
            rested: false,
            saved: now,
            done: Summary::default(),
            failed: BTreeMap::new(),
        }
    }

    /// Go on until it is told to stop, or once. An error is one that ends all of it.
    pub async fn keep(
        &mut self,
        mut feed: Option<&mut Feed>,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<(), Error> {
        let ends = self.sides.options.once || self.sides.options.dry_run;
        loop {
            self.start(feed.as_deref_mut())?;
            self.save(self.is_idle());
            if self.is_idle() {
                if !self.later.is_empty() {
                    let later = std::mem::take(&mut self.later);
                    self.add(later);
                    continue;
                }
                match self.stop_at {
                    Some(_) if self.looked_last || ends => return Ok(()),
                    Some(_) => {
                        self.looked_last = true;
                        self.wanted = Some(false);
                        continue;
                    }
                    None if ends => return Ok(()),
                    None => self.rest(),
                }
            }
            let wake = self.next_time();
            let woken = tokio::select! {
                biased;
                _ = stopped(stop), if self.stop_at.is_none() => Woken::Stop,
                Some(done) = self.running.next() => Woken::Done(done),
                change = next_change(&mut feed), if self.stop_at.is_none() => Woken::Change(change),
                () = sleep_until(wake) => Woken::Time,
            };
            match woken {
                Woken::Done(done) => self.finish(done)?,
                Woken::Change(Change::At(key)) => {
                    self.pending.touch(key, Instant::now());
                    if self.pending.len() > PATHS_MAX {
                        self.wanted = Some(true);
                    }
                }
                Woken::Change(Change::Anywhere) => self.wanted = Some(true),
                Woken::Stop => {
                    (self.sides.tell)(Event::Stopping);
                    self.stop_at = Some(Instant::now() + self.sides.options.stop_within);
                    self.wanted = None;
                }
                Woken::Time if self.is_late() => {
                    let waiting = self.queue.len() + self.later.len() + self.running.len();
                    self.done.left = waiting.max(1) as u64;
                    return Ok(());
                }
                Woken::Time => {}
            }
        }
    }

    /// What was done, and what did not work, by key.
    pub fn into_outcome(self) -> (Summary, Vec<(String, Error)>) {
        (self.done, self.failed.into_iter().collect())
    }

    /// Begin what is due.
    fn start(&mut self, feed: Option<&mut Feed>) -> Result<(), Error> {
        let now = Instant::now();
        let sides = self.sides;
        if self.stop_at.is_some() {
            // The last look sees what they are about.
            self.pending.clear();
        } else {
            let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
            if is_due(self.next_poll) {
                self.next_poll = sides.options.poll.map(|poll| now + poll);
                self.wanted = self.wanted.or(Some(false));
            }
            if self.next_full <= now {
                self.next_full = now + sides.options.every;
                self.wanted = Some(true);
            }
        }
        if let (false, Some(both)) = (self.surveying, self.wanted) {
            self.wanted = None;
            self.surveying = true;
            if both {
                self.pending.clear();
            }
            // In this order: what is watched must be there, and what came before is found by the look.
            sides.restore_folders()?;
            if let Some(feed) = feed {
                feed.watch()?;
            }
            self.running.push(Box::pin(async move {
                let found = sides.survey(both).await;
                Done::Surveyed { both, found }
            }));
        }
        let keys = self.pending.take_due(now, false);
        if !keys.is_empty() {
            let near = async move { Done::Near(sides.survey_near(keys).await) };
            self.running.push(Box::pin(near));
        }
        let room = sides.options.at_once.max(1).saturating_sub(self.busy.len());
        let free = self.queue.keys().filter(|key| !self.busy.contains(*key));
        let keys: Vec<String> = free.take(room).cloned().collect();
        for key in keys {
            let Some(candidate) = self.queue.remove(&key) else {
                continue;
            };
            self.busy.insert(key);
            self.running.push(Box::pin(async move {
                let settled = sides.settle(&candidate).await;
                Done::Settled(candidate, settled)
            }));
        }
        Ok(())
    }

    fn add(&mut self, candidates: Vec<Candidate>) {
        let before = self.queue.len();
        for mut candidate in candidates {
            if let Some(waiting) = self.queue.get(&candidate.key) {
                candidate.full |= waiting.full;
                candidate.absent_there &= waiting.absent_there;
            }
            self.queue.insert(candidate.key.clone(), candidate);
        }
        let paths = (self.queue.len() - before) as u64;
        if paths > 0 {
            self.rested = false;
            (self.sides.tell)(Event::Found { paths });
        }
    }

    fn finish(&mut self, done: Done) -> Result<(), Error> {
        match done {
            Done::Surveyed { both, found } => {
                self.surveying = false;
                match found {
                    Ok(candidates) => {
                        self.failed.remove("");
                        self.add(candidates);
                    }
                    Err(error) => self.survey_failed(both, error)?,
                }
            }
            Done::Near(Ok(candidates)) => self.add(candidates),
            Done::Near(Err(_)) => self.wanted = Some(true),
            Done::Settled(candidate, Ok(settled)) => self.settled(candidate, settled),
            Done::Settled(candidate, Err(error)) => self.not_settled(candidate, error),
        }
        Ok(())
    }

    /// The first one tells whether any can work; later ones may be a bad moment.
    fn survey_failed(&mut self, both: bool, error: Error) -> Result<(), Error> {
        let ends = self.sides.options.once || self.sides.options.dry_run;
        let may_pass = may_pass(&error) && !ends && self.stop_at.is_none();
        if !may_pass {
            return Err(error);
        }
        self.tell_failed("", &error);
        self.failed.insert(String::new(), error);
        match both {
            true => self.next_full = Instant::now() + RETRY_AFTER,
            false => self.next_poll = Some(Instant::now() + RETRY_AFTER),
        }
        Ok(())
    }

    fn settled(&mut self, candidate: Candidate, settled: Settled) {
        let Candidate { key, .. } = candidate;
        self.busy.remove(&key);
        self.failed.remove(&key);
        self.sides.is_well(&key);
        let Settled {
            step,
            why,
            size_bytes,
            beside,
        } = settled;
        self.done.note(step, size_bytes);
        if let Some(key) = &beside {
            // A file of its own from here on.
            self.add(vec![Candidate {
                key: key.clone(),
                absent_there: false,
                full: false,
                failures: 0,
            }]);
        }
        (self.sides.tell)(Event::Settled {
            key,
            step,
            why,
            size_bytes,
            kept_as: beside,
        });
    }

    fn not_settled(&mut self, mut candidate: Candidate, error: Error) {
        self.busy.remove(&candidate.key);
        candidate.failures += 1;
        candidate.absent_there = false;
        if candidate.failures == 1 {
            self.later.push(candidate);
            return;
        }
        let key = candidate.key;
        self.tell_failed(&key, &error);
        if may_pass(&error) {
            self.pending
                .put_off(key.clone(), Instant::now(), RETRY_AFTER);
        }
        self.failed.insert(key, error);
    }

    fn tell_failed(&self, key: &str, error: &Error) {
        if self.sides.is_new(Side::Here, key, &error.message) {
            (self.sides.tell)(Event::Failed {
                key: key.to_owned(),
                message: error.message.clone(),
            });
        }
    }

    fn rest(&mut self) {
        if !self.rested && self.pending.is_empty() {
            self.rested = true;
            let files = self.sides.files().len() as u64;
            (self.sides.tell)(Event::AtRest { files });
        }
    }

    fn is_idle(&self) -> bool {
        self.running.is_empty() && self.queue.is_empty() && self.wanted.is_none()
    }

    fn is_late(&self) -> bool {
        self.stop_at.is_some_and(|at| at <= Instant::now())
    }

    fn next_time(&self) -> Instant {
        if let Some(stop_at) = self.stop_at {
            return stop_at;
        }
        let ends = self.sides.options.once || self.sides.options.dry_run;
        let next_full = (!ends).then_some(self.next_full);
        let times = [next_full, self.next_poll, self.pending.next_due()];
        let next = times.into_iter().flatten().min();
        next.unwrap_or_else(|| Instant::now() + self.sides.options.every)
    }

    /// Where there is something new; not at every path while much is under way, unless `now`.
    pub fn save(&mut self, now: bool) {
        let is_due = now || self.saved.elapsed() >= SAVE_EVERY;
        let sides = self.sides;
        if !is_due || !sides.state.is_held() || !sides.unsaved.swap(false, Ordering::AcqRel) {
            return;
        }
        self.saved = Instant::now();
        let files = sides.files().clone();
        match sides.state.save(&files) {
            Ok(()) => _ = self.failed.remove(FOLDER),
            Err(error) => {
                sides.unsaved.store(true, Ordering::Release);
                self.tell_failed(FOLDER, &error);
                self.failed.insert(FOLDER.to_owned(), error);
            }
        }
    }
}

/// Whether it is worth trying again without anybody doing anything.
fn may_pass(error: &Error) -> bool {
    matches!(
        error.code,
        ErrorCode::Unavailable | ErrorCode::OutcomeUnknown
    )
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        // Nobody is left who could say it.
        std::future::pending::<()>().await;
    }
}

async fn next_change(feed: &mut Option<&mut Feed>) -> Change {
    match feed {
        Some(feed) => feed.next().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Instant) {
    tokio::time::sleep_until(at.into()).await;
}
