//! Waves and lists of a bucket: failures inside of them, their bounds, and what others left there.

use std::time::Duration;

use anyhow::ensure;
use haversack_host::store::s3::faults::Fault;
use haversack_host::store::{
    Answer, BlobStore, Body, Condition, ErrorCode, ListRequest, Listing, Request,
};

use super::{Place, Tested, get, options, put, told, whole};

async fn put_twenty(place: &Place<'_>) -> Tested {
    for number in 0..20 {
        put(
            &place.direct,
            &format!("o{number}"),
            &number.to_string(),
            Condition::Always,
        )
        .await
        .map_err(told)?;
    }
    Ok(())
}

pub async fn failures_in_a_wave(place: &Place<'_>) -> Tested {
    put_twenty(place).await?;
    let gone = |_: &http::Method, path: &str| path.ends_with("/o7");
    place.faults.order(gone, Fault::Answer(403), 1);
    for fault in [
        Fault::Answer(503),
        Fault::Answer(429),
        Fault::CutBefore,
        Fault::CutAfter,
    ] {
        place.faults.order(|_, _| true, fault, 3);
    }
    let wave = (0..20).map(|number| whole(&format!("o{number}"))).collect();
    for (number, answer) in place.store.read(wave).await.into_iter().enumerate() {
        match answer {
            Ok(Answer::Blob(Some(blob))) => ensure!(blob.body == Body::Text(number.to_string())),
            Err(error) if number == 7 => ensure!(error.code == ErrorCode::Denied),
            other => anyhow::bail!("{number}: {other:?}"),
        }
    }
    Ok(())
}

pub async fn short_bodies(place: &Place<'_>) -> Tested {
    let text = "0123456789".repeat(1_000);
    put(&place.direct, "o", &text, Condition::Always)
        .await
        .map_err(told)?;
    place
        .faults
        .order(|method, _| method == "GET", Fault::Short, 2);
    let found = get(&place.store, "o").await?.map(|(text, _)| text);
    ensure!(
        found == Some(text),
        "a body that ended early was taken for whole"
    );
    ensure!(place.requests("GET", "") == 3);
    Ok(())
}

pub async fn at_most_so_many_at_once(place: &Place<'_>) -> Tested {
    put_twenty(place).await?;
    for at_once in [1, 4, 30] {
        place.faults.clear();
        place
            .faults
            .order(|_, _| true, Fault::Slow(Duration::from_millis(20)), 100);
        let store = place
            .store_with(|options| options.requests_at_once = at_once)
            .map_err(told)?;
        let wave: Vec<Request> = (0..30)
            .map(|number| whole(&format!("o{}", number % 20)))
            .collect();
        for answer in store.read(wave).await {
            answer.map_err(told)?;
        }
        let found = place.faults.in_flight_max();
        ensure!(found == at_once, "{found} at once instead of {at_once}");
    }
    Ok(())
}

/// The first that fit are answered, whichever comes first over the wire.
pub async fn full_waves_in_order(place: &Place<'_>) -> Tested {
    for (key, size) in [("a", 8 << 20), ("b", 8 << 20), ("c", 1 << 20), ("empty", 0)] {
        let body = Body::Binary(vec![b'x'; size]);
        let put = place
            .direct
            .put(key.to_owned(), body, options(Condition::Always))
            .await;
        put.map_err(told)?;
    }
    let slow = |_: &http::Method, path: &str| path.ends_with("/a");
    place
        .faults
        .order(slow, Fault::Slow(Duration::from_millis(200)), 1);
    let wave = ["a", "c", "b", "c", "empty"].map(whole).into();
    let answers = place.store.read(wave).await;
    let answered: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    ensure!(answered == [true, true, false, true, true], "{answered:?}");
    Ok(())
}

pub async fn foreign_names(place: &Place<'_>) -> Tested {
    let names = [
        "a/",
        "a//b",
        "../up",
        "e\u{301}",
        "a\\b",
        "tab\t",
        ".haversack/secret",
        "fine",
        "a/fine",
    ];
    for name in names {
        place
            .server
            .put_foreign(&format!("reads/foreign_names/{name}"))?;
    }
    let list = async |delimiter, limit| -> anyhow::Result<Listing> {
        let mut all: Option<Listing> = None;
        let mut cursor = None;
        loop {
            let request = ListRequest {
                prefix: String::new(),
                delimiter,
                start_after: None,
                cursor: cursor.take(),
                limit: Some(limit),
            };
            let answer = place
                .store
                .read(vec![Request::List(request)])
                .await
                .remove(0);
            let Answer::Listing(page) = answer.map_err(told)? else {
                anyhow::bail!("not a list");
            };
            cursor = page.cursor.clone();
            match &mut all {
                None => all = Some(page),
                Some(all) => {
                    all.entries.extend(page.entries);
                    all.prefixes.extend(page.prefixes);
                    all.skipped.extend(page.skipped);
                }
            }
            if let (None, Some(all)) = (&cursor, all.take_if(|_| cursor.is_none())) {
                return Ok(all);
            }
        }
    };
    for limit in [1, 2, 1_000] {
        let all = list(false, limit).await?;
        let entries: Vec<_> = all.entries.iter().map(|entry| entry.key.as_str()).collect();
        ensure!(
            entries == ["a/fine", "fine"],
            "pages of {limit}: {entries:?}"
        );
        let mut skipped: Vec<_> = all
            .skipped
            .iter()
            .map(|skipped| skipped.key.as_str())
            .collect();
        skipped.sort_unstable();
        // R2 puts names into normal form C by itself; this server keeps them.
        let expected = ["../up", "a/", "a//b", "a\\b", "e\u{301}", "tab\t"];
        ensure!(skipped == expected, "pages of {limit}: {skipped:?}");
        ensure!(all.skipped.iter().all(|skipped| !skipped.cause.is_empty()));
        let folded = list(true, limit).await?;
        ensure!(folded.prefixes == ["a/"], "{:?}", folded.prefixes);
    }
    Ok(())
}

pub async fn prefixes_are_apart(place: &Place<'_>) -> Tested {
    let below = place
        .store_with(|options| options.prefix += "/below")
        .map_err(told)?;
    let beside = place
        .store_with(|options| options.prefix += "/below2")
        .map_err(told)?;
    put(&below, "o", "below", Condition::IfAbsent)
        .await
        .map_err(told)?;
    put(&beside, "o", "beside", Condition::IfAbsent)
        .await
        .map_err(told)?;
    let text = async |store, key| anyhow::Ok(get(store, key).await?.map(|(text, _)| text));
    ensure!(text(&below, "o").await?.as_deref() == Some("below"));
    ensure!(text(&place.store, "below/o").await?.as_deref() == Some("below"));
    ensure!(text(&place.store, "below2/o").await?.as_deref() == Some("beside"));
    below
        .delete(vec!["o".to_owned()])
        .await
        .remove(0)
        .map_err(told)?;
    ensure!(text(&below, "o").await?.is_none());
    ensure!(text(&beside, "o").await?.as_deref() == Some("beside"));
    Ok(())
}
