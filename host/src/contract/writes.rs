//! Checks of put, its conditions, versions, and delete.

use std::collections::BTreeSet;

use super::context::{
    Checked, Context, Stop, ensure, ensure_eq, expect_conflict, expect_error, options,
};
use crate::store::{Condition, ErrorCode};

fn matches(version: &str) -> crate::store::PutOptions {
    options(Condition::IfMatch(version.to_owned()))
}

pub async fn always(c: &Context<'_>) -> Checked {
    for bytes in ["one", "", "three, which is longer", "two"] {
        let version = c.put("o", bytes).await?;
        let (found, stat) = c.get("o").await?;
        ensure_eq!(found, bytes.as_bytes(), "bytes after a put");
        ensure_eq!(stat.version, version, "the version after a put");
    }
    Ok(())
}

pub async fn if_absent(c: &Context<'_>) -> Checked {
    let version = c
        .try_put("o", "first", options(Condition::IfAbsent))
        .await?;
    for bytes in ["second", "first"] {
        let again = c.try_put("o", bytes, options(Condition::IfAbsent)).await;
        expect_conflict("a second create", again, Some(&version))?;
    }
    ensure_eq!(
        c.get("o").await?.0,
        b"first",
        "bytes after a refused create"
    );
    c.delete("o").await?;
    c.try_put("o", "third", options(Condition::IfAbsent))
        .await?;
    ensure_eq!(
        c.get("o").await?.0,
        b"third",
        "bytes of a create after a delete"
    );
    Ok(())
}

pub async fn if_match(c: &Context<'_>) -> Checked {
    let first = c.put("o", "first").await?;
    let second = c.try_put("o", "second", matches(&first)).await?;
    let stale = c.try_put("o", "third", matches(&first)).await;
    expect_conflict("a put over an old version", stale, Some(&second))?;
    let made_up = c.try_put("o", "third", matches("no such version")).await;
    expect_conflict("a put over a made-up version", made_up, Some(&second))?;
    let empty = c.try_put("o", "third", matches("")).await;
    expect_conflict("a put over an empty version", empty, Some(&second))?;
    let (bytes, stat) = c.get("o").await?;
    ensure_eq!(bytes, b"second", "bytes after refused puts");
    ensure_eq!(stat.version, second, "the version after refused puts");
    c.try_put("o", "third", matches(&stat.version)).await?;
    ensure_eq!(
        c.get("o").await?.0,
        b"third",
        "bytes after a put over the version of a get"
    );
    Ok(())
}

pub async fn if_match_on_missing(c: &Context<'_>) -> Checked {
    let version = c.put("other", "x").await?;
    let refused = c.try_put("o", "x", matches(&version)).await;
    expect_conflict("if-match on a missing key", refused, None)?;
    c.ensure_missing("o").await?;
    let version = c.put("o", "x").await?;
    c.delete("o").await?;
    let refused = c.try_put("o", "y", matches(&version)).await;
    expect_conflict("if-match on a deleted key", refused, None)?;
    c.ensure_missing("o").await
}

pub async fn versions_change(c: &Context<'_>) -> Checked {
    // Same length, and as fast as the store goes: a clock alone would repeat itself.
    let mut versions = BTreeSet::new();
    for number in 10..40 {
        let version = c.put("o", number.to_string()).await?;
        ensure!(
            versions.insert(version.clone()),
            "version {version:?} occurred twice"
        );
        ensure_eq!(
            c.get("o").await?.1.version,
            version,
            "the version read back"
        );
    }
    Ok(())
}

pub async fn versions_are_plain(c: &Context<'_>) -> Checked {
    let version = c.put("o", "x").await?;
    ensure!(!version.is_empty(), "the version is empty");
    ensure!(!version.contains('"'), "version {version:?} has a quote");
    Ok(())
}

pub async fn delete(c: &Context<'_>) -> Checked {
    for name in ["a", "b/c", "b/d"] {
        c.put(name, name).await?;
    }
    let keys = vec![
        c.key("a"),
        c.key("missing"),
        "bad//key".to_owned(),
        c.key("b/c"),
        c.key("b"),
    ];
    let answers = c.store.delete(keys).await;
    ensure_eq!(answers.len(), 5, "answers to a delete of five keys");
    for (number, answer) in answers.into_iter().enumerate() {
        match (number, answer) {
            (2, answer) => {
                expect_error("delete of bad//key", answer, &[ErrorCode::Invalid])?;
            }
            (_, answer) => answer?,
        }
    }
    c.ensure_missing("a").await?;
    c.ensure_missing("b/c").await?;
    let left = c.names(c.list_request("")).await?;
    ensure_eq!(left, ["b/d"], "what is listed after the delete");
    c.delete("a").await?;
    ensure_eq!(
        c.store.delete(Vec::new()).await.len(),
        0,
        "answers to a delete of nothing"
    );
    // Its directory may be gone with the last key below it; its name is free again.
    c.delete("b/d").await?;
    c.put("b", "an object now").await?;
    ensure_eq!(
        c.get("b").await?.0,
        b"an object now",
        "an object where keys were below"
    );
    Ok(())
}

pub async fn delete_many(c: &Context<'_>) -> Checked {
    let names: Vec<_> = (0..120).map(|n| format!("d{}/o{n}", n % 7)).collect();
    let puts = names.iter().map(|name| -> crate::store::BoxFuture<'_, _> {
        Box::pin(async move { c.put(name, "x").await })
    });
    for put in super::context::together(puts.collect()).await {
        put?;
    }
    let keys = names.iter().map(|name| c.key(name)).collect();
    let answers = c.store.delete(keys).await;
    ensure_eq!(answers.len(), names.len(), "answers to a delete of many");
    for answer in answers {
        answer?;
    }
    let left = c.names(c.list_request("")).await?;
    if left.is_empty() {
        Ok(())
    } else {
        Err(Stop::Failed(format!("still listed: {left:?}")))
    }
}
