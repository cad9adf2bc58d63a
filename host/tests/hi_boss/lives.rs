//! Memory made, filled, shown, promoted, written, pruned, backed up and put back.

use std::process::Stdio;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::place::{Place, fails, text};

const HOME: &str = "hi-boss:nex";
const AT: [&str; 2] = ["--at", "2026-02-20T09:30:00Z"];
const NOW: [&str; 2] = ["--now", "2026-02-20T09:30:00Z"];
const SPACE: &str = "agents/nex/internal_space";

/// `haversack memory ACTION hi-boss:nex MORE…`, printed.
fn memory(place: &Place, action: &str, more: &[&str]) -> anyhow::Result<String> {
    text(place.run(&[&["memory", action, HOME], more].concat())?)
}

fn json(place: &Place, action: &str, more: &[&str]) -> anyhow::Result<Value> {
    let printed = memory(place, action, &[more, &["--json"]].concat())?;
    Ok(serde_json::from_str(&printed)?)
}

fn prints(printed: String, expected: &str) -> anyhow::Result<()> {
    ensure!(printed == expected, "{printed:?} is not {expected:?}");
    Ok(())
}

pub fn whole(place: &Place) -> anyhow::Result<()> {
    prints(
        memory(place, "ensure", &[])?,
        &format!("made {SPACE}/MEMORY.md\n"),
    )?;
    let there = format!("{SPACE}/MEMORY.md is there; nothing was changed\n");
    prints(memory(place, "ensure", &[])?, &there)?;

    let lines = "Boss prefers concise bullets.\n\nThe boiler was serviced.";
    memory(place, "append", &[&["--text", lines], &AT[..]].concat())?;
    memory(
        place,
        "append",
        &["--text", "old", "--at", "2025-12-31T10:00:00Z"],
    )?;
    let once = [&["--text", "tea", "--request-id", "t1"], &AT[..]].concat();
    let first = json(place, "append", &once)?;
    let again = json(place, "append", &once)?;
    ensure!(
        first["repeat"] == false && again["repeat"] == true,
        "{again}"
    );

    let shown = "## Memory\n\n### Long-term memory\n\n(empty)\n\n### Daily memory\n\n```\n--- 2026-02-20 ---\n\
                 Boss prefers concise bullets.\nThe boiler was serviced.\ntea\n\n--- 2025-12-31 ---\nold\n```\n";
    prints(memory(place, "show", &NOW)?, shown)?;
    prints(text(place.run(&["prompt", HOME])?)?, shown)?;

    let numbered =
        "   1  Boss prefers concise bullets.\n   2  The boiler was serviced.\n   3  tea\n";
    let day = ["--date", "2026-02-20"];
    prints(
        memory(place, "read", &[&day[..], &["--numbered"]].concat())?,
        numbered,
    )?;
    let promoted = format!("promoted 2 lines of 2026-02-20 to {SPACE}/MEMORY.md\n");
    let lines = ["2026-02-20", "--line", "1", "--line", "3-3"];
    prints(memory(place, "promote", &lines)?, &promoted)?;
    prints(
        memory(place, "read", &[])?,
        "Boss prefers concise bullets.\ntea\n",
    )?;

    let read = json(place, "read", &[])?;
    let version = read["version"].as_str().context("a version")?;
    let write = ["--text", "- Bullets, and tea.\n", "--version", version];
    prints(
        memory(place, "write", &write)?,
        &format!("wrote {SPACE}/MEMORY.md\n"),
    )?;
    let late = ["--text", "late", "--version", version];
    let late = place.run(&[&["memory", "write", HOME], &late[..]].concat())?;
    fails(&late, 7, &["memory read hi-boss:nex --json", "--version"])?;

    let prune = [&["--before", "2026-01-01"], &NOW[..]].concat();
    let would = format!("         4  {SPACE}/memories/2025-12-31.md\n");
    prints(memory(place, "prune", &prune)?, &would)?;
    ensure!(
        memory(place, "show", &NOW)?.contains("2025-12-31"),
        "a dry run deleted"
    );
    let prune = [&prune[..], &["--yes"]].concat();
    prints(memory(place, "prune", &prune)?, &would)?;
    prints(memory(place, "prune", &prune)?, "")?;
    let answer = json(place, "prune", &["--keep-days", "1", NOW[0], NOW[1]])?;
    ensure!(
        answer["before"] == "2026-02-20" && answer["dry-run"] == true,
        "{answer}"
    );
    Ok(())
}

pub fn limits(place: &Place) -> anyhow::Result<()> {
    memory(place, "write", &["--text", "0123456789"])?;
    for (at, line) in [
        ("2026-02-20T09:30:00Z", "abcdefghij"),
        ("2026-02-19T09:30:00Z", "klmnopqrst"),
    ] {
        memory(place, "append", &["--text", line, "--at", at])?;
    }
    let shown = |more: &[&str]| memory(place, "show", &[more, &NOW[..]].concat());
    for (flags, names) in [
        (
            &["--long-term-max", "9"][..],
            &["012345678\n\n<<truncated due to internal-space-memory-max-chars=9>>"][..],
        ),
        (&["--long-term-max", "10"], &["0123456789\n```"]),
        (
            &["--per-day-max", "9", "--daily-max", "500"],
            &["abcdefghi\n\n<<truncated due to internal-space-daily-per-day-max-chars=9>>"],
        ),
        (
            &["--per-day-max", "9"],
            &["internal-space-daily-max-chars=18>>"],
        ),
        (
            &["--daily-max", "29"],
            &["abcdefghij\n\n<<truncated due to internal-space-daily-max-chars=29>>"],
        ),
        (
            &["--total-max", "25"],
            &["klmno\n\n<<truncated due to internal-space-daily-max-chars=25>>"],
        ),
        (
            &["--days", "1", "--per-day-max", "20"],
            &["--- 2026-02-20 ---\na\n\n<<truncated due to internal-space-daily-max-chars=20>>"],
        ),
        (
            &["--budget", "newest-first", "--per-day-max", "9"],
            &["memories/2026-02-20.md left out: kept 9 of 10 characters ...]\n\nbcdefghij"],
        ),
        (&["--budget", "none"], &["klmnopqrst"]),
    ] {
        let printed = shown(flags)?;
        for name in names {
            ensure!(printed.contains(name), "{flags:?}: {printed}");
        }
    }
    let printed = text(place.run(&[
        "prompt",
        HOME,
        "--long-term-max",
        "5",
        "--days",
        "0",
        "--base",
        "You are Nex.",
    ])?)?;
    let expected = "You are Nex.\n\n---\n\n## Memory\n\n### Long-term memory\n\n```\n01234\n\n\
                    <<truncated due to internal-space-memory-max-chars=5>>\n```\n\n### Daily memory\n\n(empty)\n";
    prints(printed, expected)?;
    let output = place.run(&[
        "memory",
        "show",
        HOME,
        "--per-day-max",
        "9",
        "--budget",
        "tiny",
    ])?;
    fails(&output, 2, &["tiny", "newest-first"])?;
    let output = place.run(&["memory", "show", HOME, "--days", "15"])?;
    fails(&output, 2, &["15", "14"])
}

pub fn backup(place: &Place) -> anyhow::Result<()> {
    let to = place.folder.path().join("backup");
    let to_text = to.display().to_string();
    let backup = |more: &[&str]| place.run(&[&["memory", "backup", HOME, &to_text], more].concat());
    fails(&backup(&[])?, 3, &["hi-boss:nex", "haversack ls"])?;

    memory(place, "write", &["--text", "- tea\n"])?;
    memory(place, "append", &[&["--text", "one"], &AT[..]].concat())?;
    for (number, folder) in ["space", "root"].into_iter().enumerate() {
        // What is no memory: a neighbour, and another agent's.
        let from = place.folder.path().join(folder);
        let keys = [
            "agents/nex/internal_space/index.sqlite",
            "agents/nexus/internal_space/MEMORY.md",
        ];
        let file = from.join(keys[number]);
        std::fs::create_dir_all(file.parent().context("a folder")?)?;
        std::fs::write(&file, "x")?;
        copy_in(place, &from)?;
    }
    let said = text(backup(&["--dry-run"])?)?;
    ensure!(said.contains("MEMORY.md") && !to.exists(), "{said}");
    text(backup(&[])?)?;
    ensure!(
        names(&to)? == ["MEMORY.md", "memories/2026-02-20.md"],
        "{:?}",
        names(&to)?
    );
    ensure!(
        !to.join("agents/nexus").exists(),
        "the neighbour came along"
    );

    // Brought up to date only where that is asked for.
    memory(place, "append", &[&["--text", "two"], &AT[..]].concat())?;
    fails_among(&backup(&[])?, 7, "--replace")?;
    text(backup(&["--replace"])?)?;

    // What is lost comes back; what was written since is kept, unless that is asked for.
    let before = memory(place, "show", &NOW)?;
    memory(
        place,
        "prune",
        &[
            "--before",
            "2026-02-21",
            "--now",
            "2026-02-22T09:30:00Z",
            "--yes",
        ],
    )?;
    let version = json(place, "read", &[])?["version"].clone();
    let version = version.as_str().context("a version")?.to_owned();
    memory(
        place,
        "write",
        &["--text", "- coffee\n", "--version", &version],
    )?;
    let restore =
        |more: &[&str]| place.run(&[&["memory", "restore", HOME, &to_text], more].concat());
    fails_among(&restore(&[])?, 7, "--replace")?;
    let between = memory(place, "show", &NOW)?;
    ensure!(
        between.contains("coffee") && between.contains("one\ntwo"),
        "{between}"
    );
    text(restore(&["--replace"])?)?;
    prints(memory(place, "show", &NOW)?, &before)?;
    let nothing = place.folder.path().join("nothing").display().to_string();
    fails(
        &place.run(&["memory", "restore", HOME, &nothing])?,
        4,
        &["nothing"],
    )
}

/// The last line on standard error, where others name what was kept.
fn fails_among(output: &std::process::Output, code: i32, name: &str) -> anyhow::Result<()> {
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(code),
        "{:?}: {said}",
        output.status
    );
    let last = said.lines().last().unwrap_or_default();
    ensure!(last.contains(name), "{said}");
    Ok(())
}

/// Put into the store what lies in a folder.
fn copy_in(place: &Place, from: &std::path::Path) -> anyhow::Result<()> {
    let from = from.to_str().context("UTF-8")?;
    text(place.run(&["store", "copy", from, &place.address])?)?;
    Ok(())
}

/// What lies in the space of a backup, in order.
fn names(backup: &std::path::Path) -> anyhow::Result<Vec<String>> {
    let space = backup.join(SPACE);
    let mut names = Vec::new();
    let mut folders = vec![space.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            match path.is_dir() {
                true => folders.push(path),
                false => names.push(path.strip_prefix(&space)?.display().to_string()),
            }
        }
    }
    names.sort();
    Ok(names)
}

pub fn note(place: &Place) -> anyhow::Result<()> {
    let from = place.folder.path().join("legacy");
    std::fs::create_dir_all(from.join(SPACE))?;
    std::fs::write(from.join(SPACE).join("Note.md"), "# Old\n")?;
    copy_in(place, &from)?;
    let output = place.run(&["memory", "ensure", HOME])?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    prints(text(output)?, &format!("made {SPACE}/MEMORY.md\n"))?;
    ensure!(said.contains("Note.md"), "{said}");
    prints(memory(place, "read", &[])?, "# Old\n")?;
    // It comes again, and by then there is more in MEMORY.md.
    memory(place, "append", &[&["--text", "one"], &AT[..]].concat())?;
    memory(place, "promote", &["2026-02-20", "--line", "1"])?;
    copy_in(place, &from)?;
    let answer = json(place, "ensure", &[])?;
    ensure!(answer["changed"] == false, "{answer}");
    let message = answer["problems"][0]["message"]
        .as_str()
        .unwrap_or_default();
    ensure!(message.contains("both are kept"), "{answer}");
    prints(memory(place, "read", &[])?, "# Old\none\n")
}

pub fn at_once(place: &Place) -> anyhow::Result<()> {
    let start = |number: usize| {
        let line = format!("number {number}.");
        place
            .command(&["memory", "append", HOME, "--text", &line])
            .args(AT)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
    };
    let children: Vec<_> = (0..10).map(start).collect::<Result<_, _>>()?;
    for child in children {
        text(child.wait_with_output()?)?;
    }
    let day = memory(place, "read", &["--date", "2026-02-20"])?;
    let mut lines: Vec<&str> = day.lines().collect();
    lines.sort_unstable();
    let expected: Vec<String> = (0..10).map(|number| format!("number {number}.")).collect();
    ensure!(lines == expected, "{day}");
    Ok(())
}
