//! README.md is true: its example commands print what it says, and its main command works.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).expect("README.md")
}

/// A store of the test's own that holds what the example store holds, because some examples write.
fn store() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let to = folder.path().to_str().expect("UTF-8");
    run(
        Path::new("examples/store"),
        &["store", "copy", "examples/store", to],
    );
    folder
}

fn run(store: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_haversack"))
        .args(arguments)
        .current_dir(root())
        .env("HAVERSACK_STORE", store)
        .output()
        .expect("haversack starts");
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Ids of sessions are made from the request id; README.md says `SESSION` for each.
fn without_ids(text: &str) -> String {
    let is_id = |word: &str| word.len() == 36 && word.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    let is_part = |c: char| c.is_ascii_hexdigit() || c == '-';
    text.split_inclusive(|c: char| !is_part(c))
        .map(|word| {
            let id = word.trim_end_matches(|c: char| !is_part(c));
            if is_id(id) {
                word.replace(id, "SESSION")
            } else {
                word.to_owned()
            }
        })
        .collect()
}

/// Every `$ haversack …` of a console block, with the lines under it.
#[test]
fn console_examples_print_what_they_say() {
    let readme = readme();
    let store = store();
    let mut examples = 0;
    for block in readme
        .split("```console\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
    {
        for example in block.split("$ haversack ").skip(1) {
            let (command, expected) = example.split_once('\n').expect("a line of output");
            assert_eq!(
                without_ids(&run(store.path(), &command.split(' ').collect::<Vec<_>>())),
                expected,
                "$ haversack {command}"
            );
            examples += 1;
        }
    }
    assert!(examples >= 4, "found {examples} examples");
}

#[test]
fn the_main_command_works() {
    let readme = readme();
    let line = readme
        .lines()
        .find(|line| line.starts_with("cargo run --release -- "))
        .expect("the main command");
    let arguments: Vec<_> = line
        .split(' ')
        .skip_while(|word| *word != "--")
        .skip(1)
        .collect();
    assert!(run(Path::new("examples/store"), &arguments).contains("## Your Soul"));
}
