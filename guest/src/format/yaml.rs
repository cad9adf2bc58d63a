//! YAML as run-agent's files have it: reading a file that is one mapping, and printing single values so that every
//! reader takes them for what they are. Knows no field.

use super::front_matter::{self, Block, Finding, Node, ScalarKind, Value, json_of};

/// The mapping that a file is, its entries in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Mapping {
    /// None when it cannot be read; a finding says why.
    pub entries: Option<Vec<(String, Node)>>,
    pub findings: Vec<Finding>,
}

impl Mapping {
    /// A file of YAML alone, or with lines `---` around it. Lines count from 1, in the file.
    pub fn of_file(text: &str) -> Self {
        let is_block = front_matter::split(text).head.len() > text.starts_with('\u{feff}').into();
        match is_block {
            true => Self::of_block(text, 0),
            false => Self::of_bare(text.trim_start_matches('\u{feff}')),
        }
    }

    /// What stands between two lines `---`.
    pub fn of_bare(yaml: &str) -> Self {
        let end = if yaml.ends_with('\n') { "" } else { "\n" };
        Self::of_block(&format!("---\n{yaml}{end}---\n"), 1)
    }

    fn of_block(text: &str, lines_before: u32) -> Self {
        let read = front_matter::parse(text);
        let mut findings = read.findings;
        for finding in &mut findings {
            finding.line = finding.line.map(|line| line.saturating_sub(lines_before));
            finding.message = finding.message.replacen("the front matter", "the YAML", 1);
        }
        let entries = match read.block {
            Block::Read(mut entries) => {
                for (_, node) in &mut entries {
                    lift(node, lines_before);
                }
                Some(entries)
            }
            Block::Absent | Block::Unreadable => None,
        };
        Self { entries, findings }
    }

    pub fn get(&self, name: &str) -> Option<&Node> {
        let entries = self.entries.as_ref()?;
        entries
            .iter()
            .find(|(there, _)| there == name)
            .map(|(_, node)| node)
    }

    /// A value as text; none where it is missing, empty or no scalar.
    pub fn text(&self, name: &str) -> Option<String> {
        text_of(self.get(name)?)
    }
}

/// A node and what is in it, so many lines further up; the reader bounds how deep that goes.
fn lift(node: &mut Node, lines: u32) {
    node.line = node.line.saturating_sub(lines);
    match &mut node.value {
        Value::Scalar { .. } => {}
        Value::List(items) => items.iter_mut().for_each(|item| lift(item, lines)),
        Value::Map(entries) => entries.iter_mut().for_each(|(_, item)| lift(item, lines)),
    }
}

/// A scalar as it is written, unless it is empty.
pub fn text_of(node: &Node) -> Option<String> {
    match &node.value {
        Value::Scalar {
            kind: ScalarKind::Null,
            ..
        } => None,
        Value::Scalar { text, .. } => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::List(_) | Value::Map(_) => None,
    }
}

/// A scalar as it is written, anything else as JSON.
pub fn shown(node: &Node) -> String {
    match &node.value {
        Value::Scalar { text, .. } => text.clone(),
        Value::List(_) | Value::Map(_) => json_of(node),
    }
}

/// Words that some reader takes for something else than text.
const RESERVED: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// Text as a value on one line: bare where no reader can mistake it, else in double quotes.
pub fn scalar(text: &str) -> String {
    let fine = |c: char| c.is_ascii_alphanumeric() || " _./@+-=,()".contains(c);
    let lower = text.to_ascii_lowercase();
    let is_bare = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && !text.ends_with(' ')
        && text.chars().all(fine)
        && !RESERVED.contains(&lower.as_str());
    if is_bare {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if needs_escape(c) && u32::from(c) > 0xffff => {
                quoted.push_str(&format!("\\U{:08X}", u32::from(c)));
            }
            c if needs_escape(c) => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Controls, line ends of Unicode, what has no width or turns text, and the byte order mark.
fn needs_escape(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
                | '\u{fffe}' | '\u{ffff}'
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_reader_could_mistake_is_quoted() {
        for bare in ["agent", "/srv/proj", "MSG-1", "a b", "x=1"] {
            assert_eq!(scalar(bare), bare);
        }
        for text in [
            "",
            "true",
            "No",
            "null",
            "7",
            "1e5",
            "0x1F",
            "2026-02-20",
            "12:30",
            "a: b",
            "a #b",
            "- a",
            "&a",
            "*a",
            "!a",
            "a ",
            " a",
            "---",
            "'a'",
            "a\nb",
            "\u{feff}a",
            "[a",
            "{a",
            "%a",
            "`a",
            "é",
            "\u{85}",
            "a\\b",
            "\"",
        ] {
            let printed = scalar(text);
            assert!(
                printed.starts_with('"') && !printed.contains('\n'),
                "{printed}"
            );
        }
    }

    #[test]
    fn a_file_with_and_without_separators() {
        for text in [
            "a: 1\nb: x\n",
            "a: 1\nb: x",
            "---\na: 1\nb: x\n---\n# About\n",
            "\u{feff}a: 1\r\nb: x\r\n",
            "\u{feff}---\na: 1\nb: x\n---\n",
        ] {
            let read = Mapping::of_file(text);
            assert_eq!(read.text("a").as_deref(), Some("1"), "{text:?} {read:?}");
            assert_eq!(read.text("b").as_deref(), Some("x"), "{text:?}");
        }
        let broken = Mapping::of_file("a: 1\nb: [\n");
        assert_eq!(broken.entries, None);
        assert_eq!(
            broken.findings.first().and_then(|finding| finding.line),
            Some(2)
        );
        let read = Mapping::of_file("a: 1\nb: x\n");
        assert_eq!(read.get("b").map(|node| node.line), Some(2));
    }

    proptest! {
        #[test]
        fn every_text_reads_back(text in "\\PC{0,40}|[\\x00-\\x7f]{0,20}|[\u{80}-\u{2fff}]{0,10}") {
            // The reader takes no NUL anywhere.
            let text = text.replace('\0', "");
            let read = Mapping::of_bare(&format!("a: {}\n", scalar(&text)));
            let value = read.get("a").map(shown);
            prop_assert_eq!(value, Some(text));
        }
    }
}
