//! Checks of lists: order, prefixes, folding, pages.

use super::context::{Checked, Context, ensure, ensure_eq, expect_error, together};
use crate::store::{BoxFuture, ErrorCode, ListRequest};

/// Names whose order a walk of directories, or a sort by case or by UTF-16, gets wrong. In order.
const NAMES: [&str; 16] = [
    "B",
    "Z.txt",
    "a b",
    "a!",
    "a-/x",
    "a.md",
    "a/b",
    "a/b.c",
    "a/c/d/e",
    "a/c0",
    "a0",
    "messages-old",
    "messages.jsonl",
    "messages/x",
    "messages0",
    "z",
];

async fn put_all(c: &Context<'_>, names: &[impl AsRef<str> + Sync]) -> Checked {
    for part in names.chunks(32) {
        let puts = part.iter().map(|name| -> BoxFuture<'_, _> {
            Box::pin(async move { c.put(name.as_ref(), name.as_ref()).await })
        });
        for put in together(puts.collect()).await {
            put?;
        }
    }
    Ok(())
}

/// The keys of a list in the order of the answer, without the check's prefix.
async fn in_order(c: &Context<'_>, request: ListRequest) -> Checked<Vec<String>> {
    let skip = c.key("").len();
    let entries = c.pages(request).await?.entries;
    Ok(entries
        .into_iter()
        .map(|entry| entry.key[skip..].to_owned())
        .collect())
}

fn folding(c: &Context<'_>, prefix: &str) -> ListRequest {
    ListRequest {
        delimiter: true,
        ..c.list_request(prefix)
    }
}

pub async fn byte_order(c: &Context<'_>) -> Checked {
    put_all(c, &NAMES).await?;
    ensure_eq!(
        in_order(c, c.list_request("")).await?,
        NAMES,
        "the order of keys"
    );
    Ok(())
}

pub async fn not_utf16_order(c: &Context<'_>) -> Checked {
    // By UTF-16 units the last two would come before the three in front of them.
    let names = [
        "z",
        "é",
        "\u{d7ff}x",
        "\u{e000}",
        "\u{fffd}",
        "\u{10000}",
        "😀/x",
    ];
    put_all(c, &names).await?;
    ensure_eq!(
        in_order(c, c.list_request("")).await?,
        names,
        "the order of keys"
    );
    let after = ListRequest {
        start_after: Some(c.key("\u{fffd}")),
        ..c.list_request("")
    };
    ensure_eq!(in_order(c, after).await?, names[5..], "keys after U+FFFD");
    Ok(())
}

pub async fn prefixes(c: &Context<'_>) -> Checked {
    put_all(c, &NAMES).await?;
    for prefix in [
        "",
        "a",
        "a/",
        "a/c",
        "a/c/",
        "a/c/d/e",
        "mess",
        "messages",
        "messages/",
        "a.",
    ] {
        let expected: Vec<_> = NAMES
            .into_iter()
            .filter(|name| name.starts_with(prefix))
            .collect();
        let found = in_order(c, c.list_request(prefix)).await?;
        ensure_eq!(found, expected, "keys under {prefix:?}");
    }
    let long = "x/".repeat(600);
    for prefix in [
        "b",
        "A/",
        "a/b/",
        "messages.jsonl/",
        "a//",
        "/",
        "..",
        "../",
        "a/../",
        "a/./",
        "\\",
        "\0",
        "a\n",
        &long,
    ] {
        let found = in_order(c, c.list_request(prefix)).await?;
        ensure!(found.is_empty(), "keys under {prefix:?}: {found:?}");
    }
    Ok(())
}

pub async fn delimiter(c: &Context<'_>) -> Checked {
    put_all(c, &NAMES).await?;
    let folded: &[(&str, &[&str])] = &[
        (
            "",
            &[
                "B",
                "Z.txt",
                "a b",
                "a!",
                "a-/",
                "a.md",
                "a/",
                "a0",
                "messages-old",
                "messages.jsonl",
                "messages/",
                "messages0",
                "z",
            ],
        ),
        ("a/", &["a/b", "a/b.c", "a/c/", "a/c0"]),
        ("a/c", &["a/c/", "a/c0"]),
        ("a", &["a b", "a!", "a-/", "a.md", "a/", "a0"]),
        ("a/c/", &["a/c/d/"]),
        ("a/b", &["a/b", "a/b.c"]),
        ("z", &["z"]),
        ("z/", &[]),
        ("nothing", &[]),
    ];
    for (prefix, expected) in folded {
        let found = c.names(folding(c, prefix)).await?;
        ensure_eq!(found, *expected, "folded under {prefix:?}");
    }
    // What was there before a delete does not leave a prefix behind.
    c.delete("messages/x").await?;
    ensure_eq!(
        c.names(folding(c, "messages/")).await?,
        [""; 0],
        "after a delete"
    );
    let left = c.pages(folding(c, "messages")).await?.prefixes;
    ensure!(
        left.is_empty(),
        "prefixes without a key below them: {left:?}"
    );
    Ok(())
}

pub async fn start_after(c: &Context<'_>) -> Checked {
    put_all(c, &NAMES).await?;
    for after in [
        "",
        "!",
        "A",
        "a",
        "a-",
        "a-/",
        "a-/x",
        "a/",
        "a/a",
        "a/b",
        "a/b.",
        "a/c",
        "a/c/",
        "a/c/d/e",
        "a/c/d/e/f",
        "a/c/d/z",
        "a/c/z",
        "a/z",
        "messages/",
        "messages/x",
        "z",
        "zz",
        "\u{10ffff}",
    ] {
        for prefix in ["", "a", "a/", "messages"] {
            let request = ListRequest {
                start_after: Some(c.key(after)),
                ..c.list_request(prefix)
            };
            let expected: Vec<_> = NAMES
                .into_iter()
                .filter(|name| name.starts_with(prefix) && *name > after)
                .collect();
            let found = in_order(c, request).await?;
            ensure_eq!(found, expected, "keys under {prefix:?} after {after:?}");
        }
    }
    // Before and behind all of the prefix.
    for (after, expected) in [("!", NAMES.len()), ("\u{10ffff}", 0)] {
        let request = ListRequest {
            start_after: Some(after.to_owned()),
            ..c.list_request("")
        };
        let found = in_order(c, request).await?.len();
        ensure_eq!(found, expected, "how many keys come after {after:?}");
    }
    Ok(())
}

pub async fn start_after_folded(c: &Context<'_>) -> Checked {
    put_all(c, &NAMES).await?;
    for (after, expected) in [
        ("a-/x", &["a.md", "a/", "a0"] as &[_]),
        ("a/", &["a/", "a0"]),
        ("a/b", &["a/", "a0"]),
        ("a/c/d", &["a/", "a0"]),
        ("a/c0", &["a0"]),
        ("a/z", &["a0"]),
    ] {
        let request = ListRequest {
            start_after: Some(c.key(after)),
            ..folding(c, "a")
        };
        let found = c.names(request).await?;
        ensure_eq!(found, expected, "folded after {after:?}");
    }
    Ok(())
}

pub async fn pages(c: &Context<'_>) -> Checked {
    put_all(c, &NAMES).await?;
    for delimiter in [false, true] {
        for (prefix, start_after) in [
            ("", None),
            ("a", None),
            ("a/", None),
            ("", Some(c.key("a.md"))),
            ("", Some(c.key("a/b.c"))),
        ] {
            let request = ListRequest {
                delimiter,
                start_after,
                ..c.list_request(prefix)
            };
            let whole = c.names(request.clone()).await?;
            for limit in [1, 2, 3, 5, 16] {
                let request = ListRequest {
                    limit: Some(limit),
                    ..request.clone()
                };
                let found = c.names(request).await?;
                ensure_eq!(found, whole, "pages of {limit} under {prefix:?}");
            }
        }
    }
    // A cursor goes on behind the last entry also when that is gone, and finds what has come.
    let request = ListRequest {
        limit: Some(2),
        ..c.list_request("messages")
    };
    let first = c.page(request.clone()).await?;
    if let (Some(last), Some(cursor)) = (first.entries.last(), first.cursor) {
        c.store.delete(vec![last.key.clone()]).await.remove(0)?;
        c.put("messages/w", "new").await?;
        let rest = ListRequest {
            cursor: Some(cursor),
            ..request
        };
        let found = in_order(c, rest).await?;
        let expected: Vec<_> = [
            "messages-old",
            "messages.jsonl",
            "messages/w",
            "messages/x",
            "messages0",
        ]
        .into_iter()
        .filter(|name| c.key(name) > last.key)
        .collect();
        ensure_eq!(found, expected, "a list that goes on after changes");
    }
    Ok(())
}

pub async fn limits(c: &Context<'_>) -> Checked {
    put_all(c, &NAMES).await?;
    let limited = |limit| ListRequest {
        limit: Some(limit),
        ..c.list_request("")
    };
    for limit in [1, 15] {
        let page = c.page(limited(limit)).await?;
        ensure!(
            page.entries.len() <= limit as usize,
            "over the limit of {limit}"
        );
        ensure!(
            page.cursor.is_some(),
            "no cursor after a page of {limit} of 16"
        );
    }
    let all = c.names(limited(1_000)).await?;
    ensure_eq!(all, NAMES, "keys at the greatest limit");
    for limit in [0, 1_001, u32::MAX] {
        let what = format!("a list with limit {limit}");
        expect_error(&what, c.page(limited(limit)).await, &[ErrorCode::Invalid])?;
    }
    let made_up = ListRequest {
        cursor: Some("made up, not answered".to_owned()),
        ..c.list_request("")
    };
    expect_error(
        "a list with a made-up cursor",
        c.page(made_up).await,
        &[ErrorCode::Invalid],
    )?;
    Ok(())
}

pub async fn over_a_thousand(c: &Context<'_>) -> Checked {
    let names: Vec<_> = (0..1_005).map(|n| format!("d{}/{n:04}", n / 700)).collect();
    put_all(c, &names).await?;
    let first = c.page(c.list_request("")).await?;
    ensure!(
        first.entries.len() <= 1_000,
        "{} entries on a page",
        first.entries.len()
    );
    ensure!(first.cursor.is_some(), "no cursor after the first page");
    let found = in_order(c, c.list_request("")).await?;
    ensure!(
        found == names,
        "{} keys found of {}",
        found.len(),
        names.len()
    );
    ensure_eq!(
        c.names(folding(c, "")).await?,
        ["d0/", "d1/"],
        "1,005 keys folded"
    );
    let found = in_order(c, c.list_request("d1/")).await?;
    ensure_eq!(found.len(), 305, "keys under d1/");
    Ok(())
}

pub async fn entries(c: &Context<'_>) -> Checked {
    c.put("a/o", "0123456789").await?;
    c.put("a/empty", "").await?;
    let page = c.pages(c.list_request("a/")).await?;
    ensure_eq!(page.entries.len(), 2, "entries");
    for entry in page.entries {
        let name = &entry.key[c.key("").len()..];
        let Some(stat) = c.head(name).await? else {
            return Err(super::Stop::Failed(format!(
                "{name:?} is listed and missing"
            )));
        };
        ensure_eq!(entry.size_bytes, stat.size_bytes, "size of {name:?}");
        ensure_eq!(entry.modified_ms, stat.modified_ms, "time of {name:?}");
        if let Some(version) = entry.version {
            ensure_eq!(version, stat.version, "version of {name:?}");
        }
    }
    Ok(())
}

pub async fn at_once(c: &Context<'_>) -> Checked {
    for round in 0..5 {
        let name = format!("d/{round}");
        c.put(&name, "x").await?;
        ensure_eq!(
            in_order(c, c.list_request("d/")).await?,
            [name.as_str()],
            "after a put"
        );
        ensure!(c.head(&name).await?.is_some(), "head does not see the put");
        c.delete(&name).await?;
        ensure_eq!(
            in_order(c, c.list_request("d/")).await?,
            [""; 0],
            "after a delete"
        );
        c.ensure_missing(&name).await?;
    }
    Ok(())
}

pub async fn reserved(c: &Context<'_>) -> Checked {
    // A write first, so that there may be something of the store's own.
    c.put("o", "x").await?;
    for prefix in [".haversack", ".haversack/", ".haversack/l", ".hav"] {
        for delimiter in [false, true] {
            let request = ListRequest {
                prefix: prefix.to_owned(),
                delimiter,
                start_after: None,
                cursor: None,
                limit: None,
            };
            let page = c.page(request).await?;
            let mine = |key: &str| key.starts_with(".haversack/");
            ensure!(
                !page.entries.iter().any(|entry| mine(&entry.key))
                    && !page.prefixes.iter().any(|prefix| mine(prefix)),
                "the store's own keys are listed under {prefix:?}"
            );
        }
    }
    Ok(())
}
