//! `haversack:core/documents`.

use haversack_core::ops::documents;

use crate::Component;
use crate::exports::haversack::core::documents as wit;
use crate::types::result;

impl wit::Guest for Component {
    fn set_member(document: String, pointer: String, value: String) -> Result<String, wit::Error> {
        result(documents::set_member(&document, &pointer, &value))
    }
}
