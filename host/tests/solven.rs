//! Threads of solven through the command line, on a disk and in a bucket: a whole life, editors at once, and a
//! thread with a real Python environment.

#[allow(dead_code)] // Sessions need more of it.
#[path = "sessions/place.rs"]
mod place;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, ensure};
use haversack_tests::lives::{Life, both, run};
use haversack_tests::table::Verdict;
use place::{Place, fails, text};
use serde_json::Value;

const TESTS: [Life<Place>; 3] = [
    ("a whole thread", whole),
    ("eight editors of one file", at_once),
    ("what cannot be says why", refusals),
];
const ON_DISK: Life<Place> = ("a real Python environment", environment);

const THREAD: &str = "solven:t1";
const AS_ADA: [&str; 2] = ["--user", "ada"];

fn main() -> ExitCode {
    let mut table = both(&TESTS, Place::on_disk, Place::in_bucket);
    match Command::new("python3").arg("--version").output() {
        Ok(_) => run(&mut table, "disk", &ON_DISK, Place::on_disk()),
        Err(error) => table.add(
            format!("disk: {}", ON_DISK.0),
            Verdict::NoTool(format!("python3: {error}")),
            std::time::Duration::ZERO,
        ),
    }
    table.finish()
}

fn said(place: &Place, words: &[&str]) -> anyhow::Result<String> {
    text(place.run(words)?)
}

fn files(place: &Place, action: &str, more: &[&str]) -> anyhow::Result<String> {
    said(place, &[&["files", action, THREAD], more, &AS_ADA].concat())
}

/// Set up, write, read, search, move, and look at where it lies.
fn whole(place: &Place) -> anyhow::Result<()> {
    let first = said(place, &["thread", "configure", THREAD])?;
    ensure!(
        first.lines().count() == 3 && first.contains("threads/t1/.bashrc"),
        "{first}"
    );
    let again = said(place, &["thread", "configure", THREAD])?;
    ensure!(again.contains("nothing was changed"), "{again}");
    let json = files(place, "cat", &["/package.json"])?;
    let json: Value = serde_json::from_str(&json)?;
    ensure!(json["name"] == "t1" && json["private"] == true, "{json}");

    files(
        place,
        "write",
        &["/src/main.py", "--text", "a = 1\nb = 2\n"],
    )?;
    files(
        place,
        "write",
        &[
            "/.solven/skills/user/tea/SKILL.md",
            "--text",
            "---\nname: tea\ndescription: Brews.\n---\n",
        ],
    )?;
    files(
        place,
        "edit",
        &["/src/main.py", "--old", "b = 2", "--new", "b = $1"],
    )?;
    let lines = files(place, "cat", &["/src/main.py", "--lines", "5"])?;
    ensure!(lines == "     1\ta = 1\n     2\tb = $1\n", "{lines}");
    let second = files(place, "cat", &["/src/main.py", "--from-line", "2"])?;
    ensure!(second == "     2\tb = $1\n", "{second}");
    let found = files(place, "grep", &["= \\$1", "--glob", "**/*.py"])?;
    ensure!(found == "/src/main.py:2:b = $1\n", "{found}");
    let listed = files(place, "ls", &["/"])?;
    for name in [
        "/.solven/",
        "/src/",
        "/.bashrc",
        "/package.json",
        "/.workspace_configured",
    ] {
        ensure!(listed.contains(name), "{name}: {listed}");
    }
    let globbed = files(place, "glob", &["/.solven/**"])?;
    ensure!(
        globbed
            .trim_end()
            .ends_with("/.solven/skills/ada/tea/SKILL.md"),
        "{globbed}"
    );
    let skills = said(
        place,
        &["skills", "list", THREAD, "--user", "ada", "--json"],
    )?;
    ensure!(
        skills.contains("/.solven/skills/ada/tea/SKILL.md"),
        "{skills}"
    );
    files(
        place,
        "mv",
        &["/src/main.py", "/.solven/skills/ada/tea/main.py"],
    )?;
    files(place, "rm", &["/package.json"])?;
    let copy = place.copied()?;
    ensure!(copy.join("skills/ada/tea/main.py").is_file());
    ensure!(!copy.join("threads/t1/src/main.py").exists());
    ensure!(copy.join("threads/t1/.workspace_configured").is_file());
    ensure!(!copy.join("threads/t1/package.json").exists());
    Ok(())
}

/// Each change is in the file, or its editor was told.
fn at_once(place: &Place) -> anyhow::Result<()> {
    let begin: String = (0..8).map(|n| format!("line {n}: old\n")).collect();
    files(place, "write", &["/shared.txt", "--text", &begin])?;
    let mut children = Vec::new();
    for number in 0..8 {
        let (old, new) = (format!("line {number}: old"), format!("line {number}: new"));
        let words = [
            "files",
            "edit",
            THREAD,
            "/shared.txt",
            "--old",
            &old,
            "--new",
            &new,
        ];
        let output = Stdio::piped;
        let mut command = place.command(&words);
        children.push(command.stdout(output()).stderr(output()).spawn()?);
    }
    let mut done = Vec::new();
    for child in children {
        done.push(child.wait_with_output()?.status.success());
    }
    let now = files(place, "cat", &["/shared.txt"])?;
    for (number, done) in done.into_iter().enumerate() {
        let there = now.contains(&format!("line {number}: new"));
        ensure!(
            there == done,
            "editor {number} succeeded: {done}, its change is there: {there}"
        );
    }
    ensure!(now.lines().count() == 8, "{now}");
    Ok(())
}

fn refusals(place: &Place) -> anyhow::Result<()> {
    files(place, "write", &["/a.txt", "--text", "a\n"])?;
    for (words, code, told) in [
        (&["cat", THREAD, "/../t2/x"][..], 2, "climbs out"),
        (&["cat", THREAD, "a.txt"], 2, "begin with a slash"),
        (&["cat", THREAD, "/.ticket/x"], 2, "no ticket"),
        (&["cat", "solven:../t2", "/x"], 2, "thread id"),
        (&["cat", THREAD, "/a.txt", "--user", "system"], 2, "user id"),
        (&["cat", THREAD, "/none"], 3, "not there"),
        (
            &["cat", THREAD, "/a.txt", "--from-line", "2"],
            2,
            "has 1 lines",
        ),
        (
            &["cat", THREAD, "/a.txt", "--lines", "10001"],
            2,
            "1 to 10000",
        ),
        (
            &["write", THREAD, "/a.txt", "--text", "b"],
            7,
            "there already",
        ),
        (
            &["write", THREAD, "/.solven/skills/system/x", "--text", "b"],
            5,
            "read-only",
        ),
        (
            &[
                "write",
                THREAD,
                "/.ticket/x",
                "--text",
                "b",
                "--ticket",
                "t9",
            ],
            5,
            "read-only",
        ),
        (&["grep", THREAD, "("], 2, "no regular expression"),
        (&["glob", THREAD, "["], 2, "glob"),
        (&["ls", "gsv:hera", "--user", "ada"], 2, "no `user`"),
        (&["ls", "solven:nobody"], 3, "nobody"),
    ] {
        let output = place.run(&[&["files"], words].concat())?;
        fails(&output, code, &[told]).with_context(|| words.join(" "))?;
    }
    ensure!(files(place, "cat", &["/a.txt"])? == "a\n");
    Ok(())
}

/// Full of links, as Python makes it, with a `node_modules` beside it: listed, searched and copied, links reported.
fn environment(place: &Place) -> anyhow::Result<()> {
    files(place, "write", &["/main.py", "--text", "import sys\n"])?;
    let thread = Path::new(&place.address).join("threads/t1");
    let made = Command::new("python3")
        .args(["-m", "venv", "--without-pip", ".venv"])
        .current_dir(&thread)
        .status()?;
    ensure!(made.success(), "python3 -m venv: {made}");
    let module = thread.join("node_modules/left");
    std::fs::create_dir_all(&module)?;
    std::fs::create_dir_all(thread.join("node_modules/.bin"))?;
    std::fs::write(module.join("index.js"), "module.exports = 1;\n")?;
    std::os::unix::fs::symlink("../left/index.js", thread.join("node_modules/.bin/left"))?;

    let listed = place.run(&["files", "ls", THREAD, "/.venv/bin"])?;
    let told = String::from_utf8_lossy(&listed.stderr).into_owned();
    ensure!(
        listed.status.success() && told.contains(".venv/bin/python"),
        "{told}"
    );
    ensure!(text(listed)?.contains("/.venv/bin/activate"));
    let found = said(
        place,
        &[
            "files",
            "grep",
            THREAD,
            "VIRTUAL_ENV=",
            "--glob",
            "/.venv/**",
        ],
    )?;
    ensure!(found.contains("/.venv/bin/activate:"), "{found}");
    let globbed = said(place, &["files", "glob", THREAD, "**/index.js"])?;
    ensure!(globbed.contains("/node_modules/left/index.js"), "{globbed}");

    let to = place.folder.path().join("copy");
    let to = to.to_str().context("UTF-8")?;
    let copied = place.run(&["store", "copy", &place.address, to])?;
    let told = String::from_utf8_lossy(&copied.stderr).into_owned();
    ensure!(told.contains("node_modules/.bin/left"), "{told}");
    for path in ["main.py", ".venv/pyvenv.cfg", "node_modules/left/index.js"] {
        ensure!(
            Path::new(to).join("threads/t1").join(path).is_file(),
            "{path}: {told}"
        );
    }
    Ok(())
}
