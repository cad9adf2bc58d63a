//! The keys of one archive: where it lies, and where its pieces lie while it is made. Knows no format.

use super::field::{ArchiveName, Field, PieceName};
use super::gsv::{AgentId, EpochMs, Place, SessionId};
use crate::types::Result;

/// Where one archive and its pieces lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveKeys {
    archive: String,
    agent: AgentId,
    session: SessionId,
    name: ArchiveName,
}

impl ArchiveKeys {
    /// The archive of a session's reset.
    pub fn of_session(agent: &AgentId, session: &SessionId) -> Self {
        let (agent, session) = (agent.clone(), session.clone());
        Self {
            archive: Place::Archive {
                agent: agent.clone(),
                session: session.clone(),
            }
            .key(),
            agent,
            session,
            name: ArchiveName::whole(),
        }
    }

    /// The part that the compaction at `timestamp` removed from a session.
    pub fn of_part(agent: &AgentId, session: &SessionId, timestamp: &EpochMs) -> Result<Self> {
        let (agent, session, timestamp) = (agent.clone(), session.clone(), *timestamp);
        let name = ArchiveName::from_value(&format!("part{}", timestamp.to_value()))?;
        Ok(Self {
            archive: Place::ArchivePart {
                agent: agent.clone(),
                session: session.clone(),
                timestamp,
            }
            .key(),
            agent,
            session,
            name,
        })
    }

    pub fn archive(&self) -> &str {
        &self.archive
    }

    /// Piece `number`, counted from 0. `too-large` from 1,000,000 on.
    pub fn piece(&self, number: usize) -> Result<String> {
        self.piece_named(&format!("p{number:06}"))
    }

    /// The `number`th run of pieces that were joined, counted from 0.
    pub fn joined(&self, number: usize) -> Result<String> {
        self.piece_named(&format!("j{number:06}"))
    }

    /// Where all of them lie; the names sort as the numbers do.
    pub fn pieces_prefix(&self) -> Result<String> {
        let any = self.piece(0)?;
        let end = any.rfind('/').map_or(0, |slash| slash + 1);
        Ok(any.get(..end).unwrap_or_default().to_owned())
    }

    fn piece_named(&self, name: &str) -> Result<String> {
        Ok(Place::ArchivePiece {
            agent: self.agent.clone(),
            session: self.session.clone(),
            archive: self.name.clone(),
            piece: PieceName::from_value(name)?,
        }
        .key())
    }
}

/// Where the pieces of all archives of a session lie.
pub fn all_pieces_prefix(agent: &AgentId, session: &SessionId) -> String {
    format!("agents/{agent}/sessions/{session}/pieces/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{System, place_of};

    #[test]
    fn keys_are_places() -> Result<()> {
        let agent = AgentId::parse("hera")?;
        let session = SessionId::parse("0b5a4c9e-6f0d-4b7e-9f43-2a5a5c6d7e8f")?;
        let time = EpochMs::from_value("1700000000000")?;
        for keys in [
            ArchiveKeys::of_session(&agent, &session),
            ArchiveKeys::of_part(&agent, &session, &time)?,
        ] {
            for key in [keys.piece(7)?, keys.joined(0)?] {
                assert_eq!(place_of(System::Gsv, &key)?.kind, "archive-piece");
                assert!(key.starts_with(&keys.pieces_prefix()?));
            }
            assert!(keys.pieces_prefix()?.ends_with('/'));
            assert!(keys.piece(1_000_000).is_err());
        }
        Ok(())
    }
}
