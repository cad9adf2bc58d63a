//! The component imports the blob store and nothing else, the first invariant, and exports the contract: both
//! held to golden files.

use haversack_host::{COMPONENT, Engine, EngineOptions};

#[test]
fn the_component_has_exactly_one_import() {
    let golden = include_str!("golden/imports.txt");
    let engine = Engine::new(EngineOptions::default()).expect("an engine");
    let printed: String = engine
        .import_names()
        .iter()
        .map(|name| format!("{name}\n"))
        .collect();
    assert_eq!(printed, golden);
}

#[test]
fn the_component_exports_what_the_contract_says() {
    let engine = Engine::new(EngineOptions::default()).expect("an engine");
    let printed: String = engine
        .export_names()
        .iter()
        .map(|name| format!("{name}\n"))
        .collect();
    assert_eq!(printed, include_str!("golden/exports.txt"));
}

/// This keeps it from growing unseen. It was 734 kB with layouts, prompts and skills; memory and files added
/// 188 kB: regular expressions, edits by compare-and-swap, and the conversions of two more interfaces. Sessions,
/// compaction and media added 651 kB: the log in both its forms, gzip both ways, the JSON of messages,
/// states and records, and the conversions of eighteen functions. Sessions that a host keeps itself added 43 kB:
/// pages, and the log that is extended by compare-and-swap. Memory of hi-boss added 101 kB: its snapshot, tables
/// of secrets, and the conversions of six functions. Chat logs of moltbot added 87 kB.
#[test]
fn the_component_is_small() {
    assert!(COMPONENT.len() < 1_885_000, "{} bytes", COMPONENT.len());
}
