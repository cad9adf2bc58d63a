//! Where one user lies and is kept once deleted, and what a call says of how far it came. The continue is opaque to
//! callers: the time that the copies are named by, a word, and a name behind which it goes on.

use super::{Step, StepAnswer};
use crate::format::user_meta::UserMeta;
use crate::format::utc;
use crate::layout::moltbot::{
    DeletionTime, UserId, deleted_prefix, deletion_of, meta_key, restored_prefix, user_prefix,
};
use crate::protocol::moving::{Budget, Done, End, Moving};
use crate::store::Metered;
use crate::types::{Error, Result};

/// The prefixes and keys of one user's move.
pub struct Prefixes {
    pub home: String,
    pub copies: String,
    pub beside: String,
    pub stays: String,
}

impl Prefixes {
    pub fn of(user: &UserId, deletion: &DeletionTime) -> Self {
        Self {
            home: user_prefix(user),
            copies: deleted_prefix(user, deletion),
            beside: restored_prefix(user, deletion),
            stays: meta_key(user),
        }
    }

    pub fn moving<'a>(&'a self, store: &'a Metered<'a>, budget: &'a Budget) -> Moving<'a> {
        Moving {
            store,
            budget,
            home: &self.home,
            copies: &self.copies,
            stays: &self.stays,
        }
    }
}

/// The deletion that meta.json names.
pub fn named_deletion(user: &UserId, meta: &UserMeta) -> Option<DeletionTime> {
    deletion_of(user, meta.to.as_deref()?)
}

pub fn moment_of(deletion: &DeletionTime) -> Option<u64> {
    utc::parse_compact(deletion.as_str())
}

/// How far the calls before this one came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// Copying, behind a name.
    Copy,
    Copied,
    Empty,
    Emptied,
    /// Bringing back, behind a name.
    Back,
    BroughtBack,
    Delete,
    Deleted,
}

const WORDS: [(Word, &str); 8] = [
    (Word::Copy, "copy"),
    (Word::Copied, "copied"),
    (Word::Empty, "empty"),
    (Word::Emptied, "emptied"),
    (Word::Back, "back"),
    (Word::BroughtBack, "brought-back"),
    (Word::Delete, "delete"),
    (Word::Deleted, "deleted"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continue {
    deletion: String,
    pub word: Word,
    after: String,
}

impl Continue {
    pub fn parse(text: Option<&str>) -> Result<Option<Self>> {
        let Some(text) = text else {
            return Ok(None);
        };
        let mut parts = text.splitn(3, ':');
        let parts = (parts.next(), parts.next(), parts.next());
        let (Some(deletion), Some(word), Some(after)) = parts else {
            return Err(wrong(text));
        };
        let word = WORDS.iter().find(|(_, name)| *name == word);
        let (word, _) = word.ok_or_else(|| wrong(text))?;
        Ok(Some(Self {
            deletion: DeletionTime::parse(deletion)
                .map_err(|_| wrong(text))?
                .to_string(),
            word: *word,
            after: after.to_owned(),
        }))
    }

    /// Where to go on, if what this speaks of is this deletion and this word.
    pub fn after(&self, deletion: &DeletionTime, word: Word) -> Option<String> {
        let fits = self.deletion == deletion.as_str() && self.word == word;
        Some(self.after.clone()).filter(|after| fits && !after.is_empty())
    }

    pub fn says(&self, deletion: &DeletionTime, word: Word) -> bool {
        self.deletion == deletion.as_str() && self.word == word
    }
}

fn wrong(text: &str) -> Error {
    Error::invalid(format!(
        "continue-from is {:?}, which no call about this user answered; pass that of the answer before, or none",
        text.chars().take(80).collect::<String>()
    ))
}

/// The word and name as a text that [`Continue::parse`] reads.
pub fn printed(deletion: &DeletionTime, word: Word, after: &str) -> String {
    let name = WORDS.iter().find(|(it, _)| *it == word);
    let name = name.map_or("", |(_, name)| name);
    format!("{deletion}:{name}:{after}")
}

/// An answer that nothing more is to be done for.
pub fn settled(step: Step, state: &str, why: impl Into<String>, store: &Metered<'_>) -> StepAnswer {
    StepAnswer {
        step,
        state: state.to_owned(),
        why: why.into(),
        to: None,
        objects: 0,
        size_bytes: 0,
        repeat: false,
        problems: Vec::new(),
        continue_from: None,
        retry_after_ms: None,
        cost: store.cost(),
    }
}

/// An answer after work of a call: `while_at` where it is not at its end, else `at_end`.
pub fn worked(
    done: Done,
    state: &str,
    deletion: &DeletionTime,
    (while_at, at_end): (Word, Word),
    store: &Metered<'_>,
) -> StepAnswer {
    let (step, word, after, why) = match done.end {
        End::Finished => (Step::Again, Some(at_end), String::new(), "goes on"),
        End::After(after) => (Step::Again, Some(while_at), after, "goes on"),
        End::Blocked => (
            Step::Blocked,
            None,
            String::new(),
            "the store refuses something; see the problems",
        ),
    };
    StepAnswer {
        objects: done.objects,
        size_bytes: done.size_bytes,
        problems: done.problems,
        continue_from: word.map(|word| printed(deletion, word, &after)),
        ..settled(step, state, why, store)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read() -> Result<()> {
        let deletion = DeletionTime::parse("20260220T093000Z")?;
        let other = DeletionTime::parse("20260220T093001Z")?;
        for (word, _) in WORDS {
            let text = printed(&deletion, word, "a:b/ü");
            let read = Continue::parse(Some(&text))?.unwrap_or_else(|| unreachable!());
            assert_eq!(read.after(&deletion, word).as_deref(), Some("a:b/ü"));
            assert_eq!(read.after(&other, word), None);
            assert!(read.says(&deletion, word) && !read.says(&other, word));
        }
        assert_eq!(Continue::parse(None)?, None);
        for wrong in [
            "",
            "copy",
            "20260220T093000Z:copy",
            "20260220T093000Z:fly:",
            "x:copy:",
        ] {
            assert!(Continue::parse(Some(wrong)).is_err(), "{wrong}");
        }
        Ok(())
    }
}
