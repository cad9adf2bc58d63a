//! The interface `documents`: a face for [`json_member`]. Knows no store.

use serde::{Deserialize, Serialize};

use crate::format::json_member;
use crate::types::Result;

/// The arguments of `set-member`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SetMemberRequest {
    pub document: String,
    pub pointer: String,
    pub value: String,
}

/// Set one member of a JSON document and answer the document; every other byte stays.
pub fn set_member(document: &str, pointer: &str, value: &str) -> Result<String> {
    json_member::set_member(document, pointer, value)
}
