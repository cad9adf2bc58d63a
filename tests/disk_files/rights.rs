//! Modes of files and rights of users.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail, ensure};
use haversack_host::store::disk::DiskStore;
use haversack_host::store::{Condition, ErrorCode, ListRequest};
use haversack_tests::store_calls::*;

use super::{Ended, NOBODY, NoTool, Passed, UNPRIVILEGED, open};

pub async fn permissions_are_kept(directory: &Path) -> Result<Ended> {
    let store = open(directory)?;
    let path = directory.join("o");
    let mode = || -> Result<u32> { Ok(fs::metadata(&path)?.permissions().mode() & 0o7777) };
    fs::write(&path, "plain")?;
    let plain = mode()?;
    fs::remove_file(&path)?;
    put(&store, "o", "x").await?;
    ensure!(
        mode()? == plain,
        "a new file has mode {:o}, not {plain:o}",
        mode()?
    );
    for wanted in [0o600, 0o755, 0o444] {
        fs::set_permissions(&path, fs::Permissions::from_mode(wanted))?;
        put(&store, "o", format!("{wanted}")).await?;
        ensure!(
            mode()? == wanted,
            "mode {:o} after a put over {wanted:o}",
            mode()?
        );
        concat(&store, &[], "o", options(Condition::Always))
            .await
            .map_err(failure)?;
        ensure!(
            mode()? == wanted,
            "mode {:o} after a concat over {wanted:o}",
            mode()?
        );
    }
    Ok(Passed)
}

pub async fn rights_are_respected(directory: &Path) -> Result<Ended> {
    if fs::metadata(directory)?.uid() != 0 {
        without_permission(directory).await?;
        return Ok(Passed);
    }
    // Root may do everything: the test goes on as nobody.
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755))?;
    let own = directory.join("own");
    fs::create_dir(&own)?;
    std::os::unix::fs::chown(&own, Some(NOBODY), Some(NOBODY))?;
    let program = std::env::current_exe()?;
    let child = Command::new(&program)
        .env(UNPRIVILEGED, &own)
        .uid(NOBODY)
        .gid(NOBODY)
        .output();
    match child {
        Ok(output) if output.status.success() => Ok(Passed),
        Ok(output) => bail!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(cause) => Ok(NoTool(format!("{} as nobody: {cause}", program.display()))),
    }
}

pub async fn without_permission(directory: &Path) -> Result<()> {
    let chmod = |name: &str, mode: u32| {
        fs::set_permissions(directory.join(name), fs::Permissions::from_mode(mode))
    };
    fs::create_dir_all(directory.join("a-closed"))?;
    fs::create_dir_all(directory.join("m-read-only"))?;
    fs::create_dir_all(directory.join("n"))?;
    fs::write(directory.join("a-closed/o"), "x")?;
    fs::write(directory.join("m-read-only/o"), "x")?;
    fs::write(directory.join("n/o"), "x")?;
    fs::write(directory.join("unreadable"), "x")?;
    let store = open(directory)?;
    put(&store, "z", "z").await?;
    chmod("a-closed", 0o000)?;
    chmod("m-read-only", 0o555)?;
    chmod("unreadable", 0o000)?;
    let (denied, words) = (ErrorCode::Denied, "permission denied");
    let always = || options(Condition::Always);
    expect(try_get(&store, "unreadable").await, denied, words)?;
    expect(try_get(&store, "a-closed/o").await, denied, words)?;
    expect(
        try_put(&store, "a-closed/o", "y", always()).await,
        denied,
        words,
    )?;
    expect(
        try_put(&store, "m-read-only/o", "y", always()).await,
        denied,
        words,
    )?;
    expect(
        try_put(&store, "m-read-only/new", "y", always()).await,
        denied,
        words,
    )?;
    expect(append(&store, "unreadable", "y", 1).await, denied, words)?;
    expect(delete(&store, "m-read-only/o").await, denied, words)?;
    ensure!(get(&store, "m-read-only/o").await?.0 == b"x");
    let listing = list(&store, listed("", false)).await?;
    let found: Vec<_> = listing
        .entries
        .iter()
        .map(|entry| entry.key.as_str())
        .collect();
    ensure!(
        found == ["m-read-only/o", "n/o", "unreadable", "z"],
        "listed {found:?}"
    );
    ensure!(listing.skipped.len() == 1 && listing.skipped[0].key == "a-closed/");
    // Nor is a directory folded away in silence when all below it is closed.
    fs::create_dir_all(directory.join("p/closed"))?;
    chmod("p/closed", 0o000)?;
    let folded = list(&store, listed("", true)).await?;
    ensure!(
        folded.prefixes == ["m-read-only/", "n/"],
        "folded {:?}",
        folded.prefixes
    );
    let skipped: Vec<_> = folded
        .skipped
        .iter()
        .map(|skipped| skipped.key.as_str())
        .collect();
    ensure!(skipped == ["a-closed/", "p/"], "skipped {skipped:?}");
    chmod("p/closed", 0o755)?;
    // What cannot matter is not even looked at.
    for request in [
        ListRequest {
            start_after: Some("b".to_owned()),
            ..listed("", false)
        },
        listed("n/", false),
        listed("n", true),
    ] {
        let listing = list(&store, request.clone()).await?;
        ensure!(
            listing.skipped.is_empty(),
            "{request:?} looked at {:?}",
            listing.skipped
        );
    }
    // A store that may only be read is one that can be read.
    chmod("a-closed", 0o755)?;
    chmod("", 0o555)?;
    chmod(".haversack", 0o000)?;
    let refused = DiskStore::open(directory);
    expect(refused, denied, words)?;
    chmod(".haversack", 0o555)?;
    for part in ["locks", "meta", "scratch"] {
        chmod(&format!(".haversack/{part}"), 0o555)?;
    }
    let store = open(directory)?;
    ensure!(get(&store, "n/o").await?.0 == b"x");
    expect(try_put(&store, "new", "y", always()).await, denied, words)?;
    // So that the directory can be removed.
    for name in [
        "",
        ".haversack",
        ".haversack/locks",
        ".haversack/meta",
        ".haversack/scratch",
        "m-read-only",
    ] {
        chmod(name, 0o755)?;
    }
    Ok(())
}
