//! What cannot be done, with its exit code and its way out; and when a reset is due.

use anyhow::ensure;

use super::place::{KEY, Place, fails, messages, text};

pub fn all(place: &Place) -> anyhow::Result<()> {
    let append = |line: &str, more: &[&str]| place.append(&[line.to_owned()], more);
    fails(
        &append("{}\n\nno", &[])?,
        2,
        &["line 3", "standard input", "nothing was written"],
    )?;
    fails(&append("[]", &[])?, 2, &["line 1", "object"])?;
    fails(&append("", &[])?, 2, &["no message"])?;
    fails(&append("{}", &["--request-id", "a b"])?, 2, &["request id"])?;
    fails(&append("{}", &["--seed", "short"])?, 2, &["seed"])?;
    let large = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(4 << 20));
    fails(&append(&large, &[])?, 9, &["media"])?;
    let many = vec!["{}".to_owned(); 16 * 256 + 1];
    fails(
        &place.append(&many, &[])?,
        9,
        &["4097 messages", "several files"],
    )?;
    let file = place.on_main(&["sessions", "append"], &["no/such/file"])?;
    fails(&file, 3, &["no/such/file"])?;

    for words in [
        ["sessions", "history"],
        ["sessions", "context"],
        ["sessions", "status"],
    ] {
        fails(&place.on_main(&words, &[])?, 3, &[KEY])?;
    }
    fails(
        &place.run(&["sessions", "ls", "gsv:nobody"])?,
        3,
        &["gsv:nobody"],
    )?;
    fails(
        &place.run(&["sessions", "ls", "solven:t1"])?,
        6,
        &["solven"],
    )?;
    fails(
        &place.run(&["sessions", "transcript", "gsv:hera", "x"])?,
        2,
        &["UUID"],
    )?;
    let unknown = [
        "sessions",
        "transcript",
        "gsv:hera",
        "0b1c2d3e-0000-4000-8000-000000000000",
    ];
    fails(&place.run(&unknown)?, 3, &["no archive"])?;
    let foreign = [
        "sessions",
        "status",
        "gsv:hera",
        "--session",
        "agent:nex:main",
    ];
    fails(&place.run(&foreign)?, 2, &["agent:nex:main"])?;

    let nothing = place.printed(&["compact"], &["--no-model"])?;
    ensure!(nothing.contains("has no session"), "{nothing}");
    fails(
        &place.on_main(&["compact"], &["--no-model", "--window", "1999"])?,
        2,
        &["2000"],
    )?;
    for wrong in [&[][..], &["--no-model", "--model-command", "cat"]] {
        ensure!(place.on_main(&["compact"], wrong)?.status.code() == Some(2));
    }
    Ok(())
}

pub fn due(place: &Place) -> anyhow::Result<()> {
    text(place.append(&messages(2, 2), &["--at", "2026-02-20T03:00:00Z"])?)?;
    let due = |more: &[&str]| place.of_home(&["sessions", "due"], more);
    let at = |policy: [&'static str; 2], now: &'static str| [policy[0], policy[1], "--now", now];
    // The newest append decides, or on a bucket the time of its lines, which the caller gave too.
    ensure!(due(&at(["--daily", "4"], "2026-02-20T03:59:59Z"))?.is_empty());
    ensure!(due(&at(["--daily", "4"], "2026-02-20T04:00:00Z"))?.contains(KEY));
    let west = [
        &at(["--daily", "4"], "2026-02-20T04:00:00Z")[..],
        &["--utc-offset", "-01:00"],
    ]
    .concat();
    ensure!(due(&west)?.is_empty(), "four o'clock is later there");
    ensure!(
        due(&at(["--idle", "60"], "2026-02-20T04:00:00Z"))?.is_empty(),
        "strictly more"
    );
    let one = [
        &at(["--idle", "60"], "2026-02-20T04:00:00.001Z")[..],
        &["--session", KEY, "--json"],
    ]
    .concat();
    ensure!(due(&one)?.contains(r#""last-activity-ms": 1771556400000"#));
    let both = ["sessions", "due", "gsv:hera", "--idle", "1", "--daily", "4"];
    for wrong in [&both[..3], &both] {
        ensure!(place.run(wrong)?.status.code() == Some(2), "{wrong:?}");
    }
    fails(
        &place.run(&["sessions", "due", "gsv:hera", "--daily", "24"])?,
        2,
        &["24"],
    )?;
    Ok(())
}
