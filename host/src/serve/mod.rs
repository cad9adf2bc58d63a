//! The HTTP API of moltbot: `/api/history`, `/api/storage/usage` and `/api/storage/export`, each by a signed URL, and
//! `/health`. This file takes connections and ends them; which path leads where stands in `route`.
//!
//! Everything has a bound: what a head may be ([`HEAD_BYTES_MAX`], [`HEADERS_MAX`], [`URL_BYTES_MAX`]), how many
//! there may be at once and how long each may take ([`ServeOptions`]).

mod answer;
mod history;
mod patience;
mod query;
mod route;
mod served;
mod signature;
mod signed;
mod usage;

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use self::patience::Patience;
use self::served::Served;
use crate::Engine;
use crate::store::BlobStore;

pub use self::route::URL_BYTES_MAX;
pub use self::signature::{Refused, SECRET_BYTES_MAX, SECRET_BYTES_MIN, Secret};

/// A request's line and headers together; more is answered with 431.
pub const HEAD_BYTES_MAX: usize = 16 << 10;
pub const HEADERS_MAX: usize = 64;

/// How much at once, and how long.
#[derive(Clone, Copy, Debug)]
pub struct ServeOptions {
    /// Signed requests that are being worked on; a further one is answered with 503.
    pub requests_at_once: usize,
    /// Exports that are being taken, each user's at most once.
    pub exports_at_once: usize,
    /// Open connections; a further one waits to be taken.
    pub connections_max: usize,
    /// For a request's head to come, and for a connection without one to stay.
    pub head_time: Duration,
    /// For the other end to take anything of an answer.
    pub stalled_time: Duration,
    /// For what is read of the store; an export is only bound by `stalled_time`.
    pub deadline: Duration,
    /// For requests to end once the server is told to stop.
    pub stop_time: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        ServeOptions {
            requests_at_once: 256,
            exports_at_once: 4,
            connections_max: 512,
            head_time: Duration::from_secs(15),
            stalled_time: Duration::from_secs(60),
            deadline: Duration::from_secs(60),
            stop_time: Duration::from_secs(20),
        }
    }
}

/// Answer what comes to `listener` until `stop` is done, then what is under way. The answer is whether all of that
/// ended in its time; what did not is cut off.
///
/// Without a secret every signed path is answered with 401.
pub async fn serve(
    listener: TcpListener,
    engine: Engine,
    store: Arc<dyn BlobStore>,
    secret: Option<Secret>,
    options: ServeOptions,
    stop: impl Future<Output = ()>,
) -> bool {
    let served = Arc::new(Served::new(engine, store, secret, options));
    let service = TowerToHyperService::new(route::router(served));
    let connections = Arc::new(Semaphore::new(options.connections_max));
    let under_way = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(options.head_time)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    let mut stop = std::pin::pin!(stop);
    loop {
        let next = async {
            let place = connections.clone().acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = &mut stop => break,
            next = next => next,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(cause) => {
                // Out of files, most likely: those under way give some back.
                tracing::error!(%cause, "a connection could not be taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let patient = TokioIo::new(Patience::new(stream, options.stalled_time));
        let connection = under_way.watch(http.serve_connection(patient, service.clone()));
        tokio::spawn(async move {
            let _place = place;
            if let Err(cause) = connection.await {
                tracing::debug!(%cause, "a connection broke off");
            }
        });
    }
    drop(listener);
    tracing::info!("stopping: requests under way are answered");
    let ended = tokio::time::timeout(options.stop_time, under_way.shutdown()).await;
    ended.is_ok()
}
