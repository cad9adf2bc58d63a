//! The newest messages of a bus, those before a page, or those since one.

use super::{Bus, BusMessage, ReadAnswer, ReadRequest, Reference};
use crate::format::bus::{Message, whole};
use crate::format::utc;
use crate::layout::field::Field;
use crate::limits::{
    BUS_MESSAGES_DEFAULT, CHAT_READS_MAX, LOG_PAGE_BYTES_MAX, LOG_PAGE_ENTRIES_MAX,
    SESSION_PROBLEMS_MAX,
};
use crate::ops::problems::Problems;
use crate::protocol::log::{LogEntry, ReadOptions};
use crate::store::{Metered, Store};
use crate::types::{Error, Problem, ProblemKind, Result};

pub fn read(store: &dyn Store, request: &ReadRequest) -> Result<ReadAnswer> {
    let store = Metered::new(store);
    let bus = Bus::of(&request.home, request.task.as_deref())?;
    let limit = request.limit.unwrap_or(BUS_MESSAGES_DEFAULT);
    let limit = (limit as usize).clamp(1, LOG_PAGE_ENTRIES_MAX);
    let log = bus.log(&store);
    let mut found = Found {
        bus: &bus,
        since: request.since.as_deref(),
        newest_first: Vec::new(),
        bytes: 0,
        skipped: 0,
        problems: Problems::up_to(SESSION_PROBLEMS_MAX),
        reached: false,
    };
    let mut before = request.before.clone();
    for _ in 0..CHAT_READS_MAX {
        let page = log.read(&ReadOptions {
            entries_max: limit - found.newest_first.len(),
            bytes_max: LOG_PAGE_BYTES_MAX.saturating_sub(found.bytes).max(1),
            before: before.take(),
        })?;
        found.problems.extend(page.problems);
        before = page.before;
        for entry in page.entries.iter().rev() {
            found.take(entry);
            if found.reached {
                break;
            }
        }
        let enough = found.newest_first.len() >= limit || found.bytes >= LOG_PAGE_BYTES_MAX;
        if found.reached || enough || page.bytes_ended || before.is_none() {
            break;
        }
    }
    if found.reached {
        before = None;
    }
    if let (Some(since), None, false) = (found.since, &before, found.reached) {
        let key = bus.keys.head();
        let shown: String = since.chars().take(80).collect();
        return Err(Error::not_found(format!(
            "{key} has no message {shown:?}; ask since one that it has, or without `since`"
        ))
        .at(key));
    }
    let mut messages = found.newest_first;
    messages.reverse();
    Ok(ReadAnswer {
        ended_early: before.is_some() && messages.len() < limit,
        messages,
        before,
        limit: u32::try_from(limit).unwrap_or(u32::MAX),
        skipped: found.skipped,
        problems: found.problems.into_told(),
        cost: store.cost(),
    })
}

struct Found<'r> {
    bus: &'r Bus,
    since: Option<&'r str>,
    newest_first: Vec<BusMessage>,
    bytes: u64,
    skipped: u32,
    problems: Problems,
    /// Whether the message that is asked for since was met.
    reached: bool,
}

impl Found<'_> {
    fn take(&mut self, entry: &LogEntry) {
        if self.since.is_some() && entry.id.as_deref() == self.since {
            self.reached = true;
            return;
        }
        let read = match (whole(&entry.content), entry.problem) {
            (Some(frame), None) => Message::read(&frame),
            (_, problem) => Err(problem.unwrap_or("it is no entry").to_owned()),
        };
        let key = self.bus.keys.head();
        match read {
            Ok((message, notes)) => {
                let id = message
                    .msg_id
                    .as_deref()
                    .unwrap_or("without an id")
                    .to_owned();
                let notes = notes.into_iter();
                self.problems.extend(notes.map(|note| {
                    Problem::new(ProblemKind::Repaired, key, format!("message {id}: {note}"))
                }));
                self.bytes += entry.content.len() as u64;
                self.newest_first.push(self.message(message));
            }
            Err(why) => {
                self.skipped = self.skipped.saturating_add(1);
                let begins = String::from_utf8_lossy(&entry.content);
                let begins: String = begins.chars().take(80).collect();
                let message = format!("an entry is no message: {why}: {begins:?}");
                self.problems
                    .push(Problem::new(ProblemKind::Skipped, key, message));
            }
        }
    }

    fn message(&self, message: Message) -> BusMessage {
        let project = || self.bus.project.to_value();
        let task = self.bus.task.as_ref().filter(|_| message.legacy);
        BusMessage {
            msg_id: message.msg_id,
            at_ms: message.ts.as_deref().and_then(utc::parse),
            at: message.ts,
            kind: message.kind,
            project_id: message.project_id.unwrap_or_else(project),
            task_id: message.task_id.or_else(|| task.map(Field::to_value)),
            run_id: message.run_id,
            issue_id: message.issue_id,
            parents: message.parents.into_iter().map(Reference::of).collect(),
            links: message.links,
            meta: message.meta,
            body: message.body,
            legacy: message.legacy,
        }
    }
}
