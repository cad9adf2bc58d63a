//! Two machines of one user, and what one run after the other does.

use anyhow::{Context, ensure};

use crate::machine::{Machine, did};
use crate::place::Place;

pub fn two_machines(place: &Place) -> anyhow::Result<()> {
    let (a, b) = (Machine::new(place, "a")?, Machine::new(place, "b")?);
    a.write("plan.md", "one")?;
    a.write("same.md", "same")?;
    b.write("same.md", "same")?;
    did(
        &a.once()?,
        &[
            ("upload", "workspace/plan.md"),
            ("upload", "workspace/same.md"),
        ],
    )?;
    // What is the same already is only remembered.
    did(
        &b.once()?,
        &[
            ("download", "workspace/plan.md"),
            ("record", "workspace/same.md"),
        ],
    )?;
    b.write("plan.md", "two")?;
    did(&b.once()?, &[("upload", "workspace/plan.md")])?;
    did(&a.once()?, &[("download", "workspace/plan.md")])?;
    did(&a.once()?, &[])?;
    // Touched, and written anew with the same content: nothing is uploaded twice.
    a.write("plan.md", "two")?;
    did(&a.once()?, &[])?;
    let files = a.is_in_the_store()?;
    ensure!(
        files == b.files()? && files["workspace/plan.md"] == b"two",
        "{files:?}"
    );
    // One that runs hears of the other by the interval.
    let mut sync = a.start(&["--every", "200ms"])?;
    sync.at_rest()?;
    b.write("plan.md", "three")?;
    b.once()?;
    sync.settled(&[("download", "workspace/plan.md")])?;
    sync.stop()?;
    // With all of a time's digits the same, only a look into the file tells.
    let path = a.path("plan.md");
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    let dated = |content: &str| -> anyhow::Result<()> {
        std::fs::write(&path, content)?;
        let file = std::fs::File::options().write(true).open(&path)?;
        Ok(file.set_modified(old)?)
    };
    dated("four!")?;
    did(&a.once()?, &[("upload", "workspace/plan.md")])?;
    dated("five!")?;
    did(&a.once()?, &[])?;
    let printed = crate::place::text(a.sync(&["--once", "--checksum"])?)?;
    ensure!(printed.starts_with("upload"), "{printed}");
    Ok(())
}

pub fn deletes(place: &Place) -> anyhow::Result<()> {
    let (a, b) = (Machine::new(place, "a")?, Machine::new(place, "b")?);
    for name in ["gone.md", "changed.md", "kept.md", "other.md"] {
        a.write(name, format!("{name}, one"))?;
    }
    a.once()?;
    b.once()?;
    // Deleted here, as it was there: deleted there, and on the other machine.
    a.remove("gone.md")?;
    did(&a.once()?, &[("delete-there", "workspace/gone.md")])?;
    did(&b.once()?, &[("delete-here", "workspace/gone.md")])?;
    // Deleted here, changed there since: it comes back.
    b.write("changed.md", "two")?;
    b.once()?;
    a.remove("changed.md")?;
    did(&a.once()?, &[("download", "workspace/changed.md")])?;
    ensure!(a.files()?["workspace/changed.md"] == b"two", "another one");
    // Deleted there, changed here since: uploaded again.
    a.remove("kept.md")?;
    a.once()?;
    b.write("kept.md", "three")?;
    did(&b.once()?, &[("upload", "workspace/kept.md")])?;
    // Deleted on both: forgotten.
    a.once()?;
    a.remove("other.md")?;
    b.remove("other.md")?;
    did(&a.once()?, &[("delete-there", "workspace/other.md")])?;
    did(&b.once()?, &[("forget", "workspace/other.md")])?;
    ensure!(a.is_in_the_store()? == b.files()?, "not the same");
    Ok(())
}

pub fn conflict(place: &Place) -> anyhow::Result<()> {
    let (a, b) = (Machine::new(place, "a")?, Machine::new(place, "b")?);
    a.write("plan.md", "one")?;
    a.once()?;
    b.once()?;
    a.write("plan.md", "of a")?;
    a.once()?;
    b.write("plan.md", "of b")?;
    let events = b.once()?;
    let conflict = events
        .iter()
        .find(|event| event["step"] == "conflict")
        .context("no conflict")?;
    let kept = conflict["kept-as"].as_str().context("no name")?.to_owned();
    ensure!(
        kept.starts_with("workspace/plan.conflict-") && kept.ends_with(".md"),
        "{kept}"
    );
    let files = b.is_in_the_store()?;
    ensure!(
        files["workspace/plan.md"] == b"of a" && files[&kept] == b"of b",
        "{files:?}"
    );
    did(&b.once()?, &[])?;
    did(&a.once()?, &[("download", &kept)])?;
    ensure!(a.files()? == files, "not the same");
    // New on both, without anything known of either.
    a.write("new.md", "of a")?;
    b.write("new.md", "of b")?;
    a.once()?;
    b.once()?;
    a.once()?;
    let files = a.is_in_the_store()?;
    ensure!(files == b.files()? && files.len() == 4, "{files:?}");
    // The same on both is none.
    a.write("new.md", "agreed")?;
    b.write("new.md", "agreed")?;
    did(&a.once()?, &[("upload", "workspace/new.md")])?;
    did(&b.once()?, &[("record", "workspace/new.md")])
}

pub fn lost(place: &Place) -> anyhow::Result<()> {
    let (a, b) = (Machine::new(place, "a")?, Machine::new(place, "b")?);
    a.write("kept.md", "kept")?;
    a.write("deleted.md", "deleted")?;
    a.once()?;
    // Without a manifest a delete is none, and what differs is kept in both versions.
    let manifest = a.root.join(".haversack-sync/manifest.json");
    std::fs::remove_file(&manifest)?;
    a.remove("deleted.md")?;
    did(
        &a.once()?,
        &[
            ("record", "workspace/kept.md"),
            ("download", "workspace/deleted.md"),
        ],
    )?;
    // A folder that is missing as a whole is filled again, not emptied there.
    std::fs::remove_dir_all(a.path(""))?;
    did(
        &a.once()?,
        &[
            ("download", "workspace/kept.md"),
            ("download", "workspace/deleted.md"),
        ],
    )?;
    let files = a.is_in_the_store()?;
    ensure!(files.len() == 2, "{files:?}");
    // A store in which nothing is left is refused, not followed.
    b.once()?;
    a.remove("kept.md")?;
    a.remove("deleted.md")?;
    a.once()?;
    let refused = b.sync(&["--once"])?;
    crate::place::fails(
        &refused,
        7,
        &["2 files", "nothing was deleted here", "manifest.json"],
    )?;
    ensure!(b.files()? == files, "deleted");
    std::fs::remove_file(b.root.join(".haversack-sync/manifest.json"))?;
    b.once()?;
    ensure!(b.is_in_the_store()? == files, "not uploaded again");
    Ok(())
}
