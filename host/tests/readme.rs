//! README.md is true: its example commands print what it says, and its main command works.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).expect("README.md")
}

fn run(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_haversack"))
        .args(arguments)
        .current_dir(root())
        .env("HAVERSACK_STORE", "examples/store")
        .output()
        .expect("haversack starts");
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Every `$ haversack …` of a console block, with the lines under it.
#[test]
fn console_examples_print_what_they_say() {
    let readme = readme();
    let mut examples = 0;
    for block in readme
        .split("```console\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
    {
        for example in block.split("$ haversack ").skip(1) {
            let (command, expected) = example.split_once('\n').expect("a line of output");
            assert_eq!(
                run(&command.split(' ').collect::<Vec<_>>()),
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
    assert!(run(&arguments).contains("## Your Soul"));
}
