//! `haversack memory` and `haversack files` as a user meets them: what they print, how they exit, and that
//! nothing is lost when many run at once. Where the store lies, [`Place`] alone knows.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const AT: [&str; 2] = ["--at", "2026-02-20T09:30:00Z"];
const NOW: [&str; 2] = ["--now", "2026-02-20T09:30:00Z"];
const OTHERS: [&str; 2] = ["--session", "agent:hera:discord:dm:anna"];

/// A store of a test's own, which holds what the example store holds.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = Self { folder };
        let example = root().join("examples/store");
        let from = example.to_str().expect("UTF-8");
        let output = haversack()
            .args(["store", "copy", from, &place.address()])
            .output()
            .expect("haversack starts");
        assert!(output.status.success(), "{}", err(&output));
        place
    }

    /// What `--store` takes.
    fn address(&self) -> String {
        self.folder.path().join("store").display().to_string()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = haversack();
        command.args(arguments).args(["--store", &self.address()]);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("haversack starts")
    }

    fn with_input(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("haversack starts");
        let mut pipe = child.stdin.take().expect("a pipe");
        pipe.write_all(input.as_bytes()).expect("written");
        drop(pipe);
        child.wait_with_output().expect("an answer")
    }

    /// What `files cat` prints.
    fn file(&self, path: &str) -> String {
        let output = self.run(&["files", "cat", "gsv:hera", path]);
        assert!(output.status.success(), "{}", err(&output));
        out(&output)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn haversack() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_haversack"));
    command
        .current_dir(root())
        .env_remove("HAVERSACK_STORE")
        .stdin(Stdio::null());
    command
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn prints(output: &Output, text: &str) {
    assert!(output.status.success(), "{}", err(output));
    assert_eq!(out(output), text);
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", err(output));
    serde_json::from_str(&out(output)).expect("JSON on standard output")
}

/// The exit code, and one line on standard error that names these.
fn fails(output: &Output, code: i32, names: &[&str]) {
    assert_eq!(output.status.code(), Some(code), "{}", err(output));
    let message = err(output);
    assert_eq!(message.lines().count(), 1, "more than one line: {message}");
    for name in names {
        assert!(message.contains(name), "{message:?} does not name {name:?}");
    }
}

const DAY: &str = "memory/2026-02-20.md";
const DAY_KEY: &str = "agents/hera/memory/2026-02-20.md";

#[test]
fn text_is_appended_from_everywhere_it_may_come_from() {
    let place = Place::new();
    let before = place.file(DAY);
    let append = |more: &[&str], input: &str| {
        let line = [&["memory", "append", "gsv:hera"], more, &AT].concat();
        let output = place.with_input(&line, input);
        let appended = out(&output).starts_with(&format!("appended to {DAY_KEY} ("));
        assert!(appended, "{}", err(&output));
    };
    append(&["--text", "- from the line"], "");
    let file = place.folder.path().join("notes.md");
    std::fs::write(&file, "- from a file\n").expect("written");
    append(&["--file", file.to_str().expect("UTF-8")], "");
    append(&["-"], "- from standard input\n");
    let section =
        |text: &str| format!("\n\n### Extracted from context compaction (09:30)\n\n- from {text}");
    let all = ["the line", "a file", "standard input"]
        .map(section)
        .concat();
    assert_eq!(place.file(DAY), format!("{}{all}\n", before.trim_end()));
}

#[test]
fn a_request_id_makes_a_repeat_harmless() {
    let place = Place::new();
    let line = [
        &["memory", "append", "gsv:hera", "--json", "--text", "- tea"],
        &AT[..],
    ]
    .concat();
    let first = json(&place.run(&line));
    let id = first["request-id"].as_str().expect("an id of its own");
    assert!(id.starts_with("cli-"), "{id}");
    assert_eq!(
        (&first["key"], &first["repeat"]),
        (&DAY_KEY.into(), &false.into())
    );
    let again = json(&place.run(&[&line[..], &["--request-id", id]].concat()));
    assert_eq!(again["repeat"], true);
    for member in ["size-bytes", "version", "request-id"] {
        assert_eq!(again[member], first[member], "{member}");
    }
    let line = [
        &[
            "memory",
            "append",
            "gsv:hera",
            "--text",
            "- tea",
            "--request-id",
            id,
        ],
        &AT[..],
    ]
    .concat();
    assert!(out(&place.run(&line)).starts_with("an earlier call had appended this"));
}

#[test]
fn the_offset_decides_the_day() {
    let place = Place::new();
    let late = ["--at", "2026-02-20T23:30:00Z", "--utc-offset", "+01:00"];
    let line = [
        &["memory", "append", "gsv:hera", "--text", "x", "--json"],
        &late[..],
    ]
    .concat();
    assert_eq!(
        json(&place.run(&line))["key"],
        "agents/hera/memory/2026-02-21.md"
    );
    assert!(place.file("memory/2026-02-21.md").contains("(00:30)"));
}

#[test]
fn appends_that_cannot_be_say_why() {
    let place = Place::new();
    let append = |more: &[&str]| place.run(&[&["memory", "append"], more].concat());
    fails(&append(&["gsv:hera", "--text", " \n"]), 2, &["blank"]);
    fails(
        &append(&["moltbot:u1", "--text", "x"]),
        6,
        &["moltbot", "memory"],
    );
    fails(
        &append(&[&["gsv:hera", "--text", "x", "--request-id", "a b"], &AT[..]].concat()),
        2,
        &["request id"],
    );
    fails(
        &append(&["gsv:hera", "--text", "x", "--request-id", "a"]),
        2,
        &["--at"],
    );
    let large = "x".repeat((256 << 10) + 1);
    let output = place.with_input(&["memory", "append", "gsv:hera", "-"], &large);
    fails(&output, 9, &["262145", "in parts"]);
    for wrong in [
        &["gsv:hera"][..],
        &["gsv:hera", "x"],
        &["gsv:hera", "--text", "a", "--file", "b"],
    ] {
        assert_eq!(append(wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn ten_appends_at_once_lose_nothing() {
    let place = Place::new();
    let start = |number: usize| {
        place
            .command(&[
                "memory",
                "append",
                "gsv:hera",
                "--text",
                &format!("- number {number}."),
            ])
            .args(AT)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("haversack starts")
    };
    let children: Vec<_> = (0..10).map(start).collect();
    for child in children {
        let output = child.wait_with_output().expect("an end");
        assert!(output.status.success(), "{}", err(&output));
    }
    let text = place.file(DAY);
    for number in 0..10 {
        let line = format!("- number {number}.\n");
        assert_eq!(text.matches(&line).count(), 1, "{line} in {text}");
    }
    assert_eq!(text.matches("### Extracted").count(), 10);
}

#[test]
fn memory_is_shown_as_a_prompt_has_it() {
    let place = Place::new();
    let show = |more: &[&str]| place.run(&[&["memory", "show", "gsv:hera"], more, &NOW].concat());
    let text = out(&show(&[]));
    let order = [
        "## Long-Term Memory\n",
        "## Recent Context\n",
        "### 2026-02-19\n",
        "### 2026-02-20\n",
    ];
    let places: Vec<_> = order
        .iter()
        .map(|title| text.find(title).expect(title))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(!out(&show(&OTHERS)).contains("## Long-Term Memory"));
    let answer = json(&show(&["--days", "3", "--json"]));
    let dates: Vec<_> = answer["notes"]
        .as_array()
        .expect("notes")
        .iter()
        .map(|n| n["date"].clone())
        .collect();
    assert_eq!(
        dates,
        [
            Value::Null,
            "2026-02-18".into(),
            "2026-02-19".into(),
            "2026-02-20".into()
        ]
    );
    let output = show(&["--days", "5", "--budget", "hi-boss"]);
    assert!(
        err(&output).contains("cut: agents/hera/memory/2026-02-16.md"),
        "{}",
        err(&output)
    );
    fails(&show(&["--days", "15"]), 2, &["14"]);
    fails(
        &place.run(&["memory", "show", "gsv:nobody"]),
        3,
        &["gsv:nobody", "haversack ls"],
    );
}

#[test]
fn a_workspace_is_listed() {
    let place = Place::new();
    let ls = |more: &[&str]| place.run(&[&["files", "ls", "gsv:hera"], more].concat());
    let text = out(&ls(&[]));
    assert!(
        text.starts_with("         -  memory/\n         -  skills/\n      1161  AGENTS.md\n"),
        "{text}"
    );
    assert!(out(&ls(&["skills/git-digest"])).contains("skills/git-digest/SKILL.md  (read-only)"));
    let answer = json(&ls(&["memory", "--json"]));
    assert_eq!(answer["files"].as_array().expect("files").len(), 6);
    assert_eq!(answer["files"][0]["path"], "memory/2026-02-14.md");
    assert_eq!(answer["directories"], Value::Array(Vec::new()));
    let output = ls(&OTHERS);
    assert!(!out(&output).contains("MEMORY.md") && err(&output).contains("MEMORY.md"));
    fails(
        &ls(&["nothing"]),
        3,
        &["nothing", "haversack files ls gsv:hera"],
    );
    fails(&ls(&["../nex"]), 2, &["../nex"]);
    fails(
        &place.run(&["files", "ls", "gsv:nobody"]),
        3,
        &["gsv:nobody"],
    );
    fails(&place.run(&["files", "ls", "hi-boss:nex"]), 6, &["hi-boss"]);
}

#[test]
fn a_file_is_printed_byte_for_byte() {
    let place = Place::new();
    let cat = |more: &[&str]| place.run(&[&["files", "cat", "gsv:hera"], more].concat());
    let soul = std::fs::read_to_string(root().join("examples/store/agents/hera/SOUL.md"))
        .expect("SOUL.md");
    prints(&cat(&["SOUL.md"]), &soul);
    let large = "é\n".repeat(600_000);
    let write = ["files", "write", "gsv:hera", "large.txt", "-"];
    assert!(place.with_input(&write, &large).status.success());
    assert!(out(&cat(&["large.txt"])) == large, "parts are joined");
    let part = json(&cat(&["large.txt", "--json", "--start", "1048575"]));
    assert_eq!(
        part["text"].as_str().map(str::len),
        Some(3 * 600_000 - 1_048_575)
    );
    fails(&cat(&["nothing.md"]), 3, &["nothing.md"]);
    fails(
        &cat(&["MEMORY.md", OTHERS[0], OTHERS[1]]),
        5,
        &["MEMORY.md", "main session"],
    );
}

#[test]
fn a_write_names_what_it_replaces() {
    let place = Place::new();
    let write = |more: &[&str]| {
        place.run(&[&["files", "write", "gsv:hera", "notes/tea.md"], more].concat())
    };
    prints(&write(&["--text", "green"]), "wrote notes/tea.md\n");
    let way_out = [
        "files cat gsv:hera notes/tea.md --json",
        "--version",
        "--any",
    ];
    fails(&write(&["--text", "black"]), 7, &way_out);
    fails(
        &write(&["--text", "black", "--version", "another"]),
        7,
        &way_out,
    );
    let read = json(&place.run(&["files", "cat", "gsv:hera", "notes/tea.md", "--json"]));
    let version = read["version"].as_str().expect("a version");
    let answer = json(&write(&["--text", "black", "--version", version, "--json"]));
    assert_eq!(answer["changed"], true);
    assert!(answer["request-id"].is_string() && answer["version"].is_string());
    prints(
        &write(&["--text", "white", "--any"]),
        "wrote notes/tea.md\n",
    );
    prints(
        &write(&["--text", "white", "--any"]),
        "notes/tea.md says that already; nothing was changed\n",
    );
    assert_eq!(place.file("notes/tea.md"), "white");
    let output = place.run(&["files", "write", "gsv:hera", "sessions/x", "--text", "x"]);
    fails(&output, 5, &["read-only"]);
}

#[test]
fn an_edit_is_literal_and_sure_of_its_place() {
    let place = Place::new();
    let edit =
        |more: &[&str]| place.run(&[&["files", "edit", "gsv:hera", "SOUL.md"], more].concat());
    let before = place.file("SOUL.md");
    prints(
        &edit(&["--old", "# Hera", "--new", "# $1 Hera"]),
        "edited SOUL.md\n",
    );
    assert_eq!(
        place.file("SOUL.md"),
        before.replacen("# Hera", "# $1 Hera", 1)
    );
    fails(
        &edit(&["--old", "nothing like it", "--new", "x"]),
        3,
        &["SOUL.md", "old text"],
    );
    fails(&edit(&["--old", "e", "--new", "x"]), 2, &["times"]);
    fails(
        &edit(&["--old", "# $1", "--new", "#", "--version", "v"]),
        7,
        &["without --version"],
    );
    prints(
        &edit(&["--old", "e", "--new", "-", "--everywhere"]),
        "edited SOUL.md\n",
    );
    assert!(!place.file("SOUL.md").contains('e'));
}

#[test]
fn a_file_is_moved_and_removed() {
    let place = Place::new();
    let files = |more: &[&str]| place.run(&[&["files"], more].concat());
    let mv = [
        "mv",
        "gsv:hera",
        "USER.md",
        "notes/human.md",
        "--request-id",
        "m1",
    ];
    prints(&files(&mv), "moved USER.md to notes/human.md\n");
    prints(
        &files(&mv),
        "moved USER.md to notes/human.md: an earlier call had done it\n",
    );
    fails(
        &files(&["mv", "gsv:hera", "USER.md", "x.md"]),
        3,
        &["USER.md"],
    );
    fails(
        &files(&["mv", "gsv:hera", "SOUL.md", "notes/human.md"]),
        7,
        &["another path"],
    );
    let rm = ["rm", "gsv:hera", "notes/human.md"];
    fails(
        &files(&[&rm[..], &["--version", "v"]].concat()),
        7,
        &["changed"],
    );
    prints(&files(&rm), "removed notes/human.md\n");
    prints(
        &files(&rm),
        "notes/human.md is no file here; nothing was changed\n",
    );
    fails(
        &files(&["rm", "gsv:hera", "skills/git-digest/SKILL.md"]),
        5,
        &["global"],
    );
}

#[test]
fn files_are_found_by_name_and_by_content() {
    let place = Place::new();
    let files = |more: &[&str]| place.run(&[&["files"], more].concat());
    let text = out(&files(&["glob", "gsv:hera", "memory/2026-02-1[67].md"]));
    assert_eq!(
        text,
        "       239  memory/2026-02-16.md\n       358  memory/2026-02-17.md\n"
    );
    let answer = json(&files(&["glob", "gsv:hera", "**/SKILL.md", "--json"]));
    assert_eq!(answer["files"].as_array().expect("files").len(), 9);
    let text = out(&files(&[
        "grep",
        "gsv:hera",
        "-i",
        "OSKAR.*BOILER|oskar asked",
        "--glob",
        "memory/**",
    ]));
    assert!(
        text.starts_with("memory/2026-02-16.md:2:Oskar asked"),
        "{text}"
    );
    let answer = json(&files(&["grep", "gsv:hera", "^# Hera$", "--json"]));
    assert_eq!(answer["matches"][0]["path"], "SOUL.md");
    prints(&files(&["grep", "gsv:hera", "nothing like it"]), "");
    fails(
        &files(&["grep", "gsv:hera", "("]),
        2,
        &["regular expression"],
    );
    fails(&files(&["glob", "gsv:hera", "["]), 2, &["glob"]);
}
