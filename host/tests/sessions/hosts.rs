//! A session that its host keeps itself: passed in pages, compacted and reset under the host's own ids.

use anyhow::{Context, ensure};

use super::lives::lines;
use super::place::{KEY, Place, fails, messages, text};

const MIRROR: [&str; 2] = ["sessions", "mirror"];
const OWN: &str = "6f1d2c3b-1a2b-4c3d-8e4f-000000000001";
const NEXT: &str = "6f1d2c3b-1a2b-4c3d-8e4f-000000000002";
const ID: [&str; 4] = ["--session-id", OWN, "--at", "2026-02-20T09:00:00Z"];

pub fn own(place: &Place) -> anyhow::Result<()> {
    let said = messages(600, 10);
    let pass = |from: usize, to: usize, more: &[&str]| {
        place.fed(&MIRROR, &said[from..to], &[&ID, more].concat())
    };
    let printed = |from, to, more: &[&str]| text(pass(from, to, more)?);
    let says = |passed: usize, of: usize, has: usize| {
        format!("passed {passed} of {of} messages to {KEY}, session {OWN}, which has {has} now\n")
    };
    ensure!(
        printed(0, 500, &[])? == says(500, 500, 500),
        "the first 500"
    );
    ensure!(printed(0, 600, &[])? == says(100, 600, 600), "it went on");
    ensure!(
        printed(590, 600, &["--first", "590"])? == says(0, 10, 600),
        "held already"
    );
    let history = place.json(&["sessions", "history"], &["--count", "1"])?;
    ensure!(history["session-id"] == OWN, "{history}");
    fails(
        &pass(0, 1, &["--first", "700"])?,
        7,
        &["600 messages", "place 700"],
    )?;
    fails(&pass(0, 1, &["--first", "599"])?, 2, &["place 599", OWN])?;
    fails(
        &place.fed(&MIRROR, &said, &["--session-id", NEXT])?,
        7,
        &[OWN, NEXT, "reset-begin"],
    )?;
    fails(
        &place.fed(&MIRROR, &said, &["--session-id", "x"])?,
        2,
        &["UUID"],
    )?;
    fails(&place.append(&said[..1], &[])?, 7, &["mirror"])?;

    let compacted = place.json(
        &["compact"],
        &["--no-model", "--window", "8000", "--keep-recent", "1000"],
    )?;
    let kept = &compacted["committed"]["first-kept-place"];
    let kept = kept.as_u64().with_context(|| compacted.to_string())? as usize;
    ensure!(
        kept > 256 && compacted["committed"]["removed-messages"] == kept,
        "{compacted}"
    );
    let context = lines(&place.printed(&["sessions", "context"], &["--jsonl"])?);
    ensure!(context[1..] == said[kept..], "{context:?}");

    let reset = place.json(&["sessions", "reset"], &["--session-id", NEXT])?;
    ensure!(
        reset["archived-session-id"] == OWN && reset["session-id"] == NEXT,
        "{reset}"
    );
    fails(&pass(0, 600, &[])?, 7, &[OWN, "is over", NEXT])?;
    let next = ["--session-id", NEXT, "--json"];
    let passed = text(place.fed(&MIRROR, &said[..3], &next)?)?;
    let passed: serde_json::Value = serde_json::from_str(&passed)?;
    ensure!(
        passed["next"] == 3 && passed["passed"] == 3 && passed["held"] == 0,
        "{passed}"
    );
    let line = ["sessions", "transcript", "gsv:hera", OWN, "--parts"];
    let all = lines(&text(place.run(&line)?)?);
    let all = all.iter().filter(|line| said.contains(line));
    ensure!(all.eq(&said), "the parts and the archive are the session");
    Ok(())
}
