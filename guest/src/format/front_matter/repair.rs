//! Repairs of blocks that people write and YAML refuses, entry by entry at the top level: an unquoted
//! value that YAML trips over, and JSON under `metadata` that does not mind indentation. Each keeps the
//! number of lines and leaves a note. Knows no limits: what it makes goes through the event pass again.

use super::events::check;
use super::json::{Braces, join_surrogates, without_trailing_commas};

/// A block that was repaired, with a note and a line, counted from 1 in the block, for each repair.
pub(super) struct Repaired {
    pub text: String,
    pub notes: Vec<(u32, String)>,
}

/// Fields that hold text and nothing else, so that any value YAML refuses can be taken as written.
const TEXT_FIELDS: [&str; 5] = [
    "name",
    "description",
    "homepage",
    "license",
    "compatibility",
];

/// Fields that are never taken for the continuation of another's text: indented by mistake, they would
/// vanish, and with `allowed-tools` a restriction.
const OTHER_FIELDS: [&str; 3] = ["always", "allowed-tools", "metadata"];

/// Repair what can be; none when there is nothing to do.
pub(super) fn repair(block: &str) -> Option<Repaired> {
    let lines: Vec<&str> = block.lines().collect();
    let mut out: Vec<String> = Vec::with_capacity(lines.len());
    let mut notes = Vec::new();
    let mut rest = lines.as_slice();
    // Whether all braces so far closed; after one that does not, none is followed any more, so that
    // the work stays in proportion to the block.
    let mut closed = true;
    while let Some((first, behind)) = rest.split_first() {
        let line = u32::try_from(out.len() + 1).unwrap_or(u32::MAX);
        let Some((key, value)) = top_level_key(first) else {
            out.push((*first).to_owned());
            rest = behind;
            continue;
        };
        let (entry, behind) =
            rest.split_at(entry_length(value, behind, &mut closed).min(rest.len()));
        rest = behind;
        let repaired = check(&entry.join("\n"))
            .is_err_and(|fault| !fault.limit)
            .then(|| repair_entry(key, value, entry))
            .flatten();
        if let Some((text, note)) = repaired {
            notes.push((line, note));
            out.push(text);
            out.extend(entry.iter().skip(1).map(|_| String::new()));
        } else {
            out.extend(entry.iter().map(|line| (*line).to_owned()));
        }
    }
    (!notes.is_empty()).then(|| Repaired {
        text: out.join("\n") + "\n",
        notes,
    })
}

/// The key and the rest of a line that begins an entry: a plain or quoted name at the margin, then a
/// colon and a blank.
fn top_level_key(line: &str) -> Option<(&str, &str)> {
    let end = match line.chars().next()? {
        quote @ ('"' | '\'') => line.get(1..)?.find(quote)? + 2,
        c if c.is_ascii_alphanumeric() || c == '_' => {
            line.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))?
        }
        _ => return None,
    };
    let (key, rest) = line.split_at_checked(end)?;
    let value = rest.trim_start_matches([' ', '\t']).strip_prefix(':')?;
    (value.is_empty() || value.starts_with([' ', '\t'])).then_some((key, value))
}

/// How many lines an entry has, its first included: up to the next key at the margin, but braces that
/// open are followed to where they close.
fn entry_length(value: &str, behind: &[&str], closed: &mut bool) -> usize {
    let mut length = 1;
    if *closed && let Some(start) = flow_start(value, behind) {
        *closed = false;
        let mut braces = Braces::default();
        let texts = std::iter::once(&value).chain(behind);
        for (at, text) in texts.enumerate().skip(start) {
            text.chars().for_each(|c| braces.see(c));
            braces.see('\n');
            if braces.depth == 0 {
                length = at + 1;
                *closed = true;
                break;
            }
        }
    }
    let follows = behind.iter().skip(length - 1);
    length
        + follows
            .take_while(|line| top_level_key(line).is_none())
            .count()
}

/// On which line of the entry, counted from 0, its value opens a brace or bracket, if it does.
fn flow_start(value: &str, behind: &[&str]) -> Option<usize> {
    std::iter::once(&value)
        .chain(behind)
        .position(|text| !text.trim().is_empty())
        .filter(|at| {
            let text = if *at == 0 {
                Some(&value)
            } else {
                behind.get(at - 1)
            };
            text.is_some_and(|text| text.trim_start().starts_with(['{', '[']))
        })
}

fn repair_entry(key: &str, value: &str, entry: &[&str]) -> Option<(String, String)> {
    let name = key.trim_matches(['"', '\'']);
    let (text, note) = if name == "metadata" {
        flow_start(value, entry.get(1..)?)?;
        let json = entry.join("\n");
        let json = json.get(json.find('{')?..)?;
        (
            format!("{key}: {}", one_line(json)?),
            "the JSON under `metadata` is not indented or escaped as YAML wants it; it was read as JSON"
                .to_owned(),
        )
    } else {
        (
            format!("{key}: {}", quoted(name, value, entry)?),
            format!("the value of `{name}` needs quotes in YAML; it was read as written"),
        )
    };
    check(&text).is_ok().then_some((text, note))
}

/// The value of an entry in quotes, its lines joined by blanks.
fn quoted(name: &str, value: &str, entry: &[&str]) -> Option<String> {
    let value = value.trim();
    if value.is_empty() || value.starts_with(['|', '>', '&', '*', '!', '#']) {
        return None;
    }
    let mut text = value.to_owned();
    let mut ended = false;
    for line in entry.iter().skip(1) {
        let part = line.trim();
        if part.is_empty() {
            continue;
        }
        if !line.starts_with([' ', '\t']) {
            // A comment may follow; anything else at the margin is not ours to guess.
            ended = line.starts_with('#');
            if !ended {
                return None;
            }
        } else if ended || top_level_key(part).is_some_and(|(key, _)| is_field(key)) {
            return None;
        } else {
            text.push(' ');
            text.push_str(part);
        }
    }
    let plain = !value.starts_with(['{', '[', '"', '\'']);
    let colon = text.ends_with(':') || text.contains(": ") || text.contains(":\t");
    (TEXT_FIELDS.contains(&name) || (plain && colon))
        .then(|| format!("'{}'", text.replace('\'', "''")))
}

fn is_field(key: &str) -> bool {
    let key = key.trim_matches(['"', '\'']);
    TEXT_FIELDS.contains(&key) || OTHER_FIELDS.contains(&key)
}

/// JSON on one line: line ends and tabs between its parts become blanks, commas before a closing
/// brace go, escaped surrogate pairs become their character.
fn one_line(json: &str) -> Option<String> {
    let mut out = String::with_capacity(json.len());
    let mut braces = Braces::default();
    for (at, c) in json.char_indices() {
        if at > 0 && braces.depth == 0 {
            // Only a comma may follow the value.
            if !c.is_whitespace() && c != ',' {
                return None;
            }
            continue;
        }
        if !braces.in_string && c == '#' {
            return None;
        }
        let tab = c == '\t' && !braces.in_string;
        braces.see(c);
        out.push(if tab || matches!(c, '\n' | '\r') {
            ' '
        } else {
            c
        });
    }
    (braces.depth == 0).then(|| join_surrogates(&without_trailing_commas(&out)))
}
