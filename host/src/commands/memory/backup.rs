//! `haversack memory backup` and `restore`: the component names the files, the transfer copies them. Keys stay the
//! same, so that a backup is a store like any other.

use clap::Args;
use haversack_host::store::Entry;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::Shared;
use crate::commands::call::{Caller, location};
use crate::commands::exit::{Code, Failure};
use crate::commands::home::Home;
use crate::commands::output::{self, Problem};
use crate::commands::store::copy::{Copy, Place};

#[derive(Debug, Args)]
#[command(after_help = "\
Exactly MEMORY.md and memories/*.md are copied, under their keys, and read back. Nothing is ever deleted from TO. \
What is there and different is kept and named, unless --replace is given.

Examples:
  haversack memory backup hi-boss:nex ./backup
  haversack memory backup hi-boss:nex ./backup --replace      (bring it up to date)
  haversack memory backup hi-boss:nex r2://ACCOUNT/BUCKET --to-profile r2")]
pub struct Backup {
    /// Whose
    home: Home,
    /// Where to: a directory, which is made if it is missing, or a bucket's address
    to: String,
    /// Sign for TO with this profile, and take its endpoint and region
    #[arg(long, value_name = "NAME")]
    to_profile: Option<String>,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The inverse of `memory backup`. Files that came after the backup stay.

Examples:
  haversack memory restore hi-boss:nex ./backup --dry-run
  haversack memory restore hi-boss:nex ./backup               (what is missing)
  haversack memory restore hi-boss:nex ./backup --replace     (what differs too)")]
pub struct Restore {
    /// Whose
    home: Home,
    /// Where the backup is: a directory, or a bucket's address
    from: String,
    /// Sign for FROM with this profile, and take its endpoint and region
    #[arg(long, value_name = "NAME")]
    from_profile: Option<String>,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, Args)]
struct How {
    /// Write over files that are there and different
    #[arg(long)]
    replace: bool,
    /// Say what would be done, and write nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Page {
    files: Vec<File>,
    problems: Vec<Problem>,
    continue_from: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    key: String,
    size_bytes: u64,
}

impl Backup {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let from = (caller.location.clone(), None);
        let to = (self.to.clone(), self.to_profile.clone());
        self.how.run(shared, &caller, &self.home, from, to).await
    }
}

impl Restore {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let flags = shared.bucket.with_profile(self.from_profile.as_ref());
        let caller = Caller::over(shared, &self.from, &flags)?;
        let from = (self.from.clone(), self.from_profile.clone());
        let to = (location(shared, Some(&self.home.system))?, None);
        self.how.run(shared, &caller, &self.home, from, to).await
    }
}

impl How {
    /// `caller` is over the store that is read.
    async fn run(
        &self,
        shared: &Shared,
        caller: &Caller,
        home: &Home,
        from: Place,
        to: Place,
    ) -> anyhow::Result<()> {
        let (files, skipped) = files(caller, home).await?;
        let copy = Copy::of_only(from, to, files, self.replace, self.dry_run);
        copy.run(shared).await?;
        if skipped == 0 {
            return Ok(());
        }
        let message = format!(
            "{skipped} of the memory's names, said above, are no files: they were not copied"
        );
        Err(Failure::new(Code::Unreadable, message).into())
    }
}

/// What a backup of the home consists of, and how much of it is no file. Without a file: `not-found`.
async fn files(caller: &Caller, home: &Home) -> anyhow::Result<(Vec<Entry>, usize)> {
    let mut arguments = json!({ "home": home.to_json(), "continue-from": Value::Null });
    let (mut files, mut skipped) = (Vec::new(), 0);
    loop {
        let answer = caller
            .call("memory", "backup-files", arguments.clone())
            .await?;
        let page: Page = serde_json::from_value(answer)?;
        output::problems(&page.problems);
        skipped += page.problems.len();
        files.extend(page.files.into_iter().map(|file| Entry {
            key: file.key,
            size_bytes: file.size_bytes,
            modified_ms: 0,
            version: None,
        }));
        match page.continue_from {
            Some(next) => arguments["continue-from"] = json!(next),
            None => break,
        }
    }
    if files.is_empty() {
        let message = format!(
            "{home} has no memory in {}: `haversack ls` lists the homes there",
            caller.location
        );
        return Err(Failure::new(Code::NotFound, message).into());
    }
    Ok((files, skipped))
}
