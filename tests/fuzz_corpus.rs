//! Replays the corpora of fuzz/ on the pinned compiler: what a fuzzer once found stays found.

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::path::Path;

/// Run every input of a target's corpus; the name of the one that fails is printed before it runs.
fn replay(target: &str, run: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fuzz/corpus")
        .join(target);
    let mut inputs: Vec<_> = corpus
        .read_dir()
        .expect("the corpus is committed")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    inputs.sort();
    assert!(
        inputs.len() >= 5,
        "{} holds only {} inputs",
        corpus.display(),
        inputs.len()
    );
    for input in inputs {
        println!("{}", input.display());
        run(&std::fs::read(&input).expect("a corpus file"));
    }
}

#[test]
fn front_matter() {
    replay("front_matter", targets::front_matter);
}

#[test]
fn keys() {
    replay("keys", targets::keys);
}

#[test]
fn prompt_request() {
    replay("prompt_request", targets::prompt_request);
}
