//! Retention of users through the command line, on a disk and in a bucket: a whole life, a sweep that is stopped, and
//! what is refused.

#[allow(dead_code)] // Sessions need more of it.
#[path = "sessions/place.rs"]
mod place;

use std::process::ExitCode;

use anyhow::{Context, ensure};
use haversack_tests::lives::{Life, both};
use place::{Place, fails, text};
use serde_json::{Value, json};

const TESTS: [Life<Place>; 5] = [
    ("a whole life", whole),
    ("a user that was deleted comes back", restored),
    ("a dry run writes nothing", dry),
    ("a sweep at work is waited for", at_work),
    ("what cannot be says why", refusals),
];

fn main() -> ExitCode {
    both(&TESTS, Place::on_disk, Place::in_bucket).finish()
}

fn said(place: &Place, words: &[&str]) -> anyhow::Result<String> {
    text(place.run(words)?)
}

fn asked(place: &Place, words: &[&str]) -> anyhow::Result<Value> {
    Ok(serde_json::from_str(&said(
        place,
        &[words, &["--json"]].concat(),
    )?)?)
}

/// Objects of a store of files, put into the place beside what is there.
fn put(place: &Place, objects: &[(String, String)]) -> anyhow::Result<()> {
    let from = place.folder.path().join("from");
    for (key, body) in objects {
        let path = from.join(key);
        std::fs::create_dir_all(path.parent().context("a parent")?)?;
        std::fs::write(path, body)?;
    }
    let from_text = from.to_str().context("UTF-8")?;
    said(
        place,
        &["store", "copy", from_text, &place.address, "--replace"],
    )?;
    std::fs::remove_dir_all(from)?;
    Ok(())
}

fn of(user: &str, meta: &Value, files: usize) -> Vec<(String, String)> {
    let key = |path: &str| format!("users/{user}/{path}");
    let mut objects = vec![(key("meta.json"), format!("{meta}\n"))];
    for number in 0..files {
        objects.push((
            key(&format!("workspace/{number}.md")),
            format!("file {number}\n"),
        ));
    }
    objects
}

fn active(user: &str) -> Value {
    json!({ "userId": user, "subscriptionStatus": "active", "plan": 7 })
}

fn ended(user: &str) -> Value {
    json!({
        "userId": user,
        "subscriptionStatus": "cancelled",
        "subscriptionEndedAt": "2025-01-01T00:00:00Z",
        "retentionExpiresAt": "2025-04-01T00:00:00Z",
    })
}

/// What lies in the place now, by key, without what is a store's own.
fn keys(place: &Place) -> anyhow::Result<Vec<String>> {
    let copy = place.copied()?;
    let mut folders = vec![copy.clone()];
    let mut keys = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let key = path.strip_prefix(&copy)?.display().to_string();
            match path.is_dir() {
                true if key == ".haversack" => {}
                true => folders.push(path),
                false => keys.push(key),
            }
        }
    }
    std::fs::remove_dir_all(copy)?;
    keys.sort();
    Ok(keys)
}

fn meta(place: &Place, user: &str) -> anyhow::Result<Value> {
    let copy = place.copied()?;
    let bytes = std::fs::read(copy.join(format!("users/{user}/meta.json")))?;
    std::fs::remove_dir_all(copy)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// End, look at the plan, sweep, look again, purge; a neighbour keeps everything.
fn whole(place: &Place) -> anyhow::Result<()> {
    put(place, &of("a", &active("a"), 30))?;
    put(place, &of("ab", &active("ab"), 2))?;
    let user = "moltbot:a";
    let chat = place.folder.path().join("chat.jsonl");
    let line = r#"{"id":"m1","role":"user","content":"Tea?","timestamp":1706572800000}"#;
    std::fs::write(&chat, line)?;
    said(
        place,
        &["messages", "append", user, chat.to_str().context("UTF-8")?],
    )?;
    let before: Vec<String> = keys(place)?;
    let printed = said(
        place,
        &["tenant", "end", user, "--now", "2025-01-01T00:00:00Z"],
    )?;
    ensure!(
        printed.contains("data stay until 2025-04-01T00:00:00Z"),
        "{printed}"
    );
    let again = said(place, &["tenant", "end", user])?;
    ensure!(again.contains("had ended already"), "{again}");
    let early = said(place, &["tenant", "sweep", "--now", "2025-03-31T23:59:59Z"])?;
    ensure!(early.is_empty(), "{early}");
    let late = said(place, &["tenant", "sweep", "--all"])?;
    let rows: Vec<&str> = late.lines().collect();
    ensure!(rows.len() == 3 && rows[0].starts_with("user "), "{late}");
    ensure!(
        rows[1].contains("move to deleted/") && rows[1].contains("expired at 2025-04-01T00:00:00Z"),
        "{late}"
    );
    ensure!(
        rows[2].starts_with("moltbot:ab") && rows[2].contains("nothing"),
        "{late}"
    );
    let swept = said(place, &["tenant", "sweep", "--apply"])?;
    ensure!(
        swept.starts_with("moltbot:a: deleted: moved to deleted/a/20"),
        "{swept}"
    );
    let after = keys(place)?;
    ensure!(after.len() == before.len(), "{before:?} became {after:?}");
    let live = |key: &&String| key.starts_with("users/a/");
    ensure!(
        after.iter().filter(live).eq(["users/a/meta.json"]),
        "{after:?}"
    );
    let nothing = said(place, &["tenant", "sweep", "--apply"])?;
    ensure!(nothing.is_empty(), "{nothing}");
    // Thirty days later; the clock of a purge is the system's, so the date is moved instead.
    let mut document = meta(place, "a")?;
    ensure!(
        document["plan"] == 7 && document["state"] == "deleted",
        "{document}"
    );
    document["purge-after"] = json!("2026-01-01T00:00:00Z");
    put(place, &of("a", &document, 0))?;
    let plan = asked(place, &["tenant", "sweep"])?;
    ensure!(plan["users"][0]["action"] == "purge", "{plan}");
    let purged = asked(place, &["tenant", "sweep", "--apply"])?;
    ensure!(purged["users"][0]["state"] == "purged", "{purged}");
    ensure!(meta(place, "a")? == json!({ "userId": "a", "state": "purged" }));
    let left = keys(place)?;
    ensure!(
        left == [
            "users/a/meta.json",
            "users/ab/meta.json",
            "users/ab/workspace/0.md",
            "users/ab/workspace/1.md"
        ],
        "{left:?}"
    );
    fails(
        &place.run(&["tenant", "restore", user])?,
        3,
        &["user a", "purged"],
    )
}

/// Swept and restored, then renewed: everything is where it was, with its content type.
fn restored(place: &Place) -> anyhow::Result<()> {
    put(place, &of("a", &ended("a"), 5))?;
    let user = "moltbot:a";
    let chat = place.folder.path().join("chat.jsonl");
    std::fs::write(
        &chat,
        r#"{"id":"m1","role":"user","content":"Tea?","timestamp":1706572800000}"#,
    )?;
    said(
        place,
        &["messages", "append", user, chat.to_str().context("UTF-8")?],
    )?;
    let before = keys(place)?;
    said(place, &["tenant", "sweep", "--apply"])?;
    // The lease of that sweep is over only in two minutes: what would be waited for is moved back.
    let mut document = meta(place, "a")?;
    document["lease-until-ms"] = json!(1);
    put(place, &of("a", &document, 0))?;
    let back = asked(place, &["tenant", "restore", user, "--retention-days", "3"])?;
    ensure!(
        back["step"] == "done" && back["state"] == "active",
        "{back}"
    );
    let kept = |keys: Vec<String>| -> Vec<String> {
        let live = keys.into_iter().filter(|key| key.starts_with("users/"));
        live.collect()
    };
    ensure!(kept(keys(place)?) == kept(before));
    let history = said(place, &["messages", "history", user])?;
    ensure!(history == "user        Tea?\n", "{history}");
    let plan = asked(place, &["tenant", "sweep"])?;
    ensure!(plan["users"][0]["action"] == "keep", "{plan}");
    fails(
        &place.run(&["tenant", "restore", user])?,
        7,
        &["user a", "nothing to restore"],
    )?;
    let renewed = said(place, &["tenant", "renew", user])?;
    ensure!(
        renewed == "moltbot:a is active: the subscription is active\n",
        "{renewed}"
    );
    ensure!(meta(place, "a")?["subscriptionStatus"] == "active");
    Ok(())
}

fn dry(place: &Place) -> anyhow::Result<()> {
    put(place, &of("a", &ended("a"), 2))?;
    put(place, &[("users/none/config/x".to_owned(), "x".to_owned())])?;
    put(
        place,
        &[("users/broken/meta.json".to_owned(), "{".to_owned())],
    )?;
    let before = keys(place)?;
    let output = place.run(&["tenant", "sweep"])?;
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    let table = text(output)?;
    for words in [
        "moltbot:none",
        "no meta.json",
        "moltbot:broken",
        "look at it",
        "move to deleted/",
    ] {
        ensure!(table.contains(words), "{table} does not say {words}");
    }
    ensure!(
        notes.contains("3 users") && notes.contains("--apply"),
        "{notes}"
    );
    ensure!(keys(place)? == before);
    let days = asked(
        place,
        &[
            "tenant",
            "sweep",
            "--retention-days",
            "1",
            "--now",
            "2025-02-01T00:00:00Z",
        ],
    )?;
    let actions: Vec<_> = days["users"]
        .as_array()
        .context("users")?
        .iter()
        .map(|user| &user["action"])
        .collect();
    ensure!(actions == ["keep", "attend", "attend"], "{days}");
    // Those who cannot be read are kept by a sweep too.
    // What is due is done all the same, and who needs a person is named each time.
    let swept = place.run(&["tenant", "sweep", "--apply"])?;
    ensure!(
        String::from_utf8_lossy(&swept.stdout).contains("moltbot:broken: "),
        "{swept:?}"
    );
    let told = String::from_utf8_lossy(&swept.stderr);
    ensure!(
        swept.status.code() == Some(5) && told.contains("moltbot:broken needs a person"),
        "{swept:?}"
    );
    let after = keys(place)?;
    ensure!(
        after.contains(&"users/broken/meta.json".to_owned()),
        "{after:?}"
    );
    ensure!(
        after.contains(&"users/none/config/x".to_owned()),
        "{after:?}"
    );
    Ok(())
}

/// Another machine's sweep has a lease: this one tells, and does not touch; under the same id it goes on at once.
fn at_work(place: &Place) -> anyhow::Result<()> {
    let mut document = ended("a");
    let until_ms = 4_000_000_000_000_u64;
    let more = json!({
        "state": "copying", "to": "deleted/a/20260220T093000Z", "sweep-id": "other",
        "lease-until-ms": until_ms, "purge-after": "2099-01-01T00:00:00Z",
    });
    for (name, value) in more.as_object().context("an object")? {
        document[name] = value.clone();
    }
    put(place, &of("a", &document, 3))?;
    let before = keys(place)?;
    let output = place.run(&["tenant", "sweep", "--apply"])?;
    ensure!(output.status.code() == Some(8), "{output:?}");
    ensure!(
        String::from_utf8_lossy(&output.stderr).contains("moltbot:a"),
        "{output:?}"
    );
    ensure!(keys(place)? == before);
    let own = said(
        place,
        &["tenant", "sweep", "--apply", "--request-id", "other"],
    )?;
    ensure!(
        own == "moltbot:a: deleted: moved to deleted/a/20260220T093000Z\n",
        "{own}"
    );
    Ok(())
}

fn refusals(place: &Place) -> anyhow::Result<()> {
    for (words, code, names) in [
        (
            &["tenant", "end", "moltbot:a"][..],
            3,
            &["users/a/meta.json", "open"][..],
        ),
        (&["tenant", "renew", "moltbot:-a"], 2, &["user id"]),
        (&["tenant", "restore", "gsv:hera"], 6, &["gsv", "retention"]),
        (
            &["tenant", "sweep", "--retention-days", "36526"],
            2,
            &["retention-days", "36525"],
        ),
        (
            &["tenant", "sweep", "--grace-days", "36526"],
            2,
            &["grace-days"],
        ),
    ] {
        fails(&place.run(words)?, code, names)?;
    }
    put(place, &[("users/a/meta.json".to_owned(), "[]".to_owned())])?;
    fails(
        &place.run(&["tenant", "renew", "moltbot:a"])?,
        2,
        &["users/a/meta.json", "no JSON object"],
    )?;
    let both = place.run(&[
        "tenant",
        "sweep",
        "--apply",
        "--now",
        "2026-01-01T00:00:00Z",
    ])?;
    ensure!(both.status.code() == Some(2), "{both:?}");
    Ok(())
}
