//! haversack's host for Rust programs: the component under wasmtime, and the stores to wire it to.
//!
//! [`Engine`] calls into the component; [`store`] holds the blob stores; [`media`] moves bytes that the component
//! only plans for.

pub mod archive;
pub mod bindings;
mod cache;
pub mod contract;
mod engine;
pub mod hydrate;
mod imports;
pub mod json;
pub mod media;
mod owner;
#[cfg(target_os = "linux")]
pub mod sandbox;
pub mod serve;
pub mod store;
pub mod sync;
pub mod transfer;

pub use engine::{COMPONENT, CallError, Context, Engine, EngineOptions};
pub use owner::Owner;
