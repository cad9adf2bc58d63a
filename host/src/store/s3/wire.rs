//! What goes over the wire: one HTTP client below everything, watched, so that each call knows what was
//! answered and what was not. Knows HTTP, no keys and no contract.

use std::cell::Cell;
use std::future::Future;
use std::time::Duration;

use async_trait::async_trait;
use http::StatusCode;
use http::header::RETRY_AFTER;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};

use super::failure::Failure;

tokio::task_local! {
    /// What became of the last request of this call: object_store hides it in messages.
    static SEEN: Cell<Option<Seen>>;
}

#[derive(Clone, Copy, Debug)]
enum Seen {
    Answer(StatusCode, Option<Duration>),
    Nothing(HttpErrorKind),
}

/// Gives every asker the same watched client.
#[derive(Clone, Debug)]
pub struct Watched(HttpClient);

impl Watched {
    pub fn new(client: HttpClient) -> Self {
        Watched(HttpClient::new(Watcher(client)))
    }

    pub fn client(&self) -> &HttpClient {
        &self.0
    }
}

impl HttpConnector for Watched {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(self.0.clone())
    }
}

#[derive(Debug)]
struct Watcher(HttpClient);

#[async_trait]
impl HttpService for Watcher {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let outcome = self.0.execute(request).await;
        let seen = match &outcome {
            Ok(response) => Seen::Answer(response.status(), retry_after(response)),
            Err(error) => Seen::Nothing(error.kind()),
        };
        // Outside of a watched call nobody asks.
        let _ = SEEN.try_with(|cell| cell.set(Some(seen)));
        outcome
    }
}

/// Seconds; the form with a date is not worth its parser.
fn retry_after(response: &HttpResponse) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

/// Run `call`, and say of its error what the wire has seen. An error that comes with a good answer
/// means that the answer was cut.
pub async fn watch<T, E: std::error::Error>(
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, Failure> {
    let watched = async {
        let outcome = call.await;
        outcome.map_err(|error| (SEEN.with(Cell::get), error))
    };
    SEEN.scope(Cell::new(None), watched)
        .await
        .map_err(|(seen, error)| {
            let (status, retry_after, sent) = match seen {
                Some(Seen::Answer(status, after)) if !status.is_success() => {
                    (Some(status), after, true)
                }
                Some(Seen::Answer(..)) => (None, None, true),
                Some(Seen::Nothing(kind)) => (None, None, kind != HttpErrorKind::Connect),
                None => (None, None, false),
            };
            Failure {
                status,
                // The message may show an access key; only the code in it goes on.
                code: super::xml::code(&error.to_string()),
                retry_after,
                sent,
            }
        })
}

/// Within a watched call: whether the last answer said that it went well.
pub fn went_well() -> bool {
    let well =
        |cell: &Cell<_>| matches!(cell.get(), Some(Seen::Answer(status, _)) if status.is_success());
    SEEN.try_with(well).unwrap_or(false)
}
