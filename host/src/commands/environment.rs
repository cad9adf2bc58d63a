//! Against what skills are shown: hosts, settings and configuration from files, and this machine itself.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde_json::{Map, Value, json};

use super::read_text;

#[derive(Debug, Args)]
pub struct EnvironmentOptions {
    /// JSON file with `hosts` and `settings` for skills, in the form of the WIT record `environment`
    #[arg(long, value_name = "FILE")]
    environment: Option<PathBuf>,

    /// The gateway's configuration, a JSON file, for skills that require parts of it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Count this machine as a host: its operating system, programs on PATH, names of its variables
    #[arg(long)]
    this_host: bool,
}

impl EnvironmentOptions {
    /// Lay what the options say over `base`, which comes from a JSON request.
    pub fn over(&self, base: Value) -> anyhow::Result<Value> {
        let mut environment = match (&self.environment, base) {
            (Some(file), _) => serde_json::from_str(&read_text(file)?)
                .with_context(|| format!("{} is not JSON", file.display()))?,
            (None, Value::Null) => json!({}),
            (None, base) => base,
        };
        let Value::Object(members) = &mut environment else {
            anyhow::bail!("the environment is not a JSON object with hosts and settings");
        };
        if let Some(config) = &self.config {
            members.insert("config-json".into(), json!(read_text(config)?));
        }
        if self.this_host {
            add_host(members);
        }
        Ok(environment)
    }
}

fn add_host(members: &mut Map<String, Value>) {
    let hosts = members.entry("hosts").or_insert_with(|| json!([]));
    if let Value::Array(hosts) = hosts {
        hosts.push(this_host());
    }
}

/// Names are those that Node's `process.platform` gives, as skill files use them.
fn this_host() -> Value {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        os => os,
    };
    let names = std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .collect::<Vec<_>>();
    json!({
        "id": "this-host",
        "role": "execution",
        "os": os,
        "capabilities": [
            "filesystem.list", "filesystem.read", "filesystem.write", "filesystem.edit", "text.search", "shell.exec"
        ],
        "env": names,
        "bins": programs(),
    })
}

/// Executable files on PATH, by name, each once.
fn programs() -> Vec<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut names: Vec<String> = std::env::split_paths(&path)
        .filter_map(|directory| std::fs::read_dir(directory).ok())
        .flat_map(|entries| entries.flatten())
        .filter(|entry| is_executable(&entry.path()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}
