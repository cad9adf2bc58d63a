//! An HTTP connector that breaks what goes through it, on order: for tests and benchmarks of the bucket's
//! store. Knows requests, not what they mean.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, StatusCode};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};

use crate::store::BoxFuture;

/// Something to do between the server's answer and its loss: another writer's turn.
pub type Meanwhile = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// What happens to a request.
#[derive(Clone)]
pub enum Fault {
    /// It is answered so and never sent.
    Answer(u16),
    /// It is carried out, and answered so all the same.
    AnswerAfter(u16),
    /// There is no server.
    Unreachable,
    /// The connection is cut before the server sees the request.
    CutBefore,
    /// The server carries it out; the connection is cut before its answer.
    CutAfter,
    /// The same, and then something else happens.
    CutAfterWith(Meanwhile),
    /// The answer's body ends in its middle.
    Short,
    /// It takes that much longer.
    Slow(Duration),
}

/// Which requests are meant: by method, and by the path with its query, percent-encoded.
type Meant = Box<dyn Fn(&Method, &str) -> bool + Send + Sync>;

#[derive(Default)]
struct State {
    orders: Vec<(Meant, Fault, usize)>,
    requests: Vec<(Method, String)>,
    bytes_sent: u64,
    in_flight: usize,
    in_flight_max: usize,
    /// As R2: a second write to one key within this time is answered with 429.
    write_interval: Option<Duration>,
    written: HashMap<String, Instant>,
}

/// The connector, and the handle to give it orders; clones share everything.
#[derive(Clone, Default)]
pub struct Faults(Arc<Mutex<State>>);

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faults")
    }
}

impl Faults {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Do that to the next `times` requests that are meant. Earlier orders come first.
    pub fn order(
        &self,
        meant: impl Fn(&Method, &str) -> bool + Send + Sync + 'static,
        fault: Fault,
        times: usize,
    ) {
        self.state().orders.push((Box::new(meant), fault, times));
    }

    /// Take one write to a key in that time, and answer 429 to more.
    pub fn limit_writes(&self, interval: Duration) {
        self.state().write_interval = Some(interval);
    }

    /// Every request so far, also those that were never sent.
    pub fn requests(&self) -> Vec<(Method, String)> {
        self.state().requests.clone()
    }

    /// Bytes of the bodies of all requests so far.
    pub fn bytes_sent(&self) -> u64 {
        self.state().bytes_sent
    }

    /// The most requests that were on their way at one time.
    pub fn in_flight_max(&self) -> usize {
        self.state().in_flight_max
    }

    /// Forget requests and orders.
    pub fn clear(&self) {
        *self.state() = State::default();
    }

    fn next(&self, method: &Method, path: &str) -> Option<Fault> {
        let mut state = self.state();
        state.requests.push((method.clone(), path.to_owned()));
        let ordered = state
            .orders
            .iter_mut()
            .find(|(meant, _, times)| *times > 0 && meant(method, path));
        if let Some((_, fault, times)) = ordered {
            *times -= 1;
            return Some(fault.clone());
        }
        let interval = state.write_interval.filter(|_| method == Method::PUT)?;
        let now = Instant::now();
        let soon = |last: &Instant| now.duration_since(*last) < interval;
        if state.written.get(path).is_some_and(soon) {
            return Some(Fault::Answer(429));
        }
        state.written.insert(path.to_owned(), now);
        None
    }
}

impl HttpConnector for Faults {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        let faults = self.clone();
        Ok(HttpClient::new(Faulty { inner, faults }))
    }
}

#[derive(Debug)]
struct Faulty {
    inner: HttpClient,
    faults: Faults,
}

/// Counts a request for as long as it lives.
struct InFlight(Faults);

impl InFlight {
    fn new(faults: &Faults) -> Self {
        let mut state = faults.state();
        state.in_flight += 1;
        state.in_flight_max = state.in_flight_max.max(state.in_flight);
        InFlight(faults.clone())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.in_flight = state.in_flight.saturating_sub(1);
    }
}

#[async_trait]
impl HttpService for Faulty {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let _in_flight = InFlight::new(&self.faults);
        self.faults.state().bytes_sent += request.body().content_length() as u64;
        let path = request
            .uri()
            .path_and_query()
            .map_or("", |path| path.as_str());
        match self.faults.next(request.method(), path) {
            None => self.inner.execute(request).await,
            Some(Fault::Answer(status)) => answer(status),
            Some(Fault::AnswerAfter(status)) => {
                self.inner.execute(request).await?;
                answer(status)
            }
            Some(Fault::Unreachable) => Err(cut(HttpErrorKind::Connect)),
            Some(Fault::CutBefore) => Err(cut(HttpErrorKind::Interrupted)),
            Some(Fault::CutAfter) => {
                self.inner.execute(request).await?;
                Err(cut(HttpErrorKind::Interrupted))
            }
            Some(Fault::CutAfterWith(meanwhile)) => {
                self.inner.execute(request).await?;
                meanwhile().await;
                Err(cut(HttpErrorKind::Interrupted))
            }
            Some(Fault::Short) => {
                let (parts, body) = self.inner.execute(request).await?.into_parts();
                let body = body.bytes().await?;
                let half: Bytes = body.slice(..body.len() / 2);
                Ok(HttpResponse::from_parts(parts, half.into()))
            }
            Some(Fault::Slow(time)) => {
                tokio::time::sleep(time).await;
                self.inner.execute(request).await
            }
        }
    }
}

fn answer(status: u16) -> Result<HttpResponse, HttpError> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = "<Error><Code>Injected</Code><Message>hush</Message></Error>".to_owned();
    let mut response = HttpResponse::new(body.into());
    *response.status_mut() = status;
    Ok(response)
}

fn cut(kind: HttpErrorKind) -> HttpError {
    HttpError::new(kind, std::io::Error::other("injected"))
}
