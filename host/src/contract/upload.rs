//! Checks of uploads, which hosts make and the component does not.

use super::concat::check_joints;
use super::context::{
    Checked, Context, ensure, ensure_eq, expect_conflict, expect_error, folded, options, pairs,
    pattern,
};
use crate::store::{Condition, ErrorCode, PutOptions};

fn always() -> PutOptions {
    options(Condition::Always)
}

/// Upload `parts` under a name, and answer the version.
async fn upload(c: &Context<'_>, name: &str, parts: &[&[u8]]) -> Checked<String> {
    let mut upload = c.upload(name, always()).await?;
    for part in parts {
        upload.write(part.to_vec()).await?;
    }
    Ok(upload.finish().await?)
}

pub async fn joins(c: &Context<'_>) -> Checked {
    // Lengths around the parts that stores like, in no even steps.
    let lengths = [1, 0, 5 << 20, 8 << 20, 70_000, (5 << 20) + 1, 3];
    let whole = pattern(lengths.iter().sum(), 31);
    let mut rest = &whole[..];
    let mut parts = Vec::new();
    for length in lengths {
        let (part, after) = rest.split_at(length);
        parts.push(part);
        rest = after;
    }
    let version = upload(c, "a/large", &parts).await?;
    let stat = c.head("a/large").await?;
    let found = stat.map(|stat| (stat.version, stat.size_bytes));
    ensure_eq!(
        found,
        Some((version, whole.len() as u64)),
        "version and size"
    );
    let mut start = 0;
    for part in parts {
        let found = c.part("a/large", super::reads::span(start, part.len() as u64));
        ensure!(found.await? == part, "other bytes from {start} on");
        start += part.len() as u64;
    }
    let version = upload(c, "small", &[b"one ", b"two"]).await?;
    let (bytes, stat) = c.get("small").await?;
    ensure_eq!(bytes, b"one two", "a small object in two parts");
    ensure_eq!(stat.version, version, "its version");
    Ok(())
}

pub async fn of_nothing(c: &Context<'_>) -> Checked {
    upload(c, "o", &[]).await?;
    ensure_eq!(c.get("o").await?.0, b"", "an upload of nothing");
    upload(c, "parts", &[b"", b""]).await?;
    ensure_eq!(c.get("parts").await?.0, b"", "an upload of empty parts");
    Ok(())
}

pub async fn seen_when_finished(c: &Context<'_>) -> Checked {
    c.put("old", "old").await?;
    let mut new = c.upload("new", always()).await?;
    let mut old = c.upload("old", always()).await?;
    let part = pattern(6 << 20, 32);
    for _ in 0..2 {
        new.write(part.clone()).await?;
        old.write(part.clone()).await?;
        c.ensure_missing("new").await?;
        let listed = c.names(c.list_request("")).await?;
        ensure_eq!(listed, ["old"], "what is listed during two uploads");
        ensure_eq!(c.get("old").await?.0, b"old", "the object to be replaced");
    }
    old.finish().await?;
    c.ensure_missing("new").await?;
    new.finish().await?;
    for name in ["old", "new"] {
        let size = c.head(name).await?.map(|stat| stat.size_bytes);
        ensure_eq!(size, Some(12 << 20), "the size of {name:?}");
    }
    Ok(())
}

pub async fn aborts(c: &Context<'_>) -> Checked {
    c.put("old", "old").await?;
    let part = pattern(6 << 20, 33);
    for parts in 0..3 {
        for name in ["new", "old"] {
            for dropped in [false, true] {
                let mut upload = c.upload(name, always()).await?;
                for _ in 0..parts {
                    upload.write(part.clone()).await?;
                }
                match dropped {
                    true => drop(upload),
                    false => upload.abort().await?,
                }
            }
        }
    }
    c.ensure_missing("new").await?;
    ensure_eq!(c.get("old").await?.0, b"old", "the object that was there");
    let listed = c.names(c.list_request("")).await?;
    ensure_eq!(listed, ["old"], "what is listed afterwards");
    Ok(())
}

pub async fn conditions(c: &Context<'_>) -> Checked {
    let if_absent = || options(Condition::IfAbsent);
    for size in [3, 12 << 20] {
        let name = format!("of-{size}");
        let part = pattern(size, 34);
        let parts = || part.chunks(8 << 20).map(<[u8]>::to_vec);
        let mut first = c.upload(&name, if_absent()).await?;
        let mut second = c.upload(&name, if_absent()).await?;
        for part in parts() {
            first.write(part.clone()).await?;
            second.write(part).await?;
        }
        let version = first.finish().await?;
        expect_conflict("a second create", second.finish().await, Some(&version))?;
        // A store that looks early may refuse at once; what counts is that nothing is replaced.
        let late = match c.upload(&name, if_absent()).await {
            Ok(late) => late.finish().await,
            Err(error) => Err(error),
        };
        expect_conflict("a create of what is there", late, Some(&version))?;
        let kept = c.head(&name).await?.map(|stat| stat.version);
        ensure_eq!(kept, Some(version), "the version afterwards");
        let mut over = c.upload(&name, always()).await?;
        over.write(b"new".to_vec()).await?;
        over.finish().await?;
        ensure_eq!(c.get(&name).await?.0, b"new", "what replaced it");
    }
    Ok(())
}

async fn keeps(c: &Context<'_>, size: usize) -> Checked {
    let mut marked = always();
    marked.content_type = Some("text/plain".to_owned());
    marked.metadata = pairs(&[("mark", "old")]);
    c.try_put("o", "x", marked).await?;

    let mut wanted = always();
    wanted.content_type = Some("application/gzip".to_owned());
    wanted.metadata = pairs(&[("messageCount", "3"), ("who", "Zoë")]);
    let mut upload = c.upload("o", wanted.clone()).await?;
    for part in pattern(size, 35).chunks(8 << 20) {
        upload.write(part.to_vec()).await?;
    }
    upload.finish().await?;
    let Some(stat) = c.head("o").await? else {
        return c.get("o").await.map(drop);
    };
    ensure_eq!(stat.content_type, wanted.content_type, "content type");
    ensure_eq!(folded(&stat.metadata), folded(&wanted.metadata), "metadata");
    Ok(())
}

pub async fn keeps_options(c: &Context<'_>) -> Checked {
    for size in [0, 100, 12 << 20] {
        keeps(c, size).await?;
    }
    Ok(())
}

pub async fn refused(c: &Context<'_>) -> Checked {
    let begin = async |key: &str, options| c.store.upload(key.to_owned(), options).await.map(drop);
    for key in ["", "../x", "a//b", "/a", ".haversack/x", "a\\b", "e\u{301}"] {
        let what = format!("an upload to {key:?}");
        expect_error(&what, begin(key, always()).await, &[ErrorCode::Invalid])?;
    }
    let mut bad = always();
    bad.metadata = pairs(&[("two words", "v")]);
    let refused = begin(&c.key("o"), bad).await;
    expect_error(
        "an upload with bad metadata",
        refused,
        &[ErrorCode::Invalid],
    )?;
    let matching = options(Condition::IfMatch("x".to_owned()));
    let refused = begin(&c.key("o"), matching).await;
    expect_error("an upload under if-match", refused, &[ErrorCode::Invalid])?;

    let over = c.described_number("value-bytes-max")? + 1;
    if over <= 64 << 20 {
        let mut upload = c.upload("o", always()).await?;
        let refused = upload.write(vec![b'x'; over as usize]).await;
        let what = format!("a part of {over} bytes");
        expect_error(&what, refused, &[ErrorCode::TooLarge])?;
        upload.abort().await?;
    }
    let listed = c.names(c.list_request("")).await?;
    ensure_eq!(listed, [""; 0], "what is listed afterwards");
    Ok(())
}

pub async fn over_64_mib(c: &Context<'_>) -> Checked {
    let part = pattern(8 << 20, 36);
    for condition in [Condition::IfAbsent, Condition::Always] {
        let mut upload = c.upload("o", options(condition)).await?;
        for _ in 0..9 {
            upload.write(part.clone()).await?;
        }
        let version = upload.finish().await?;
        check_joints(c, "o", &part, 9).await?;
        let head = c.head("o").await?.map(|stat| stat.version);
        ensure_eq!(head, Some(version), "the version of 72 MiB");
    }
    Ok(())
}
