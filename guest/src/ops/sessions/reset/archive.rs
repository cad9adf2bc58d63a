//! S2: the old session's messages as they stand, in one archive, verified.

use super::{Call, set_stage};
use crate::format::live_log::{What, parse, request_of};
use crate::format::session_state::ResetStage;
use crate::layout::archive::ArchiveKeys;
use crate::layout::gsv::SessionId;
use crate::limits::{
    ARCHIVE_PIECE_RAW_BYTES_MAX, LOG_PAGE_BYTES_MAX, LOG_WINDOW_ENTRIES, REQUESTS_REMEMBERED,
    RESET_PIECES_PER_CALL,
};
use crate::ops::sessions::append::closing;
use crate::ops::sessions::live::{Live, Standing};
use crate::ops::sessions::state::Owner;
use crate::protocol::archive::{Progress, RawSource, Run, Target, Totals, archive as make};
use crate::protocol::log::{Closed, Forward, ForwardEntry, Position};
use crate::protocol::request::RequestId;
use crate::store::{Answer, Request};
use crate::types::{Problem, ProblemKind, Result};

/// What archives are.
pub const CONTENT_TYPE: &str = "application/gzip";

/// Whether the archive is verified, or there was nothing to archive; else the next call goes on.
pub fn archive(call: &mut Call<'_>, owner: &Owner) -> Result<bool> {
    let reset = call.reset.clone();
    let id = RequestId::parse(&reset.request_id)?;
    let live = Live::of(call.store, owner, &reset.old)?;
    let mut requests = Vec::new();
    if live.log().close(&closing(&id))? == Closed::Gone {
        let message =
            "the live log is gone, so there is nothing to archive: it was deleted by hand";
        let problem = Problem::new(ProblemKind::Unreadable, live.key(), message);
        call.problems.push(problem);
    } else {
        let Some(forward) = Forward::of(live.log())? else {
            return Ok(false);
        };
        let mut source = StandingMessages::of(forward, live.standing()?);
        let keys = ArchiveKeys::of_session(&owner.agent, &SessionId::parse(&reset.old)?);
        let metadata = |totals: &Totals| metadata_of(call, owner, totals);
        let target = Target {
            keys: &keys,
            content_type: CONTENT_TYPE,
            origin: &reset.request_id,
            metadata: &metadata,
        };
        let progress = make(call.store, &target, &mut source, RESET_PIECES_PER_CALL)?;
        if matches!(progress, Progress::More { .. }) {
            return Ok(false);
        }
        requests = newest_requests(&live)?;
    }
    set_stage(call.store, owner, &reset, ResetStage::Archived, requests)?;
    call.reset.stage = ResetStage::Archived;
    Ok(true)
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

/// The request ids of the newest appends, oldest first.
fn newest_requests(live: &Live<'_>) -> Result<Vec<String>> {
    let page = live.page(LOG_WINDOW_ENTRIES, LOG_PAGE_BYTES_MAX, None)?;
    let late = live.log().entries_of(&live.log().leftover()?.late)?;
    let late: Vec<String> = late
        .into_iter()
        .flat_map(|(_, entries)| entries)
        .map(|entry| entry.id)
        .collect();
    let mut requests: Vec<String> = Vec::new();
    for entry in page.entries.iter().rev() {
        let is_message =
            parse(&entry.content).is_ok_and(|line| matches!(line.what, What::Message(_)));
        let id = entry
            .id
            .as_ref()
            .filter(|id| is_message && !late.contains(id));
        if let Some(request) = id.and_then(|id| request_of(id))
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
        let answer = self.store.read(vec![Request::Head(key.to_owned())])?;
        let stat = match answer.into_iter().next() {
            Some(Ok(Answer::Head(Some(stat)))) => stat,
            Some(Err(error)) => return Err(error.about(key)),
            _ => return Ok(()),
        };
        let mut metadata = stat.metadata.iter();
        let count = metadata.find(|(name, _)| name.eq_ignore_ascii_case("messageCount"));
        self.messages = count.and_then(|(_, count)| count.parse().ok());
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
