//! The keys of one log: the single file that a reference has, and beside it the segments and sealed
//! pieces of a store that cannot append (spec/protocols.md, "Log"). Knows no format of lines.

use super::field::{Field, LineNumber, SegmentHash, SegmentMs};
use super::{gsv, moltbot, run_agent};
use crate::types::Result;

/// Where one log lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogKeys {
    head: String,
    /// With its slash.
    directory: String,
    ending: &'static str,
}

/// A segment of `new/`: its message's own time, and a hash of its entries' ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SegmentName {
    pub ms: SegmentMs,
    pub hash: SegmentHash,
}

/// A sealed piece in `old/`: the number of its first entry, and a hash of what it was sealed from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SealedName {
    pub first: LineNumber,
    pub hash: SegmentHash,
}

impl LogKeys {
    /// A moltbot session's messages.
    pub fn messages(user: &moltbot::UserId, session: &moltbot::SessionKey) -> Self {
        let (user, session) = (user.clone(), session.clone());
        Self::beside(moltbot::Place::Messages { user, session }.key())
    }

    /// The live log of a gsv session.
    pub fn live_log(agent: &gsv::AgentId, session: &gsv::SessionId) -> Self {
        let (agent, session) = (agent.clone(), session.clone());
        Self::beside(gsv::Place::Log { agent, session }.key())
    }

    /// The bus of a run-agent project.
    pub fn project_bus(project: &run_agent::ProjectId) -> Self {
        let project = project.clone();
        Self::beside(run_agent::Place::ProjectBus { project }.key())
    }

    /// The bus of a run-agent task.
    pub fn task_bus(project: &run_agent::ProjectId, task: &run_agent::TaskId) -> Self {
        let (project, task) = (project.clone(), task.clone());
        Self::beside(run_agent::Place::TaskBus { project, task }.key())
    }

    /// The directory of a log is named as its file, without the ending.
    fn beside(head: String) -> Self {
        let ending = [".jsonl", ".md"]
            .into_iter()
            .find(|ending| head.ends_with(ending))
            .unwrap_or_default();
        let stem = head.strip_suffix(ending).unwrap_or(&head);
        let directory = format!("{stem}/");
        Self {
            head,
            directory,
            ending,
        }
    }

    /// The file of the reference; on a store that does not append, the newest entries.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Where the segments lie that are not folded in yet.
    pub fn new_prefix(&self) -> String {
        format!("{}new/", self.directory)
    }

    /// Where the sealed pieces lie.
    pub fn old_prefix(&self) -> String {
        format!("{}old/", self.directory)
    }

    pub fn segment(&self, name: &SegmentName) -> String {
        let (ms, hash) = (name.ms.to_value(), name.hash.to_value());
        format!("{}{ms}-{hash}{}", self.new_prefix(), self.ending)
    }

    pub fn sealed(&self, name: &SealedName) -> String {
        format!("{}{}{}", self.old_prefix(), name.to_text(), self.ending)
    }

    /// Stands before every sealed piece that begins with entry `first` or a later one, and behind the others.
    pub fn sealed_before(&self, first: u64) -> Result<String> {
        Ok(format!(
            "{}{}",
            self.old_prefix(),
            LineNumber::new(first)?.to_value()
        ))
    }

    /// The segment that a key names; none for anything else.
    pub fn parse_segment(&self, key: &str) -> Option<SegmentName> {
        let name = key.strip_prefix(&self.new_prefix())?;
        let (ms, hash) = name.strip_suffix(self.ending)?.split_once('-')?;
        Some(SegmentName {
            ms: SegmentMs::from_value(ms).ok()?,
            hash: SegmentHash::from_value(hash).ok()?,
        })
    }

    /// The sealed piece that a key names; none for anything else.
    pub fn parse_sealed(&self, key: &str) -> Option<SealedName> {
        let name = key.strip_prefix(&self.old_prefix())?;
        SealedName::from_text(name.strip_suffix(self.ending)?)
    }
}

impl SegmentName {
    pub fn new(ms: u64, hash: &str) -> Result<Self> {
        Ok(Self {
            ms: SegmentMs::new(ms)?,
            hash: SegmentHash::from_value(hash)?,
        })
    }
}

impl SealedName {
    pub fn new(first: u64, hash: &str) -> Result<Self> {
        Ok(Self {
            first: LineNumber::new(first)?,
            hash: SegmentHash::from_value(hash)?,
        })
    }

    /// As in the key, without the ending; also how metadata name sealed pieces.
    pub fn to_text(&self) -> String {
        format!("{}-{}", self.first.to_value(), self.hash.to_value())
    }

    pub fn from_text(text: &str) -> Option<Self> {
        let (first, hash) = text.split_once('-')?;
        Some(Self {
            first: LineNumber::from_value(first).ok()?,
            hash: SegmentHash::from_value(hash).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{System, place_of};

    const HASH: &str = "0123456789abcdef01234567";

    /// Each log's keys are places of its system's table.
    #[test]
    fn keys_are_places() -> Result<()> {
        let logs = [
            (
                System::Moltbot,
                LogKeys::messages(&Field::from_value("user_1")?, &Field::from_value("main")?),
            ),
            (
                System::Gsv,
                LogKeys::live_log(
                    &Field::from_value("hera")?,
                    &Field::from_value("0b5a4c9e-6f0d-4b7e-9f43-2a5a5c6d7e8f")?,
                ),
            ),
            (
                System::RunAgent,
                LogKeys::project_bus(&Field::from_value("proj")?),
            ),
            (
                System::RunAgent,
                LogKeys::task_bus(
                    &Field::from_value("proj")?,
                    &Field::from_value("task-20260220-0930001234-fix")?,
                ),
            ),
        ];
        for (system, log) in logs {
            let segment = SegmentName::new(1_700_000_000_000, HASH)?;
            let sealed = SealedName::new(64, HASH)?;
            place_of(system, log.head())?;
            let kind = place_of(system, &log.segment(&segment))?.kind;
            assert!(kind.contains("segment"), "{kind}");
            let kind = place_of(system, &log.sealed(&sealed))?.kind;
            assert!(kind.contains("sealed"), "{kind}");
            assert_eq!(log.parse_segment(&log.segment(&segment)), Some(segment));
            assert_eq!(log.parse_sealed(&log.sealed(&sealed)), Some(sealed));
            assert_eq!(log.parse_segment(log.head()), None);
        }
        Ok(())
    }
}
