//! A message of the bus: what its header says, printed and read. Where entries lie in a bus is `frame.rs`'s.

use super::body;
use super::frame::{Frame, Kind, legacy};
use crate::format::front_matter::{Node, Value};
use crate::format::utc;
use crate::format::yaml::{Mapping, scalar, shown, text_of};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// None on one that another program wrote without.
    pub msg_id: Option<String>,
    /// As it is written: RFC 3339, or what a legacy line has.
    pub ts: Option<String>,
    /// `type`: `FACT`, `ISSUE`, `RUN_START`.
    pub kind: String,
    /// None on a legacy line.
    pub project_id: Option<String>,
    pub task_id: Option<String>,
    pub run_id: Option<String>,
    pub issue_id: Option<String>,
    pub parents: Vec<Parent>,
    /// As text; what is none, as JSON.
    pub links: Vec<String>,
    /// Without the members that are ours; what is no text, as JSON.
    pub meta: Vec<(String, String)>,
    pub body: String,
    /// Whether it was a line before the first entry.
    pub legacy: bool,
}

/// A message that another one refers to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parent {
    pub msg_id: String,
    pub kind: Option<String>,
    pub meta: Vec<(String, String)>,
}

/// Members of `meta` that say how the body stands in the entry.
pub const OWN_META: [&str; 2] = ["body_bytes", "escaped"];

impl Message {
    /// As an entry, which no body and no value can break out of.
    pub fn render(&self) -> String {
        let stored = body::store(&self.body);
        let mut header = String::from("---\n");
        let mut line = |indent: usize, name: &str, value: &str| {
            header.push_str(&format!("{:indent$}{name}: {value}\n", ""));
        };
        for (name, value) in [
            ("msg_id", &self.msg_id),
            // A moment is bare, so that typed readers take it for one.
            ("ts", &self.ts),
            ("type", &Some(self.kind.clone())),
            ("project_id", &self.project_id),
            ("task_id", &self.task_id),
            ("run_id", &self.run_id),
            ("issue_id", &self.issue_id),
        ] {
            match value {
                Some(value) if name == "ts" && utc::parse(value).is_some() => line(0, name, value),
                Some(value) => line(0, name, &scalar(value)),
                None => {}
            }
        }
        header.push_str(&self.render_parents());
        if !self.links.is_empty() {
            header.push_str("links:\n");
        }
        for link in &self.links {
            header.push_str(&format!("  - {}\n", scalar(link)));
        }
        header.push_str(&format!("meta:\n  body_bytes: {}\n", stored.body_bytes));
        if stored.escaped {
            header.push_str("  escaped: true\n");
        }
        header.push_str(&render_meta(2, &self.meta));
        header + "---\n" + &stored.text
    }

    fn render_parents(&self) -> String {
        let mut text = String::new();
        for (at, parent) in self.parents.iter().enumerate() {
            if at == 0 {
                text.push_str("parents:\n");
            }
            let id = scalar(&parent.msg_id);
            if parent.kind.is_none() && parent.meta.is_empty() {
                text.push_str(&format!("  - {id}\n"));
                continue;
            }
            text.push_str(&format!("  - msg_id: {id}\n"));
            if let Some(kind) = &parent.kind {
                text.push_str(&format!("    kind: {}\n", scalar(kind)));
            }
            if !parent.meta.is_empty() {
                text.push_str("    meta:\n");
                text.push_str(&render_meta(6, &parent.meta));
            }
        }
        text
    }

    /// What a part of a bus says, with notes for people; the error says why it is no message.
    pub fn read(frame: &Frame<'_>) -> Result<(Self, Vec<String>), String> {
        let (header, bytes, escaped, edited) = match frame.kind {
            Kind::Legacy(line) => return read_legacy(line),
            Kind::Message {
                header,
                body,
                escaped,
                edited,
            } => (header, body, escaped, edited),
            Kind::Torn { .. } | Kind::Unclosed => {
                return Err(frame.problem().unwrap_or_default().to_owned());
            }
        };
        let mut notes = Vec::new();
        let header = String::from_utf8_lossy(header);
        let mapping = Mapping::of_bare(&header);
        let findings = mapping.findings.iter();
        notes.extend(findings.map(|finding| finding.message.clone()));
        if mapping.entries.is_none() {
            return Err(format!("its header is no YAML: {}", notes.join("; ")));
        }
        let required = |name: &str| {
            let value = mapping.text(name);
            value.ok_or_else(|| format!("its header has no {name}"))
        };
        let (kind, project_id) = (required("type")?, required("project_id")?);
        let text = String::from_utf8_lossy(bytes);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            notes.push("its body is not UTF-8; what cannot be read is shown as U+FFFD".to_owned());
        }
        if edited {
            notes.push(
                "its body is not as long as it was written; it is given as it stands".to_owned(),
            );
        }
        let mut meta = mapping.get("meta").map(pairs).unwrap_or_default();
        if matches!(&meta.first(), Some((name, _)) if name == "body_bytes") {
            meta.retain(|(name, _)| !OWN_META.contains(&name.as_str()));
        }
        let message = Self {
            msg_id: mapping.text("msg_id"),
            ts: mapping.text("ts"),
            kind,
            project_id: Some(project_id),
            task_id: mapping.text("task_id"),
            run_id: mapping.text("run_id"),
            issue_id: mapping.text("issue_id"),
            parents: items(mapping.get("parents"))
                .into_iter()
                .map(parent)
                .collect(),
            links: items(mapping.get("links")).into_iter().map(shown).collect(),
            meta,
            body: match escaped && !edited {
                true => body::unescape(&text),
                false => text.into_owned(),
            },
            legacy: false,
        };
        Ok((message, notes))
    }
}

fn render_meta(indent: usize, meta: &[(String, String)]) -> String {
    let lines = meta.iter();
    lines
        .map(|(name, value)| format!("{:indent$}{}: {}\n", "", scalar(name), scalar(value)))
        .collect()
}

fn read_legacy(line: &[u8]) -> Result<(Message, Vec<String>), String> {
    let line = String::from_utf8_lossy(line);
    let (ts, kind, text) = legacy(&line).ok_or("no legacy message")?;
    let message = Message {
        ts: Some(ts.to_owned()),
        kind: kind.to_owned(),
        body: text.to_owned(),
        legacy: true,
        ..Message::default()
    };
    Ok((message, Vec::new()))
}

/// The items of a list; a single value is one of one.
fn items(node: Option<&Node>) -> Vec<&Node> {
    match node {
        None => Vec::new(),
        Some(node) if node.is_null() => Vec::new(),
        Some(node) => match &node.value {
            Value::List(items) => items.iter().collect(),
            Value::Scalar { .. } | Value::Map(_) => vec![node],
        },
    }
}

fn pairs(node: &Node) -> Vec<(String, String)> {
    match &node.value {
        Value::Map(entries) => entries
            .iter()
            .map(|(name, value)| (name.clone(), shown(value)))
            .collect(),
        Value::List(_) | Value::Scalar { .. } => Vec::new(),
    }
}

fn parent(node: &Node) -> Parent {
    let Value::Map(entries) = &node.value else {
        return Parent {
            msg_id: shown(node),
            ..Parent::default()
        };
    };
    let find = |name: &str| {
        let found = entries.iter().find(|(there, _)| there == name);
        found.map(|(_, node)| node)
    };
    Parent {
        msg_id: find("msg_id").and_then(text_of).unwrap_or_default(),
        kind: find("kind").and_then(text_of),
        meta: find("meta").map(pairs).unwrap_or_default(),
    }
}
