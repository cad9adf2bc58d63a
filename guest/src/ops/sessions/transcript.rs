//! What a session said, from its archive, and on request from the parts that compactions removed before: in
//! order, each message once, page by page. A page decodes its archive from the beginning, in the memory of a
//! page.

use std::ops::ControlFlow;

use super::archived::{each_line, message_line_of};
use super::parts;
use super::{TranscriptAnswer, TranscriptMessage, TranscriptRequest};
use crate::format::message::Message;
use crate::layout::archive::ArchiveKeys;
use crate::layout::gsv::{AgentId, SessionId};
use crate::limits::{SESSION_PROBLEMS_MAX, TRANSCRIPT_BYTES_MAX, TRANSCRIPT_MESSAGES_MAX};
use crate::ops::problems::Problems;
use crate::store::{Metered, Store};
use crate::transform::compaction::summary;
use crate::types::{Error, Result};

pub fn transcript(store: &dyn Store, request: &TranscriptRequest) -> Result<TranscriptAnswer> {
    let store = Metered::new(store);
    let agent = AgentId::parse(&request.home.id)?;
    let session = SessionId::parse(&request.session_id)?;
    let limit = request.limit.unwrap_or(TRANSCRIPT_MESSAGES_MAX);
    if limit == 0 || limit > TRANSCRIPT_MESSAGES_MAX {
        return Err(Error::invalid(format!(
            "limit is {limit}; it must be 1 to {TRANSCRIPT_MESSAGES_MAX}: read page by page"
        )));
    }
    let mut of_parts = Vec::new();
    let mut objects = Vec::new();
    if request.parts {
        objects = parts::list(&store, &agent, &session, &mut of_parts)?;
    }
    let archive = ArchiveKeys::of_session(&agent, &session)
        .archive()
        .to_owned();
    objects.push((u64::MAX, archive));
    let from = request.cursor.as_deref().map(Cursor::parse).transpose()?;
    let from = from.unwrap_or_default();
    let mut page = Page {
        limit: limit as usize,
        bytes: 0,
        messages: Vec::new(),
    };
    let mut next = None;
    let mut found = false;
    let (mut faults, mut damages) = (Problems::up_to(SESSION_PROBLEMS_MAX), Vec::new());
    for (ms, key) in objects.iter().filter(|(ms, _)| *ms >= from.object) {
        let skip = if *ms == from.object { from.line } else { 0 };
        let read = each_line(&store, key, |line| {
            if line.number <= skip {
                return ControlFlow::Continue(());
            }
            match message_line_of(key, &line) {
                Ok(json) => {
                    if page.is_full(&json) {
                        next = Some(Cursor {
                            object: *ms,
                            line: line.number - 1,
                        });
                        return ControlFlow::Break(());
                    }
                    page.add(key, json);
                }
                Err(problem) => faults.push(problem),
            }
            ControlFlow::Continue(())
        })?;
        found |= read.found;
        damages.extend(read.problem(key));
        if next.is_some() {
            break;
        }
    }
    if !found {
        let key = objects.pop().map(|(_, key)| key).unwrap_or_default();
        return Err(Error::not_found(format!(
            "session {session} has no archive: either there is no such session, or it was not reset yet, and \
             then `history` has its messages"
        ))
        .at(key));
    }
    Ok(TranscriptAnswer {
        messages: page.messages,
        next: next.map(Cursor::to_text),
        problems: [of_parts, faults.into_told(), damages].concat(),
        cost: store.cost(),
    })
}

struct Page {
    limit: usize,
    bytes: u64,
    messages: Vec<TranscriptMessage>,
}

impl Page {
    fn is_full(&self, json: &str) -> bool {
        let bytes = self.bytes + json.len() as u64;
        self.messages.len() >= self.limit
            || (!self.messages.is_empty() && bytes > TRANSCRIPT_BYTES_MAX)
    }

    fn add(&mut self, key: &str, json: String) {
        self.bytes += json.len() as u64;
        let is_summary =
            Message::parse(&json).is_ok_and(|message| summary::text_of(&message).is_some());
        self.messages.push(TranscriptMessage {
            key: key.to_owned(),
            json,
            is_summary,
        });
    }
}

/// Behind which line of which object a page ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Cursor {
    /// A part's timestamp; the greatest number is the archive.
    object: u64,
    line: u32,
}

impl Cursor {
    fn to_text(self) -> String {
        format!("{}.{}", self.object, self.line)
    }

    fn parse(text: &str) -> Result<Self> {
        let parts = text.split_once('.');
        let cursor = parts.and_then(|(object, line)| {
            Some(Self {
                object: object.parse().ok()?,
                line: line.parse().ok()?,
            })
        });
        cursor.ok_or_else(|| {
            let shown: String = text.chars().take(80).collect();
            Error::invalid(format!(
                "{shown:?} is no cursor of a transcript; pass the one that a page gave, or none for the first"
            ))
        })
    }
}
