//! One object's way from store to store: look, compare, write under a condition, read back. Knows
//! nothing of the other objects but the memory that all share.

use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use super::compare::{Difference, difference, proven, same_bytes};
use super::read::{PART_BYTES, Parts, Problem, head};
use super::{BUDGET_BYTES, Event, ONE_STEP_BYTES_MAX, Outcome, Transfer, unsettled};
use crate::store::check::error;
use crate::store::key::shown;
use crate::store::{Body, Condition, Entry, Error, ErrorCode, PutOptions, Source, Stat};

/// Looks at an object that somebody writes meanwhile.
const LOOKS_MAX: usize = 2;
/// Of a part: as read, one that fills, and three on their way into a bucket.
const BUFFERS: u64 = 5;
/// Beside its bytes.
const OBJECT_BYTES: u64 = 64 << 10;

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
        let written = if source.stat.size_bytes <= PART_BYTES {
            let bytes = source.next().await?.unwrap_or_default();
            hash.update(&bytes);
            told.half(bytes.len() as u64);
            let put = self.to.put(key.to_owned(), Body::Binary(bytes), options);
            put.await
        } else {
            self.write_large(key, &mut source, options, &mut hash, told)
                .await?
        };
        let version = match written {
            Ok(version) => Some(version),
            // What is read back tells.
            Err(error) if error.code == ErrorCode::OutcomeUnknown => None,
            Err(error) if error.code == ErrorCode::Conflict => return Err(Problem::Taken(error)),
            Err(error) => return Err(error.into()),
        };
        self.read_back(key, &source.stat, hash, version, told).await
    }

    /// In parts. The outer failure is the source's or that of a part; the inner one is the last step's.
    async fn write_large(
        &self,
        key: &str,
        source: &mut Parts<'_>,
        options: PutOptions,
        hash: &mut Sha256,
        told: &Told<'_>,
    ) -> Result<Result<String, Error>, Problem> {
        let Condition::IfMatch(seen) = options.condition.clone() else {
            let upload = self.upload(key, source, options, None, hash, told);
            return upload.await;
        };
        if source.stat.size_bytes > ONE_STEP_BYTES_MAX {
            let always = PutOptions {
                condition: Condition::Always,
                ..options
            };
            let upload = self.upload(key, source, always, Some(&seen), hash, told);
            return upload.await;
        }
        // An upload knows no if-match, a concat does: by way of an object that nobody else writes.
        let beside = unique_key();
        let if_absent = PutOptions {
            condition: Condition::IfAbsent,
            content_type: None,
            metadata: Vec::new(),
        };
        let uploaded = self.upload(&beside, source, if_absent, None, hash, told);
        let made = match uploaded.await? {
            Ok(version) => {
                let from = Source {
                    key: beside.clone(),
                    if_match: Some(version),
                };
                self.to.concat(vec![from], key.to_owned(), options).await
            }
            failed => failed,
        };
        let removed = self.to.delete(vec![beside]).await;
        if let Some(Err(error)) = removed.into_iter().find(Result::is_err) {
            return Err(error.into());
        }
        Ok(made)
    }

    /// `seen` is the version that must still lie there right before the end.
    async fn upload(
        &self,
        key: &str,
        source: &mut Parts<'_>,
        options: PutOptions,
        seen: Option<&str>,
        hash: &mut Sha256,
        told: &Told<'_>,
    ) -> Result<Result<String, Error>, Problem> {
        let mut upload = self.to.upload(key.to_owned(), options).await?;
        let problem = loop {
            let part = match source.next().await {
                Ok(Some(part)) => part,
                Ok(None) => break None,
                Err(problem) => break Some(problem),
            };
            hash.update(&part);
            let bytes = part.len() as u64;
            if let Err(error) = upload.write(part).await {
                break Some(error.into());
            }
            told.half(bytes);
        };
        let problem = match (problem, seen) {
            (None, Some(seen)) => match head(self.to, key).await {
                Ok(Some(stat)) if stat.version == seen => None,
                Ok(_) => Some(Problem::Taken(unsettled(
                    key,
                    "somebody wrote it in the target meanwhile",
                ))),
                Err(error) => Some(error.into()),
            },
            (problem, _) => problem,
        };
        match problem {
            None => Ok(upload.finish().await),
            Some(problem) => {
                // The first problem is the one to tell; what stays of the upload is swept.
                let _ = upload.abort().await;
                Err(problem)
            }
        }
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
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let time_ns = time.map_or(0, |time| time.as_nanos());
    format!("haversack-copy-{}-{time_ns}-{number}", std::process::id())
}
