//! What is refused, with which status, and that nothing was read for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::ensure;
use haversack_host::serve::{HEADERS_MAX, Secret, ServeOptions, URL_BYTES_MAX, serve};
use haversack_host::store::{
    Answer, BlobStore, Body, BoxFuture, Error, MemoryStore, PutOptions, Request, Source,
};
use haversack_host::{Engine, EngineOptions};
use tokio::net::TcpListener;

use crate::client::Client;
use crate::server::{SECRET, Server, filled, signed};
use crate::user;

/// Counts what is asked of it.
struct Counting {
    inner: MemoryStore,
    asked: Arc<AtomicU64>,
}

impl BlobStore for Counting {
    fn describe(&self) -> Vec<(String, String)> {
        self.inner.describe()
    }

    fn read(&self, wave: Vec<Request>) -> BoxFuture<'_, Vec<Result<Answer, Error>>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.inner.read(wave)
    }

    fn put(
        &self,
        key: String,
        body: Body,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>> {
        self.inner.put(key, body, options)
    }

    fn append(&self, key: String, body: Body, at_bytes: u64) -> BoxFuture<'_, Result<u64, Error>> {
        self.inner.append(key, body, at_bytes)
    }

    fn concat(
        &self,
        sources: Vec<Source>,
        to: String,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>> {
        self.inner.concat(sources, to, options)
    }

    fn delete(&self, keys: Vec<String>) -> BoxFuture<'_, Vec<Result<(), Error>>> {
        self.inner.delete(keys)
    }
}

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
        let asked = Arc::new(AtomicU64::new(0));
        let store = Arc::new(Counting {
            inner: MemoryStore::new(true),
            asked: asked.clone(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let engine = Engine::new(EngineOptions::default())?;
        let secret = has_secret.then(|| Secret::new(SECRET.as_bytes()).expect("a secret"));
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let options = ServeOptions::default();
        let server = tokio::spawn(serve(listener, engine, store, secret, options, async {
            let _ = stopped.await;
        }));
        let mut client = Client::to(&address).await?;
        for path in ["/api/history", "/api/storage/usage", "/api/storage/export"] {
            for query in &wrong {
                let reply = client.get(&format!("{path}?{query}")).await?;
                ensure!(
                    reply.status == 401 && reply.code() == "unauthorized",
                    "{path}?{query}"
                );
                ensure!(reply.header("www-authenticate").is_some());
                ensure!(asked.load(Ordering::Relaxed) == 0, "{path}?{query}");
            }
            let reply = client.get(&format!("{path}?{good}")).await?;
            let expected = match (has_secret, path) {
                (false, _) => 401,
                (true, "/api/history") => 200,
                (true, _) => 404,
            };
            ensure!(reply.status == expected, "{path}: {}", reply.status);
            let reads = asked.swap(0, Ordering::Relaxed);
            ensure!((reads > 0) == has_secret, "{path}: {reads}");
        }
        drop(client);
        let _ = stop.send(());
        ensure!(server.await?, "it did not stop in time");
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
