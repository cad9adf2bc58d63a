//! Checks of concat.

use super::context::{
    Checked, Context, Stop, ensure, ensure_eq, expect_conflict, expect_error, folded, options,
    pairs, pattern,
};
use crate::store::{Condition, ErrorCode, Range, Source, Span};

pub async fn joins(c: &Context<'_>) -> Checked {
    c.put("a", "one ").await?;
    c.put("b/c", "two ").await?;
    c.put("empty", "").await?;
    let version = c
        .concat(&["b/c", "a", "empty", "a", "b/c"], "new/o")
        .await?;
    let (bytes, stat) = c.get("new/o").await?;
    ensure_eq!(bytes, b"two one one two ", "the joined object");
    ensure_eq!(stat.version, version, "its version");
    ensure_eq!(stat.size_bytes, 16, "its size");
    ensure_eq!(c.get("a").await?.0, b"one ", "a source afterwards");
    let listed = c.names(c.list_request("")).await?;
    ensure_eq!(
        listed,
        ["a", "b/c", "empty", "new/o"],
        "what is listed afterwards"
    );
    Ok(())
}

pub async fn copies(c: &Context<'_>) -> Checked {
    let bytes = pattern(200_000, 5);
    c.put("from", &bytes).await?;
    let version = c.concat(&["from"], "to").await?;
    let (found, stat) = c.get("to").await?;
    ensure!(found == bytes, "the copy has other bytes");
    ensure_eq!(stat.version, version, "the copy's version");
    Ok(())
}

pub async fn of_nothing(c: &Context<'_>) -> Checked {
    c.concat(&[], "o").await?;
    ensure_eq!(c.get("o").await?.0, b"", "a concat of nothing");
    Ok(())
}

pub async fn of_256(c: &Context<'_>) -> Checked {
    let mut sources = Vec::new();
    let mut expected = Vec::new();
    for number in 0..16 {
        let part = pattern(1_000 + number, number as u32);
        c.put(&format!("part/{number}"), &part).await?;
    }
    for number in 0..256 {
        let number = number * 7 % 16;
        expected.extend(pattern(1_000 + number, number as u32));
        sources.push(c.source(&format!("part/{number}"), None));
    }
    c.try_concat(sources, "o", options(Condition::IfAbsent))
        .await?;
    ensure!(
        c.get("o").await?.0 == expected,
        "256 sources joined to other bytes"
    );
    Ok(())
}

pub async fn options_from_the_call(c: &Context<'_>) -> Checked {
    let mut marked = options(Condition::Always);
    marked.content_type = Some("text/plain".to_owned());
    marked.metadata = pairs(&[("mark", "source")]);
    c.try_put("from", "x", marked).await?;
    c.concat(&["from"], "plain").await?;
    let stat = c.get("plain").await?.1;
    ensure!(
        stat.metadata.is_empty(),
        "metadata of the source: {:?}",
        stat.metadata
    );
    let kept = stat.content_type.as_deref() == Some("text/plain");
    ensure!(!kept, "the content type of the source");

    let mut wanted = options(Condition::Always);
    wanted.content_type = Some("application/gzip".to_owned());
    wanted.metadata = pairs(&[("messageCount", "3"), ("who", "Zoë")]);
    c.try_concat(vec![c.source("from", None)], "o", wanted.clone())
        .await?;
    let stat = c.get("o").await?.1;
    ensure_eq!(stat.content_type, wanted.content_type, "content type");
    ensure_eq!(folded(&stat.metadata), folded(&wanted.metadata), "metadata");
    Ok(())
}

pub async fn source_versions(c: &Context<'_>) -> Checked {
    let a = c.put("a", "one").await?;
    let b = c.put("b", "two").await?;
    let always = || options(Condition::Always);
    let sources = vec![c.source("a", Some(&a)), c.source("b", Some(&b))];
    c.try_concat(sources.clone(), "o", always()).await?;
    ensure_eq!(c.get("o").await?.0, b"onetwo", "sources at their versions");
    let newer = c.put("b", "new").await?;
    let refused = c.try_concat(sources, "o", always()).await;
    let error = expect_conflict("a concat of a changed source", refused, Some(&newer))?;
    let names_it = error.message.contains(&c.key("b"));
    ensure!(
        names_it,
        "the message does not name the source: {}",
        error.message
    );
    ensure_eq!(
        c.get("o").await?.0,
        b"onetwo",
        "the object after a refused concat"
    );
    Ok(())
}

pub async fn missing_source(c: &Context<'_>) -> Checked {
    let version = c.put("a", "one").await?;
    for if_match in [None, Some(version.as_str())] {
        let sources = vec![c.source("a", None), c.source("gone", if_match)];
        let refused = c.try_concat(sources, "o", options(Condition::Always)).await;
        let error = expect_conflict("a concat of a missing source", refused, None)?;
        let names_it = error.message.contains(&c.key("gone"));
        ensure!(
            names_it,
            "the message does not name the source: {}",
            error.message
        );
    }
    c.ensure_missing("o").await
}

pub async fn conditions(c: &Context<'_>) -> Checked {
    c.put("a", "one").await?;
    let source = || vec![c.source("a", None)];
    let matches = |version: &str| options(Condition::IfMatch(version.to_owned()));
    let missing = c.try_concat(source(), "o", matches("x")).await;
    expect_conflict("if-match on a missing target", missing, None)?;
    c.ensure_missing("o").await?;
    let first = c
        .try_concat(source(), "o", options(Condition::IfAbsent))
        .await?;
    let again = c
        .try_concat(source(), "o", options(Condition::IfAbsent))
        .await;
    expect_conflict("a second create", again, Some(&first))?;
    let twice = vec![c.source("a", None), c.source("a", None)];
    let second = c.try_concat(twice, "o", matches(&first)).await?;
    ensure!(first != second, "the version did not change with the bytes");
    let stale = c.try_concat(source(), "o", matches(&first)).await;
    expect_conflict("a concat over an old version", stale, Some(&second))?;
    ensure_eq!(
        c.get("o").await?.0,
        b"oneone",
        "the target after a refused concat"
    );
    c.concat(&["a"], "o").await?;
    ensure_eq!(
        c.get("o").await?.0,
        b"one",
        "the target of an unconditional concat"
    );
    Ok(())
}

pub async fn refused(c: &Context<'_>) -> Checked {
    let invalid = [ErrorCode::Invalid];
    c.put("a", "one").await?;
    let always = || options(Condition::Always);
    let onto_itself = vec![c.source("b", None), c.source("a", None)];
    expect_error(
        "a concat onto a source",
        c.try_concat(onto_itself, "a", always()).await,
        &invalid,
    )?;
    let outside = vec![Source {
        key: "../a".to_owned(),
        if_match: None,
    }];
    expect_error(
        "a concat of ../a",
        c.try_concat(outside, "o", always()).await,
        &invalid,
    )?;
    let over = c.described_number("concat-sources-max")? + 1;
    if over <= 20_000 {
        let sources = (0..over).map(|_| c.source("a", None)).collect();
        let refused = c.try_concat(sources, "o", always()).await;
        expect_error(
            &format!("a concat of {over}"),
            refused,
            &[ErrorCode::TooLarge],
        )?;
    }
    ensure_eq!(
        c.names(c.list_request("")).await?,
        ["a"],
        "what is listed afterwards"
    );
    Ok(())
}

/// Check an object of `copies` copies of `part`, which is 8 MiB, at its joints.
pub async fn check_joints(c: &Context<'_>, name: &str, part: &[u8], copies: usize) -> Checked {
    let size = part.len() * copies;
    let found = c.head(name).await?.map(|stat| stat.size_bytes);
    ensure_eq!(found, Some(size as u64), "the size");
    for joint in 0..copies {
        let start = (joint * part.len()).saturating_sub(500);
        let length_bytes = 1_000;
        let range = Range::Span(Span {
            start_bytes: start as u64,
            length_bytes,
        });
        let expected: Vec<u8> = (start..start + 1_000)
            .map(|at| part[at % part.len()])
            .collect();
        ensure!(
            c.part(name, range).await? == expected,
            "other bytes from {start} on"
        );
    }
    let end = c.part(name, Range::Last(1_000)).await?;
    ensure!(end == part[part.len() - 1_000..], "other bytes at the end");
    Ok(())
}

pub async fn large(c: &Context<'_>) -> Checked {
    let part = pattern(8 << 20, 13);
    c.put("part", &part).await?;
    let mut wanted = options(Condition::IfAbsent);
    wanted.metadata = pairs(&[("messageCount", "3")]);
    wanted.content_type = Some("application/gzip".to_owned());
    let sources = |n| vec![c.source("part", None); n];
    let first = c.try_concat(sources(3), "o", wanted.clone()).await?;
    check_joints(c, "o", &part, 3).await?;
    let Some(stat) = c.head("o").await? else {
        return Err(Stop::Failed("the object is missing".to_owned()));
    };
    ensure_eq!(stat.version, first, "the version of head and of concat");
    ensure_eq!(
        folded(&stat.metadata),
        folded(&wanted.metadata),
        "metadata of a large object"
    );
    ensure_eq!(stat.content_type, wanted.content_type, "its content type");

    wanted.condition = Condition::IfMatch(first.clone());
    let second = c.try_concat(sources(2), "o", wanted.clone()).await?;
    ensure!(second != first, "the version did not change with the bytes");
    let stale = c.try_concat(sources(3), "o", wanted).await;
    expect_conflict("a concat over an old version", stale, Some(&second))?;
    check_joints(c, "o", &part, 2).await?;

    // A large object as source and under a version.
    let copy = vec![c.source("o", Some(&second)), c.source("part", None)];
    c.try_concat(copy, "copy", options(Condition::IfAbsent))
        .await?;
    check_joints(c, "copy", &part, 3).await?;
    let stale = vec![c.source("o", Some(&first))];
    let refused = c
        .try_concat(stale, "copy-2", options(Condition::IfAbsent))
        .await;
    expect_conflict("a concat of a changed large source", refused, Some(&second))?;
    Ok(())
}

pub async fn over_64_mib(c: &Context<'_>) -> Checked {
    let part = pattern(8 << 20, 17);
    c.put("part", &part).await?;
    let small = c.put("o", "small").await?;
    let sources = || vec![c.source("part", None); 9];
    for condition in [Condition::Always, Condition::IfMatch(small)] {
        let refused = c
            .try_concat(sources(), "o", options(condition.clone()))
            .await;
        let what = format!("a concat to 72 MiB under {condition:?}");
        expect_error(&what, refused, &[ErrorCode::Invalid])?;
    }
    ensure_eq!(
        c.get("o").await?.0,
        b"small",
        "the object after refused concats"
    );
    let version = c
        .try_concat(sources(), "large", options(Condition::IfAbsent))
        .await?;
    check_joints(c, "large", &part, 9).await?;
    let again = c
        .try_concat(sources(), "large", options(Condition::IfAbsent))
        .await;
    expect_conflict("a second create", again, Some(&version))?;
    Ok(())
}
