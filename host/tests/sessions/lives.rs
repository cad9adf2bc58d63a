//! Sessions from their first message to their transcript.

use anyhow::{Context, ensure};
use serde_json::Value;

use super::place::{Place, fails, messages, text};

const APPEND: [&str; 2] = ["sessions", "append"];
const HISTORY: [&str; 2] = ["sessions", "history"];
const RESET: [&str; 2] = ["sessions", "reset"];
const STATUS: [&str; 2] = ["sessions", "status"];

const FIRST: [&str; 4] = ["--request-id", "first", "--at", "2026-02-20T09:00:00Z"];
const IMPORT: [&str; 4] = ["--request-id", "import", "--at", "2026-02-20T09:00:00Z"];

pub fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

pub fn id_of(answer: &Value, member: &str) -> anyhow::Result<String> {
    let id = answer[member].as_str().map(str::to_owned);
    id.with_context(|| format!("no {member} in {answer}"))
}

/// Append, compact, append, reset, read again; every step twice under its request id.
pub fn whole(place: &Place) -> anyhow::Result<()> {
    let said = messages(40, 30);
    let printed = text(place.append(&said[..30], &FIRST)?)?;
    ensure!(
        printed.starts_with("appended 30 messages to agent:hera:main, session "),
        "{printed}"
    );
    let again = text(place.append(&said[..30], &FIRST)?)?;
    ensure!(
        again == "an earlier call had appended 30 of 30 messages\n",
        "{again}"
    );
    let history = place.printed(&HISTORY, &["--jsonl"])?;
    ensure!(lines(&history) == said[..30], "{history}");

    let model = place.model(
        "model",
        "<summary>They spoke of tea.</summary><memories>- tea</memories>",
    )?;
    let compact = [
        "--model-command",
        &model,
        "--window",
        "4000",
        "--reserve",
        "1000",
        "--keep-recent",
        "500",
    ];
    let at = ["--request-id", "compact-1", "--at", "2026-02-20T09:30:00Z"];
    let compacted = place.json(
        &["compact"],
        &[&compact[..], &at, &["--if-needed"]].concat(),
    )?;
    let removed = compacted["committed"]["removed-messages"]
        .as_u64()
        .context("removed")? as usize;
    ensure!(
        compacted["summary"]["text"] == "They spoke of tea." && removed > 20,
        "{compacted}"
    );
    let questions = std::fs::read_to_string(place.questions("model"))?;
    ensure!(
        questions.contains("number 0:") && !questions.contains("number 29:"),
        "{questions}"
    );
    let idle = place.printed(&["compact"], &[&compact[..], &["--if-needed"]].concat())?;
    ensure!(
        idle.starts_with("agent:hera:main stays as it is: it is not needed: "),
        "{idle}"
    );
    let context = lines(&place.printed(&["sessions", "context"], &["--jsonl"])?);
    ensure!(
        context[0].contains("They spoke of tea.") && context[1..] == said[removed..30],
        "{context:?}"
    );

    text(place.append(&said[30..], &["--at", "2026-02-20T09:45:00Z"])?)?;
    let session = id_of(&place.json(&STATUS, &[])?, "session-id")?;
    let reset = [
        "--model-command",
        &model,
        "--request-id",
        "reset-1",
        "--at",
        "2026-02-20T10:00:00Z",
    ];
    let done = place.json(&RESET, &reset)?;
    ensure!(
        done["step"] == "done" && done["archived-session-id"] == *session,
        "{done}"
    );
    ensure!(
        done["messages"] == 1 + 40 - removed && done["questions"] == 1,
        "{done}"
    );
    text(place.append(
        &said[..1],
        &["--request-id", "later", "--at", "2026-02-20T10:30:00Z"],
    )?)?;
    let again = place.json(&RESET, &reset)?;
    ensure!(
        again["session-id"] == done["session-id"] && again["step"] == "done",
        "{again}"
    );
    let known = text(place.append(&said[..30], &FIRST)?)?;
    ensure!(
        known.contains("30 of 30"),
        "the archive's appends are known: {known}"
    );

    let transcript = |more: &[&str]| {
        let line = ["sessions", "transcript", "gsv:hera", &session];
        anyhow::Ok(lines(&text(place.run(&[&line, more].concat())?)?))
    };
    let left = transcript(&[])?;
    ensure!(
        left[0].contains("They spoke of tea.") && left[1..] == said[removed..],
        "{left:?}"
    );
    let all = transcript(&["--parts"])?;
    let own: Vec<_> = all
        .iter()
        .filter(|line| !line.contains("They spoke"))
        .cloned()
        .collect();
    ensure!(own == said, "each message once, in order: {all:?}");
    ensure!(transcript(&["--json"])?[0].contains(r#""is-summary":true"#));

    let listed = place.of_home(&["sessions", "ls"], &[])?;
    for kind in ["archive", "live", "part"] {
        ensure!(listed.matches(&format!("{kind} ")).count() == 1, "{listed}");
    }
    let memory = place.of_home(&["memory", "show"], &["--now", "2026-02-20T11:00:00Z"])?;
    ensure!(
        memory.matches("### Extracted from").count() == 2 && memory.contains("- tea"),
        "{memory}"
    );
    Ok(())
}

/// More than one call takes, and the same again, of which only the newest would be known by its ids.
pub fn pages(place: &Place) -> anyhow::Result<()> {
    let said = messages(600, 2);
    for earlier in [
        "appended 600 messages",
        "an earlier call had appended 600 of 600",
    ] {
        let printed = text(place.append(&said, &IMPORT)?)?;
        ensure!(printed.starts_with(earlier), "{printed}");
    }
    text(place.append(&said[..3], &[])?)?;
    let known = text(place.append(&said, &IMPORT)?)?;
    ensure!(known.contains("600 of 600"), "{known}");
    let history = place.printed(&HISTORY, &["--jsonl", "--count", "1000"])?;
    ensure!(lines(&history) == [&said[..], &said[..3]].concat());
    // What was stopped after its first page goes on.
    let session = [
        "--session",
        "agent:hera:other",
        "--request-id",
        "torn",
        "--at",
        "2026-02-20T09:00:00Z",
    ];
    let file = place.folder.path().join("torn.jsonl");
    let append = |count: usize| {
        std::fs::write(&file, said[..count].join("\n"))?;
        let file = file.to_str().context("UTF-8")?;
        text(place.run(&[&APPEND, &["gsv:hera", file][..], &session].concat())?)
    };
    append(256)?;
    let rest = append(600)?;
    ensure!(
        rest.contains("had appended 256 of 600") && rest.contains("appended 344 messages"),
        "{rest}"
    );
    Ok(())
}

pub fn failing_model(place: &Place) -> anyhow::Result<()> {
    let said = messages(30, 30);
    text(place.append(&said, &[])?)?;
    let narrow = [
        "--window",
        "4000",
        "--reserve",
        "1000",
        "--keep-recent",
        "500",
    ];
    let compacted = place.json(
        &["compact"],
        &[&narrow[..], &["--model-command", "echo no; exit 3"]].concat(),
    )?;
    ensure!(
        compacted["summary"]["tier"] == "plain" && compacted["questions"] == 2,
        "{compacted}"
    );
    let told = compacted["problems"].to_string();
    ensure!(told.contains("exit status: 3"), "{told}");

    let failing = ["--model-command", "exit 4", "--request-id", "r1"];
    let output = place.on_main(&RESET, &failing)?;
    fails(
        &output,
        8,
        &["exit status: 4", "--request-id r1", "nothing is deleted"],
    )?;
    let odd = [
        "--model-command",
        "echo '<summary></summary>'",
        "--request-id",
        "r1",
    ];
    fails(
        &place.on_main(&RESET, &odd)?,
        8,
        &["--request-id r1", "nothing is deleted"],
    )?;
    let status = place.json(&STATUS, &[])?;
    ensure!(status["pending"]["request-id"] == "r1", "{status}");
    fails(
        &place.on_main(&["compact"], &["--no-model"])?,
        7,
        &["reset"],
    )?;
    // Another id goes on with the reset that is pending.
    let done = place.json(&RESET, &["--request-id", "r2"])?;
    ensure!(
        done["step"] == "done" && done["request-id"] == "r1",
        "{done}"
    );
    ensure!(place.json(&STATUS, &[])?["pending"].is_null());
    let nothing = place.printed(&RESET, &[])?;
    ensure!(
        nothing == "agent:hera:main has no messages; there is nothing to reset\n",
        "{nothing}"
    );
    Ok(())
}
