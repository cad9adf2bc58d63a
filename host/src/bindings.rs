//! The WIT worlds as Rust types, made by wasmtime's `bindgen!`. No logic.
//!
//! `blobs` holds the types that every store in this crate speaks; `exports` calls into the component.

wasmtime::component::bindgen!({
    path: ["../wit/store", "../wit/core"],
    world: "haversack:core/haversack",
    imports: { default: async | trappable },
    exports: { default: async },
    additional_derives: [Clone, PartialEq],
});

pub use exports::haversack::core as exported;
pub use haversack::store::blobs;
