//! A sync that is killed at any moment: after the next whole one, nothing that was saved is lost.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, ensure};
use haversack_host::store::faulty::Random;

use crate::machine::{Files, Machine, did, there};
use crate::place::Place;

/// Over what is written under a condition in one step.
const LARGE_BYTES: usize = (64 << 20) + 12_345;

/// Bytes that no two of a length share.
fn large(seed: u64, size_bytes: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes = Vec::with_capacity(size_bytes + 8);
    while bytes.len() < size_bytes {
        bytes.extend(random.number().to_le_bytes());
    }
    bytes.truncate(size_bytes);
    bytes
}

pub fn large_file(place: &Place) -> anyhow::Result<()> {
    let (a, b) = (Machine::new(place, "a")?, Machine::new(place, "b")?);
    a.write("large.bin", large(1, LARGE_BYTES))?;
    a.write("medium.bin", large(2, 9 << 20))?;
    // Killed while they are on their way, and run again.
    let mut sync = a.start(&["--every", "1h"])?;
    sync.wait("found", |event| event["event"] == "found")?;
    sync.kill()?;
    a.once()?;
    let files = a.is_in_the_store()?;
    ensure!(files["workspace/large.bin"].len() == LARGE_BYTES, "cut");
    did(&a.once()?, &[])?;
    // Replaced, over and under the size that takes one step, and killed there.
    a.write("large.bin", large(3, LARGE_BYTES))?;
    a.write("medium.bin", large(4, 10 << 20))?;
    let mut sync = a.start(&["--every", "1h"])?;
    sync.wait("found", |event| event["event"] == "found")?;
    sync.kill()?;
    let (old, new) = (files, a.files()?);
    for (name, content) in there(place)? {
        let is_whole = [&old, &new]
            .iter()
            .any(|them| them.get(&name) == Some(&content));
        // What lies beside for a moment is left by a kill, and removed a day later.
        ensure!(
            is_whole || name.starts_with(".haversack-sync/"),
            "half of {name} is there"
        );
    }
    a.once()?;
    b.once()?;
    ensure!(
        in_workspace(there(place)?) == new && b.files()? == new,
        "not the same"
    );
    // Downloads over what is there, in parts too.
    b.write("large.bin", large(5, LARGE_BYTES))?;
    b.write("medium.bin", large(6, 9 << 20))?;
    b.once()?;
    a.killed_after(Duration::from_millis(300))?;
    a.once()?;
    ensure!(a.files()? == b.files()?, "not the same");
    let parts = a.root.join(".haversack-sync/parts");
    let left = parts.read_dir().map_or(0, Iterator::count);
    ensure!(left == 0, "{left} parts are left");
    Ok(())
}

fn in_workspace(mut files: Files) -> Files {
    files.retain(|key, _| key.starts_with("workspace/"));
    files
}

/// Two machines with edits of their own between syncs that are killed at random moments. Every content is written once;
/// it may vanish only where somebody wrote over it or deleted it while it lay there.
pub fn random(place: &Place) -> anyhow::Result<()> {
    let seed = u64::from(std::process::id());
    // No store deletes under a condition, so what a machine writes in the moment in which another deletes it is lost:
    // the one kind does not delete, the other does not sync at the same moment.
    for (kind, deletes) in [("at once", false), ("with deletes", true)] {
        let names = [0, 1].map(|number| format!("{kind} {number}"));
        let [a, b] = &names;
        let machines = [Machine::new(place, a)?, Machine::new(place, b)?];
        let killed = random_of(&machines, seed, deletes);
        killed.with_context(|| format!("{kind}, seed {seed}"))?;
    }
    Ok(())
}

fn random_of(machines: &[Machine<'_>; 2], seed: u64, deletes: bool) -> anyhow::Result<()> {
    let mut random = Random::new(seed);
    for machine in machines {
        machine.once()?;
    }
    // What the machines before them left is let go by none, and stays.
    let mut number = match deletes {
        true => 1_000,
        false => 0,
    };
    let (mut saved, mut let_go) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..12 {
        for machine in machines {
            for _ in 0..random.below(4) {
                let files: Vec<(String, Vec<u8>)> = machine.files()?.into_iter().collect();
                // An old name, or one of five that both machines know.
                let name = match files.get(random.below(6)) {
                    Some((key, _)) => key.trim_start_matches("workspace/").to_owned(),
                    None => format!("folder/{}.md", random.below(5)),
                };
                let there = std::fs::read(machine.path(&name)).ok();
                let_go.extend(there.clone());
                if deletes && there.is_some() && random.below(3) == 0 {
                    machine.remove(&name)?;
                    continue;
                }
                number += 1;
                let content = format!("content {number}").into_bytes();
                machine.write(&name, &content)?;
                saved.insert(content);
            }
        }
        let times =
            [random.below(120), random.below(120)].map(|ms| Duration::from_millis(ms as u64));
        let [a, b] = machines;
        if deletes {
            a.killed_after(times[0])?;
            b.killed_after(times[1])?;
            continue;
        }
        std::thread::scope(|scope| {
            let first = scope.spawn(|| a.killed_after(times[0]));
            let second = scope.spawn(|| b.killed_after(times[1]));
            let joined = [first.join(), second.join()];
            joined
                .into_iter()
                .try_for_each(|it| it.map_err(|_| anyhow::anyhow!("a panic"))?)
        })?;
    }
    // Undisturbed, until neither has anything to do for the other.
    for _ in 0..2 {
        for machine in machines {
            machine.once()?;
        }
    }
    let files = machines[0].is_in_the_store()?;
    ensure!(machines[1].files()? == files, "the machines differ");
    let kept: BTreeSet<Vec<u8>> = files.into_values().collect();
    for content in saved.difference(&let_go) {
        let text = String::from_utf8_lossy(content);
        ensure!(kept.contains(content), "{text} is lost");
    }
    Ok(())
}
