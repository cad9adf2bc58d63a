//! Checks of metadata and content types.

use super::context::{
    Checked, Context, Stop, ensure, ensure_eq, expect_error, folded, options, pairs,
};
use crate::store::{BodyKind, Condition, ErrorCode, PutOptions, Range};

fn with(metadata: Vec<(String, String)>) -> PutOptions {
    PutOptions {
        metadata,
        ..options(Condition::Always)
    }
}

pub async fn round_trip(c: &Context<'_>) -> Checked {
    for metadata in [
        pairs(&[]),
        pairs(&[("sessionKey", "agent:hera:main")]),
        pairs(&[("a", ""), ("b", " padded "), ("c", "two  spaces")]),
        pairs(&[("name", "Zoë in 東京 😀"), ("plain", "ascii")]),
        pairs(&[("quoted", "a \"b\" \\c, d; e=f"), ("percent", "100%25 %E4")]),
        pairs(&[("word", "=?utf-8?Q?not_encoded?="), ("word-2", "=?x?=")]),
        pairs(&[("Upper-Case_9", "é"), ("0", "\u{fffd}\u{10ffff}")]),
        // Where headers carry ASCII only, this has 1,999 bytes as encoded words.
        pairs(&[("long", &"é".repeat(600))]),
    ] {
        c.try_put("o", "x", with(metadata.clone())).await?;
        let stat = c.get("o").await?.1;
        ensure_eq!(folded(&stat.metadata), folded(&metadata), "metadata of get");
        let head = c.head("o").await?.map(|head| folded(&head.metadata));
        ensure_eq!(head, Some(folded(&metadata)), "metadata of head");
        let part = c.try_get("o", Range::Last(1), BodyKind::Text).await?;
        let part = part.map(|part| folded(&part.stat.metadata));
        ensure_eq!(part, Some(folded(&metadata)), "metadata of a ranged get");
    }
    Ok(())
}

pub async fn at_the_limit(c: &Context<'_>) -> Checked {
    let fits = vec![
        ("name".to_owned(), "v".repeat(1_000)),
        ("other".to_owned(), "w".repeat(2_048 - 9 - 1_000)),
    ];
    c.try_put("o", "x", with(fits.clone())).await?;
    ensure_eq!(
        folded(&c.get("o").await?.1.metadata),
        folded(&fits),
        "2,048 bytes of metadata"
    );
    let mut over = fits;
    over[0].1.push('v');
    let refused = c.try_put("over", "x", with(over)).await;
    expect_error(
        "a put with 2,049 bytes of metadata",
        refused,
        &[ErrorCode::TooLarge],
    )?;
    c.ensure_missing("over").await
}

pub async fn refused(c: &Context<'_>) -> Checked {
    for metadata in [
        pairs(&[("", "v")]),
        pairs(&[("two words", "v")]),
        pairs(&[("a:b", "v")]),
        pairs(&[("a.b", "v")]),
        pairs(&[("é", "v")]),
        pairs(&[("line\nend", "v")]),
        pairs(&[("fine", "line\nend")]),
        pairs(&[("fine", "return\r")]),
        pairs(&[("fine", "nul\0")]),
        pairs(&[("fine", "c1 \u{85}")]),
        pairs(&[("twice", "1"), ("Twice", "2")]),
    ] {
        let what = format!("a put with metadata {metadata:?}");
        let refused = c.try_put("o", "x", with(metadata.clone())).await;
        expect_error(&what, refused, &[ErrorCode::Invalid])?;
        let refused = c.try_concat(vec![], "o", with(metadata)).await;
        expect_error("the same in a concat", refused, &[ErrorCode::Invalid])?;
    }
    c.ensure_missing("o").await
}

pub async fn content_types(c: &Context<'_>) -> Checked {
    for content_type in [
        "application/octet-stream",
        "text/markdown; charset=utf-8",
        "application/x-ndjson",
    ] {
        let mut wanted = options(Condition::Always);
        wanted.content_type = Some(content_type.to_owned());
        c.try_put("o", "x", wanted).await?;
        let found = c.get("o").await?.1.content_type;
        ensure_eq!(found.as_deref(), Some(content_type), "content type of get");
    }
    for content_type in ["", "two\r\nlines: x", "é/é"] {
        let mut wanted = options(Condition::Always);
        wanted.content_type = Some(content_type.to_owned());
        let refused = c.try_put("refused", "x", wanted).await;
        let what = format!("a put with content type {content_type:?}");
        expect_error(&what, refused, &[ErrorCode::Invalid])?;
    }
    c.ensure_missing("refused").await
}

pub async fn replaced(c: &Context<'_>) -> Checked {
    let mut first = with(pairs(&[("a", "1"), ("b", "2")]));
    first.content_type = Some("text/plain".to_owned());
    for same_bytes in [true, false] {
        c.try_put("o", "x", first.clone()).await?;
        let bytes = if same_bytes { "x" } else { "y" };
        c.try_put("o", bytes, with(pairs(&[("c", "3")]))).await?;
        let stat = c.get("o").await?.1;
        ensure_eq!(
            folded(&stat.metadata),
            pairs(&[("c", "3")]),
            "metadata after a replacement"
        );
        ensure!(
            stat.content_type.as_deref() != Some("text/plain"),
            "the content type of the replaced object is still there"
        );
        c.put("o", bytes).await?;
        let left = c.get("o").await?.1.metadata;
        ensure!(left.is_empty(), "metadata after a put without: {left:?}");
    }
    Ok(())
}

pub async fn follows_the_bytes(c: &Context<'_>) -> Checked {
    // Back to bytes that were there before, with other metadata or none, and after a delete.
    let marked = |mark: &str| with(pairs(&[("mark", mark)]));
    let found = async || -> Checked<(String, String)> {
        let (bytes, stat) = c.get("o").await?;
        let Ok(text) = String::from_utf8(bytes) else {
            return Err(Stop::Failed("other bytes than were put".to_owned()));
        };
        let mark = stat.metadata.into_iter().map(|(_, mark)| mark).collect();
        Ok((text, mark))
    };
    for (bytes, mark) in [
        ("a", "1"),
        ("b", "2"),
        ("a", "3"),
        ("c", "4"),
        ("b", ""),
        ("a", ""),
        ("c", "5"),
    ] {
        let wanted = if mark.is_empty() {
            with(vec![])
        } else {
            marked(mark)
        };
        c.try_put("o", bytes, wanted).await?;
        let expected = (bytes.to_owned(), mark.to_owned());
        ensure_eq!(found().await?, expected, "bytes and mark");
    }
    c.delete("o").await?;
    c.put("o", "c").await?;
    ensure_eq!(
        found().await?,
        ("c".to_owned(), String::new()),
        "after a delete"
    );
    Ok(())
}
