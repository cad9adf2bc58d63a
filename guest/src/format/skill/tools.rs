//! The value of `allowed-tools`: text or a list. Knows no tool.

use crate::format::front_matter::{Node, ScalarKind, Value};

/// The tools, as written. An error, for people, is to be read as no tool at all.
pub(super) fn parse(node: &Node) -> Result<Vec<String>, String> {
    match &node.value {
        Value::Scalar {
            kind: ScalarKind::Null,
            ..
        } => Ok(Vec::new()),
        Value::Scalar {
            kind: ScalarKind::Text,
            text,
        } => split(text),
        Value::List(items) => items
            .iter()
            .map(|item| match &item.value {
                Value::Scalar {
                    kind: ScalarKind::Text,
                    text,
                } if !text.trim().is_empty() => Ok(text.trim().to_owned()),
                _ => Err(format!(
                    "an entry of `allowed-tools` is {}, not a tool's name; no tool is allowed",
                    item.kind_name()
                )),
            })
            .collect(),
        _ => Err(format!(
            "`allowed-tools` is {}, neither text nor a list; no tool is allowed",
            node.kind_name()
        )),
    }
}

/// Split at commas and blanks that stand outside parentheses: `Read, Bash(git add *)` are two.
fn split(text: &str) -> Result<Vec<String>, String> {
    let unbalanced =
        || "the parentheses of `allowed-tools` do not match; no tool is allowed".to_owned();
    let mut tools = Vec::new();
    let mut tool = String::new();
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or_else(unbalanced)?,
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            tools.push(std::mem::take(&mut tool));
        } else {
            tool.push(c);
        }
    }
    if depth > 0 {
        return Err(unbalanced());
    }
    tools.push(tool);
    tools.retain(|tool| !tool.is_empty());
    Ok(tools)
}
