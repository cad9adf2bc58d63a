//! The component under wasmtime: compiled once and cached on disk, a fresh instance for each call, a
//! deadline and a memory limit. Knows the contract's types and no layout.
//!
//! ```no_run
//! # async fn run() -> anyhow::Result<()> {
//! use std::sync::Arc;
//! use haversack_host::{Engine, EngineOptions, store::MemoryStore};
//!
//! let engine = Engine::new(EngineOptions::default())?;
//! let store = Arc::new(MemoryStore::new(false));
//! let systems = engine.call_json(store, "layout", "systems", &serde_json::json!({})).await?;
//! # Ok(()) }
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{HasSelf, Linker, Val};
use wasmtime::{Config, PoolingAllocationConfig, ResourceLimiter, Store};

use crate::bindings::{Haversack, HaversackPre};
use crate::imports::Imports;
use crate::store::BlobStore;
use crate::{cache, json};

/// The component, as `haversack component` writes it.
pub const COMPONENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/haversack.wasm"));

/// How often a running instance looks whether its time is over.
const TICK: Duration = Duration::from_millis(10);

/// Function table entries of one instance: far more than the component has.
const TABLE_ELEMENTS_MAX: usize = 100_000;

/// Bounds of a call, and where compiled code is kept.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Longest time a call may take, the store's included.
    pub deadline: Duration,
    /// Linear memory of one instance.
    pub memory_bytes_max: usize,
    /// Calls that run at the same time; a further one waits, within its deadline. Address space of
    /// 4 GiB is set aside for each.
    pub calls_at_once: u32,
    /// Directory for compiled code; none compiles at every start.
    pub cache: Option<PathBuf>,
}

/// What takes leases, and counts on ending before they do: a longer deadline does not hold for it.
const LEASED: &str = "retention";
const LEASED_DEADLINE: Duration = Duration::from_secs(60);

impl Default for EngineOptions {
    /// 60 s, 64 MiB, 64 calls, the user's cache directory.
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(60),
            memory_bytes_max: 64 << 20,
            calls_at_once: 64,
            cache: cache::default_directory(),
        }
    }
}

/// Why a call did not come to an answer. An answer that is an error of the contract is not one of these.
#[derive(Debug)]
pub enum CallError {
    /// The call took longer than [`EngineOptions::deadline`].
    Deadline(Duration),
    /// The call wanted more than [`EngineOptions::memory_bytes_max`].
    Memory(usize),
    /// A trap is a bug of haversack.
    Trap(wasmtime::Error),
    /// The arguments do not have the function's shape.
    Arguments(String),
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Deadline(deadline) => write!(
                f,
                "the call was ended after its deadline of {} ms. No object is half written, and a repeat of \
                 the call finishes the job; raise the deadline with --deadline-ms if the store is slow",
                deadline.as_millis()
            ),
            Self::Memory(bytes) => write!(
                f,
                "the call needed more than its memory limit of {bytes} bytes; raise it with --memory-mib"
            ),
            Self::Trap(error) => write!(
                f,
                "haversack's component trapped, which is a bug: please report this with what you called\n{error:?}"
            ),
            Self::Arguments(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for CallError {}

/// The compiled component, ready to be instantiated for each call. Cheap to clone, safe to share.
#[derive(Clone)]
pub struct Engine {
    pre: HaversackPre<Context>,
    options: EngineOptions,
    places: Arc<Semaphore>,
    _ticker: Arc<Ticker>,
}

/// What an instance's store holds: the host's side of one call.
pub struct Context {
    imports: Imports,
    memory_bytes: usize,
    memory_bytes_max: usize,
    memory_refused: bool,
}

impl Context {
    /// Linear memory of the instance so far. It never shrinks, so this is also the most that the call needed.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }
}

impl ResourceLimiter for Context {
    fn memory_growing(
        &mut self,
        _now: usize,
        wanted: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let allowed = wanted <= self.memory_bytes_max;
        self.memory_refused |= !allowed;
        if allowed {
            self.memory_bytes = wanted;
        }
        Ok(allowed)
    }

    fn table_growing(
        &mut self,
        _now: usize,
        wanted: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(wanted <= TABLE_ELEMENTS_MAX)
    }
}

impl Engine {
    /// Compile the component, or load what an earlier start compiled. Errors when the machine's code
    /// generator is not supported or the component does not fit the contract.
    pub fn new(options: EngineOptions) -> anyhow::Result<Self> {
        let engine = wasmtime_engine(&options)?;
        let component = cache::load_or_compile(&engine, COMPONENT, options.cache.as_deref())?;
        let mut linker = Linker::new(&engine);
        Haversack::add_to_linker::<_, HasSelf<Imports>>(&mut linker, |context: &mut Context| {
            &mut context.imports
        })?;
        let pre = HaversackPre::new(linker.instantiate_pre(&component)?)?;
        let ticker = Arc::new(Ticker::start(engine)?);
        Ok(Self {
            pre,
            places: Arc::new(Semaphore::new(options.calls_at_once as usize)),
            options,
            _ticker: ticker,
        })
    }

    /// Names of what the component imports, one each.
    pub fn import_names(&self) -> Vec<String> {
        let component = self.pre.instance_pre().component();
        let ty = component.component_type();
        ty.imports(component.engine())
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    /// What the component offers, one `interface.function` each, in the order of the contract.
    pub fn export_names(&self) -> Vec<String> {
        let component = self.pre.instance_pre().component();
        let engine = component.engine();
        let mut names = Vec::new();
        for (interface, export) in component.component_type().exports(engine) {
            if let ComponentItem::ComponentInstance(instance) = export.ty {
                for (function, export) in instance.exports(engine) {
                    if matches!(export.ty, ComponentItem::ComponentFunc(_)) {
                        names.push(format!("{interface}.{function}"));
                    }
                }
            }
        }
        names
    }

    /// Call into a fresh instance over `store`. `call` gets the store of the call and the typed bindings;
    /// the deadline and the memory limit hold for all that it does.
    ///
    /// ```no_run
    /// # async fn run(engine: haversack_host::Engine, store: std::sync::Arc<dyn haversack_host::store::BlobStore>) -> anyhow::Result<()> {
    /// let systems = engine
    ///     .call(store, async |mut store, bindings| bindings.haversack_core_layout().call_systems(&mut store).await)
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub async fn call<T>(
        &self,
        store: Arc<dyn BlobStore>,
        call: impl AsyncFnOnce(&mut Store<Context>, &Haversack) -> wasmtime::Result<T>,
    ) -> Result<T, CallError> {
        let called = async |store: &mut Store<Context>| {
            let bindings = self.pre.instantiate_async(&mut *store).await?;
            call(store, &bindings).await
        };
        self.run(store, self.options.deadline, called).await
    }

    /// Call a function by name with its arguments as JSON, in the form that tests/README.md states:
    /// names as in the WIT, a result as `{"ok": …}` or `{"error": …}`.
    pub async fn call_json(
        &self,
        store: Arc<dyn BlobStore>,
        interface: &str,
        function: &str,
        arguments: &Value,
    ) -> anyhow::Result<Value> {
        let called = async |store: &mut Store<Context>| {
            let instance = self
                .pre
                .instance_pre()
                .instantiate_async(&mut *store)
                .await?;
            let name = format!("haversack:core/{interface}@{}", json::CONTRACT_VERSION);
            let found = instance
                .get_export_index(&mut *store, None, &name)
                .and_then(|interface| {
                    instance.get_export_index(&mut *store, Some(&interface), function)
                })
                .and_then(|function| instance.get_func(&mut *store, function));
            let Some(function) = found else {
                return Ok(Err(format!(
                    "the component exports no function {interface}.{function}"
                )));
            };
            let parameters = match json::arguments(&function.ty(&*store), arguments) {
                Ok(parameters) => parameters,
                Err(message) => return Ok(Err(message)),
            };
            let mut results = vec![Val::Bool(false)];
            function
                .call_async(&mut *store, &parameters, &mut results)
                .await?;
            Ok(Ok(results))
        };
        let deadline = match interface {
            LEASED => self.options.deadline.min(LEASED_DEADLINE),
            _ => self.options.deadline,
        };
        let called = self.run(store, deadline, called).await?;
        let results = called.map_err(CallError::Arguments)?;
        Ok(results.first().map_or(Value::Null, json::from_val))
    }

    /// Wait for a place, make a store, run `call` in it, and tell the ways in which it can end apart.
    async fn run<T>(
        &self,
        store: Arc<dyn BlobStore>,
        limit: Duration,
        call: impl AsyncFnOnce(&mut Store<Context>) -> wasmtime::Result<T>,
    ) -> Result<T, CallError> {
        let late = || CallError::Deadline(limit);
        let deadline = tokio::time::Instant::now() + limit;
        // Given back after the store, which holds the instance's memory, is gone.
        let place = tokio::time::timeout_at(deadline, self.places.acquire()).await;
        let Ok(Ok(_place)) = place else {
            return Err(late());
        };
        let mut store = self.context(store);
        let outcome = tokio::time::timeout_at(deadline, call(&mut store)).await;
        match outcome {
            Err(_) => Err(late()),
            Ok(Err(_)) if store.data().memory_refused => {
                Err(CallError::Memory(self.options.memory_bytes_max))
            }
            Ok(Err(error)) => Err(CallError::Trap(error)),
            Ok(Ok(value)) => Ok(value),
        }
    }

    fn context(&self, store: Arc<dyn BlobStore>) -> Store<Context> {
        let context = Context {
            imports: Imports::new(store),
            memory_bytes: 0,
            memory_bytes_max: self.options.memory_bytes_max,
            memory_refused: false,
        };
        let mut store = Store::new(self.pre.engine(), context);
        store.limiter(|context| context);
        // A running guest hands control back at each tick, so that the timeout around the call can end
        // it and other calls on the thread go on.
        store.set_epoch_deadline(1);
        store.epoch_deadline_async_yield_and_update(1);
        store
    }
}

/// An engine that keeps memories and stacks ready for the next call. Where the address space for that
/// cannot be had (a limit on virtual memory), each call gets its own from the system, which is slower.
fn wasmtime_engine(options: &EngineOptions) -> wasmtime::Result<wasmtime::Engine> {
    let mut config = Config::new();
    config.wasm_component_model(true);
    config.concurrency_support(false);
    config.epoch_interruption(true);
    config.allocation_strategy(pool(options));
    wasmtime::Engine::new(&config).or_else(|_| {
        config.allocation_strategy(wasmtime::InstanceAllocationStrategy::OnDemand);
        config.memory_reservation(options.memory_bytes_max as u64);
        config.memory_guard_size(64 << 10);
        wasmtime::Engine::new(&config)
    })
}

/// The component is a module and the two small ones that wit-component puts around it.
fn pool(options: &EngineOptions) -> PoolingAllocationConfig {
    const MODULES: u32 = 4;
    /// Bytes of a memory or stack that are cleared rather than given back to the system.
    const KEPT_RESIDENT: usize = 0;
    let calls = options.calls_at_once;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(calls)
        .total_core_instances(calls.saturating_mul(MODULES))
        .total_tables(calls.saturating_mul(MODULES))
        .total_memories(calls)
        .total_stacks(calls)
        .max_memory_size(options.memory_bytes_max)
        .linear_memory_keep_resident(KEPT_RESIDENT)
        .async_stack_keep_resident(KEPT_RESIDENT);
    pool
}

/// Moves the engine's epoch on until the last clone of the [`Engine`] is gone.
struct Ticker {
    stop: Option<std::sync::mpsc::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Ticker {
    fn start(engine: wasmtime::Engine) -> anyhow::Result<Self> {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("haversack-epoch".into())
            .spawn(move || {
                while stopped.recv_timeout(TICK) == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
                {
                    engine.increment_epoch();
                }
            })?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the ticker has been printed already and leaves nothing to clean up.
            let _ = thread.join();
        }
    }
}
