//! What a bucket far away costs: real R2 (miniflare) with 30 ms added to every request. Round trips and bytes
//! decide, so they are counted and printed beside the times; each figure stands next to the one that it is
//! to be compared with, from the same run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haversack_core::format::entries::JsonLines;
use haversack_core::layout::log::LogKeys;
use haversack_core::layout::moltbot::{SessionKey, UserId};
use haversack_core::protocol::log::{Log, NewEntry, ReadOptions};
use haversack_core::store::Metered;
use haversack_host::store::check::plain;
use haversack_host::store::s3::S3Options;
use haversack_host::store::s3::faults::{Fault, Faults};
use haversack_host::store::{BlobStore, Body, Condition, MemoryStore, S3Store};
use haversack_host::transfer::{CopyOptions, copy};
use haversack_host::{Engine, EngineOptions};
use haversack_tests::bridge::Bridge;
use haversack_tests::server::Server;
use serde_json::json;

const LATENCY: Duration = Duration::from_millis(30);

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome {
    let Ok(server) = Server::start() else {
        println!("skipped: miniflare needs node and npm");
        return Ok(());
    };
    prompt(&server).await?;
    copies(&server).await?;
    tokio::task::block_in_place(|| log(&server))
}

/// A store in the bucket, every request of which takes so much longer.
fn far(server: &Server, requests_at_once: usize, latency: Duration) -> Outcome<(S3Store, Faults)> {
    let faults = Faults::default();
    faults.order(|_, _| true, Fault::Slow(latency), usize::MAX);
    let options = S3Options {
        requests_at_once,
        ..server.faulty_options("bench", &faults)
    };
    Ok((connect(options)?, faults))
}

fn connect(options: S3Options) -> Outcome<S3Store> {
    S3Store::connect(options).map_err(|error| error.message.into())
}

/// Nine files of 4 KiB and fifty skills: two round trips, whatever their number.
async fn prompt(server: &Server) -> Outcome {
    let near = connect(server.options("bench"))?;
    let line = "- Something worth knowing about the house, the garden, or the people in it.\n";
    let text = line.repeat(4_096 / line.len());
    let mut objects = Vec::new();
    for name in [
        "SOUL.md",
        "IDENTITY.md",
        "USER.md",
        "AGENTS.md",
        "MEMORY.md",
        "TOOLS.md",
        "HEARTBEAT.md",
        "memory/2026-02-19.md",
        "memory/2026-02-20.md",
    ] {
        objects.push((format!("agents/hera/{name}"), text.clone()));
    }
    for number in 0..50 {
        let key = format!("agents/hera/skills/skill-{number:02}/SKILL.md");
        let front = format!("---\nname: skill-{number}\ndescription: Does the thing.\n---\n");
        objects.push((key, front + &text));
    }
    for (key, text) in objects {
        let put = near
            .put(key, Body::Text(text), plain(Condition::Always))
            .await;
        put.map_err(|error| error.message)?;
    }
    let engine = Engine::new(EngineOptions::default())?;
    let request = json!({ "request": {
        "home": { "system": "gsv", "id": "hera" },
        "session-key": "agent:hera:main",
        "now-ms": 1_771_579_800_000_u64,
        "utc-offset-minutes": 0,
        "runtime": {},
        "environment": {},
    }});
    println!("prompt of 9 files and 50 skills, 30 ms a request:");
    // What the server itself takes stands third: all of it runs on this machine, one request after the other.
    for (name, requests_at_once, latency) in [
        ("64 requests at once", 64, LATENCY),
        ("one after another", 1, LATENCY),
        ("64, nothing added", 64, Duration::ZERO),
    ] {
        let (store, faults) = far(server, requests_at_once, latency)?;
        let store: Arc<dyn BlobStore> = Arc::new(store);
        let call = || engine.call_json(store.clone(), "prompt", "assemble", &request);
        // The first calls open the connections, and the server compiles what it runs often.
        for _ in 0..WARM_UP {
            call().await?;
        }
        let before = faults.requests().len();
        let mut times = Vec::new();
        let mut waves = json!(null);
        for _ in 0..5 {
            let start = Instant::now();
            let answer = call().await?;
            times.push(start.elapsed());
            waves = answer["ok"]["cost"]["waves"].clone();
        }
        times.sort();
        println!(
            "  {name:<20} {:>6} ms (median of 5), {waves} waves, {} requests",
            times[2].as_millis(),
            (faults.requests().len() - before) / 5
        );
    }
    Ok(())
}

/// Calls before the ones that count.
const WARM_UP: usize = 10;

/// Two thousand small objects, copied into the bucket: bound by how many run at once.
async fn copies(server: &Server) -> Outcome {
    const OBJECTS: usize = 2_000;
    let from = MemoryStore::new(true);
    for number in 0..OBJECTS {
        let put = from.put(
            format!("copied/{number:04}.md"),
            Body::Text(format!("object {number}\n")),
            plain(Condition::Always),
        );
        put.await.map_err(|error| error.message)?;
    }
    let (to, faults) = far(server, 64, LATENCY)?;
    let options = CopyOptions {
        prefix: None,
        only: None,
        replace: false,
        dry_run: false,
        objects_at_once: 64,
    };
    let start = Instant::now();
    let summary = copy(&from, &to, &options, &|_| ())
        .await
        .map_err(|error| error.message)?;
    let took = start.elapsed();
    let requests = faults.requests().len();
    let one_by_one = LATENCY * u32::try_from(requests)?;
    println!("store copy of {OBJECTS} small objects, 30 ms a request:");
    println!(
        "  {:.1} s for {} copied and read back in {requests} requests, up to {} at once; one after another \
         at least {:.1} s",
        took.as_secs_f64(),
        summary.copied.objects,
        faults.in_flight_max(),
        one_by_one.as_secs_f64()
    );
    Ok(())
}

/// Ten thousand messages of 300 bytes, appended one by one: what goes over the wire, and what the end costs.
fn log(server: &Server) -> Outcome {
    const MESSAGES: usize = 10_000;
    const BYTES: usize = 300;
    let faults = Faults::default();
    let store = connect(server.faulty_options("bench", &faults))?;
    let bridge = Bridge::plain(&store);
    let metered = Metered::new(&bridge);
    let keys = LogKeys::messages(&UserId::parse("user_1")?, &SessionKey::parse("main")?);
    let log = Log {
        store: &metered,
        keys: &keys,
        format: &JsonLines,
    };
    let start = Instant::now();
    for number in 0..MESSAGES {
        let id = format!("m{number}");
        let begin = format!("{{\"id\":\"{id}\",\"text\":\"");
        let filling = "x".repeat(BYTES - begin.len() - 3);
        let bytes = format!("{begin}{filling}\"}}\n").into_bytes();
        log.append(&[NewEntry { id, bytes }], 1_700_000_000_000 + number as u64)?;
    }
    let (took, sent) = (start.elapsed(), faults.bytes_sent());
    let before = metered.cost();
    let page = log.read(&ReadOptions {
        entries_max: 100,
        bytes_max: 1 << 20,
        before: None,
    })?;
    let after = metered.cost();
    println!("{MESSAGES} messages of {BYTES} bytes, appended one by one:");
    println!(
        "  {:.2} × their bytes sent, {} requests, {:.1} s; the last {} read in {} waves and {} KiB",
        sent as f64 / (MESSAGES * BYTES) as f64,
        faults.requests().len(),
        took.as_secs_f64(),
        page.entries.len(),
        after.waves - before.waves,
        (after.bytes_read - before.bytes_read) >> 10
    );
    Ok(())
}
