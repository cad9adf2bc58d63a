//! The server inside the test's own process, over a store that counts what it is asked, and may not answer well.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use haversack_host::serve::{Secret, ServeOptions, serve};
use haversack_host::store::{
    Answer, BlobStore, Body, BoxFuture, Error, ErrorCode, MemoryStore, PutOptions, Request, Source,
    check,
};
use haversack_host::{Engine, EngineOptions};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::server::SECRET;

/// How a store answers.
#[derive(Clone, Copy)]
pub enum Answers {
    Well,
    Never,
    With(ErrorCode),
}

struct Odd {
    inner: MemoryStore,
    answers: Answers,
    asked: Arc<AtomicU64>,
}

impl BlobStore for Odd {
    fn describe(&self) -> Vec<(String, String)> {
        self.inner.describe()
    }

    fn read(&self, wave: Vec<Request>) -> BoxFuture<'_, Vec<Result<Answer, Error>>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        match self.answers {
            Answers::Well => self.inner.read(wave),
            Answers::Never => Box::pin(std::future::pending()),
            Answers::With(code) => {
                let error = check::error(code, "words of the store");
                Box::pin(std::future::ready(vec![Err(error); wave.len()]))
            }
        }
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

pub struct Inside {
    pub address: String,
    asked: Arc<AtomicU64>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<bool>,
}

impl Inside {
    pub async fn start(
        answers: Answers,
        has_secret: bool,
        options: ServeOptions,
    ) -> anyhow::Result<Self> {
        let asked = Arc::new(AtomicU64::new(0));
        let store = Arc::new(Odd {
            inner: MemoryStore::new(true),
            answers,
            asked: asked.clone(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let engine = Engine::new(EngineOptions {
            deadline: options.deadline,
            ..EngineOptions::default()
        })?;
        let secret = has_secret.then(|| Secret::new(SECRET.as_bytes()).expect("a secret"));
        let (stop, stopped) = oneshot::channel();
        let server = tokio::spawn(serve(listener, engine, store, secret, options, async {
            let _ = stopped.await;
        }));
        Ok(Inside {
            address,
            asked,
            stop,
            server,
        })
    }

    /// How often the store was asked since the last look.
    pub fn asked(&self) -> u64 {
        self.asked.swap(0, Ordering::Relaxed)
    }

    /// Whether all that was under way ended.
    pub async fn end(self) -> anyhow::Result<bool> {
        let _ = self.stop.send(());
        Ok(self.server.await?)
    }
}

/// Time enough for what answers, little for what does not.
pub fn short() -> ServeOptions {
    ServeOptions {
        deadline: Duration::from_millis(500),
        ..ServeOptions::default()
    }
}
