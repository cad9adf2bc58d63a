//! Sessions far larger than an instance: every call of a session's life fits into 64 MiB of linear memory, and
//! what it reads does not grow with the session.

use std::sync::Arc;
use std::time::Duration;

use haversack_host::store::{BlobStore, DiskStore, MemoryStore};
use haversack_host::{Engine, EngineOptions};
use haversack_tests::long_session::{self, NOW_MS};
use serde_json::{Value, json};

/// What invariant 7 promises.
const MEMORY_BYTES_MAX: usize = 64 << 20;
/// Later than every message.
const LATER_MS: u64 = NOW_MS + 1_000_000_000;

struct Host {
    runtime: tokio::runtime::Runtime,
    engine: Engine,
    store: Arc<dyn BlobStore>,
}

impl Host {
    fn of(runtime: tokio::runtime::Runtime, store: Arc<dyn BlobStore>) -> Self {
        let options = EngineOptions {
            memory_bytes_max: MEMORY_BYTES_MAX,
            // Not what is tested here: the tests' own profile hashes slowly.
            deadline: Duration::from_secs(3_600),
            ..EngineOptions::default()
        };
        let engine = Engine::new(options).expect("an engine");
        Self {
            runtime,
            engine,
            store,
        }
    }

    /// What a call answers; a call that needs more memory than it may have does not.
    fn call(&self, function: &str, arguments: &Value) -> Value {
        let (interface, name) = function.split_once('.').expect("interface.function");
        let store = self.store.clone();
        let called = self.engine.call_json(store, interface, name, arguments);
        let answer = self.runtime.block_on(called).expect(function);
        assert!(answer["error"].is_null(), "{function}: {answer}");
        answer["ok"].clone()
    }

    fn session(&self, function: &str, more: Value) -> Value {
        let mut request = json!(long_session::session());
        let members = more.as_object().expect("members").clone();
        request.as_object_mut().expect("members").extend(members);
        self.call(
            &format!("sessions.{function}"),
            &json!({ "request": request }),
        )
    }

    fn append(&self, request_id: &str) -> Value {
        let message = json!({ "role": "user", "content": "And now?" }).to_string();
        let more = json!({
            "request-id": request_id,
            "seed": "0123456789abcdef",
            "now-ms": LATER_MS,
            "messages": [message],
        });
        self.session("append", more)
    }

    fn begin(&self, with_model: bool) -> Value {
        let conditions = json!({
            "session": long_session::session(),
            "window-tokens": 200_000,
            "system-tokens": 0,
        });
        let request = json!({
            "conditions": conditions,
            "force": true,
            "with-model": with_model,
            "now-ms": LATER_MS,
            "utc-offset-minutes": 0,
        });
        self.call("compaction.begin", &json!({ "request": request }))
    }

    fn commit(&self, state: &Value) -> Value {
        let request = json!({
            "session": long_session::session(),
            "state": state,
            "request-id": "compact",
            "now-ms": LATER_MS,
        });
        self.until("compaction.commit", &request, |answer| {
            !answer["committed"].is_null()
        })
    }

    fn reset_begin(&self, request_id: &str) -> Value {
        let mut request = json!(long_session::session());
        request["request-id"] = json!(request_id);
        request["seed"] = json!("fedcba9876543210");
        request["now-ms"] = json!(LATER_MS);
        request["utc-offset-minutes"] = json!(0);
        request["keep-media"] = json!([]);
        self.until("sessions.reset-begin", &request, |answer| {
            answer["step"] != "again"
        })
    }

    /// Repeat a call that goes on where it stopped.
    fn until(&self, function: &str, request: &Value, is_done: impl Fn(&Value) -> bool) -> Value {
        loop {
            let answer = self.call(function, &json!({ "request": request }));
            if is_done(&answer) {
                return answer;
            }
        }
    }
}

/// From an append to the transcript, in a session of so many bytes.
fn a_whole_life(bytes: u64) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let messages = long_session::on_disk(folder.path(), bytes, 7_000).expect("a session");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let disk = DiskStore::open(folder.path()).expect("a store");
    let host = Host::of(runtime, Arc::new(disk));
    let cost = |answer: &Value, what: &str| answer["cost"][what].as_u64().expect("a cost");

    let appended = host.append("more-1");
    assert!(cost(&appended, "bytes-written") < 4_096, "{appended}");
    assert!(cost(&appended, "bytes-read") < 8 << 20, "{appended}");
    let last = host.session("history", json!({ "count": 100 }));
    assert_eq!(last["messages"].as_array().expect("messages").len(), 100);
    let read = cost(&last, "bytes-read");
    assert!(read < 1 << 20, "{read} bytes read for the last 100");
    // The largest page there is.
    host.session("history", json!({ "count": 1_000 }));

    assert!(host.begin(true)["next"]["ask"].is_object());
    let begun = host.begin(false);
    let removed = begun["next"]["ready"]["messages"].as_u64().expect("ready");
    assert!(removed as usize > messages / 2, "{removed} of {messages}");
    let committed = host.commit(&begun["state"]);
    assert_eq!(committed["committed"]["removed-messages"], removed);

    let after = host.reset_begin("reset-1");
    assert_eq!(after["messages"], messages as u64 + 2 - removed);
    let done = host.session("reset-commit", json!({ "request-id": "reset-1" }));
    assert_eq!(done["step"], "done");
    let session_id = done["archived-session-id"].clone();
    let mut pages =
        json!({ "home": long_session::session().home, "session-id": session_id, "parts": true });
    let first = host.call("sessions.transcript", &json!({ "request": pages }));
    assert!(first["next"].is_string());
    // Inside the archive, behind the whole part.
    pages["cursor"] = json!(format!("{}.1.0.0.0.0", u64::MAX));
    let last = host.call("sessions.transcript", &json!({ "request": pages }));
    let newest = last["messages"]
        .as_array()
        .expect("messages")
        .last()
        .cloned();
    assert!(
        newest.expect("a message")["json"]
            .as_str()
            .expect("json")
            .contains("And now?")
    );
}

#[test]
fn a_session_as_large_as_the_memory_fits() {
    a_whole_life(64 << 20);
}

#[test]
#[ignore = "writes 2 GiB and takes a minute: cargo test --release -p haversack-host --test instance_memory -- --ignored"]
fn a_session_of_1_gib_fits() {
    a_whole_life(1 << 30);
}

/// One that was never compacted goes into its archive whole, call by call.
#[test]
fn a_reset_archives_more_than_the_memory() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let messages = long_session::on_disk(folder.path(), 80 << 20, 7_000).expect("a session");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let disk = DiskStore::open(folder.path()).expect("a store");
    let host = Host::of(runtime, Arc::new(disk));
    let archived = host.reset_begin("reset-1");
    assert_eq!(archived["messages"], messages as u64);
}

/// What a compaction keeps in memory is counted by messages, most of them with calls.
fn a_compaction_of(count: usize) {
    let store: MemoryStore = long_session::in_memory(count, 100, true).expect("a session");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let host = Host::of(runtime, Arc::new(store));
    let begun = host.begin(false);
    let removed = begun["next"]["ready"]["messages"].as_u64().expect("ready");
    assert!(removed as usize > count / 2, "{removed}");
}

#[test]
fn a_compaction_looks_at_as_many_messages_as_it_may() {
    a_compaction_of(haversack_core::limits::COMPACTION_MESSAGES_MAX);
}
