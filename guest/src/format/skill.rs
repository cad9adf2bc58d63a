//! A skill's file: what its front matter says of it, or why that cannot be told. Knows no store, no
//! key, and no rule of who may see a skill.

mod first_paragraph;
mod metadata;
mod requirements;
mod tools;

pub use requirements::{Field, InvalidRequirement, Requirements, unknown_value};

use super::front_matter::{self, Block, Finding, Node, ScalarKind, Value};
use crate::types::ProblemKind;

/// What a skill's file says of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillHeader {
    /// None: it goes by its directory.
    pub name: Option<String>,
    /// The front matter's, else the body's first paragraph, else empty.
    pub description: String,
    pub homepage: Option<String>,
    pub always: bool,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    /// None does not restrict; whatever cannot be read is an empty list.
    pub allowed_tools: Option<Vec<String>>,
    pub emoji: Option<String>,
    pub requires: Requirements,
    /// Requirements that are not of a known shape; `requires` is empty there.
    pub invalid_requirements: Vec<InvalidRequirement>,
    /// Entries under `install`, as JSON.
    pub install: Vec<String>,
}

/// A skill's file, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    pub header: SkillHeader,
    /// The first finding that makes the file unreadable, for people.
    pub unreadable: Option<String>,
    pub findings: Vec<Finding>,
}

/// Read a skill's file, or the first part of it when `cut`. Never fails: the file may be unreadable,
/// and then allows no tools.
pub fn parse(bytes: &[u8], cut: bool) -> SkillFile {
    let text = match decode(bytes, cut) {
        Ok(text) => text,
        Err(finding) => return unreadable(vec![finding]),
    };
    let read = front_matter::parse(text);
    let mut findings = read.findings;
    let mut header = match read.block {
        Block::Unreadable => return unreadable(findings),
        Block::Absent => SkillHeader::default(),
        Block::Read(entries) => {
            if let Some(finding) = swallowed_tools(text, &entries) {
                return unreadable(vec![finding]);
            }
            header_of(&entries, &mut findings)
        }
    };
    if header.description.is_empty() {
        header.description = first_paragraph::first_paragraph(read.body);
    }
    SkillFile {
        header,
        unreadable: None,
        findings,
    }
}

/// What a file that cannot be read at all amounts to.
pub fn unreadable(findings: Vec<Finding>) -> SkillFile {
    SkillFile {
        header: SkillHeader {
            allowed_tools: Some(Vec::new()),
            ..SkillHeader::default()
        },
        unreadable: Some(
            findings
                .iter()
                .find(|finding| finding.kind == ProblemKind::Unreadable)
                .map_or_else(String::new, |finding| match finding.line {
                    Some(line) => format!("line {line}: {}", finding.message),
                    None => finding.message.clone(),
                }),
        ),
        findings,
    }
}

/// The text of a file, or of the first part of one, which may end inside a character.
pub fn decode(bytes: &[u8], cut: bool) -> Result<&str, Finding> {
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let (valid, rest) = bytes
        .split_at_checked(error.valid_up_to())
        .unwrap_or_default();
    if cut
        && error.error_len().is_none()
        && let Ok(text) = std::str::from_utf8(valid)
    {
        return Ok(text);
    }
    let lines = valid.iter().filter(|byte| **byte == b'\n').count();
    Err(Finding::new(
        ProblemKind::Unreadable,
        u32::try_from(lines + 1).unwrap_or(u32::MAX),
        format!(
            "not UTF-8 at byte {} (0x{:02x}); save the file as UTF-8",
            valid.len(),
            rest.first().copied().unwrap_or_default()
        ),
    ))
}

/// A line `allowed-tools:` at the margin that YAML takes for part of another value, such as a quote that
/// was not closed: the file is refused, because reading it would lift the restriction.
fn swallowed_tools(text: &str, entries: &[(String, Node)]) -> Option<Finding> {
    if entries.iter().any(|(key, _)| key == "allowed-tools") {
        return None;
    }
    let mut lines = front_matter::split(text).block?.lines();
    let at = lines.position(|line| {
        let rest = line.strip_prefix("allowed-tools");
        rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
    })?;
    Some(Finding::new(
        ProblemKind::Unreadable,
        u32::try_from(at + 2).unwrap_or(u32::MAX),
        "`allowed-tools` stands inside another value here; close the quote or brace before it",
    ))
}

fn header_of(entries: &[(String, Node)], findings: &mut Vec<Finding>) -> SkillHeader {
    let get = |name: &str| {
        let entry = entries.iter().find(|(key, _)| key == name);
        entry.map(|(_, node)| node)
    };
    let mut text = |name: &str| text_of(name, get(name)?, findings);
    let mut header = SkillHeader {
        name: text("name"),
        description: text("description").unwrap_or_default(),
        homepage: text("homepage"),
        license: text("license"),
        compatibility: text("compatibility"),
        ..SkillHeader::default()
    };
    header.always = get("always").is_some_and(|node| flag_of("always", node, findings));
    header.allowed_tools = get("allowed-tools").map(|node| {
        tools::parse(node).unwrap_or_else(|message| {
            findings.push(Finding::new(ProblemKind::Unreadable, node.line, message));
            Vec::new()
        })
    });
    if let Some(node) = get("metadata") {
        metadata::read(node, &mut header, findings);
    }
    header
}

/// A scalar's text without blanks around it; none when it is empty.
fn text_of(name: &str, node: &Node, findings: &mut Vec<Finding>) -> Option<String> {
    match &node.value {
        Value::Scalar {
            kind: ScalarKind::Null,
            ..
        } => None,
        Value::Scalar { text, .. } => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::List(_) | Value::Map(_) => {
            findings.push(Finding::new(
                ProblemKind::Unreadable,
                node.line,
                format!(
                    "`{name}` is {}, not text; it was left out",
                    node.kind_name()
                ),
            ));
            None
        }
    }
}

fn flag_of(name: &str, node: &Node, findings: &mut Vec<Finding>) -> bool {
    match &node.value {
        Value::Scalar { kind, text } => match (kind, text.trim().to_ascii_lowercase().as_str()) {
            (ScalarKind::Bool(value), _) => return *value,
            (ScalarKind::Null, _) | (_, "false") => return false,
            (_, "true") => return true,
            _ => {}
        },
        Value::List(_) | Value::Map(_) => {}
    }
    findings.push(Finding::new(
        ProblemKind::Unreadable,
        node.line,
        format!("`{name}` is neither true nor false; it counts as false"),
    ));
    false
}

#[cfg(test)]
mod tests;
