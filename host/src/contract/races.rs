//! Checks of calls that race. Each also holds, trivially, on a store that takes one call at a time.

use std::sync::atomic::{AtomicBool, Ordering};

use super::context::{
    Checked, Context, Stop, ensure, ensure_eq, expect_error, options, pairs, together, turn,
};
use crate::store::{BoxFuture, Condition, Error, ErrorCode};

/// How often a contender tries one write again. A store with `n` contenders needs about `n`.
const TRIES_MAX: usize = 200;

pub async fn creates(c: &Context<'_>) -> Checked {
    for round in 0..2 {
        let name = format!("round{round}/o");
        let put = |n: usize| -> BoxFuture<'_, Result<String, Error>> {
            let name = &name;
            Box::pin(async move {
                c.try_put(name, n.to_string(), options(Condition::IfAbsent))
                    .await
            })
        };
        let results = together((0..16).map(put).collect()).await;
        let mut winner = None;
        for (number, result) in results.into_iter().enumerate() {
            match result {
                Ok(version) => {
                    ensure!(winner.is_none(), "two creates won");
                    winner = Some((number.to_string(), version));
                }
                lost => {
                    let error = expect_error("a create", lost, &[ErrorCode::Conflict])?;
                    ensure!(
                        error.current.is_some(),
                        "a conflict without the current version"
                    );
                }
            }
        }
        let (bytes, stat) = c.get(&name).await?;
        let found = (String::from_utf8_lossy(&bytes).into_owned(), stat.version);
        ensure_eq!(Some(found), winner, "what lies there and what won");
    }
    Ok(())
}

pub async fn compare_and_swap(c: &Context<'_>) -> Checked {
    c.put("counter", "0").await?;
    let count = |_| -> BoxFuture<'_, Checked> {
        Box::pin(async move {
            for _ in 0..5 {
                increment(c).await?;
            }
            Ok(())
        })
    };
    for counted in together((0..4).map(count).collect()).await {
        counted?;
    }
    ensure_eq!(
        c.get("counter").await?.0,
        b"20",
        "a counter after 4 × 5 increments"
    );
    Ok(())
}

async fn increment(c: &Context<'_>) -> Checked {
    for _ in 0..TRIES_MAX {
        let (bytes, stat) = c.get("counter").await?;
        let number: u32 = String::from_utf8_lossy(&bytes).parse().unwrap_or(0);
        let next = (number + 1).to_string();
        let put = c
            .try_put("counter", next, options(Condition::IfMatch(stat.version)))
            .await;
        match put {
            Ok(_) => return Ok(()),
            lost => {
                expect_error("an increment", lost, &[ErrorCode::Conflict])?;
            }
        }
    }
    Err(Stop::Failed(format!("an increment lost {TRIES_MAX} times")))
}

pub async fn appends(c: &Context<'_>) -> Checked {
    c.needs_append()?;
    let add = |writer: usize| -> BoxFuture<'_, Checked> {
        Box::pin(async move {
            for line in 0..5 {
                add_line(c, &format!("{writer}.{line}\n")).await?;
            }
            Ok(())
        })
    };
    for added in together((0..4).map(add).collect()).await {
        added?;
    }
    let (bytes, _) = c.get("log").await?;
    let text = String::from_utf8_lossy(&bytes);
    for writer in 0..4 {
        let start = format!("{writer}.");
        let lines: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with(&start))
            .collect();
        let expected: Vec<_> = (0..5).map(|line| format!("{writer}.{line}")).collect();
        ensure_eq!(lines, expected, "the lines of one writer");
    }
    ensure_eq!(text.lines().count(), 20, "lines in all");
    Ok(())
}

async fn add_line(c: &Context<'_>, line: &str) -> Checked {
    let mut size = 0;
    for _ in 0..TRIES_MAX {
        match c.append("log", line, size).await {
            Ok(_) => return Ok(()),
            lost => {
                let error = expect_error("an append", lost, &[ErrorCode::Conflict])?;
                let current = error.current.and_then(|current| current.parse().ok());
                let Some(current) = current else {
                    return Err(Stop::Failed(
                        "a conflict without the current size".to_owned(),
                    ));
                };
                size = current;
            }
        }
    }
    Err(Stop::Failed(format!("an append lost {TRIES_MAX} times")))
}

pub async fn readers(c: &Context<'_>) -> Checked {
    // Bytes, size and metadata of each object tell which it is.
    let length = |number: usize| 40_000 + 1_000 * (number % 9);
    let write = |number: usize| {
        let mut marked = options(Condition::Always);
        marked.metadata = pairs(&[("number", &number.to_string())]);
        c.try_put("o", vec![number as u8; length(number)], marked)
    };
    write(0).await?;
    let written = AtomicBool::new(false);
    let writer: BoxFuture<'_, Checked> = Box::pin(async {
        let mut outcome = Ok(String::new());
        for number in 1..60 {
            outcome = outcome.and(write(number).await);
            turn().await;
        }
        written.store(true, Ordering::Relaxed);
        Ok(outcome.map(drop)?)
    });
    let read = async || -> Checked {
        let (bytes, stat) = c.get("o").await?;
        let number = usize::from(bytes.first().copied().unwrap_or(255));
        let uniform = bytes.iter().all(|byte| usize::from(*byte) == number);
        ensure!(uniform, "a get mixes bytes of two objects");
        ensure_eq!(bytes.len(), length(number), "length of object {number}");
        ensure_eq!(stat.size_bytes, bytes.len() as u64, "its size");
        ensure_eq!(
            stat.metadata,
            pairs(&[("number", &number.to_string())]),
            "metadata"
        );
        let Some(head) = c.head("o").await? else {
            return Err(Stop::Failed(
                "the object was missing for a moment".to_owned(),
            ));
        };
        let mark = head
            .metadata
            .first()
            .and_then(|(_, mark)| mark.parse().ok());
        let size = mark.map(|number: usize| length(number) as u64);
        ensure_eq!(Some(head.size_bytes), size, "size and metadata of a head");
        let listed = c.pages(c.list_request("")).await?.entries.len();
        ensure_eq!(listed, 1, "objects listed during a replacement");
        Ok(())
    };
    let reader = |_| -> BoxFuture<'_, Checked> {
        Box::pin(async {
            while !written.load(Ordering::Relaxed) {
                read().await?;
                turn().await;
            }
            Ok(())
        })
    };
    let mut all: Vec<_> = (0..3).map(reader).collect();
    all.push(writer);
    for ended in together(all).await {
        ended?;
    }
    Ok(())
}

pub async fn siblings(c: &Context<'_>) -> Checked {
    let work = |number: usize| -> BoxFuture<'_, Checked> {
        Box::pin(async move {
            let name = format!("a/b/c/{number}");
            for round in 0..15 {
                c.put(&name, round.to_string()).await?;
                let (bytes, _) = c.get(&name).await?;
                ensure_eq!(
                    bytes,
                    round.to_string().as_bytes(),
                    "an object beside deletes"
                );
                c.delete(&name).await?;
            }
            Ok(())
        })
    };
    for worked in together((0..6).map(work).collect()).await {
        worked?;
    }
    ensure_eq!(c.names(c.list_request("")).await?, [""; 0], "what is left");
    Ok(())
}

pub async fn concats(c: &Context<'_>) -> Checked {
    c.put("part", "part").await?;
    let mut version = c.put("o", "start").await?;
    // Each writes other bytes than any before it: equal bytes may share a version.
    for round in 0..3 {
        let put = |n: usize| -> BoxFuture<'_, Result<String, Error>> {
            let wanted = options(Condition::IfMatch(version.clone()));
            Box::pin(async move {
                if n.is_multiple_of(2) {
                    let sources = vec![c.source("part", None); 1 + n + 6 * round];
                    c.try_concat(sources, "o", wanted).await
                } else {
                    c.try_put("o", format!("put {n} of round {round}"), wanted)
                        .await
                }
            })
        };
        let results = together((0..6).map(put).collect()).await;
        let won: Vec<_> = results.into_iter().flatten().collect();
        ensure_eq!(won.len(), 1, "how many of six contenders won");
        let found = c.get("o").await?.1.version;
        ensure_eq!(found, won[0], "the winner's version");
        version = found;
    }
    Ok(())
}
