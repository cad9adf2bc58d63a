//! What a sync passes over, and what it refuses.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use anyhow::ensure;

use crate::machine::{Machine, USER, there};
use crate::place::{Place, fails, text};

pub fn odd(place: &Place) -> anyhow::Result<()> {
    let machine = Machine::new(place, "a")?;
    machine.write("fine.md", "fine")?;
    let outside = place.folder.path().join("outside");
    std::fs::create_dir(&outside)?;
    std::fs::write(outside.join("secret.md"), "not the user's")?;
    symlink(outside.join("secret.md"), machine.path("link.md"))?;
    symlink(&outside, machine.path("folder"))?;
    symlink("nowhere", machine.path("dangling"))?;
    std::os::unix::net::UnixListener::bind(machine.path("socket"))?;
    let odd = OsStr::from_bytes(b"odd-\xff.md");
    std::fs::write(machine.path("").join(odd), "no UTF-8")?;
    machine.write("back\\slash.md", "no key")?;
    machine.write("e\u{301}.md", "not in normal form C")?;
    let output = machine.sync(&["--once"])?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    text(output)?;
    for name in [
        "link.md",
        "folder",
        "dangling",
        "socket",
        "odd-",
        "back\\slash.md",
        "normal form C",
        "symbolic link",
    ] {
        ensure!(said.contains(name), "{name} is not in {said}");
    }
    ensure!(said.lines().count() == 7, "{said}");
    let files = there(place)?;
    ensure!(
        files.len() == 1 && files["workspace/fine.md"] == b"fine",
        "{files:?}"
    );
    // A link in the place of a file is no delete, and nothing is written through it.
    machine.remove("fine.md")?;
    symlink(outside.join("secret.md"), machine.path("fine.md"))?;
    text(machine.sync(&["--once"])?)?;
    ensure!(
        there(place)?["workspace/fine.md"] == b"fine",
        "deleted, or worse"
    );
    let other = Machine::new(place, "b")?;
    other.write("folder/escape.md", "written through a link?")?;
    other.write("fine.md", "fine, too")?;
    other.once()?;
    machine.sync(&["--once"])?;
    let secret = std::fs::read_to_string(outside.join("secret.md"))?;
    ensure!(secret == "not the user's", "{secret}");
    ensure!(outside.read_dir()?.count() == 1, "written through a link");
    Ok(())
}

pub fn owners(place: &Place) -> anyhow::Result<()> {
    let machine = Machine::new(place, "a")?;
    machine.write("plan.md", "plan")?;
    let mut sync = machine.start(&["--every", "1h"])?;
    sync.at_rest()?;
    let second = machine.sync(&["--once"])?;
    fails(&second, 8, &["another sync", "end that one first"])?;
    text(machine.sync(&["--dry-run"])?)?;
    sync.stop()?;
    let other = machine.sync_of("moltbot:user_2", &["--once"])?;
    fails(
        &other,
        2,
        &["moltbot:user_1", "moltbot:user_2", "directory of their own"],
    )?;
    let elsewhere = place.folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere)?;
    let elsewhere = elsewhere.to_str().unwrap_or_default();
    let other = machine.sync(&["--once", "--store", elsewhere])?;
    fails(&other, 2, &["elsewhere", "name that store"])?;
    // Another user's files are not so much as looked at.
    let neighbour = Machine::new(place, "b")?;
    text(neighbour.sync_of("moltbot:user_10", &["--once"])?)?;
    ensure!(neighbour.files()?.is_empty(), "user_1 is not user_10");
    fails(
        &machine.sync_of("moltbot:-a", &["--once"])?,
        2,
        &["user id"],
    )?;
    fails(
        &machine.sync_of("gsv:hera", &["--once"])?,
        6,
        &["gsv", "sync", "moltbot"],
    )?;
    let root = machine.root.to_str().unwrap_or_default();
    for (store, dir) in [
        (format!("{root}/root/clawd/workspace"), root.to_owned()),
        (root.to_owned(), root.to_owned()),
        (root.to_owned(), format!("{root}/below")),
    ] {
        let mixed = place.run(&["tenant", "sync", USER, &dir, "--store", &store])?;
        fails(&mixed, 2, &["inside each other", "outside"])?;
    }
    let file = machine.path("plan.md");
    let file = file.to_str().unwrap_or_default();
    fails(
        &place.run(&["tenant", "sync", USER, file, "--once"])?,
        2,
        &["plan.md"],
    )?;
    let time = machine.sync(&["--every", "soon"])?;
    ensure!(time.status.code() == Some(2), "{time:?}");
    Ok(())
}

pub fn dry_run(place: &Place) -> anyhow::Result<()> {
    let (a, b) = (Machine::new(place, "a")?, Machine::new(place, "b")?);
    a.write("plan.md", "one")?;
    let printed = text(a.sync(&["--dry-run"])?)?;
    ensure!(
        printed.contains("upload") && printed.contains("workspace/plan.md  (new here)"),
        "{printed}"
    );
    ensure!(there(place)?.is_empty(), "uploaded");
    ensure!(a.root.read_dir()?.count() == 1, "something was made");
    a.once()?;
    let printed = text(b.sync(&["--dry-run"])?)?;
    ensure!(
        printed.contains("download") && printed.contains("(new in the store)"),
        "{printed}"
    );
    ensure!(b.root.read_dir()?.count() == 0, "something was made");
    let missing = place.folder.path().join("missing");
    let missing = missing.to_str().unwrap_or_default();
    let refused = place.run(&["tenant", "sync", USER, missing, "--dry-run"])?;
    fails(&refused, 2, &["missing"])
}
