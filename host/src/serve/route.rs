//! One request, from its line to its answer: what is asked, whether it is signed, and by whom it is answered.
//! Nothing is read from the store before the signature holds, and then only below its user's prefix.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures_util::StreamExt;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::answer::{self, Body, Refusal};
use super::query::Query;
use super::signature::{Refused, Secret};
use super::{ServeOptions, history, usage};
use crate::archive::Export;
use crate::store::{BlobStore, FencedStore, MemoryStore};
use crate::{Engine, Owner};

/// Bytes of a request's path and query.
pub const URL_BYTES_MAX: usize = 8 << 10;
/// Of a signature.
const SIGNED: [&str; 3] = ["userId", "exp", "sig"];

/// What all requests share.
pub struct Served {
    pub engine: Engine,
    pub store: Arc<dyn BlobStore>,
    pub secret: Option<Secret>,
    pub options: ServeOptions,
    requests: Arc<Semaphore>,
    exports: Arc<Semaphore>,
    exporting: Arc<Mutex<HashSet<String>>>,
}

/// Where a path leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Endpoint {
    Health,
    History,
    Usage,
    Export,
}

impl Endpoint {
    fn of(path: &str) -> Option<Self> {
        match path {
            "/health" => Some(Self::Health),
            "/api/history" => Some(Self::History),
            "/api/storage/usage" => Some(Self::Usage),
            "/api/storage/export" => Some(Self::Export),
            _ => None,
        }
    }
}

impl Served {
    pub fn new(
        engine: Engine,
        store: Arc<dyn BlobStore>,
        secret: Option<Secret>,
        options: ServeOptions,
    ) -> Self {
        Served {
            engine,
            store,
            secret,
            requests: Arc::new(Semaphore::new(options.requests_at_once)),
            exports: Arc::new(Semaphore::new(options.exports_at_once)),
            exporting: Arc::default(),
            options,
        }
    }

    /// Answer a request, and log it: its method, path and status, never its query.
    pub async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let start = Instant::now();
        let answered = self.respond(&request).await;
        let mut response = match &answered {
            Ok(_) => None,
            Err(refusal) => Some(refusal.response()),
        };
        let cause = answered.as_ref().err().and_then(|it| it.cause.clone());
        if let Ok(response_of) = answered {
            response = Some(response_of);
        }
        let mut response = response.unwrap_or_default();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let sniff = HeaderValue::from_static("nosniff");
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, sniff);
        let (method, status) = (request.method(), response.status().as_u16());
        let known = Endpoint::of(request.uri().path()).is_some();
        let path = if known {
            request.uri().path()
        } else {
            "(unknown)"
        };
        let ms = start.elapsed().as_millis() as u64;
        match cause {
            None => tracing::info!(%method, path, status, ms, "answered"),
            Some(cause) => tracing::error!(%method, path, status, ms, cause, "failed"),
        }
        response
    }

    async fn respond(&self, request: &Request<Incoming>) -> Result<Response<Body>, Refusal> {
        let endpoint = admit(request)?;
        if endpoint == Endpoint::Health {
            let healthy = json!({ "status": "ok" });
            return Ok(answer::json_response(StatusCode::OK, &healthy));
        }
        let query = self.signed(request.uri().query().unwrap_or_default())?;
        let _place = self.requests.try_acquire().map_err(|_| {
            Refusal::busy(
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                format!(
                    "{} requests are being answered already; try again in a moment",
                    self.options.requests_at_once
                ),
            )
        })?;
        let parameters: &[&str] = match endpoint {
            Endpoint::History => &history::PARAMETERS,
            _ => &[],
        };
        if let Some(name) = query.unknown(&[&SIGNED, parameters].concat()) {
            return Err(Refusal::invalid(format!(
                "there is no parameter {name:?}; this path takes {}",
                [&SIGNED, parameters].concat().join(", ")
            )));
        }
        let owner = self.owner(query.get("userId").unwrap_or_default()).await?;
        let fenced = FencedStore::new(self.store.clone(), owner.prefix.clone());
        let store = Arc::new(fenced.map_err(|error| Refusal::of_store(&error))?);
        match endpoint {
            Endpoint::Health => Err(Refusal::internal("health is answered before")),
            Endpoint::History => {
                let request = history::request(&owner, &query)?;
                let answer = self.call(store, "messages", "history", request).await?;
                let page = history::page(answer)?;
                Ok(answer::json_text(StatusCode::OK, page))
            }
            Endpoint::Usage => {
                let usage = self.in_time(usage::usage(store, &owner)).await?;
                let usage = usage.ok_or_else(|| no_user(&owner))?;
                Ok(answer::json_response(StatusCode::OK, &usage))
            }
            Endpoint::Export => self.export(store, owner).await,
        }
    }

    /// The query of a request whose signature holds.
    fn signed(&self, query: &str) -> Result<Query, Refusal> {
        let unauthorized =
            |message: &str| Refusal::new(StatusCode::UNAUTHORIZED, "unauthorized", message);
        let Some(secret) = &self.secret else {
            return Err(unauthorized(
                "this server has no signing secret, so that no signature can hold",
            ));
        };
        let query = Query::parse(query).map_err(|rule| unauthorized(&rule))?;
        let [Some(user), Some(exp), Some(sig)] = SIGNED.map(|name| query.get(name)) else {
            return Err(unauthorized(
                "this path needs a signed URL, with userId, exp and sig; `haversack sign` makes one",
            ));
        };
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now_s = now.map_or(u64::MAX, |now| now.as_secs());
        match secret.verify(user, exp, sig, now_s) {
            Ok(()) => Ok(query),
            Err(Refused::Wrong) => Err(unauthorized("the signature is wrong")),
            Err(Refused::Expired) => {
                Err(unauthorized("the signature has expired; ask for a new URL"))
            }
        }
    }

    async fn owner(&self, user: &str) -> Result<Owner, Refusal> {
        // No call of this one reads a store.
        let none = Arc::new(MemoryStore::new(false));
        let key = self.call(none, "layout", "key-of", Owner::question(user));
        let key = key.await?;
        let owner = key.as_str().and_then(|key| Owner::of_meta_key(user, key));
        owner.ok_or_else(|| Refusal::internal(format!("the key of a user is {key}")))
    }

    async fn call(
        &self,
        store: Arc<dyn BlobStore>,
        interface: &str,
        function: &str,
        arguments: Value,
    ) -> Result<Value, Refusal> {
        let call = self
            .engine
            .call_json(store, interface, function, &arguments);
        let mut answer = call.await.map_err(|error| Refusal::of_call(&error))?;
        if let Some(error) = answer.get("error") {
            let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
            return Err(Refusal::of_contract(text("code"), text("message")));
        }
        Ok(answer["ok"].take())
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, crate::store::Error>>,
    ) -> Result<T, Refusal> {
        let done = tokio::time::timeout(self.options.deadline, work).await;
        let done = done.map_err(|_| Refusal::late())?;
        done.map_err(|error| Refusal::of_store(&error))
    }

    async fn export(
        &self,
        store: Arc<dyn BlobStore>,
        owner: Owner,
    ) -> Result<Response<Body>, Refusal> {
        let exporting = Exporting::begin(self, &owner.user)?;
        let export = self.in_time(Export::open(store, owner.clone())).await?;
        let export = export.ok_or_else(|| no_user(&owner))?;
        // Kept until the last piece is taken, or nobody takes any more.
        let stream = export.stream().map(move |piece| {
            let _ = &exporting;
            piece
        });
        let name = format!("{}.tar.gz", owner.user);
        Ok(answer::download(stream, "application/gzip", &name))
    }
}

/// A place among the exports, given back when dropped.
struct Exporting {
    user: String,
    users: Arc<Mutex<HashSet<String>>>,
    _place: OwnedSemaphorePermit,
}

impl Exporting {
    fn begin(served: &Served, user: &str) -> Result<Self, Refusal> {
        let place = served.exports.clone().try_acquire_owned().map_err(|_| {
            Refusal::busy(
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                format!(
                    "{} exports are under way already; try again later",
                    served.options.exports_at_once
                ),
            )
        })?;
        let users = served.exporting.clone();
        let mut set = users.lock().unwrap_or_else(|lock| lock.into_inner());
        if !set.insert(user.to_owned()) {
            return Err(Refusal::busy(
                StatusCode::TOO_MANY_REQUESTS,
                "too-many",
                "an export of this user is under way already; take that to its end first",
            ));
        }
        drop(set);
        Ok(Exporting {
            user: user.to_owned(),
            users,
            _place: place,
        })
    }
}

impl Drop for Exporting {
    fn drop(&mut self) {
        let mut users = self.users.lock().unwrap_or_else(|lock| lock.into_inner());
        users.remove(&self.user);
    }
}

/// What can be refused by the request's head alone.
fn admit(request: &Request<Incoming>) -> Result<Endpoint, Refusal> {
    let url_bytes = request
        .uri()
        .path_and_query()
        .map_or(0, |it| it.as_str().len());
    if url_bytes > URL_BYTES_MAX {
        return Err(Refusal::new(
            StatusCode::URI_TOO_LONG,
            "too-long",
            format!("the URL has {url_bytes} bytes, over {URL_BYTES_MAX}"),
        ));
    }
    let endpoint = Endpoint::of(request.uri().path()).ok_or_else(|| {
        Refusal::new(
            StatusCode::NOT_FOUND,
            "not-found",
            "there is no such path; there are /api/history, /api/storage/usage, /api/storage/export and /health",
        )
    })?;
    if request.method() != Method::GET {
        return Err(Refusal::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "only GET is answered here",
        ));
    }
    let length = request.headers().get(header::CONTENT_LENGTH);
    let has_length = length.is_some_and(|length| length != "0");
    if has_length || request.headers().contains_key(header::TRANSFER_ENCODING) {
        return Err(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-large",
            "a GET has no body here",
        ));
    }
    Ok(endpoint)
}

fn no_user(owner: &Owner) -> Refusal {
    let message = format!("there is no data of user {}", owner.user);
    Refusal::new(StatusCode::NOT_FOUND, "not-found", message)
}
