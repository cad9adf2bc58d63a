//! Which section broke a model's prompt cache: two manifests side by side. Pure.

use serde::{Deserialize, Serialize};

use super::manifest::{Manifest, Section, Stability};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    Changed,
    Added,
    Removed,
}

/// The first section at which two prompts differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Difference {
    pub change: Change,
    pub index: u32,
    pub title: String,
    pub key: Option<String>,
    pub stability: Stability,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Comparison {
    pub same: bool,
    pub shared_bytes: u64,
    pub first: Option<Difference>,
}

/// Compare section by section; the first that differs ends what a cache can share.
pub fn compare(before: &Manifest, after: &Manifest) -> Comparison {
    let same = before
        .sections
        .iter()
        .zip(&after.sections)
        .take_while(|(old, new)| equal(old, new))
        .count();
    let shared_bytes = match same
        .checked_sub(1)
        .and_then(|last| after.sections.get(last))
    {
        Some(last) => last.offset_bytes.saturating_add(last.length_bytes),
        None => 0,
    };
    let first = difference(before, after, same);
    Comparison {
        same: first.is_none(),
        shared_bytes,
        first,
    }
}

fn equal(old: &Section, new: &Section) -> bool {
    old.hash == new.hash && old.offset_bytes == new.offset_bytes && old.title == new.title
}

fn difference(before: &Manifest, after: &Manifest, at: usize) -> Option<Difference> {
    let (old, new) = (before.sections.get(at), after.sections.get(at));
    let is_in = |section: &Section, others: &[Section]| {
        others
            .iter()
            .skip(at)
            .any(|other| other.title == section.title && other.key == section.key)
    };
    let (change, section, message) = match (old, new) {
        (None, None) => return None,
        (Some(old), Some(new)) if old.title == new.title && old.key == new.key => {
            (Change::Changed, new, changed(old, new))
        }
        // Something stands where another stood: which of the two is the news?
        (Some(old), Some(new)) if is_in(old, &after.sections) && !is_in(new, &before.sections) => (
            Change::Added,
            new,
            format!("is new, before {:?}", old.title),
        ),
        (Some(old), Some(new)) if is_in(old, &after.sections) => (
            Change::Added,
            new,
            format!("stands where {:?} stood: the order changed", old.title),
        ),
        (Some(old), _) => (Change::Removed, old, removed(old, after)),
        (None, Some(new)) => (Change::Added, new, "is new, at the end".to_owned()),
    };
    Some(Difference {
        change,
        index: u32::try_from(at).unwrap_or(u32::MAX),
        title: section.title.clone(),
        key: section.key.clone(),
        stability: section.stability,
        message: format!("{}{message}", of(section)),
    })
}

fn of(section: &Section) -> String {
    match &section.key {
        Some(key) => format!("{} ({key}) ", section.title),
        None => format!("{} ", section.title),
    }
}

fn changed(old: &Section, new: &Section) -> String {
    let sizes = if old.bytes_before == new.bytes_before {
        format!("changed, still {} bytes", new.bytes_before)
    } else {
        format!(
            "changed, from {} to {} bytes",
            old.bytes_before, new.bytes_before
        )
    };
    let cut = match (old.cuts.is_empty(), new.cuts.is_empty()) {
        (true, false) => "; it is cut now",
        (false, true) => "; it is no longer cut",
        _ => "",
    };
    let stability = match new.stability {
        Stability::Volatile => "; it is expected to change",
        Stability::Stable => "",
    };
    format!("{sizes}{cut}{stability}")
}

fn removed(old: &Section, after: &Manifest) -> String {
    match after.mode {
        super::manifest::Mode::Bootstrap if old.key.is_some() => {
            "is gone; the later prompt is a bootstrap prompt".to_owned()
        }
        _ if !after.main && old.title == "Long-Term Memory" => {
            "is gone; the later prompt is not for the main session".to_owned()
        }
        _ => "is gone".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::manifest::{Mode, hash};
    use crate::types::Home;

    fn manifest(sections: &[(&str, &str)]) -> Manifest {
        let mut offset_bytes = 0;
        let sections = sections
            .iter()
            .map(|(title, content)| {
                let length_bytes = content.len() as u64;
                let section = Section {
                    title: (*title).to_owned(),
                    key: None,
                    hash: hash(content.as_bytes()),
                    offset_bytes,
                    length_bytes,
                    bytes_before: length_bytes,
                    bytes_after: length_bytes,
                    tokens: 0,
                    stability: Stability::Stable,
                    cuts: Vec::new(),
                };
                offset_bytes += length_bytes + 7;
                section
            })
            .collect();
        Manifest {
            home: Home {
                system: "gsv".into(),
                id: "a".into(),
            },
            session_key: "agent:a:main".into(),
            main: true,
            mode: Mode::Normal,
            today: "2026-02-20".into(),
            yesterday: "2026-02-19".into(),
            policy: "none".into(),
            hash: String::new(),
            length_bytes: 0,
            tokens: 0,
            stable_bytes: 0,
            sections,
        }
    }

    fn verdict(before: &[(&str, &str)], after: &[(&str, &str)]) -> Option<(Change, u32, String)> {
        let comparison = compare(&manifest(before), &manifest(after));
        assert_eq!(comparison.same, comparison.first.is_none());
        comparison
            .first
            .map(|first| (first.change, first.index, first.title))
    }

    #[test]
    fn the_first_section_that_differs_is_named() {
        let abc = [("A", "a"), ("B", "b"), ("C", "c")];
        assert_eq!(verdict(&abc, &abc), None);
        assert_eq!(
            verdict(&abc, &[("A", "a"), ("B", "bb"), ("C", "x")]),
            Some((Change::Changed, 1, "B".into()))
        );
        assert_eq!(
            verdict(&abc, &[("A", "a"), ("N", "n"), ("B", "b"), ("C", "c")]),
            Some((Change::Added, 1, "N".into()))
        );
        assert_eq!(
            verdict(&abc, &[("A", "a"), ("C", "c")]),
            Some((Change::Removed, 1, "B".into()))
        );
        assert_eq!(
            verdict(&abc, &[("A", "a"), ("C", "c"), ("B", "b")]),
            Some((Change::Added, 1, "C".into()))
        );
        assert_eq!(
            verdict(&abc, &abc[..2]),
            Some((Change::Removed, 2, "C".into()))
        );
        assert_eq!(
            verdict(&abc[..2], &abc),
            Some((Change::Added, 2, "C".into()))
        );
        assert_eq!(verdict(&[], &[]), None);
    }

    #[test]
    fn shared_bytes_end_with_the_last_equal_section() {
        let comparison = compare(
            &manifest(&[("A", "aaa"), ("B", "b")]),
            &manifest(&[("A", "aaa"), ("B", "c")]),
        );
        assert_eq!(comparison.shared_bytes, 3);
    }
}
