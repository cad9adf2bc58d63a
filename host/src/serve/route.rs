//! Which path leads where, and what all answers have in common: bounds on the head, headers, a line in the log.
//! Nothing is read from the store before the signature holds ([`Signed`]), and then only below its user's prefix.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::http::header::{self, HeaderValue};
use axum::http::{Method, Response, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use serde_json::json;

use super::answer::{self, Cause, Refusal};
use super::served::Served;
use super::signed::Signed;
use super::{history, usage};

/// Bytes of a request's path and query.
pub const URL_BYTES_MAX: usize = 8 << 10;

pub const HEALTH: &str = "/health";
pub const HISTORY: &str = "/api/history";
pub const USAGE: &str = "/api/storage/usage";
pub const EXPORT: &str = "/api/storage/export";
const PATHS: [&str; 4] = [HISTORY, USAGE, EXPORT, HEALTH];

pub fn router(served: Arc<Served>) -> Router {
    Router::new()
        .route(HEALTH, only_get(healthy))
        .route(HISTORY, only_get(page))
        .route(USAGE, only_get(used))
        .route(EXPORT, only_get(export))
        .fallback(async || no_path())
        .layer(from_fn(bounded_and_logged))
        .with_state(served)
}

/// A HEAD would cost as much as what it is the head of.
fn only_get<T: 'static>(handler: impl Handler<T, Arc<Served>>) -> MethodRouter<Arc<Served>> {
    get(handler)
        .head(async || no_method())
        .fallback(async || no_method())
}

async fn healthy() -> Response<Body> {
    answer::json_response(StatusCode::OK, &json!({ "status": "ok" }))
}

async fn page(
    State(served): State<Arc<Served>>,
    signed: Signed,
) -> Result<Response<Body>, Refusal> {
    let request = history::request(&signed.owner, &signed.query)?;
    let call = served.call(signed.store, "messages", "history", request);
    let page = history::page(call.await?)?;
    Ok(answer::json_text(StatusCode::OK, page))
}

async fn used(
    State(served): State<Arc<Served>>,
    signed: Signed,
) -> Result<Response<Body>, Refusal> {
    let usage = usage::usage(&served, signed.store, &signed.owner);
    let usage = tokio::time::timeout(served.options.deadline, usage).await;
    let usage = usage.map_err(|_| Refusal::late())??;
    Ok(answer::json_response(StatusCode::OK, &usage))
}

async fn export(
    State(served): State<Arc<Served>>,
    signed: Signed,
) -> Result<Response<Body>, Refusal> {
    served.export(signed.store, signed.owner).await
}

/// The log has a request's method, path and status, and never its query.
async fn bounded_and_logged(request: Request, next: Next) -> Response<Body> {
    let start = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path();
    let path = PATHS.into_iter().find(|known| *known == path);
    let path = path.unwrap_or("(unknown)");
    let mut response = match admit(&request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let sniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, sniff);
    let status = response.status().as_u16();
    let ms = start.elapsed().as_millis() as u64;
    match response.extensions().get::<Cause>() {
        None => tracing::info!(%method, path, status, ms, "answered"),
        Some(Cause(cause)) => tracing::error!(%method, path, status, ms, cause, "failed"),
    }
    response
}

/// What can be refused by the request's head alone, whatever its path.
fn admit(request: &Request) -> Result<(), Refusal> {
    let url = request.uri().path_and_query();
    let url_bytes = url.map_or(0, |it| it.as_str().len());
    if url_bytes > URL_BYTES_MAX {
        return Err(Refusal::new(
            StatusCode::URI_TOO_LONG,
            "too-long",
            format!("the URL has {url_bytes} bytes, over {URL_BYTES_MAX}"),
        ));
    }
    let length = request.headers().get(header::CONTENT_LENGTH);
    let has_length = length.is_some_and(|length| length != "0");
    let has_body = has_length || request.headers().contains_key(header::TRANSFER_ENCODING);
    if has_body && request.method() == Method::GET {
        return Err(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-large",
            "a GET has no body here",
        ));
    }
    Ok(())
}

fn no_path() -> Refusal {
    let paths = "/api/history, /api/storage/usage, /api/storage/export and /health";
    let message = format!("there is no such path; there are {paths}");
    Refusal::new(StatusCode::NOT_FOUND, "not-found", message)
}

fn no_method() -> Refusal {
    Refusal::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method-not-allowed",
        "only GET is answered here",
    )
}
