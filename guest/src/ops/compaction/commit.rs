//! The commit (spec/protocols.md, "Compaction commit"): claim, archive, remember, publish, let go. Each step
//! finds what an earlier call under the same request did, so the sequence may stop after any write.

use super::ask::another_session;
use super::begin::under_reset;
use super::conversation::log_of;
use super::part::{Part, changed};
use super::state::State;
use super::{CommitAnswer, CommitRequest, Committed};
use crate::format::live_log::{self, Compaction, What, compaction_line, summary_id};
use crate::format::session_state::{
    CompactionStage, Pending, PendingCompaction, ResetStage, SessionState,
};
use crate::layout::archive::ArchiveKeys;
use crate::layout::gsv::{EpochMs, Place, SessionId};
use crate::limits::{COMPACTION_PAGE_BYTES, COMPACTION_PIECES_MAX, LOG_PAGE_ENTRIES_MAX};
use crate::ops::memory;
use crate::ops::moment;
use crate::ops::sessions::live::Live;
use crate::ops::sessions::parts::{self, Heading};
use crate::ops::sessions::state::{Owner, change, check_given_up, require, step_id};
use crate::protocol::archive::{Progress, Target, Totals, archive};
use crate::protocol::log::{Log, NewEntry, ReadOptions};
use crate::protocol::request::RequestId;
use crate::store::{Metered, Store};
use crate::transform::compaction::summary::message_line;
use crate::types::{Error, ErrorCode, Problem, Result};

const PART_CONTENT_TYPE: &str = "application/gzip";

pub fn commit(store: &dyn Store, request: &CommitRequest) -> Result<CommitAnswer> {
    let metered = Metered::new(store);
    let state = State::parse(&request.session, &request.state)?;
    if !state.ready {
        return Err(Error::invalid(
            "the state is not ready: the model has not been asked about everything; call resume with its answer",
        ));
    }
    moment::day("now-ms", request.now_ms, 0)?;
    let owner = state.owner()?;
    let keys = owner.log_keys(&state.session_id)?;
    let commit = Commit {
        log: log_of(&metered, &keys),
        store: &metered,
        id: RequestId::parse(&request.request_id)?,
        now_ms: request.now_ms,
        owner,
        state,
    };
    let mut problems = Vec::new();
    let run = commit.run(&mut problems);
    if matches!(&run, Err(error) if error.code == ErrorCode::Conflict)
        && let Err(error) = commit.tidy()
        && error.code == ErrorCode::Unavailable
    {
        // The repeat is told who was quicker, and tidies up. Any other trouble must not hide that.
        return Err(error);
    }
    let committed = run?;
    Ok(CommitAnswer {
        committed,
        problems,
        cost: metered.cost(),
    })
}

struct Commit<'a> {
    log: Log<'a>,
    store: &'a Metered<'a>,
    owner: Owner,
    state: State,
    id: RequestId,
    now_ms: u64,
}

impl Commit<'_> {
    /// None when the archive is not whole yet.
    fn run(&self, problems: &mut Vec<Problem>) -> Result<Option<Committed>> {
        let before = require(self.store, &self.owner)?;
        self.check_session(&before)?;
        if let Some(published) = self.published()? {
            self.let_go()?;
            return self.committed(published.part_ms, true).map(Some);
        }
        let mut part = Part::of(self.log, &self.state.removed)?;
        if !self.is_mine(&before) {
            part.check(&self.state.removed)?;
        }
        let pending = self.claim(&before)?;
        let keys = self.part_keys(pending.part_ms)?;
        let metadata = |totals: &Totals| self.metadata(pending.part_ms, totals);
        let removed = &self.state.removed;
        let target = Target {
            keys: &keys,
            content_type: PART_CONTENT_TYPE,
            origin: &format!(
                "{}.{}.{:x}",
                pending.part_ms, removed.messages, removed.hash
            ),
            metadata: &metadata,
        };
        match archive(self.store, &target, &mut part, COMPACTION_PIECES_MAX)? {
            Progress::Done(_) => {}
            Progress::More { .. } => return Ok(None),
            Progress::Nothing => return Err(changed(self.log.keys.head(), "it holds nothing")),
        }
        if !self.state.memories.is_empty() {
            let request = self.memories(pending.part_ms);
            let appended = memory::append_section(self.store, &request)?;
            problems.extend(appended.problems);
        }
        self.publish(pending.part_ms)?;
        self.let_go()?;
        self.committed(pending.part_ms, false).map(Some)
    }

    /// After a reset that did not wait, what this commit has archived is in the session's archive too. Before there
    /// is one, the reset does the same itself; until it is verified, the log says what was published.
    fn tidy(&self) -> Result<()> {
        let now = require(self.store, &self.owner)?;
        let (agent, old) = (&self.owner.agent, self.state.session_id.as_str());
        if now.session_id == old {
            return Ok(());
        }
        let session = self.session()?;
        let Heading::Of(in_archive) = parts::heading(self.store, agent, &session)? else {
            return Ok(());
        };
        let begun = now.pending_reset().map(|reset| (&reset.old, reset.stage));
        let published_ms = match begun {
            Some((ending, ResetStage::Begun)) if ending == old => {
                Live::of(self.store, &self.owner, old)?.standing()?.part_ms
            }
            _ => in_archive,
        };
        parts::delete_newer(self.store, agent, &session, published_ms)
    }

    fn check_session(&self, record: &SessionState) -> Result<()> {
        if record.pending_reset().is_some() {
            return Err(under_reset(&self.owner));
        }
        match record.session_id == self.state.session_id {
            true => Ok(()),
            false => Err(another_session(&self.owner)),
        }
    }

    fn is_mine(&self, record: &SessionState) -> bool {
        let pending = record.pending_compaction();
        pending.is_some_and(|pending| pending.request_id == self.id.as_str())
    }

    /// The entry of this very request, looked for behind the first message that is kept. `conflict` when
    /// another compaction stands there instead, or that message is gone.
    fn published(&self) -> Result<Option<Compaction>> {
        let key = self.log.keys.head();
        let kept = self.state.removed.end.id.as_str();
        let mut another = false;
        let mut before = None;
        loop {
            let page = self.log.read(&ReadOptions {
                entries_max: LOG_PAGE_ENTRIES_MAX,
                bytes_max: COMPACTION_PAGE_BYTES,
                before,
            })?;
            for entry in page.entries.iter().rev() {
                if let Ok(What::Compaction(compaction)) =
                    live_log::parse(&entry.content).map(|line| line.what)
                {
                    if compaction.request.as_deref() == Some(self.id.as_str()) {
                        return Ok(Some(compaction));
                    }
                    // One that was known at the begin may stand behind what is kept now.
                    another |= Some(compaction.part_ms) > self.state.last_part_ms;
                } else if entry.id.as_deref() == Some(kept) {
                    return match another {
                        true => Err(changed(key, "another compaction came in between")),
                        false => Ok(None),
                    };
                }
            }
            match page.before {
                Some(cursor) => before = Some(cursor),
                None => return Err(changed(key, "the first message to keep is not in it")),
            }
        }
    }

    /// Write down what is about to happen, or that it goes on; who cannot, is told.
    fn claim(&self, before: &SessionState) -> Result<PendingCompaction> {
        let step = step_id(&self.id, &format!("claim {}", self.now_ms))?;
        let claimed = change(self.store, &self.owner, &step, |current| {
            self.check_session(current)?;
            let last_part_ms = current.last_part_ms;
            let pending = match current.pending_compaction() {
                Some(pending) if pending.request_id == self.id.as_str() => {
                    self.extended(pending)?
                }
                Some(pending) if Some(pending.part_ms) != self.state.last_part_ms => {
                    check_given_up(&self.owner, pending, self.now_ms)?;
                    match self.state.given_up.as_ref() == Some(&pending.request_id) {
                        true => self.begun(last_part_ms),
                        false => self.extended(pending)?,
                    }
                }
                // What is pending is published: only its end was not written.
                pending
                    if last_part_ms != before.last_part_ms
                        || pending.is_none() && self.was_unpublished(before) =>
                {
                    return Err(changed(
                        self.owner.state_key(),
                        "another compaction came in between",
                    ));
                }
                _ => self.begun(last_part_ms),
            };
            current.last_part_ms = last_part_ms.max(pending.part_ms);
            current.pending = Some(Pending::Compaction(pending));
            Ok(())
        })?;
        match claimed.state.pending_compaction() {
            Some(pending) if pending.request_id == self.id.as_str() => Ok(pending.clone()),
            _ => Err(self.lost()),
        }
    }

    /// Whether one was pending that this compaction does not know: gone by now, it may have been published
    /// after the log was looked at.
    fn was_unpublished(&self, before: &SessionState) -> bool {
        let pending = before.pending_compaction();
        pending.is_some_and(|pending| Some(pending.part_ms) != self.state.last_part_ms)
    }

    fn begun(&self, last_part_ms: u64) -> PendingCompaction {
        PendingCompaction {
            request_id: self.id.as_str().to_owned(),
            from_entry: self.state.removed.from.id.clone(),
            to_entry: self.state.removed.to.id.clone(),
            part_ms: self.now_ms.max(last_part_ms.saturating_add(1)),
            at_ms: self.now_ms,
            stage: CompactionStage::Begun,
        }
    }

    /// The same part goes on, under this request.
    fn extended(&self, pending: &PendingCompaction) -> Result<PendingCompaction> {
        let removed = &self.state.removed;
        if (&pending.from_entry, &pending.to_entry) != (&removed.from.id, &removed.to.id) {
            let how = format!(
                "a compaction of other messages is pending under the request {}",
                pending.request_id
            );
            return Err(changed(self.owner.state_key(), &how));
        }
        Ok(PendingCompaction {
            request_id: self.id.as_str().to_owned(),
            at_ms: self.now_ms.max(pending.at_ms),
            ..pending.clone()
        })
    }

    /// Write the entry down, unless somebody took over since the claim. A lease is only as good as the clocks of
    /// the hosts: the log itself takes one entry of a part, and the second host is told.
    fn publish(&self, part_ms: u64) -> Result<()> {
        let now = require(self.store, &self.owner)?;
        self.check_session(&now)?;
        if !self.is_mine(&now) {
            return Err(self.lost());
        }
        let id = summary_id(part_ms);
        let bytes = compaction_line(
            &id,
            &Compaction {
                summary: self.summary().to_owned(),
                first_kept: Some(self.state.removed.end.id.clone()),
                part_ms,
                request: Some(self.id.as_str().to_owned()),
            },
        );
        let appended = self.log.append(&[NewEntry { id, bytes }], part_ms);
        match self.published()? {
            Some(_) => Ok(()),
            None => Err(appended.err().unwrap_or_else(|| self.lost())),
        }
    }

    /// Nothing is pending any more. A reset that began meanwhile has its own.
    fn let_go(&self) -> Result<()> {
        let step = step_id(&self.id, "done")?;
        let after = change(self.store, &self.owner, &step, |current| {
            if self.is_mine(current) {
                current.pending = None;
            }
            Ok(())
        })?;
        self.check_session(&after.state)
    }

    fn lost(&self) -> Error {
        let message = format!(
            "{}: another compaction or a reset took over; begin again",
            self.owner.key
        );
        Error::new(ErrorCode::Conflict, message).at(self.owner.state_key())
    }

    fn summary(&self) -> &str {
        self.state.summary.as_deref().unwrap_or_default()
    }

    fn session(&self) -> Result<SessionId> {
        SessionId::parse(&self.state.session_id)
    }

    fn part_keys(&self, part_ms: u64) -> Result<ArchiveKeys> {
        ArchiveKeys::of_part(&self.owner.agent, &self.session()?, &EpochMs::new(part_ms)?)
    }

    /// The reference's, of a part.
    fn metadata(&self, part_ms: u64, totals: &Totals) -> Vec<(String, String)> {
        let pairs = [
            ("sessionKey", self.owner.key.as_str().to_owned()),
            ("sessionId", self.state.session_id.clone()),
            ("agentId", self.owner.agent.to_string()),
            ("partNumber", part_ms.to_string()),
            ("messageCount", totals.entries.to_string()),
            ("archivedAt", part_ms.to_string()),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// At the part's moment, so that a repeat after midnight finds the same day, and under the part's name, so
    /// that a commit that takes over finds what was remembered.
    fn memories(&self, part_ms: u64) -> memory::AppendRequest {
        memory::AppendRequest {
            home: self.state.session.home.clone(),
            request_id: format!("{}-{part_ms}", self.state.session_id),
            at_ms: part_ms,
            utc_offset_minutes: self.state.utc_offset_minutes,
            text: self.state.memories.clone(),
            allow_secrets: false,
        }
    }

    fn committed(&self, part_ms: u64, repeat: bool) -> Result<Committed> {
        let memory_key = match self.state.memories.is_empty() {
            true => None,
            false => {
                let date = moment::day("part-ms", part_ms, self.state.utc_offset_minutes)?;
                let agent = self.owner.agent.clone();
                Some(Place::DailyMemory { agent, date }.key())
            }
        };
        Ok(Committed {
            part_key: self.part_keys(part_ms)?.archive().to_owned(),
            part_ms,
            removed_messages: self.state.removed.messages,
            summary_message: message_line(self.summary(), part_ms),
            first_kept: self.state.removed.end.id.clone(),
            first_kept_place: live_log::place_of(&self.state.removed.end.id),
            memory_key,
            repeat,
        })
    }
}
