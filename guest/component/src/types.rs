//! `haversack:core/types`.

use haversack_core::types as core;

use crate::convert::{Convert, cases, record};
use crate::exports::haversack::core::types as wit;

cases!(core::ErrorCode => wit::ErrorCode {
    Invalid, NotFound, Unsupported, Conflict, TooLarge, Denied, Unavailable, Other,
});
cases!(core::ProblemKind => wit::ProblemKind { Unreadable, Repaired, Truncated, Skipped, NearLimit });
record!(wit::Home => core::Home { system, id });
record!(core::Home => wit::Home { system, id });
record!(wit::Session => core::Session { home, session_key });
record!(core::Error => wit::Error { code, message, key, retry_after_ms, current });
record!(core::Cost => wit::Cost { waves, requests, bytes_read, bytes_written });
record!(core::Problem => wit::Problem { kind, key, line, message });

/// An answer of the core as the contract's result.
pub fn result<A: Convert<B>, B>(answer: core::Result<A>) -> Result<B, wit::Error> {
    answer.map(Convert::convert).map_err(Convert::convert)
}
