//! Users through the command line, on a disk and in a bucket: what is printed, what lies where afterwards, and how
//! it ends.

#[allow(dead_code)] // Sessions need more of it.
#[path = "sessions/place.rs"]
mod place;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use anyhow::{Context, ensure};
use haversack_tests::lives::{Life, both};
use place::{Place, fails, text};
use serde_json::{Value, json};

const TESTS: [Life<Place>; 8] = [
    ("a user's life", life),
    ("eight containers start at once", at_once),
    ("hydrate places files and becomes the command", hydrate),
    ("hydrate loses nothing that lies there", different),
    ("hydrate follows no link out of the root", links),
    (
        "a command that ends, is not there, or is told to end",
        commands,
    ),
    ("tiers", tiers),
    ("what cannot be says why", refusals),
];

const USER: &str = "moltbot:user_1";

fn main() -> ExitCode {
    both(&TESTS, Place::on_disk, Place::in_bucket).finish()
}

fn said(place: &Place, words: &[&str]) -> anyhow::Result<String> {
    text(place.run(words)?)
}

fn parsed(place: &Place, words: &[&str]) -> anyhow::Result<Value> {
    Ok(serde_json::from_str(&said(
        place,
        &[words, &["--json"]].concat(),
    )?)?)
}

/// A template of three files, as an argument.
fn template(place: &Place) -> anyhow::Result<String> {
    let root = place.folder.path().join("template");
    for (path, text) in [
        ("config/clawdbot.json", "{\"gateway\":{}}\n"),
        ("skills/tea/SKILL.md", "---\nname: tea\n---\nBoil water.\n"),
        ("workspace/deep/notes.md", "é\n"),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().context("a folder")?)?;
        fs::write(path, text)?;
    }
    word(&root)
}

fn word(path: &Path) -> anyhow::Result<String> {
    Ok(path.to_str().context("UTF-8")?.to_owned())
}

/// The files below a folder, but for the store's own.
fn files(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.file_name().is_some_and(|name| name == ".haversack") {
                continue;
            }
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(word(path.strip_prefix(root)?)?),
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Every file of the store, as a folder.
fn copied(place: &Place) -> anyhow::Result<PathBuf> {
    Ok(place.copied()?.join("users/user_1"))
}

fn life(place: &Place) -> anyhow::Result<()> {
    let template = template(place)?;
    let open = ["tenant", "open", USER, "--template", &template];
    let open = [&open[..], &["--workspace", "--now", "2026-01-29T00:00:00Z"]].concat();
    let printed = said(place, &open)?;
    ensure!(
        printed.starts_with("moltbot:user_1 is new, with 3 files to place\n")
            && printed.contains("root/clawd/workspace/deep/notes.md"),
        "{printed}"
    );
    let again = parsed(place, &open)?;
    ensure!(
        again["created"] == false && again["files"][2]["size-bytes"] == 3,
        "{again}"
    );

    let touch = |now: &str| parsed(place, &["tenant", "touch", USER, "--now", now]);
    ensure!(touch("2026-01-29T00:00:59.999Z")?["written"] == false);
    ensure!(touch("2026-01-29T00:01:00Z")?["written"] == true);
    ensure!(touch("2026-01-28T00:00:00Z")?["written"] == false);
    let status = said(place, &["tenant", "status", USER])?;
    for line in [
        "state         active\n",
        "subscription  active\n",
        "last active   2026-01-29T00:01:00Z\n",
        "kept until    -\n",
    ] {
        ensure!(status.contains(line), "{status}");
    }

    let message = r#"{"id":"m","role":"user","content":"Tea?","timestamp":1706572800000}"#;
    let chat = place.folder.path().join("chat.jsonl");
    fs::write(&chat, message)?;
    said(place, &["messages", "append", USER, &word(&chat)?])?;
    let counted = parsed(
        place,
        &["tenant", "usage", USER, "--repair", "--tier", "starter"],
    )?;
    let home = copied(place)?;
    let sizes = files(&home)?
        .into_iter()
        .map(|file| Ok(fs::metadata(home.join(file))?.len()));
    let bytes = sizes.sum::<anyhow::Result<u64>>()?;
    ensure!(counted["stored-bytes"] == bytes, "{counted} of {bytes}");
    ensure!(
        counted["left-bytes"].as_u64().context("a figure")? > 999_990_000,
        "{counted}"
    );
    let printed = said(place, &["tenant", "usage", USER])?;
    ensure!(
        printed.ends_with(&format!("meta.json says {bytes}\n")),
        "{printed}"
    );
    Ok(())
}

fn at_once(place: &Place) -> anyhow::Result<()> {
    let templates: Vec<String> = (0..8)
        .map(|number| {
            let root = place.folder.path().join(format!("template-{number}"));
            for file in ["config/clawdbot.json", "skills/a/SKILL.md", "workspace/x"] {
                let path = root.join(file);
                fs::create_dir_all(path.parent().context("a folder")?)?;
                fs::write(path, format!("of {number}"))?;
            }
            word(&root)
        })
        .collect::<anyhow::Result<_>>()?;
    let roots: Vec<PathBuf> = (0..8)
        .map(|n| place.folder.path().join(format!("root-{n}")))
        .collect();
    std::thread::scope(|scope| {
        let start = |template: &String, root: &PathBuf| {
            let words = [
                "tenant",
                "hydrate",
                USER,
                "--template",
                template,
                "--workspace",
                "--root",
            ];
            said(place, &[&words[..], &[&word(root)?]].concat()).map(drop)
        };
        let starts: Vec<_> = templates
            .iter()
            .zip(&roots)
            .map(|(template, root)| scope.spawn(move || start(template, root)))
            .collect();
        starts
            .into_iter()
            .try_for_each(|start| start.join().map_err(|_| anyhow::anyhow!("a panic"))?)
    })?;
    let state = |root: &PathBuf| -> anyhow::Result<Vec<(String, String)>> {
        let read = |file: String| Ok((file.clone(), fs::read_to_string(root.join(file))?));
        files(root)?.into_iter().map(read).collect()
    };
    let first = state(&roots[0])?;
    ensure!(first.len() == 3, "{first:?}");
    for root in &roots {
        ensure!(state(root)? == first, "{:?} and {first:?}", state(root)?);
    }
    Ok(())
}

fn hydrate(place: &Place) -> anyhow::Result<()> {
    let template = template(place)?;
    let root = place.folder.path().join("machine");
    let root_word = word(&root)?;
    let hydrate = ["tenant", "hydrate", USER, "--root", &root_word];
    let new = [&hydrate[..], &["--template", &template]].concat();
    let child = [
        &new[..],
        &[
            "--",
            "sh",
            "-c",
            "cat $1/root/.clawdbot/clawdbot.json; exit 37",
            "sh",
            &root_word,
        ],
    ];
    let output = place.run(&child.concat())?;
    ensure!(output.status.code() == Some(37), "{output:?}");
    ensure!(output.stdout == b"{\"gateway\":{}}\n", "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(
        told.contains("(new): 2 files written") && told.lines().count() == 1,
        "{told}"
    );
    ensure!(
        files(&root)?
            == [
                "root/.clawdbot/clawdbot.json",
                "root/clawd/skills/tea/SKILL.md"
            ],
        "{:?}",
        files(&root)?
    );
    let all = parsed(place, &[&hydrate[..], &["--workspace"]].concat())?;
    ensure!(
        all == json!({"created": false, "written": 1, "equal": 2, "different": 0, "failed": 0, "gone": 0}),
        "{all}"
    );
    ensure!(fs::read_to_string(root.join("root/clawd/workspace/deep/notes.md"))? == "é\n");
    let again = said(place, &[&hydrate[..], &["--workspace"]].concat())?;
    ensure!(
        again.contains("0 files written") && again.contains("3 were there"),
        "{again}"
    );
    Ok(())
}

fn different(place: &Place) -> anyhow::Result<()> {
    let template = template(place)?;
    said(place, &["tenant", "open", USER, "--template", &template])?;
    let root = place.folder.path().join("machine");
    let config = root.join("root/.clawdbot/clawdbot.json");
    fs::create_dir_all(config.parent().context("a folder")?)?;
    fs::write(&config, "mine")?;
    fs::write(root.join("root/.clawdbot/other"), "mine too")?;
    let root_word = word(&root)?;
    let hydrate = ["tenant", "hydrate", USER, "--root", &root_word];
    let ran = word(&root.join("ran"))?;
    let output = place.run(&[&hydrate[..], &["--", "touch", &ran]].concat())?;
    ensure!(output.status.code() == Some(7), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(
        told.contains("root/.clawdbot/clawdbot.json: differs") && told.contains("not started"),
        "{told}"
    );
    ensure!(fs::read_to_string(&config)? == "mine" && !root.join("ran").exists());
    // What does not differ is there all the same.
    ensure!(root.join("root/clawd/skills/tea/SKILL.md").exists());
    said(
        place,
        &[&hydrate[..], &["--replace", "--", "touch", &ran]].concat(),
    )?;
    ensure!(fs::read_to_string(&config)? == "{\"gateway\":{}}\n" && root.join("ran").exists());
    ensure!(fs::read_to_string(root.join("root/.clawdbot/other"))? == "mine too");
    Ok(())
}

fn links(place: &Place) -> anyhow::Result<()> {
    let template = template(place)?;
    said(place, &["tenant", "open", USER, "--template", &template])?;
    let (root, outside) = (
        place.folder.path().join("machine"),
        place.folder.path().join("outside"),
    );
    fs::create_dir_all(root.join("root"))?;
    fs::create_dir(&outside)?;
    std::os::unix::fs::symlink(&outside, root.join("root/.clawdbot"))?;
    let output = place.run(&[
        "tenant",
        "hydrate",
        USER,
        "--root",
        &word(&root)?,
        "--",
        "true",
    ])?;
    ensure!(output.status.code() == Some(5), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(
        told.contains("symbolic link") && told.contains("not started"),
        "{told}"
    );
    ensure!(files(&outside)?.is_empty(), "written outside the root");
    Ok(())
}

fn commands(place: &Place) -> anyhow::Result<()> {
    said(place, &["tenant", "open", USER])?;
    let root = word(&place.folder.path().join("machine"))?;
    let hydrate = |command: &[&str]| {
        let words = ["tenant", "hydrate", USER, "--root", &root, "--"];
        let mut child = place.command(&[&words[..], command].concat());
        child.stdout(Stdio::piped()).stderr(Stdio::piped());
        child.spawn()
    };
    let ended = |command: &[&str]| Ok::<_, anyhow::Error>(hydrate(command)?.wait_with_output()?);
    ensure!(ended(&["true"])?.status.success());
    ensure!(ended(&["sh", "-c", "exit 200"])?.status.code() == Some(200));
    let missing = ended(&["no-such-program-anywhere"])?;
    ensure!(missing.status.code() == Some(3), "{missing:?}");
    let folder = ended(&["/"])?;
    ensure!(folder.status.code() == Some(5), "{folder:?}");
    // The command has this process's id, so a signal to it is the command's.
    let script = "trap 'echo told; exit 43' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = hydrate(&["sh", "-c", script])?;
    let mut output = child.stdout.take().context("no pipe")?;
    let mut ready = [0; 6];
    std::io::Read::read_exact(&mut output, &mut ready)?;
    let pid = child.id().to_string();
    ensure!(
        std::process::Command::new("kill")
            .args(["-TERM", &pid])
            .status()?
            .success()
    );
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut output, &mut rest)?;
    let status = child.wait()?;
    ensure!(&ready == b"ready\n" && rest == "told\n", "{rest:?}");
    ensure!(status.code() == Some(43), "{status:?}");
    Ok(())
}

fn tiers(place: &Place) -> anyhow::Result<()> {
    said(place, &["tenant", "open", USER])?;
    let lines = [1, 2].map(|number| {
        format!(r#"{{"id":"m{number}","role":"user","content":"Tea?","timestamp":{number}}}"#)
    });
    let chat = word(&place.folder.path().join("chat.jsonl"))?;
    fs::write(&chat, lines.join("\n"))?;
    let append = ["messages", "append", USER, &chat, "--tier"];
    let little = [&append[..], &["{\"storage-bytes\":300}"]].concat();
    fails(
        &place.run(&little)?,
        9,
        &["300 bytes", "nothing was written"],
    )?;
    said(place, &[&append[..], &["starter"]].concat())?;
    let history = ["messages", "history", USER, "--jsonl"];
    let all = said(place, &history)?;
    ensure!(all.lines().count() == 2, "{all}");
    let output = place.run(&[&history[..], &["--tier", "starter"]].concat())?;
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success() && output.stdout.is_empty(),
        "{output:?}"
    );
    ensure!(told.contains("2 messages are older"), "{told}");
    fails(
        &place.run(&[&history[..], &["--tier", "gold"]].concat())?,
        2,
        &["\"gold\"", "starter, pro, business"],
    )
}

fn refusals(place: &Place) -> anyhow::Result<()> {
    fails(
        &place.run(&["tenant", "status", USER])?,
        3,
        &["user_1", "`open`"],
    )?;
    fails(&place.run(&["tenant", "usage", USER])?, 3, &["user_1"])?;
    fails(
        &place.run(&["tenant", "open", "gsv:hera"])?,
        6,
        &["gsv", "moltbot"],
    )?;
    let template = place.folder.path().join("template");
    fs::create_dir_all(template.join("other"))?;
    let words = ["tenant", "open", USER, "--template", &word(&template)?];
    fs::write(template.join("other/x"), "x")?;
    fails(&place.run(&words)?, 2, &["other/x", "config/"])?;
    fs::write(template.join("other/x"), b"\xff")?;
    fails(&place.run(&words)?, 2, &["other/x", "UTF-8"])?;
    fs::write(template.join("other/x"), vec![b'x'; (16 << 20) + 1])?;
    fails(&place.run(&words)?, 9, &["4 MiB"])?;
    fs::remove_file(template.join("other/x"))?;
    std::os::unix::fs::symlink("/", template.join("other/x"))?;
    fails(&place.run(&words)?, 2, &["other/x", "links"])?;
    let both = [
        "tenant", "hydrate", USER, "--root", "x", "--json", "--", "true",
    ];
    fails(&place.run(&both)?, 2, &["--json"])?;

    // One that is being moved away is not started, and nothing of it is written.
    let home = place.folder.path().join("moved/users/user_1");
    fs::create_dir_all(&home)?;
    fs::write(
        home.join("meta.json"),
        r#"{"userId":"user_1","state":"copying"}"#,
    )?;
    let moved = word(&place.folder.path().join("moved"))?;
    text(place.run(&["store", "copy", &moved, &place.address])?)?;
    fails(
        &place.run(&["tenant", "open", USER])?,
        7,
        &["copying", "renew"],
    )?;
    let status = said(place, &["tenant", "status", USER])?;
    ensure!(status.starts_with("state         copying\n"), "{status}");
    Ok(())
}
