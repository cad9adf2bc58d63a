//! Checks of waves, gets and heads.

use super::context::{Checked, Context, Stop, ensure, ensure_eq, options, pattern};
use crate::store::{Answer, Body, BodyKind, Condition, ErrorCode, Range, Request, Span, value};

pub fn span(start_bytes: u64, length_bytes: u64) -> Range {
    Range::Span(Span {
        start_bytes,
        length_bytes,
    })
}

pub async fn described(c: &Context<'_>) -> Checked {
    let mut names: Vec<_> = c
        .store
        .describe()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    // Only where it is less than others have.
    names.pop_if(|last| last == "key-bytes-max");
    let expected = [
        "kind",
        "append",
        "value-bytes-max",
        "wave-requests-max",
        "wave-bytes-max",
        "requests-at-once",
        "concat-sources-max",
        "concat-bytes-max",
    ];
    ensure_eq!(names, expected, "the names in `describe`");
    ensure!(!c.described("kind")?.is_empty(), "`kind` is empty");
    let append = c.described("append")?;
    ensure!(append == "yes" || append == "no", "`append` is {append:?}");
    for (name, least) in [
        ("value-bytes-max", 8 << 20),
        ("wave-requests-max", 256),
        ("wave-bytes-max", 16 << 20),
        ("requests-at-once", 1),
        ("concat-sources-max", 256),
        ("concat-bytes-max", 64 << 20),
    ] {
        let value = c.described_number(name)?;
        ensure!(value >= least, "{name} is {value}, below {least}");
    }
    Ok(())
}

pub async fn missing_is_none(c: &Context<'_>) -> Checked {
    c.put("directory/there", "x").await?;
    for name in ["missing", "directory", "directory/there/below", "there"] {
        for range in [Range::Whole, span(0, 10), span(5, 0), Range::Last(3)] {
            let found = c.try_get(name, range, BodyKind::Text).await?;
            ensure!(found.is_none(), "get {range:?} of {name:?} found something");
        }
        ensure!(
            c.head(name).await?.is_none(),
            "head of {name:?} found something"
        );
    }
    Ok(())
}

pub async fn whole(c: &Context<'_>) -> Checked {
    for (name, bytes) in [
        ("empty", vec![]),
        ("text", b"one\r\ntwo\n".to_vec()),
        ("zeros", vec![0; 70_000]),
        ("binary", pattern(100_001, 1)),
    ] {
        let version = c.put(name, &bytes).await?;
        let (found, stat) = c.get(name).await?;
        ensure!(found == bytes, "{name}: other bytes than were put");
        ensure_eq!(stat.size_bytes, bytes.len() as u64, "{name}: size");
        ensure_eq!(stat.version, version, "{name}: version of get and of put");
    }
    Ok(())
}

pub async fn wave_order(c: &Context<'_>) -> Checked {
    c.put("a", "the first").await?;
    c.put("b", "the second").await?;
    let get = |name| c.get_request(name, Range::Whole, BodyKind::Text);
    let wave = vec![
        get("b"),
        Request::Head(c.key("a")),
        get("../a"),
        Request::List(c.list_request("")),
        get("missing"),
        Request::Head(c.key("missing")),
        get("a"),
        get("b"),
    ];
    let answers = c.store.read(wave).await;
    let text = |answer: &Result<Answer, _>| match answer {
        Ok(Answer::Blob(Some(blob))) => {
            String::from_utf8_lossy(value::bytes(&blob.body)).into_owned()
        }
        Ok(Answer::Blob(None)) => "no blob".to_owned(),
        Ok(Answer::Head(stat)) => format!("head {:?}", stat.as_ref().map(|stat| stat.size_bytes)),
        Ok(Answer::Listing(listing)) => format!("{} listed", listing.entries.len()),
        Err(crate::store::Error { code, .. }) => format!("{code:?}"),
    };
    let answers: Vec<_> = answers.iter().map(text).collect();
    let expected = [
        "the second",
        "head Some(9)",
        "ErrorCode::Invalid",
        "2 listed",
        "no blob",
        "head None",
        "the first",
        "the second",
    ];
    ensure_eq!(answers, expected, "the answers to a mixed wave");
    Ok(())
}

pub async fn empty_wave(c: &Context<'_>) -> Checked {
    ensure_eq!(
        c.store.read(Vec::new()).await.len(),
        0,
        "answers to nothing"
    );
    Ok(())
}

pub async fn spans(c: &Context<'_>) -> Checked {
    c.put("o", "0123456789").await?;
    for (start, length, expected) in [
        (0, 10, "0123456789"),
        (0, 4, "0123"),
        (3, 4, "3456"),
        (0, 0, ""),
        (4, 0, ""),
        (8, 2, "89"),
        (8, 3, "89"),
        (8, u64::MAX, "89"),
        (9, 1, "9"),
        (10, 1, ""),
        (10, 0, ""),
        (11, 5, ""),
        (u64::MAX, u64::MAX, ""),
        (0, 1 << 40, "0123456789"),
    ] {
        let found = c.part("o", span(start, length)).await?;
        ensure_eq!(
            found,
            expected.as_bytes(),
            "{length} bytes from {start} of 10"
        );
    }
    c.put("empty", "").await?;
    for (start, length) in [(0, 0), (0, 5), (7, 1)] {
        let found = c.part("empty", span(start, length)).await?;
        ensure_eq!(found, b"", "{length} bytes from {start} of an empty object");
    }
    Ok(())
}

pub async fn last_bytes(c: &Context<'_>) -> Checked {
    c.put("o", "0123456789").await?;
    c.put("empty", "").await?;
    for (name, last, expected) in [
        ("o", 1, "9"),
        ("o", 9, "123456789"),
        ("o", 10, "0123456789"),
        ("o", 11, "0123456789"),
        ("o", u64::MAX, "0123456789"),
        ("o", 0, ""),
        ("empty", 0, ""),
        ("empty", 5, ""),
    ] {
        let found = c.part(name, Range::Last(last)).await?;
        ensure_eq!(found, expected.as_bytes(), "the last {last} of {name:?}");
    }
    Ok(())
}

pub async fn text_is_strict(c: &Context<'_>) -> Checked {
    let cases: [(&[u8], bool); 17] = [
        (b"", true),
        (b"plain", true),
        ("é, 日本, 😀".as_bytes(), true),
        ("nul \0 and \u{7f} and \u{fffd}".as_bytes(), true),
        ("\u{fffe} and \u{ffff}".as_bytes(), true),
        ("\u{10ffff}".as_bytes(), true),
        (b"mark \xEF\xBB\xBF inside", true),
        (b"\r\nline ends\r\n", true),
        (b"\xEF\xBB\xBF", false),
        (b"\xEF\xBB\xBFmark in front", false),
        (b"cut short \xC3", false),
        (b"\xFFnot at all", false),
        (b"overlong \xC0\x80", false),
        (b"overlong \xE0\x80\xAF", false),
        (b"surrogate \xED\xA0\x80", false),
        (b"beyond \xF4\x90\x80\x80", false),
        (b"\x80lone", false),
    ];
    for (number, (bytes, is_text)) in cases.into_iter().enumerate() {
        let name = number.to_string();
        c.put(&name, bytes).await?;
        for (kind, text_wanted) in [(BodyKind::Text, true), (BodyKind::Binary, false)] {
            let found = c.try_get(&name, Range::Whole, kind).await?;
            let Some(found) = found else {
                return Err(Stop::Failed(format!("{bytes:?} is missing")));
            };
            ensure_eq!(
                value::bytes(&found.body),
                bytes,
                "bytes asked for as {kind:?}"
            );
            let as_text = matches!(found.body, Body::Text(_));
            ensure_eq!(
                as_text,
                is_text && text_wanted,
                "{bytes:?} as {kind:?}: whether text"
            );
        }
    }
    Ok(())
}

pub async fn split_characters(c: &Context<'_>) -> Checked {
    // h é l l o, then a byte order mark, then x.
    let bytes = "héllo\u{feff}x".as_bytes();
    c.put("o", bytes).await?;
    for (range, is_text) in [
        (span(0, 1), true),
        (span(0, 2), false),
        (span(0, 3), true),
        (span(2, 3), false),
        (span(1, 2), true),
        (span(6, 4), false),
        (span(5, 4), true),
        (Range::Last(4), false),
        (Range::Last(3), false),
        (Range::Last(1), true),
        (Range::Last(6), true),
    ] {
        let (start, length) = value::resolve(&range, bytes.len() as u64);
        let expected = &bytes[start as usize..(start + length) as usize];
        let found = c.try_get("o", range, BodyKind::Text).await?;
        let Some(found) = found else {
            return Err(Stop::Failed("the object is missing".to_owned()));
        };
        ensure_eq!(value::bytes(&found.body), expected, "bytes of {range:?}");
        let as_text = matches!(found.body, Body::Text(_));
        ensure_eq!(as_text, is_text, "{range:?} of {bytes:?}: whether text");
    }
    Ok(())
}

pub async fn both_forms(c: &Context<'_>) -> Checked {
    for text in ["", "plain", "é\r\n", "\u{feff}mark in front"] {
        let always = || options(Condition::Always);
        let as_text = Body::Text(text.to_owned());
        let version = c.store.put(c.key("o"), as_text, always()).await?;
        let (bytes, stat) = c.get("o").await?;
        ensure_eq!(bytes, text.as_bytes(), "bytes put as text");
        ensure_eq!(stat.version, version, "the version of {text:?}");
        let swapped = options(Condition::IfMatch(version));
        c.try_put("o", text, swapped).await?;
        ensure_eq!(c.get("o").await?.0, text.as_bytes(), "bytes put as binary");
    }
    Ok(())
}

pub async fn heads(c: &Context<'_>) -> Checked {
    let mut wanted = options(Condition::IfAbsent);
    wanted.content_type = Some("text/markdown".to_owned());
    wanted.metadata = vec![("sessionKey".to_owned(), "agent:a".to_owned())];
    let version = c.try_put("o", "0123456789", wanted).await?;
    let Some(head) = c.head("o").await? else {
        return Err(Stop::Failed("head finds nothing".to_owned()));
    };
    ensure_eq!(head, c.get("o").await?.1, "what head and get say");
    ensure_eq!(head.version, version, "the version of head and of put");
    ensure_eq!(head.size_bytes, 10, "size");
    let refused = c.ask(Request::Head("a//b".to_owned())).await;
    super::context::expect_error("head of a//b", refused, &[ErrorCode::Invalid])?;
    Ok(())
}

pub async fn stat_of_a_part(c: &Context<'_>) -> Checked {
    let mut wanted = options(Condition::Always);
    wanted.content_type = Some("text/plain".to_owned());
    wanted.metadata = vec![("a".to_owned(), "b".to_owned())];
    c.try_put("o", "0123456789", wanted).await?;
    let (_, whole) = c.get("o").await?;
    let appends = c.described("append")? == "yes";
    for range in [span(2, 3), span(20, 1), Range::Last(1), Range::Last(0)] {
        let found = c.try_get("o", range, BodyKind::Text).await?;
        let Some(mut stat) = found.map(|blob| blob.stat) else {
            return Err(Stop::Failed("the object is missing".to_owned()));
        };
        if appends && stat.version.is_empty() {
            stat.version.clone_from(&whole.version);
        }
        ensure_eq!(stat, whole, "what a get of {range:?} says of the object");
    }
    Ok(())
}
