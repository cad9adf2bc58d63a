//! One path brought to rest: looked at on both sides, decided, carried out under the condition of what was seen, and
//! remembered. Knows nothing of other paths but the memory that all share.

use sha2::{Digest, Sha256};

use super::beside::{DIGITS, name_beside};
use super::decide::{Seen, Step, decide};
use super::manifest::{FOLDER, Known, PARTS};
use super::survey::Candidate;
use super::{Event, Sides, at_rest, now_ms};
use crate::store::check::{error, plain};
use crate::store::key::{KEY_BYTES_MAX, shown};
use crate::store::{BlobStore, Condition, Error, ErrorCode, PutOptions, Source, Stat, value};
use crate::transfer::read::{PART_BYTES, Parts, Problem, head};
use crate::transfer::write::{BUFFERS, OBJECT_BYTES, Writer, unique_number};

/// Looks at a path that somebody writes meanwhile.
const LOOKS_MAX: usize = 4;

/// What became of a path; in a dry run, what would.
#[derive(Clone, Debug)]
pub struct Settled {
    pub step: Step,
    pub why: &'static str,
    pub size_bytes: u64,
    /// The key of what a conflict kept beside.
    pub beside: Option<String>,
}

/// A path as a look found it.
struct Look<'a> {
    key: &'a str,
    place: String,
    here: Option<Stat>,
    there: Option<Stat>,
    /// The clock, before anything was looked at.
    now_ms: u64,
}

/// An object that was carried over.
struct Carried {
    /// As it was read.
    source: Stat,
    /// Its version where it was written.
    version: String,
    digest: String,
}

impl Sides<'_> {
    /// Bring the path to rest. An error leaves both sides as they are.
    pub async fn settle(&self, candidate: &Candidate) -> Result<Settled, Error> {
        let mut looks = 0;
        loop {
            looks += 1;
            let trusts_list = looks == 1;
            match self.look(candidate, trusts_list).await {
                Ok(settled) => return Ok(settled),
                Err(Problem::Failed(error)) => return Err(error),
                Err(_) if looks < LOOKS_MAX => {}
                Err(_) => {
                    let message = format!(
                        "{} changed each of the {LOOKS_MAX} times it was looked at; it is tried again later",
                        shown(&candidate.key)
                    );
                    return Err(error(ErrorCode::Unavailable, message));
                }
            }
        }
    }

    async fn look(&self, candidate: &Candidate, trusts_list: bool) -> Result<Settled, Problem> {
        let key = candidate.key.as_str();
        let now_ms = now_ms();
        let last = self.files().get(key).map(Known::last);
        let place = self.place(key)?;
        let here = head(self.here, &place).await?;
        // A list may be old by now: good enough for a first upload, which is refused if it is wrong.
        let is_new = trusts_list && candidate.absent_there && last.is_none();
        let there = match is_new {
            true => None,
            false => head(self.there, key).await?,
        };
        let seen = |stat: &Stat| Seen {
            version: stat.version.clone(),
            digest: None,
        };
        let (mut seen_here, mut seen_there) = (here.as_ref().map(seen), there.as_ref().map(seen));
        let look = Look {
            key,
            place,
            here,
            there,
            now_ms,
        };
        let (step, why) = loop {
            let (step, why) = decide(last.as_ref(), seen_here.as_ref(), seen_there.as_ref());
            let Step::Look { here, there } = step else {
                break (step, why);
            };
            if let (true, Some(seen), Some(stat)) = (here, &mut seen_here, &look.here) {
                seen.digest = Some(digest(self.here, &look.place, stat).await?);
            }
            if let (true, Some(seen), Some(stat)) = (there, &mut seen_there, &look.there) {
                seen.digest = Some(digest(self.there, key, stat).await?);
            }
        };
        let source = match step {
            Step::Download | Step::Conflict | Step::DeleteThere => &look.there,
            _ => &look.here,
        };
        let mut settled = Settled {
            step,
            why,
            size_bytes: source.as_ref().map_or(0, |stat| stat.size_bytes),
            beside: None,
        };
        if step == Step::DeleteHere && !candidate.full {
            settled.step = Step::Nothing;
            return Ok(settled);
        }
        if self.options.dry_run {
            return Ok(settled);
        }
        let known_digest = seen_here.and_then(|seen| seen.digest);
        match step {
            Step::Nothing | Step::Look { .. } => {}
            Step::Record => {
                let digest = known_digest.or(last.map(|last| last.digest));
                self.record(&look, digest.unwrap_or_default());
            }
            Step::Forget => self.change_files(|files| _ = files.remove(key)),
            Step::Upload => self.upload(&look).await?,
            Step::Download => self.download(&look).await?,
            Step::DeleteHere => self.delete(self.here, &look.place, key).await?,
            Step::DeleteThere => self.delete_there(&look).await?,
            Step::Conflict => {
                settled.beside = Some(
                    self.set_aside(&look, &known_digest.unwrap_or_default())
                        .await?,
                );
                self.download(&look).await?;
            }
        }
        Ok(settled)
    }

    fn place(&self, key: &str) -> Result<String, Error> {
        self.folders.here(key).ok_or_else(|| {
            let message = format!("key {}: it has no place in the directory", shown(key));
            error(ErrorCode::Invalid, message)
        })
    }

    fn record(&self, look: &Look<'_>, digest: String) {
        let (Some(here), Some(there)) = (&look.here, &look.there) else {
            return;
        };
        let known = Known {
            here: here.version.clone(),
            there: there.version.clone(),
            digest,
            size_bytes: here.size_bytes,
            modified_ms: at_rest(here.modified_ms, look.now_ms),
        };
        self.change_files(|files| _ = files.insert(look.key.to_owned(), known));
    }

    /// What others said of the object, its type for one, stays with it.
    async fn upload(&self, look: &Look<'_>) -> Result<(), Problem> {
        let seen = look.there.as_ref();
        let options = PutOptions {
            condition: over(seen),
            content_type: seen.and_then(|stat| stat.content_type.clone()),
            metadata: seen.map_or_else(Vec::new, |stat| stat.metadata.clone()),
        };
        let size_bytes = look.here.as_ref().map_or(0, |stat| stat.size_bytes);
        let _room = self.room(size_bytes).await;
        let source = Parts::open(self.here, &look.place, size_bytes).await?;
        let source = source.ok_or(Problem::Gone)?;
        if source.stat.size_bytes <= PART_BYTES {
            // An editor may have been in the middle of it: what is read must still be what lies there.
            let again = head(self.here, &look.place).await?;
            if again.is_none_or(|stat| stat.version != source.stat.version) {
                return Err(changed(look.key));
            }
        }
        let beside = || format!("{FOLDER}/{}", unique_number());
        let carried = self
            .carry(source, self.there, look.key, options, &beside)
            .await?;
        let known = Known {
            here: carried.source.version,
            there: carried.version,
            digest: carried.digest,
            size_bytes: carried.source.size_bytes,
            modified_ms: at_rest(carried.source.modified_ms, look.now_ms),
        };
        self.change_files(|files| _ = files.insert(look.key.to_owned(), known));
        Ok(())
    }

    async fn download(&self, look: &Look<'_>) -> Result<(), Problem> {
        let size_bytes = look.there.as_ref().map_or(0, |stat| stat.size_bytes);
        let _room = self.room(size_bytes).await;
        let source = Parts::open(self.there, look.key, size_bytes).await?;
        let source = source.ok_or(Problem::Gone)?;
        let options = plain(over(look.here.as_ref()));
        let beside = || format!("{PARTS}/{}", unique_number());
        let carried = self
            .carry(source, self.here, &look.place, options, &beside)
            .await?;
        let known = Known {
            here: carried.version,
            there: carried.source.version,
            digest: carried.digest,
            size_bytes: carried.source.size_bytes,
            modified_ms: None,
        };
        self.change_files(|files| _ = files.insert(look.key.to_owned(), known));
        Ok(())
    }

    async fn carry(
        &self,
        mut source: Parts<'_>,
        to: &dyn BlobStore,
        key: &str,
        options: PutOptions,
        beside: &(dyn Fn() -> String + Sync),
    ) -> Result<Carried, Problem> {
        let mut hash = Sha256::new();
        let mut writer = Writer {
            to,
            beside,
            hash: &mut hash,
            passed: &|bytes| (self.tell)(Event::Bytes { bytes }),
        };
        let written = writer.write(key, &mut source, options).await?;
        let digest = value::hex(&hash.finalize());
        let version = match written {
            Ok(version) => version,
            Err(error) if error.code == ErrorCode::Conflict => return Err(Problem::Taken(error)),
            Err(error) if error.code == ErrorCode::OutcomeUnknown => {
                self.read_back(to, key, &digest, error).await?
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Carried {
            source: source.stat,
            version,
            digest,
        })
    }

    /// The answer to a write was lost: what lies there tells.
    async fn read_back(
        &self,
        store: &dyn BlobStore,
        key: &str,
        digest: &str,
        lost: Error,
    ) -> Result<String, Problem> {
        let lies_there = head(store, key).await?;
        let Some(mut parts) =
            Parts::open(store, key, lies_there.map_or(0, |s| s.size_bytes)).await?
        else {
            return Err(Problem::Taken(lost));
        };
        let found = value::hex(&parts.digest(|_| {}).await?);
        match found == digest {
            true => Ok(parts.stat.version),
            false => Err(Problem::Taken(lost)),
        }
    }

    /// A copy of what is here, under a name that says what it is; answers its key. One that an earlier run made, and
    /// did not get further, is as good.
    async fn set_aside(&self, look: &Look<'_>, digest_here: &str) -> Result<String, Problem> {
        let stat = look.here.as_ref().ok_or(Problem::Gone)?;
        let prefix_bytes = look.place.len().saturating_sub(look.key.len());
        let key_bytes_max = self.key_bytes_max.min(KEY_BYTES_MAX - prefix_bytes);
        for digits in DIGITS {
            let Some(key) = name_beside(look.key, digest_here, digits, key_bytes_max) else {
                break;
            };
            let place = self.place(&key)?;
            let source = Source {
                key: look.place.clone(),
                if_match: Some(stat.version.clone()),
            };
            let if_absent = plain(Condition::IfAbsent);
            match self
                .here
                .concat(vec![source], place.clone(), if_absent)
                .await
            {
                Ok(_) => return Ok(key),
                Err(error) if error.code != ErrorCode::Conflict => return Err(error.into()),
                Err(_) => {}
            }
            // Either that name is taken, or the file has changed.
            let Some(taken) = head(self.here, &place).await? else {
                return Err(changed(look.key));
            };
            if digest(self.here, &place, &taken).await? == digest_here {
                return Ok(key);
            }
        }
        let message = format!(
            "key {}: changed on both sides, and no name is free to keep both; both are left as they are: rename the \
             file here",
            shown(look.key)
        );
        Err(error(ErrorCode::Conflict, message).into())
    }

    async fn delete_there(&self, look: &Look<'_>) -> Result<(), Problem> {
        let folder = self.folders.of(look.key);
        if folder.is_some_and(|folder| !self.directory.join(&folder.place).is_dir()) {
            // Lost, not deleted; the next survey makes it again.
            return Ok(());
        }
        self.delete(self.there, look.key, look.key).await
    }

    /// No store deletes under a condition: it was looked at a moment ago.
    async fn delete(&self, store: &dyn BlobStore, place: &str, key: &str) -> Result<(), Problem> {
        if let Some(Err(error)) = store.delete(vec![place.to_owned()]).await.pop() {
            let is_gone = error.code == ErrorCode::OutcomeUnknown
                && matches!(head(store, place).await, Ok(None));
            if !is_gone {
                return Err(error.into());
            }
        }
        self.change_files(|files| _ = files.remove(key));
        Ok(())
    }

    /// Waits until there is memory for an object of this size.
    async fn room(&self, size_bytes: u64) -> Option<tokio::sync::SemaphorePermit<'_>> {
        let needs_bytes = OBJECT_BYTES + BUFFERS * size_bytes.min(PART_BYTES);
        // Only a closed semaphore refuses, and nobody closes this one.
        self.budget
            .acquire_many((needs_bytes >> 10) as u32)
            .await
            .ok()
    }
}

fn over(seen: Option<&Stat>) -> Condition {
    match seen {
        None => Condition::IfAbsent,
        Some(stat) => Condition::IfMatch(stat.version.clone()),
    }
}

/// Of exactly the version that was seen.
async fn digest(store: &dyn BlobStore, key: &str, seen: &Stat) -> Result<String, Problem> {
    let parts = Parts::open(store, key, seen.size_bytes).await?;
    let mut parts = parts.ok_or(Problem::Gone)?;
    if parts.stat.version != seen.version {
        return Err(changed(key));
    }
    Ok(value::hex(&parts.digest(|_| {}).await?))
}

fn changed(key: &str) -> Problem {
    let message = format!("key {}: it changed while it was read", shown(key));
    Problem::Changed(error(ErrorCode::Unavailable, message))
}
