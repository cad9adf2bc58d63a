//! S3: what is worth remembering of the old session, asked of the caller's model chunk by chunk and appended
//! to the day of its last activity.

use serde::{Deserialize, Serialize};

use super::Call;
use super::archive::StandingMessages;
use crate::format::live_log::{What, parse};
use crate::format::message::Message;
use crate::format::text::decode;
use crate::layout::gsv::{Date, Place};
use crate::limits::{MEMORY_TEXT_BYTES_MAX, WORKSPACE_FILE_BYTES_MAX};
use crate::ops::memory::{AppendRequest, append_section};
use crate::ops::sessions::ResetCommitRequest;
use crate::ops::sessions::live::Live;
use crate::ops::sessions::state::Owner;
use crate::protocol::log::{Forward, Position};
use crate::store::{BodyKind, GetRequest, Range};
use crate::transform::compaction::chunk::{Position as ChunkPosition, next_chunk};
use crate::transform::compaction::request::{Ask, Occasion, request};
use crate::transform::compaction::{Tier, Window};
use crate::transform::compaction::{reply, summary};
use crate::types::{Error, Problem, ProblemKind, Result};

/// The number of this format; a higher one is refused.
const FORMAT: u64 = 1;

/// Of any version.
#[derive(Deserialize)]
struct Formatted {
    format: u64,
}

/// What the caller holds between two calls, as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Conversation {
    format: u64,
    /// Of the session that is archived: a conversation of another one is refused.
    session_id: String,
    window_tokens: u64,
    utc_offset_minutes: i32,
    /// Of that session: the day that its memories are for.
    last_activity_ms: u64,
    /// Where the next chunk begins: a run of the log, a message in it, an offset in its text. None when
    /// everything was asked.
    next: Option<(Option<String>, usize, usize)>,
    /// The reply so far; what the next chunk goes on from.
    summary: Option<String>,
    memories: String,
}

pub fn window(tokens: u64) -> Result<Window> {
    Window::new(tokens)
}

/// The first question.
pub fn first(
    call: &mut Call<'_>,
    owner: &Owner,
    window: Window,
    utc_offset_minutes: i32,
) -> Result<()> {
    let conversation = Conversation {
        format: FORMAT,
        session_id: call.reset.old.clone(),
        window_tokens: window.tokens(),
        utc_offset_minutes,
        last_activity_ms: call.reset.last_activity_ms,
        next: Some((None, 0, 0)),
        ..Conversation::default()
    };
    ask(call, owner, conversation)
}

/// The question after a reply; none when it was the last one.
pub fn next(call: &mut Call<'_>, owner: &Owner, state: &str, reply: &str) -> Result<()> {
    let mut conversation = Conversation::parse(state, &call.reset.old)?;
    let reply = reply::parse(reply).map_err(|_| {
        Error::invalid(
            "the model's reply holds no summary; ask again, or commit with the state as it is, without the rest",
        )
    })?;
    if reply.is_torn {
        let message = "the model's reply ends before its tags do; it was taken as far as it goes";
        let problem = Problem::new(ProblemKind::Truncated, owner.state_key(), message);
        call.problems.push(problem);
    }
    if let Some(memories) = &reply.memories {
        conversation.remember(call, owner, memories);
    }
    conversation.summary = Some(summary::bounded(&reply.summary));
    ask(call, owner, conversation)
}

fn ask(call: &mut Call<'_>, owner: &Owner, mut conversation: Conversation) -> Result<()> {
    let window = window(conversation.window_tokens)?;
    if let Some((position, message, offset_bytes)) = conversation.next.take() {
        let from = ChunkPosition {
            message,
            offset_bytes,
        };
        let chunk = chunk(call, owner, position, from, window)?;
        if let Some((text, next)) = chunk {
            let memories = of_the_day(call, owner, conversation.utc_offset_minutes)?;
            let question = request(
                &Ask {
                    occasion: Occasion::Reset,
                    previous_summary: conversation.summary.as_deref(),
                    memories_of_the_day: memories.as_deref(),
                    conversation: &text,
                    extract_memories: true,
                },
                window,
            );
            for cut in question.cut {
                let message = format!(
                    "{}: {} of {} bytes are in the question",
                    cut.what, cut.kept_bytes, cut.total_bytes
                );
                let problem = Problem::new(ProblemKind::Truncated, owner.state_key(), message);
                call.problems.push(problem);
            }
            conversation.next = next;
            call.ask = Some(question.prompt);
        }
    }
    call.state = Some(serde_json::to_string(&conversation).unwrap_or_default());
    Ok(())
}

type Next = Option<(Option<String>, usize, usize)>;

/// The next chunk that says something, and where the one behind it begins. A chunk ends with its run of the
/// log.
fn chunk(
    call: &Call<'_>,
    owner: &Owner,
    mut position: Option<String>,
    mut from: ChunkPosition,
    window: Window,
) -> Result<Option<(String, Next)>> {
    let live = Live::of(call.store, owner, &call.reset.old)?;
    let Some(forward) = Forward::of(live.log())? else {
        return Ok(None);
    };
    let standing = StandingMessages::of(forward, live.standing()?);
    loop {
        let at = position.as_deref().map(Position::parse).transpose()?;
        let run = standing.messages_at(at)?;
        let entries = run
            .entries
            .iter()
            .filter_map(|entry| match parse(&entry.content) {
                Ok(line) => match line.what {
                    What::Message(json) => Some(json),
                    _ => None,
                },
                Err(_) => None,
            });
        let lines = run.summary.as_deref().into_iter().chain(entries);
        let messages = lines
            .filter_map(|json| Message::parse(json).ok())
            .skip(from.message);
        let chunk = next_chunk(messages, from, Tier::Full, window);
        let behind = match chunk.next {
            Some(next) => Some((position.clone(), next.message, next.offset_bytes)),
            None => run.next.map(|next| (Some(next.to_text()), 0, 0)),
        };
        if !chunk.text.is_empty() {
            return Ok(Some((chunk.text, behind)));
        }
        match run.next {
            Some(next) => {
                position = Some(next.to_text());
                from = ChunkPosition::default();
            }
            None => return Ok(None),
        }
    }
}

/// What the day of the last activity has noted already; none when it has no file.
fn of_the_day(call: &Call<'_>, owner: &Owner, utc_offset_minutes: i32) -> Result<Option<String>> {
    let Some(date) = Date::at(call.reset.last_activity_ms, utc_offset_minutes) else {
        return Ok(None);
    };
    let agent = owner.agent.clone();
    let key = Place::DailyMemory { agent, date }.key();
    let blob = call.store.get(GetRequest {
        key,
        range: Range::Last(WORKSPACE_FILE_BYTES_MAX),
        kind: BodyKind::Text,
    })?;
    Ok(blob.map(|blob| decode(blob.body.into_bytes()).text))
}

/// Append what was gathered, on the day of the last activity, under the name of the session that it is of: one id
/// may end the sessions of several keys, and the day is the agent's. Done twice is once.
pub fn append(call: &mut Call<'_>, commit: &ResetCommitRequest) -> Result<()> {
    let Some(state) = &commit.state else {
        return Ok(());
    };
    let conversation = Conversation::parse(state, &call.reset.old)?;
    write(call, commit, conversation)
}

/// The reset is over, maybe by another host that had no model: what was gathered is not lost. A state of no earlier
/// session of the key says nothing any more.
pub fn append_late(
    call: &mut Call<'_>,
    commit: &ResetCommitRequest,
    previous: &[String],
) -> Result<()> {
    let Some(state) = &commit.state else {
        return Ok(());
    };
    let mut read = previous.iter().map(|old| Conversation::parse(state, old));
    match read.find_map(Result::ok) {
        Some(conversation) => write(call, commit, conversation),
        None => Ok(()),
    }
}

fn write(
    call: &mut Call<'_>,
    commit: &ResetCommitRequest,
    conversation: Conversation,
) -> Result<()> {
    if conversation.memories.trim().is_empty() {
        return Ok(());
    }
    let answer = append_section(
        call.store,
        &AppendRequest {
            home: commit.home.clone(),
            request_id: format!("{}-reset", conversation.session_id),
            at_ms: conversation.last_activity_ms,
            utc_offset_minutes: conversation.utc_offset_minutes,
            text: conversation.memories,
            allow_secrets: false,
        },
    )?;
    call.problems.extend(answer.problems);
    Ok(())
}

impl Conversation {
    /// What does not fit is left out, and told.
    fn remember(&mut self, call: &mut Call<'_>, owner: &Owner, more: &str) {
        if self.memories.len() + more.len() + 1 > MEMORY_TEXT_BYTES_MAX {
            let message = format!(
                "memories of {} bytes were left out: with those before they are over {MEMORY_TEXT_BYTES_MAX}",
                more.len()
            );
            let problem = Problem::new(ProblemKind::Truncated, owner.state_key(), message);
            call.problems.push(problem);
            return;
        }
        if !self.memories.is_empty() {
            self.memories.push('\n');
        }
        self.memories.push_str(more);
    }

    fn parse(text: &str, session_id: &str) -> Result<Self> {
        let refuse = |cause: String| {
            Error::invalid(format!(
                "the state is not what the step before answered ({cause}); pass that, or begin again"
            ))
        };
        let formatted: Formatted =
            serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
        if formatted.format > FORMAT {
            return Err(Error::unsupported(format!(
                "the state of the reset has format {}, and this version knows up to {FORMAT}; go on with the \
                 haversack that began it, or begin again",
                formatted.format
            )));
        }
        let read: Self = serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
        if read.session_id != session_id {
            return Err(refuse(format!("it is of session {}", read.session_id)));
        }
        Ok(read)
    }
}
