//! The engine's own promises: a deadline that ends a slow store and a busy guest, a memory limit, compiled
//! code that is kept, and an instance a call.

use std::sync::Arc;
use std::time::Duration;

use haversack_host::store::{
    Answer, BlobStore, Body, BoxFuture, Error, MemoryStore, PutOptions, Request, Source,
};
use haversack_host::{CallError, Engine, EngineOptions};
use serde_json::{Value, json};

/// A store that never answers a read.
struct Silent;

impl BlobStore for Silent {
    fn describe(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn read(&self, _: Vec<Request>) -> BoxFuture<'_, Vec<Result<Answer, Error>>> {
        Box::pin(std::future::pending())
    }

    fn put(&self, _: String, _: Body, _: PutOptions) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(std::future::pending())
    }

    fn append(&self, _: String, _: Body, _: u64) -> BoxFuture<'_, Result<u64, Error>> {
        Box::pin(std::future::pending())
    }

    fn concat(
        &self,
        _: Vec<Source>,
        _: String,
        _: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(std::future::pending())
    }

    fn delete(&self, _: Vec<String>) -> BoxFuture<'_, Vec<Result<(), Error>>> {
        Box::pin(std::future::pending())
    }
}

fn engine(options: EngineOptions) -> Engine {
    Engine::new(options).expect("an engine")
}

fn short() -> EngineOptions {
    EngineOptions {
        deadline: Duration::from_millis(50),
        ..EngineOptions::default()
    }
}

/// A prompt with a section of `bytes`, so that the guest has something to do or to hold.
fn prompt(bytes: usize) -> Value {
    json!({ "request": {
        "home": { "system": "gsv", "id": "a" },
        "session-key": "agent:a:main",
        "now-ms": 0,
        "utc-offset-minutes": 0,
        "sections": [{ "text": "x".repeat(bytes) }],
    }})
}

fn call_error(called: anyhow::Result<Value>) -> CallError {
    called
        .expect_err("the call must not come to an answer")
        .downcast()
        .expect("a CallError")
}

#[tokio::test]
async fn the_deadline_ends_a_call_whose_store_is_silent() {
    let error = call_error(
        engine(short())
            .call_json(Arc::new(Silent), "prompt", "assemble", &prompt(1))
            .await,
    );
    assert!(
        matches!(error, CallError::Deadline(deadline) if deadline == Duration::from_millis(50)),
        "{error}"
    );
}

/// Hashing and counting 200 MiB takes far longer than the deadline, and never waits for the store.
#[tokio::test]
async fn the_deadline_ends_a_guest_that_is_busy() {
    let options = EngineOptions {
        memory_bytes_max: 2 << 30,
        ..short()
    };
    let store = Arc::new(MemoryStore::new(false));
    let error = call_error(
        engine(options)
            .call_json(store, "prompt", "assemble", &prompt(200 << 20))
            .await,
    );
    assert!(matches!(error, CallError::Deadline(_)), "{error}");
}

#[tokio::test]
async fn the_memory_limit_is_told_from_a_bug_and_spares_the_next_call() {
    let engine = engine(EngineOptions {
        memory_bytes_max: 8 << 20,
        ..EngineOptions::default()
    });
    let store = Arc::new(MemoryStore::new(false));
    let error = call_error(
        engine
            .call_json(store.clone(), "prompt", "assemble", &prompt(8 << 20))
            .await,
    );
    assert!(
        matches!(error, CallError::Memory(limit) if limit == 8 << 20),
        "{error}"
    );
    let answer = engine
        .call_json(store, "prompt", "assemble", &prompt(1))
        .await
        .expect("an answer");
    assert_eq!(answer["ok"]["home-exists"], false);
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_named() {
    let engine = engine(EngineOptions::default());
    let store = Arc::new(MemoryStore::new(false));
    for (function, arguments, named) in [
        (
            "assemble",
            json!({ "request": { "home": {} } }),
            "arguments.request.home.system: expected a string",
        ),
        (
            "assemble",
            json!({ "request": { "nmo": 1 } }),
            "there is no member \"nmo\"",
        ),
        (
            "assemble",
            json!([]),
            "arguments: expected an object, found a list of 0",
        ),
        ("nothing", json!({}), "no function prompt.nothing"),
    ] {
        let error = call_error(
            engine
                .call_json(store.clone(), "prompt", function, &arguments)
                .await,
        );
        assert!(error.to_string().contains(named), "{error}");
    }
}

/// The second start loads what the first compiled; a damaged file is compiled anew.
#[test]
fn compiled_code_is_kept_and_a_damaged_file_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join("cache");
    let start = || {
        engine(EngineOptions {
            cache: Some(cache.clone()),
            ..EngineOptions::default()
        })
    };
    let kept = || {
        let file = cache
            .read_dir()
            .expect("the cache")
            .flatten()
            .next()
            .expect("one file")
            .path();
        let modified = file
            .metadata()
            .and_then(|meta| meta.modified())
            .expect("a time");
        (file, modified)
    };
    start();
    let first = kept();
    start();
    assert_eq!(kept(), first, "the second start compiled again");
    // As a lost page leaves it: the right length, zeroes in the middle.
    let mut holed = std::fs::read(&first.0).expect("a file");
    let middle = holed.len() / 2;
    holed[middle..middle + 65_536].fill(0);
    std::fs::write(&first.0, &holed).expect("written");
    start();
    assert_ne!(
        std::fs::read(&first.0).expect("a file"),
        holed,
        "the holed file is still there"
    );
    std::fs::write(&first.0, b"damaged").expect("written");
    start();
    assert!(
        std::fs::read(&first.0).expect("a file").len() > 1_000,
        "the damaged file is still there"
    );
}

/// Code that somebody else could have written is not run.
#[cfg(unix)]
#[test]
fn a_cache_that_others_may_write_is_not_trusted() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join("cache");
    let start = || {
        engine(EngineOptions {
            cache: Some(cache.clone()),
            ..EngineOptions::default()
        })
    };
    start();
    let file = cache
        .read_dir()
        .expect("the cache")
        .flatten()
        .next()
        .expect("one file")
        .path();
    let modified = || {
        file.metadata()
            .and_then(|meta| meta.modified())
            .expect("a time")
    };
    // Either would let somebody else put code there.
    for (path, mode) in [(&file, 0o666), (&cache, 0o777)] {
        let before = modified();
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("set");
        start();
        assert_ne!(before, modified(), "{} has mode {mode:o}", path.display());
    }
}
