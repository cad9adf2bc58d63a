//! `haversack tenant import`: unpacks an archive beside the store, and copies it in when all of it is right.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use clap::Args;
use haversack_host::Owner;
use haversack_host::archive::{self, ImportOptions, Imported, Limits, Unpacked};
use haversack_host::store::{
    Answer, BlobStore, Body, BodyKind, Condition, DiskStore, Error, GetRequest, PutOptions, Range,
    Request,
};
use haversack_host::transfer::{Count, Event, Outcome, Summary};
use indicatif::{HumanBytes, ProgressBar};
use serde_json::{Value, json};

use super::{User, files, tier, unless_interrupted};
use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::exit::{Code, Failure};
use crate::commands::output::{self, plain};
use crate::commands::store;

const TEMPLATE: &str = "{bar:30} {bytes}/{total_bytes}  {bytes_per_sec}  {msg}";
/// Lines about single files; of the rest only the number is told.
const LINES_MAX: usize = 100;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack tenant import user_1 --from user_1.tar.gz --dry-run
  haversack tenant import user_1 --from user_1.tar.gz
  haversack tenant import user_1 --from user_1.tar.gz --replace           (write over what differs)
  haversack tenant import user_2 --from user_1.tar.gz --from-user user_1  (take over another's)

The archive is unpacked into a temporary folder first and checked: names, sizes, SHA-256, that it is whole and whose it \
is. Only then is it copied into the store, meta.json last, and read back. Where a file is there already and differs, \
nothing is written, unless --replace is given. Nothing is ever deleted, and equal files are passed over, so that an \
import that was stopped goes on when it is run again. Import for users who are at rest.

Also read is what `tar czf user_1.tar.gz -C STORE users/user_1` makes; that has no sums to check.

Exit codes:
  2 the archive is damaged, not whole, or of somebody else; nothing was written
  6 a newer haversack made it
  7 files are there and differ; nothing was written
  9 it has over 1,000,000 files or 128 GiB, or more than the tier leaves; nothing was written")]
pub struct Import {
    /// Whose data it becomes
    user: User,
    /// The archive; - is standard input
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The archive is this user's
    #[arg(long, value_name = "USER")]
    from_user: Option<User>,
    /// Write over files that are there and differ
    #[arg(long)]
    replace: bool,
    /// Refuse what would take the user over its tier: starter (1 GB), pro (10 GB), business (100 GB), or limits as JSON
    #[arg(long, value_name = "TIER", value_parser = tier)]
    tier: Option<Value>,
    /// Check the archive and say what would be done, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Unpack below this folder, which needs room for all files [default: the system's for temporary files]
    #[arg(long, value_name = "DIRECTORY")]
    scratch: Option<PathBuf>,
}

impl Import {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some("moltbot"))?;
        let to = self.user.owner(&caller).await?;
        let from = match &self.from_user {
            Some(user) => user.owner(&caller).await?,
            None => to.clone(),
        };
        let input = open(&self.from)?;
        let parent = self.scratch.clone().unwrap_or_else(std::env::temp_dir);
        let scratch = tempfile::Builder::new()
            .prefix("haversack-import-")
            .tempdir_in(&parent)
            .map_err(|error| {
                let message = format!("cannot make a folder in {}: {error}", parent.display());
                Failure::new(Code::of_io(&error), message)
            })?;
        let staging = DiskStore::open(scratch.path()).map_err(failure)?;
        let staging: Arc<dyn BlobStore> = Arc::new(staging);
        let (unpacked, imported) =
            unless_interrupted(self.work(shared, &caller, input, staging, &from, &to)).await?;
        self.report(shared, &to, &unpacked, &imported)
    }

    async fn work(
        &self,
        shared: &Shared,
        caller: &Caller,
        input: Box<dyn Read + Send>,
        staging: Arc<dyn BlobStore>,
        from: &Owner,
        to: &Owner,
    ) -> anyhow::Result<(Unpacked, Imported)> {
        let bar = store::bar(0, "{spinner} {bytes}  {bytes_per_sec}  {msg}")?;
        bar.set_message("unpacking");
        let inc = |bytes| bar.inc(bytes);
        let unpacked = archive::unpack(input, &*staging, from, Limits::default(), &inc).await;
        bar.finish_and_clear();
        let unpacked = unpacked.map_err(failure)?;
        if from != to {
            rename(caller, &*staging, from, to).await?;
        }
        // Also without a tier: who is being moved away, restored or deleted is not written to.
        match &self.tier {
            Some(tier) => admit(caller, to, tier, unpacked.bytes).await?,
            None => admit(caller, to, &json!({ "custom": {} }), 0)
                .await
                .or_else(unless_moved)?,
        }
        let options = ImportOptions {
            replace: self.replace,
            dry_run: self.dry_run,
            objects_at_once: shared.bucket.requests_at_once,
        };
        let teller = Teller {
            bar: store::bar(0, TEMPLATE)?,
            told: Mutex::default(),
        };
        let tell = |event: Event<'_>| teller.tell(event);
        let target = caller.store.clone();
        let imported = archive::import(staging, from, target, to, options, &tell).await;
        teller.bar.finish_and_clear();
        Ok((unpacked, imported.map_err(failure)?))
    }

    fn report(
        &self,
        shared: &Shared,
        to: &Owner,
        unpacked: &Unpacked,
        imported: &Imported,
    ) -> anyhow::Result<()> {
        let sum = |of: fn(&Summary) -> Count| -> u64 {
            let copies = imported.copies.iter();
            copies.map(|summary| of(summary).objects).sum()
        };
        let (copied, equal) = (sum(|it| it.copied), sum(|it| it.equal));
        let (replaced, different) = (sum(|it| it.replaced), sum(|it| it.different));
        let failed = sum(|it| it.failed) + sum(|it| it.gone);
        for (path, cause) in &unpacked.left_out {
            eprintln!(
                "haversack: the export left out: {}: {}",
                plain(path),
                plain(cause)
            );
        }
        if shared.json {
            output::json(&json!({
                "user": to.user,
                "files": unpacked.files,
                "bytes": unpacked.bytes,
                "has-sums": unpacked.has_sums,
                "changed": unpacked.changed,
                "left-out": unpacked.left_out_count,
                "dry-run": self.dry_run,
                "refused": imported.refused,
                "copied": copied,
                "replaced": replaced,
                "equal": equal,
                "different": different,
                "failed": failed,
            }))?;
        } else {
            if !unpacked.has_sums {
                eprintln!("haversack: the archive has no sums; only gzip's own was checked");
            }
            let (files, bytes) = (files(unpacked.files), HumanBytes(unpacked.bytes));
            let would = if self.dry_run { "would be " } else { "" };
            output::text(&format!(
                "{files} of {bytes} for {}: {copied} {would}copied, {replaced} {would}replaced, {equal} equal",
                to.user
            ))?;
        }
        self.end(to, imported, different)
    }

    /// The gravest thing decides.
    fn end(&self, to: &Owner, imported: &Imported, different: u64) -> anyhow::Result<()> {
        let mut copies = imported.copies.iter();
        let first = copies.find_map(|it| it.unlisted.as_ref().or(it.first_failure.as_ref()));
        if let Some(error) = first {
            let message = format!("{} is not whole: {}; run it again", to.user, error.message);
            return Err(store::failure(error, message));
        }
        if different == 0 {
            return Ok(());
        }
        let message = if imported.refused || self.dry_run {
            format!(
                "{different} files of {} are there already and differ, as said above: nothing was written; --replace \
                 writes over them",
                to.user
            )
        } else {
            format!(
                "{different} files of {} were written by others meanwhile and kept",
                to.user
            )
        };
        Err(Failure::new(Code::Conflict, message).into())
    }
}

/// Of a user without a tier only what is under way counts: a document that cannot be read may be what is mended.
fn unless_moved(error: anyhow::Error) -> anyhow::Result<()> {
    match error.downcast_ref::<Failure>().map(Failure::code) {
        Some(Code::Conflict) => Err(error),
        _ => Ok(()),
    }
}

/// Whether the user may have so much more, all of the archive counted as new. One that is not there yet has nothing.
async fn admit(caller: &Caller, to: &Owner, tier: &Value, bytes: u64) -> anyhow::Result<()> {
    let home = json!({ "system": "moltbot", "id": to.user });
    let request = json!({ "home": home, "tier": tier, "more-bytes": bytes });
    let admitted = caller.call("tenants", "admit", json!({ "request": request }));
    let Err(error) = admitted.await else {
        return Ok(());
    };
    let is_new = error
        .downcast_ref::<Failure>()
        .is_some_and(|failure| failure.code() == Code::NotFound);
    if !is_new {
        return Err(error);
    }
    let presets = caller.call("tenants", "tiers", json!({})).await?;
    let presets = presets.as_array().into_iter().flatten();
    let mut preset = presets.filter(|preset| preset["name"] == tier["preset"]);
    let preset = preset.next().map(|preset| &preset["limits"]);
    let limits = preset.unwrap_or(&tier["custom"]);
    match limits["storage-bytes"].as_u64() {
        Some(limit) if limit < bytes => {
            let message = format!(
                "user {} may have {limit} bytes, and the archive has {bytes}: nothing was written; choose a larger tier",
                to.user
            );
            Err(Failure::new(Code::TooLarge, message).into())
        }
        _ => Ok(()),
    }
}

fn open(path: &Path) -> anyhow::Result<Box<dyn Read + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin()));
    }
    let file = File::open(path).map_err(|error| {
        let message = format!("cannot read {}: {error}", path.display());
        Failure::new(Code::of_io(&error), message)
    })?;
    Ok(Box::new(file))
}

fn failure(error: Error) -> anyhow::Error {
    let message = error.message.clone();
    store::failure(&error, message)
}

/// The unpacked `meta.json` names its new user; every other byte of it stays.
async fn rename(
    caller: &Caller,
    staging: &dyn BlobStore,
    from: &Owner,
    to: &Owner,
) -> anyhow::Result<()> {
    let key = format!("{}meta.json", from.prefix);
    let get = Request::Get(GetRequest {
        key: key.clone(),
        range: Range::Whole,
        kind: BodyKind::Text,
    });
    let found = match staging.read(vec![get]).await.pop() {
        Some(Ok(Answer::Blob(found))) => found,
        Some(Err(error)) => return Err(failure(error)),
        _ => None,
    };
    let Some(blob) = found else {
        return Ok(());
    };
    let Body::Text(document) = blob.body else {
        let message = format!("{key} in the archive is not UTF-8, so its user cannot be renamed");
        return Err(Failure::new(Code::Invalid, message).into());
    };
    let value = json!(to.user).to_string();
    let arguments = json!({ "document": document, "pointer": "/userId", "value": value });
    let renamed = caller.call("documents", "set-member", arguments).await;
    let renamed = renamed.map_err(|error| match error.downcast_ref::<Failure>() {
        Some(failure) => {
            let message = format!("{key} in the archive: {failure}");
            Failure::new(failure.code(), message).into()
        }
        None => error,
    })?;
    let Value::String(renamed) = renamed else {
        anyhow::bail!("a document was answered by something else");
    };
    let options = PutOptions {
        condition: Condition::Always,
        content_type: blob.stat.content_type,
        metadata: blob.stat.metadata,
    };
    let put = staging.put(key, Body::Text(renamed), options).await;
    put.map(drop).map_err(failure)
}

/// What is told of single files while they are copied.
struct Teller {
    bar: ProgressBar,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    listed: u64,
    settled: u64,
    lines: usize,
}

impl Teller {
    fn tell(&self, event: Event<'_>) {
        let mut told = self.told.lock().unwrap_or_else(|lock| lock.into_inner());
        let line = match event {
            Event::Listed { objects, bytes } => {
                told.listed += objects;
                return self.bar.inc_length(bytes);
            }
            Event::Bytes(bytes) => return self.bar.inc(bytes),
            Event::Skipped(skipped) => format!("skipped: {}: {}", skipped.key, skipped.cause),
            Event::Settled { key, outcome, .. } => {
                told.settled += 1;
                let message = format!("{} of {} files", told.settled, told.listed);
                self.bar.set_message(message);
                match outcome {
                    Outcome::Different(difference) => format!("differs: {key}: {difference}"),
                    Outcome::Failed(error) => format!("failed: {key}: {}", error.message),
                    Outcome::Gone => format!("gone: {key}"),
                    _ => return,
                }
            }
        };
        told.lines += 1;
        if told.lines <= LINES_MAX {
            store::note(&self.bar, &plain(&line));
        }
    }
}
