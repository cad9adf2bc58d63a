//! What a skill requires, strictly typed: lists of text in known fields, roles and capabilities of known
//! names. Knows no host.

use serde::{Deserialize, Serialize};

use crate::format::front_matter::{Node, ScalarKind, Value};

/// What a skill needs. An empty list asks for nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Requirements {
    pub bins: Vec<String>,
    pub any_bins: Vec<String>,
    pub env: Vec<String>,
    pub config: Vec<String>,
    pub os: Vec<String>,
    pub host_roles: Vec<String>,
    pub capabilities: Vec<String>,
    pub any_capabilities: Vec<String>,
}

/// A field of [`Requirements`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Bins,
    AnyBins,
    Env,
    Config,
    Os,
    HostRoles,
    Capabilities,
    AnyCapabilities,
}

impl Field {
    pub const ALL: [Field; 8] = [
        Field::Bins,
        Field::AnyBins,
        Field::Env,
        Field::Config,
        Field::Os,
        Field::HostRoles,
        Field::Capabilities,
        Field::AnyCapabilities,
    ];

    /// As the front matter spells it.
    pub fn name(self) -> &'static str {
        match self {
            Field::Bins => "bins",
            Field::AnyBins => "anyBins",
            Field::Env => "env",
            Field::Config => "config",
            Field::Os => "os",
            Field::HostRoles => "hostRoles",
            Field::Capabilities => "capabilities",
            Field::AnyCapabilities => "anyCapabilities",
        }
    }

    /// The values that a field can have; none for a field that takes any.
    fn known_values(self) -> Option<&'static [&'static str]> {
        match self {
            Field::HostRoles => Some(&["execution", "specialized"]),
            Field::Capabilities | Field::AnyCapabilities => Some(&[
                "filesystem.list",
                "filesystem.read",
                "filesystem.write",
                "filesystem.edit",
                "text.search",
                "shell.exec",
            ]),
            _ => None,
        }
    }
}

impl Requirements {
    pub fn field(&self, field: Field) -> &[String] {
        match field {
            Field::Bins => &self.bins,
            Field::AnyBins => &self.any_bins,
            Field::Env => &self.env,
            Field::Config => &self.config,
            Field::Os => &self.os,
            Field::HostRoles => &self.host_roles,
            Field::Capabilities => &self.capabilities,
            Field::AnyCapabilities => &self.any_capabilities,
        }
    }

    pub fn field_mut(&mut self, field: Field) -> &mut Vec<String> {
        match field {
            Field::Bins => &mut self.bins,
            Field::AnyBins => &mut self.any_bins,
            Field::Env => &mut self.env,
            Field::Config => &mut self.config,
            Field::Os => &mut self.os,
            Field::HostRoles => &mut self.host_roles,
            Field::Capabilities => &mut self.capabilities,
            Field::AnyCapabilities => &mut self.any_capabilities,
        }
    }
}

/// A requirement that is not of a known shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidRequirement {
    /// None when it is no field's: nothing can replace it.
    pub field: Option<Field>,
    pub line: u32,
    pub message: String,
}

impl InvalidRequirement {
    pub(super) fn of_all(line: u32, message: String) -> Self {
        Self {
            field: None,
            line,
            message,
        }
    }
}

/// Why `values` cannot be required of `field`: a role or capability that there is not.
pub fn unknown_value(field: Field, values: &[String]) -> Option<String> {
    let known = field.known_values()?;
    let value = values
        .iter()
        .find(|value| !known.contains(&value.as_str()))?;
    Some(format!(
        "`{value}` in `{}` is not one of {}",
        field.name(),
        known.join(", ")
    ))
}

/// Read the value of `requires`.
pub(super) fn parse(node: &Node) -> (Requirements, Vec<InvalidRequirement>) {
    let mut requires = Requirements::default();
    let mut invalid = Vec::new();
    let entries = match &node.value {
        Value::Map(entries) => entries.as_slice(),
        _ if node.is_null() => &[],
        _ => {
            invalid.push(InvalidRequirement::of_all(
                node.line,
                format!("`requires` is {}, not a map", node.kind_name()),
            ));
            &[]
        }
    };
    for (key, value) in entries {
        let Some(field) = Field::ALL.into_iter().find(|field| field.name() == key) else {
            let names = Field::ALL.map(Field::name).join(", ");
            invalid.push(InvalidRequirement::of_all(
                value.line,
                format!("`{key}` is not a known requirement; known are {names}"),
            ));
            continue;
        };
        let checked = list_of_text(field, value)
            .and_then(|values| unknown_value(field, &values).map_or(Ok(values), Err));
        match checked {
            Ok(values) => *requires.field_mut(field) = values,
            Err(message) => invalid.push(InvalidRequirement {
                field: Some(field),
                line: value.line,
                message,
            }),
        }
    }
    (requires, invalid)
}

/// A list of text; one text is a list of one, and an empty value asks for nothing.
fn list_of_text(field: Field, node: &Node) -> Result<Vec<String>, String> {
    let text_of = |node: &Node| match &node.value {
        Value::Scalar {
            kind: ScalarKind::Text,
            text,
        } if !text.trim().is_empty() => Some(text.trim().to_owned()),
        _ => None,
    };
    match &node.value {
        Value::Scalar {
            kind: ScalarKind::Null,
            ..
        } => Ok(Vec::new()),
        Value::List(items) => items
            .iter()
            .map(|item| {
                text_of(item).ok_or_else(|| {
                    format!("`{}` holds {}, not text", field.name(), item.kind_name())
                })
            })
            .collect(),
        _ => text_of(node).map(|text| vec![text]).ok_or_else(|| {
            format!(
                "`{}` is {}, not a list of text",
                field.name(),
                node.kind_name()
            )
        }),
    }
}
