//! What the component costs beside native code, over the same store in the same run: nine files of 4 KiB and
//! fifty skills. Prints the ratio last, because machines are noisy and ratios less so.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::Criterion;
use haversack_core::ops::prompt::{AssembleRequest, assemble};
use haversack_core::store as core;
use haversack_host::store::BlobStore;
use haversack_host::{Engine, EngineOptions};
use serde_json::{Value, json};

/// The objects of the store: key and text.
fn objects() -> Vec<(String, String)> {
    let line = "- Something worth knowing about the house, the garden, or the people in it.\n";
    let text = |title: &str| format!("# {title}\n\n{}", line.repeat(4_096 / line.len()));
    let files = [
        "SOUL.md",
        "IDENTITY.md",
        "USER.md",
        "AGENTS.md",
        "MEMORY.md",
        "TOOLS.md",
        "HEARTBEAT.md",
    ];
    let days = ["memory/2026-02-19.md", "memory/2026-02-20.md"];
    let workspace = files
        .iter()
        .chain(&days)
        .map(|name| (format!("agents/hera/{name}"), text(name)));
    let skills = (0..50).map(|n| {
        let folder = if n % 2 == 0 { "agents/hera/skills" } else { "skills" };
        let front_matter = format!(
            "---\nname: skill-{n}\ndescription: Does the thing number {n} when somebody asks for it\n\
             metadata: {{\"openclaw\": {{\"emoji\": \"x\", \"requires\": {{\"bins\": [\"jq\"]}}}}}}\n---\n"
        );
        (format!("{folder}/skill-{n:02}/SKILL.md"), format!("{front_matter}{}", text("How")))
    });
    workspace.chain(skills).collect()
}

fn request() -> Value {
    let host = json!({ "id": "h", "role": "execution", "os": "linux", "capabilities": [], "env": [], "bins": ["jq"] });
    json!({
        "home": { "system": "gsv", "id": "hera" },
        "session-key": "agent:hera:main",
        "now-ms": 1_771_579_800_000_u64,
        "utc-offset-minutes": 0,
        "runtime": {},
        "environment": { "hosts": [host] },
    })
}

/// The same objects behind both seams, answered without a copy more than each needs.
struct Fixed(Vec<(String, String)>);

impl Fixed {
    fn get(&self, key: &str) -> Option<&str> {
        let at = self
            .0
            .binary_search_by(|(known, _)| known.as_str().cmp(key))
            .ok()?;
        self.0.get(at).map(|(_, text)| text.as_str())
    }

    /// Directories right below a prefix.
    fn directories(&self, prefix: &str) -> Vec<String> {
        let mut found: Vec<String> = self
            .0
            .iter()
            .filter_map(|(key, _)| {
                Some(format!(
                    "{prefix}{}/",
                    key.strip_prefix(prefix)?.split_once('/')?.0
                ))
            })
            .collect();
        found.dedup();
        found
    }
}

impl core::Store for Fixed {
    fn describe(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn read(&self, wave: Vec<core::Request>) -> Vec<core::StoreResult<core::Answer>> {
        let answer = |request| match request {
            core::Request::Get(get) => {
                core::Answer::Blob(self.get(&get.key).map(|text| core::Blob {
                    body: core::Body::Text(text.to_owned()),
                    stat: core::Stat {
                        version: "0123456789abcdef0123456789abcdef".into(),
                        content_type: None,
                        metadata: Vec::new(),
                        size_bytes: text.len() as u64,
                        modified_ms: 0,
                    },
                }))
            }
            core::Request::Head(_) => core::Answer::Head(None),
            core::Request::List(list) => core::Answer::Listing(core::Listing {
                prefixes: self.directories(&list.prefix),
                ..core::Listing::default()
            }),
        };
        wave.into_iter()
            .map(|request| Ok(answer(request)))
            .collect()
    }

    fn put(&self, _: &str, _: core::Body, _: core::PutOptions) -> core::StoreResult<String> {
        unreachable!("a prompt writes nothing")
    }

    fn append(&self, _: &str, _: core::Body, _: u64) -> core::StoreResult<u64> {
        unreachable!("a prompt writes nothing")
    }

    fn concat(
        &self,
        _: Vec<core::Source>,
        _: &str,
        _: core::PutOptions,
    ) -> core::StoreResult<String> {
        unreachable!("a prompt writes nothing")
    }

    fn delete(&self, _: Vec<String>) -> Vec<core::StoreResult<()>> {
        unreachable!("a prompt writes nothing")
    }
}

mod hosted {
    //! The fixed store as the host's trait.

    use haversack_host::store::*;

    use super::Fixed;

    impl BlobStore for Fixed {
        fn describe(&self) -> Vec<(String, String)> {
            Vec::new()
        }

        fn read(&self, wave: Vec<Request>) -> BoxFuture<'_, Vec<Result<Answer, Error>>> {
            let answer = |request| match request {
                Request::Get(get) => Answer::Blob(self.get(&get.key).map(|text| Blob {
                    body: Body::Text(text.to_owned()),
                    stat: Stat {
                        version: "0123456789abcdef0123456789abcdef".into(),
                        content_type: None,
                        metadata: Vec::new(),
                        size_bytes: text.len() as u64,
                        modified_ms: 0,
                    },
                })),
                Request::Head(_) => Answer::Head(None),
                Request::List(list) => Answer::Listing(Listing {
                    entries: Vec::new(),
                    prefixes: self.directories(&list.prefix),
                    skipped: Vec::new(),
                    cursor: None,
                }),
            };
            let answers = wave
                .into_iter()
                .map(|request| Ok(answer(request)))
                .collect();
            Box::pin(std::future::ready(answers))
        }

        fn put(&self, _: String, _: Body, _: PutOptions) -> BoxFuture<'_, Result<String, Error>> {
            unreachable!("a prompt writes nothing")
        }

        fn append(&self, _: String, _: Body, _: u64) -> BoxFuture<'_, Result<u64, Error>> {
            unreachable!("a prompt writes nothing")
        }

        fn concat(
            &self,
            _: Vec<Source>,
            _: String,
            _: PutOptions,
        ) -> BoxFuture<'_, Result<String, Error>> {
            unreachable!("a prompt writes nothing")
        }

        fn delete(&self, _: Vec<String>) -> BoxFuture<'_, Vec<Result<(), Error>>> {
            unreachable!("a prompt writes nothing")
        }
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let engine = Engine::new(EngineOptions::default()).expect("an engine");
    let mut objects = objects();
    objects.sort();
    let store = Arc::new(Fixed(objects));
    let native: AssembleRequest = serde_json::from_value(request()).expect("a request");
    let shared: Arc<dyn BlobStore> = store.clone();

    let run_native = || assemble(store.as_ref(), &native).expect("a prompt");
    let run_component = || {
        let typed = typed_request();
        runtime
            .block_on(engine.call(shared.clone(), async |store, bindings| {
                bindings
                    .haversack_core_prompt()
                    .call_assemble(store, &typed)
                    .await
            }))
            .expect("a call")
            .expect("a prompt")
    };
    assert_eq!(
        run_native().text,
        run_component().text,
        "both must do the same work"
    );

    criterion.bench_function("assemble, native", |bencher| {
        bencher.iter(|| black_box(run_native()))
    });
    criterion.bench_function("assemble, component, fresh instance", |bencher| {
        bencher.iter(|| black_box(run_component()))
    });
    let typed = typed_request();
    criterion.bench_function("assemble, component, warm instance", |bencher| {
        bencher.iter_custom(|times| {
            let timed = engine.call(shared.clone(), async |store, bindings| {
                let start = Instant::now();
                for _ in 0..times {
                    black_box(
                        bindings
                            .haversack_core_prompt()
                            .call_assemble(&mut *store, &typed)
                            .await?,
                    )
                    .expect("a prompt");
                }
                Ok(start.elapsed())
            });
            runtime.block_on(timed).expect("a call")
        });
    });
    criterion.bench_function("instantiate", |bencher| {
        bencher.iter(|| {
            runtime
                .block_on(engine.call(shared.clone(), async |_, _| Ok(())))
                .expect("an instance")
        });
    });
    let view = haversack_host::bindings::exported::layout::View {
        thread: "t1".into(),
        user: None,
        ticket: None,
    };
    criterion.bench_function("smallest call, fresh instance", |bencher| {
        bencher.iter(|| {
            let called = engine.call(shared.clone(), async |store, bindings| {
                bindings
                    .haversack_core_layout()
                    .call_view_key(store, &view, "/a")
                    .await
            });
            runtime.block_on(called).expect("a call").expect("a key")
        });
    });
    criterion.final_summary();
    let ratios = engine.call(shared.clone(), async |store, bindings| {
        let mut ratios = Vec::new();
        // Alternate both, so that a machine that slows down slows both.
        for _ in 0..300 {
            let start = Instant::now();
            black_box(
                bindings
                    .haversack_core_prompt()
                    .call_assemble(&mut *store, &typed)
                    .await?,
            )
            .expect("a prompt");
            let component = start.elapsed().as_secs_f64();
            let start = Instant::now();
            black_box(run_native());
            ratios.push(component / start.elapsed().as_secs_f64());
        }
        Ok(ratios)
    });
    let mut ratios = runtime.block_on(ratios).expect("a call");
    ratios.sort_by(f64::total_cmp);
    println!(
        "component / native, warm instance, median of {} pairs: {:.2}",
        ratios.len(),
        ratios[ratios.len() / 2]
    );
}

fn typed_request() -> haversack_host::bindings::exported::prompt::AssembleRequest {
    use haversack_host::bindings::exported::{prompt, skills, types};
    prompt::AssembleRequest {
        home: types::Home {
            system: "gsv".into(),
            id: "hera".into(),
        },
        session_key: "agent:hera:main".into(),
        main_key: None,
        now_ms: 1_771_579_800_000,
        utc_offset_minutes: 0,
        session_prompt: None,
        config_prompt: None,
        sections: Vec::new(),
        tools: Vec::new(),
        runtime: prompt::Runtime {
            model: None,
            time_zone: None,
            channel: None,
            hosts: Vec::new(),
        },
        environment: skills::Environment {
            hosts: vec![skills::Host {
                id: "h".into(),
                role: "execution".into(),
                os: Some("linux".into()),
                capabilities: Vec::new(),
                env: Vec::new(),
                bins: vec!["jq".into()],
            }],
            settings: Vec::new(),
            config_json: None,
        },
        budget: None,
    }
}
