//! The store's directory and its own folder in it: opening, format, what reading and writing make there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use haversack_host::store::disk::DiskStore;
use haversack_host::store::{Condition, ErrorCode};
use haversack_tests::store_calls::*;

use super::content::mark_of;
use super::{Ended, NoTool, Passed, names, open};

pub async fn a_missing_root_says_how_to_go_on(directory: &Path) -> Result<Ended> {
    let missing = directory.join("a/b");
    expect(DiskStore::open(&missing), ErrorCode::Invalid, "mkdir -p")?;
    ensure!(!missing.exists(), "opening made a directory");
    let store = DiskStore::create(&missing).map_err(failure)?;
    ensure!(
        names(&missing)?.is_empty(),
        "creating made more than the directory"
    );
    put(&store, "o", "x").await?;
    DiskStore::create(&missing).map_err(failure)?;
    let file = directory.join("file");
    fs::write(&file, "x")?;
    expect(
        DiskStore::open(&file),
        ErrorCode::Invalid,
        "not a directory",
    )?;
    expect(
        DiskStore::create(&file),
        ErrorCode::Invalid,
        "not a directory",
    )?;
    // A link to the root is the owner's choice.
    symlink(&missing, directory.join("link"))?;
    ensure!(get(&open(&directory.join("link"))?, "o").await?.0 == b"x");
    Ok(Passed)
}

pub async fn reading_makes_nothing(directory: &Path) -> Result<Ended> {
    fs::create_dir(directory.join("d"))?;
    fs::write(directory.join("d/o"), "by hand")?;
    let store = open(directory)?;
    ensure!(get(&store, "d/o").await?.0 == b"by hand");
    ensure!(
        try_head(&store, "d/missing")
            .await
            .map_err(failure)?
            .is_none()
    );
    ensure!(keys(&store, "").await? == ["d/o"]);
    delete(&store, "missing").await.map_err(failure)?;
    delete(&store, "missing/below").await.map_err(failure)?;
    expect(
        try_put(&store, "../o", "x", options(Condition::Always)).await,
        ErrorCode::Invalid,
        "",
    )?;
    ensure!(
        names(directory)? == ["d"],
        "reading made {:?}",
        names(directory)?
    );
    put(&store, "o", "x").await?;
    ensure!(names(directory)? == [".haversack", "d", "o"]);
    Ok(Passed)
}

pub async fn the_folder_is_as_described(directory: &Path) -> Result<Ended> {
    let store = open(directory)?;
    let mut wanted = marked("Zoë");
    wanted.content_type = Some("text/plain".to_owned());
    let version = try_put(&store, "a", "abc", wanted).await.map_err(failure)?;
    // The numbers are from `printf abc | sha256sum` and `printf a | sha256sum`.
    ensure!(
        version == "ba7816bf8f01cfea414140de5dae2223",
        "version {version}"
    );
    let folder = directory.join(".haversack");
    ensure!(names(&folder)? == [".gitignore", "format", "locks", "meta", "scratch"]);
    ensure!(fs::read_to_string(folder.join("format"))? == "1\n");
    ensure!(fs::read_to_string(folder.join(".gitignore"))? == "*\n");
    ensure!(names(&folder.join("locks"))? == ["ca"]);
    ensure!(names(&folder.join("scratch"))?.is_empty());
    let metadata = folder.join("meta/ca978112ca1bbdcafac231b39a23dc4d");
    ensure!(names(&metadata)? == [format!("{version}.json")]);
    let text = fs::read_to_string(metadata.join(format!("{version}.json")))?;
    let expected = serde_json::json!({
        "key": "a", "content-type": "text/plain", "metadata": [["mark", "Zoë"]],
    });
    ensure!(
        serde_json::from_str::<serde_json::Value>(&text)? == expected,
        "{text}"
    );
    // Another program's file is understood.
    let other = folder
        .join("meta/ca978112ca1bbdcafac231b39a23dc4d")
        .join(format!("{version}.json"));
    fs::write(
        &other,
        r#"{"metadata": [["mark", "2"]], "content-type": null, "key": "a", "more": 1}"#,
    )?;
    ensure!(get(&store, "a").await?.1.metadata == [("mark".to_owned(), "2".to_owned())]);
    fs::write(&other, "{")?;
    expect(
        try_get(&store, "a").await,
        ErrorCode::Other,
        "remove the file",
    )?;
    delete(&store, "a").await.map_err(failure)?;
    ensure!(
        names(&folder.join("meta"))?.is_empty(),
        "metadata of a deleted object is left"
    );
    Ok(Passed)
}

pub async fn a_higher_format_is_refused(directory: &Path) -> Result<Ended> {
    let store = open(directory)?;
    put(&store, "o", "x").await?;
    let format = directory.join(".haversack/format");
    fs::write(&format, "2\n")?;
    expect(
        DiskStore::open(directory),
        ErrorCode::Unsupported,
        "format 2",
    )?;
    // Also while the store is open.
    let refused = try_put(&store, "o", "y", options(Condition::Always)).await;
    expect(refused, ErrorCode::Unsupported, "newer haversack")?;
    expect(
        append(&store, "o", "y", 1).await,
        ErrorCode::Unsupported,
        "format 2",
    )?;
    expect(
        delete(&store, "o").await,
        ErrorCode::Unsupported,
        "format 2",
    )?;
    ensure!(fs::read(directory.join("o"))? == b"x");
    for garbage in ["", "0", "one", "1.5"] {
        fs::write(&format, garbage)?;
        expect(
            DiskStore::open(directory),
            ErrorCode::Other,
            "not a format number",
        )?;
    }
    fs::write(&format, "1")?;
    open(directory)?;
    Ok(Passed)
}

pub async fn the_folder_may_vanish(directory: &Path) -> Result<Ended> {
    let store = open(directory)?;
    let version = put(&store, "o", "x").await?;
    fs::remove_dir_all(directory.join(".haversack"))?;
    ensure!(get(&store, "o").await?.1.version == version);
    try_put(&store, "o", "y", if_match(&version))
        .await
        .map_err(failure)?;
    fs::remove_file(directory.join(".haversack/format"))?;
    put(&store, "o", "z").await?;
    ensure!(directory.join(".haversack/format").exists());
    Ok(Passed)
}

pub async fn left_over_scratch_is_swept(directory: &Path) -> Result<Ended> {
    put(&open(directory)?, "o", "x").await?;
    let scratch = directory.join(".haversack/scratch");
    fs::write(scratch.join("1-1"), "left over")?;
    fs::write(scratch.join("1-2"), "being written")?;
    let held = fs::File::open(scratch.join("1-2"))?;
    held.lock()?;
    ensure!(
        keys(&open(directory)?, "").await? == ["o"],
        "scratch files are listed"
    );
    ensure!(names(&scratch)?.len() == 2, "reading swept");
    put(&open(directory)?, "o", "y").await?;
    ensure!(
        names(&scratch)? == ["1-2"],
        "after a sweep: {:?}",
        names(&scratch)?
    );
    drop(held);
    put(&open(directory)?, "o", "z").await?;
    ensure!(
        names(&scratch)?.is_empty(),
        "after another: {:?}",
        names(&scratch)?
    );
    Ok(Passed)
}

pub async fn directories_come_and_go(directory: &Path) -> Result<Ended> {
    let store = open(directory)?;
    for key in ["a/b/c/o", "a/b/p", "d/e/o"] {
        put(&store, key, "x").await?;
    }
    fs::write(directory.join("d/e/\u{1}"), "not a key, but someone's")?;
    for key in ["a/b/c/o", "d/e/o"] {
        delete(&store, key).await.map_err(failure)?;
    }
    ensure!(
        !directory.join("a/b/c").exists(),
        "an empty directory is left"
    );
    ensure!(directory.join("a/b").exists() && directory.join("d/e").exists());
    delete(&store, "a/b/p").await.map_err(failure)?;
    ensure!(!directory.join("a").exists(), "an empty directory is left");
    // Empty ones made by hand are no keys, no prefixes, and in nobody's way.
    fs::create_dir_all(directory.join("x/y"))?;
    let folded = list(&store, listed("", true)).await?;
    ensure!(folded.prefixes.is_empty(), "folded {:?}", folded.prefixes);
    put(&store, "x/y", "an object").await?;
    ensure!(get(&store, "x/y").await?.0 == b"an object");
    // One with something in it is.
    fs::create_dir(directory.join("full"))?;
    fs::write(directory.join("full/\u{1}"), "x")?;
    let refused = try_put(&store, "full", "x", options(Condition::Always)).await;
    expect(refused, ErrorCode::Invalid, "directory of another")?;
    Ok(Passed)
}

pub async fn git_sees_no_change(directory: &Path) -> Result<Ended> {
    let git = |arguments: &[&str]| -> Result<String> {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-C"])
            .arg(directory)
            .args(arguments)
            .output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "git {arguments:?}: {errors}");
        Ok(String::from_utf8(output.stdout)?)
    };
    if Command::new("git").arg("--version").output().is_err() {
        return Ok(NoTool("no git; install it to run this test".to_owned()));
    }
    git(&["init", "-q"])?;
    fs::write(directory.join("o"), "one")?;
    git(&["add", "-A"])?;
    git(&["commit", "-qm", "one"])?;
    let store = open(directory)?;
    let first = try_put(&store, "o", "one", marked("1"))
        .await
        .map_err(failure)?;
    ensure!(
        git(&["status", "--porcelain"])?.is_empty(),
        "{}",
        git(&["status", "--porcelain"])?
    );
    try_put(&store, "o", "two", marked("2"))
        .await
        .map_err(failure)?;
    ensure!(git(&["status", "--porcelain"])? == " M o\n");
    git(&["checkout", "-q", "o"])?;
    let (bytes, stat) = get(&store, "o").await?;
    ensure!(
        bytes == b"one" && stat.version == first,
        "a checkout is not as it was put"
    );
    ensure!(
        mark_of(&store, "o").await? == "1",
        "a checkout has lost its metadata"
    );
    Ok(Passed)
}
