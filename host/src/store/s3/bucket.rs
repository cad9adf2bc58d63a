//! One bucket as the rest of the store sees it: its options, its keys on the wire, and the two ways to
//! send a request (object_store's calls, and requests that we sign). Knows no call of the contract.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use object_store::aws::{
    AmazonS3, AmazonS3Builder, AwsAuthorizer, AwsCredential, S3ConditionalPut,
};
use object_store::client::{HttpConnector, HttpRequestBody, ReqwestConnector};
use object_store::path::Path;
use object_store::{ClientOptions, RetryConfig, StaticCredentialProvider};
use tokio::sync::Semaphore;

use super::failure::Failure;
use super::retry::Retry;
use super::wire::{self, Watched};
use crate::store::check::error;
use crate::store::credentials::Credentials;
use crate::store::key::{KEY_BYTES_MAX, check_key, shown};
use crate::store::{Error, ErrorCode};

/// Requests in flight for one store.
pub const REQUESTS_AT_ONCE: usize = 64;
pub const REQUESTS_AT_ONCE_MAX: usize = 1_000;
/// One request, its body included.
const REQUEST_TIME: Duration = Duration::from_secs(120);
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// What a bucket's owner says about it.
#[derive(Clone, Debug)]
pub struct S3Options {
    /// `https://…`; none for AWS's own in the region.
    pub endpoint: Option<String>,
    pub region: String,
    pub bucket: String,
    /// A key below which all of this store's keys lie; empty for the whole bucket.
    pub prefix: String,
    pub credentials: Credentials,
    /// 1 to 1,000.
    pub requests_at_once: usize,
    pub retry: Retry,
    /// What makes the HTTP client; none for the usual one. Tests put faults here.
    pub connector: Option<Arc<dyn HttpConnector>>,
}

/// A bucket and what is needed to talk to it.
pub struct Bucket {
    name: String,
    /// Empty, or with a slash at its end.
    prefix: String,
    endpoint: String,
    region: String,
    pub store: AmazonS3,
    wire: Watched,
    credential: Arc<AwsCredential>,
    pub retry: Retry,
    permits: Semaphore,
    pub requests_at_once: usize,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bucket({}, {:?})", self.name, self.prefix)
    }
}

fn invalid(message: impl Into<String>) -> Error {
    error(ErrorCode::Invalid, message)
}

impl Bucket {
    /// Sends nothing.
    pub fn new(options: S3Options) -> Result<Self, Error> {
        let endpoint = match &options.endpoint {
            None => format!("https://s3.{}.amazonaws.com", options.region),
            Some(endpoint) => checked_endpoint(endpoint)?,
        };
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if options.region.is_empty() || !options.region.bytes().all(word) {
            return Err(invalid(format!(
                "{:?} is no region; it is a word such as us-east-1, or auto for R2",
                options.region
            )));
        }
        if !(1..=REQUESTS_AT_ONCE_MAX).contains(&options.requests_at_once) {
            return Err(invalid(format!(
                "{} requests at once: 1 to {REQUESTS_AT_ONCE_MAX}",
                options.requests_at_once
            )));
        }
        let prefix = match options.prefix.as_str() {
            "" => String::new(),
            prefix => {
                check_key(prefix)?;
                format!("{prefix}/")
            }
        };
        let failed = |_| {
            // Its message could show more than it should.
            invalid(format!(
                "no client for the bucket {}: check endpoint and region",
                options.bucket
            ))
        };
        let client_options = ClientOptions::new()
            .with_allow_http(endpoint.starts_with("http://"))
            .with_timeout(REQUEST_TIME)
            .with_connect_timeout(CONNECT_TIME);
        let usual: Arc<dyn HttpConnector> = Arc::new(ReqwestConnector::default());
        let connector = options.connector.unwrap_or(usual);
        let wire = Watched::new(connector.connect(&client_options).map_err(failed)?);
        let credential = Arc::new(AwsCredential {
            key_id: options.credentials.access_key_id,
            secret_key: options.credentials.secret_access_key,
            token: options.credentials.session_token,
        });
        let provider = StaticCredentialProvider::new(AwsCredential {
            key_id: credential.key_id.clone(),
            secret_key: credential.secret_key.clone(),
            token: credential.token.clone(),
        });
        // Repetition is ours: inside, a conditional put whose answer was lost would be sent again and
        // come back as a conflict.
        let retries = RetryConfig {
            max_retries: 0,
            ..RetryConfig::default()
        };
        let store = AmazonS3Builder::new()
            .with_bucket_name(&options.bucket)
            .with_region(&options.region)
            .with_endpoint(&endpoint)
            .with_virtual_hosted_style_request(false)
            .with_conditional_put(S3ConditionalPut::ETagMatch)
            .with_credentials(Arc::new(provider))
            .with_client_options(client_options)
            .with_retry(retries)
            .with_http_connector(wire.clone())
            .build()
            .map_err(failed)?;
        Ok(Bucket {
            name: options.bucket,
            prefix,
            endpoint,
            region: options.region,
            store,
            wire,
            credential,
            retry: options.retry,
            permits: Semaphore::new(options.requests_at_once),
            requests_at_once: options.requests_at_once,
        })
    }

    /// Where `key` lies; refused when a rule is broken or the bucket has no room for it.
    pub fn path(&self, key: &str) -> Result<Path, Error> {
        check_key(key)?;
        let full = self.full(key);
        if full.len() > KEY_BYTES_MAX {
            return Err(error(
                ErrorCode::TooLarge,
                format!(
                    "key {}: with the store's prefix it has over {KEY_BYTES_MAX} bytes; shorten one",
                    shown(key)
                ),
            ));
        }
        Path::parse(&full).map_err(|_| {
            // Our rules are the stricter ones.
            invalid(format!(
                "key {}: it cannot be written as a path",
                shown(key)
            ))
        })
    }

    /// How long keys may be, for `describe`: below a prefix, shorter than everywhere else.
    pub fn key_bytes_max(&self) -> Option<(String, String)> {
        let left = KEY_BYTES_MAX.saturating_sub(self.prefix.len());
        (left < KEY_BYTES_MAX).then(|| ("key-bytes-max".to_owned(), left.to_string()))
    }

    /// A key, or a part of one, as the bucket has it.
    pub fn full(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    /// The other way round.
    pub fn short<'a>(&self, full: &'a str) -> Option<&'a str> {
        full.strip_prefix(&self.prefix)
    }

    /// One try of one of object_store's calls.
    pub async fn once<T>(
        &self,
        call: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, Failure> {
        // Never closed; if it were, running on is right.
        let _permit = self.permits.acquire().await;
        wire::watch(call).await
    }

    /// A call that may be carried out twice without harm, until it is answered.
    pub async fn repeat<T, F>(&self, call: impl Fn() -> F) -> Result<T, Failure>
    where
        F: Future<Output = object_store::Result<T>>,
    {
        let mut tries = self.retry.tries();
        loop {
            match self.once(call()).await {
                Ok(answer) => return Ok(answer),
                Err(failure) if tries.again(&failure).await => {}
                Err(failure) => return Err(failure),
            }
        }
    }

    /// One try of a request of our own, signed here: for what object_store does not offer, or not well.
    /// `path_and_query` is behind the bucket's name, percent-encoded.
    pub async fn send(
        &self,
        method: Method,
        path_and_query: &str,
        headers: &[(&str, String)],
    ) -> Result<Response<Bytes>, Failure> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}/{}{path_and_query}", self.endpoint, self.name));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let Ok(mut request) = request.body(HttpRequestBody::empty()) else {
            return Err(Failure::default());
        };
        self.once(async {
            AwsAuthorizer::new(&self.credential, "s3", &self.region)
                .try_authorize(&mut request, None)?;
            let failed = |source| object_store::Error::Generic {
                store: "S3",
                source,
            };
            let answer = self.wire.client().execute(request).await;
            let (parts, body) = answer
                .map_err(|cause| failed(Box::new(cause)))?
                .into_parts();
            let body = body
                .bytes()
                .await
                .map_err(|cause| failed(Box::new(cause)))?;
            if parts.status.is_success() {
                return Ok(Response::from_parts(parts, body));
            }
            let message = String::from_utf8_lossy(&body).into_owned();
            Err(failed(message.into()))
        })
        .await
    }

    /// A path of this bucket with its name, as a copy's source is given.
    pub fn with_name(&self, path: &Path) -> String {
        format!("{}/{}", self.name, encoded(path.as_ref()))
    }
}

fn checked_endpoint(endpoint: &str) -> Result<String, Error> {
    let plain = endpoint.trim_end_matches('/');
    let host = plain
        .strip_prefix("https://")
        .or_else(|| plain.strip_prefix("http://"));
    let fine = |host: &str| {
        !host.is_empty()
            && host.bytes().all(|byte| byte.is_ascii_graphic())
            && !host.contains(['@', '?', '#'])
    };
    if host.is_some_and(fine) && format!("{plain}/b").parse::<http::Uri>().is_ok() {
        return Ok(plain.to_owned());
    }
    // It may hold credentials: it is not shown.
    Err(invalid(
        "the endpoint is no address: write https://HOST[:PORT], without credentials or a query",
    ))
}

/// Percent-encoded as signatures want it; slashes stay.
pub fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The other way round, as `encoding-type=url` has it, where a plus may stand for a space. None when it
/// is not UTF-8.
pub fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let (digits, behind) = rest.split_at_checked(2)?;
                let digits = std::str::from_utf8(digits).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = behind;
            }
            byte => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_and_back() {
        for text in [
            "a b",
            "é/日本",
            "50%",
            "%2F",
            "a+b&c=d#e?f",
            "~-._",
            "\u{10ffff}",
        ] {
            assert_eq!(decoded(&encoded(text)).as_deref(), Some(text));
        }
        assert_eq!(encoded("a b/é+"), "a%20b/%C3%A9%2B");
        assert_eq!(decoded("a+b%2B").as_deref(), Some("a b+"));
        assert_eq!(decoded("%FF"), None);
        assert_eq!(decoded("%F"), None);
    }

    #[test]
    fn endpoints() {
        for (endpoint, expected) in [
            ("https://s3.example/", Some("https://s3.example")),
            ("http://127.0.0.1:9000/s3", Some("http://127.0.0.1:9000/s3")),
            ("s3.example", None),
            ("https://", None),
            ("https://id:hush@s3.example", None),
            ("https://s3.example/?x=hush", None),
            ("https://s3 example", None),
        ] {
            let found = checked_endpoint(endpoint);
            assert_eq!(found.as_deref().ok(), expected, "{endpoint}");
            if let Err(error) = found {
                assert!(!error.message.contains("hush"));
            }
        }
    }
}
