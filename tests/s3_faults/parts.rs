//! Copies, concats and uploads in parts, and deletes, on a server that fails.

use std::sync::Arc;

use anyhow::{Context, ensure};
use haversack_host::store::s3::S3Store;
use haversack_host::store::s3::faults::{Fault, Meanwhile};
use haversack_host::store::{
    Answer, BlobStore, Body, Condition, Error, ErrorCode, Request, Source, Stat,
};

use super::{Place, Tested, get, options, put, told};

const MIB: usize = 1 << 20;

fn source(key: &str, if_match: Option<String>) -> Source {
    Source {
        key: key.to_owned(),
        if_match,
    }
}

async fn put_large(place: &Place<'_>) -> Tested {
    let body = Body::Binary(vec![b'x'; 8 * MIB]);
    let put = place
        .direct
        .put("part".to_owned(), body, options(Condition::Always))
        .await;
    put.map(drop).map_err(told)
}

async fn head(store: &S3Store, key: &str) -> anyhow::Result<Option<Stat>> {
    let answer = store
        .read(vec![Request::Head(key.to_owned())])
        .await
        .remove(0);
    match answer.map_err(told)? {
        Answer::Head(stat) => Ok(stat),
        other => anyhow::bail!("not a head: {other:?}"),
    }
}

async fn size_of(store: &S3Store, key: &str) -> anyhow::Result<Option<u64>> {
    Ok(head(store, key).await?.map(|stat| stat.size_bytes))
}

pub async fn copies_stay_in_the_bucket(place: &Place<'_>) -> Tested {
    let version = put(&place.direct, "a b/é", "content", Condition::Always)
        .await
        .map_err(told)?;
    for fault in [
        None,
        Some(Fault::AnswerAfter(503)),
        Some(Fault::CutAfter),
        Some(Fault::Answer(429)),
    ] {
        place.faults.clear();
        if let Some(fault) = fault {
            place.faults.order(|method, _| method == "PUT", fault, 1);
        }
        let sources = vec![source("a b/é", Some(version.clone()))];
        let copied = place
            .store
            .concat(sources, "to".to_owned(), options(Condition::Always))
            .await;
        let copied = copied.map_err(told)?;
        ensure!(place.requests("GET", "") == 0, "the bytes came here");
        ensure!(get(&place.direct, "to").await? == Some(("content".to_owned(), copied)));
    }
    // The source is conditional: another version is not copied.
    let stale = vec![source("a b/é", Some("0".repeat(32)))];
    let refused = place
        .store
        .concat(stale, "to".to_owned(), options(Condition::Always))
        .await;
    ensure!(refused.is_err_and(|error| error.code == ErrorCode::Conflict));
    Ok(())
}

pub async fn copies_that_the_bucket_refuses(place: &Place<'_>) -> Tested {
    put(&place.direct, "from", "content", Condition::Always)
        .await
        .map_err(told)?;
    place
        .faults
        .order(|method, _| method == "PUT", Fault::Answer(501), 1);
    let sources = vec![source("from", None)];
    let copied = place
        .store
        .concat(sources, "to".to_owned(), options(Condition::Always))
        .await;
    let copied = copied.map_err(told)?;
    ensure!(place.requests("GET", "") == 1, "it was not read instead");
    ensure!(get(&place.direct, "to").await? == Some(("content".to_owned(), copied)));
    Ok(())
}

pub async fn parts_that_fail(place: &Place<'_>) -> Tested {
    put_large(place).await?;
    let part = |method: &http::Method, path: &str| method == "PUT" && path.contains("uploadId");
    let sources = || vec![source("part", None); 9];
    for fault in [
        Fault::Answer(503),
        Fault::AnswerAfter(503),
        Fault::CutAfter,
        Fault::Answer(429),
    ] {
        place.faults.order(part, fault, 1);
    }
    let joined = place
        .store
        .concat(sources(), "o".to_owned(), options(Condition::IfAbsent))
        .await;
    joined.map_err(told)?;
    ensure!(size_of(&place.direct, "o").await? == Some(72 * MIB as u64));
    ensure!(place.requests("PUT", "uploadId") == 9 + 4);

    // One that fails for good ends the upload and gives its parts back.
    place.faults.clear();
    place.faults.order(part, Fault::Answer(403), 1);
    let refused = place
        .store
        .concat(sources(), "o2".to_owned(), options(Condition::IfAbsent))
        .await;
    ensure!(refused.is_err_and(|error| error.code == ErrorCode::Denied));
    ensure!(size_of(&place.direct, "o2").await?.is_none());
    for _ in 0..1_000 {
        if place.requests("DELETE", "uploadId") == 1 {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    anyhow::bail!("the upload was not given up")
}

/// Upload 17 MiB, in three parts.
async fn upload(store: &S3Store, key: &str, condition: Condition) -> Result<String, Error> {
    let mut upload = store.upload(key.to_owned(), options(condition)).await?;
    for part in [8, 8, 1] {
        upload.write(vec![b'x'; part * MIB]).await?;
    }
    upload.finish().await
}

pub async fn a_lost_completion(place: &Place<'_>) -> Tested {
    let completion =
        |method: &http::Method, path: &str| method == "POST" && path.contains("uploadId");
    for (key, fault) in [
        ("a", Fault::CutAfter),
        ("b", Fault::AnswerAfter(503)),
        ("c", Fault::Answer(503)),
        ("d", Fault::CutBefore),
        ("e", Fault::Short),
    ] {
        place.faults.order(completion, fault, 1);
        let version = upload(&place.store, key, Condition::IfAbsent).await;
        let version = version.map_err(told).context(key)?;
        let stat = head(&place.direct, key).await?.context("it is missing")?;
        ensure!((stat.size_bytes, stat.version) == (17 * MIB as u64, version));
    }
    // A plain refusal is one, and nothing appears.
    place.faults.order(completion, Fault::Answer(400), 1);
    let refused = upload(&place.store, "f", Condition::IfAbsent).await;
    ensure!(refused.is_err_and(|error| error.code == ErrorCode::Other));
    ensure!(size_of(&place.direct, "f").await?.is_none());
    // One that is never answered cannot be told.
    place.faults.order(completion, Fault::CutBefore, 5);
    let lost = upload(&place.store, "g", Condition::IfAbsent).await;
    ensure!(lost.is_err_and(|error| error.code == ErrorCode::OutcomeUnknown));
    Ok(())
}

/// The condition of a large object is asked again right before the end.
pub async fn somebody_was_faster(place: &Place<'_>) -> Tested {
    let options = place.server.options("parts/somebody_was_faster");
    let direct = Arc::new(S3Store::connect(options).map_err(told)?);
    let other: Meanwhile = Arc::new(move || {
        let direct = Arc::clone(&direct);
        Box::pin(async move {
            let _ = put(&direct, "o", "of another", Condition::IfAbsent).await;
        })
    });
    let part = |method: &http::Method, path: &str| method == "PUT" && path.contains("partNumber=2");
    place.faults.order(part, Fault::CutAfterWith(other), 1);
    let lost = upload(&place.store, "o", Condition::IfAbsent).await;
    let error = lost.err().context("it was overwritten")?;
    ensure!(error.code == ErrorCode::Conflict, "{}", error.message);
    let (text, version) = get(&place.direct, "o").await?.context("it is gone")?;
    ensure!(text == "of another" && error.current == Some(version));
    Ok(())
}

pub async fn uploads_that_end_early(place: &Place<'_>) -> Tested {
    let begin = async || {
        place
            .store
            .upload("o".to_owned(), options(Condition::Always))
            .await
    };
    let mut upload = begin().await.map_err(told)?;
    for _ in 0..3 {
        upload.write(vec![0; 8 * MIB]).await.map_err(told)?;
    }
    upload.abort().await.map_err(told)?;
    ensure!(place.requests("DELETE", "uploadId") == 1);
    begin().await.map_err(told)?.abort().await.map_err(told)?;
    let mut dropped = begin().await.map_err(told)?;
    for _ in 0..3 {
        dropped.write(vec![0; 8 * MIB]).await.map_err(told)?;
    }
    drop(dropped);
    for _ in 0..1_000 {
        if place.requests("DELETE", "uploadId") == 2 {
            ensure!(size_of(&place.direct, "o").await?.is_none());
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    anyhow::bail!("the dropped upload was not given up")
}

pub async fn uploads_of_every_size(place: &Place<'_>) -> Tested {
    for (parts, multipart) in [
        (vec![], false),
        (vec![5], false),
        (vec![8 * MIB], false),
        (vec![8 * MIB, 1], true),
        (vec![3 * MIB; 7], true),
        (vec![8 * MIB, 0, 8 * MIB], true),
    ] {
        place.faults.clear();
        let key = format!("o{}", parts.len());
        let upload = place
            .store
            .upload(key.clone(), options(Condition::Always))
            .await;
        let mut upload = upload.map_err(told)?;
        for part in &parts {
            upload.write(vec![b'x'; *part]).await.map_err(told)?;
        }
        upload.finish().await.map_err(told)?;
        let size: usize = parts.iter().sum();
        ensure!(
            size_of(&place.direct, &key).await? == Some(size as u64),
            "{parts:?}"
        );
        ensure!(
            (place.requests("POST", "?uploads") == 1) == multipart,
            "{parts:?}"
        );
        let again = place
            .store
            .upload(key.clone(), options(Condition::IfAbsent))
            .await;
        let mut again = again.map_err(told)?;
        again.write(vec![b'y'; 10]).await.map_err(told)?;
        let lost = again.finish().await;
        ensure!(lost.is_err_and(|error| error.code == ErrorCode::Conflict));
    }
    let mut upload = place
        .store
        .upload("o".to_owned(), options(Condition::Always))
        .await
        .map_err(told)?;
    let over = upload.write(vec![0; 8 * MIB + 1]).await;
    ensure!(over.is_err_and(|error| error.code == ErrorCode::TooLarge));
    drop(upload);
    let conditional = options(Condition::IfMatch("v".to_owned()));
    ensure!(
        place
            .store
            .upload("o".to_owned(), conditional)
            .await
            .is_err()
    );
    Ok(())
}

pub async fn deletes(place: &Place<'_>) -> Tested {
    let names = [
        "a", " a", "a ", "a b", "é", "&<>\"'", "1", "%20", "+", "\u{ffff}",
    ];
    for fault in [
        Fault::Answer(503),
        Fault::CutAfter,
        Fault::Answer(429),
        Fault::Answer(501),
    ] {
        for name in names.iter().chain(&["kept"]) {
            put(&place.direct, name, name, Condition::Always)
                .await
                .map_err(told)?;
        }
        place.faults.order(|method, _| method == "POST", fault, 1);
        for (name, answer) in names
            .iter()
            .zip(place.store.delete(names.map(str::to_owned).into()).await)
        {
            answer.map_err(told)?;
            ensure!(
                get(&place.direct, name).await?.is_none(),
                "{name:?} is still there"
            );
        }
        ensure!(get(&place.direct, "kept").await?.is_some());
    }
    // A name with a space at its end is not the name without.
    put(&place.direct, "a", "a", Condition::Always)
        .await
        .map_err(told)?;
    place
        .store
        .delete(vec!["a ".to_owned(), " a".to_owned()])
        .await
        .remove(0)
        .map_err(told)?;
    ensure!(
        get(&place.direct, "a").await?.is_some(),
        "another object was deleted"
    );
    // A thousand and more in two requests.
    place.faults.clear();
    let many = (0..1_001).map(|number| format!("m{number}")).collect();
    for answer in place.store.delete(many).await {
        answer.map_err(told)?;
    }
    ensure!(place.requests("POST", "?delete") == 2);
    place
        .faults
        .order(|method, _| method == "POST", Fault::Answer(403), 1);
    let refused = place.store.delete(vec!["a".to_owned()]).await.remove(0);
    ensure!(refused.is_err_and(|error| error.code == ErrorCode::Denied));
    Ok(())
}
