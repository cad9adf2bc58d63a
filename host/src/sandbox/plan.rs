//! What the component's `threads.sandbox` answers, as far as a host needs it. No logic.

use std::path::PathBuf;

use serde::Deserialize;

/// `sandbox-answer` of `wit/core/threads.wit`, which says what the members are.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Plan {
    pub root: PathBuf,
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
    pub binds: Vec<Bind>,
    pub copies: Vec<Copied>,
    pub directories: Vec<PathBuf>,
    pub links: Vec<(PathBuf, PathBuf)>,
    pub mount_points: Vec<PathBuf>,
}

#[derive(Debug, Deserialize)]
pub struct Bind {
    pub host: PathBuf,
    pub path: String,
    pub kind: String,
}

#[derive(Debug, Deserialize)]
pub struct Copied {
    pub prefix: String,
    pub host: PathBuf,
}
