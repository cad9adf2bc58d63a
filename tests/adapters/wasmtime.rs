//! Runs the embedded component through `haversack_host`, over the recording memory store.

use super::Adapter;

/// The adapter, once the host library has an engine.
pub fn adapter() -> Result<Box<dyn Adapter>, String> {
    Err("haversack_host has no engine yet".to_owned())
}
