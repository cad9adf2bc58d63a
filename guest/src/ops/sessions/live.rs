//! A session's live log as messages: what its newest lines say, and from where on a model still gets them.
//! Knows no export.

use super::state::Owner;
use crate::format::live_log::{Compaction, Line, SessionLines, What, parse};
use crate::format::message::Message;
use crate::layout::gsv::{SessionId, session_parts_prefix};
use crate::layout::log::LogKeys;
use crate::limits::{LOG_PAGE_BYTES_MAX, LOG_PAGE_ENTRIES_MAX};
use crate::ops::problems::Problems;
use crate::protocol::log::{Log, LogEntry, Page, Position, ReadOptions};
use crate::store::{ListRequest, Metered};
use crate::transform::compaction::summary;
use crate::types::{Problem, ProblemKind, Result};

/// One session's log.
pub struct Live<'a> {
    pub store: &'a Metered<'a>,
    pub owner: &'a Owner,
    pub session_id: String,
    keys: LogKeys,
}

/// A message of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveMessage {
    pub id: Option<String>,
    pub json: String,
    /// Whether it stands for what a compaction removed.
    pub is_summary: bool,
}

/// From where on the log's messages stand: behind what the last compaction removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// The message that stands for the rest.
    pub summary: Option<String>,
    /// The part that the rest is in.
    pub part_ms: Option<u64>,
    /// The first kept line: at or behind this place, by its id. None is the beginning.
    pub from: Option<(Position, String)>,
}

impl<'a> Live<'a> {
    pub fn of(store: &'a Metered<'a>, owner: &'a Owner, session_id: &str) -> Result<Self> {
        Ok(Self {
            store,
            owner,
            session_id: session_id.to_owned(),
            keys: owner.log_keys(session_id)?,
        })
    }

    pub fn log(&self) -> Log<'_> {
        Log {
            store: self.store,
            keys: &self.keys,
            format: &SessionLines,
        }
    }

    pub fn key(&self) -> &str {
        self.keys.head()
    }

    /// A page of lines as they are.
    pub fn page(&self, entries_max: usize, bytes_max: u64, before: Option<String>) -> Result<Page> {
        self.log().read(&ReadOptions {
            entries_max,
            bytes_max,
            before,
        })
    }

    /// The time of the newest message that has one, and whether there is any message.
    pub fn newest(&self) -> Result<Newest> {
        let mut newest = Newest::default();
        let mut before = None;
        loop {
            let page = self.page(NEWEST_ENTRIES, LOG_PAGE_BYTES_MAX, before)?;
            for entry in page.entries.iter().rev() {
                if let Ok(Line {
                    what: What::Message(json),
                    ..
                }) = parse(&entry.content)
                {
                    newest.has_messages = true;
                    let ms = Message::parse(json)
                        .ok()
                        .and_then(|message| message.timestamp_ms);
                    newest.ms = newest.ms.or(ms);
                }
            }
            before = page.before;
            if newest.has_messages || before.is_none() {
                return Ok(newest);
            }
        }
    }

    /// Whether an earlier compaction may have left a part of this session: a name that is passed over may hide one.
    fn has_parts(&self) -> Result<bool> {
        let session = SessionId::parse(&self.session_id)?;
        let prefix = session_parts_prefix(&self.owner.agent, &session);
        let listing = self.store.list(ListRequest {
            prefix,
            limit: Some(1),
            ..ListRequest::default()
        })?;
        Ok(!listing.entries.is_empty() || listing.cursor.is_some())
    }

    /// Where the messages that stand begin in the log, looked for from its end.
    pub fn standing(&self) -> Result<Standing> {
        let mut standing = Standing::default();
        if !self.has_parts()? {
            return Ok(standing);
        }
        let mut wanted: Option<String> = None;
        let mut before = None;
        loop {
            let page = self.page(LOG_PAGE_ENTRIES_MAX, LOG_PAGE_BYTES_MAX, before)?;
            for entry in page.entries.iter().rev() {
                match parse(&entry.content) {
                    Ok(Line {
                        id: Some(id),
                        what: What::Compaction(compaction),
                    }) if wanted.is_none() => {
                        standing.summary = Some(summary_line(&compaction));
                        standing.part_ms = Some(compaction.part_ms);
                        wanted = Some(compaction.first_kept.unwrap_or_else(|| id.into_owned()));
                    }
                    // What lies behind the end came too late to stand.
                    Ok(Line {
                        what: What::Close, ..
                    }) => (standing, wanted) = (Standing::default(), None),
                    _ => {}
                }
                let found = wanted
                    .as_ref()
                    .filter(|wanted| entry.id.as_ref() == Some(*wanted));
                if let Some(id) = found
                    && let Some(at) = Position::of_page(page.before.as_deref())?
                {
                    standing.from = Some((at, id.clone()));
                    return Ok(standing);
                }
            }
            before = page.before;
            if before.is_none() {
                return Ok(standing);
            }
        }
    }
}

/// See [`Live::newest`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Newest {
    pub ms: Option<u64>,
    pub has_messages: bool,
}

const NEWEST_ENTRIES: usize = 16;

/// The message that a compaction left, as a line.
pub fn summary_line(compaction: &Compaction) -> String {
    summary::message_line(&compaction.summary, compaction.part_ms)
}

/// The message of a line; none for a line of the log itself. What cannot be read is a problem.
pub fn message_of(key: &str, entry: &LogEntry, problems: &mut Problems) -> Option<LiveMessage> {
    match parse(&entry.content) {
        Ok(Line { id, what }) => {
            let id = id.map(|id| id.into_owned());
            let (json, is_summary) = match what {
                What::Message(json) => (json.to_owned(), false),
                What::Compaction(compaction) => (summary_line(&compaction), true),
                What::Open(_) | What::Close => return None,
            };
            Some(LiveMessage {
                id,
                json,
                is_summary,
            })
        }
        Err(error) => {
            let shown: String = String::from_utf8_lossy(&entry.content)
                .chars()
                .take(80)
                .collect();
            let message = format!("a line cannot be read and is left out here: {error}: {shown:?}");
            problems.push(Problem::new(ProblemKind::Unreadable, key, message));
            None
        }
    }
}
