//! Changing fields of a run-info.yaml: the lines of a field are replaced, a new one is put behind those before it in
//! the reference's order, and what comes of it is read again before anybody gets it.

use super::{Fields, NAMES};
use crate::format::front_matter::{Node, json_of};
use crate::format::yaml::{Mapping, shown};

const ONE_A_LINE: &str =
    "single fields cannot be changed in its YAML: write one `name: value` a line";

/// The text with these fields set, every other byte as it was. The error says why that cannot be.
pub fn edit(text: &str, fields: &Fields) -> Result<String, String> {
    let before = entries(text)?;
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    for (name, set) in fields {
        let line = format!("{name}: {}{end}", set.printed());
        match field(&lines, name) {
            Some((from, to)) => {
                lines.splice(from..to, [line]);
            }
            None => {
                let at = place(&lines, name);
                if let Some(last) = at.checked_sub(1).and_then(|at| lines.get_mut(at))
                    && !last.ends_with('\n')
                {
                    last.push_str(end);
                }
                lines.insert(at, line);
            }
        }
    }
    let edited = lines.concat();
    let after = entries(&edited).map_err(|_| ONE_A_LINE.to_owned())?;
    let is_set = |name: &str| fields.iter().find(|(set, _)| *set == name);
    let kept = before.iter().filter(|(name, _)| is_set(name).is_none());
    let kept_now = after.iter().filter(|(name, _)| is_set(name).is_none());
    let same = kept.map(told).eq(kept_now.map(told));
    let set = fields.iter().all(|(name, set)| {
        let found = after.iter().find(|(there, _)| there == name);
        found.is_some_and(|(_, node)| shown(node) == set.read_back())
    });
    match same && set {
        true => Ok(edited),
        false => Err(ONE_A_LINE.to_owned()),
    }
}

fn told((name, node): &(String, Node)) -> (String, String) {
    (name.clone(), json_of(node))
}

fn entries(text: &str) -> Result<Vec<(String, Node)>, String> {
    let read = Mapping::of_file(text);
    if let Some(entries) = read.entries {
        return Ok(entries);
    }
    let causes: Vec<String> = read
        .findings
        .into_iter()
        .map(|finding| match finding.line {
            Some(line) => format!("line {line}: {}", finding.message),
            None => finding.message,
        })
        .collect();
    Err(format!("it cannot be read: {}", causes.join("; ")))
}

/// The lines of a field: the one with its name, and those that are indented behind it.
fn field(lines: &[String], name: &str) -> Option<(usize, usize)> {
    let names = |line: &String| {
        let line = line.trim_start_matches('\u{feff}');
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(':'))
    };
    let from = lines.iter().position(names)?;
    let behind = lines.get(from + 1..).unwrap_or_default();
    let continues = |line: &&String| line.starts_with([' ', '\t']) && !line.trim().is_empty();
    let length = behind.iter().take_while(continues).count();
    Some((from, from + 1 + length))
}

/// Where a field belongs that is not there yet.
fn place(lines: &[String], name: &str) -> usize {
    let before = NAMES.iter().take_while(|(there, _)| *there != name);
    let last = before
        .filter_map(|(there, _)| field(lines, there))
        .map(|(_, to)| to)
        .max();
    let begins = lines
        .first()
        .is_some_and(|line| line.trim_start_matches('\u{feff}').trim_end() == "---");
    last.unwrap_or(usize::from(begins))
}
