//! What never leaves this machine: calls over a limit, and secrets.

use anyhow::{Context, ensure};
use haversack_host::store::s3::S3Store;
use haversack_host::store::{
    BlobStore, Body, BodyKind, Condition, ErrorCode, GetRequest, ListRequest, PutOptions, Range,
    Request, Source,
};

use super::{Place, Tested, options, put, told, whole};

pub async fn nothing_is_sent(place: &Place<'_>) -> Tested {
    let store = &place.store;
    let prefix_bytes = "refusals/nothing_is_sent/".len();
    let long = "k/".repeat(600);
    let just_over = format!("{}{}", "kk/".repeat(300), "k".repeat(125 - prefix_bytes));
    let keys = [
        "",
        "/a",
        "a//b",
        "a/../b",
        "a\\b",
        "a\nb",
        ".haversack/x",
        "e\u{301}",
        &"s".repeat(256),
        long.trim_end_matches('/'),
        &just_over,
    ];
    let x = || Body::Text("x".to_owned());
    let source = |key: &str| Source {
        key: key.to_owned(),
        if_match: None,
    };
    for key in keys {
        let get = GetRequest {
            key: key.to_owned(),
            range: Range::Last(1),
            kind: BodyKind::Text,
        };
        for answer in store
            .read(vec![
                whole(key),
                Request::Head(key.to_owned()),
                Request::Get(get),
            ])
            .await
        {
            ensure!(answer.is_err(), "a read of {key:?}");
        }
        for condition in [
            Condition::Always,
            Condition::IfAbsent,
            Condition::IfMatch("v".to_owned()),
        ] {
            let put = store
                .put(key.to_owned(), x(), options(condition.clone()))
                .await;
            ensure!(put.is_err(), "a put of {key:?}");
            let concat = store
                .concat(vec![], key.to_owned(), options(condition))
                .await;
            ensure!(concat.is_err(), "a concat to {key:?}");
        }
        let concat = store
            .concat(
                vec![source(key)],
                "o".to_owned(),
                options(Condition::Always),
            )
            .await;
        ensure!(concat.is_err(), "a concat of {key:?}");
        ensure!(
            store.delete(vec![key.to_owned()]).await.remove(0).is_err(),
            "a delete of {key:?}"
        );
        let upload = store
            .upload(key.to_owned(), options(Condition::Always))
            .await;
        ensure!(upload.is_err(), "an upload to {key:?}");
    }
    let metadata = |name: &str, value: &str| PutOptions {
        metadata: vec![(name.to_owned(), value.to_owned())],
        ..options(Condition::Always)
    };
    for refused in [
        metadata("a", &"v".repeat(2_048)),
        // 1,234 bytes, 2,061 as encoded words; with one letter less it has 2,044.
        metadata("a", &"é".repeat(617)),
        metadata("a b", "v"),
        metadata("a", "line\nend"),
        PutOptions {
            content_type: Some("é".to_owned()),
            ..options(Condition::Always)
        },
    ] {
        ensure!(
            store
                .put("o".to_owned(), x(), refused.clone())
                .await
                .is_err()
        );
        ensure!(
            store
                .concat(vec![source("a")], "o".to_owned(), refused.clone())
                .await
                .is_err()
        );
        ensure!(store.upload("o".to_owned(), refused).await.is_err());
    }
    let large = Body::Binary(vec![0; (8 << 20) + 1]);
    let put_large = store
        .put("o".to_owned(), large, options(Condition::Always))
        .await;
    ensure!(put_large.is_err_and(|error| error.code == ErrorCode::TooLarge));
    let many = vec![source("a"); 257];
    let concat = store
        .concat(many, "o".to_owned(), options(Condition::Always))
        .await;
    ensure!(concat.is_err_and(|error| error.code == ErrorCode::TooLarge));
    let onto_itself = store
        .concat(
            vec![source("o")],
            "o".to_owned(),
            options(Condition::Always),
        )
        .await;
    ensure!(onto_itself.is_err());
    let list = |cursor: Option<&str>, limit| {
        Request::List(ListRequest {
            prefix: String::new(),
            delimiter: false,
            start_after: None,
            cursor: cursor.map(str::to_owned),
            limit,
        })
    };
    for refused in [
        list(Some("made up"), None),
        list(None, Some(1_001)),
        list(None, Some(0)),
    ] {
        ensure!(store.read(vec![refused]).await.remove(0).is_err());
    }
    for answer in store.read(vec![whole("o"); 257]).await {
        ensure!(answer.is_err_and(|error| error.code == ErrorCode::TooLarge));
    }
    ensure!(store.append("o".to_owned(), x(), 0).await.is_err());
    let sent = place.faults.requests();
    ensure!(sent.is_empty(), "{sent:?}");

    let at_the_limit = metadata("a", &"é".repeat(616));
    let put = store.put("o".to_owned(), x(), at_the_limit).await;
    put.map(drop).map_err(told)
}

pub async fn secrets_stay_secret(place: &Place<'_>) -> Tested {
    let mut wrong = place.server.options("refusals");
    wrong.credentials.secret_access_key = "hush-not-the-secret".to_owned();
    let shown = format!("{wrong:?}");
    let id = wrong.credentials.access_key_id.clone();
    ensure!(!shown.contains("hush") && !shown.contains(&id), "{shown}");
    let store = S3Store::connect(wrong).map_err(told)?;
    let get = store
        .read(vec![whole("o")])
        .await
        .remove(0)
        .err()
        .context("read with a wrong key")?;
    let put = put(&store, "o", "x", Condition::Always)
        .await
        .err()
        .context("written with a wrong key")?;
    let delete = store
        .delete(vec!["o".to_owned()])
        .await
        .remove(0)
        .err()
        .context("deleted")?;
    for error in [get, put, delete] {
        ensure!(
            error.code == ErrorCode::Denied,
            "{:?}: {}",
            error.code,
            error.message
        );
        let message = error.message;
        ensure!(
            !message.contains("hush") && !message.contains(&id),
            "{message}"
        );
    }
    Ok(())
}

pub async fn no_such_bucket(place: &Place<'_>) -> Tested {
    let mut wrong = place.server.options("");
    wrong.bucket = "elsewhere".to_owned();
    let store = S3Store::connect(wrong).map_err(told)?;
    let error = store
        .read(vec![whole("o")])
        .await
        .remove(0)
        .err()
        .context("a get found it")?;
    ensure!(
        error.message.contains("no such bucket"),
        "{}",
        error.message
    );
    let error = put(&store, "o", "x", Condition::Always)
        .await
        .err()
        .context("written nowhere")?;
    ensure!(
        error.message.contains("no such bucket"),
        "{}",
        error.message
    );
    Ok(())
}
