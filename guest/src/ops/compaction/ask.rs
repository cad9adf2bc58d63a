//! The questions to the model, one for each chunk of what is removed, and what its answers come to.

use super::conversation::log_of;
use super::part::{Line, Part};
use super::state::{Done, State};
use super::{Next, Question, Reply, Session, Step, Summary, Tier};
use crate::format::message::Message;
use crate::format::text::decode;
use crate::layout::gsv::Place;
use crate::limits::{
    COMPACTION_CHUNK_BYTES_MAX, COMPACTION_PIECE_BYTES, COMPACTION_SUMMARY_BYTES_MAX,
    WORKSPACE_FILE_BYTES_MAX,
};
use crate::ops::moment;
use crate::ops::sessions::state::{Owner, require};
use crate::protocol::log::{Log, Position};
use crate::store::{BodyKind, GetRequest, Metered, Range, Store};
use crate::transform::compaction::chunk::{Chunk, Position as At, next_chunk};
use crate::transform::compaction::render::LeftOut;
use crate::transform::compaction::reply::{Reply as Parsed, parse};
use crate::transform::compaction::request::{Ask, Occasion, request};
use crate::transform::compaction::tiers::plain_summary;
use crate::transform::compaction::{Facts, Tier as Kind, summary};
use crate::types::{Error, ErrorCode, Problem, ProblemKind, Result};

pub fn resume(store: &dyn Store, session: &Session, text: &str, reply: &Reply) -> Result<Step> {
    let store = Metered::new(store);
    let mut state = State::parse(session, text)?;
    if state.ready {
        return Err(Error::invalid(
            "the state is ready: there is no question that this could answer; call commit",
        ));
    }
    let owner = state.owner()?;
    if require(&store, &owner)?.session_id != state.session_id {
        return Err(another_session(&owner));
    }
    let keys = owner.log_keys(&state.session_id)?;
    let log = log_of(&store, &keys);
    let mut problems = Vec::new();
    let mut tell = |kind, message: String| {
        problems.push(Problem::new(kind, log.keys.head(), message));
    };
    match taken(reply) {
        Ok(parsed) => {
            if parsed.is_torn {
                let message = "the model's answer was cut off, and what there is of it was taken";
                tell(ProblemKind::Truncated, message.to_owned());
            }
            // A model that was not asked for memories may give some all the same.
            let memories = parsed.memories.filter(|_| state.settings.extract_memories);
            if let Some(memories) = &memories
                && let Err(message) = remember(&mut state.memories, memories)
            {
                tell(ProblemKind::Skipped, message);
            }
            state.summary = Some(parsed.summary);
            match state.next.take() {
                Some(next) => state.done = next,
                None => state.ready = true,
            }
        }
        Err(why) => {
            let next = Kind::from(state.tier).next().unwrap_or(Kind::Plain);
            state.tier = next.into();
            state.next = None;
            // Another tier may show this message otherwise: it is shown from its beginning.
            state.done.offset_bytes = 0;
            let name = match next {
                Kind::Full => "full",
                Kind::Partial => "partial",
                Kind::Plain => "plain",
            };
            tell(
                ProblemKind::Skipped,
                format!("the model gave no summary, so the next tier follows, {name}: {why}"),
            );
        }
    }
    next_step(&store, log, state, problems)
}

/// The session that the state is of has ended.
pub fn another_session(owner: &Owner) -> Error {
    let message = format!("{} has another session now; begin again", owner.key);
    Error::new(ErrorCode::Conflict, message).at(owner.state_key())
}

/// What the model answered; the error says why it cannot be used.
fn taken(reply: &Reply) -> std::result::Result<Parsed, String> {
    let text = match reply {
        Reply::Text(text) => text,
        Reply::Failed(why) => return Err(why.chars().take(500).collect()),
    };
    let parsed = parse(text).map_err(|_| "its reply holds no summary".to_owned())?;
    let memories = parsed.memories.as_deref().unwrap_or_default();
    for (what, text) in [("summary", parsed.summary.as_str()), ("memories", memories)] {
        if text.len() > COMPACTION_SUMMARY_BYTES_MAX {
            return Err(format!(
                "its {what}, {} bytes, would be over {COMPACTION_SUMMARY_BYTES_MAX}",
                text.len()
            ));
        }
    }
    Ok(parsed)
}

/// Add to the memories so far. The error says that they were too many together.
fn remember(memories: &mut String, more: &str) -> std::result::Result<(), String> {
    if memories.len() + more.len() + 1 > COMPACTION_SUMMARY_BYTES_MAX {
        return Err(format!(
            "memories of {} bytes were left out: with those before they are over {COMPACTION_SUMMARY_BYTES_MAX}",
            more.len()
        ));
    }
    if !memories.is_empty() {
        memories.push('\n');
    }
    memories.push_str(more);
    Ok(())
}

/// The next question, or what is ready.
pub fn next_step(
    store: &Metered<'_>,
    log: Log<'_>,
    mut state: State,
    mut problems: Vec<Problem>,
) -> Result<Step> {
    if !state.ready {
        let part = Part::of(log, &state.removed)?;
        if state.tier != Tier::Plain
            && let Some(question) = question(store, &log, &part, &mut state, &mut problems)?
        {
            return Ok(Step {
                next: Next::Ask(question),
                state: state.render()?,
                problems,
                cost: store.cost(),
            });
        }
        if state.tier == Tier::Plain || state.summary.is_none() {
            let removed = facts_from(&part, state.done.position.as_str())?;
            let plain = plain_summary(state.summary.as_deref(), &removed, state.window()?);
            state.summary = Some(summary::bounded(&plain));
            state.tier = Tier::Plain;
        }
        state.ready = true;
    }
    let summary = Summary {
        text: state.summary.clone().unwrap_or_default(),
        memories: Some(state.memories.clone()).filter(|memories| !memories.is_empty()),
        tier: state.tier,
        messages: state.removed.messages,
    };
    Ok(Step {
        next: Next::Ready(summary),
        state: state.render()?,
        problems,
        cost: store.cost(),
    })
}

/// What to ask about the chunk that begins at `state.done`; none where there are no messages any more.
fn question(
    store: &Metered<'_>,
    log: &Log<'_>,
    part: &Part<'_>,
    state: &mut State,
    problems: &mut Vec<Problem>,
) -> Result<Option<Question>> {
    let window = state.window()?;
    let mut from = Position::parse(&state.done.position)?;
    let (chunk, next) = loop {
        let read = part.lines(from, COMPACTION_CHUNK_BYTES_MAX)?;
        let lines: Vec<(Position, &str)> = read.lines.iter().filter_map(message_of).collect();
        let messages = lines
            .iter()
            .filter_map(|(_, line)| Message::parse(line).ok());
        let at = At {
            message: 0,
            offset_bytes: state.done.offset_bytes,
        };
        let chunk = next_chunk(messages, at, state.tier.into(), window);
        if !chunk.text.is_empty() {
            let next = after(&chunk, &lines, read.next, state.done.messages);
            break (chunk, next);
        }
        match read.next {
            Some(next) => from = next,
            None => return Ok(None),
        }
    };
    tell_left_out(log, state.done.messages, &chunk, problems);
    let memories = memories_of_the_day(store, state)?;
    let asked = request(
        &Ask {
            occasion: Occasion::Compaction,
            previous_summary: state.summary.as_deref(),
            memories_of_the_day: memories.as_deref(),
            conversation: &chunk.text,
            extract_memories: state.settings.extract_memories,
        },
        window,
    );
    problems.extend(asked.cut.iter().map(|cut| {
        let message = format!(
            "the model was shown {} of the {} bytes of {}",
            cut.kept_bytes, cut.total_bytes, cut.what
        );
        Problem::new(ProblemKind::Truncated, log.keys.head(), message)
    }));
    state.next = next;
    Ok(Some(Question {
        prompt: asked.prompt,
        tier: state.tier,
        messages_done: state.done.messages,
        messages_total: state.removed.messages,
    }))
}

fn message_of(line: &Line) -> Option<(Position, &str)> {
    line.message().map(|message| (line.position, message.line))
}

/// Where the question after this chunk begins.
fn after(
    chunk: &Chunk,
    lines: &[(Position, &str)],
    behind: Option<Position>,
    done: u64,
) -> Option<Done> {
    let (index, offset_bytes) = match chunk.next {
        Some(next) => (next.message, next.offset_bytes),
        None => (lines.len(), 0),
    };
    let position = lines.get(index).map(|(position, _)| *position).or(behind)?;
    Some(Done {
        messages: done + index as u64,
        position: position.to_text(),
        offset_bytes,
    })
}

fn tell_left_out(log: &Log<'_>, done: u64, chunk: &Chunk, problems: &mut Vec<Problem>) {
    for (index, left_out) in &chunk.left_out {
        let number = done + *index as u64 + 1;
        let what = match left_out {
            LeftOut::ResultCut { total, kept } => {
                format!("was shown {kept} of the {total} characters of a tool's result")
            }
            LeftOut::Message { tokens } => format!("was not shown about {tokens} tokens"),
        };
        let message = format!("of message {number} that is removed, the model {what}");
        problems.push(Problem::new(
            ProblemKind::Truncated,
            log.keys.head(),
            message,
        ));
    }
}

/// What the agent has noted today already, and what was extracted so far.
fn memories_of_the_day(store: &Metered<'_>, state: &State) -> Result<Option<String>> {
    if !state.settings.extract_memories {
        return Ok(None);
    }
    let date = moment::day("now-ms", state.now_ms, state.utc_offset_minutes)?;
    let agent = state.owner()?.agent;
    let key = Place::DailyMemory { agent, date }.key();
    let blob = store.get(GetRequest {
        key,
        range: Range::Last(WORKSPACE_FILE_BYTES_MAX),
        kind: BodyKind::Text,
    })?;
    let noted = blob.map(|blob| decode(blob.body.into_bytes()).text);
    let parts = [noted.unwrap_or_default(), state.memories.clone()];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .collect();
    Ok(Some(parts.join("\n")).filter(|text| !text.is_empty()))
}

/// Facts of what no summary tells of yet.
fn facts_from(part: &Part<'_>, position: &str) -> Result<Vec<Facts>> {
    let mut facts = Vec::new();
    let mut at = Some(Position::parse(position)?);
    while let Some(from) = at {
        let read = part.lines(from, COMPACTION_PIECE_BYTES)?;
        let messages = read.lines.iter().filter_map(Line::message);
        facts.extend(messages.map(|message| Facts {
            // A summary without a model counts messages, whatever they call.
            calls: Vec::new(),
            answers: None,
            ..Facts::of(&message)
        }));
        at = read.next;
    }
    Ok(facts)
}
