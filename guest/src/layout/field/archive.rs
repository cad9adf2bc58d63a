//! Names of the pieces that an archive is made from before it is whole. Knows no system.

use super::{are_digits, text_field};

text_field!(
    /// Which of a session's archives is being made: the one of its reset, or the part of a compaction.
    ArchiveName,
    "archive name",
    "`archive`, or `part` and digits",
    |text| text == "archive"
        || text.strip_prefix("part").is_some_and(|digits| {
            (1..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
);

text_field!(
    /// A piece of an archive: `p` and its number, or `j` for several that were joined.
    PieceName,
    "piece name",
    "`p` or `j` and 6 digits",
    |text| text.strip_prefix(['p', 'j']).is_some_and(|digits| are_digits(digits, 6))
);

impl ArchiveName {
    /// The timestamp of a part; none of the session's own archive.
    pub fn part_ms(&self) -> Option<u64> {
        self.0.strip_prefix("part")?.parse().ok()
    }

    /// Of a session's reset.
    pub fn whole() -> Self {
        Self("archive".to_owned())
    }
}
