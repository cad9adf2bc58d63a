//! One case folder, read: what lies in the store, which calls are made, what is expected. Owns the
//! meaning of `$file`, `$concat` and `$answer`; knows no adapter. Format: `tests/README.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

/// An object as a case puts it into the store, or finds it there afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Object {
    pub bytes: Vec<u8>,
    pub content_type: Option<String>,
    pub metadata: Vec<(String, String)>,
}

/// The objects of a store, by key.
pub type Objects = BTreeMap<String, Object>;

/// Requests about `key` fail; lists whose prefix is `list` fail.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Failure {
    pub key: Option<String>,
    pub list: Option<String>,
    pub code: String,
    pub message: String,
    pub retry_after_ms: Option<u32>,
}

/// Something that every list that covers it reports as skipped, like a symbolic link.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    pub key: String,
    pub cause: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct StoreSettings {
    pub append: bool,
    pub page_size: Option<u32>,
    pub fail: Vec<Failure>,
    pub skipped: Vec<Skipped>,
}

/// One call; `args` has its files in place, and may still hold `$answer`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// `interface.function`, such as `prompt.assemble`.
    pub call: String,
    #[serde(default)]
    pub args: Value,
}

/// What must be answered to one call.
#[derive(Debug, Clone)]
pub struct Expected {
    pub value: Value,
    /// Only the members that are present are compared.
    pub partial: bool,
    /// Partial for good, for a reason that the file states: `BLESS` leaves it alone.
    pub stays_partial: bool,
}

#[derive(Debug, Clone)]
pub struct Case {
    pub name: String,
    pub folder: PathBuf,
    pub settings: StoreSettings,
    pub objects: Objects,
    pub calls: Vec<Call>,
}

/// What an adapter observed.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// One for each call, `{"ok": …}` or `{"error": …}`.
    pub answers: Vec<Value>,
    pub store_after: Objects,
    /// Every call that reached the store, in order, as `record.rs` writes them.
    pub store_calls: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestFile {
    #[serde(default)]
    store: StoreSettings,
    #[serde(default)]
    objects: Vec<ObjectSpec>,
    calls: Vec<Call>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ObjectSpec {
    key: String,
    content_type: Option<String>,
    #[serde(default)]
    metadata: Vec<(String, String)>,
    text: Option<String>,
    base64: Option<String>,
    repeat: Option<Repeat>,
    count: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeat {
    text: String,
    times: usize,
}

impl Case {
    pub fn load(folder: &Path) -> Result<Self> {
        let name = folder.file_name().and_then(|n| n.to_str());
        let name = name.context("a case needs a name in UTF-8")?.to_owned();
        Self::load_named(folder, name.clone()).with_context(|| format!("case {name}"))
    }

    fn load_named(folder: &Path, name: String) -> Result<Self> {
        let readme = fs::read_to_string(folder.join("README.md")).context("README.md")?;
        ensure!(
            readme.lines().any(|line| line.starts_with("> ")),
            "README.md quotes no sentence: it needs a line that begins with `> `"
        );
        let text = fs::read_to_string(folder.join("request.json")).context("request.json")?;
        let request: RequestFile = serde_json::from_str(&text).context("request.json")?;
        ensure!(!request.calls.is_empty(), "request.json makes no calls");

        let mut objects = read_tree(&folder.join("store"))?;
        for spec in request.objects {
            spec.expand_into(&mut objects)?;
        }
        let mut calls = request.calls;
        for call in &mut calls {
            call.args = resolve(&call.args, folder)?;
        }
        Ok(Self {
            name,
            folder: folder.to_owned(),
            settings: request.store,
            objects,
            calls,
        })
    }

    pub fn expected_folder(&self) -> PathBuf {
        self.folder.join("expected")
    }

    /// What `expected/{number}.json` says, counted from 1; none when there is no such file.
    pub fn expected(&self, number: usize) -> Result<Option<Expected>> {
        let folder = self.expected_folder();
        read_expected(&folder.join(format!("{number}.json")), &folder)
    }

    /// What `expected/calls.json` says, where there is one.
    pub fn expected_calls(&self) -> Result<Option<Expected>> {
        let folder = self.expected_folder();
        let Some(mut expected) = read_expected(&folder.join("calls.json"), &folder)? else {
            return Ok(None);
        };
        if let Value::Object(mut members) = expected.value {
            expected.value = members.remove("calls").context("calls.json has no calls")?;
        }
        Ok(Some(expected))
    }

    /// The store afterwards: what `expected/store/` holds, else what the case began with.
    pub fn expected_store(&self) -> Result<Objects> {
        let folder = self.expected_folder().join("store");
        if !folder.exists() {
            return Ok(self.objects.clone());
        }
        let mut objects = read_tree(&folder)?;
        let described = self.expected_folder().join("objects.json");
        if described.exists() {
            let specs: Vec<ObjectSpec> = serde_json::from_str(&fs::read_to_string(described)?)?;
            for spec in specs {
                if spec.text.is_some() || spec.base64.is_some() || spec.repeat.is_some() {
                    spec.expand_into(&mut objects)?;
                } else if let Some(object) = objects.get_mut(&spec.key) {
                    object.content_type = spec.content_type;
                    object.metadata = spec.metadata;
                } else {
                    bail!("objects.json: no object {} in expected/store", spec.key);
                }
            }
        }
        Ok(objects)
    }
}

impl ObjectSpec {
    fn expand_into(self, objects: &mut Objects) -> Result<()> {
        let bytes = match (self.text, self.base64, self.repeat) {
            (Some(text), None, None) => text.into_bytes(),
            (None, Some(text), None) => from_base64(&text)?,
            (None, None, Some(repeat)) => repeat.text.repeat(repeat.times).into_bytes(),
            _ => bail!("object {}: exactly one of text, base64, repeat", self.key),
        };
        let object = Object {
            bytes,
            content_type: self.content_type,
            metadata: self.metadata,
        };
        let Some(count) = self.count else {
            objects.insert(self.key, object);
            return Ok(());
        };
        ensure!(
            self.key.contains("{n}"),
            "object {}: no {{n}} in a counted key",
            self.key
        );
        let width = count.to_string().len();
        for n in 1..=count {
            let key = self.key.replace("{n}", &format!("{n:0width$}"));
            objects.insert(key, object.clone());
        }
        Ok(())
    }
}

impl Call {
    /// The arguments, with parts of earlier answers in place.
    pub fn args_after(&self, answers: &[Value]) -> Result<Value> {
        replace(&self.args, &mut |members| {
            let Some(number) = members.get("$answer") else {
                return Ok(None);
            };
            let number = number.as_u64().context("$answer is not a number")? as usize;
            let path = members.get("path").and_then(Value::as_str).unwrap_or("");
            let answer = number.checked_sub(1).and_then(|index| answers.get(index));
            let part = answer.and_then(|answer| answer.pointer(path));
            let part = part.ok_or_else(|| anyhow!("answer {number} has no {path}"))?;
            Ok(Some(part.clone()))
        })
    }
}

fn read_expected(path: &Path, folder: &Path) -> Result<Option<Expected>> {
    if !path.exists() {
        return Ok(None);
    }
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let value: Value = serde_json::from_str(&fs::read_to_string(path)?)
        .with_context(|| format!("expected/{file}"))?;
    let mut value = resolve(&value, folder).with_context(|| format!("expected/{file}"))?;
    let mark = value.as_object_mut().and_then(|m| m.remove("$partial"));
    let (partial, stays_partial) = match mark {
        None => (false, false),
        Some(Value::Bool(true)) => (true, false),
        Some(Value::String(_)) => (true, true),
        Some(other) => bail!("expected/{file}: $partial is true or a reason, not {other}"),
    };
    Ok(Some(Expected {
        value,
        partial,
        stays_partial,
    }))
}

/// Put the text of files (`$file`) and generated text (`$concat`) in place.
fn resolve(value: &Value, folder: &Path) -> Result<Value> {
    replace(value, &mut |members| {
        if let Some(name) = members.get("$file").and_then(Value::as_str) {
            let text = fs::read_to_string(folder.join(name))
                .with_context(|| format!("$file {name} in {}", folder.display()))?;
            return Ok(Some(Value::String(text)));
        }
        let Some(parts) = members.get("$concat").and_then(Value::as_array) else {
            return Ok(None);
        };
        let mut text = String::new();
        for part in parts {
            match part {
                Value::String(literal) => text.push_str(literal),
                generated => {
                    let repeat = Repeat::deserialize(generated).context("$concat")?;
                    text.push_str(&repeat.text.repeat(repeat.times));
                }
            }
        }
        Ok(Some(Value::String(text)))
    })
}

type Members = serde_json::Map<String, Value>;

/// A copy in which every object that `with` answers for is replaced by the answer.
fn replace(
    value: &Value,
    with: &mut impl FnMut(&Members) -> Result<Option<Value>>,
) -> Result<Value> {
    Ok(match value {
        Value::Object(members) => match with(members)? {
            Some(replaced) => replaced,
            None => {
                let mut copy = Members::new();
                for (name, member) in members {
                    copy.insert(name.clone(), replace(member, with)?);
                }
                Value::Object(copy)
            }
        },
        Value::Array(items) => {
            let items: Result<_> = items.iter().map(|item| replace(item, with)).collect();
            Value::Array(items?)
        }
        other => other.clone(),
    })
}

/// The files below a folder, by path with `/`; nothing when there is no folder.
fn read_tree(root: &Path) -> Result<Objects> {
    let mut objects = Objects::new();
    let mut waiting = vec![(root.to_owned(), String::new())];
    while let Some((folder, prefix)) = waiting.pop() {
        if !folder.exists() {
            continue;
        }
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_str().context("a file's name is not UTF-8")?;
            let key = format!("{prefix}{name}");
            if entry.file_type()?.is_dir() {
                waiting.push((entry.path(), format!("{key}/")));
            } else {
                let object = Object {
                    bytes: fs::read(entry.path())?,
                    ..Object::default()
                };
                objects.insert(key, object);
            }
        }
    }
    Ok(objects)
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes as base64 with padding, as the JSON form of `list<u8>` has them.
pub fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for place in 0..4 {
            let index = (bits >> (18 - 6 * place)) & 63;
            let kept = place <= chunk.len();
            text.push(if kept {
                BASE64[index as usize].into()
            } else {
                '='
            });
        }
    }
    text
}

/// The inverse of [`to_base64`].
pub fn from_base64(text: &str) -> Result<Vec<u8>> {
    ensure!(
        text.len().is_multiple_of(4),
        "base64 of length {}",
        text.len()
    );
    let mut bytes = Vec::new();
    for group in text.as_bytes().chunks(4) {
        let kept = group.iter().take_while(|byte| **byte != b'=').count();
        ensure!(kept >= 2, "base64 group of {kept}");
        let mut bits = 0;
        for byte in &group[..kept] {
            let index = BASE64.iter().position(|letter| letter == byte);
            bits = bits << 6 | index.context("not a base64 letter")? as u32;
        }
        bits <<= 6 * (4 - kept);
        bytes.extend_from_slice(&bits.to_be_bytes()[1..kept]);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_its_own_inverse() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"a", "YQ=="),
            (b"ab", "YWI="),
            (b"abc", "YWJj"),
            (b"\xff\xfe\x00\xef", "//4A7w=="),
        ] {
            assert_eq!(to_base64(bytes), text);
            assert_eq!(from_base64(text).unwrap(), bytes);
        }
        assert!(from_base64("YQ=").is_err());
        assert!(from_base64("Y===").is_err());
    }
}
