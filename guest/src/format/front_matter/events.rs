//! The bounded pass over a block's YAML events: refuses what could explode or mislead, and keeps what
//! gray_matter loses (order, lines, the text of scalars). Iterative, so that no nesting can overflow
//! the stack. Knows no field.

use std::collections::BTreeMap;

use yaml_rust2::Yaml;
use yaml_rust2::parser::{Event, Parser, Tag};
use yaml_rust2::scanner::{Marker, TScalarStyle};

use crate::limits::FRONT_MATTER_DEPTH_MAX;

/// Why a block cannot be read, and on which of its lines, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub line: u32,
    pub message: String,
    /// Refused by one of our bounds: no repair is tried.
    pub limit: bool,
}

impl Fault {
    pub fn limit(line: u32, message: String) -> Self {
        Self {
            line,
            message,
            limit: true,
        }
    }

    pub fn syntax(line: u32, message: String) -> Self {
        Self {
            line,
            message,
            limit: false,
        }
    }
}

/// A node as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outline {
    pub line: u32,
    pub shape: Shape,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Scalar(String),
    List(Vec<Outline>),
    Map(Vec<(String, Outline)>),
}

/// A collection whose end has not come yet.
struct Open {
    line: u32,
    shape: Shape,
    /// The key that waits for its value.
    key: Option<String>,
    /// The keys so far and their lines.
    seen: BTreeMap<String, u32>,
}

/// Turns positions of the scanner, which count characters, into lines.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let ends = text.chars().enumerate().filter(|(_, c)| *c == '\n');
        Self(ends.map(|(at, _)| at).collect())
    }

    fn at(&self, mark: Marker) -> u32 {
        let before = self.0.partition_point(|end| *end < mark.index());
        // An error at the very end belongs to the last line that has text.
        u32::try_from(before.min(self.0.len().saturating_sub(1)) + 1).unwrap_or(u32::MAX)
    }
}

/// Whether YAML reads the text, within the bounds.
pub(crate) fn check(text: &str) -> Result<(), Fault> {
    outline(text).map(|_| ())
}

/// The one document of a block; none when it is empty or holds comments only.
pub(super) fn outline(text: &str) -> Result<Option<Outline>, Fault> {
    let lines = Lines::of(text);
    let mut parser = Parser::new_from_str(text);
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    let mut documents = 0;
    loop {
        let (event, mark) = parser
            .next_token()
            .map_err(|error| Fault::syntax(lines.at(*error.marker()), error.info().to_owned()))?;
        let line = lines.at(mark);
        let done = match event {
            Event::Nothing | Event::StreamStart | Event::DocumentEnd => continue,
            Event::StreamEnd => return Ok(root),
            Event::DocumentStart => {
                documents += 1;
                if documents > 1 {
                    return Err(limit(line, "it holds more than one YAML document"));
                }
                continue;
            }
            Event::Alias(_) => return Err(limit(line, "YAML aliases (`*name`) are not taken")),
            Event::Scalar(text, style, _, tag) => {
                check_tag(tag.as_ref(), "str", line)?;
                let text = match open.last() {
                    Some(parent) if wants_key(parent) => key_name(text, style, tag, line)?,
                    _ => text,
                };
                Outline {
                    line,
                    shape: Shape::Scalar(text),
                }
            }
            Event::SequenceStart(_, tag) => {
                check_tag(tag.as_ref(), "seq", line)?;
                begin(&mut open, line, Shape::List(Vec::new()))?;
                continue;
            }
            Event::MappingStart(_, tag) => {
                check_tag(tag.as_ref(), "map", line)?;
                begin(&mut open, line, Shape::Map(Vec::new()))?;
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open { line, shape, .. }) => Outline { line, shape },
                None => return Err(Fault::syntax(line, "a collection ends twice".to_owned())),
            },
        };
        match open.last_mut() {
            Some(parent) => add(parent, done)?,
            None => root = Some(done),
        }
    }
}

fn limit(line: u32, message: &str) -> Fault {
    Fault::limit(line, message.to_owned())
}

fn wants_key(parent: &Open) -> bool {
    matches!(parent.shape, Shape::Map(_)) && parent.key.is_none()
}

fn begin(open: &mut Vec<Open>, line: u32, shape: Shape) -> Result<(), Fault> {
    if open.last().is_some_and(wants_key) {
        return Err(limit(line, "a list or map stands as a key"));
    }
    if open.len() >= FRONT_MATTER_DEPTH_MAX {
        return Err(Fault::limit(
            line,
            format!("lists and maps nest deeper than {FRONT_MATTER_DEPTH_MAX} levels"),
        ));
    }
    open.push(Open {
        line,
        shape,
        key: None,
        seen: BTreeMap::new(),
    });
    Ok(())
}

fn add(parent: &mut Open, child: Outline) -> Result<(), Fault> {
    match (&mut parent.shape, parent.key.take()) {
        (Shape::Map(entries), Some(key)) => entries.push((key, child)),
        (Shape::Map(_), None) => match child.shape {
            Shape::Scalar(key) => {
                if let Some(first) = parent.seen.insert(key.clone(), child.line) {
                    let first = first.saturating_add(1);
                    return Err(Fault::limit(
                        child.line,
                        format!("`{key}` stands here and on line {first}"),
                    ));
                }
                parent.key = Some(key);
            }
            Shape::List(_) | Shape::Map(_) => {
                return Err(limit(child.line, "a list or map stands as a key"));
            }
        },
        (Shape::List(items), _) => items.push(child),
        (Shape::Scalar(_), _) => {}
    }
    Ok(())
}

/// Of tags only those are taken that say what is so anyway: with others gray_matter reads a wrong
/// value as none, and a wrong key shifts all that follow.
fn check_tag(tag: Option<&Tag>, plain: &str, line: u32) -> Result<(), Fault> {
    match tag {
        None => Ok(()),
        Some(tag) if tag.handle == "tag:yaml.org,2002:" && tag.suffix == plain => Ok(()),
        Some(tag) => Err(Fault::limit(
            line,
            format!("the YAML tag `{}{}` is not taken", tag.handle, tag.suffix),
        )),
    }
}

/// A key's name, as gray_matter spells it.
fn key_name(
    text: String,
    style: TScalarStyle,
    tag: Option<Tag>,
    line: u32,
) -> Result<String, Fault> {
    if tag.is_some() {
        return Err(limit(line, "a key carries a YAML tag"));
    }
    if style != TScalarStyle::Plain {
        return Ok(text);
    }
    Ok(match Yaml::from_str(&text) {
        Yaml::Integer(number) => number.to_string(),
        Yaml::Boolean(value) => value.to_string(),
        Yaml::Null => "null".to_owned(),
        _ => text,
    })
}
