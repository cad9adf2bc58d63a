//! An archive of any length in bounded memory (spec/protocols.md, "Archive of any length"): pieces are
//! compressed apart and staged, joined to one gzip member, read back, and only then is the staging
//! deleted. Stopped anywhere, the next call goes on behind the last piece. Knows no message.
//!
//! Deleting what was archived is the caller's, after [`Progress::Done`].

mod staging;
mod verify;

use staging::{Staged, joined_metadata};

use crate::format::gzip::{Checksum, Piece};
use crate::layout::archive::ArchiveKeys;
use crate::limits::{
    ARCHIVE_CONCAT_SOURCES_MAX, ARCHIVE_PIECE_RAW_BYTES_MAX, ARCHIVE_RUN_RAW_BYTES_MAX,
};
use crate::store::metadatum;
use crate::store::{Body, Condition, Metered, PutOptions, Source, StoreError, StoreResult};
use crate::types::{Error, Result};

/// What is to be archived: whole entries, in runs that begin where the one before ended.
pub trait RawSource {
    /// The run at `position`, which an earlier run gave; none is the beginning. The same position gives
    /// the same run, at most 4 MiB of it.
    fn run_at(&mut self, position: Option<&str>) -> Result<Run>;
}

/// Some entries to archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub raw: Vec<u8>,
    pub entries: u64,
    /// Where the next run begins, at most 512 bytes of ASCII; none when this was the last.
    pub next: Option<String>,
}

/// How much there is in an archive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub checksum: Checksum,
    pub entries: u64,
}

/// How an archive is to be.
pub struct Target<'a> {
    pub keys: &'a ArchiveKeys,
    pub content_type: &'a str,
    /// What the pieces are of: staged pieces with another origin are left from something else, and are
    /// written anew. At most 128 bytes of ASCII.
    pub origin: &'a str,
    /// The archive's metadata, once it is known how much is in it.
    pub metadata: &'a dyn Fn(&Totals) -> Vec<(String, String)>,
}

/// How far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// There is nothing to archive, and nothing was written.
    Nothing,
    /// So many pieces are staged; call again with the same arguments.
    More {
        pieces: usize,
    },
    Done(Archived),
}

/// An archive that lies in the store and was read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archived {
    pub key: String,
    pub totals: Totals,
    pub size_bytes: u64,
}

/// Archive what `source` gives, staging at most `pieces_max` pieces in this call.
///
/// Errors: `conflict` when an archive of other content lies there; those of the source and of the store.
/// Whatever the error, nothing that is archived was touched, and a repeat goes on.
pub fn archive(
    store: &Metered<'_>,
    target: &Target<'_>,
    source: &mut dyn RawSource,
    pieces_max: usize,
) -> Result<Progress> {
    let mut staged = Staged::load(store, target)?;
    if staged.pieces.is_empty() && store.head(target.keys.archive())?.is_some() {
        let archived = confirm(store, target, source)?;
        staging::delete_all(store, target.keys)?;
        return Ok(Progress::Done(archived));
    }
    let mut left = pieces_max.max(1);
    while !staged.is_whole() {
        if left == 0 {
            return Ok(Progress::More {
                pieces: staged.pieces.len(),
            });
        }
        left -= 1;
        let run = source.run_at(staged.position())?;
        if staged.pieces.is_empty() && run.raw.is_empty() && run.next.is_none() {
            return Ok(Progress::Nothing);
        }
        stage(store, target, &mut staged, run)?;
    }
    join(store, target, &staged)?;
    let archived = verify::read_back(store, target.keys.archive(), &staged.totals)?;
    staging::delete_all(store, target.keys)?;
    Ok(Progress::Done(archived))
}

/// Delete what is staged for an archive that is done with: a call that lost against another may leave pieces
/// behind, once the caller's own record says that there is nothing more to archive.
pub fn clear(store: &Metered<'_>, keys: &ArchiveKeys) -> Result<()> {
    staging::delete_all(store, keys)
}

/// An archive is there and nothing is staged: it is ours when the source says the same.
fn confirm(
    store: &Metered<'_>,
    target: &Target<'_>,
    source: &mut dyn RawSource,
) -> Result<Archived> {
    let mut totals = Totals::default();
    let mut position: Option<String> = None;
    loop {
        let run = source.run_at(position.as_deref())?;
        totals.checksum = totals.checksum.combine(Checksum::of(&run.raw));
        totals.entries += run.entries;
        match run.next {
            Some(next) => position = Some(next),
            None => break,
        }
    }
    verify::read_back(store, target.keys.archive(), &totals)
}

/// Compress a run and put it behind the last piece. A run that is larger, as of one long line, is compressed in
/// several pieces that lie in one object.
fn stage(store: &Metered<'_>, target: &Target<'_>, staged: &mut Staged, run: Run) -> Result<()> {
    if run.raw.len() > ARCHIVE_RUN_RAW_BYTES_MAX {
        return Err(Error::too_large(format!(
            "{}: a run of {} bytes to archive, over {ARCHIVE_RUN_RAW_BYTES_MAX}",
            target.keys.archive(),
            run.raw.len()
        ))
        .at(target.keys.archive()));
    }
    let mut totals = Totals {
        checksum: Checksum::default(),
        entries: run.entries,
    };
    let mut bytes = Vec::new();
    let mut rest = run.raw.as_slice();
    loop {
        let (raw, behind) = rest.split_at(rest.len().min(ARCHIVE_PIECE_RAW_BYTES_MAX));
        let is_first = staged.pieces.is_empty() && bytes.is_empty();
        rest = behind;
        let mut piece = Piece::of(raw)?;
        totals.checksum = totals.checksum.combine(piece.checksum);
        if is_first {
            piece = piece.opened();
        }
        if rest.is_empty() && run.next.is_none() {
            piece = piece.closed(staged.totals.checksum.combine(totals.checksum));
        }
        bytes.extend(piece.bytes);
        if rest.is_empty() {
            break;
        }
    }
    staged.add(store, target, bytes, totals, run.next)
}

/// Make one object of the pieces, in two steps where there are more than a concat takes.
fn join(store: &Metered<'_>, target: &Target<'_>, staged: &Staged) -> Result<()> {
    let archive = target.keys.archive();
    let mut sources = staged.pieces.clone();
    if sources.len() > ARCHIVE_CONCAT_SOURCES_MAX {
        let mut joined = Vec::new();
        for (number, part) in sources.chunks(ARCHIVE_CONCAT_SOURCES_MAX).enumerate() {
            let key = target.keys.joined(number)?;
            join_run(store, part, &key, archive, joined_metadata(target.origin))?;
            joined.push(key);
        }
        sources = joined;
    }
    let mut metadata = (target.metadata)(&staged.totals);
    metadata.extend(footings_metadatum(&staged.footings()));
    let options = PutOptions {
        condition: Condition::IfAbsent,
        content_type: Some(target.content_type.to_owned()),
        metadata,
    };
    let Err(error) = concat(store, &sources, archive, options) else {
        return Ok(());
    };
    // There already, or a piece is gone because another call has finished: what it holds is verified next.
    if error.is_unsure() && store.head(archive)?.is_some() {
        return Ok(());
    }
    Err(error.about(archive))
}

/// Where a reader may begin in the middle of an archive, as its metadata say it; none for one of a single piece.
const FOOTINGS: &str = "haversack-footings";

fn footings_metadatum(offsets_bytes: &[u64]) -> Option<(String, String)> {
    let texts: Vec<String> = offsets_bytes.iter().map(u64::to_string).collect();
    (!texts.is_empty()).then(|| (FOOTINGS.to_owned(), texts.join(",")))
}

/// Offsets in an archive behind which nothing looks back, ascending; empty where the metadata name none.
pub fn footings_of(metadata: &[(String, String)]) -> Vec<u64> {
    let text = metadatum(metadata, FOOTINGS).unwrap_or_default();
    let offsets = text.split(',').map(|offset| offset.parse().ok());
    offsets.collect::<Option<_>>().unwrap_or_default()
}

/// Join some pieces. One that was left from another origin is deleted first.
fn join_run(
    store: &Metered<'_>,
    pieces: &[String],
    to: &str,
    archive: &str,
    metadata: Vec<(String, String)>,
) -> Result<()> {
    let mut last = None;
    for _ in 0..JOIN_TRIES_MAX {
        let options = PutOptions {
            condition: Condition::IfAbsent,
            content_type: None,
            metadata: metadata.clone(),
        };
        let Err(error) = concat(store, pieces, to, options) else {
            return Ok(());
        };
        if !error.is_unsure() {
            return Err(error.about(to));
        }
        last = Some(error);
        let Some(there) = store.head(to)? else {
            if store.head(archive)?.is_some() {
                // Another call has finished, and deleted the pieces.
                return Ok(());
            }
            continue;
        };
        let is_ours = metadata
            .iter()
            .all(|(name, value)| metadatum(&there.metadata, name) == Some(value));
        if is_ours {
            return Ok(());
        }
        for answer in store.delete(vec![to.to_owned()])? {
            answer.map_err(|error| error.about(to))?;
        }
    }
    Err(StoreError::given_up(last, to))
}

fn concat(
    store: &Metered<'_>,
    sources: &[String],
    to: &str,
    options: PutOptions,
) -> StoreResult<String> {
    let from = sources.iter().map(|key| Source {
        key: key.clone(),
        if_match: None,
    });
    store.concat(from.collect(), to, options)
}

const JOIN_TRIES_MAX: usize = 8;

/// A piece's body.
fn body(bytes: Vec<u8>) -> Body {
    Body::Binary(bytes)
}
