//! Field types of run-agent (spec/run-agent.md, "Names"): what readers take; [`ProjectId::is_canonical`]
//! and the like say what writers may make. Knows no template.

use super::time::{Date, is_compact_date, is_compact_time};
use super::{Field, are_digits, text_field};
use crate::layout::key;
use crate::limits::{NOW_MS_MAX, SEGMENT_BYTES_MAX};
use crate::types::{Error, Result};

text_field!(
    /// A run-agent project: a directory below the root.
    ProjectId,
    "project id",
    "a Java identifier (a letter, `_` or `$`, then digits, too; Unicode letters allowed; no reserved word) \
     or, for existing directories, kebab-case; at most 255 bytes",
    |text| text.len() <= SEGMENT_BYTES_MAX && (is_java_identifier(text) || is_kebab_case(text))
);

impl ProjectId {
    /// Whether it is a Java identifier, as a new project's has to be.
    pub fn is_canonical(&self) -> bool {
        is_java_identifier(self.as_str())
    }
}

/// Java's reserved words and literals; `_` is one since Java 9.
const RESERVED_WORDS: [&str; 54] = [
    "_",
    "abstract",
    "assert",
    "boolean",
    "break",
    "byte",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extends",
    "false",
    "final",
    "finally",
    "float",
    "for",
    "goto",
    "if",
    "implements",
    "import",
    "instanceof",
    "int",
    "interface",
    "long",
    "native",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "short",
    "static",
    "strictfp",
    "super",
    "switch",
    "synchronized",
    "this",
    "throw",
    "throws",
    "transient",
    "true",
    "try",
    "void",
    "volatile",
    "while",
];

fn is_java_identifier(text: &str) -> bool {
    let is_start = |c: char| c.is_alphabetic() || c == '_' || c == '$';
    text.starts_with(is_start)
        && text.chars().all(|c| is_start(c) || c.is_ascii_digit())
        && !RESERVED_WORDS.contains(&text)
}

/// Two or more words of lower-case letters and digits; one word has to be an identifier.
fn is_kebab_case(text: &str) -> bool {
    text.contains('-')
        && text.split('-').all(|word| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
}

text_field!(
    /// When something was made and by which process; a colliding one carries a sequence number.
    Timestamp,
    "timestamp",
    "YYYYMMDD-HHMMSSMMMM-PID in UTC; readers also take 3 or 0 digits of fraction, -SEQ behind, none of \
     -PID, and run_ in front",
    |text| stamp_parts(text).is_some()
);

text_field!(
    /// A run: a timestamp with its process.
    RunId,
    "run id",
    "YYYYMMDD-HHMMSSMMMM-PID in UTC; readers also take 3 or 0 digits of fraction, -SEQ behind and run_ in \
     front",
    |text| stamp_parts(text).is_some_and(|parts| parts.numbers > 0)
);

impl Timestamp {
    /// Of a moment and a process; `ns` are the nanoseconds behind the millisecond. None after the year 9999.
    pub fn at(at_ms: u64, ns: u32, pid: u32) -> Option<Self> {
        let date = Date::at(at_ms, 0).filter(|_| at_ms <= NOW_MS_MAX)?;
        let second = at_ms / 1_000 % 86_400;
        let fraction = at_ms % 1_000 * 10 + u64::from(ns / 100_000);
        Some(Self(format!(
            "{}-{:02}{:02}{:02}{fraction:04}-{pid}",
            date.to_value().replace('-', ""),
            second / 3_600,
            second / 60 % 60,
            second % 60
        )))
    }

    /// The same for the `number`th that would have this one: from the second on with a number behind it.
    pub fn numbered(&self, number: u32) -> String {
        match number {
            0 | 1 => self.0.clone(),
            number => format!("{}-{number}", self.0),
        }
    }

    /// Whether it is in the form that writers use.
    pub fn is_canonical(&self) -> bool {
        is_canonical_stamp(self.as_str())
    }
}

impl RunId {
    /// By which runs are ordered in time, whatever form their ids have.
    pub fn age(&self) -> (String, u64, u64) {
        let bare = self.0.strip_prefix("run_").unwrap_or(&self.0);
        let mut parts = bare.split('-');
        let (date, time) = (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        let mut number = || {
            parts
                .next()
                .and_then(|part| part.parse().ok())
                .unwrap_or_default()
        };
        // The number of one of several with the same id comes last; the process says nothing.
        let (process, sequence) = (number(), number());
        (format!("{date}{time:0<10}"), sequence, process)
    }

    /// Whether it is in the form that writers use.
    pub fn is_canonical(&self) -> bool {
        is_canonical_stamp(self.as_str())
    }
}

struct StampParts {
    prefixed: bool,
    fraction_digits: usize,
    /// How many of process and sequence are there.
    numbers: usize,
}

fn stamp_parts(text: &str) -> Option<StampParts> {
    let bare = text.strip_prefix("run_");
    let mut parts = bare.unwrap_or(text).split('-');
    let (date, time) = (parts.next()?, parts.next()?);
    let (clock, fraction) = time.split_at_checked(6)?;
    let fraction_fits = matches!(fraction.len(), 0 | 3 | 4) && are_digits(fraction, fraction.len());
    let mut numbers = 0;
    for number in parts {
        let is_number = (1..=20).contains(&number.len()) && are_digits(number, number.len());
        if !is_number || numbers == 2 {
            return None;
        }
        numbers += 1;
    }
    (is_compact_date(date) && is_compact_time(clock) && fraction_fits).then_some(StampParts {
        prefixed: bare.is_some(),
        fraction_digits: fraction.len(),
        numbers,
    })
}

fn is_canonical_stamp(text: &str) -> bool {
    stamp_parts(text)
        .is_some_and(|parts| !parts.prefixed && parts.fraction_digits == 4 && parts.numbers == 1)
}

text_field!(
    /// A task's folder, `task-{timestamp}-{slug}`, as it is on disk.
    TaskId,
    "task id",
    "task-{timestamp}-{slug}: YYYYMMDD-HHMMSSMMMM-PID in UTC (readers also take shorter ones), then a slug \
     that begins with a letter, at most 255 bytes",
    |text| split_task(text).is_some()
);

impl TaskId {
    /// The folder of a new task. Refuses a timestamp in a form for readers only.
    pub fn new(timestamp: &Timestamp, slug: &TaskSlug) -> Result<Self> {
        if !timestamp.is_canonical() {
            return Err(Error::invalid(format!(
                "timestamp {timestamp}: a new task's is YYYYMMDD-HHMMSSMMMM-PID in UTC"
            )));
        }
        Self::parse(&format!("task-{timestamp}-{slug}"))
    }

    /// Its timestamp, in whichever form it has.
    pub fn timestamp(&self) -> &str {
        split_task(self.as_str()).map_or("", |(timestamp, _)| timestamp)
    }

    /// Its slug, as it is: an old one may break the rule of [`TaskSlug`].
    pub fn slug(&self) -> &str {
        split_task(self.as_str()).map_or("", |(_, slug)| slug)
    }
}

/// A slug begins with a letter and a timestamp has none, so the first `-` before a letter parts them.
fn split_task(text: &str) -> Option<(&str, &str)> {
    if key::broken_segment_rule(text).is_some() {
        return None;
    }
    let rest = text.strip_prefix("task-")?;
    rest.match_indices('-').find_map(|(at, _)| {
        let (timestamp, slug) = (rest.get(..at)?, rest.get(at + 1..)?);
        let fits = slug.starts_with(char::is_alphabetic) && stamp_parts(timestamp).is_some();
        fits.then_some((timestamp, slug))
    })
}

text_field!(
    /// The slug of a new task.
    TaskSlug,
    "task slug",
    "3 to 48 of a-z 0-9 -, the first a letter, no hyphen doubled or at the end",
    |text| (3..=48).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.split('-').all(|word| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
);

text_field!(
    /// The name in `FACT-{timestamp}-{name}.md`.
    FactName,
    "fact name",
    "one segment of a key that begins with a letter, so that it ends the timestamp before it",
    |text| text.starts_with(char::is_alphabetic) && key::broken_segment_rule(text).is_none()
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_are_java_identifiers_or_old_kebab_case() {
        for (text, canonical) in [
            ("proj", true),
            ("_x1", true),
            ("$", true),
            ("проект2", true),
            ("été", true),
            ("var", true),
            ("my-proj", false),
            ("2-fast", false),
        ] {
            assert_eq!(
                ProjectId::parse(text).unwrap().is_canonical(),
                canonical,
                "{text}"
            );
        }
        for text in [
            "", "1a", "class", "true", "_", "a b", "a.b", "My-Proj", "a--b", "-a", "²", "a²",
        ] {
            let error = ProjectId::parse(text).unwrap_err();
            assert!(
                error.message.contains("Java identifier"),
                "{}",
                error.message
            );
        }
        assert!(ProjectId::parse(&"x".repeat(255)).is_ok());
        assert!(ProjectId::parse(&"x".repeat(256)).is_err());
    }

    #[test]
    fn runs_in_every_form_that_readers_take() {
        for (text, canonical) in [
            ("20260220-0930001234-4711", true),
            ("20260220-0930001234-4711-2", false),
            ("20260220-093000123-4711", false),
            ("20260220-093000-4711", false),
            ("run_20260220-093000123-4711", false),
        ] {
            assert_eq!(
                RunId::parse(text).unwrap().is_canonical(),
                canonical,
                "{text}"
            );
        }
        for text in [
            "20260220-093000",
            "20260230-093000-1",
            "20260220-243000-1",
            "20260220-09300012-1",
            "20260220-093000-1-2-3",
            "20260220-093000-",
            "20260220-093000-x",
            "run_",
            "",
            "é",
            "20260220-09300é-1",
        ] {
            let error = RunId::parse(text).unwrap_err();
            assert!(
                error.message.contains("YYYYMMDD-HHMMSSMMMM-PID"),
                "{}",
                error.message
            );
        }
    }

    #[test]
    fn stamps_of_a_moment_are_canonical() {
        let stamp = Timestamp::at(1_771_579_800_123, 456_789, 42).unwrap();
        assert_eq!(stamp.as_str(), "20260220-0930001234-42");
        assert!(stamp.is_canonical());
        assert_eq!(stamp.numbered(1), stamp.as_str());
        assert!(RunId::parse(&stamp.numbered(2)).is_ok());
        assert!(Timestamp::at(NOW_MS_MAX, 999_999, 0).is_some());
        assert!(Timestamp::at(NOW_MS_MAX + 1, 0, 0).is_none());
    }

    #[test]
    fn runs_in_every_form_are_ordered_in_time() {
        let order = [
            "20260220-093000-9",
            "run_20260220-093000123-4",
            "20260220-0930001234-7",
            "20260220-0930001234-3-2",
            "20260220-0930001234-3-10",
            "20260221-000000-1",
        ];
        let ages: Vec<_> = order
            .iter()
            .map(|id| RunId::parse(id).unwrap().age())
            .collect();
        assert!(ages.is_sorted(), "{ages:?}");
    }

    #[test]
    fn tasks_keep_their_raw_folder_name() {
        for (text, timestamp, slug) in [
            (
                "task-20260220-0930001234-42-fix-bug",
                "20260220-0930001234-42",
                "fix-bug",
            ),
            ("task-20260220-093000-fix-bug", "20260220-093000", "fix-bug"),
            ("task-20260220-093000-42-7-X", "20260220-093000-42-7", "X"),
            ("task-20260220-093000-fix-2-b", "20260220-093000", "fix-2-b"),
        ] {
            let task = TaskId::parse(text).unwrap();
            assert_eq!((task.timestamp(), task.slug()), (timestamp, slug));
        }
        for text in [
            "task-20260220-093000",
            "task-x",
            "task-20260220-093000-",
            "TASK-20260220-093000-x",
        ] {
            assert!(TaskId::parse(text).is_err(), "{text}");
        }
        let stamp = Timestamp::parse("20260220-0930001234-42").unwrap();
        let slug = TaskSlug::parse("fix-bug").unwrap();
        assert_eq!(
            TaskId::new(&stamp, &slug).unwrap().as_str(),
            "task-20260220-0930001234-42-fix-bug"
        );
        let old = Timestamp::parse("20260220-093000").unwrap();
        assert!(TaskId::new(&old, &slug).is_err());
    }

    #[test]
    fn slugs_obey_their_rule() {
        for text in ["fix", "fix-bug-2", &"a".repeat(48)] {
            TaskSlug::parse(text).unwrap();
        }
        for text in [
            "",
            "ab",
            "2fix",
            "Fix",
            "fix-",
            "fix--bug",
            "fíx",
            &"a".repeat(49),
        ] {
            assert!(TaskSlug::parse(text).is_err(), "{text}");
        }
    }
}
