//! One object's way from store to store: look, compare, write under a condition, read back. Knows
//! nothing of the other objects but the memory that all share.

use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use super::compare::{Difference, difference, proven, same_bytes};
use super::read::{PART_BYTES, Parts, Problem, head};
use super::write::{BUFFERS, OBJECT_BYTES, Writer, unique_number};
use super::{BUDGET_BYTES, Event, ONE_STEP_BYTES_MAX, Outcome, Transfer, unsettled};
use crate::store::check::error;
use crate::store::key::shown;
use crate::store::{Condition, Entry, ErrorCode, PutOptions, Stat};

/// Looks at an object that somebody writes meanwhile.
const LOOKS_MAX: usize = 2;

/// How much of an object was told as settled; together never more than its size.
struct Told<'a> {
    tell: &'a (dyn Fn(Event<'_>) + Sync),
    left_bytes: AtomicU64,
}

impl Told<'_> {
    fn passed(&self, bytes: u64) {
        let left = self.left_bytes.load(Ordering::Relaxed);
        let bytes = bytes.min(left);
        self.left_bytes.store(left - bytes, Ordering::Relaxed);
        (self.tell)(Event::Bytes(bytes));
    }

    /// Each byte is written and read back: half a step each.
    fn half(&self, bytes: u64) {
        self.passed(bytes / 2);
    }
}

impl Transfer<'_> {
    /// The object's size as listed, and what became of it.
    pub async fn settle(&self, entry: Entry) -> (u64, Outcome) {
        let Entry {
            key, size_bytes, ..
        } = entry;
        let needs_bytes = OBJECT_BYTES + BUFFERS * size_bytes.min(PART_BYTES);
        let needs = needs_bytes.min(BUDGET_BYTES) >> 10;
        // Only a closed semaphore refuses, and nobody closes this one.
        let _room = self.budget.acquire_many(needs as u32).await;
        let told = Told {
            tell: self.tell,
            left_bytes: AtomicU64::new(size_bytes),
        };
        let mut looks = 0;
        let mut replace = self.options.replace;
        let outcome = loop {
            looks += 1;
            match self.look(&key, size_bytes, replace, &told).await {
                Ok(outcome) => break outcome,
                Err(Problem::Changed(_)) if looks < LOOKS_MAX => {}
                // Nobody asked to write over what came there only now.
                Err(Problem::Taken(_)) if looks < LOOKS_MAX => replace = false,
                Err(Problem::Changed(error) | Problem::Taken(error) | Problem::Failed(error)) => {
                    break Outcome::Failed(error);
                }
                Err(Problem::Gone) => break Outcome::Gone,
            }
        };
        told.passed(size_bytes);
        (self.tell)(Event::Settled {
            key: &key,
            size_bytes,
            outcome: &outcome,
        });
        (size_bytes, outcome)
    }

    async fn look(
        &self,
        key: &str,
        size_bytes: u64,
        replace: bool,
        told: &Told<'_>,
    ) -> Result<Outcome, Problem> {
        let Some(there) = head(self.to, key).await? else {
            if self.options.dry_run {
                return Ok(Outcome::Copied);
            }
            self.write(key, size_bytes, None, told).await?;
            return Ok(Outcome::Copied);
        };
        let here = head(self.from, key).await?.ok_or(Problem::Gone)?;
        let found = match difference(&here, &there) {
            None if self.same_kind && proven(&here, &there) => None,
            None if self.same_bytes(key, here.size_bytes, told).await? => None,
            None => Some(Difference::Bytes),
            found => found,
        };
        match found {
            None => Ok(Outcome::Equal),
            Some(difference) if !replace => Ok(Outcome::Different(difference)),
            Some(_) => {
                if !self.options.dry_run {
                    self.write(key, size_bytes, Some(&there), told).await?;
                }
                let in_one_step = here.size_bytes <= ONE_STEP_BYTES_MAX;
                Ok(Outcome::Replaced { in_one_step })
            }
        }
    }

    async fn same_bytes(
        &self,
        key: &str,
        size_bytes: u64,
        told: &Told<'_>,
    ) -> Result<bool, Problem> {
        let from = Parts::open(self.from, key, size_bytes).await?;
        let to = Parts::open(self.to, key, size_bytes).await?;
        let (Some(mut from), Some(mut to)) = (from, to) else {
            return Err(Problem::Changed(unsettled(
                key,
                "it was deleted while it was compared",
            )));
        };
        same_bytes(&mut from, &mut to, |bytes| told.passed(bytes)).await
    }

    /// Write the object, over `replaces` or where nothing is, and read it back.
    async fn write(
        &self,
        key: &str,
        size_bytes: u64,
        replaces: Option<&Stat>,
        told: &Told<'_>,
    ) -> Result<(), Problem> {
        let source = Parts::open(self.from, key, size_bytes).await?;
        let mut source = source.ok_or(Problem::Gone)?;
        let options = PutOptions {
            condition: match replaces {
                None => Condition::IfAbsent,
                Some(stat) => Condition::IfMatch(stat.version.clone()),
            },
            content_type: source.stat.content_type.clone(),
            metadata: source.stat.metadata.clone(),
        };
        let mut hash = Sha256::new();
        let mut writer = Writer {
            to: self.to,
            beside: &unique_key,
            hash: &mut hash,
            passed: &|bytes| told.half(bytes),
        };
        let version = match writer.write(key, &mut source, options).await? {
            Ok(version) => Some(version),
            // What is read back tells.
            Err(error) if error.code == ErrorCode::OutcomeUnknown => None,
            Err(error) if error.code == ErrorCode::Conflict => return Err(Problem::Taken(error)),
            Err(error) => return Err(error.into()),
        };
        self.read_back(key, &source.stat, hash, version, told).await
    }

    /// What lies there must be what was read, `version` being the one that the write answered.
    async fn read_back(
        &self,
        key: &str,
        source: &Stat,
        hash: Sha256,
        version: Option<String>,
        told: &Told<'_>,
    ) -> Result<(), Problem> {
        let deleted = || Problem::Changed(unsettled(key, "it was gone right after it was written"));
        let written = Parts::open(self.to, key, source.size_bytes).await?;
        let mut written = written.ok_or_else(deleted)?;
        let found = written.digest(|bytes| told.half(bytes)).await?;
        let wrong = if found != <[u8; 32]>::from(hash.finalize()) {
            Some(Difference::Bytes)
        } else {
            difference(source, &written.stat)
        };
        match wrong {
            None => Ok(()),
            Some(_) if version.as_deref() != Some(&written.stat.version) => Err(Problem::Changed(
                unsettled(key, "somebody wrote it in the target meanwhile"),
            )),
            Some(wrong) => Err(Problem::Failed(error(
                ErrorCode::Other,
                format!(
                    "key {}: it was written, and what is read back is not the same: {wrong}; look \
                     at the target with `haversack store check`",
                    shown(key)
                ),
            ))),
        }
    }
}

/// A key that no other run uses.
fn unique_key() -> String {
    format!("haversack-copy-{}", unique_number())
}
