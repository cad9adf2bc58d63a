//! `--tier`: a preset by name, or limits as JSON. Whether there is such a preset is the component's to say.

use serde_json::{Value, json};

/// The variant `tier` of the contract.
pub fn tier(text: &str) -> Result<Value, String> {
    if !text.starts_with('{') {
        return Ok(json!({ "preset": text }));
    }
    let limits: Value = serde_json::from_str(text).map_err(|error| {
        format!("{error}; write limits like {{\"storage-bytes\":5000000000,\"history-days\":90}}")
    })?;
    Ok(json!({ "custom": limits }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_is_a_name_or_limits() {
        assert_eq!(tier("pro"), Ok(json!({ "preset": "pro" })));
        let custom = json!({ "custom": { "storage-bytes": 5 } });
        assert_eq!(tier("{\"storage-bytes\":5}"), Ok(custom));
        assert!(tier("{5}").is_err_and(|error| error.contains("history-days")));
    }
}
