//! One call into the component over the store that the command line names.

use std::path::PathBuf;
use std::sync::Arc;

use haversack_host::Engine;
use haversack_host::store::disk::DiskOptions;
use haversack_host::store::{BlobStore, DiskStore, ErrorCode, MemoryStore};
use serde_json::Value;

use super::Shared;
use super::exit::{Code, Failure};

/// The component, and the store that this run is about.
pub struct Caller {
    engine: Engine,
    store: Arc<dyn BlobStore>,
    /// As the user would name the store, for messages.
    pub location: String,
}

impl Caller {
    /// For calls that need no store.
    pub fn without_store(shared: &Shared) -> anyhow::Result<Self> {
        let engine = Engine::new(shared.engine_options())?;
        Ok(Self {
            engine,
            store: Arc::new(MemoryStore::new(false)),
            location: String::new(),
        })
    }

    /// Over `--store`, or the default for homes of `system`. A missing store is a failure of its own.
    pub fn over_store(shared: &Shared, system: Option<&str>) -> anyhow::Result<Self> {
        let location = match &shared.store {
            Some(location) if location.is_empty() => {
                let message =
                    "--store (or HAVERSACK_STORE) is empty: give a directory, or leave it out";
                return Err(Failure::new(Code::Invalid, message).into());
            }
            Some(location) => location.clone(),
            None => default_location(system),
        };
        let store = open(&location, system)?;
        let engine = Engine::new(shared.engine_options())?;
        Ok(Self {
            engine,
            store,
            location,
        })
    }

    /// Call a function; an error of the contract becomes a [`Failure`] with its message.
    pub async fn call(
        &self,
        interface: &str,
        function: &str,
        arguments: Value,
    ) -> anyhow::Result<Value> {
        let answer = self
            .engine
            .call_json(self.store.clone(), interface, function, &arguments)
            .await?;
        match answer {
            Value::Object(mut members) if members.len() == 1 => {
                if let Some(error) = members.get("error") {
                    return Err(Failure::of_contract(error).into());
                }
                Ok(members.remove("ok").unwrap_or(Value::Object(members)))
            }
            answer => Ok(answer),
        }
    }
}

fn default_location(system: Option<&str>) -> String {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (system, home) {
        (Some("run-agent"), Some(home)) => home.join("run-agent").display().to_string(),
        _ => "./haversack-store".to_owned(),
    }
}

/// The store at an address that a command names.
pub fn open_store(_shared: &Shared, location: &str) -> anyhow::Result<Arc<dyn BlobStore>> {
    open(location, None)
}

/// Hard links are refused for run-agent, whose reference does not allow them.
fn open(location: &str, system: Option<&str>) -> anyhow::Result<Arc<dyn BlobStore>> {
    let path = match location.split_once("://") {
        None => PathBuf::from(location),
        Some(("file", path)) if path.starts_with('/') && !path.contains('%') => PathBuf::from(path),
        Some(("file", _)) => {
            let message =
                format!("store {location}: write the directory's path instead of this URL");
            return Err(Failure::new(Code::Invalid, message).into());
        }
        Some((scheme, _)) => {
            return Err(Failure::new(
                Code::NoStore,
                format!("store {location}: this version opens directories and file:///… URLs, not {scheme}://"),
            )
            .into());
        }
    };
    let options = DiskOptions {
        deny_hard_links: system == Some("run-agent"),
        ..DiskOptions::default()
    };
    match DiskStore::open_with(&path, options) {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => {
            let code = match error.code {
                ErrorCode::Denied => Code::Unreadable,
                ErrorCode::Unsupported => Code::Unsupported,
                _ => Code::NoStore,
            };
            Err(Failure::new(code, error.message).into())
        }
    }
}
