//! The contract of a blob store as named checks, each with the sentence of `wit/store/blobs.wit` that
//! it holds a store to. Runs on any store, a user's bucket among them: it works below one prefix, which
//! must be empty, and leaves it empty. Knows no particular store.
//!
//! ```
//! # use haversack_host::{contract, store::memory::MemoryStore};
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
//! # runtime.block_on(async {
//! let store = MemoryStore::new(true);
//! let outcomes = contract::run(&store, "scratch", |outcome| println!("{outcome}")).await;
//! assert!(outcomes.iter().all(|outcome| !outcome.failed()));
//! # });
//! ```

mod append;
mod concat;
mod context;
mod keys;
mod lists;
mod metadata;
mod races;
mod reads;
mod upload;
mod values;
mod writes;

use std::fmt;
use std::time::{Duration, Instant};

pub use self::context::{Checked, Context, Stop};
use crate::store::{BlobStore, BoxFuture};

/// One thing that a store must do.
pub struct Check {
    /// `group/what`, unique.
    pub name: &'static str,
    /// What the contract says.
    pub sentence: &'static str,
    run: for<'a> fn(&'a Context<'a>) -> BoxFuture<'a, Checked>,
}

impl Check {
    /// Run on `store` below `prefix`, and clear what it left.
    pub async fn run(&self, store: &dyn BlobStore, prefix: &str) -> Outcome {
        let context = Context::new(store, format!("{prefix}/{}", self.name));
        let start = Instant::now();
        let ran = (self.run)(&context).await;
        let took = start.elapsed();
        // What the check left is in the way of nothing but the user.
        let ran = context.clear().await.and(ran);
        let verdict = match ran {
            Ok(()) => Verdict::Passed,
            Err(Stop::Failed(what)) => Verdict::Failed(what),
            Err(Stop::Skipped(reason)) => Verdict::Skipped(reason),
        };
        Outcome {
            name: self.name,
            sentence: self.sentence,
            verdict,
            took,
        }
    }
}

/// How a check went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    /// What was expected and what happened.
    Failed(String),
    /// Why it does not apply to this store.
    Skipped(String),
}

#[derive(Clone, Debug)]
pub struct Outcome {
    pub name: &'static str,
    pub sentence: &'static str,
    pub verdict: Verdict,
    pub took: Duration,
}

impl Outcome {
    pub fn failed(&self) -> bool {
        matches!(self.verdict, Verdict::Failed(_))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { name, sentence, .. } = self;
        match &self.verdict {
            Verdict::Passed => write!(f, "passed   {name}"),
            Verdict::Skipped(reason) => write!(f, "skipped  {name}: {reason}"),
            Verdict::Failed(what) => write!(f, "failed   {name}: {what}\n         “{sentence}”"),
        }
    }
}

/// A table of checks out of functions: the name is the module's and the function's.
macro_rules! checks {
    ($($group:ident { $($check:ident: $sentence:literal,)+ })+) => {
        &[$($(Check {
            name: concat!(stringify!($group), "/", stringify!($check)),
            sentence: $sentence,
            run: |context| Box::pin($group::$check(context)),
        },)+)+]
    };
}

/// All checks, in the order in which they run: the first that fails is the one to mend first.
pub const CHECKS: &[Check] = checks! {
    reads {
        described: "Pairs of name and value, in this order.",
        missing_is_none: "A missing object is none, not an error.",
        whole: "An acknowledged write is durable and is seen by every later get, head and list.",
        wave_order: "Gets, heads and lists run concurrently and are answered in order. One that fails does not disturb the others.",
        empty_wave: "An empty wave has an empty answer.",
        spans: "A span that reaches over the end gives what is there; one that starts at or past the end gives an empty body.",
        last_bytes: "The last N bytes; the whole object when N is over its size.",
        text_is_strict: "`text` only when the bytes are strictly valid UTF-8 and do not begin with a byte order mark.",
        split_characters: "A range may split a character: the body is then `binary`.",
        both_forms: "Both cases may be written; they mean the same.",
        heads: "Everything about an object but its bytes.",
        stat_of_a_part: "Size of the whole object, whatever the range was.",
    }
    writes {
        always: "Write an object whole and answer its version.",
        if_absent: "Nothing lies under the key; otherwise `conflict`, and `current` holds the version there now.",
        if_match: "The object there has this version; otherwise `conflict` with the one there now.",
        if_match_on_missing: "A missing key is a `conflict` too; `current` is none.",
        versions_change: "The version changes whenever the bytes change.",
        versions_are_plain: "Opaque strings. Quotes of HTTP tags never show.",
        delete: "Delete objects, with an answer for each in order. A missing key is a success.",
        delete_many: "Delete objects, with an answer for each in order.",
    }
    metadata {
        round_trip: "Values are any UTF-8 without control characters; names are read without regard to case.",
        at_the_limit: "At most 2,048 bytes of both together.",
        refused: "Names are ASCII letters, digits, `-` and `_`; values have no control characters.",
        content_types: "None when it was put without one and the store does not guess.",
        replaced: "Replacing an object replaces its content type and all its metadata.",
        follows_the_bytes: "A reader sees the old object or the new one, each with its own metadata.",
    }
    lists {
        byte_order: "Lists are in byte order of the UTF-8 keys.",
        not_utf16_order: "Beware of platforms that sort by UTF-16.",
        prefixes: "The prefix is any string, also one that ends inside a segment.",
        delimiter: "Keys with a `/` after the prefix are folded into one entry of `prefixes` each.",
        start_after: "`start-after` excludes keys up to and including itself.",
        start_after_folded: "With `delimiter`, a prefix is listed while a key below it is after `start-after`.",
        pages: "`cursor` is the one that the page before answered, with all other fields unchanged.",
        limits: "`limit` is at most 1,000; none means 1,000.",
        over_a_thousand: "The list is complete when `cursor` is none.",
        entries: "Key, size and time of a listed object; a version only where the store knows it.",
        at_once: "An acknowledged write is seen by every later get, head and list.",
        reserved: "Keys whose first segment is `.haversack` belong to the store: they are never listed.",
    }
    keys {
        ordinary: "UTF-8 in normal form C; `:`, `@`, `+` and spaces are fine.",
        at_the_limits: "At most 1,024 bytes; segments at most 255 bytes each.",
        hostile: "A key that breaks a rule is answered with `invalid`, and nothing is touched.",
        over_the_limits: "A key over a limit is refused, and nothing is touched.",
        directory_of_another: "No key is a directory of another (`a` and `a/b` cannot both exist).",
        case: "Keys that differ in case are two objects, or the second is an error.",
    }
    values {
        largest: "`value-bytes-max`: largest body of one get, put or append; at least 8388608.",
        over_the_limit: "A value over the limit is `too-large`, and nothing was sent.",
        largest_wave: "`wave-requests-max` at least 256, `wave-bytes-max` at least 16777216.",
        over_the_wave: "A wave over a limit is `too-large`.",
        whole_over_the_limit: "Whole: over the store's value limit the answer is `too-large`.",
    }
    append {
        described: "`unsupported` unless `describe` says `append` is `yes`.",
        grows: "Add to the end of an object that is exactly `at-bytes` long, and answer its new size.",
        creates: "A missing object has size 0 and is created.",
        elsewhere: "Another size is a `conflict` whose `current` is the size there, in decimal.",
        drops_metadata: "Keeps no metadata.",
        changes_version: "The version changes whenever the bytes change.",
        refused: "A key that breaks a rule is answered with `invalid`; a value over the limit with `too-large`.",
    }
    concat {
        joins: "Make one object of several, in order, and answer its version.",
        copies: "Copy is a concat of one.",
        of_nothing: "No sources make an empty object.",
        of_256: "`concat-sources-max`: at least 256.",
        options_from_the_call: "Content type and metadata come from `options` alone.",
        source_versions: "With `if-match`, another version is a `conflict`.",
        missing_source: "A missing source is a `conflict` whose message names it.",
        conditions: "The condition is atomic up to 64 MiB.",
        refused: "`to` may not be a source; keys and numbers keep their rules.",
        large: "Make one object of several, streaming.",
        over_64_mib: "Above 64 MiB only `if-absent` is taken.",
    }
    upload {
        joins: "The parts of an upload, in order, are one object; its version is the one that a head answers.",
        of_nothing: "No parts make an empty object.",
        seen_when_finished: "Nothing is seen under an upload's key before it is finished.",
        aborts: "An upload that is given up, or dropped, leaves nothing under its key.",
        conditions: "Always or if-absent, checked when the upload is finished.",
        keeps_options: "Content type and metadata are those that the upload began with.",
        refused: "A key that breaks a rule is answered with `invalid`; a part over the value limit with `too-large`.",
        over_64_mib: "An object of any size.",
    }
    races {
        creates: "If-absent: of many that race, one wins.",
        compare_and_swap: "If-match: no write is lost.",
        appends: "Append at a size: no line is lost or doubled.",
        readers: "A reader sees the old object or the new one, each with its own metadata, never a mix.",
        siblings: "A write next to a delete of the last other key below a directory succeeds.",
        concats: "A concat's condition holds against racing puts.",
    }
};

/// Run all checks on `store` below `prefix` (a valid key, without a slash at its end), telling
/// `progress` of each outcome as it comes.
///
/// Refuses, as one failed outcome, where something lies there already: the checks delete what they find.
pub async fn run(
    store: &dyn BlobStore,
    prefix: &str,
    mut progress: impl FnMut(&Outcome),
) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let mut note = |outcome: Outcome| {
        progress(&outcome);
        outcomes.push(outcome);
    };
    if let Some(refusal) = context::occupied(store, prefix).await {
        note(Outcome {
            name: "prefix",
            sentence: "The checks work below a prefix of their own.",
            verdict: Verdict::Failed(refusal),
            took: Duration::ZERO,
        });
        return outcomes;
    }
    for check in CHECKS {
        note(check.run(store, prefix).await);
    }
    outcomes
}

/// Delete everything below `prefix`: what a check that was not run to its end has left.
pub async fn clear(store: &dyn BlobStore, prefix: &str) -> Result<(), String> {
    match Context::new(store, prefix.to_owned()).clear().await {
        Ok(()) => Ok(()),
        Err(Stop::Failed(what) | Stop::Skipped(what)) => Err(what),
    }
}
