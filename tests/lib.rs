//! tests
pub mod store_calls;
pub mod table;
