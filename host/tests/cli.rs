//! The command line as a user meets it: what it prints where, and how it exits.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const NOW: [&str; 2] = ["--now", "2026-02-20T09:30:00Z"];

fn haversack() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_haversack"));
    command
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .env_remove("HAVERSACK_STORE")
        .stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    haversack()
        .args(arguments)
        .output()
        .expect("haversack starts")
}

/// Run over the example store.
fn over_example(arguments: &[&str]) -> Output {
    run(&[arguments, &["--store", "examples/store"]].concat())
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", err(output));
    serde_json::from_str(&out(output)).expect("JSON on standard output")
}

/// The exit code, one line on standard error, and what that line must name.
fn fails(output: &Output, code: i32, names: &[&str]) {
    assert_eq!(output.status.code(), Some(code), "{}", err(output));
    assert_eq!(
        out(output),
        "",
        "a failure prints nothing on standard output"
    );
    let message = err(output);
    assert_eq!(message.lines().count(), 1, "more than one line: {message}");
    assert!(
        !message.contains("Error {") && !message.contains("Code::"),
        "{message}"
    );
    let last = message.trim_end();
    for name in names {
        assert!(last.contains(name), "{last:?} does not name {name:?}");
    }
}

#[test]
fn a_prompt_is_printed_whole() {
    let output = over_example(&[&["prompt", "gsv:hera"], &NOW[..]].concat());
    let text = out(&output);
    let order = [
        "## Your Soul",
        "## Your Identity",
        "## About Your Human",
        "## Operating Instructions",
        "## Long-Term Memory",
        "### Yesterday",
        "### Today",
        "## Tool Notes",
        "## Heartbeats",
        "## Skills (Mandatory Scan)",
        "## Runtime",
    ];
    let places: Vec<_> = order
        .iter()
        .map(|title| text.find(title).unwrap_or_else(|| panic!("no {title}")))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(
        err(&output).contains("assuming the main session agent:hera:main"),
        "{}",
        err(&output)
    );
}

#[test]
fn the_session_decides_who_sees_memory() {
    let output = over_example(
        &[
            &[
                "prompt",
                "gsv:hera",
                "--session",
                "agent:hera:discord:dm:anna",
            ],
            &NOW[..],
        ]
        .concat(),
    );
    assert!(output.status.success());
    assert!(!out(&output).contains("## Long-Term Memory"));
    assert!(!err(&output).contains("assuming"));
}

#[test]
fn a_request_comes_from_standard_input_and_flags_go_before_it() {
    let mut child = haversack()
        .args([
            "prompt",
            "gsv:hera",
            "--store",
            "examples/store",
            "--request",
            "-",
            "--model",
            "flag-model",
            "--json",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("haversack starts");
    let request = r#"{"session-key": "agent:hera:main", "now-ms": 1771579800000, "sections": [{"title": "House rules", "text": "Be brief."}],
        "runtime": {"model": "request-model", "channel": "cli"}}"#;
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), request.as_bytes())
        .expect("written");
    let answer = json(&child.wait_with_output().expect("an answer"));
    let text = answer["text"].as_str().expect("text");
    assert!(text.contains("## House rules\n\nBe brief."));
    assert!(text.contains("Model: flag-model\nChannel: cli"), "{text}");
    assert_eq!(answer["manifest"]["today"], "2026-02-20");
}

#[test]
fn compare_names_the_section_that_broke_the_cache() {
    let folder = tempfile::tempdir().expect("a folder");
    let save = |name: &str, now: &str| {
        let output = over_example(&[
            "prompt",
            "gsv:hera",
            "--session",
            "agent:hera:main",
            "--now",
            now,
            "--json",
        ]);
        let file = folder.path().join(name);
        std::fs::write(&file, &output.stdout).expect("written");
        file.display().to_string()
    };
    let before = save("before.json", "2026-02-20T09:30:00Z");
    let after = save("after.json", "2026-02-21T09:30:00Z");
    let output = run(&["prompt", "compare", &before, &after]);
    assert!(
        out(&output).contains("Recent Context > Yesterday"),
        "{}",
        out(&output)
    );
    assert!(out(&run(&["prompt", "compare", &before, &before])).starts_with("the same"));
    fails(
        &run(&["prompt", "compare", "Cargo.toml", &before]),
        2,
        &["Cargo.toml", "is not JSON"],
    );
}

#[test]
fn skills_are_listed_with_reasons_and_read() {
    let table = out(&over_example(&["skills", "list", "gsv:hera", "--explain"]));
    assert!(table.starts_with("SKILL"), "{table}");
    assert!(table.lines().count() >= 7, "{table}");
    assert!(table.contains("no-host: "), "{table}");
    let listed = json(&over_example(&["skills", "list", "gsv:hera", "--json"]));
    let skill = &listed["skills"][0];
    let read = over_example(&[
        "skills",
        "read",
        "gsv:hera",
        skill["directory"].as_str().expect("a name"),
    ]);
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples/store")
        .join(skill["key"].as_str().expect("a key"));
    assert_eq!(
        out(&read).trim_end(),
        std::fs::read_to_string(file).expect("the file").trim_end()
    );
    fails(
        &over_example(&["skills", "read", "gsv:hera", "no-such-skill"]),
        3,
        &["no-such-skill"],
    );
}

#[test]
fn a_store_is_listed_by_what_things_are() {
    assert_eq!(out(&over_example(&["ls"])), "gsv:hera\n");
    let items = json(&over_example(&["ls", "gsv:hera", "--json"]));
    let kinds: Vec<_> = items["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| item["place"]["kind"].as_str())
        .collect();
    assert!(
        kinds.contains(&Some("daily-memory")) && kinds.contains(&Some("skill")),
        "{kinds:?}"
    );
}

#[test]
fn keys_and_places_are_inverse() {
    let key = "agents/hera/memory/2026-02-20.md";
    assert_eq!(
        out(&run(&[
            "key",
            "gsv:hera",
            "daily-memory",
            "date=2026-02-20"
        ]))
        .trim_end(),
        key
    );
    assert_eq!(
        out(&run(&["place", "gsv", key])).trim_end(),
        "daily-memory agent=hera date=2026-02-20"
    );
    assert!(out(&run(&["key", "gsv:hera"])).contains("agents/{agent}/memory/{date}.md"));
    fails(
        &run(&["key", "gsv:hera", "daily-memory", "date=2026-02-30"]),
        2,
        &["2026-02-30", "calendar"],
    );
    fails(&run(&["place", "gsv", "../etc/passwd"]), 2, &[".."]);
    fails(&run(&["place", "gsv", "nowhere/x"]), 3, &["nowhere/x"]);
}

#[test]
fn failures_say_how_to_go_on_and_exit_with_their_code() {
    fails(
        &over_example(&["prompt", "gsv:hrea", "--session", "agent:hrea:main"]),
        3,
        &["gsv:hrea", "haversack ls", "--new"],
    );
    fails(
        &run(&[
            "prompt",
            "gsv:hera",
            "--session",
            "agent:hera:main",
            "--store",
            "no/such/store",
        ]),
        4,
        &["no/such/store"],
    );
    fails(
        &run(&["ls", "--store", "gs://bucket"]),
        6,
        &["gs://", "s3://"],
    );
    fails(
        &over_example(&["prompt", "run-agent:proj", "--session", "x"]),
        6,
        &["run-agent", "prompt"],
    );
    fails(
        &over_example(&["prompt", "nosuch:hera", "--session", "x"]),
        2,
        &["nosuch", "gsv"],
    );
    fails(
        &over_example(&["prompt", "gsv:hera", "--session", "agent:nex:main"]),
        2,
        &["agent:nex:main"],
    );
    fails(
        &over_example(&[
            "prompt",
            "gsv:hera",
            "--session",
            "agent:hera:main",
            "--budget",
            "tiny",
        ]),
        2,
        &["tiny", "hi-boss"],
    );
    assert_eq!(run(&["prompt"]).status.code(), Some(2));
    assert_eq!(run(&["prompt", "hera"]).status.code(), Some(2));
}

#[cfg(unix)]
#[test]
fn an_unreadable_file_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("agents/a");
    std::fs::create_dir_all(&home).expect("made");
    std::os::unix::fs::symlink("/etc/hostname", home.join("SOUL.md")).expect("linked");
    let store = folder.path().display().to_string();
    let output = run(&[
        "prompt",
        "gsv:a",
        "--session",
        "agent:a:main",
        "--store",
        &store,
    ]);
    fails(&output, 5, &["agents/a/SOUL.md", "symbolic link"]);
}

#[test]
fn a_memory_limit_ends_a_call_with_a_clear_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("agents/a");
    std::fs::create_dir_all(&home).expect("made");
    for name in ["SOUL.md", "USER.md", "AGENTS.md", "TOOLS.md"] {
        std::fs::write(home.join(name), "x".repeat(1 << 20)).expect("written");
    }
    let store = folder.path().display().to_string();
    let arguments = [
        "prompt",
        "gsv:a",
        "--session",
        "agent:a:main",
        "--store",
        &store,
    ];
    fails(
        &run(&[&arguments[..], &["--memory-mib", "4"]].concat()),
        9,
        &["4194304 bytes", "--memory-mib"],
    );
    assert!(run(&arguments).status.success());
}

#[test]
fn the_store_comes_from_the_environment() {
    let output = haversack()
        .args(["ls"])
        .env("HAVERSACK_STORE", "examples/store")
        .output()
        .expect("haversack starts");
    assert_eq!(out(&output), "gsv:hera\n");
    fails(
        &haversack()
            .args(["ls"])
            .current_dir("/")
            .output()
            .expect("haversack starts"),
        4,
        &["haversack-store"],
    );
}

#[test]
fn the_component_is_written_as_it_is_embedded() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("haversack.wasm");
    assert!(
        run(&["component", "--out", &file.display().to_string()])
            .status
            .success()
    );
    assert_eq!(
        std::fs::read(file).expect("written"),
        haversack_host::COMPONENT
    );
    assert_eq!(
        run(&["component", "--out", "-"]).stdout,
        haversack_host::COMPONENT
    );
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let mut child = haversack()
        .args(["prompt", "gsv:hera", "--store", "examples/store"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("haversack starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ended");
    assert!(!err(&output).contains("panicked"), "{}", err(&output));
    assert!(output.status.success());
}

#[test]
fn a_policy_comes_from_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("policy.json").display().to_string();
    let policy = r#"{"name": "mine", "unit": "characters", "file-limit": 40, "file-marker": "\n[{file}: {kept} of {total}]",
        "daily-marker": "-", "daily-total-marker": "-", "total-marker": "-", "spending": "prompt-order",
        "shape": "head-tail", "head-percent": 100, "smallest": 0, "warn-percent": 0}"#;
    std::fs::write(&file, policy).expect("written");
    let arguments = [
        "prompt",
        "gsv:hera",
        "--session",
        "agent:hera:main",
        "--budget",
        &file,
    ];
    let output = over_example(&arguments);
    assert!(
        out(&output).contains("[SOUL.md: 40 of "),
        "{}",
        err(&output)
    );
    assert!(
        err(&output).contains("cut: agents/hera/SOUL.md: kept 40 of"),
        "{}",
        err(&output)
    );
    let manifest = json(&over_example(&[&arguments[..], &["--json"]].concat()));
    assert_eq!(manifest["manifest"]["policy"], "mine");
    std::fs::write(&file, policy.replace("file-marker", "file-mark")).expect("written");
    fails(&over_example(&arguments), 2, &["file-mark", "file-marker"]);
}

#[test]
fn problems_go_to_standard_error_and_never_into_the_prompt() {
    let output = over_example(&["prompt", "gsv:hera", "--session", "agent:hera:main"]);
    assert!(err(&output).contains("repaired: "), "{}", err(&output));
    assert!(!out(&output).contains("repaired: "));
}
