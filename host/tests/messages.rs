//! Chat logs through the command line, on a disk and in a bucket: what is printed, and how it ends.

#[allow(dead_code)] // Sessions need more of it.
#[path = "sessions/place.rs"]
mod place;

use std::process::ExitCode;

use anyhow::{Context, ensure};
use haversack_tests::lives::{Life, both};
use place::{Place, fails, text};
use serde_json::{Value, json};

const TESTS: [Life<Place>; 3] = [
    ("a whole chat", whole),
    ("eight programs at once", at_once),
    ("what cannot be says why", refusals),
];

const USER: &str = "moltbot:user_1";

fn main() -> ExitCode {
    both(&TESTS, Place::on_disk, Place::in_bucket).finish()
}

fn message(number: usize) -> String {
    let timestamp = 1_706_572_800_000 + number;
    format!(
        r#"{{"id":"msg_{number}","role":"user","content":"number {number}","timestamp":{timestamp}}}"#
    )
}

/// A file of messages, one a line.
fn file(place: &Place, name: &str, lines: &[String]) -> anyhow::Result<String> {
    let path = place.folder.path().join(name);
    std::fs::write(&path, lines.join("\n"))?;
    Ok(path.to_str().context("UTF-8")?.to_owned())
}

fn said(place: &Place, words: &[&str]) -> anyhow::Result<String> {
    text(place.run(words)?)
}

/// Append in several calls, again, read in pages, refresh, and look at the file that the reference has.
fn whole(place: &Place) -> anyhow::Result<()> {
    let lines: Vec<String> = (0..300).map(message).collect();
    let chat = file(place, "chat.jsonl", &lines)?;
    let append = ["messages", "append", USER, &chat];
    let printed = said(place, &append)?;
    ensure!(printed == "appended 300 messages to main\n", "{printed}");
    let one = file(place, "one.jsonl", &lines[299..])?;
    let again: Value =
        serde_json::from_str(&said(place, &["messages", "append", USER, &one, "--json"])?)?;
    ensure!(place_knows(&again), "{again}");
    let history = said(
        place,
        &["messages", "history", USER, "--jsonl", "--limit", "300"],
    )?;
    ensure!(history.lines().eq(lines.iter()), "{history}");
    let newest: Value = serde_json::from_str(&said(
        place,
        &["messages", "history", USER, "--limit", "2", "--json"],
    )?)?;
    ensure!(newest["messages"][1]["id"] == "msg_299", "{newest}");
    let before = newest["before"].as_str().context("a cursor")?;
    let older = said(
        place,
        &[
            "messages", "history", USER, "--limit", "1", "--before", before,
        ],
    )?;
    ensure!(older == "user        number 297\n", "{older}");
    let known = said(place, &["messages", "refresh", USER])?;
    ensure!(
        known.starts_with("messages  300\n") && known.ends_with("last      msg_299\n"),
        "{known}"
    );
    let copy = place.copied()?.join("users/user_1/sessions/main");
    let metadata: Value = serde_json::from_slice(&std::fs::read(copy.join("metadata.json"))?)?;
    ensure!(
        metadata["messageCount"] == 300 && metadata["sessionKey"] == "main",
        "{metadata}"
    );
    ensure!(
        metadata["createdAt"] == json!("2024-01-30T00:00:00Z"),
        "{metadata}"
    );
    Ok(())
}

/// Known as a repeat, or, where a fold took it over already, taken once more and known by the next fold.
fn place_knows(answer: &Value) -> bool {
    *answer == json!({ "appended": 0, "repeated": 1 })
        || *answer == json!({ "appended": 1, "repeated": 0 })
}

/// No message of eight programs that append at the same time is lost or there twice.
fn at_once(place: &Place) -> anyhow::Result<()> {
    let files: Vec<String> = (0..8)
        .map(|writer| {
            let lines: Vec<String> = (0..20).map(|n| message(writer * 20 + n)).collect();
            file(place, &format!("{writer}.jsonl"), &lines)
        })
        .collect::<anyhow::Result<_>>()?;
    std::thread::scope(|scope| {
        let append = |file: &String| said(place, &["messages", "append", USER, file]).map(drop);
        let writers: Vec<_> = files
            .iter()
            .map(|file| scope.spawn(move || append(file)))
            .collect();
        writers
            .into_iter()
            .try_for_each(|writer| writer.join().map_err(|_| anyhow::anyhow!("a panic"))?)
    })?;
    let history = said(
        place,
        &["messages", "history", USER, "--jsonl", "--limit", "1000"],
    )?;
    let mut lines: Vec<&str> = history.lines().collect();
    lines.sort_by_key(|line| {
        line.split('_')
            .nth(1)
            .and_then(|rest| rest.split('"').next()?.parse::<usize>().ok())
    });
    let expected: Vec<String> = (0..160).map(message).collect();
    ensure!(lines == expected, "{history}");
    Ok(())
}

fn refusals(place: &Place) -> anyhow::Result<()> {
    let wrong = file(place, "wrong.jsonl", &["{\"role\":\"user\"}".to_owned()])?;
    fails(
        &place.run(&["messages", "append", USER, &wrong])?,
        2,
        &["`id`", "msg_1"],
    )?;
    let empty = file(place, "empty.jsonl", &[])?;
    fails(
        &place.run(&["messages", "append", USER, &empty])?,
        2,
        &["no message"],
    )?;
    fails(
        &place.run(&["messages", "append", USER, "no/such/file"])?,
        3,
        &["no/such/file"],
    )?;
    fails(
        &place.run(&["messages", "history", "moltbot:-a"])?,
        2,
        &["user id"],
    )?;
    fails(
        &place.run(&["messages", "history", USER, "--session", "a..b"])?,
        2,
        &["session key"],
    )?;
    fails(
        &place.run(&["messages", "history", USER, "--before", "x"])?,
        2,
        &["cursor"],
    )?;
    fails(
        &place.run(&["messages", "history", "gsv:hera"])?,
        6,
        &["gsv", "messages"],
    )?;
    fails(
        &place.run(&["messages", "refresh", USER])?,
        3,
        &["user_1", "main"],
    )?;
    let limit = place.run(&["messages", "history", USER, "--limit", "ten"])?;
    ensure!(limit.status.code() == Some(2), "{limit:?}");
    ensure!(
        String::from_utf8_lossy(&limit.stderr).contains("--limit"),
        "{limit:?}"
    );
    // Of several calls it says what is in.
    let mut lines: Vec<String> = (0..256).map(message).collect();
    lines.push("nonsense".to_owned());
    let late = file(place, "late.jsonl", &lines)?;
    fails(
        &place.run(&["messages", "append", USER, &late])?,
        2,
        &["first 256 messages are in"],
    )
}
