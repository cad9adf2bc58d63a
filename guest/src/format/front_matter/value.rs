//! The value tree of a front matter: gray_matter's values in the order, on the lines and with the text
//! of the event pass. Knows no field.

use gray_matter::Pod;

use super::events::{Fault, Outline, Shape};

/// A value and the line of the file on which it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub line: u32,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `text` is as written, so that a name `007` stays one.
    Scalar {
        kind: ScalarKind,
        text: String,
    },
    List(Vec<Node>),
    /// In the order of the file; no name twice.
    Map(Vec<(String, Node)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarKind {
    Null,
    Bool(bool),
    Number,
    Text,
}

impl Node {
    /// The value's kind, for messages.
    pub fn kind_name(&self) -> &'static str {
        match &self.value {
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
            Value::Scalar { kind, .. } => match kind {
                ScalarKind::Null => "empty",
                ScalarKind::Bool(_) => "true or false",
                ScalarKind::Number => "a number",
                ScalarKind::Text => "text",
            },
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(
            self.value,
            Value::Scalar {
                kind: ScalarKind::Null,
                ..
            }
        )
    }
}

/// Lay gray_matter's values over the outline. Both come of the same text; where they disagree the
/// block is refused, because then one of them has misread it.
pub(super) fn merge(pod: Pod, outline: Outline) -> Result<Node, Fault> {
    let line = outline.line;
    let disagree = || {
        Fault::syntax(
            line,
            "two readings of this YAML disagree; write it more simply".to_owned(),
        )
    };
    let value = match (pod, outline.shape) {
        (Pod::Hash(mut pods), Shape::Map(entries)) => {
            if pods.len() != entries.len() {
                return Err(disagree());
            }
            let mut merged = Vec::with_capacity(entries.len());
            for (key, child) in entries {
                let pod = pods.remove(&key).ok_or_else(disagree)?;
                merged.push((key, merge(pod, child)?));
            }
            Value::Map(merged)
        }
        (Pod::Array(pods), Shape::List(items)) => {
            if pods.len() != items.len() {
                return Err(disagree());
            }
            let merged: Result<_, Fault> = pods
                .into_iter()
                .zip(items)
                .map(|(pod, item)| merge(pod, item))
                .collect();
            Value::List(merged?)
        }
        (pod, Shape::Scalar(text)) => Value::Scalar {
            kind: match pod {
                Pod::Null => ScalarKind::Null,
                Pod::Boolean(value) => ScalarKind::Bool(value),
                Pod::Integer(_) | Pod::Float(_) => ScalarKind::Number,
                Pod::String(_) => ScalarKind::Text,
                Pod::Array(_) | Pod::Hash(_) => return Err(disagree()),
            },
            text,
        },
        _ => return Err(disagree()),
    };
    // The block begins on the second line of the file.
    Ok(Node {
        line: line.saturating_add(1),
        value,
    })
}

/// A value as JSON text, names in the order of the file. A number that JSON cannot write (`.inf`,
/// `0x1F`, `007`) becomes text.
pub fn json_of(node: &Node) -> String {
    let mut json = String::new();
    write_json(node, &mut json);
    json
}

fn write_json(node: &Node, json: &mut String) {
    match &node.value {
        Value::Scalar { kind, text } => match kind {
            ScalarKind::Null => json.push_str("null"),
            ScalarKind::Bool(value) => json.push_str(if *value { "true" } else { "false" }),
            ScalarKind::Number if serde_json::from_str::<serde_json::Number>(text).is_ok() => {
                json.push_str(text);
            }
            ScalarKind::Number | ScalarKind::Text => write_text(text, json),
        },
        Value::List(items) => {
            json.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    json.push(',');
                }
                write_json(item, json);
            }
            json.push(']');
        }
        Value::Map(entries) => {
            json.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                if at > 0 {
                    json.push(',');
                }
                write_text(key, json);
                json.push(':');
                write_json(value, json);
            }
            json.push('}');
        }
    }
}

fn write_text(text: &str, json: &mut String) {
    json.push_str(&serde_json::Value::from(text).to_string());
}
