//! What is asked of every text that is remembered, and said of a file that grows too large for a prompt. Knows no
//! system.

use crate::format::text::trim;
use crate::limits::{MEMORY_TEXT_BYTES_MAX, WORKSPACE_FILE_BYTES_MAX};
use crate::types::{Error, Problem, ProblemKind, Result};

/// What files of memory are.
pub const CONTENT_TYPE: &str = "text/markdown; charset=utf-8";

/// `invalid` for a blank text, `too-large` over the limit.
pub fn check_text(text: &str) -> Result<()> {
    if trim(text).is_empty() {
        return Err(Error::invalid(
            "the text is blank: there is nothing to remember",
        ));
    }
    if text.len() > MEMORY_TEXT_BYTES_MAX {
        return Err(Error::too_large(format!(
            "the text has {} bytes, over {MEMORY_TEXT_BYTES_MAX}; append it in parts",
            text.len()
        )));
    }
    Ok(())
}

/// A prompt reads the first MiB of a file.
pub fn near_limit(key: &str, size_bytes: u64) -> Vec<Problem> {
    let limit = WORKSPACE_FILE_BYTES_MAX;
    if size_bytes <= limit {
        return Vec::new();
    }
    let message = format!(
        "is {size_bytes} bytes long, and a prompt reads {limit} of a file: move older sections to another file"
    );
    vec![Problem::new(ProblemKind::NearLimit, key, message)]
}
