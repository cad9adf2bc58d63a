//! What a session said, from its archive, and on request from the parts that compactions removed before: in
//! order, each message once, page by page. A page decodes its archive from the last footing before it, in the
//! memory of a page.

use std::ops::ControlFlow;

use super::archived::{Begin, each_line, message_line_of};
use super::parts;
use super::{TranscriptAnswer, TranscriptMessage, TranscriptRequest};
use crate::format::gzip::{Checksum, Footing};
use crate::format::message::Message;
use crate::layout::archive::ArchiveKeys;
use crate::layout::gsv::{AgentId, SessionId};
use crate::limits::{SESSION_PROBLEMS_MAX, TRANSCRIPT_BYTES_MAX, TRANSCRIPT_MESSAGES_MAX};
use crate::ops::problems::Problems;
use crate::store::{Metered, Store};
use crate::transform::compaction::summary;
use crate::types::{Error, Problem, ProblemKind, Result};

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
    let from = request.cursor.as_deref().map(Cursor::parse).transpose()?;
    let from = from.unwrap_or_default();
    let mut of_parts = Vec::new();
    let mut objects = Vec::new();
    if request.parts && from.object < ARCHIVE {
        objects = published(&store, &agent, &session, &mut of_parts)?;
    }
    let archive = ArchiveKeys::of_session(&agent, &session)
        .archive()
        .to_owned();
    objects.push((ARCHIVE, archive));
    let mut page = Page {
        limit: limit as usize,
        bytes: 0,
        messages: Vec::new(),
    };
    let mut next = None;
    let mut found = false;
    let (mut faults, mut damages) = (Problems::up_to(SESSION_PROBLEMS_MAX), Vec::new());
    for (ms, key) in objects.iter().filter(|(ms, _)| *ms >= from.object) {
        let here = Some(from).filter(|from| from.object == *ms);
        let Cursor {
            line: skip, begin, ..
        } = here.unwrap_or_default();
        let read = each_line(&store, key, begin, |line| {
            if line.number <= skip {
                return ControlFlow::Continue(());
            }
            match message_line_of(key, &line) {
                Ok(json) => {
                    if page.is_full(&json) {
                        next = Some(Cursor {
                            object: *ms,
                            line: line.number - 1,
                            begin: line.from,
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

/// The parts that compactions published, oldest first.
fn published(
    store: &Metered<'_>,
    agent: &AgentId,
    session: &SessionId,
    problems: &mut Vec<Problem>,
) -> Result<Vec<(u64, String)>> {
    let mut objects = parts::list(store, agent, session, problems)?;
    let given_up = parts::given_up(store, agent, session, &objects)?;
    objects.retain(|(_, key)| !given_up.contains(key));
    problems.extend(given_up.into_iter().map(|key| {
        let message = "a compaction that was given up left this part; the archive has its messages, and it may be deleted";
        Problem::new(ProblemKind::Skipped, key, message)
    }));
    Ok(objects)
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

/// Stands for the archive among the timestamps of parts.
const ARCHIVE: u64 = u64::MAX;

/// Behind which line of which object a page ended, and where reading begins to come there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Cursor {
    /// A part's timestamp, or [`ARCHIVE`].
    object: u64,
    line: u32,
    begin: Begin,
}

impl Cursor {
    fn to_text(self) -> String {
        let Begin { lines, footing } = self.begin;
        let Checksum { crc32, raw_bytes } = footing.checksum;
        let offset_bytes = footing.offset_bytes;
        let numbers = [
            self.object,
            self.line.into(),
            lines.into(),
            offset_bytes,
            crc32.into(),
            raw_bytes,
        ];
        numbers.map(|number| number.to_string()).join(".")
    }

    fn parse(text: &str) -> Result<Self> {
        let numbers: Option<Vec<u64>> = text.split('.').map(|number| number.parse().ok()).collect();
        let cursor = match numbers.as_deref() {
            Some([object, line, lines, offset_bytes, crc32, raw_bytes]) => {
                Self::of(*object, [*line, *lines, *crc32], *offset_bytes, *raw_bytes)
            }
            _ => None,
        };
        cursor.ok_or_else(|| {
            let shown: String = text.chars().take(80).collect();
            Error::invalid(format!(
                "{shown:?} is no cursor of a transcript; pass the one that a page gave, or none for the first"
            ))
        })
    }

    fn of(object: u64, small: [u64; 3], offset_bytes: u64, raw_bytes: u64) -> Option<Self> {
        let [line, lines, crc32] = small.map(|number| u32::try_from(number).ok());
        let checksum = Checksum {
            crc32: crc32?,
            raw_bytes,
        };
        Some(Self {
            object,
            line: line?,
            begin: Begin {
                lines: lines?,
                footing: Footing {
                    offset_bytes,
                    checksum,
                },
            },
        })
    }
}
