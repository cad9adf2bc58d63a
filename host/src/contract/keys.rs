//! Checks of what may be a key.

use super::context::{Checked, Context, Stop, ensure, ensure_eq, expect_error, options, together};
use crate::store::{
    Body, BodyKind, BoxFuture, Condition, ErrorCode, GetRequest, Range, Request, Source,
};

pub async fn ordinary(c: &Context<'_>) -> Checked {
    let mut names = vec![
        "a b",
        "a:b",
        "a@b+c",
        "50%",
        "%2F",
        "a&b=c?d#e",
        "~",
        "'",
        "\"",
        "<x>",
        "a*",
        "$HOME",
        "-rf",
        ".hidden",
        "..two",
        "three...",
        "a/.haversack/b",
        ".haversackx",
        "é",
        "日本語",
        "😀",
        "\u{e000}",
        "a;b,c",
        "[x]",
        "{x}",
        "|",
        "^`",
        "a/b/c/d/e/f/g/h/i/j/k/l",
        "con",
        "a.",
        "x=y",
        "=?utf-8?Q?x?=",
    ];
    names.sort_unstable();
    let puts = names
        .iter()
        .map(|name| -> BoxFuture<'_, _> { Box::pin(async move { c.put(name, name).await }) });
    for put in together(puts.collect()).await {
        put?;
    }
    for name in &names {
        ensure_eq!(c.get(name).await?.0, name.as_bytes(), "the object {name:?}");
    }
    ensure_eq!(c.names(c.list_request("")).await?, names, "names as listed");
    for name in &names {
        c.delete(name).await?;
        c.ensure_missing(name).await?;
    }
    Ok(())
}

/// A name that makes a key of exactly `bytes` bytes, in segments of at most 255.
fn name_for(c: &Context<'_>, bytes: usize) -> String {
    let mut name = String::new();
    let length = bytes - c.key("").len();
    while name.len() < length {
        match (length - name.len()).min(201) {
            // A slash cannot be the last character.
            201 if length - name.len() > 202 => name += &format!("{}/", "k".repeat(200)),
            rest => name += &"k".repeat(rest.min(length - name.len())),
        }
    }
    name
}

/// Ends the check below a prefix that is nearly as long as keys may be.
fn needs_room(c: &Context<'_>) -> Checked {
    let (longest, prefix) = (c.key_bytes_max()?, c.key("").len());
    if longest >= prefix + 256 {
        return Ok(());
    }
    Err(Stop::Skipped(format!(
        "keys have up to {longest} bytes here, and the check's prefix takes {prefix} of them"
    )))
}

pub async fn at_the_limits(c: &Context<'_>) -> Checked {
    needs_room(c)?;
    let segment = "s".repeat(255);
    let wide = format!("{}x", "é".repeat(127));
    let longest = c.key_bytes_max()?;
    let (fits, shorter) = (name_for(c, longest), name_for(c, longest - 1));
    for name in [&segment, &wide, &fits, &shorter] {
        c.put(name, "x").await?;
        ensure_eq!(c.get(name).await?.0, b"x", "the object of a long name");
    }
    let listed = c.pages(c.list_request("")).await?.entries;
    ensure_eq!(listed.len(), 4, "long keys listed");
    ensure!(
        listed.iter().any(|entry| entry.key.len() == longest),
        "no key of {longest} bytes listed"
    );
    Ok(())
}

/// Every call that takes a key refuses `key`.
async fn refused_everywhere(c: &Context<'_>, key: &str, codes: &[ErrorCode]) -> Checked {
    let always = || options(Condition::Always);
    let body = || Body::Text("x".to_owned());
    let shown: String = key.chars().take(40).collect();
    let what = |call: &str| format!("{call} {shown:?}");
    let get = Request::Get(GetRequest {
        key: key.to_owned(),
        range: Range::Whole,
        kind: BodyKind::Text,
    });
    expect_error(&what("get of"), c.ask(get).await, codes)?;
    expect_error(
        &what("head of"),
        c.ask(Request::Head(key.to_owned())).await,
        codes,
    )?;
    for condition in [
        Condition::Always,
        Condition::IfAbsent,
        Condition::IfMatch("x".to_owned()),
    ] {
        let put = c
            .store
            .put(key.to_owned(), body(), options(condition))
            .await;
        expect_error(&what("put of"), put, codes)?;
    }
    if c.described("append")? == "yes" {
        let append = c.store.append(key.to_owned(), body(), 0).await;
        expect_error(&what("append to"), append, codes)?;
    }
    let to = c.store.concat(Vec::new(), key.to_owned(), always()).await;
    expect_error(&what("concat to"), to, codes)?;
    let source = Source {
        key: key.to_owned(),
        if_match: None,
    };
    let from = c.store.concat(vec![source], c.key("to"), always()).await;
    expect_error(&what("concat from"), from, codes)?;
    for answer in c.store.delete(vec![key.to_owned()]).await {
        expect_error(&what("delete of"), answer, codes)?;
    }
    Ok(())
}

pub async fn hostile(c: &Context<'_>) -> Checked {
    c.put("there", "x").await?;
    let below = c.key("");
    let mut keys: Vec<String> = [
        "",
        "/",
        "//",
        ".",
        "..",
        "/etc/passwd",
        "../outside",
        "./a",
        "a/",
        "a//b",
        "a/./b",
        "a/../b",
        "a/..",
        "\\",
        "a\\b",
        "..\\outside",
        "C:\\x",
        "nul\0",
        "line\nend",
        "tab\t",
        "\u{7f}",
        "c1 \u{9f}",
        ".haversack",
        ".haversack/format",
        ".haversack/locks/00",
        ".haversack/../x",
        "e\u{301}",
        "\u{212b}",
    ]
    .map(str::to_owned)
    .into();
    for name in [
        "there/",
        "../x",
        "a/../there",
        "a//b",
        "\0",
        "e\u{301}",
        "a\\b",
        "..",
        "",
    ] {
        keys.push(format!("{below}{name}"));
    }
    for key in keys {
        refused_everywhere(c, &key, &[ErrorCode::Invalid]).await?;
    }
    ensure_eq!(
        c.names(c.list_request("")).await?,
        ["there"],
        "what is listed afterwards"
    );
    Ok(())
}

pub async fn over_the_limits(c: &Context<'_>) -> Checked {
    needs_room(c)?;
    // The contract has a word for both views: a broken rule, and a limit.
    let codes = [ErrorCode::TooLarge, ErrorCode::Invalid];
    for name in [
        "s".repeat(256),
        name_for(c, c.key_bytes_max()? + 1),
        format!("{}/x", "é".repeat(128)),
    ] {
        refused_everywhere(c, &c.key(&name), &codes).await?;
    }
    ensure_eq!(
        c.names(c.list_request("")).await?,
        [""; 0],
        "what is listed afterwards"
    );
    Ok(())
}

pub async fn directory_of_another(c: &Context<'_>) -> Checked {
    c.put("a/b/c", "below").await?;
    c.put("o", "object").await?;
    let mut kept_both = Vec::new();
    for name in ["a", "a/b", "o/x", "o/x/y"] {
        let put = c.try_put(name, "x", options(Condition::Always)).await;
        let created = c.try_put(name, "x", options(Condition::IfAbsent)).await;
        match put {
            Ok(_) => kept_both.push(name),
            put => {
                expect_error(&format!("put of {name:?}"), put, &[ErrorCode::Invalid])?;
                expect_error(
                    &format!("create of {name:?}"),
                    created,
                    &[ErrorCode::Invalid],
                )?;
                let copy = c.try_concat(vec![], name, options(Condition::Always)).await;
                expect_error(&format!("concat to {name:?}"), copy, &[ErrorCode::Invalid])?;
                if c.described("append")? == "yes" {
                    let append = c.append(name, "x", 0).await;
                    expect_error(
                        &format!("append to {name:?}"),
                        append,
                        &[ErrorCode::Invalid],
                    )?;
                }
                c.ensure_missing(name).await?;
            }
        }
    }
    ensure_eq!(c.get("a/b/c").await?.0, b"below", "the object below");
    ensure_eq!(c.get("o").await?.0, b"object", "the object above");
    if kept_both.is_empty() {
        return Ok(());
    }
    Err(Stop::Skipped(format!(
        "the store has no directories and keeps both; on disk these are errors: {kept_both:?}"
    )))
}

pub async fn case(c: &Context<'_>) -> Checked {
    c.put("Notes/A.md", "upper").await?;
    for name in ["Notes/a.md", "notes/A.md"] {
        c.ensure_missing(name).await?;
        let put = c.try_put(name, "lower", options(Condition::IfAbsent)).await;
        ensure_eq!(
            c.get("Notes/A.md").await?.0,
            b"upper",
            "the first of two spellings"
        );
        if put.is_ok() {
            ensure_eq!(
                c.get(name).await?.0,
                b"lower",
                "the second of two spellings"
            );
            c.delete(name).await?;
            ensure_eq!(
                c.get("Notes/A.md").await?.0,
                b"upper",
                "the first, the second deleted"
            );
        } else {
            expect_error(&format!("put of {name:?}"), put, &[ErrorCode::Invalid])?;
        }
    }
    Ok(())
}
