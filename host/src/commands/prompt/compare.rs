//! `haversack prompt compare`: which section broke the cache prefix.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::exit::{Code, Failure};
use crate::commands::{output, read_text};

#[derive(Debug, Args)]
pub struct Compare {
    /// What `haversack prompt … --json` printed, then
    before: PathBuf,
    /// … and now
    after: PathBuf,
}

impl Compare {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let arguments =
            json!({ "before": manifest(&self.before)?, "after": manifest(&self.after)? });
        let comparison = Caller::without_store(shared)?
            .call("prompt", "compare", arguments)
            .await?;
        if shared.json {
            return output::json(&comparison);
        }
        let shared_bytes = &comparison["shared-bytes"];
        match &comparison["first"] {
            Value::Null => output::text(&format!("the same: all {shared_bytes} bytes")),
            first => {
                let message = output::plain(first["message"].as_str().unwrap_or_default());
                output::text(&format!(
                    "the cache holds for {shared_bytes} bytes, up to section {}:\n{message}",
                    first["index"]
                ))
            }
        }
    }
}

/// The manifest out of a whole answer, or a file that is a manifest itself.
fn manifest(file: &Path) -> anyhow::Result<Value> {
    let wrong = |what: String| Failure::new(Code::Invalid, format!("{}: {what}", file.display()));
    let mut value: Value = serde_json::from_str(&read_text(file)?)
        .map_err(|error| wrong(format!("is not JSON: {error}")))?;
    if value.get("sections").is_some() {
        return Ok(value);
    }
    match value.get_mut("manifest") {
        Some(manifest) => Ok(manifest.take()),
        None => Err(
            wrong("holds no manifest; make it with `haversack prompt HOME --json`".into()).into(),
        ),
    }
}
