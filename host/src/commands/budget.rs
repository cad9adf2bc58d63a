//! A truncation policy from the command line, and JSON files that it may name.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::exit::{Code, Failure};
use super::read_text;

/// A preset by name, else a policy from a file.
pub fn budget(text: &str) -> anyhow::Result<Value> {
    let names_a_file = text.ends_with(".json") || text.contains(std::path::MAIN_SEPARATOR);
    if !names_a_file {
        return Ok(json!({ "preset": text }));
    }
    let policy = parse(&read_text(&PathBuf::from(text))?, text)?;
    Ok(json!({ "custom": policy }))
}

/// JSON from a file that messages call `name`.
pub fn parse(text: &str, name: &str) -> anyhow::Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| Failure::new(Code::Invalid, format!("{name} is not JSON: {error}")).into())
}
