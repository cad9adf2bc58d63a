//! What new media are called, and what stands in a message in their place. Touches no store.

use sha2::{Digest, Sha256};

use super::{
    Item, Origin, PlanAnswer, PlanMessageAnswer, Planned, PlannedBlock, Size, check_bytes,
};
use crate::format::message::{MediaKind, MediaSource, media_blocks, with_replaced};
use crate::layout::gsv::{EpochMs, MediaExtension, MediaId, Place, SessionKey};
use crate::limits::{
    MEDIA_FILENAME_BYTES_MAX, MEDIA_ITEMS_MAX, MEDIA_MIME_CHARACTERS_MAX, MEDIA_SEED_BYTES_MAX,
    MEDIA_SEED_BYTES_MIN,
};
use crate::transform::media::{
    Base64Length, check_size, decoded_bytes, extension, kind, replacement_block,
};
use crate::types::{Error, Problem, ProblemKind, Result};

/// What a type that says nothing is stored as.
const UNKNOWN_MIME_TYPE: &str = "application/octet-stream";

pub fn attachments(origin: &Origin, items: &[Item]) -> Result<PlanAnswer> {
    let mut planner = Planner::new(origin, "attachment")?;
    check_count("attachments", items.len())?;
    let mut planned = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let what = match item.filename.as_str() {
            "" => format!("attachment {index}"),
            name => name.to_owned(),
        };
        let size_bytes = match item.size {
            Size::Bytes(bytes) => bytes,
            Size::Base64(length) => decoded_bytes(
                &what,
                Base64Length {
                    characters: length.characters,
                    padding: u64::from(length.padding),
                },
            )?,
        };
        let kind = item.kind.map(MediaKind::from);
        planned.push(planner.plan(
            index,
            &what,
            &item.mime_type,
            size_bytes,
            kind,
            &item.filename,
        )?);
    }
    Ok(PlanAnswer {
        items: planned,
        problems: planner.problems,
    })
}

pub fn message(origin: &Origin, line: &str) -> Result<PlanMessageAnswer> {
    let mut planner = Planner::new(origin, "block")?;
    check_bytes("the message", [&line.to_owned()])?;
    let found = media_blocks(line)
        .map_err(|fault| Error::invalid(format!("the message cannot be read: {fault}")))?;
    let mut blocks = Vec::new();
    let mut replacements = Vec::new();
    for block in found {
        let MediaSource::Inline(base64) = block.media.source else {
            continue;
        };
        let length = Base64Length::of_stand_in(base64).unwrap_or_else(|| Base64Length::of(base64));
        let what = format!("block {} of the message", block.index);
        let size_bytes = decoded_bytes(&what, length)?;
        let mime_type = block.media.mime_type.as_deref().unwrap_or_default();
        let kind = Some(block.media.kind);
        let planned = planner.plan(block.index, &what, mime_type, size_bytes, kind, "")?;
        replacements.push((block.place, planned.block.clone()));
        blocks.push(PlannedBlock {
            content_index: u32::try_from(block.index).unwrap_or(u32::MAX),
            planned,
        });
    }
    check_count("blocks with base64", blocks.len())?;
    Ok(PlanMessageAnswer {
        message: with_replaced(line, &replacements),
        blocks,
        problems: planner.problems,
    })
}

fn check_count(what: &str, count: usize) -> Result<()> {
    if count <= MEDIA_ITEMS_MAX {
        return Ok(());
    }
    Err(Error::too_large(format!(
        "{count} {what}, over {MEDIA_ITEMS_MAX} in one call; plan them in several, each with a seed of its own"
    )))
}

/// Names media of one call.
struct Planner<'a> {
    session: SessionKey,
    seed: &'a str,
    /// What of: an attachment and a block of the same seed get different names.
    source: &'static str,
    uploaded_at_ms: EpochMs,
    problems: Vec<Problem>,
}

impl<'a> Planner<'a> {
    fn new(origin: &'a Origin, source: &'static str) -> Result<Self> {
        let session = origin.session.key()?;
        let bytes = origin.seed.len();
        if !(MEDIA_SEED_BYTES_MIN..=MEDIA_SEED_BYTES_MAX).contains(&bytes) {
            return Err(Error::invalid(format!(
                "the seed has {bytes} bytes; it must have {MEDIA_SEED_BYTES_MIN} to {MEDIA_SEED_BYTES_MAX}, drawn \
                 at random for each new call"
            )));
        }
        Ok(Self {
            session,
            seed: &origin.seed,
            source,
            uploaded_at_ms: EpochMs::new(origin.uploaded_at_ms)?,
            problems: Vec::new(),
        })
    }

    fn plan(
        &mut self,
        index: usize,
        what: &str,
        mime_type: &str,
        size_bytes: u64,
        kind_of_block: Option<MediaKind>,
        filename: &str,
    ) -> Result<Planned> {
        check_size(what, size_bytes)?;
        let mime_type = checked_mime_type(what, mime_type)?;
        let key = Place::Media {
            session: self.session.clone(),
            id: self.id(index, mime_type, size_bytes)?,
            extension: MediaExtension::parse(extension(mime_type))?,
        }
        .key();
        let kind = kind_of_block.unwrap_or_else(|| kind(mime_type));
        let metadata = [
            ("originalFilename", self.stored_name(&key, filename)),
            ("uploadedAt", self.uploaded_at_ms.get().to_string()),
            ("sessionKey", self.session.as_str().to_owned()),
        ];
        Ok(Planned {
            content_type: mime_type.to_owned(),
            metadata: metadata
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            size_bytes,
            kind: kind.into(),
            block: replacement_block(kind, &key, mime_type),
            key,
        })
    }

    /// The same for a repeat. Type and size go in as well, so that a seed that was used twice by mistake
    /// does not soon put two images under one name.
    fn id(&self, index: usize, mime_type: &str, size_bytes: u64) -> Result<MediaId> {
        let mut hasher = Sha256::new();
        let numbers = format!("{index} {size_bytes}");
        let parts = [
            self.seed,
            self.source,
            self.session.as_str(),
            &numbers,
            mime_type,
        ];
        for part in parts {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        let digest: [u8; 32] = hasher.finalize().into();
        let mut bytes = [0; 16];
        bytes
            .iter_mut()
            .zip(digest)
            .for_each(|(to, from)| *to = from);
        let id = uuid::Builder::from_random_bytes(bytes).into_uuid();
        MediaId::parse(&id.to_string())
    }

    /// A file name as metadata take it, and what was done to it.
    fn stored_name(&mut self, key: &str, filename: &str) -> String {
        let printable: String = filename
            .chars()
            .map(|c| if c.is_control() { '_' } else { c })
            .collect();
        let end = printable.floor_char_boundary(MEDIA_FILENAME_BYTES_MAX);
        let stored = printable.get(..end).unwrap_or_default();
        if stored != filename {
            let message = format!(
                "the file name, {} bytes, is stored as {} bytes: control characters are `_`, and what is over \
                 {MEDIA_FILENAME_BYTES_MAX} bytes is cut",
                filename.len(),
                stored.len()
            );
            let problem = Problem::new(ProblemKind::Repaired, key, message);
            self.problems.push(problem);
        }
        stored.to_owned()
    }
}

/// It becomes a header, so it has to be one.
fn checked_mime_type<'t>(what: &str, mime_type: &'t str) -> Result<&'t str> {
    if mime_type.trim().is_empty() {
        return Ok(UNKNOWN_MIME_TYPE);
    }
    let printable = mime_type.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if !printable || mime_type.len() > MEDIA_MIME_CHARACTERS_MAX {
        return Err(Error::invalid(format!(
            "{what}: its MIME type has {} bytes; it must be at most {MEDIA_MIME_CHARACTERS_MAX} characters of \
             printable ASCII, such as image/png",
            mime_type.len()
        )));
    }
    Ok(mime_type)
}
