//! The refusal of what looks like a secret: names lines and kinds, never the secret.

use crate::limits::SECRETS_NAMED_MAX;
use crate::transform::secrets::{Secret, find};
use crate::types::{Error, Result};

/// `invalid` when a line of `text` looks like a secret, unless the caller insists.
pub fn check(text: &str, allowed: bool) -> Result<()> {
    if allowed {
        return Ok(());
    }
    refuse(&find(text))
}

/// `invalid` when there are any.
pub fn refuse(found: &[Secret]) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let named = found.iter().take(SECRETS_NAMED_MAX);
    let named: Vec<String> = named
        .map(|secret| format!("line {} looks like {}", secret.line, secret.what))
        .collect();
    let more = match found.len().saturating_sub(SECRETS_NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more lines"),
    };
    Err(Error::invalid(format!(
        "{}{more}: memory must not hold secrets, and nothing was written; say where it is kept instead, or insist \
         with allow-secrets",
        named.join(", ")
    )))
}
