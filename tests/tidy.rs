//! What is true of the whole and no compiler checks: where keys are spelled, who touches the store, how
//! files begin, what the contract marks, what never goes into the repository.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The exports that the simulation runs.
#[path = "simulation/registry.rs"]
mod registry;

const FILE_LINES_MAX: usize = 500;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Files below `folder` that end in `ending`, with their text. Build output is passed over.
fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in folder
            .read_dir()
            .expect("a folder of the repository")
            .flatten()
        {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() && name != "target" && name != ".git" && name != "cases" {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == ending)
            {
                let text = std::fs::read_to_string(&path).expect("UTF-8");
                let path = path
                    .strip_prefix(root())
                    .expect("below the root")
                    .display()
                    .to_string();
                found.push((path, text));
            }
        }
    }
    assert!(
        !found.is_empty(),
        "no .{ending} files below {folder}: does the repository still look so?"
    );
    found.sort();
    found
}

fn rust_files() -> Vec<(String, String)> {
    ["guest", "host", "tests", "fuzz"]
        .iter()
        .flat_map(|folder| files(folder, "rs"))
        .collect()
}

/// The code of a file without its tests and comments.
fn code(text: &str) -> String {
    let before_tests = text.split("#[cfg(test)]").next().unwrap_or_default();
    before_tests
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.starts_with("guest/tests")
}

#[test]
fn a_file_says_first_what_it_owns() {
    let silent: Vec<_> = rust_files()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(path, _)| path)
        .collect();
    assert!(
        silent.is_empty(),
        "these begin without a `//!` line: {silent:?}"
    );
}

#[test]
fn no_file_holds_two_concepts() {
    let long: Vec<_> = rust_files()
        .into_iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > FILE_LINES_MAX)
        .collect();
    assert!(
        long.is_empty(),
        "over {FILE_LINES_MAX} lines, split them: {long:?}"
    );
}

#[test]
fn only_layout_spells_keys() {
    let spellings = [
        "agents/",
        "skills/",
        "memory/",
        "memories/",
        "sessions/",
        "media/",
        "users/",
        "threads/",
        "deleted/",
        "internal_space",
        ".jsonl",
        "SKILL.md",
        "SOUL.md",
        "MEMORY.md",
        "USER.md",
        "TASK.md",
        ".state.json",
    ];
    for (path, text) in files("guest/src", "rs") {
        if path.contains("/layout/") && !path.contains("/ops/") || is_test(&path) {
            continue;
        }
        for literal in string_literals(&code(&text)) {
            let spelled = spellings
                .iter()
                .find(|spelling| literal.contains(**spelling));
            assert!(
                spelled.is_none(),
                "{path} spells a key, which only layout/ may: {literal:?}"
            );
        }
    }
}

/// Text between quotes, as far as that can be told without a parser.
fn string_literals(code: &str) -> Vec<String> {
    code.lines()
        .flat_map(|line| {
            line.split('"')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn only_ops_and_protocol_touch_the_store() {
    for folder in ["format", "transform", "layout"] {
        for (path, text) in files(&format!("guest/src/{folder}"), "rs") {
            let code = code(&text);
            for word in ["crate::store", "store::Store", "dyn Store", "Metered"] {
                assert!(
                    !code.contains(word),
                    "{path} mentions {word}, but only ops/ and protocol/ touch the store"
                );
            }
        }
    }
}

#[test]
fn formats_know_no_layout_and_layouts_no_format() {
    for (folder, forbidden) in [
        ("format", "crate::layout"),
        ("layout", "crate::format"),
        ("format", "crate::ops"),
        ("layout", "crate::ops"),
        ("transform", "crate::ops"),
    ] {
        for (path, text) in files(&format!("guest/src/{folder}"), "rs") {
            assert!(
                !code(&text).contains(forbidden),
                "{path} mentions {forbidden}"
            );
        }
    }
}

#[test]
fn only_the_component_knows_wit_bindgen() {
    for (path, text) in files("guest/src", "rs") {
        assert!(
            !code(&text).contains("wit_bindgen"),
            "{path} mentions wit_bindgen"
        );
    }
}

/// Every interface, type and function of the contract says since when it is there.
#[test]
fn the_contract_is_dated() {
    let opens = [
        "record ",
        "variant ",
        "enum ",
        "interface ",
        "world ",
        "import ",
        "export ",
    ];
    for (path, text) in files("wit", "wit") {
        let mut before = "";
        for (number, line) in text.lines().enumerate() {
            let item = line.trim_start();
            let is_function = item.contains(": func(");
            if is_function || opens.iter().any(|word| item.starts_with(word)) {
                assert_eq!(
                    before.trim(),
                    "@since(version = 0.1.0)",
                    "{path}:{}: {item}",
                    number + 1
                );
            }
            before = line;
        }
    }
}

#[test]
fn every_parameter_and_type_of_the_contract_has_a_json_form() {
    for (path, text) in files("wit/core", "wit") {
        for word in [
            "resource ",
            "stream<",
            "future<",
            "flags ",
            "async func",
            "char,",
            "f32",
            "f64",
            "s64",
            "u16",
            "s16",
        ] {
            let used = text
                .lines()
                .find(|line| !line.trim_start().starts_with("///") && line.contains(word));
            assert!(
                used.is_none(),
                "{path} uses {word:?}, which host/src/json.rs has no words for: {used:?}"
            );
        }
    }
}

#[test]
fn dependencies_are_in_order() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("the workspace");
    let table = manifest
        .split("[workspace.dependencies]")
        .nth(1)
        .expect("a table of dependencies");
    let table = table.split("\n[").next().expect("its end");
    let names: Vec<_> = table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name)
        .collect();
    assert!(names.len() > 10, "found only {names:?}");
    assert!(
        names.is_sorted(),
        "[workspace.dependencies] is not in alphabetical order: {names:?}"
    );
}

/// Functions of a WIT text that take a request id, as `interface.function`: as a parameter, or as a field of
/// a record that is a parameter. Records may come from other texts.
fn mutating(texts: &[&str]) -> BTreeSet<String> {
    let plain = |text: &&str| -> String {
        let lines = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default());
        lines.collect::<Vec<_>>().join(" ")
    };
    let texts: Vec<String> = texts.iter().map(plain).collect();
    let takes_id = |words: &str| {
        words
            .split([',', '(', '{', ' '])
            .any(|w| w == "request-id:")
    };
    let mut records = BTreeSet::new();
    for text in &texts {
        for record in text.split("record ").skip(1) {
            if let Some((name, rest)) = record.split_once('{')
                && takes_id(rest.split('}').next().unwrap_or_default())
            {
                records.insert(name.trim().to_owned());
            }
        }
    }
    let mut found = BTreeSet::new();
    for text in &texts {
        for interface in text.split("interface ").skip(1) {
            let Some((name, body)) = interface.split_once('{') else {
                continue;
            };
            let name = name.trim();
            let before_and_after: Vec<&str> = body.split(": func(").collect();
            for pair in before_and_after.windows(2) {
                let function = pair[0].split_whitespace().last().unwrap_or_default();
                let parameters = pair[1].split(')').next().unwrap_or_default();
                let types = parameters.split([',', ':', '<', '>', ' ']);
                if takes_id(parameters) || types.into_iter().any(|word| records.contains(word)) {
                    found.insert(format!("{name}.{}", function.trim_start_matches('%')));
                }
            }
        }
    }
    found
}

#[test]
fn functions_with_a_request_id_are_found() {
    let here = "
        interface sessions {
            /// A record that none takes: request-id: string.
            record page { limit: u32 }
            @since(version = 0.1.0)
            append: func(home: home, request-id: string) -> result<string, error>;
            history: func(request: page) -> result<string, error>; // no request-id: it reads
            reset: func(
                request: reset-request,
            ) -> result<_, error>;
            %list: func(all: list<sweep-request>) -> u32;
        }";
    let there = "interface types { record reset-request { now-ms: u64, request-id: string }
        record sweep-request {
            /// As everywhere.
            request-id: string,
        } }";
    let found: Vec<String> = mutating(&[here, there]).into_iter().collect();
    assert_eq!(
        found,
        ["sessions.append", "sessions.list", "sessions.reset"]
    );
    assert!(mutating(&["interface a { read: func(request: string) -> string; }"]).is_empty());
}

#[test]
fn what_writes_is_simulated() {
    let texts = files("wit/core", "wit");
    let texts: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    let exported = mutating(&texts);
    let registered: BTreeSet<String> = registry::REGISTERED.iter().map(|n| n.to_string()).collect();
    let missing: Vec<_> = exported.difference(&registered).collect();
    assert!(
        missing.is_empty(),
        "these take a request id and are not in tests/simulation/registry.rs: {missing:?}"
    );
    let gone: Vec<_> = registered.difference(&exported).collect();
    assert!(
        gone.is_empty(),
        "tests/simulation/registry.rs names what no longer takes a request id: {gone:?}"
    );
}

/// No address of a package registry, no path of somebody's machine.
#[test]
fn nothing_of_a_machine_is_committed() {
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output();
    let listed = match listed {
        Ok(listed) if listed.status.success() => {
            String::from_utf8_lossy(&listed.stdout).into_owned()
        }
        _ => {
            assert!(
                std::env::var_os("HAVERSACK_REQUIRE_TOOLS").is_none(),
                "git is missing, or this is no checkout"
            );
            eprintln!("skipped: without git nobody says which files are committed");
            return;
        }
    };
    assert!(listed.contains("Cargo.toml"), "git lists nothing here");
    // Written in halves, so that this file passes.
    let forbidden = ["crates", "npmjs", "pypi", "pythonhosted"]
        .map(|name| format!("{name}.{}", if name == "crates" { "io/api" } else { "org" }));
    let places = ["/root", "/work", "/home/runner"].map(|place| format!("{place}/"));
    for path in listed
        .split('\0')
        .filter(|path| !path.is_empty() && *path != "Cargo.lock" && *path != "fuzz/Cargo.lock")
    {
        let Ok(text) = std::fs::read_to_string(root().join(path)) else {
            continue;
        };
        for word in forbidden.iter().chain(&places) {
            let line = text.lines().find(|line| line.contains(word.as_str()));
            // The seeds of moltbot name the container's own home, which its layout maps.
            let named_by_a_reference = line.is_some_and(|line| {
                line.contains("/root/.clawdbot") || line.contains("/root/clawd")
            });
            assert!(
                line.is_none() || named_by_a_reference,
                "{path} holds {word}: {line:?}"
            );
        }
    }
}
