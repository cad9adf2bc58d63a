//! What long sessions cost: archives and compactions beside native code over the same store in the same run,
//! and the memory of an instance for a session of 1 GiB. Prints ratios of pairs, because machines are noisy
//! and ratios less so. `HAVERSACK_BENCH_MIB` is the size of the large session; 0 leaves it out.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use haversack_core::format::gzip::Checksum;
use haversack_core::limits::ARCHIVE_DEFLATE_LEVEL;
use haversack_core::ops::{compaction as core_compaction, sessions as core_sessions};
use haversack_host::bindings::Haversack;
use haversack_host::bindings::exported::{compaction, sessions, types};
use haversack_host::store::{BlobStore, DiskStore, MemoryStore};
use haversack_host::{Context, Engine, EngineOptions};
use haversack_tests::bridge::Bridge;
use haversack_tests::long_session::{self, NOW_MS};
use miniz_oxide::deflate::compress_to_vec;

/// Later than every message.
const LATER_MS: u64 = NOW_MS + 1_000_000_000;
const SEED: &str = "fedcba9876543210";
/// What miniz_oxide compresses at unless it is told otherwise.
const DEFAULT_DEFLATE_LEVEL: u8 = 6;
const MODEL_WINDOW: u64 = 200_000;

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()?;
    let options = EngineOptions {
        deadline: Duration::from_secs(3_600),
        ..EngineOptions::default()
    };
    let bench = Bench {
        runtime,
        engine: Engine::new(options)?,
    };
    let only = std::env::args().nth(1).unwrap_or_default();
    let wanted = |name: &str| only.is_empty() || only.starts_with('-') || only == name;
    if wanted("archive") {
        bench.archive()?;
    }
    if wanted("compaction") {
        bench.compaction()?;
    }
    if wanted("memory") {
        bench.memory()?;
    }
    Ok(())
}

struct Bench {
    runtime: tokio::runtime::Runtime,
    engine: Engine,
}

/// What a call took.
struct Taken<T> {
    answer: T,
    time: Duration,
    memory_bytes: usize,
}

impl Bench {
    /// One call into a fresh instance.
    fn call<T>(
        &self,
        store: Arc<dyn BlobStore>,
        call: impl AsyncFnOnce(
            &mut wasmtime::Store<Context>,
            &Haversack,
        ) -> wasmtime::Result<Result<T, types::Error>>,
    ) -> anyhow::Result<Taken<T>> {
        let start = Instant::now();
        let called = self.engine.call(store, async |store, bindings| {
            let answer = call(store, bindings).await?;
            Ok((answer, store.data().memory_bytes()))
        });
        let (answer, memory_bytes) = self.runtime.block_on(called)?;
        Ok(Taken {
            time: start.elapsed(),
            answer: answer.map_err(|error| anyhow::anyhow!(error.message))?,
            memory_bytes,
        })
    }

    fn reset(&self, store: &Arc<dyn BlobStore>) -> anyhow::Result<Taken<sessions::ResetAnswer>> {
        let request = sessions::ResetBeginRequest {
            home: home(),
            session_key: long_session::session().session_key,
            request_id: "reset".into(),
            seed: SEED.into(),
            now_ms: LATER_MS,
            utc_offset_minutes: 0,
            session_id: None,
            keep_media: Vec::new(),
            window_tokens: None,
        };
        self.call(store.clone(), async |store, bindings| {
            let sessions = bindings.haversack_core_sessions();
            sessions.call_reset_begin(store, &request).await
        })
    }

    fn begin(
        &self,
        store: &Arc<dyn BlobStore>,
        with_model: bool,
    ) -> anyhow::Result<Taken<compaction::Step>> {
        let request = compaction::BeginRequest {
            conditions: compaction::Conditions {
                session: session(),
                window_tokens: MODEL_WINDOW,
                system_tokens: 0,
                settings: None,
            },
            force: true,
            with_model,
            now_ms: LATER_MS,
            utc_offset_minutes: 0,
        };
        self.call(store.clone(), async |store, bindings| {
            let compaction = bindings.haversack_core_compaction();
            compaction.call_begin(store, &request).await
        })
    }

    /// Ten MiB of messages, archived in one call, beside one deflate of the same bytes.
    fn archive(&self) -> anyhow::Result<()> {
        const MESSAGES: usize = 5_200;
        const MEAN_BYTES: usize = 2_048;
        for appends in [false, true] {
            let objects = long_session::in_memory(MESSAGES, MEAN_BYTES, appends)?.objects();
            let fresh = || MemoryStore::from_objects(appends, objects.clone());
            let raw: String = (0..MESSAGES)
                .map(|number| long_session::message(number, MEAN_BYTES) + "\n")
                .collect();
            let (mut over_deflate, mut over_default) = (Vec::new(), Vec::new());
            let mut over_core = Vec::new();
            let mut times = [Vec::new(), Vec::new(), Vec::new()];
            let mut sizes = (0, 0);
            for _ in 0..9 {
                let store: Arc<dyn BlobStore> = Arc::new(fresh());
                let component = self.reset(&store)?;
                anyhow::ensure!(component.answer.step == sessions::ResetStep::Commit);
                let key = component.answer.archive.context("an archive")?;

                let start = Instant::now();
                let packed = compress_to_vec(raw.as_bytes(), ARCHIVE_DEFLATE_LEVEL);
                black_box(Checksum::of(raw.as_bytes()));
                let deflate = start.elapsed();
                let start = Instant::now();
                black_box(compress_to_vec(raw.as_bytes(), DEFAULT_DEFLATE_LEVEL));
                black_box(Checksum::of(raw.as_bytes()));
                over_default.push(ratio(component.time, start.elapsed()));

                let native = fresh();
                let start = Instant::now();
                let answer = core_sessions::reset_begin(&Bridge::plain(&native), &core_reset())?;
                let core = start.elapsed();
                anyhow::ensure!(answer.archive.as_ref() == Some(&key));
                sizes = (native.objects()[&key].bytes.len(), packed.len());
                over_deflate.push(ratio(component.time, deflate));
                over_core.push(ratio(component.time, core));
                times[0].push(component.time);
                times[1].push(deflate);
                times[2].push(core);
            }
            let [component, deflate, core] = times.map(median_time);
            println!(
                "archive of {:.1} MiB, {}: component {component} ms, deflate alone {deflate} ms, native core {core} \
                 ms; {} KiB, {} KiB",
                raw.len() as f64 / (1 << 20) as f64,
                kind(appends),
                sizes.0 >> 10,
                sizes.1 >> 10
            );
            println!(
                "  component / deflate alone {:.2}, at miniz_oxide's default level {:.2}; component / native core {:.2}",
                median(over_deflate),
                median(over_default),
                median(over_core)
            );
        }
        Ok(())
    }

    /// The begin of a compaction, which reads the whole conversation.
    fn compaction(&self) -> anyhow::Result<()> {
        const MEAN_BYTES: usize = 400;
        for appends in [false, true] {
            for (messages, pairs) in [(10_000, 9), (30_000, 5), (100_000, 5)] {
                let native = Arc::new(long_session::in_memory(messages, MEAN_BYTES, appends)?);
                let store: Arc<dyn BlobStore> = native.clone();
                for with_model in [false, true] {
                    // The first folds what is pending.
                    self.begin(&store, with_model)?;
                    let (mut ratios, mut times) = (Vec::new(), [Vec::new(), Vec::new()]);
                    let mut memory_bytes = 0;
                    for _ in 0..pairs {
                        let component = self.begin(&store, with_model)?;
                        let start = Instant::now();
                        let bridge = Bridge::plain(native.as_ref());
                        let step = core_compaction::begin(&bridge, &core_begin(with_model))?;
                        let core = start.elapsed();
                        anyhow::ensure!(step.state == component.answer.state);
                        ratios.push(ratio(component.time, core));
                        times[0].push(component.time);
                        times[1].push(core);
                        memory_bytes = component.memory_bytes;
                    }
                    let [component, core] = times.map(median_time);
                    println!(
                        "begin on {messages} messages, {}, {}: component {component} ms ({:.2} µs a message), \
                         native core {core} ms; ratio {:.2}; {} MiB of memory",
                        kind(appends),
                        if with_model {
                            "with a model"
                        } else {
                            "without a model"
                        },
                        component as f64 * 1_000.0 / messages as f64,
                        median(ratios),
                        memory_bytes >> 20
                    );
                }
            }
        }
        Ok(())
    }

    /// Everything that a large session goes through, each call with the memory that its instance grew to.
    fn memory(&self) -> anyhow::Result<()> {
        const MEAN_BYTES: usize = 7_000;
        let mib = std::env::var("HAVERSACK_BENCH_MIB");
        let mib: u64 = mib.map_or(Ok(1_024), |mib| mib.parse())?;
        if mib == 0 {
            return Ok(());
        }
        // Beside the benchmark itself, because a system's folder for temporary files may lie in memory.
        let folder = tempfile::tempdir_in(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
        let messages = long_session::on_disk(folder.path(), mib << 20, MEAN_BYTES)?;
        println!("a session of {mib} MiB, {messages} messages, on disk:");
        let disk = DiskStore::open(folder.path());
        let disk = disk.map_err(|error| anyhow::anyhow!(error.message))?;
        let store: Arc<dyn BlobStore> = Arc::new(disk);

        let request = sessions::StatusRequest {
            home: home(),
            session_key: session().session_key,
        };
        let status = self.call(store.clone(), async |store, bindings| {
            let sessions = bindings.haversack_core_sessions();
            sessions.call_status(store, &request).await
        })?;
        told("status", [&status], status.answer.cost);
        let request = sessions::HistoryRequest {
            home: home(),
            session_key: session().session_key,
            session_id: None,
            count: Some(100),
            before: None,
        };
        let history = self.call(store.clone(), async |store, bindings| {
            let sessions = bindings.haversack_core_sessions();
            sessions.call_history(store, &request).await
        })?;
        told("history, the last 100", [&history], history.answer.cost);
        let begun = self.begin(&store, false)?;
        told("compaction begin", [&begun], begun.answer.cost);
        self.commit(&store, begun.answer.state)?;
        drop(store);

        // A session that was never compacted: all of it goes into one archive.
        let folder = tempfile::tempdir_in(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
        long_session::on_disk(folder.path(), mib << 20, MEAN_BYTES)?;
        let disk = DiskStore::open(folder.path());
        let disk = disk.map_err(|error| anyhow::anyhow!(error.message))?;
        let store: Arc<dyn BlobStore> = Arc::new(disk);
        let mut calls = Vec::new();
        loop {
            let taken = self.reset(&store)?;
            let step = taken.answer.step;
            calls.push(taken);
            if step != sessions::ResetStep::Again {
                break;
            }
        }
        let last = calls.last().context("a call")?.answer.clone();
        told("reset begin", &calls, last.cost);
        let request = sessions::ResetCommitRequest {
            home: home(),
            session_key: session().session_key,
            request_id: "reset".into(),
            state: None,
        };
        let done = self.call(store.clone(), async |store, bindings| {
            let sessions = bindings.haversack_core_sessions();
            sessions.call_reset_commit(store, &request).await
        })?;
        told("reset commit", [&done], done.answer.cost);
        let mut request = sessions::TranscriptRequest {
            home: home(),
            session_id: last.archived_session_id.context("a session")?,
            parts: true,
            cursor: None,
            limit: None,
        };
        for name in ["transcript, first page", "transcript, last page"] {
            let page = self.call(store.clone(), async |store, bindings| {
                let sessions = bindings.haversack_core_sessions();
                sessions.call_transcript(store, &request).await
            })?;
            told(name, [&page], page.answer.cost);
            // A page decodes its archive from the beginning: the last one costs the most.
            request.cursor = Some(format!("{}.{}", u64::MAX, messages - 100));
        }
        Ok(())
    }

    fn commit(&self, store: &Arc<dyn BlobStore>, state: String) -> anyhow::Result<()> {
        let request = compaction::CommitRequest {
            session: session(),
            state,
            request_id: "compact".into(),
            now_ms: LATER_MS,
        };
        let mut calls = Vec::new();
        loop {
            let taken = self.call(store.clone(), async |store, bindings| {
                let compaction = bindings.haversack_core_compaction();
                compaction.call_commit(store, &request).await
            })?;
            let is_done = taken.answer.committed.is_some();
            let cost = taken.answer.cost;
            calls.push(taken);
            if is_done {
                told("compaction commit", &calls, cost);
                return Ok(());
            }
        }
    }
}

/// Print what calls took; the cost is the last one's.
fn told<'t, T: 't>(what: &str, calls: impl IntoIterator<Item = &'t Taken<T>>, cost: types::Cost) {
    let (mut count, mut all, mut longest, mut most_bytes) = (0, Duration::ZERO, Duration::ZERO, 0);
    for taken in calls {
        count += 1;
        all += taken.time;
        longest = longest.max(taken.time);
        most_bytes = most_bytes.max(taken.memory_bytes);
    }
    println!(
        "  {what:<24} {:>5.1} MiB of memory, {count} calls, {:.2} s, the longest {:.2} s; the last read {:.2} MiB",
        most_bytes as f64 / (1 << 20) as f64,
        all.as_secs_f64(),
        longest.as_secs_f64(),
        cost.bytes_read as f64 / (1 << 20) as f64
    );
}

fn home() -> types::Home {
    let home = long_session::session().home;
    types::Home {
        system: home.system,
        id: home.id,
    }
}

fn session() -> types::Session {
    types::Session {
        home: home(),
        session_key: long_session::session().session_key,
    }
}

fn core_reset() -> core_sessions::ResetBeginRequest {
    let session = long_session::session();
    core_sessions::ResetBeginRequest {
        home: session.home,
        session_key: session.session_key,
        request_id: "reset".into(),
        seed: SEED.into(),
        now_ms: LATER_MS,
        utc_offset_minutes: 0,
        session_id: None,
        keep_media: Vec::new(),
        window_tokens: None,
    }
}

fn core_begin(with_model: bool) -> core_compaction::BeginRequest {
    core_compaction::BeginRequest {
        conditions: core_compaction::Conditions {
            session: long_session::session(),
            window_tokens: MODEL_WINDOW,
            system_tokens: 0,
            settings: None,
        },
        force: true,
        with_model,
        now_ms: LATER_MS,
        utc_offset_minutes: 0,
    }
}

fn kind(appends: bool) -> &'static str {
    if appends {
        "one file"
    } else {
        "segments and pieces"
    }
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn median_time(mut times: Vec<Duration>) -> u128 {
    times.sort();
    times[times.len() / 2].as_millis()
}
