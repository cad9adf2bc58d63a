//! What the metadata of a head and of a sealed piece say. Knows no store.

use super::hash96;
use crate::layout::field::Field;
use crate::layout::log::{SealedName, SegmentName};
use crate::limits::LOG_PREVIOUS_MAX;
use crate::store::metadatum;
use crate::types::{Error, Result};

const FORMAT: &str = "log-format";
const FIRST: &str = "log-first";
const ENTRIES: &str = "log-entries";
const BATCHES: &str = "log-batches";
const PREVIOUS: &str = "log-previous";
const GONE: &str = "log-gone";

/// The number of this format; a higher one is refused.
const FORMAT_NUMBER: u64 = 1;

/// The metadata of a head that a fold wrote. A head without them comes from elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadMetadata {
    /// The number of its first entry.
    pub first: u64,
    /// Entries in it.
    pub entries: u64,
    /// Batches in it.
    pub batches: u64,
    /// The newest sealed pieces, newest first.
    pub previous: Vec<SealedName>,
    /// Hashes of the segments' names that the last fold took over.
    pub gone: Vec<String>,
}

impl HeadMetadata {
    /// None where there is no format number; an error where it is too high or something is broken.
    pub fn parse(key: &str, metadata: &[(String, String)]) -> Result<Option<Self>> {
        let find = |wanted: &str| metadatum(metadata, wanted);
        let broken = |name: &str| {
            Error::invalid(format!(
                "{key}: its metadata {name:?} cannot be read; a program that does not know the log changed them"
            ))
            .at(key)
        };
        let number = |name: &str| -> Result<u64> {
            let text = find(name).ok_or_else(|| broken(name))?;
            text.parse().map_err(|_| broken(name))
        };
        if find(FORMAT).is_none() {
            return Ok(None);
        }
        let format = number(FORMAT)?;
        if format > FORMAT_NUMBER {
            return Err(Error::unsupported(format!(
                "{key} has log format {format}, and this version knows up to {FORMAT_NUMBER}; use a newer haversack"
            ))
            .at(key));
        }
        let names = find(PREVIOUS).unwrap_or_default().split_whitespace();
        let previous = names
            .map(|name| SealedName::from_text(name).ok_or_else(|| broken(PREVIOUS)))
            .collect::<Result<_>>()?;
        let gone = find(GONE).unwrap_or_default().split_whitespace();
        Ok(Some(Self {
            first: number(FIRST)?,
            entries: number(ENTRIES)?,
            batches: number(BATCHES)?,
            previous,
            gone: gone.map(str::to_owned).collect(),
        }))
    }

    pub fn to_metadata(&self) -> Vec<(String, String)> {
        let previous: Vec<_> = self.previous.iter().map(SealedName::to_text).collect();
        [
            (FORMAT, FORMAT_NUMBER.to_string()),
            (FIRST, self.first.to_string()),
            (ENTRIES, self.entries.to_string()),
            (BATCHES, self.batches.to_string()),
            (PREVIOUS, previous.join(" ")),
            (GONE, self.gone.join(" ")),
        ]
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
    }

    /// The names that a head has after `sealed` was sealed.
    pub fn previous_with(&self, sealed: SealedName) -> Vec<SealedName> {
        let mut previous = vec![sealed];
        previous.extend(self.previous.iter().cloned());
        previous.truncate(LOG_PREVIOUS_MAX);
        previous
    }

    /// Whether the last fold took this segment over.
    pub fn is_gone(&self, segment: &SegmentName, size_bytes: u64) -> bool {
        let hash = gone_hash(segment, size_bytes);
        self.gone.contains(&hash)
    }
}

/// How `gone` names a segment: the whole name counts, because a repeat under another time has other bytes,
/// and the size, so that an id which is used again for other content is not taken for folded. Of the same
/// size it is: an append of other content under used ids is the caller's error.
pub fn gone_hash(segment: &SegmentName, size_bytes: u64) -> String {
    let (ms, hash) = (segment.ms.to_value(), segment.hash.to_value());
    hash96(&[ms.as_bytes(), hash.as_bytes(), &size_bytes.to_be_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::LOG_BATCH_SEGMENTS_MAX;

    #[test]
    fn the_fullest_metadata_fit() -> Result<()> {
        let hash = "f".repeat(24);
        let full = HeadMetadata {
            first: 999_999_999_999,
            entries: 999_999_999_999,
            batches: 99,
            previous: vec![SealedName::new(999_999_999_999, &hash)?; LOG_PREVIOUS_MAX],
            gone: vec![gone_hash(&SegmentName::new(1, &hash)?, 1); LOG_BATCH_SEGMENTS_MAX],
        };
        let metadata = full.to_metadata();
        let bytes: usize = metadata.iter().map(|(n, v)| n.len() + v.len()).sum();
        assert!(bytes < 2_048, "{bytes}");
        assert_eq!(HeadMetadata::parse("h", &metadata)?, Some(full));
        Ok(())
    }

    #[test]
    fn metadata_of_others_and_of_the_future() -> Result<()> {
        assert_eq!(HeadMetadata::parse("h", &[])?, None);
        let newer = [(FORMAT.to_owned(), "2".to_owned())];
        assert!(HeadMetadata::parse("h", &newer).is_err());
        let broken = [(FORMAT.to_owned(), "1".to_owned())];
        assert!(HeadMetadata::parse("h", &broken).is_err());
        Ok(())
    }
}
