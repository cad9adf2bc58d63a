//! A sync that runs: what is saved while it does is in the store a moment later, and it ends with nothing left.

use anyhow::ensure;
use rustix::process::Signal;

use crate::machine::Machine;
use crate::place::Place;

pub fn saves(place: &Place) -> anyhow::Result<()> {
    let machine = Machine::new(place, "a")?;
    machine.write("before.md", "there before")?;
    let mut sync = machine.start(&["--every", "1h"])?;
    sync.settled(&[("upload", "workspace/before.md")])?;
    sync.at_rest()?;

    machine.write("plan.md", "one")?;
    let config = machine.root.join("root/.clawdbot/clawdbot.json");
    std::fs::write(config, "{}")?;
    sync.settled(&[
        ("upload", "workspace/plan.md"),
        ("upload", "config/clawdbot.json"),
    ])?;
    machine.write("plan.md", "two")?;
    sync.settled(&[("upload", "workspace/plan.md")])?;
    // As editors save: beside it, then over it. A name that is gone again was never worth anything.
    machine.write(".plan.md.swp", "three")?;
    std::fs::rename(machine.path(".plan.md.swp"), machine.path("plan.md"))?;
    sync.settled(&[("upload", "workspace/plan.md")])?;
    std::fs::rename(machine.path("plan.md"), machine.path("done.md"))?;
    sync.settled(&[
        ("upload", "workspace/done.md"),
        ("delete-there", "workspace/plan.md"),
    ])?;
    machine.remove("before.md")?;
    sync.settled(&[("delete-there", "workspace/before.md")])?;
    let summary = sync.stop()?;
    ensure!(
        summary["downloaded"] == 0 && summary["conflicts"] == 0,
        "{summary}"
    );
    let files = machine.is_in_the_store()?;
    ensure!(
        files["workspace/done.md"] == b"three" && files.len() == 2,
        "{files:?}"
    );
    let again = machine.once()?;
    ensure!(
        again.last().is_some_and(|it| it["uploaded"] == 0),
        "{again:?}"
    );
    Ok(())
}

pub fn folders(place: &Place) -> anyhow::Result<()> {
    let machine = Machine::new(place, "a")?;
    let mut sync = machine.start(&["--every", "1h"])?;
    sync.at_rest()?;
    // Made at once, deeper than anybody can watch in time.
    machine.write("a/b/c/d/deep.md", "deep")?;
    machine.write("a/b/flat.md", "flat")?;
    sync.settled(&[
        ("upload", "workspace/a/b/c/d/deep.md"),
        ("upload", "workspace/a/b/flat.md"),
    ])?;
    std::fs::rename(machine.path("a"), machine.path("z"))?;
    sync.settled(&[
        ("upload", "workspace/z/b/c/d/deep.md"),
        ("upload", "workspace/z/b/flat.md"),
        ("delete-there", "workspace/a/b/c/d/deep.md"),
        ("delete-there", "workspace/a/b/flat.md"),
    ])?;
    // What moves in as a whole, too.
    let outside = machine.root.join("outside");
    std::fs::create_dir_all(outside.join("in"))?;
    std::fs::write(outside.join("in/moved.md"), "moved")?;
    std::fs::rename(&outside, machine.path("inside"))?;
    sync.settled(&[("upload", "workspace/inside/in/moved.md")])?;
    machine.write("inside/in/later.md", "later")?;
    sync.settled(&[("upload", "workspace/inside/in/later.md")])?;
    std::fs::remove_dir_all(machine.path("z"))?;
    sync.settled(&[
        ("delete-there", "workspace/z/b/c/d/deep.md"),
        ("delete-there", "workspace/z/b/flat.md"),
    ])?;
    // A file where a folder was.
    std::fs::remove_dir_all(machine.path("inside"))?;
    machine.write("inside", "a file now")?;
    sync.settled(&[
        ("delete-there", "workspace/inside/in/moved.md"),
        ("delete-there", "workspace/inside/in/later.md"),
        ("upload", "workspace/inside"),
    ])?;
    // The workspace itself moved away is lost, not deleted: it comes back.
    std::fs::rename(machine.path(""), machine.root.join("aside"))?;
    sync.settled(&[("download", "workspace/inside")])?;
    sync.at_rest()?;
    machine.write("new.md", "watched again")?;
    sync.settled(&[("upload", "workspace/new.md")])?;
    sync.stop()?;
    ensure!(machine.is_in_the_store()?.len() == 2, "not what is left");
    Ok(())
}

pub fn polling(place: &Place) -> anyhow::Result<()> {
    let machine = Machine::new(place, "a")?;
    let mut sync = machine.start(&["--every", "1h", "--poll", "100ms"])?;
    sync.at_rest()?;
    machine.write("a.md", "a")?;
    sync.settled(&[("upload", "workspace/a.md")])?;
    machine.remove("a.md")?;
    sync.settled(&[("delete-there", "workspace/a.md")])?;
    sync.stop()?;
    ensure!(machine.is_in_the_store()?.is_empty(), "not deleted");
    Ok(())
}

/// What was saved before the signal is in the store after it.
pub fn stops(place: &Place) -> anyhow::Result<()> {
    let machine = Machine::new(place, "a")?;
    let mut sync = machine.start(&["--every", "1h"])?;
    sync.at_rest()?;
    for number in 0..100 {
        machine.write(&format!("{number}.md"), format!("number {number}"))?;
    }
    let summary = sync.stop()?;
    ensure!(summary["files"] == 100, "{summary}");
    ensure!(machine.is_in_the_store()?.len() == 100, "not all");

    // Ctrl-C in the middle of a first comparison, too.
    for number in 100..200 {
        machine.write(&format!("{number}.md"), format!("number {number}"))?;
    }
    let mut sync = machine.start(&["--every", "1h"])?;
    sync.wait("begun", |event| event["event"] == "found")?;
    sync.signal(Signal::INT)?;
    let (code, last) = sync.end()?;
    ensure!(code == Some(0) && last["left"] == 0, "{code:?} {last}");
    ensure!(machine.is_in_the_store()?.len() == 200, "not all");
    Ok(())
}
