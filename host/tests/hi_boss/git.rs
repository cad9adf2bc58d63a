//! What `git status` shows after every operation: MEMORY.md and memories/*.md, and nothing else.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::place::{Place, text};

const SPACE: &str = "agents/nex/internal_space";

const OPERATIONS: [&[&str]; 11] = [
    &["memory", "ensure", "hi-boss:nex"],
    &["memory", "ensure", "hi-boss:nex"],
    &[
        "memory",
        "append",
        "hi-boss:nex",
        "--text",
        "one",
        "--at",
        "2026-02-20T09:30:00Z",
    ],
    &[
        "memory",
        "append",
        "hi-boss:nex",
        "--text",
        "two",
        "--at",
        "2026-01-02T09:30:00Z",
    ],
    &["memory", "show", "hi-boss:nex"],
    &["prompt", "hi-boss:nex"],
    &["memory", "read", "hi-boss:nex", "--date", "2026-02-20"],
    &[
        "memory",
        "promote",
        "hi-boss:nex",
        "2026-02-20",
        "--line",
        "1",
    ],
    &[
        "memory",
        "prune",
        "hi-boss:nex",
        "--before",
        "2026-02-01",
        "--now",
        "2026-02-20T09:30:00Z",
    ],
    &[
        "memory",
        "prune",
        "hi-boss:nex",
        "--before",
        "2026-02-01",
        "--now",
        "2026-02-20T09:30:00Z",
        "--yes",
    ],
    &["ls", "hi-boss:nex"],
];

pub fn is_there() -> bool {
    let output = Command::new("git").arg("--version").output();
    output.is_ok_and(|output| output.status.success())
}

pub fn in_the_space(place: &Place) -> anyhow::Result<()> {
    status_after_every_operation(place, SPACE, "")
}

pub fn in_the_store(place: &Place) -> anyhow::Result<()> {
    status_after_every_operation(place, "", &format!("{SPACE}/"))
}

/// With a repository in `folder` of the store, in which names begin with `prefix`.
fn status_after_every_operation(place: &Place, folder: &str, prefix: &str) -> anyhow::Result<()> {
    let store = place.folder.path().join("store");
    let space = store.join(SPACE);
    let repository = store.join(folder);
    std::fs::create_dir_all(&space)?;
    std::fs::write(space.join("Note.md"), "# Old\n")?;
    git(&repository, &["init", "--quiet"])?;
    let backup = place.folder.path().join("backup").display().to_string();
    let check = |operation: &[&str]| -> anyhow::Result<()> {
        text(place.run(operation)?)?;
        let names = seen(&repository)?;
        ensure!(!names.is_empty(), "{operation:?}: git sees nothing");
        for name in names {
            let inside = name.strip_prefix(prefix).unwrap_or_default();
            let is_day = inside
                .strip_prefix("memories/")
                .is_some_and(|day| day.ends_with(".md") && !day.contains('/'));
            ensure!(
                inside == "MEMORY.md" || is_day,
                "{operation:?}: git sees {name}"
            );
        }
        Ok(())
    };
    OPERATIONS.into_iter().try_for_each(check)?;
    check(&["memory", "backup", "hi-boss:nex", &backup])?;
    std::fs::remove_file(space.join("MEMORY.md"))?;
    check(&["memory", "restore", "hi-boss:nex", &backup])?;
    let memory = std::fs::read_to_string(space.join("MEMORY.md"))?;
    ensure!(memory == "# Old\none\n", "{memory:?}");
    // Also once everything is committed and changes again.
    git(&repository, &["add", "--all"])?;
    git(&repository, &["commit", "--quiet", "--message", "memory"])?;
    ensure!(
        seen(&repository)?.is_empty(),
        "something is left after a commit"
    );
    check(&[
        "memory",
        "append",
        "hi-boss:nex",
        "--text",
        "three",
        "--at",
        "2026-02-20T10:00:00Z",
    ])
}

/// What is new or changed.
fn seen(repository: &Path) -> anyhow::Result<Vec<String>> {
    let printed = git(
        repository,
        &["status", "--porcelain", "--untracked-files=all", "-z"],
    )?;
    let names = printed.split('\0').filter(|name| !name.is_empty());
    names
        .map(|name| Ok(name.get(3..).context("a short line")?.to_owned()))
        .collect()
}

fn git(folder: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new("git");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    let output = command
        .args(["-c", "user.name=nex", "-c", "user.email=nex@example.org"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "no/such/file")
        .output()?;
    text(output)
}
