//! Checks of append, where there is one.

use super::context::{
    Checked, Context, ensure, ensure_eq, expect_conflict, expect_error, options, pairs, pattern,
};
use crate::store::{Body, BodyKind, Condition, ErrorCode, Range};

pub async fn described(c: &Context<'_>) -> Checked {
    let appended = c.append("o", "x", 0).await;
    if c.described("append")? == "yes" {
        ensure_eq!(appended?, 1, "the new size");
        return Ok(());
    }
    expect_error("append", appended, &[ErrorCode::Unsupported])?;
    c.ensure_missing("o").await
}

pub async fn grows(c: &Context<'_>) -> Checked {
    c.needs_append()?;
    c.put("o", "one\n").await?;
    let mut expected = b"one\n".to_vec();
    for part in [
        b"two\n".to_vec(),
        b"\xFF\0".to_vec(),
        vec![],
        pattern(300_000, 3),
    ] {
        let at_bytes = expected.len() as u64;
        expected.extend(&part);
        let size = c.append("o", part, at_bytes).await?;
        ensure_eq!(size, expected.len() as u64, "the new size");
        ensure!(
            c.get("o").await?.0 == expected,
            "other bytes than were appended"
        );
        let listed = c.pages(c.list_request("")).await?.entries;
        ensure_eq!(listed[0].size_bytes, size, "the listed size");
    }
    ensure_eq!(
        c.part("o", Range::Last(2)).await?,
        expected[expected.len() - 2..],
        "the end"
    );
    let text = Body::Text("é".to_owned());
    let size = c.store.append(c.key("text"), text, 0).await?;
    ensure_eq!(size, 2, "bytes of an appended character");
    Ok(())
}

pub async fn creates(c: &Context<'_>) -> Checked {
    c.needs_append()?;
    ensure_eq!(
        c.append("new/o", "abc", 0).await?,
        3,
        "the size of a created object"
    );
    ensure_eq!(c.get("new/o").await?.0, b"abc", "a created object");
    ensure_eq!(
        c.append("empty", "", 0).await?,
        0,
        "the size of an empty one"
    );
    ensure!(
        c.head("empty").await?.is_some(),
        "an append of nothing creates nothing"
    );
    Ok(())
}

pub async fn elsewhere(c: &Context<'_>) -> Checked {
    c.needs_append()?;
    c.put("o", "0123456789").await?;
    for at_bytes in [0, 9, 11, u64::MAX] {
        let what = format!("an append at {at_bytes} of 10 bytes");
        expect_conflict(&what, c.append("o", "x", at_bytes).await, Some("10"))?;
        let nothing = c.append("o", "", at_bytes).await;
        expect_conflict(&format!("{what}, of nothing"), nothing, Some("10"))?;
    }
    ensure_eq!(
        c.get("o").await?.0,
        b"0123456789",
        "bytes after refused appends"
    );
    expect_conflict(
        "an append at 1 to nothing",
        c.append("missing", "x", 1).await,
        Some("0"),
    )?;
    c.ensure_missing("missing").await
}

pub async fn drops_metadata(c: &Context<'_>) -> Checked {
    c.needs_append()?;
    let mut marked = options(Condition::Always);
    marked.metadata = pairs(&[("mark", "1")]);
    c.try_put("o", "one", marked.clone()).await?;
    c.append("o", "two", 3).await?;
    let left = c.get("o").await?.1.metadata;
    ensure!(left.is_empty(), "metadata after an append: {left:?}");
    // Nor does it come back with bytes that had it.
    c.put("o", "one").await?;
    let left = c.get("o").await?.1.metadata;
    ensure!(left.is_empty(), "metadata after a put without: {left:?}");
    let part = c.try_get("o", Range::Last(1), BodyKind::Text).await?;
    ensure!(
        part.is_some_and(|part| part.stat.metadata.is_empty()),
        "metadata of a part"
    );
    Ok(())
}

pub async fn changes_version(c: &Context<'_>) -> Checked {
    c.needs_append()?;
    let first = c.put("o", "one").await?;
    c.append("o", "two", 3).await?;
    let second = c.get("o").await?.1.version;
    ensure!(first != second, "the version did not change with the bytes");
    let put = c
        .try_put("o", "x", options(Condition::IfMatch(first)))
        .await;
    expect_conflict(
        "a put over the version before the append",
        put,
        Some(&second),
    )?;
    c.try_put("o", "x", options(Condition::IfMatch(second)))
        .await?;
    Ok(())
}

pub async fn refused(c: &Context<'_>) -> Checked {
    c.needs_append()?;
    let limit = c.described_number("value-bytes-max")? as usize;
    if limit <= 64 << 20 {
        let over = c.append("o", vec![0; limit + 1], 0).await;
        expect_error(
            "an append over the value limit",
            over,
            &[ErrorCode::TooLarge],
        )?;
        c.ensure_missing("o").await?;
    }
    let hostile = c.append("a/../b", "x", 0).await;
    expect_error("an append to a/../b", hostile, &[ErrorCode::Invalid])?;
    Ok(())
}
