//! Puts whose requests are refused, lost or overtaken.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use haversack_host::store::s3::faults::{Fault, Meanwhile};
use haversack_host::store::s3::{Retry, S3Store};
use haversack_host::store::{BlobStore, Condition, ErrorCode};

use super::{Place, Tested, get, put, told};

/// Create, replace under a condition, and replace without, each with `fault` in its way once or more.
async fn all_conditions(place: &Place<'_>, fault: Fault, times: usize) -> Tested {
    let meant = |method: &http::Method, _: &str| method == "PUT";
    place.faults.order(meant, fault.clone(), times);
    let first = put(&place.store, "o", "first", Condition::IfAbsent)
        .await
        .map_err(told)?;
    ensure!(get(&place.direct, "o").await? == Some(("first".to_owned(), first.clone())));

    place.faults.order(meant, fault.clone(), times);
    let condition = Condition::IfMatch(first.clone());
    let second = put(&place.store, "o", "second", condition)
        .await
        .map_err(told)?;
    ensure!(get(&place.direct, "o").await? == Some(("second".to_owned(), second.clone())));

    place.faults.order(meant, fault, times);
    let third = put(&place.store, "o", "third", Condition::Always)
        .await
        .map_err(told)?;
    ensure!(get(&place.direct, "o").await? == Some(("third".to_owned(), third.clone())));

    // The faults are used up: these are true conflicts.
    for condition in [Condition::IfAbsent, Condition::IfMatch(first)] {
        let lost = put(&place.store, "o", "lost", condition).await;
        let error = lost.err().context("a conflict was overlooked")?;
        ensure!(error.code == ErrorCode::Conflict, "{}", error.message);
        ensure!(error.current == Some(third.clone()), "{:?}", error.current);
    }
    Ok(())
}

pub async fn throttled(place: &Place<'_>) -> Tested {
    all_conditions(place, Fault::Answer(429), 3).await?;
    // Four for each, and the two conflicts.
    let requests = place.requests("PUT", "");
    ensure!(requests == 14, "{requests} puts");
    Ok(())
}

/// R2's rule for one key, with a shorter second.
pub async fn one_write_a_second(place: &Place<'_>) -> Tested {
    place.faults.limit_writes(Duration::from_millis(20));
    let store = place.store_with(|options| {
        options.retry.throttled_delay = Duration::from_millis(15);
        options.retry.tries_max = 8;
    });
    let store = store.map_err(told)?;
    let mut version = put(&store, "o", "0", Condition::IfAbsent)
        .await
        .map_err(told)?;
    for number in 1..6 {
        let condition = Condition::IfMatch(version);
        version = put(&store, "o", &number.to_string(), condition)
            .await
            .map_err(told)?;
    }
    ensure!(get(&place.direct, "o").await? == Some(("5".to_owned(), version)));
    let requests = place.requests("PUT", "");
    ensure!(requests > 6, "no put was turned away");
    Ok(())
}

pub async fn failed_before(place: &Place<'_>) -> Tested {
    all_conditions(place, Fault::Answer(503), 2).await
}

/// The conditional ones come back as conflicts with their own success.
pub async fn failed_after(place: &Place<'_>) -> Tested {
    all_conditions(place, Fault::AnswerAfter(503), 1).await?;
    ensure!(
        place.requests("GET", "") == 2,
        "two were settled by reading back"
    );
    Ok(())
}

pub async fn cut_before_and_after(place: &Place<'_>) -> Tested {
    for fault in [Fault::Unreachable, Fault::CutBefore, Fault::CutAfter] {
        all_conditions(place, fault, 1).await?;
        place
            .direct
            .delete(vec!["o".to_owned()])
            .await
            .remove(0)
            .map_err(told)?;
    }
    Ok(())
}

/// Somebody replaces the object between our write and our look: nobody can tell that it was ours.
pub async fn another_writer_after_a_lost_answer(place: &Place<'_>) -> Tested {
    let direct = Arc::new(
        S3Store::connect(
            place
                .server
                .options("writes/another_writer_after_a_lost_answer"),
        )
        .map_err(told)?,
    );
    let other: Meanwhile = Arc::new(move || {
        let direct = Arc::clone(&direct);
        Box::pin(async move {
            let _ = put(&direct, "o", "of another", Condition::Always).await;
        })
    });
    let meant = |method: &http::Method, _: &str| method == "PUT";
    let before = put(&place.direct, "before", "x", Condition::Always)
        .await
        .map_err(told)?;
    for condition in [Condition::IfAbsent, Condition::IfMatch(before)] {
        if condition != Condition::IfAbsent {
            put(&place.direct, "o", "x", Condition::Always)
                .await
                .map_err(told)?;
        }
        place
            .faults
            .order(meant, Fault::CutAfterWith(Arc::clone(&other)), 1);
        let lost = put(&place.store, "o", "ours", condition.clone()).await;
        let error = lost
            .err()
            .with_context(|| format!("{condition:?} succeeded"))?;
        ensure!(error.code == ErrorCode::OutcomeUnknown, "{}", error.message);
        let found = get(&place.direct, "o").await?.map(|(text, _)| text);
        ensure!(found.as_deref() == Some("of another"), "{found:?}");
    }
    // Without a condition the last one wins, and that is us.
    place.faults.order(meant, Fault::CutAfterWith(other), 1);
    let version = put(&place.store, "o", "ours", Condition::Always)
        .await
        .map_err(told)?;
    ensure!(get(&place.direct, "o").await? == Some(("ours".to_owned(), version)));
    Ok(())
}

/// What was turned away had no effect: then a conflict is one, however often it was tried.
pub async fn conflicts_that_are_certain(place: &Place<'_>) -> Tested {
    let meant = |method: &http::Method, _: &str| method == "PUT";
    let current = put(&place.direct, "o", "there", Condition::Always)
        .await
        .map_err(told)?;
    for fault in [Fault::Answer(429), Fault::Answer(409), Fault::Unreachable] {
        place.faults.order(meant, fault, 2);
        let lost = put(&place.store, "o", "ours", Condition::IfAbsent).await;
        let error = lost.err().context("a conflict was overlooked")?;
        ensure!(error.code == ErrorCode::Conflict, "{}", error.message);
        ensure!(error.current == Some(current.clone()));
    }
    // A conflict stays one where what is there cannot be asked for.
    place
        .faults
        .order(|method, _| method == "HEAD", Fault::Answer(503), 9);
    let lost = put(&place.store, "o", "ours", Condition::IfAbsent).await;
    let error = lost.err().context("a conflict was overlooked")?;
    ensure!(error.code == ErrorCode::Conflict && error.current.is_none());
    Ok(())
}

/// A condition that fails after a try that may have had an effect proves nothing, also where nothing is
/// left to look at.
pub async fn gone_after_a_failed_condition(place: &Place<'_>) -> Tested {
    put(&place.direct, "o", "there", Condition::Always)
        .await
        .map_err(told)?;
    for condition in [Condition::IfAbsent, Condition::IfMatch("0".repeat(32))] {
        let meant = |method: &http::Method, _: &str| method == "PUT";
        place.faults.order(meant, Fault::Answer(503), 1);
        let gone = |method: &http::Method, _: &str| method == "GET";
        place.faults.order(gone, Fault::Answer(404), 1);
        let lost = put(&place.store, "o", "ours", condition).await;
        let error = lost.err().context("it succeeded")?;
        ensure!(error.code == ErrorCode::OutcomeUnknown, "{}", error.message);
    }
    Ok(())
}

/// Tries end; what had no effect says so, with the time to wait where it is known.
pub async fn bounds(place: &Place<'_>) -> Tested {
    for (fault, word) in [
        (Fault::Answer(503), "503"),
        (Fault::Answer(429), "429"),
        (Fault::Unreachable, "reached"),
    ] {
        place.faults.clear();
        place
            .faults
            .order(|_, path| path.contains("/o"), fault.clone(), 5);
        let lost = put(&place.store, "o", "x", Condition::IfAbsent).await;
        let error = lost.err().context("it succeeded")?;
        ensure!(error.code == ErrorCode::Unavailable, "{}", error.message);
        ensure!(error.message.contains(word), "{}", error.message);
        let puts = place.requests("PUT", "");
        ensure!(puts == 5, "{puts} puts after {word}");

        place.faults.order(|_, path| path.contains("/o"), fault, 5);
        let lost = get(&place.store, "o").await;
        ensure!(lost.is_err(), "a get succeeded against {word}");
        let gets = place.requests("GET", "");
        // One of them looked back after the put that may have had an effect.
        ensure!((5..=6).contains(&gets), "{gets} gets after {word}");
    }
    let store = place.store_with(|options| {
        options.retry = Retry {
            time_max: Duration::ZERO,
            ..Retry::default()
        };
    });
    place.faults.clear();
    place.faults.order(|_, _| true, Fault::Answer(429), 5);
    let lost = put(&store.map_err(told)?, "o", "x", Condition::Always).await;
    ensure!(lost.is_err() && place.requests("", "") + place.requests("PUT", "") == 1);
    Ok(())
}

/// Without an answer and without a look back there is nothing to say.
pub async fn bounds_of_lost_answers(place: &Place<'_>) -> Tested {
    for (fault, condition, found) in [
        // Nothing was sent, and nobody can know it.
        (Fault::CutBefore, Condition::IfAbsent, None),
        (Fault::CutBefore, Condition::Always, None),
        (Fault::CutAfter, Condition::IfAbsent, Some("ours")),
        (Fault::CutAfter, Condition::Always, Some("ours")),
    ] {
        place.faults.clear();
        place
            .faults
            .order(|method, _| method == "PUT", fault.clone(), 5);
        let outcome = put(&place.store, "o", "ours", condition.clone()).await;
        match found {
            Some(_) => drop(outcome.map_err(told)?),
            None => {
                let error = outcome.err().context("it succeeded")?;
                ensure!(error.code == ErrorCode::OutcomeUnknown, "{}", error.message);
            }
        }
        let there = get(&place.direct, "o").await?.map(|(text, _)| text);
        ensure!(there.as_deref() == found, "{condition:?}: {there:?}");
        place
            .direct
            .delete(vec!["o".to_owned()])
            .await
            .remove(0)
            .map_err(told)?;
    }
    // It is there, and cannot be seen.
    place.faults.clear();
    place
        .faults
        .order(|method, _| method == "PUT", Fault::CutAfter, 5);
    place
        .faults
        .order(|method, _| method == "GET", Fault::CutBefore, 5);
    let outcome = put(&place.store, "o", "ours", Condition::IfAbsent).await;
    let error = outcome.err().context("it succeeded")?;
    ensure!(error.code == ErrorCode::OutcomeUnknown, "{}", error.message);
    Ok(())
}

/// No increment is lost, none is doubled, while every tenth request of all is answered badly.
pub async fn eight_writers(place: &Place<'_>) -> Tested {
    put(&place.direct, "counter", "0", Condition::IfAbsent)
        .await
        .map_err(told)?;
    let count = std::sync::atomic::AtomicUsize::new(0);
    let tenth = move |_: &http::Method, _: &str| {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 10 == 9
    };
    place.faults.order(tenth, Fault::Answer(429), usize::MAX);
    let writers = (0..8).map(async |_| {
        for _ in 0..50 {
            loop {
                let (text, version) = get(&place.store, "counter").await?.context("it is gone")?;
                let next = (text.parse::<u32>()? + 1).to_string();
                match put(&place.store, "counter", &next, Condition::IfMatch(version)).await {
                    Ok(_) => break,
                    Err(error) if error.code == ErrorCode::Conflict => {}
                    Err(error) => return Err(told(error)),
                }
            }
        }
        Ok(())
    });
    for written in futures_util::future::join_all(writers).await {
        written?;
    }
    let found = get(&place.direct, "counter").await?.map(|(text, _)| text);
    ensure!(found.as_deref() == Some("400"), "{found:?}");
    Ok(())
}
