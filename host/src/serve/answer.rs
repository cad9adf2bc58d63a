//! What a request is answered with: JSON, a stream, or an error with its status. Knows no store.

use std::io;

use axum::body::Body;
use axum::http::header::{self, HeaderValue};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use bytes::Bytes;
use futures_util::stream::{Stream, StreamExt};
use serde_json::{Value, json};

use crate::CallError;
use crate::store::{Error, ErrorCode};

/// Seconds after which somebody who came at a busy time may come again.
const RETRY_AFTER_S: u32 = 1;

/// An answer that is no success.
#[derive(Debug)]
pub struct Refusal {
    pub status: StatusCode,
    pub code: &'static str,
    pub message: String,
    pub retry_after_s: Option<u32>,
    /// For the log alone: what went wrong here.
    pub cause: Option<String>,
}

impl Refusal {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Refusal {
            status,
            code,
            message: message.into(),
            retry_after_s: None,
            cause: None,
        }
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    /// Too much at once.
    pub fn busy(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Refusal {
            retry_after_s: Some(RETRY_AFTER_S),
            ..Self::new(status, code, message)
        }
    }

    /// Something here went wrong, and what is the log's to say.
    pub fn internal(cause: impl Into<String>) -> Self {
        let message = "something went wrong in the server, and its log says what";
        Refusal {
            cause: Some(cause.into()),
            ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
        }
    }

    pub fn late() -> Self {
        Self::new(
            StatusCode::GATEWAY_TIMEOUT,
            "timeout",
            "the store did not answer in time; try again later",
        )
    }

    /// An error of the contract, by the name of its code: `not-found`.
    pub fn of_contract(code: &str, message: &str) -> Self {
        let (status, code) = match code {
            "invalid" => (StatusCode::BAD_REQUEST, "invalid"),
            "not-found" => (StatusCode::NOT_FOUND, "not-found"),
            "conflict" => (StatusCode::CONFLICT, "conflict"),
            "too-large" => (StatusCode::PAYLOAD_TOO_LARGE, "too-large"),
            "unavailable" => return Self::unavailable(message),
            code => return Self::internal(format!("{code}: {message}")),
        };
        Self::new(status, code, message)
    }

    fn unavailable(cause: &str) -> Self {
        let message = "the store is busy; try again later";
        Refusal {
            cause: Some(cause.to_owned()),
            ..Self::busy(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
        }
    }

    pub fn of_store(error: &Error) -> Self {
        let code = match error.code {
            ErrorCode::Conflict => "conflict",
            ErrorCode::TooLarge => "too-large",
            ErrorCode::Unavailable => "unavailable",
            // Nobody chose a key: what the store finds wrong with one is not the caller's doing.
            ErrorCode::Invalid => "a key",
            ErrorCode::Denied => "denied",
            ErrorCode::OutcomeUnknown | ErrorCode::Unsupported | ErrorCode::Other => "other",
        };
        Self::of_contract(code, &error.message)
    }

    pub fn of_call(error: &anyhow::Error) -> Self {
        match error.downcast_ref::<CallError>() {
            Some(CallError::Deadline(_)) => Self::late(),
            Some(CallError::Memory(_)) => Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too-large",
                "the answer needs more memory than a request has; ask for fewer messages with `limit`",
            ),
            _ => Self::internal(format!("{error:#}")),
        }
    }
}

/// What went wrong here, on its way to the log.
#[derive(Clone)]
pub struct Cause(pub String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response<Body> {
        let error = json!({ "code": self.code, "message": self.message });
        let mut response = json_response(self.status, &json!({ "error": error }));
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, HeaderValue::from_static("GET"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("SignedUrl");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(Cause(cause));
        }
        response
    }
}

pub fn json_response(status: StatusCode, value: &Value) -> Response<Body> {
    json_text(status, value.to_string())
}

/// JSON that is there as text, so that numbers of any size stay as they are.
pub fn json_text(status: StatusCode, json: String) -> Response<Body> {
    let mut response = Response::new(Body::from(json + "\n"));
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static("application/json");
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, content_type);
    response
}

/// A stream of bytes; an error in it ends the connection, so that nobody takes what came for all.
pub fn download(
    stream: impl Stream<Item = Result<Bytes, Error>> + Send + 'static,
    content_type: &'static str,
    file_name: &str,
) -> Response<Body> {
    let pieces = stream.map(|piece| {
        piece.map_err(|error| {
            tracing::error!(cause = %error.message, "an export broke off");
            io::Error::other(error.message)
        })
    });
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    let content_type = HeaderValue::from_static(content_type);
    headers.insert(header::CONTENT_TYPE, content_type);
    let disposition = format!("attachment; filename=\"{file_name}\"");
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    response
}
