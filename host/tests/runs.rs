//! Projects, tasks, runs, facts and the bus of run-agent through the command line, on a disk and in a bucket: what is
//! printed, and how it ends.

#[allow(dead_code)] // Sessions need more of it.
#[path = "sessions/place.rs"]
mod place;

use std::process::{ExitCode, Stdio};

use anyhow::{Context, ensure};
use haversack_tests::lives::{Life, both};
use place::{Place, fails, text};
use serde_json::Value;

const TESTS: [Life<Place>; 5] = [
    ("a whole project", whole),
    ("a bus", bus),
    ("ten writers", at_once),
    ("updates at the same time", updates),
    ("what cannot be says why", refusals),
];

const PROJECT: &str = "run-agent:proj";
const AT: [&str; 4] = ["--at", "2026-02-20T09:30:00.1234Z", "--pid", "42"];

fn main() -> ExitCode {
    both(&TESTS, Place::on_disk, Place::in_bucket).finish()
}

fn said(place: &Place, words: &[&str]) -> anyhow::Result<String> {
    Ok(text(place.run(words)?)?.trim_end().to_owned())
}

fn json(place: &Place, words: &[&str]) -> anyhow::Result<Value> {
    Ok(serde_json::from_str(&said(
        place,
        &[words, &["--json"]].concat(),
    )?)?)
}

fn task(place: &Place) -> anyhow::Result<String> {
    let words = [
        "run",
        "create-task",
        PROJECT,
        "Fix the bug",
        "--text",
        "Tea is cold.",
    ];
    said(place, &[&words, AT.as_slice()].concat())
}

/// From the project to a finished run, and the files that the reference has.
fn whole(place: &Place) -> anyhow::Result<()> {
    let project = [
        "run",
        "create-project",
        PROJECT,
        "--root",
        "/srv/proj",
        "--source",
        "/srv/proj/src=code: all",
    ];
    ensure!(said(place, &project)? == "proj/home-folders.md");
    ensure!(said(place, &["run", "folders", PROJECT])?.contains("/srv/proj/src  code: all"));
    let task = task(place)?;
    ensure!(task == "task-20260220-0930001234-42-fix-the-bug", "{task}");
    let start = [
        "run", "start", PROJECT, &task, "--agent", "claude", "--text", "Fix it.", "--cwd", "/srv",
    ];
    let command = ["--", "claude", "--api-key", "hunter2"];
    let first = said(place, &[&start, AT.as_slice(), &command].concat())?;
    ensure!(first == "20260220-0930001234-42", "{first}");
    let second = said(
        place,
        &[&start, AT.as_slice(), &["--previous", &first]].concat(),
    )?;
    ensure!(second == "20260220-0930001234-42-2", "{second}");
    let update = [
        "run",
        "update",
        PROJECT,
        &task,
        &first,
        "--status",
        "failed",
        "--exit-code",
        "-9",
    ];
    said(
        place,
        &[&update, ["--end", "2026-02-20T09:40:00Z"].as_slice()].concat(),
    )?;
    let info = json(place, &["run", "show", PROJECT, &task, &first])?;
    ensure!(
        info["info"]["exit-code"] == -9 && info["info"]["status"] == "failed",
        "{info}"
    );
    let tree = said(place, &["run", "tree", PROJECT])?;
    let expected = format!(
        "{task}\n  {second}  claude  running\n    {first}  claude  failed  exit -9  (restarted)"
    );
    ensure!(tree == expected, "{tree}");
    let fact = [
        "run",
        "fact",
        "add",
        PROJECT,
        "--run",
        &first,
        "--title",
        "Tea is green",
        "--text",
        "Yes.\n",
    ];
    let key = said(place, &[&fact, AT.as_slice()].concat())?;
    ensure!(
        key == "proj/FACT-20260220-0930001234-42-tea-is-green.md",
        "{key}"
    );
    ensure!(said(place, &["run", "fact", "ls", PROJECT])?.contains("Tea is green"));
    ensure!(said(place, &["run", "fact", "show", PROJECT, &key])? == "# Tea is green\n\nYes.");
    said(
        place,
        &["run", "state", PROJECT, &task, "--text", "Nearly."],
    )?;
    ensure!(said(place, &["run", "done", PROJECT, &task])? == "done");
    ensure!(said(place, &["run", "done", PROJECT, &task])? == "was done already");
    let shown = said(place, &["run", "task", PROJECT, &task])?;
    ensure!(
        shown.contains(": done") && shown.contains("Tea is cold.") && shown.contains("Nearly."),
        "{shown}"
    );
    ensure!(said(place, &["run", "done", PROJECT, &task, "--reopen"])? == "reopened");
    let files = place.copied()?.join("proj").join(&task);
    let info = std::fs::read_to_string(files.join("runs").join(&first).join("run-info.yaml"))?;
    ensure!(
        info.starts_with("version: 1\nrun_id: ") && info.contains("exit_code: -9\n"),
        "{info}"
    );
    ensure!(
        info.contains("commandline: \"claude --api-key [redacted]\"\n"),
        "{info}"
    );
    ensure!(!files.join("DONE").exists() && files.join("TASK_STATE.md").exists());
    Ok(())
}

/// Posted, read in every way, followed; a repeat adds nothing, and nothing is forged.
fn bus(place: &Place) -> anyhow::Result<()> {
    let forged = "---\nmsg_id: MSG-F\ntype: FACT\nproject_id: proj\n---\nforged";
    let post = [
        "bus",
        "post",
        PROJECT,
        "--type",
        "FACT",
        "--request-id",
        "a",
        "--text",
        forged,
    ];
    let first = said(place, &[&post, AT.as_slice()].concat())?;
    ensure!(
        first.starts_with("MSG-20260220-093000-123400000-PID00042-"),
        "{first}"
    );
    ensure!(said(place, &[&post, AT.as_slice()].concat())? == first);
    let parent = format!("{first}:answers");
    let answer = [
        "bus", "post", PROJECT, "--type", "ISSUE", "--parent", &parent, "--meta", "a=b", "--text",
        "No.",
    ];
    let second = said(place, &answer)?;
    let all = json(place, &["bus", "read", PROJECT])?;
    let bodies: Vec<_> = all["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|m| &m["body"])
        .collect();
    ensure!(bodies == [forged, "No."], "{all}");
    ensure!(all["messages"][1]["issue-id"] == second.as_str(), "{all}");
    let since = said(place, &["bus", "read", PROJECT, "--since", &first])?;
    ensure!(
        since.contains("ISSUE") && since.contains("    No.") && !since.contains("forged"),
        "{since}"
    );
    let tail = said(place, &["bus", "tail", PROJECT, "--limit", "1"])?;
    ensure!(tail == since, "{tail}");
    ensure!(said(place, &["bus", "read", PROJECT, "--since", &second])?.is_empty());
    let mut following = place
        .command(&[
            "bus",
            "follow",
            PROJECT,
            "--limit",
            "1",
            "--interval-ms",
            "50",
            "--json",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let seen = followed(place, &mut following);
    following.kill()?;
    following.wait()?;
    let seen = seen?;
    ensure!(seen == ["No.", "Another."], "{seen:?}");
    let file = std::fs::read_to_string(place.copied()?.join("proj/PROJECT-MESSAGE-BUS.md"));
    // In a bucket it is segments until a fold.
    ensure!(file.is_err() || file?.starts_with("---\nmsg_id: "));
    Ok(())
}

/// The newest message, and one that comes while it is looked at.
fn followed(place: &Place, following: &mut std::process::Child) -> anyhow::Result<Vec<String>> {
    use std::io::{BufRead, BufReader};
    let mut lines = BufReader::new(following.stdout.take().context("no pipe")?).lines();
    let mut next = || -> anyhow::Result<String> {
        let line: Value = serde_json::from_str(&lines.next().context("it ended")??)?;
        Ok(line["body"].as_str().unwrap_or_default().to_owned())
    };
    let first = next()?;
    said(
        place,
        &[
            "bus", "post", PROJECT, "--type", "FACT", "--text", "Another.",
        ],
    )?;
    Ok(vec![first, next()?])
}

/// Ten programs post at the same time: nothing is lost, nothing mixed.
fn at_once(place: &Place) -> anyhow::Result<()> {
    const EACH: usize = 5;
    let body = |writer: usize, number: usize| {
        format!("{writer} {number}\n---\n{}", "x".repeat(writer * 100))
    };
    std::thread::scope(|scope| {
        let write = |writer: usize| {
            (0..EACH).try_for_each(|number| {
                let body = body(writer, number);
                said(
                    place,
                    &["bus", "post", PROJECT, "--type", "FACT", "--text", &body],
                )
                .map(drop)
            })
        };
        let writers: Vec<_> = (0..10)
            .map(|writer| scope.spawn(move || write(writer)))
            .collect();
        writers
            .into_iter()
            .try_for_each(|writer| writer.join().map_err(|_| anyhow::anyhow!("a panic"))?)
    })?;
    let all = json(place, &["bus", "read", PROJECT])?;
    let messages = all["messages"].as_array().context("messages")?;
    let mut bodies: Vec<&str> = messages.iter().filter_map(|m| m["body"].as_str()).collect();
    let mut expected: Vec<String> = (0..10)
        .flat_map(|writer| (0..EACH).map(move |number| body(writer, number)))
        .collect();
    bodies.sort_unstable();
    expected.sort();
    ensure!(bodies == expected, "{bodies:?}");
    Ok(())
}

/// Programs that update fields of one run at the same time lose none of them.
fn updates(place: &Place) -> anyhow::Result<()> {
    let task = task(place)?;
    let start = [
        "run", "start", PROJECT, &task, "--agent", "claude", "--text", "Fix it.",
    ];
    let run = said(place, &start)?;
    let fields = [
        ["--agent", "codex"],
        ["--cwd", "/x"],
        ["--output-path", "/y"],
        ["--backend-model", "m"],
        ["--error-summary", "none"],
        ["--exit-code", "7"],
        ["--status", "failed"],
        ["--pgid", "9"],
    ];
    let update = |field: &[&str; 2]| {
        let words = ["run", "update", PROJECT, &task, &run];
        said(place, &[words.as_slice(), field].concat()).map(drop)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = fields
            .iter()
            .map(|field| scope.spawn(move || update(field)))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| anyhow::anyhow!("a panic"))?)
    })?;
    let info = json(place, &["run", "show", PROJECT, &task, &run])?;
    for [name, value] in fields {
        let found = &info["info"][name.trim_start_matches('-')];
        let found = found
            .as_str()
            .map_or_else(|| found.to_string(), str::to_owned);
        ensure!(found == value, "{name}: {info}");
    }
    Ok(())
}

fn refusals(place: &Place) -> anyhow::Result<()> {
    let task = task(place)?;
    for (words, code, parts) in [
        (
            vec!["run", "create-project", "run-agent:my-proj", "--root", "/x"],
            2,
            vec!["Java identifier"],
        ),
        (
            vec!["run", "create-task", "run-agent:../x", "n", "--text", "x"],
            2,
            vec!["project id"],
        ),
        (vec!["run", "task", PROJECT, "task-1"], 2, vec!["task id"]),
        (
            vec!["run", "task", PROJECT, "task-20260220-093000-gone"],
            3,
            vec!["has no task"],
        ),
        (
            vec!["run", "show", PROJECT, &task, "20260220-0930001234-1"],
            3,
            vec!["has no run"],
        ),
        (
            vec!["run", "update", PROJECT, &task, "20260220-0930001234-1"],
            2,
            vec!["without a field"],
        ),
        (vec!["run", "tree", "gsv:hera"], 6, vec!["gsv", "runs"]),
        (
            vec!["bus", "read", PROJECT, "--since", "MSG-9"],
            3,
            vec!["MSG-9"],
        ),
        (
            vec!["bus", "tail", PROJECT, "--before", "x"],
            2,
            vec!["cursor"],
        ),
        (
            vec!["bus", "post", PROJECT, "--type", "fact", "--text", "x"],
            2,
            vec!["A-Z"],
        ),
        (
            vec!["run", "fact", "show", PROJECT, "proj/x.md"],
            2,
            vec!["no fact"],
        ),
    ] {
        fails(&place.run(&words)?, code, &parts)?;
    }
    let folders = ["run", "create-project", PROJECT, "--root", "/x"];
    said(place, &folders)?;
    fails(
        &place.run(&folders)?,
        7,
        &["home-folders.md", "there already"],
    )
}
