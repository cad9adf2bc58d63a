//! Calls the core's Rust functions directly, over the recording memory store.

use anyhow::Result;
use serde_json::Value;

use super::Adapter;
use crate::case::{Case, Outcome};
use crate::memory::MemoryStore;

pub struct Native;

impl Adapter for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn has(&self, _call: &str) -> bool {
        false
    }

    fn run(&self, case: &Case) -> Result<Outcome> {
        let store = MemoryStore::of(case);
        let mut answers: Vec<Value> = Vec::new();
        for call in &case.calls {
            let _args = call.args_after(&answers)?;
            anyhow::bail!("native does not have {}", call.call);
        }
        Ok(Outcome {
            answers: std::mem::take(&mut answers),
            store_after: store.objects(),
            store_calls: store.calls(),
        })
    }
}
