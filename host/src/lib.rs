//! haversack's host for Rust programs: the component under wasmtime, and the stores to wire it to.
pub mod bindings;
pub mod contract;
pub mod store;
