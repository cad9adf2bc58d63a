//! What lies where an object would and is none, or not under that name: links, pipes, odd names, other
//! spellings.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use haversack_host::store::disk::{DiskOptions, DiskStore};
use haversack_host::store::{Condition, ErrorCode, ListRequest};
use haversack_tests::store_calls::*;

use super::{Ended, Passed, names, open};

pub async fn links_are_never_followed(directory: &Path) -> Result<Ended> {
    for check_each_segment in [false, true] {
        let base = directory.join(format!("{check_each_segment}"));
        let (root, outside) = (base.join("root"), base.join("outside"));
        fs::create_dir_all(root.join("d"))?;
        fs::create_dir_all(&outside)?;
        fs::write(outside.join("secret"), "secret")?;
        fs::write(root.join("d/o"), "o")?;
        for (target, link) in [
            (outside.join("secret"), "file"),
            (outside.clone(), "directory"),
            (root.join("nowhere"), "dangling"),
            (root.join("loop"), "loop"),
            ("d".into(), "inside"),
            ("o".into(), "d/beside"),
            ("/proc/self/root".into(), "magic"),
        ] {
            symlink(target, root.join(link))?;
        }
        let options_here = DiskOptions {
            check_each_segment,
            ..DiskOptions::default()
        };
        let store = DiskStore::open_with(&root, options_here).map_err(failure)?;
        let always = || options(Condition::Always);
        for key in [
            "file",
            "directory",
            "dangling",
            "loop",
            "inside",
            "d/beside",
            "directory/secret",
            "directory/new",
            "inside/o",
            "dangling/x",
            "magic/etc/passwd",
            "directory/a/b/c",
        ] {
            let denied = ErrorCode::Denied;
            let words = "a symbolic link";
            let what = || format!("{key}, each segment {check_each_segment}");
            expect(try_get(&store, key).await, denied, words).with_context(what)?;
            expect(try_head(&store, key).await, denied, words).with_context(what)?;
            expect(try_put(&store, key, "x", always()).await, denied, words).with_context(what)?;
            let created = try_put(&store, key, "x", options(Condition::IfAbsent)).await;
            expect(created, denied, words).with_context(what)?;
            expect(append(&store, key, "x", 0).await, denied, words).with_context(what)?;
            expect(concat(&store, &[key], "to", always()).await, denied, words)
                .with_context(what)?;
            expect(concat(&store, &["d/o"], key, always()).await, denied, words)
                .with_context(what)?;
            expect(delete(&store, key).await, denied, words).with_context(what)?;
        }
        ensure!(
            names(&outside)? == ["secret"],
            "something was written outside"
        );
        ensure!(fs::read(outside.join("secret"))? == b"secret");

        let listing = list(&store, listed("", false)).await?;
        let found: Vec<_> = listing
            .entries
            .iter()
            .map(|entry| entry.key.as_str())
            .collect();
        ensure!(found == ["d/o"], "listed {found:?}");
        let skipped: Vec<_> = listing
            .skipped
            .iter()
            .map(|skipped| skipped.key.as_str())
            .collect();
        let links = [
            "d/beside",
            "dangling",
            "directory",
            "file",
            "inside",
            "loop",
            "magic",
        ];
        ensure!(skipped == links, "skipped {skipped:?}");
        ensure!(
            listing
                .skipped
                .iter()
                .all(|skipped| skipped.cause.contains("symbolic link"))
        );
        for prefix in ["directory/", "directory/sec", "inside/"] {
            let listing = list(&store, listed(prefix, false)).await?;
            ensure!(
                listing.entries.is_empty(),
                "a list below a link: {:?}",
                listing.entries
            );
            ensure!(listing.skipped.len() == 1, "nothing skipped under {prefix}");
        }
        let folded = list(&store, listed("", true)).await?;
        ensure!(folded.prefixes == ["d/"], "folded {:?}", folded.prefixes);
    }
    Ok(Passed)
}

pub async fn hard_links_as_the_option_says(directory: &Path) -> Result<Ended> {
    let root = directory.join("root");
    fs::create_dir(&root)?;
    fs::write(directory.join("outside"), "outside")?;
    fs::write(root.join("o"), "o")?;
    fs::hard_link(directory.join("outside"), root.join("linked"))?;
    let denying = DiskOptions {
        deny_hard_links: true,
        ..DiskOptions::default()
    };
    let store = DiskStore::open_with(&root, denying).map_err(failure)?;
    let (denied, words) = (ErrorCode::Denied, "hard link");
    let always = || options(Condition::Always);
    expect(try_get(&store, "linked").await, denied, words)?;
    expect(try_head(&store, "linked").await, denied, words)?;
    expect(
        try_put(&store, "linked", "x", always()).await,
        denied,
        words,
    )?;
    expect(append(&store, "linked", "x", 7).await, denied, words)?;
    expect(
        concat(&store, &["linked"], "to", always()).await,
        denied,
        words,
    )?;
    expect(
        concat(&store, &["o"], "linked", always()).await,
        denied,
        words,
    )?;
    let listing = list(&store, listed("", false)).await?;
    ensure!(listing.entries.len() == 1 && listing.skipped[0].key == "linked");
    ensure!(fs::read(directory.join("outside"))? == b"outside");

    let store = open(&root)?;
    ensure!(get(&store, "linked").await?.0 == b"outside");
    ensure!(keys(&store, "").await? == ["linked", "o"]);
    // A put makes a new file; the other name keeps the old one.
    put(&store, "linked", "inside").await?;
    ensure!(fs::read(directory.join("outside"))? == b"outside");
    Ok(Passed)
}

pub async fn pipes_and_sockets_are_skipped(directory: &Path) -> Result<Ended> {
    fs::write(directory.join("o"), "o")?;
    let made = Command::new("mkfifo")
        .arg(directory.join("pipe"))
        .status()?;
    ensure!(made.success(), "mkfifo failed");
    let _listener = UnixListener::bind(directory.join("socket"))?;
    let store = open(directory)?;
    let work = async {
        for (key, words) in [("pipe", "a named pipe"), ("socket", "a socket")] {
            let denied = ErrorCode::Denied;
            let always = || options(Condition::Always);
            expect(try_get(&store, key).await, denied, words)?;
            expect(try_head(&store, key).await, denied, words)?;
            expect(try_put(&store, key, "x", always()).await, denied, words)?;
            expect(append(&store, key, "x", 0).await, denied, words)?;
            expect(concat(&store, &[key], "to", always()).await, denied, words)?;
            expect(delete(&store, key).await, denied, words)?;
            ensure!(
                try_get(&store, &format!("{key}/x"))
                    .await
                    .map_err(failure)?
                    .is_none()
            );
        }
        let listing = list(&store, listed("", false)).await?;
        ensure!(listing.entries.len() == 1);
        let skipped: Vec<_> = listing
            .skipped
            .iter()
            .map(|skipped| skipped.key.as_str())
            .collect();
        ensure!(skipped == ["pipe", "socket"], "skipped {skipped:?}");
        Ok(Passed)
    };
    match tokio::time::timeout(Duration::from_secs(20), work).await {
        Ok(ended) => ended,
        Err(_) => bail!("a call hangs on a pipe or a socket"),
    }
}

pub async fn names_that_are_no_keys_are_skipped(directory: &Path) -> Result<Ended> {
    fs::write(directory.join("a"), "a")?;
    fs::write(directory.join("z"), "z")?;
    let odd: [(&[u8], &str); 5] = [
        (b"b\xFF", "not UTF-8"),
        ("e\u{301}".as_bytes(), "normal form C"),
        (b"c\\d", "backslash"),
        (b"d\ne", "control character"),
        (b"e\x7f", "control character"),
    ];
    for (name, _) in odd {
        fs::write(directory.join(OsStr::from_bytes(name)), "x")?;
        let below = directory.join(OsStr::from_bytes(&[name, b"-directory"].concat()));
        fs::create_dir(&below)?;
        fs::write(below.join("o"), "x")?;
    }
    // One directory too deep for any key.
    let mut deep = directory.join("q".repeat(255));
    for _ in 0..5 {
        deep = deep.join("q".repeat(255));
    }
    // Made piece by piece: the whole path is longer than some tools take, not than the kernel does.
    fs::create_dir_all(&deep)?;
    fs::write(deep.join("o"), "x")?;
    let store = open(directory)?;
    for limit in [None, Some(1), Some(3)] {
        let mut request = ListRequest {
            limit,
            ..listed("", false)
        };
        let (mut found, mut skipped) = (Vec::new(), Vec::new());
        loop {
            let page = list(&store, request.clone()).await?;
            found.extend(page.entries.into_iter().map(|entry| entry.key));
            skipped.extend(page.skipped);
            let Some(cursor) = page.cursor else { break };
            ensure!(
                request.cursor.as_ref() != Some(&cursor),
                "the list does not go on"
            );
            request.cursor = Some(cursor);
        }
        ensure!(
            found == ["a", "z"],
            "listed {found:?} in pages of {limit:?}"
        );
        ensure!(
            skipped.len() == 11,
            "skipped {skipped:?} in pages of {limit:?}"
        );
        for (name, cause) in odd {
            let name = String::from_utf8_lossy(name);
            for key in [name.to_string(), format!("{name}-directory/")] {
                let found = skipped.iter().find(|skipped| skipped.key == key);
                let found = found.with_context(|| format!("{key:?} is not reported"))?;
                ensure!(found.cause.contains(cause), "{key:?}: {}", found.cause);
            }
        }
        ensure!(
            skipped
                .iter()
                .any(|skipped| skipped.cause.contains("1,024 bytes"))
        );
    }
    let folded = list(&store, listed("", true)).await?;
    ensure!(folded.prefixes.is_empty(), "folded {:?}", folded.prefixes);
    Ok(Passed)
}

pub async fn other_spellings_on_disks_that_ignore_case(directory: &Path) -> Result<Ended> {
    // Such a disk is rarely at hand: the option makes the store behave as on one.
    let folding = DiskOptions {
        folds_case: Some(true),
        ..DiskOptions::default()
    };
    let store = DiskStore::open_with(directory, folding).map_err(failure)?;
    put(&store, "Notes/A.md", "x").await?;
    for key in ["notes/A.md", "Notes/a.md", "NOTES/new.md", ".Haversack/o"] {
        for wanted in [Condition::Always, Condition::IfAbsent] {
            let refused = try_put(&store, key, "y", options(wanted)).await;
            expect(refused, ErrorCode::Invalid, "ignores case")?;
        }
        expect(
            append(&store, key, "y", 0).await,
            ErrorCode::Invalid,
            "ignores case",
        )?;
        ensure!(
            try_get(&store, key).await.map_err(failure)?.is_none(),
            "{key} was found"
        );
        delete(&store, key).await.map_err(failure)?;
    }
    ensure!(keys(&store, "").await? == ["Notes/A.md"]);
    ensure!(keys(&store, "notes/").await?.is_empty());
    put(&store, "Notes/A.md", "z").await?;
    Ok(Passed)
}
