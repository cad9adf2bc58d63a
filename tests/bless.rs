//! `BLESS=1`: what the native adapter answered becomes what is expected. Reviewed as a diff, so it
//! touches nothing that already says the same.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::case::{Case, Object, Outcome};
use crate::compare::normalised;

/// A text that is longer is not kept in a file: the expectation generates it with `$concat`.
const TEXT_FILE_BYTES_MAX: usize = 128 << 10;

/// Rewrite `expected/` of a case, and name the files that changed.
pub fn bless(case: &Case, outcome: &Outcome) -> Result<Vec<String>> {
    let folder = case.expected_folder();
    fs::create_dir_all(&folder)?;
    let mut changed = Vec::new();
    for (index, answer) in outcome.answers.iter().enumerate() {
        let number = index + 1;
        if let Some(expected) = case.expected(number)? {
            let same = normalised(&expected.value, "") == normalised(answer, "");
            if expected.stays_partial || (same && !expected.partial) {
                continue;
            }
        }
        let kept_text = format!("{number}.text");
        let mut answer = normalised(answer, "");
        let text = match answer.get_mut("ok") {
            Some(Value::Object(record)) => record.get_mut("text"),
            Some(ok) if ok.as_str().is_some_and(|text| text.contains('\n')) => Some(ok),
            _ => None,
        };
        if let Some(place) = text.filter(|text| text.is_string()) {
            let text = place.as_str().unwrap_or_default().to_owned();
            ensure!(
                text.len() <= TEXT_FILE_BYTES_MAX,
                "{}: answer {number} has a text of {} bytes; expect it by hand, with $concat",
                case.name,
                text.len()
            );
            *place = serde_json::json!({ "$file": kept_text });
            write_changed(&folder, &kept_text, text.as_bytes(), &mut changed)?;
        } else if folder.join(&kept_text).exists() {
            fs::remove_file(folder.join(&kept_text))?;
            changed.push(kept_text);
        }
        write_json(&folder, &format!("{number}.json"), &answer, &mut changed)?;
    }
    bless_calls(case, outcome, &folder, &mut changed)?;
    bless_store(case, outcome, &folder, &mut changed)?;
    Ok(changed)
}

/// Only where the case has asked for it: the order of calls is rarely the point.
fn bless_calls(
    case: &Case,
    outcome: &Outcome,
    folder: &Path,
    changed: &mut Vec<String>,
) -> Result<()> {
    match case.expected_calls()? {
        Some(expected) if !expected.stays_partial => {
            let calls = normalised(&Value::Array(outcome.store_calls.clone()), "");
            write_json(folder, "calls.json", &calls, changed)
        }
        _ => Ok(()),
    }
}

fn bless_store(
    case: &Case,
    outcome: &Outcome,
    folder: &Path,
    changed: &mut Vec<String>,
) -> Result<()> {
    if case.expected_store()? == outcome.store_after {
        return Ok(());
    }
    let root = folder.join("store");
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    changed.push("store/".to_owned());
    if outcome.store_after == case.objects {
        return Ok(());
    }
    fs::create_dir_all(&root)?;
    let described = |object: &Object| object.content_type.is_some() || !object.metadata.is_empty();
    let mut objects = Vec::new();
    for (key, object) in &outcome.store_after {
        let path = root.join(key);
        fs::create_dir_all(path.parent().unwrap_or(&root))?;
        fs::write(path, &object.bytes)?;
        if described(object) {
            objects.push(serde_json::json!({
                "key": key,
                "content-type": object.content_type,
                "metadata": object.metadata,
            }));
        }
    }
    if !objects.is_empty() {
        write_json(folder, "objects.json", &Value::Array(objects), changed)?;
    }
    Ok(())
}

fn write_json(folder: &Path, name: &str, value: &Value, changed: &mut Vec<String>) -> Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    write_changed(folder, name, text.as_bytes(), changed)
}

fn write_changed(folder: &Path, name: &str, bytes: &[u8], changed: &mut Vec<String>) -> Result<()> {
    let path = folder.join(name);
    if fs::read(&path).ok().as_deref() != Some(bytes) {
        fs::write(path, bytes)?;
        changed.push(name.to_owned());
    }
    Ok(())
}
