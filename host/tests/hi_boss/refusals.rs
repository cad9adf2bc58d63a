//! What is refused, by exit code and one line that names it.

use crate::place::{Place, fails, text};

const AT: [&str; 2] = ["--at", "2026-02-20T09:30:00Z"];

pub fn all(place: &Place) -> anyhow::Result<()> {
    // Written in halves, so that nobody takes this file for leaking.
    let secret = ["fine\npass", "word: Zu4-kQ9w.tP"].concat();
    let memory = |line: &[&str]| place.run(&[&["memory"], line].concat());
    let append = [&["append", "hi-boss:nex", "--text", &secret], &AT[..]].concat();
    let refused = memory(&append)?;
    fails(&refused, 2, &["line 2", "allow-secrets"])?;
    anyhow::ensure!(
        !String::from_utf8_lossy(&refused.stderr).contains("Zu4"),
        "it prints the secret"
    );
    fails(
        &memory(&["write", "hi-boss:nex", "--text", &secret])?,
        2,
        &["line 2"],
    )?;
    fails(
        &memory(&["read", "hi-boss:nex"])?,
        3,
        &["MEMORY.md", "memory.ensure"],
    )?;
    text(memory(&[&append[..], &["--allow-secrets"]].concat())?)?;
    fails(
        &memory(&["promote", "hi-boss:nex", "2026-02-20", "--line", "2"])?,
        2,
        &["line 2"],
    )?;
    fails(
        &memory(&["promote", "hi-boss:nex", "2026-02-20", "--line", "3"])?,
        2,
        &["2 lines"],
    )?;
    fails(
        &memory(&["promote", "hi-boss:nex", "2026-02-19", "--line", "1"])?,
        3,
        &["2026-02-19"],
    )?;

    fails(
        &memory(&["prune", "hi-boss:nex", "--before", "9999-01-01"])?,
        2,
        &["after today"],
    )?;
    fails(
        &memory(&["prune", "hi-boss:nex", "--keep-days", "0"])?,
        2,
        &["keep-days"],
    )?;
    fails(
        &memory(&["show", "hi-boss:nobody"])?,
        3,
        &["hi-boss:nobody", "haversack ls"],
    )?;
    fails(&memory(&["ensure", "hi-boss:a_b"])?, 2, &["agent name"])?;
    fails(
        &place.run(&["prompt", "hi-boss:nobody"])?,
        3,
        &["hi-boss:nobody"],
    )?;
    fails(
        &place.run(&["skills", "list", "hi-boss:nex"])?,
        6,
        &["hi-boss", "skills"],
    )?;
    for line in [
        &["ensure", "gsv:hera"][..],
        &["read", "gsv:hera"],
        &["write", "gsv:hera", "--text", "x"],
        &["promote", "gsv:hera", "2026-02-20", "--line", "1"],
        &["prune", "gsv:hera", "--keep-days", "1"],
        &["backup", "gsv:hera", "no/such/folder"],
    ] {
        fails(&memory(line)?, 6, &["gsv", "hi-boss"])?;
    }
    for line in [
        &["prune", "hi-boss:nex"][..],
        &[
            "prune",
            "hi-boss:nex",
            "--before",
            "2026-01-01",
            "--keep-days",
            "1",
        ],
        &["promote", "hi-boss:nex", "2026-02-20"],
        &["promote", "hi-boss:nex", "2026-02-20", "--line", "7-5"],
        &["write", "hi-boss:nex"],
    ] {
        let output = memory(line)?;
        anyhow::ensure!(output.status.code() == Some(2), "{line:?}");
    }
    Ok(())
}
