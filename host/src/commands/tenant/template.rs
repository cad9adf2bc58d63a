//! `--template`: the files of a directory as a new user's. What a template may hold is the component's to say.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::commands::exit::{Code, Failure};

/// Far over what a template may have; more is not even read.
const BYTES_MAX: u64 = 16 << 20;

#[derive(Debug, Args)]
pub struct Template {
    /// A directory with the config/, skills/ and workspace/ that a new user begins with
    #[arg(long, value_name = "DIR")]
    template: Option<PathBuf>,
}

impl Template {
    /// As the contract takes it, in the order of paths; nothing without a directory.
    pub fn read(&self) -> anyhow::Result<Value> {
        let Some(root) = &self.template else {
            return Ok(json!([]));
        };
        let mut files = Vec::new();
        let mut bytes = 0;
        let mut directories = vec![root.clone()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).map_err(|error| failed(&directory, &error))? {
                let path = entry.map_err(|error| failed(&directory, &error))?.path();
                let metadata =
                    fs::symlink_metadata(&path).map_err(|error| failed(&path, &error))?;
                if metadata.is_dir() {
                    directories.push(path);
                    continue;
                }
                if !metadata.is_file() {
                    let what = format!(
                        "{} is no file; a template has files and directories, and links are never followed",
                        path.display()
                    );
                    return Err(Failure::new(Code::Invalid, what).into());
                }
                bytes += metadata.len();
                if bytes > BYTES_MAX {
                    let what = format!(
                        "{} has more than a template may have: 4 MiB",
                        root.display()
                    );
                    return Err(Failure::new(Code::TooLarge, what).into());
                }
                let text = fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
                files.push((name(root, &path)?, text));
            }
        }
        files.sort();
        let file = |(path, text)| json!({ "path": path, "text": text });
        Ok(files.into_iter().map(file).collect())
    }
}

fn name(root: &Path, path: &Path) -> anyhow::Result<String> {
    let below = path.strip_prefix(root)?.iter();
    let names: Option<Vec<&str>> = below.map(|name| name.to_str()).collect();
    let what = || format!("{} has a name that is not UTF-8", path.display());
    let names = names.ok_or_else(|| Failure::new(Code::Invalid, what()))?;
    Ok(names.join("/"))
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot read the template's {}: {error}", path.display());
    Failure::new(Code::of_io(error), message)
}
