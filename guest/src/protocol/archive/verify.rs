//! Reading an archive back, by ranges, and comparing what it holds with what it should.

use super::{Archived, Totals};
use crate::format::gzip::Decoder;
use crate::format::jsonl::count_ends;
use crate::limits::{ARCHIVE_READ_BYTES, ARCHIVE_STEP_RAW_BYTES};
use crate::store::{BodyKind, GetRequest, Metered, Range};
use crate::types::{Error, ErrorCode, Result};

/// Read the whole archive. `conflict` when it holds something else than `expected`, or is damaged; nothing
/// that was archived may be deleted then.
pub fn read_back(store: &Metered<'_>, key: &str, expected: &Totals) -> Result<Archived> {
    let mut decoder = Decoder::new();
    let mut raw = vec![0; ARCHIVE_STEP_RAW_BYTES];
    let mut found = Totals::default();
    let mut last = b'\n';
    let mut offset = 0;
    let size_bytes = loop {
        let request = GetRequest {
            key: key.to_owned(),
            range: Range::Span {
                start_bytes: offset,
                length_bytes: ARCHIVE_READ_BYTES,
            },
            kind: BodyKind::Binary,
        };
        let Some(blob) = store.get(request)? else {
            return Err(differs(key, "it is gone"));
        };
        let bytes = blob.body.as_bytes();
        let mut rest = bytes;
        loop {
            let progress = decoder.feed(rest, &mut raw);
            let written = raw.get(..progress.written_bytes).unwrap_or_default();
            found.entries += count_ends(written);
            last = written.last().copied().unwrap_or(last);
            rest = rest.get(progress.consumed_bytes..).unwrap_or_default();
            if rest.is_empty() && progress.written_bytes < raw.len() {
                break;
            }
        }
        offset += bytes.len() as u64;
        if bytes.is_empty() || offset >= blob.stat.size_bytes {
            break blob.stat.size_bytes;
        }
    };
    if last != b'\n' {
        found.entries += 1;
    }
    let summary = decoder.finish();
    if let Some(damage) = summary.damage {
        return Err(differs(key, &format!("{damage}")));
    }
    found.checksum = summary.checksum;
    if found != *expected {
        let message = format!(
            "it holds {} entries and {} bytes, and {} entries and {} bytes are to be archived",
            found.entries, found.checksum.raw_bytes, expected.entries, expected.checksum.raw_bytes
        );
        return Err(differs(key, &message));
    }
    Ok(Archived {
        key: key.to_owned(),
        totals: found,
        size_bytes,
    })
}

fn differs(key: &str, what: &str) -> Error {
    Error::new(
        ErrorCode::Conflict,
        format!(
            "the archive {key} is not what was archived: {what}; nothing was deleted: move that object away if \
             it is not wanted, and call again"
        ),
    )
    .at(key)
}
