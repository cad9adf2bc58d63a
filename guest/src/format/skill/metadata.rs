//! What lies under `metadata`: a map, or JSON text, with the entry of gsv or of a relative of it. Knows
//! no rule of who may see a skill.

use super::requirements::{self, InvalidRequirement};
use super::{SkillHeader, text_of};
use crate::format::front_matter::{self, Finding, Node, ScalarKind, Value, json_of};
use crate::types::ProblemKind;

/// Whose entry is read: the first that is there.
const OWNERS: [&str; 3] = ["gsv", "openclaw", "clawdbot"];

/// Fill in what `metadata` says. Metadata that cannot be read counts as an invalid requirement: what
/// it asks for is unknown.
pub(super) fn read(node: &Node, header: &mut SkillHeader, findings: &mut Vec<Finding>) {
    if node.is_null() {
        return;
    }
    let parsed;
    let entries = match &node.value {
        Value::Map(entries) => entries,
        Value::Scalar {
            kind: ScalarKind::Text,
            text,
        } => match parse_json(text, node.line) {
            Ok((entries, repaired)) => {
                if repaired {
                    findings.push(Finding::new(
                        ProblemKind::Repaired,
                        node.line,
                        "the JSON text of `metadata` has commas before closing braces; they were ignored",
                    ));
                }
                parsed = entries;
                &parsed
            }
            Err((line, message)) => {
                let message = format!("`metadata` is neither a map nor JSON: {message}");
                return refuse(line, message, header, findings);
            }
        },
        _ => {
            let message = format!("`metadata` is {}, not a map", node.kind_name());
            return refuse(node.line, message, header, findings);
        }
    };
    let owned = OWNERS.iter().find_map(|owner| {
        entries
            .iter()
            .find(|(key, value)| key == owner && !value.is_null())
    });
    let Some((owner, own)) = owned else {
        return;
    };
    let Value::Map(fields) = &own.value else {
        let message = format!("`metadata.{owner}` is {}, not a map", own.kind_name());
        return refuse(own.line, message, header, findings);
    };
    let get = |name: &str| {
        let entry = fields.iter().find(|(key, _)| key == name);
        entry.map(|(_, value)| value)
    };
    header.emoji = get("emoji").and_then(|node| text_of("emoji", node, findings));
    if let Some(node) = get("requires") {
        (header.requires, header.invalid_requirements) = requirements::parse(node);
        for invalid in &header.invalid_requirements {
            findings.push(Finding::new(
                ProblemKind::Unreadable,
                invalid.line,
                format!("invalid requirement: {}", invalid.message),
            ));
        }
    }
    match get("install").map(|node| (node, &node.value)) {
        Some((_, Value::List(items))) => header.install = items.iter().map(json_of).collect(),
        Some((node, Value::Map(_))) => header.install = vec![json_of(node)],
        Some((node, _)) if !node.is_null() => findings.push(Finding::new(
            ProblemKind::Unreadable,
            node.line,
            format!(
                "`install` is {}, not a list; it was left out",
                node.kind_name()
            ),
        )),
        _ => {}
    }
}

fn refuse(line: u32, message: String, header: &mut SkillHeader, findings: &mut Vec<Finding>) {
    findings.push(Finding::new(ProblemKind::Unreadable, line, message.clone()));
    header
        .invalid_requirements
        .push(InvalidRequirement::of_all(line, message));
}

type Entries = Vec<(String, Node)>;

/// JSON text as a tree, and whether commas had to be ignored. All nodes lie on `line`.
fn parse_json(text: &str, line: u32) -> Result<(Entries, bool), (u32, String)> {
    let fail = |message: String| (line, message);
    let mut repaired = false;
    let node = match front_matter::from_json(text, line) {
        Ok(node) => node,
        Err(first) => {
            repaired = true;
            let stripped = front_matter::without_trailing_commas(text);
            front_matter::from_json(&stripped, line).map_err(|_| fail(first))?
        }
    };
    match node.value {
        Value::Map(entries) => Ok((entries, repaired)),
        _ => Err(fail(format!("it is {}, not an object", node.kind_name()))),
    }
}
