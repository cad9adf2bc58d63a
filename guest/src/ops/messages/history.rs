//! The newest messages of a chat log, or those before a page.

use super::{Chat, ChatMessage, HistoryAnswer, HistoryRequest};
use crate::format::chat::Message;
use crate::limits::{
    CHAT_READS_MAX, HISTORY_MESSAGES_DEFAULT, LOG_PAGE_BYTES_MAX, LOG_PAGE_ENTRIES_MAX,
    WITHHELD_MESSAGES_MAX,
};
use crate::protocol::log::{LogEntry, ReadOptions};
use crate::store::{Metered, Store};
use crate::types::{Error, Problem, ProblemKind, Result};

/// Two waves, where every line is a message; lines that are none are read past.
pub fn history(store: &dyn Store, request: &HistoryRequest) -> Result<HistoryAnswer> {
    let store = Metered::new(store);
    let chat = Chat::of(&request.home, &request.session_key)?;
    let limit = request.limit.unwrap_or(HISTORY_MESSAGES_DEFAULT);
    let limit = (limit as usize).clamp(1, LOG_PAGE_ENTRIES_MAX);
    let log = chat.log(&store);
    let mut found = Found {
        shown_from_ms: shown_from_ms(request)?,
        ..Found::default()
    };
    let mut before = request.before.clone();
    let mut ended_early = false;
    for _ in 0..CHAT_READS_MAX {
        let page = log.read(&ReadOptions {
            entries_max: limit - found.newest_first.len(),
            bytes_max: LOG_PAGE_BYTES_MAX.saturating_sub(found.bytes).max(1),
            before: before.take(),
        })?;
        for entry in page.entries.iter().rev() {
            found.take(entry);
        }
        found.problems.extend(page.problems);
        before = page.before.filter(|_| !found.ends());
        let enough = found.newest_first.len() >= limit || found.bytes >= LOG_PAGE_BYTES_MAX;
        ended_early = before.is_some() && found.newest_first.len() < limit;
        if enough || page.bytes_ended || before.is_none() {
            break;
        }
    }
    let (skipped, mut problems) = (found.skipped, found.problems);
    if let Some(first) = found.first_skipped {
        let message = match skipped {
            1 => format!("a line of this page is no message: {first}"),
            _ => format!("{skipped} lines of this page are no messages, the newest is {first}"),
        };
        problems.push(Problem::new(
            ProblemKind::Skipped,
            chat.keys.head(),
            message,
        ));
    }
    let mut messages = found.newest_first;
    messages.reverse();
    Ok(HistoryAnswer {
        messages,
        before,
        limit: u32::try_from(limit).unwrap_or(u32::MAX),
        ended_early,
        skipped,
        withheld: found.withheld,
        problems,
        cost: store.cost(),
    })
}

/// The oldest moment that the tier shows.
fn shown_from_ms(request: &HistoryRequest) -> Result<Option<u64>> {
    let Some(tier) = &request.tier else {
        return Ok(None);
    };
    match (tier.limits()?, request.now_ms) {
        (limits, Some(now_ms)) => Ok(limits.shown_from_ms(now_ms)),
        (limits, None) if limits.history_days.is_none() => Ok(None),
        _ => Err(Error::invalid(
            "the tier limits the days of history, and now-ms, which they are counted from, is not given",
        )),
    }
}

#[derive(Default)]
struct Found {
    /// Older messages are withheld.
    shown_from_ms: Option<u64>,
    withheld: u32,
    /// How many of them the last ones are without one between them that is shown.
    withheld_in_a_row: usize,
    newest_first: Vec<ChatMessage>,
    bytes: u64,
    skipped: u32,
    /// The newest line that is no message, for people.
    first_skipped: Option<String>,
    problems: Vec<Problem>,
}

impl Found {
    /// Whether what lies behind is taken for older too.
    fn ends(&self) -> bool {
        self.withheld_in_a_row >= WITHHELD_MESSAGES_MAX
    }

    fn take(&mut self, entry: &LogEntry) {
        let Some(message) = Message::read(&entry.content) else {
            self.skipped = self.skipped.saturating_add(1);
            self.first_skipped.get_or_insert_with(|| {
                let text = String::from_utf8_lossy(&entry.content);
                let shown: String = text.chars().take(80).collect();
                match entry.problem {
                    Some(problem) => format!("{problem}: {shown:?}"),
                    None => format!("an object without a role: {shown:?}"),
                }
            });
            return;
        };
        let is_older = |from_ms| message.timestamp_ms().is_some_and(|ms| ms < from_ms);
        if self.ends() || self.shown_from_ms.is_some_and(is_older) {
            self.withheld = self.withheld.saturating_add(1);
            self.withheld_in_a_row += 1;
            return;
        }
        self.withheld_in_a_row = 0;
        self.bytes += message.json.len() as u64;
        self.newest_first.push(ChatMessage {
            id: message.id(),
            json: message.json.to_owned(),
        });
    }
}
