//! `haversack serve`: opens the store, listens, logs, and stops on a signal. What is answered is the library's.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use haversack_host::serve::{ServeOptions, serve};
use serde_json::json;
use tokio::net::TcpListener;

use super::call::Caller;
use super::exit::{Code, Failure};
use super::secret::SecretFlags;
use super::{Shared, output};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  HAVERSACK_SIGNING_SECRET=… haversack serve --store ./moltbot-data
  haversack serve --store r2://ACCOUNT/moltbot-data --listen 0.0.0.0:8080 --secret-file /run/secrets/signing

Paths, each with a URL that `haversack sign` signed:
  /api/history?sessionKey=main&limit=100&cursor=…   messages, oldest first, and the cursor of the page before
  /api/storage/usage                                objects and bytes by category
  /api/storage/export                               all data, as `haversack tenant import` takes it
  /health                                           whether it runs; not signed

Nothing is read before a signature holds, and then only below users/USER/; nothing is ever written. Errors are \
{\"error\": {\"code\", \"message\"}}. It speaks HTTP without TLS: put a proxy in front of it. Ctrl-C or SIGTERM end it \
once the requests under way are answered, 20 seconds at most.")]
pub struct Serve {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Signed requests answered at the same time; further ones get 503
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=4096))]
    requests: u16,
    /// Exports taken at the same time; further ones get 503
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    exports: u16,
    #[command(flatten)]
    secret: SecretFlags,
}

impl Serve {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        log_to_stderr(shared.json);
        let secret = self.secret.secret()?;
        let Caller { engine, store, .. } = Caller::over_store(shared, Some("moltbot"))?;
        let listener = TcpListener::bind(self.listen).await.map_err(|cause| {
            let message = format!(
                "cannot listen on {}: {cause}; name another with --listen",
                self.listen
            );
            Failure::new(Code::Other, message)
        })?;
        if secret.is_none() {
            tracing::warn!(
                "there is no signing secret, so every signed path is answered with 401: set \
                 HAVERSACK_SIGNING_SECRET or --secret-file"
            );
        }
        let stop = stop()?;
        let url = format!("http://{}", listener.local_addr()?);
        match shared.json {
            true => output::text(&json!({ "listening": url }).to_string())?,
            false => output::text(&format!("listening on {url}"))?,
        }
        let options = ServeOptions {
            requests_at_once: usize::from(self.requests),
            exports_at_once: usize::from(self.exports),
            deadline: Duration::from_millis(shared.deadline_ms),
            ..ServeOptions::default()
        };
        if serve(listener, engine, store, secret, options, stop).await {
            return Ok(());
        }
        let message = format!(
            "stopped, with requests cut off that took over {} seconds to end",
            options.stop_time.as_secs()
        );
        Err(Failure::new(Code::Other, message).into())
    }
}

/// Done at Ctrl-C or SIGTERM, which from here on end nothing by themselves.
fn stop() -> anyhow::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

fn log_to_stderr(json: bool) {
    let log = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_max_level(tracing::Level::INFO)
        .with_target(false);
    match json {
        true => log.json().flatten_event(true).init(),
        false => log.init(),
    }
}
