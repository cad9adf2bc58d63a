//! One call into the component over the store that the command line names.

use std::path::PathBuf;
use std::sync::Arc;

use haversack_host::Engine;
use haversack_host::store::{BlobStore, MemoryStore};
use serde_json::Value;

use super::Shared;
use super::exit::{Code, Failure};
use super::open::{BucketFlags, open};

/// The component, and the store that this run is about.
pub struct Caller {
    pub engine: Engine,
    pub store: Arc<dyn BlobStore>,
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
        let location = location(shared, system)?;
        let store = open(&location, &shared.bucket, system)?;
        let engine = Engine::new(shared.engine_options())?;
        Ok(Self {
            engine,
            store,
            location,
        })
    }

    /// Over a store that a command names beside `--store`.
    pub fn over(shared: &Shared, location: &str, flags: &BucketFlags) -> anyhow::Result<Self> {
        let store = open(location, flags, None)?;
        let engine = Engine::new(shared.engine_options())?;
        Ok(Self {
            engine,
            store,
            location: location.to_owned(),
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

/// What `--store` says, or the default for homes of `system`.
pub fn location(shared: &Shared, system: Option<&str>) -> anyhow::Result<String> {
    match &shared.store {
        Some(location) if location.is_empty() => {
            let message = "--store (or HAVERSACK_STORE) is empty: give a directory or a bucket's URL, or leave it out";
            Err(Failure::new(Code::Invalid, message).into())
        }
        Some(location) => Ok(location.clone()),
        None => Ok(default_location(system)),
    }
}

fn default_location(system: Option<&str>) -> String {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (system, home) {
        (Some("run-agent"), Some(home)) => home.join("run-agent").display().to_string(),
        _ => "./haversack-store".to_owned(),
    }
}
