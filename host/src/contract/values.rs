//! Checks of sizes: of values and of waves, at their edges.

use super::context::{Checked, Context, ensure, ensure_eq, expect_error, options, pattern};
use crate::store::{Answer, Body, BodyKind, Condition, ErrorCode, Range, Request, Span, value};

/// What every store takes, whatever more it describes.
const VALUE_BYTES: usize = 8 << 20;

pub async fn largest(c: &Context<'_>) -> Checked {
    let bytes = pattern(VALUE_BYTES, 7);
    let version = c.put("o", &bytes).await?;
    let (found, stat) = c.get("o").await?;
    ensure!(found == bytes, "8 MiB came back with other bytes");
    ensure_eq!(stat.version, version, "the version of 8 MiB");
    for (range, expected) in [
        (Range::Last(VALUE_BYTES as u64), &bytes[..]),
        (Range::Last(3), &bytes[VALUE_BYTES - 3..]),
        (
            Range::Span(Span {
                start_bytes: 5 << 20,
                length_bytes: 100,
            }),
            &bytes[5 << 20..][..100],
        ),
    ] {
        ensure!(
            c.part("o", range).await? == expected,
            "{range:?} of 8 MiB has other bytes"
        );
    }
    Ok(())
}

pub async fn over_the_limit(c: &Context<'_>) -> Checked {
    let limit = c.described_number("value-bytes-max")? as usize;
    if limit > 64 << 20 {
        let reason = format!("a value may have {limit} bytes: too many to try");
        return Err(super::Stop::Skipped(reason));
    }
    c.put("there", "old").await?;
    for body in [
        Body::Binary(vec![0; limit + 1]),
        Body::Text("é".repeat(limit / 2 + 1)),
    ] {
        for name in ["missing", "there"] {
            let put = c
                .store
                .put(c.key(name), body.clone(), options(Condition::Always))
                .await;
            expect_error("a put over the limit", put, &[ErrorCode::TooLarge])?;
        }
    }
    c.ensure_missing("missing").await?;
    ensure_eq!(
        c.get("there").await?.0,
        b"old",
        "the object that was to be replaced"
    );
    Ok(())
}

pub async fn largest_wave(c: &Context<'_>) -> Checked {
    let bytes = pattern(VALUE_BYTES, 9);
    c.put("large", &bytes).await?;
    c.put("small", "x").await?;
    let get = |name| c.get_request(name, Range::Whole, BodyKind::Binary);
    let answers = c.store.read(vec![get("large"), get("large")]).await;
    for answer in answers {
        match answer? {
            Answer::Blob(Some(blob)) => {
                ensure!(
                    value::bytes(&blob.body) == bytes,
                    "other bytes in a wave of 16 MiB"
                );
            }
            other => return Err(super::Stop::Failed(format!("not a blob: {other:?}"))),
        }
    }
    let mut wave: Vec<_> = (0..255).map(|_| get("small")).collect();
    wave.push(Request::Head(c.key("large")));
    let answers = c.store.read(wave).await;
    ensure_eq!(answers.len(), 256, "answers to a wave of 256");
    for answer in answers {
        answer?;
    }
    Ok(())
}

pub async fn over_the_wave(c: &Context<'_>) -> Checked {
    let bytes_limit = c.described_number("wave-bytes-max")?;
    let requests_limit = c.described_number("wave-requests-max")?;
    let too_large = [ErrorCode::TooLarge];
    if bytes_limit == 16 << 20 {
        c.put("large", pattern(VALUE_BYTES, 9)).await?;
        c.put("small", "x").await?;
        let get = |name| c.get_request(name, Range::Whole, BodyKind::Binary);
        let mut answers = c
            .store
            .read(vec![get("large"), get("large"), get("small")])
            .await;
        ensure_eq!(answers.len(), 3, "answers to three gets");
        let refused = answers.iter().filter(|answer| answer.is_err()).count();
        ensure!(
            refused > 0,
            "a wave of 16 MiB and a byte was answered whole"
        );
        answers.retain(|answer| answer.is_err());
        for answer in answers {
            expect_error("a get over the wave's bytes", answer, &too_large)?;
        }
    }
    if requests_limit > 10_000 {
        let reason = format!("a wave may have {requests_limit} requests: too many to try");
        return Err(super::Stop::Skipped(reason));
    }
    let wave: Vec<_> = (0..=requests_limit)
        .map(|_| Request::Head(c.key("small")))
        .collect();
    let requests = wave.len();
    let answers = c.store.read(wave).await;
    ensure_eq!(answers.len(), requests, "answers to a wave over the limit");
    for answer in answers {
        expect_error("a request of a wave over the limit", answer, &too_large)?;
    }
    Ok(())
}

pub async fn whole_over_the_limit(c: &Context<'_>) -> Checked {
    let limit = c.described_number("value-bytes-max")?;
    if limit > 64 << 20 {
        let reason = format!("a value may have {limit} bytes: too many to try");
        return Err(super::Stop::Skipped(reason));
    }
    let bytes = pattern(limit as usize, 11);
    c.put("part", &bytes).await?;
    c.put("byte", "!").await?;
    c.concat(&["part", "byte"], "o").await?;
    let head = c.head("o").await?.map(|stat| stat.size_bytes);
    ensure_eq!(
        head,
        Some(limit + 1),
        "size of an object over the value limit"
    );
    let all = Range::Span(Span {
        start_bytes: 0,
        length_bytes: limit + 1,
    });
    for range in [Range::Whole, all, Range::Last(limit + 1)] {
        let got = c.try_get("o", range, BodyKind::Binary).await;
        expect_error(
            &format!("{range:?} over the limit"),
            got,
            &[ErrorCode::TooLarge],
        )?;
    }
    ensure_eq!(c.part("o", Range::Last(1)).await?, b"!", "the last byte");
    let most = Range::Span(Span {
        start_bytes: 0,
        length_bytes: limit,
    });
    ensure!(
        c.part("o", most).await? == bytes,
        "other bytes in the first 8 MiB"
    );
    Ok(())
}
