//! The hosts that the corpus runs on, one file each, behind one trait.

pub mod native;
pub mod wasmtime;

use anyhow::Result;

use crate::case::{Case, Outcome};

/// A host of the core: makes a case's calls over a store of its own.
pub trait Adapter: Send + Sync {
    fn name(&self) -> &'static str;

    /// Put the case's objects into a new store, make its calls in order, and say what came of it.
    /// An error means that the host or the adapter broke (a trap, arguments that do not fit).
    fn run(&self, case: &Case) -> Result<Outcome>;
}

/// An adapter, or why it cannot run here.
pub struct Slot {
    pub name: &'static str,
    pub adapter: Result<Box<dyn Adapter>, String>,
}

/// Every adapter, in the order of the table. `native` comes first: it is the one that blesses.
pub fn all() -> Vec<Slot> {
    vec![
        Slot {
            name: "native",
            adapter: Ok(Box::new(native::Native)),
        },
        Slot {
            name: "wasmtime",
            adapter: wasmtime::adapter(),
        },
    ]
}
