//! A live session as a model has it now: the last summary and the messages behind it, read from the log's end
//! backwards, of which only facts stay in memory.

use sha2::{Digest, Sha256};

use crate::format::live_log::{self, SessionLines, What};
use crate::format::message::{Fault, Message};
use crate::layout::log::LogKeys;
use crate::limits::{
    COMPACTION_MESSAGES_MAX, COMPACTION_PAGE_BYTES, LOG_CLOSE_FOLDS_MAX, LOG_PAGE_ENTRIES_MAX,
    SESSION_PROBLEMS_MAX,
};
use crate::ops::problems::Problems;
use crate::ops::sessions::state::Owner;
use crate::protocol::log::{Fold, Log, LogEntry, Position, ReadOptions};
use crate::store::Metered;
use crate::transform::compaction::{Facts, summary};
use crate::types::{Error, ErrorCode, Problem, ProblemKind, Result};

/// Where a message stands in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub id: Option<String>,
    pub position: Option<Position>,
    pub hash: u64,
}

/// See the file's head.
#[derive(Debug, Default)]
pub struct Conversation {
    /// Of the last compaction; none before the first.
    pub last: Option<LastCompaction>,
    /// The summary's first, where there is one, then those of the messages.
    pub facts: Vec<Facts>,
    /// Of the messages alone.
    pub places: Vec<Place>,
    /// The text of a message that an earlier program left as a summary, where it comes first.
    pub leading_summary: Option<String>,
    pub problems: Vec<Problem>,
}

/// The compaction whose summary stands first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastCompaction {
    pub summary: String,
    pub part_ms: u64,
}

/// The live log of a session.
pub fn log_of<'a>(store: &'a Metered<'a>, keys: &'a LogKeys) -> Log<'a> {
    Log {
        store,
        keys,
        format: &SessionLines,
    }
}

/// Fold all that is pending: what is folded has its place for good, and what comes later comes behind it.
pub fn fold_all(log: &Log<'_>) -> Result<()> {
    let mut stopped = None;
    for _ in 0..LOG_CLOSE_FOLDS_MAX {
        match log.fold()? {
            Fold::Nothing => return Ok(()),
            Fold::Done(_) => {}
            Fold::Stopped(error) => {
                if stopped.replace(error).is_some() {
                    break;
                }
            }
        }
    }
    let key = log.keys.head();
    let cause = stopped.map_or_else(|| "it grows too fast".to_owned(), |error| error.message);
    let message = format!("{key} could not be folded: {cause}; try again");
    Err(Error::new(ErrorCode::Unavailable, message).at(key))
}

impl Conversation {
    /// Read back to what the last compaction kept, or to the beginning.
    pub fn read(log: &Log<'_>, owner: &Owner) -> Result<Self> {
        let mut read = Self::default();
        let mut problems = Problems::up_to(SESSION_PROBLEMS_MAX);
        let mut awaited = None;
        let mut before = None;
        'pages: loop {
            let page = log.read(&ReadOptions {
                entries_max: LOG_PAGE_ENTRIES_MAX,
                bytes_max: COMPACTION_PAGE_BYTES,
                before,
            })?;
            problems.extend(page.problems);
            for entry in page.entries.into_iter().rev() {
                match live_log::parse(&entry.content).map(|line| line.what) {
                    Ok(What::Message(line)) => {
                        if let Err(fault) = read.push(&entry, line) {
                            problems.push(passed_over(log, &entry, &fault.to_string()));
                        }
                        if awaited.is_some() && awaited == entry.id {
                            awaited = None;
                            break 'pages;
                        }
                        read.check_count(owner)?;
                    }
                    Ok(What::Compaction(compaction)) if read.last.is_none() => {
                        read.last = Some(LastCompaction {
                            summary: compaction.summary,
                            part_ms: compaction.part_ms,
                        });
                        awaited = compaction.first_kept;
                        if awaited.is_none() {
                            break 'pages;
                        }
                    }
                    Ok(What::Compaction(_)) => {}
                    Ok(What::Open(_)) => break 'pages,
                    Ok(What::Close) => return Err(closed(log)),
                    Err(error) if error.code == ErrorCode::Unsupported => return Err(error),
                    Err(error) => problems.push(passed_over(log, &entry, &error.message)),
                }
            }
            match page.before {
                Some(cursor) => before = Some(cursor),
                None => break,
            }
        }
        read.problems = problems.into_told();
        if let Some(id) = awaited {
            let message = format!(
                "the last compaction keeps the messages from {id} on, which is not there: all are taken as kept"
            );
            let problem = Problem::new(ProblemKind::Repaired, log.keys.head(), message);
            read.problems.push(problem);
        }
        read.in_order();
        Ok(read)
    }

    fn push(&mut self, entry: &LogEntry, line: &str) -> std::result::Result<(), Fault> {
        let message = Message::parse(line)?;
        reserve(&mut self.facts);
        reserve(&mut self.places);
        self.leading_summary = summary::text_of(&message).map(str::to_owned);
        self.facts.push(Facts::of(&message));
        self.places.push(Place {
            id: entry.id.clone(),
            position: entry.position,
            hash: hash_of(line),
        });
        Ok(())
    }

    fn check_count(&self, owner: &Owner) -> Result<()> {
        if self.places.len() <= COMPACTION_MESSAGES_MAX {
            return Ok(());
        }
        Err(Error::too_large(format!(
            "{} has over {COMPACTION_MESSAGES_MAX} messages since its last compaction; reset it, which archives \
             a session of any length",
            owner.key
        )))
    }

    /// From newest first to oldest first, with the summary in front.
    fn in_order(&mut self) {
        if let Some(last) = &self.last {
            let line = summary::message_line(&last.summary, last.part_ms);
            if let Ok(message) = Message::parse(&line) {
                self.facts.push(Facts::of(&message));
            }
        }
        self.facts.reverse();
        self.places.reverse();
    }

    /// The index among the messages of what has this index among the facts.
    pub fn message_index(&self, index: usize) -> usize {
        index.saturating_sub(self.facts.len() - self.places.len())
    }
}

/// Room for one more. Not for twice as many, because while these move both copies count towards the memory that an
/// instance may have.
fn reserve<T>(items: &mut Vec<T>) {
    if items.len() == items.capacity() {
        items.reserve_exact(items.len() / 4 + 1_024);
    }
}

fn passed_over(log: &Log<'_>, entry: &LogEntry, cause: &str) -> Problem {
    let id = entry.id.as_deref().unwrap_or("without an id");
    let message = format!("the line {id} is no message and is passed over: {cause}");
    Problem::new(ProblemKind::Unreadable, log.keys.head(), message)
}

fn closed(log: &Log<'_>) -> Error {
    let key = log.keys.head();
    let message = format!("{key} is closed: its session is being reset; call again afterwards");
    Error::new(ErrorCode::Conflict, message).at(key)
}

/// Of a message's line; summed over many, a change of any shows.
pub fn hash_of(line: &str) -> u64 {
    let digest = Sha256::digest(line.as_bytes());
    let bytes = digest.iter().take(8);
    bytes.fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}
