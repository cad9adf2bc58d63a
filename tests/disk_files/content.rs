//! Bytes, their versions and their metadata, also when other programs change the files.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use haversack_host::store::{BlobStore, BodyKind, ErrorCode, GetRequest, Range, Request};
use haversack_tests::store_calls::*;

use super::{Ended, Passed, names, open};

pub async fn mark_of(store: &dyn BlobStore, key: &str) -> Result<String> {
    let stat = try_head(store, key)
        .await
        .map_err(failure)?
        .context("missing")?;
    Ok(stat.metadata.into_iter().map(|(_, mark)| mark).collect())
}

pub async fn edits_by_hand_change_the_version(directory: &Path) -> Result<Ended> {
    let store = open(directory)?;
    let version = put(&store, "o", "abc").await?;
    fs::write(directory.join("o"), "abd")?;
    let refused = try_put(&store, "o", "x", if_match(&version)).await;
    let error = expect(refused, ErrorCode::Conflict, "read it again")?;
    let (bytes, stat) = get(&store, "o").await?;
    ensure!(bytes == b"abd" && error.current.as_ref() == Some(&stat.version));
    fs::write(directory.join("o"), "abc")?;
    ensure!(
        get(&store, "o").await?.1.version == version,
        "same bytes, other version"
    );
    // A file that was never put.
    fs::write(directory.join("new"), "by hand")?;
    let (_, stat) = get(&store, "new").await?;
    try_put(&store, "new", "by put", if_match(&stat.version))
        .await
        .map_err(failure)?;
    fs::remove_file(directory.join("new"))?;
    ensure!(try_get(&store, "new").await.map_err(failure)?.is_none());
    // A save by renaming, as editors do, with the old time and the same size.
    put(&store, "o", "abc").await?;
    let times = fs::metadata(directory.join("o"))?.modified()?;
    fs::write(directory.join("o~"), "xyz")?;
    fs::File::options()
        .write(true)
        .open(directory.join("o~"))?
        .set_modified(times)?;
    fs::rename(directory.join("o~"), directory.join("o"))?;
    ensure!(get(&store, "o").await?.1.version != version);
    Ok(Passed)
}

pub async fn metadata_is_bound_to_content(directory: &Path) -> Result<Ended> {
    let store = open(directory)?;
    let path = directory.join("o");
    try_put(&store, "o", "one", marked("1"))
        .await
        .map_err(failure)?;
    fs::write(&path, "edited")?;
    ensure!(
        mark_of(&store, "o").await?.is_empty(),
        "an edited object has metadata"
    );
    fs::write(&path, "one")?;
    ensure!(
        mark_of(&store, "o").await? == "1",
        "a restored object has lost its metadata"
    );
    try_put(&store, "o", "two", marked("2"))
        .await
        .map_err(failure)?;
    fs::write(&path, "one")?;
    ensure!(
        mark_of(&store, "o").await? == "1",
        "the one before is not kept"
    );
    for number in 3..9 {
        let written = try_put(&store, "o", number.to_string(), marked(&number.to_string())).await;
        written.map_err(failure)?;
        let kept = fs::read_dir(directory.join(".haversack/meta"))?
            .next()
            .context("none kept")??;
        let kept = names(&kept.path())?;
        ensure!(kept.len() == 2, "kept {kept:?}");
    }
    fs::write(&path, "7")?;
    ensure!(
        mark_of(&store, "o").await? == "7",
        "the one before is not kept"
    );
    fs::write(&path, "6")?;
    ensure!(
        mark_of(&store, "o").await?.is_empty(),
        "more than two are kept"
    );
    Ok(Passed)
}

pub async fn metadata_of_large_objects(directory: &Path) -> Result<Ended> {
    let store = open(directory)?;
    put(&store, "part", vec![b'p'; 5 << 20]).await?;
    let joined = concat(&store, &["part", "part"], "o", marked("large")).await;
    let version = joined.map_err(failure)?;
    let head = async || -> Result<_> {
        try_head(&store, "o")
            .await
            .map_err(failure)?
            .context("missing")
    };
    ensure!(
        head().await?.version == version,
        "the version of concat and of head"
    );
    ensure!(mark_of(&store, "o").await? == "large");
    let listed_version = list(&store, listed("o", false))
        .await?
        .entries
        .remove(0)
        .version;
    ensure!(
        listed_version.as_ref() == Some(&version),
        "the version of a list"
    );
    // Touched: other times, so another version, and no metadata.
    let path = directory.join("o");
    let modified = fs::metadata(&path)?.modified()?;
    let file = fs::File::options().write(true).open(&path)?;
    file.set_modified(modified + Duration::from_nanos(1_000_000))?;
    ensure!(
        head().await?.version != version,
        "a touched object has its old version"
    );
    ensure!(
        mark_of(&store, "o").await?.is_empty(),
        "a touched object has metadata"
    );
    // A restore that keeps times brings the metadata back under a new version.
    file.set_modified(modified)?;
    ensure!(
        head().await?.version != version,
        "ctime is not in the version"
    );
    ensure!(
        mark_of(&store, "o").await? == "large",
        "a restored object has lost its metadata"
    );
    // Changed in place, with the old time and size.
    let before = head().await?.version;
    use std::os::unix::fs::FileExt;
    file.write_all_at(b"X", 100)?;
    file.set_modified(modified)?;
    ensure!(
        head().await?.version != before,
        "a change in place keeps the version"
    );
    // Grown over the limit by append, and still readable in parts.
    let size = append(&store, "part", vec![b'q'; 4 << 20], 5 << 20)
        .await
        .map_err(failure)?;
    ensure!(size == 9 << 20);
    expect(try_get(&store, "part").await, ErrorCode::TooLarge, "ranges")?;
    let request = GetRequest {
        key: "part".to_owned(),
        range: Range::Last(3),
        kind: BodyKind::Text,
    };
    let answer = store
        .read(vec![Request::Get(request)])
        .await
        .remove(0)
        .map_err(failure)?;
    ensure!(format!("{answer:?}").contains("qqq"), "{answer:?}");
    Ok(Passed)
}
