//! S2: the old session's messages as they stand, in one archive, verified.

use super::{Call, given_up, set_stage};
use crate::format::live_log::{What, parse};
use crate::format::session_state::{PendingReset, ResetStage};
use crate::layout::archive::ArchiveKeys;
use crate::layout::gsv::SessionId;
use crate::limits::{ARCHIVE_PIECE_RAW_BYTES_MAX, REQUESTS_REMEMBERED, RESET_PIECES_PER_CALL};
use crate::ops::sessions::append::closing;
use crate::ops::sessions::live::{Live, Standing};
use crate::ops::sessions::state::{self, Owner};
use crate::protocol::archive::{self as protocol, Progress, RawSource, Run, Target, Totals};
use crate::protocol::log::{Closed, Forward, ForwardEntry, Position};
use crate::protocol::request::RequestId;
use crate::store::{Metered, metadatum};
use crate::types::{Error, ErrorCode, Result};

/// What archives are.
pub const CONTENT_TYPE: &str = "application/gzip";

/// Whether the archive is verified, or there was nothing to archive; else the next call goes on.
pub fn archive(call: &mut Call<'_>, owner: &Owner) -> Result<bool> {
    let reset = call.reset.clone();
    let id = RequestId::parse(&reset.request_id)?;
    let live = Live::of(call.store, owner, &reset.old)?;
    let mut requests = Vec::new();
    let mut found = false;
    if live.log().close(&closing(&id))? == Closed::Closed
        && let Some(forward) = Forward::of(live.log())?
    {
        let standing = live.standing()?;
        let mut source = StandingMessages::of(forward, standing.clone());
        let keys = ArchiveKeys::of_session(&owner.agent, &SessionId::parse(&reset.old)?);
        let metadata = |totals: &Totals| metadata_of(call, owner, totals);
        let target = Target {
            keys: &keys,
            content_type: CONTENT_TYPE,
            origin: &reset.request_id,
            metadata: &metadata,
        };
        match protocol::archive(call.store, &target, &mut source, RESET_PIECES_PER_CALL)? {
            Progress::More { .. } => return Ok(false),
            Progress::Nothing => {}
            Progress::Done(_) => {
                found = true;
                given_up::drop_part(call, owner, &standing)?;
            }
        }
        requests = newest_requests(&live)?;
    }
    if !found {
        let now = state::require(call.store, owner)?;
        if now.pending_reset() != Some(&reset) {
            // Another call has gone further, and may have deleted it by now.
            return Ok(false);
        }
        if reset.counters.messages > 0 {
            return Err(vanished(&live, owner, &reset));
        }
    }
    set_stage(call.store, owner, &reset, ResetStage::Archived, requests)?;
    call.reset.stage = ResetStage::Archived;
    Ok(true)
}

/// What a call that was overtaken by another one had staged.
pub fn clear(store: &Metered<'_>, owner: &Owner, session_id: &str) -> Result<()> {
    let session = SessionId::parse(session_id)?;
    protocol::clear(store, &ArchiveKeys::of_session(&owner.agent, &session))
}

/// Messages were counted, and none is there: nothing may be deleted.
fn vanished(live: &Live<'_>, owner: &Owner, reset: &PendingReset) -> Error {
    Error::new(
        ErrorCode::Conflict,
        format!(
            "{} has no message any more, and {} were counted; nothing was deleted: restore it from a backup and \
             call again, or, where it is lost for good, delete {}: the next message begins a new session",
            live.key(),
            reset.counters.messages,
            owner.state_key()
        ),
    )
    .at(live.key())
}

/// The metadata of the reference.
fn metadata_of(call: &Call<'_>, owner: &Owner, totals: &Totals) -> Vec<(String, String)> {
    let (reset, counters) = (&call.reset, &call.reset.counters);
    [
        ("sessionKey", owner.key.to_string()),
        ("sessionId", reset.old.clone()),
        ("agentId", owner.agent.to_string()),
        ("messageCount", totals.entries.to_string()),
        ("archivedAt", reset.at_ms.to_string()),
        ("inputTokens", counters.input_tokens.to_string()),
        ("outputTokens", counters.output_tokens.to_string()),
        ("totalTokens", counters.total_tokens.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// The request ids of the newest appends, oldest first. Those of the log itself are no appends.
fn newest_requests(live: &Live<'_>) -> Result<Vec<String>> {
    let ids = live.log().folded_ids()?.unwrap_or_default();
    let mut requests: Vec<String> = Vec::new();
    for id in ids.iter().rev() {
        let numbered = id
            .rsplit_once('.')
            .filter(|(_, number)| number.parse::<u32>().is_ok());
        if let Some((request, _)) = numbered
            && !requests.iter().any(|there| there == request)
        {
            requests.push(request.to_owned());
        }
    }
    requests.truncate(REQUESTS_REMEMBERED);
    requests.reverse();
    Ok(requests)
}

impl Call<'_> {
    /// What the archive says of itself, for the answer.
    pub(super) fn learn_archive(&mut self, owner: &Owner) -> Result<()> {
        let keys = ArchiveKeys::of_session(&owner.agent, &SessionId::parse(&self.reset.old)?);
        let key = keys.archive();
        let Some(stat) = self.store.head(key)? else {
            return Ok(());
        };
        let count = metadatum(&stat.metadata, "messageCount");
        self.messages = count.and_then(|count| count.parse().ok());
        self.archive = Some(key.to_owned());
        Ok(())
    }
}

/// The messages of a closed log as they stand, in runs: the summary of the last compaction, what it kept,
/// what came later. Each run begins with an entry of the log.
pub struct StandingMessages<'a> {
    forward: Forward<'a>,
    standing: Standing,
}

/// A run of messages.
pub struct Messages {
    /// The line of the summary, where the run is the first.
    pub summary: Option<String>,
    /// Entries of the log, those of the log itself among them.
    pub entries: Vec<ForwardEntry>,
    pub next: Option<Position>,
}

impl<'a> StandingMessages<'a> {
    pub fn of(forward: Forward<'a>, standing: Standing) -> Self {
        Self { forward, standing }
    }

    /// The messages from `position` on; none is the first that stands.
    pub fn messages_at(&self, position: Option<Position>) -> Result<Messages> {
        let begin = self.standing.from.as_ref();
        let from = position.or(begin.map(|(at, _)| *at));
        let run = self.forward.run_at(from, RUN_BYTES)?;
        let (mut entries, mut next) = (run.entries, run.next);
        if let (None, Some((_, id))) = (position, begin) {
            // The page that the first kept line is in begins before it.
            let mut run_next = next;
            loop {
                let found = entries
                    .iter()
                    .position(|entry| entry.id.as_ref() == Some(id));
                if let Some(found) = found {
                    entries.drain(..found);
                    next = run_next;
                    break;
                }
                let Some(at) = run_next else {
                    break;
                };
                let run = self.forward.run_at(Some(at), RUN_BYTES)?;
                (entries, run_next) = (run.entries, run.next);
                next = run_next;
            }
        }
        Ok(Messages {
            summary: self.standing.summary.clone().filter(|_| position.is_none()),
            entries,
            next,
        })
    }
}

/// Room is left for the summary of a compaction.
const RUN_BYTES: u64 = ARCHIVE_PIECE_RAW_BYTES_MAX as u64 - (512 << 10);

impl RawSource for StandingMessages<'_> {
    fn run_at(&mut self, position: Option<&str>) -> Result<Run> {
        let at = position.map(Position::parse).transpose()?;
        let messages = self.messages_at(at)?;
        let mut run = Run {
            raw: Vec::new(),
            entries: 0,
            next: messages.next.map(Position::to_text),
        };
        let mut add = |line: &[u8]| {
            run.raw.extend_from_slice(line);
            run.raw.push(b'\n');
            run.entries += 1;
        };
        if let Some(summary) = &messages.summary {
            add(summary.as_bytes());
        }
        for entry in &messages.entries {
            match parse(&entry.content) {
                Ok(line) => {
                    if let What::Message(json) = line.what {
                        add(json.as_bytes());
                    }
                }
                // What somebody wrote in by hand is kept as it is.
                Err(_) => add(&entry.content),
            }
        }
        Ok(run)
    }
}
