//! All of an agent's sessions in one list: live ones, archives and parts, told apart by their names, with
//! counts from state or metadata, and from content where metadata are gone.

use std::ops::ControlFlow;

use super::archived::{Begin, each_line, message_line_of};
use super::state::Owner;
use super::{CountsFrom, ListAnswer, ListRequest, SessionItem, SessionKind};
use crate::format::message::Message;
use crate::layout::gsv::{AgentId, Place, sessions_prefix};
use crate::limits::{SESSIONS_COUNTED_BYTES_MAX, SESSIONS_COUNTED_PROBLEMS_MAX, SESSIONS_PAGE_MAX};
use crate::ops::problems::Problems;
use crate::store::metadatum;
use crate::store::{self, Answer, Entry, Metered, Request, Stat, Store, StoreResult};
use crate::types::{Error, Problem, ProblemKind, Result};

pub fn list(store: &dyn Store, request: &ListRequest) -> Result<ListAnswer> {
    let store = Metered::new(store);
    let agent = AgentId::parse(&request.home.id)?;
    let limit = request.limit.unwrap_or(SESSIONS_PAGE_MAX);
    if limit == 0 || limit > SESSIONS_PAGE_MAX {
        return Err(Error::invalid(format!(
            "limit is {limit}; it must be 1 to {SESSIONS_PAGE_MAX}: list page by page"
        )));
    }
    let listing = store.list(store::ListRequest {
        prefix: sessions_prefix(&agent),
        delimiter: true,
        start_after: request.cursor.clone(),
        cursor: None,
        limit: Some(limit),
    })?;
    let last = listing.last_key().map(|last| past(last));
    let next = listing.cursor.and(last);
    let mut call = Call {
        store: &store,
        problems: Vec::new(),
        counted_bytes: 0,
    };
    for skipped in listing.skipped {
        let problem = Problem::new(ProblemKind::Skipped, skipped.key, skipped.cause);
        call.problems.push(problem);
    }
    let sessions = call.items(listing.entries)?;
    Ok(ListAnswer {
        sessions,
        next,
        problems: call.problems,
        cost: store.cost(),
    })
}

/// Where to go on behind a key, or behind all keys of a folded directory: `0` follows `/`.
fn past(last: &str) -> String {
    match last.strip_suffix('/') {
        Some(folded) => format!("{folded}0"),
        None => last.to_owned(),
    }
}

struct Call<'a> {
    store: &'a Metered<'a>,
    problems: Vec<Problem>,
    counted_bytes: u64,
}

impl Call<'_> {
    fn items(&mut self, entries: Vec<Entry>) -> Result<Vec<SessionItem>> {
        let mut wave = Vec::new();
        let mut wanted = Vec::new();
        for entry in entries {
            match Place::parse(&entry.key) {
                Some(place @ (Place::Archive { .. } | Place::ArchivePart { .. })) => {
                    wave.push(Request::Head(entry.key.clone()));
                    wanted.push((entry, place));
                }
                Some(Place::SessionState { agent, key }) => {
                    let owner = Owner::new(agent.clone(), key.session_key().clone())?;
                    wave.push(owner.listed_request(entry.size_bytes));
                    wanted.push((entry, Place::SessionState { agent, key }));
                }
                // The log of a live session, whose state stands for it.
                Some(Place::Log { .. }) => {}
                _ => self.problems.push(Problem::new(
                    ProblemKind::Skipped,
                    entry.key,
                    "is neither a session's archive, part, log nor state; it is left alone",
                )),
            }
        }
        let mut items = Vec::new();
        let answers = self.store.read(wave)?;
        for ((entry, place), answer) in wanted.into_iter().zip(answers) {
            let item = match place {
                Place::SessionState { agent, key } => {
                    let owner = Owner::new(agent, key.session_key().clone())?;
                    self.live(&entry, &owner, answer)
                }
                Place::Archive { session, .. } => self.archive(
                    &entry,
                    SessionKind::Archive,
                    session.to_string(),
                    None,
                    answer,
                )?,
                Place::ArchivePart {
                    session, timestamp, ..
                } => {
                    let (id, ms) = (session.to_string(), Some(timestamp.get()));
                    self.archive(&entry, SessionKind::Part, id, ms, answer)?
                }
                _ => None,
            };
            items.extend(item);
        }
        Ok(items)
    }

    fn live(
        &mut self,
        entry: &Entry,
        owner: &Owner,
        answer: StoreResult<Answer>,
    ) -> Option<SessionItem> {
        match owner.read_listed(self.store, answer) {
            Ok(state) => state.map(|state| SessionItem {
                kind: SessionKind::Live,
                key: entry.key.clone(),
                session_key: Some(owner.key.to_string()),
                session_id: state.session_id,
                part_ms: None,
                at_ms: Some(state.updated_ms),
                size_bytes: entry.size_bytes,
                messages: Some(state.counters.messages),
                input_tokens: Some(state.counters.input_tokens),
                output_tokens: Some(state.counters.output_tokens),
                total_tokens: Some(state.counters.total_tokens),
                counts_from: CountsFrom::State,
            }),
            Err(error) => {
                let problem = Problem::new(ProblemKind::Unreadable, &entry.key, error.message);
                self.problems.push(problem);
                None
            }
        }
    }

    fn archive(
        &mut self,
        entry: &Entry,
        kind: SessionKind,
        session_id: String,
        part_ms: Option<u64>,
        answer: StoreResult<Answer>,
    ) -> Result<Option<SessionItem>> {
        let stat = match answer.map_err(|error| error.about(&entry.key))? {
            Answer::Head(Some(stat)) => stat,
            // Deleted since it was listed.
            _ => return Ok(None),
        };
        let mut item = SessionItem {
            kind,
            key: entry.key.clone(),
            session_key: text(&stat, "sessionKey"),
            session_id,
            part_ms,
            at_ms: self.number(entry, &stat, "archivedAt"),
            size_bytes: stat.size_bytes,
            messages: self.number(entry, &stat, "messageCount"),
            input_tokens: self.number(entry, &stat, "inputTokens"),
            output_tokens: self.number(entry, &stat, "outputTokens"),
            total_tokens: self.number(entry, &stat, "totalTokens"),
            counts_from: CountsFrom::Metadata,
        };
        let has_tokens = item.input_tokens.is_some()
            && item.output_tokens.is_some()
            && item.total_tokens.is_some();
        if item.messages.is_none() || (kind == SessionKind::Archive && !has_tokens) {
            self.count(&mut item)?;
        }
        Ok(Some(item))
    }

    /// None when it is not there, or is no number, which is a problem.
    fn number(&mut self, entry: &Entry, stat: &Stat, name: &str) -> Option<u64> {
        let value = text(stat, name)?;
        let number = value.trim().parse().ok();
        if number.is_none() {
            let instead = match name {
                "archivedAt" => "when it was archived is not known",
                _ => "it was counted from content",
            };
            let message = format!("its metadata {name} is {value:?}, and no number; {instead}");
            let problem = Problem::new(ProblemKind::Repaired, &entry.key, message);
            self.problems.push(problem);
        }
        number
    }

    /// Count what is in an archive whose metadata do not say.
    fn count(&mut self, item: &mut SessionItem) -> Result<()> {
        item.counts_from = CountsFrom::Unknown;
        let before = self.counted_bytes;
        self.counted_bytes = before.saturating_add(item.size_bytes);
        if before > 0 && self.counted_bytes > SESSIONS_COUNTED_BYTES_MAX {
            let message = format!(
                "its metadata are gone, and a page of the list counts {SESSIONS_COUNTED_BYTES_MAX} bytes: list \
                 fewer at once"
            );
            let problem = Problem::new(ProblemKind::Truncated, &item.key, message);
            self.problems.push(problem);
            return Ok(());
        }
        let (mut messages, mut input, mut output, mut total) = (0, 0u64, 0u64, 0u64);
        let mut faults = Problems::up_to(SESSIONS_COUNTED_PROBLEMS_MAX);
        let read = each_line(self.store, &item.key, Begin::default(), |line| {
            match message_line_of(&item.key, &line) {
                Ok(text) => {
                    messages += 1;
                    let usage = Message::parse(&text).ok().and_then(|message| message.usage);
                    let usage = usage.unwrap_or_default();
                    input = input.saturating_add(usage.input);
                    output = output.saturating_add(usage.output);
                    total = total.saturating_add(usage.total_tokens);
                }
                Err(problem) => faults.push(problem),
            }
            ControlFlow::Continue(())
        })?;
        self.problems.extend(faults.into_told());
        self.problems.extend(read.problem(&item.key));
        item.counts_from = CountsFrom::Content;
        item.messages = item.messages.or(Some(messages));
        item.input_tokens = item.input_tokens.or(Some(input));
        item.output_tokens = item.output_tokens.or(Some(output));
        item.total_tokens = item.total_tokens.or(Some(total));
        Ok(())
    }
}

fn text(stat: &Stat, name: &str) -> Option<String> {
    metadatum(&stat.metadata, name).map(str::to_owned)
}
