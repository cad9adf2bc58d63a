//! What is refused, with which status, and that nothing was read for it.

use anyhow::ensure;
use haversack_host::serve::{HEADERS_MAX, Secret, ServeOptions, URL_BYTES_MAX};
use haversack_host::store::ErrorCode;

use crate::client::Client;
use crate::inside::{Answers, Inside, short};
use crate::server::{SECRET, Server, filled, signed};
use crate::user;

/// Without a good signature: 401, and the store is not asked. With one it is, which shows that the count counts.
#[tokio::test]
async fn who_has_not_signed_reads_nothing() -> anyhow::Result<()> {
    let good = signed("user_1");
    let exp = good.split('&').nth(1).unwrap_or_default().to_owned();
    let others = signed("user_2");
    let sig = others.split('&').nth(2).unwrap_or_default().to_owned();
    let past = {
        let secret = Secret::new(SECRET.as_bytes()).expect("a secret");
        format!(
            "userId=user_1&exp=1000&sig={}",
            secret.sign("user_1", 1_000)
        )
    };
    let wrong = [
        String::new(),
        "userId=user_1".to_owned(),
        format!("userId=user_1&{exp}"),
        format!("userId=user_1&{exp}&sig="),
        format!("userId=user_1&{exp}&sig=%00"),
        format!("userId=user_1&{exp}&{sig}"),
        format!("{good}A"),
        format!("{good}&userId=user_2"),
        good.replace("user_1", "user_2"),
        good.replace("exp=", "exp=0"),
        good.replace("exp=", "exp=9"),
        past,
        "%zz".to_owned(),
    ];
    for has_secret in [true, false] {
        let server = Inside::start(Answers::Well, has_secret, ServeOptions::default()).await?;
        let mut client = Client::to(&server.address).await?;
        for path in ["/api/history", "/api/storage/usage", "/api/storage/export"] {
            for query in &wrong {
                let reply = client.get(&format!("{path}?{query}")).await?;
                ensure!(
                    reply.status == 401 && reply.code() == "unauthorized",
                    "{path}?{query}"
                );
                ensure!(reply.header("www-authenticate").is_some());
                ensure!(server.asked() == 0, "{path}?{query}");
            }
            let reply = client.get(&format!("{path}?{good}")).await?;
            let expected = match (has_secret, path) {
                (false, _) => 401,
                (true, "/api/history") => 200,
                (true, _) => 404,
            };
            ensure!(reply.status == expected, "{path}: {}", reply.status);
            let reads = server.asked();
            ensure!((reads > 0) == has_secret, "{path}: {reads}");
        }
        drop(client);
        ensure!(server.end().await?, "it did not stop in time");
    }
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_says_why() -> anyhow::Result<()> {
    let server = Server::start(filled(|users| user(&users, "user_1", 3))?, &[])?;
    let good = signed("user_1");
    let dashed = signed("-a");
    let long = "x".repeat(129);
    let long = signed(&long);
    let dotted = signed("..");
    let unknown = signed("user_2");
    for (path, status, code, word) in [
        (
            format!("/api/history?limit=ten&{good}"),
            400,
            "invalid",
            "limit",
        ),
        (
            format!("/api/history?limit=&{good}"),
            400,
            "invalid",
            "limit",
        ),
        (
            format!("/api/history?cursor=x&{good}"),
            400,
            "invalid",
            "cursor",
        ),
        (
            format!("/api/history?sessionKey=a..b&{good}"),
            400,
            "invalid",
            "session key",
        ),
        (
            format!("/api/history?sessionKey=&{good}"),
            400,
            "invalid",
            "session key",
        ),
        (
            format!("/api/history?sessionKey=a%2Fb&{good}"),
            400,
            "invalid",
            "session key",
        ),
        (
            format!("/api/history?session=main&{good}"),
            400,
            "invalid",
            "sessionKey",
        ),
        (
            format!("/api/storage/usage?limit=1&{good}"),
            400,
            "invalid",
            "limit",
        ),
        (format!("/api/history?{dashed}"), 400, "invalid", "user id"),
        (
            format!("/api/storage/export?{long}"),
            400,
            "invalid",
            "user id",
        ),
        (
            format!("/api/storage/usage?{dotted}"),
            400,
            "invalid",
            "user id",
        ),
        (
            format!("/api/storage/usage?{unknown}"),
            404,
            "not-found",
            "user_2",
        ),
        (
            format!("/api/storage/export?{unknown}"),
            404,
            "not-found",
            "user_2",
        ),
        ("/api".to_owned(), 404, "not-found", "/api/history"),
        ("/api/history/".to_owned(), 404, "not-found", "/health"),
    ] {
        let reply = Client::to(&server.address).await?.get(&path).await?;
        let message = reply.json()["error"]["message"].to_string();
        ensure!(
            reply.status == status && reply.code() == code,
            "{path}: {message}"
        );
        ensure!(message.contains(word), "{path}: {message} has no {word:?}");
    }
    for method in ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
        let mut client = Client::to(&server.address).await?;
        let path = format!("/api/storage/export?{good}");
        let reply = client.send(method, &path, "").await?;
        ensure!(
            reply.status == 405 && reply.header("allow") == Some("GET"),
            "{method}"
        );
    }
    for headers in ["content-length: 5\r\n", "transfer-encoding: chunked\r\n"] {
        let mut client = Client::to(&server.address).await?;
        let path = format!("/api/history?{good}");
        let reply = client.send("GET", &path, headers).await?;
        ensure!(reply.status == 413, "{headers}: {}", reply.status);
    }
    Ok(())
}

#[tokio::test]
async fn heads_have_bounds() -> anyhow::Result<()> {
    let server = Server::start(filled(|users| user(&users, "user_1", 3))?, &[])?;
    for (bytes, status) in [(URL_BYTES_MAX, 200), (URL_BYTES_MAX + 1, 414)] {
        let path = "/health?".to_owned();
        let path = format!("{path}{}", "x".repeat(bytes - path.len()));
        let reply = Client::to(&server.address).await?.get(&path).await?;
        ensure!(reply.status == status, "{bytes}: {}", reply.status);
    }
    // With `host`.
    for (headers, status) in [(HEADERS_MAX - 1, 200), (HEADERS_MAX, 431)] {
        let headers: String = (0..headers).map(|n| format!("x-{n}: y\r\n")).collect();
        let mut client = Client::to(&server.address).await?;
        let reply = client.send("GET", "/health", &headers).await?;
        ensure!(reply.status == status, "{}", reply.status);
    }
    let header = |bytes: usize| format!("x: {}\r\n", "y".repeat(bytes));
    for (bytes, status) in [(8 << 10, 200), (16 << 10, 431)] {
        let mut client = Client::to(&server.address).await?;
        let reply = client.send("GET", "/health", &header(bytes)).await?;
        ensure!(reply.status == status, "{bytes}: {}", reply.status);
    }
    Ok(())
}

/// What goes wrong in the store has its status, and none of its words.
#[tokio::test]
async fn stores_that_fail() -> anyhow::Result<()> {
    for (answers, status, code) in [
        (Answers::Never, 504, "timeout"),
        (Answers::With(ErrorCode::Unavailable), 503, "unavailable"),
        (Answers::With(ErrorCode::Denied), 500, "internal"),
        (Answers::With(ErrorCode::Other), 500, "internal"),
    ] {
        // Only who waits in vain has little time, so that a busy machine is no failure.
        let options = match status {
            504 => short(),
            _ => ServeOptions::default(),
        };
        let server = Inside::start(answers, true, options).await?;
        for path in ["/api/history", "/api/storage/usage", "/api/storage/export"] {
            let path = format!("{path}?{}", signed("user_1"));
            let reply = Client::to(&server.address).await?.get(&path).await?;
            let body = reply.json();
            ensure!(
                reply.status == status && reply.code() == code,
                "{path}: {body}"
            );
            ensure!(!body.to_string().contains("words of the store"), "{body}");
            let retry = reply.header("retry-after").is_some();
            ensure!(retry == (status == 503), "{path}: {retry}");
        }
        ensure!(server.end().await?);
    }
    Ok(())
}

#[tokio::test]
async fn so_much_at_once_and_no_more() -> anyhow::Result<()> {
    let requests = |requests_at_once, exports_at_once| ServeOptions {
        requests_at_once,
        exports_at_once,
        ..ServeOptions::default()
    };
    for (options, history, export) in [
        (requests(1, 1), 200, 404),
        (requests(1, 0), 200, 503),
        (requests(0, 1), 503, 503),
    ] {
        let server = Inside::start(Answers::Well, true, options).await?;
        let mut client = Client::to(&server.address).await?;
        for (path, status) in [("/api/history", history), ("/api/storage/export", export)] {
            let reply = client.get(&format!("{path}?{}", signed("user_1"))).await?;
            ensure!(reply.status == status, "{path}: {}", reply.status);
            ensure!(reply.header("retry-after").is_some() == (status == 503));
        }
        ensure!(client.get("/health").await?.status == 200);
        drop(client);
        ensure!(server.end().await?);
    }
    // A connection too many waits for its turn.
    let options = ServeOptions {
        connections_max: 1,
        ..ServeOptions::default()
    };
    let server = Inside::start(Answers::Well, true, options).await?;
    let mut first = Client::to(&server.address).await?;
    ensure!(first.get("/health").await?.status == 200);
    let mut second = Client::to(&server.address).await?;
    second.ask("GET", "/health", "").await?;
    ensure!(first.get("/health").await?.status == 200);
    let early = std::time::Duration::from_millis(50);
    ensure!(
        tokio::time::timeout(early, second.head()).await.is_err(),
        "it was taken at once"
    );
    drop(first);
    ensure!(second.head().await?.0 == 200);
    drop(second);
    ensure!(server.end().await?);
    Ok(())
}

/// What does not end is cut off, and said to be.
#[tokio::test]
async fn it_does_not_wait_for_ever() -> anyhow::Result<()> {
    let options = ServeOptions {
        stop_time: std::time::Duration::from_millis(50),
        ..ServeOptions::default()
    };
    let server = Inside::start(Answers::Never, true, options).await?;
    let mut client = Client::to(&server.address).await?;
    let path = format!("/api/storage/usage?{}", signed("user_1"));
    client.ask("GET", &path, "").await?;
    while server.asked() == 0 {
        tokio::task::yield_now().await;
    }
    ensure!(!server.end().await?);
    Ok(())
}
