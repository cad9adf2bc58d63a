//! The one comparer: normalises what may differ between hosts, and says readably what differs.

use std::fmt::Write as _;

use serde_json::Value;

use crate::case::{Case, Objects, Outcome};

/// Members whose text is the store's own, or holds something that is.
const STORE_OWNED: [&str; 4] = ["version", "current", "cursor", "continue-from"];
/// How many differences of one case are printed.
const SHOWN_MAX: usize = 12;
/// How much of one value is printed, in characters.
const VALUE_CHARACTERS_MAX: usize = 300;

/// Everything in which an outcome differs from what the case expects, for people; empty when it
/// passes.
pub fn differences(case: &Case, outcome: &Outcome) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for (index, answer) in outcome.answers.iter().enumerate() {
        let number = index + 1;
        let Some(expected) = case.expected(number)? else {
            found.push(format!("expected/{number}.json is missing"));
            continue;
        };
        let mut compared = Comparison::new(format!("{number}.json"), expected.partial);
        compared.values(
            "",
            &normalised(&expected.value, ""),
            &normalised(answer, ""),
        );
        found.append(&mut compared.found);
    }
    if outcome.answers.len() != case.calls.len() {
        let (made, answered) = (case.calls.len(), outcome.answers.len());
        found.push(format!("{made} calls, {answered} answers"));
    }
    if let Some(expected) = case.expected_calls()? {
        let mut compared = Comparison::new("calls.json".to_owned(), expected.partial);
        let actual = Value::Array(outcome.store_calls.clone());
        compared.values(
            "",
            &normalised(&expected.value, ""),
            &normalised(&actual, ""),
        );
        found.append(&mut compared.found);
    }
    compare_stores(&case.expected_store()?, &outcome.store_after, &mut found);
    let more = found.len().saturating_sub(SHOWN_MAX);
    if more > 0 {
        found.truncate(SHOWN_MAX);
        found.push(format!("… and {more} more differences"));
    }
    Ok(found)
}

/// Versions, cursors and what carries a cursor are the store's own, and some stores lower-case the names of metadata.
pub fn normalised(value: &Value, name: &str) -> Value {
    match value {
        Value::String(_) if STORE_OWNED.contains(&name) => "*".into(),
        Value::Array(pairs) if name == "metadata" => {
            let fold = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
                Some([Value::String(name), value]) => {
                    Value::Array(vec![name.to_lowercase().into(), value.clone()])
                }
                _ => pair.clone(),
            };
            Value::Array(pairs.iter().map(fold).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(|i| normalised(i, "")).collect()),
        Value::Object(members) => {
            let members = members.iter();
            let members = members.map(|(name, value)| (name.clone(), normalised(value, name)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

struct Comparison {
    file: String,
    partial: bool,
    found: Vec<String>,
}

impl Comparison {
    fn new(file: String, partial: bool) -> Self {
        Self {
            file,
            partial,
            found: Vec::new(),
        }
    }

    fn values(&mut self, at: &str, expected: &Value, actual: &Value) {
        match (expected, actual) {
            (Value::Object(wanted), Value::Object(there)) => {
                for (name, value) in wanted {
                    let at = format!("{at}/{name}");
                    match there.get(name) {
                        Some(actual) => self.values(&at, value, actual),
                        None => self.differ(&at, value, None),
                    }
                }
                let unexpected = there.iter().filter(|(name, _)| !wanted.contains_key(*name));
                for (name, value) in unexpected.filter(|_| !self.partial).collect::<Vec<_>>() {
                    let value = shown(value);
                    let file = &self.file;
                    self.found
                        .push(format!("{file} {at}/{name}: not expected: {value}"));
                }
            }
            (Value::Object(wanted), Value::Array(there)) if self.partial => {
                for (index, value) in wanted {
                    let at = format!("{at}/{index}");
                    if index == "$length" {
                        self.values(&at, value, &there.len().into());
                        continue;
                    }
                    let item = index.parse().ok().and_then(|i: usize| there.get(i));
                    match item {
                        Some(actual) => self.values(&at, value, actual),
                        None => self.differ(&at, value, None),
                    }
                }
            }
            (Value::Array(wanted), Value::Array(there)) => {
                for (index, value) in wanted.iter().enumerate() {
                    let at = format!("{at}/{index}");
                    match there.get(index) {
                        Some(actual) => self.values(&at, value, actual),
                        None => self.differ(&at, value, None),
                    }
                }
                // In a partial expectation an empty list means one that is empty.
                let open = self.partial && !wanted.is_empty();
                for (index, value) in there.iter().enumerate().skip(wanted.len()) {
                    if !open {
                        let (file, value) = (&self.file, shown(value));
                        self.found
                            .push(format!("{file} {at}/{index}: not expected: {value}"));
                    }
                }
            }
            (Value::String(wanted), Value::String(there)) if wanted != there => {
                let difference = text_difference(wanted, there);
                let file = &self.file;
                self.found.push(format!("{file} {at}: {difference}"));
            }
            (wanted, there) if wanted != there => self.differ(at, wanted, Some(there)),
            _ => {}
        }
    }

    fn differ(&mut self, at: &str, expected: &Value, actual: Option<&Value>) {
        let actual = actual.map_or("nothing".to_owned(), shown);
        let (file, expected) = (&self.file, shown(expected));
        self.found
            .push(format!("{file} {at}: expected {expected}, got {actual}"));
    }
}

fn compare_stores(expected: &Objects, actual: &Objects, found: &mut Vec<String>) {
    for (key, object) in expected {
        let Some(there) = actual.get(key) else {
            found.push(format!("store: {key} is missing"));
            continue;
        };
        if object.bytes != there.bytes {
            let wanted = String::from_utf8_lossy(&object.bytes);
            let there = String::from_utf8_lossy(&there.bytes);
            let difference = text_difference(&wanted, &there);
            found.push(format!("store: {key}: {difference}"));
        }
        if object.content_type != there.content_type {
            let (wanted, there) = (&object.content_type, &there.content_type);
            found.push(format!(
                "store: {key}: expected content type {wanted:?}, got {there:?}"
            ));
        }
        if folded(&object.metadata) != folded(&there.metadata) {
            let (wanted, there) = (&object.metadata, &there.metadata);
            found.push(format!(
                "store: {key}: expected metadata {wanted:?}, got {there:?}"
            ));
        }
    }
    for key in actual.keys().filter(|key| !expected.contains_key(*key)) {
        found.push(format!("store: {key} is not expected"));
    }
}

/// Metadata of a moved file, whose value is a version.
const HOLDS_A_VERSION: &str = "haversack-copied-version";

fn folded(metadata: &[(String, String)]) -> Vec<(String, &str)> {
    let pairs = metadata.iter();
    let mut folded: Vec<_> = pairs
        .map(|(name, value)| match name.to_lowercase() {
            name if name == HOLDS_A_VERSION => (name, "*"),
            name => (name, value.as_str()),
        })
        .collect();
    folded.sort();
    folded
}

/// The first line in which two texts differ, with its number, and both.
fn text_difference(expected: &str, actual: &str) -> String {
    let mut wanted = expected.split('\n');
    let mut there = actual.split('\n');
    for number in 1.. {
        let (left, right) = (wanted.next(), there.next());
        if left == right && left.is_some() {
            continue;
        }
        let quoted = |line: Option<&str>| match line {
            Some(line) => cut(&format!("{line:?}")),
            None => "the end of the text".to_owned(),
        };
        if number == 1 && wanted.next().is_none() && there.next().is_none() {
            return format!("expected {}, got {}", quoted(left), quoted(right));
        }
        return format!(
            "texts differ at line {number}\n      expected {}\n      actual   {}",
            quoted(left),
            quoted(right)
        );
    }
    String::new()
}

fn shown(value: &Value) -> String {
    cut(&value.to_string())
}

fn cut(text: &str) -> String {
    let mut shown: String = text.chars().take(VALUE_CHARACTERS_MAX).collect();
    if shown.len() < text.len() {
        let _ = write!(shown, "… ({} bytes)", text.len());
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compare(expected: &Value, actual: &Value, partial: bool) -> Vec<String> {
        let mut compared = Comparison::new("1.json".to_owned(), partial);
        compared.values("", &normalised(expected, ""), &normalised(actual, ""));
        compared.found
    }

    #[test]
    fn versions_are_all_one_and_metadata_folds() {
        let left = json!({"version": "a", "metadata": [["sessionKey", "X"]], "current": null});
        let right = json!({"version": "b", "metadata": [["sessionkey", "X"]], "current": null});
        assert_eq!(compare(&left, &right, false), Vec::<String>::new());
        let other = json!({"version": "b", "metadata": [["sessionkey", "x"]], "current": "c"});
        assert_eq!(compare(&left, &other, false).len(), 2);
    }

    #[test]
    fn a_full_comparison_sees_what_a_partial_one_leaves_open() {
        let expected = json!({"ok": {"list": [{"a": 1}]}});
        let actual = json!({"ok": {"list": [{"a": 1, "b": 2}, 3], "c": 4}});
        assert_eq!(compare(&expected, &actual, true), Vec::<String>::new());
        assert_eq!(compare(&expected, &actual, false).len(), 3);
    }

    #[test]
    fn a_partial_comparison_counts_and_indexes() {
        let actual = json!([{"a": 1}, {"a": 2}]);
        let right = json!({"$length": 2, "1": {"a": 2}});
        assert_eq!(compare(&right, &actual, true), Vec::<String>::new());
        let wrong = json!({"$length": 3, "1": {"a": 1}, "7": 0});
        assert_eq!(compare(&wrong, &actual, true).len(), 3);
    }

    #[test]
    fn texts_name_the_first_line_that_differs() {
        let difference = text_difference("a\nb\nc", "a\nx\nc");
        assert!(difference.contains("line 2"), "{difference}");
        assert!(difference.contains("\"b\"") && difference.contains("\"x\""));
        assert!(text_difference("a\n", "a").contains("end of the text"));
    }
}
