//! `haversack media`: attachments of a session, which the component plans and the host moves. What each subcommand
//! takes and prints; what goes and what stays stands in `discard`.

mod discard;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use haversack_host::media::{Item, MediaError, Origin, Session, Size};
use haversack_host::store::ErrorCode;
use serde_json::json;

use super::Shared;
use super::call::Caller;
use super::change::{RequestId, seed};
use super::clock::now_ms;
use super::exit::{Code, Failure};
use super::output::{self, plain};
use super::sessions::Which;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack media put gsv:hera --session agent:hera:main photo.jpg      (prints the block for the message)
  haversack media get gsv:hera --session agent:hera:main KEY --out photo.jpg
  haversack media orphans gsv:hera --session agent:hera:main            (what no message names)
  haversack media orphans gsv:hera --session agent:hera:main --yes      (deletes it)
  haversack media discard gsv:hera --session agent:hera:main KEY --yes")]
pub struct Media {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Store a file of at most 25 MiB, and print the block that stands for it in a message
    Put(Put),
    /// Write the bytes of a medium to a file or to standard output
    Get(Get),
    /// List media that no message of the live session names, and delete them with --yes
    Orphans(discard::Orphans),
    /// Say what deleting these media would do, and do it with --yes
    Discard(discard::Discard),
}

#[derive(Debug, Args)]
struct Put {
    #[command(flatten)]
    which: Which,
    /// The file
    file: PathBuf,
    /// Its MIME type [default: by the file's name, else application/octet-stream]
    #[arg(long, value_name = "MIME")]
    r#type: Option<String>,
    /// Text that the key is made from, at least 16 characters [default: from the request id]
    #[arg(long, value_name = "TEXT")]
    seed: Option<String>,
    #[command(flatten)]
    id: RequestId,
}

#[derive(Debug, Args)]
struct Get {
    #[command(flatten)]
    which: Which,
    /// Its key, as the block says it in `r2Key`
    key: String,
    /// Where to write it; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    out: PathBuf,
}

impl Media {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match &self.action {
            Action::Put(put) => put.run(shared).await,
            Action::Get(get) => get.run(shared).await,
            Action::Orphans(orphans) => orphans.run(shared).await,
            Action::Discard(discard) => discard.run(shared).await,
        }
    }
}

impl Which {
    fn of_media(&self) -> Session {
        let (system, id) = (self.home.system.clone(), self.home.id.clone());
        Session {
            home: haversack_host::media::Home { system, id },
            session_key: self.session.clone(),
        }
    }
}

fn helper(caller: &Caller) -> haversack_host::media::Media {
    haversack_host::media::Media::new(caller.engine.clone(), caller.store.clone())
}

impl Put {
    async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        let helper = helper(&caller);
        let cannot = |error: std::io::Error| {
            let message = format!("cannot read {}: {error}", self.file.display());
            Failure::new(Code::of_io(&error), message)
        };
        let size_bytes = std::fs::metadata(&self.file).map_err(cannot)?.len();
        let filename = self.file.file_name().unwrap_or_default().to_string_lossy();
        let item = Item {
            mime_type: match &self.r#type {
                Some(mime_type) => mime_type.clone(),
                None => type_of(&self.file).to_owned(),
            },
            size: Size::Bytes(size_bytes),
            filename: filename.into_owned(),
            kind: None,
        };
        let id = self.id.or_new()?;
        let origin = Origin {
            session: self.which.of_media(),
            seed: seed(self.seed.as_deref(), &id),
            uploaded_at_ms: now_ms()?,
        };
        // Refused by its length before it is read.
        let read = || std::fs::read(&self.file);
        let stored = helper.put_with(origin, item, read).await.map_err(failure)?;
        for problem in &stored.problems {
            eprintln!(
                "haversack: {}: {}",
                plain(&problem.key),
                plain(&problem.message)
            );
        }
        let planned = &stored.planned;
        if shared.json {
            return output::json(&json!({
                "request-id": id,
                "key": planned.key,
                "content-type": planned.content_type,
                "size-bytes": planned.size_bytes,
                "block": planned.block,
                "repeat": stored.repeat,
            }));
        }
        eprintln!(
            "haversack: {} {} ({} bytes, {})",
            if stored.repeat {
                "an earlier call had stored"
            } else {
                "stored"
            },
            plain(&planned.key),
            planned.size_bytes,
            plain(&planned.content_type)
        );
        output::text(&planned.block)
    }
}

impl Get {
    async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        let found = helper(&caller).get(self.which.of_media(), &self.key).await;
        let bytes = found.map_err(failure)?;
        if self.out == Path::new("-") {
            let mut out = std::io::stdout().lock();
            out.write_all(&bytes)?;
            return Ok(out.flush()?);
        }
        std::fs::write(&self.out, &bytes)
            .with_context(|| format!("writing {}", self.out.display()))?;
        if shared.json {
            return output::json(&json!({ "out": self.out, "size-bytes": bytes.len() }));
        }
        eprintln!(
            "haversack: wrote {} ({} bytes)",
            self.out.display(),
            bytes.len()
        );
        Ok(())
    }
}

/// By the end of the name, for what people send.
fn type_of(file: &Path) -> &'static str {
    let ending = file
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    match ending.as_str() {
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "ogg" => "audio/ogg",
        "opus" => "audio/opus",
        "mp3" => "audio/mpeg",
        "m4a" => "audio/mp4",
        "wav" => "audio/wav",
        "flac" => "audio/flac",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        "mov" => "video/quicktime",
        "pdf" => "application/pdf",
        "txt" | "md" => "text/plain",
        _ => "",
    }
}

/// The exit code of what went wrong.
fn failure(error: MediaError) -> anyhow::Error {
    match error {
        MediaError::Refused(error) => Failure::of_contract(
            &json!({ "code": contract_code(error.code), "message": error.message }),
        )
        .into(),
        MediaError::NotFound(message) => Failure::new(Code::NotFound, message).into(),
        MediaError::Call(error) => error.into(),
        MediaError::Store(error) => {
            let code = match error.code {
                ErrorCode::Conflict => Code::Conflict,
                ErrorCode::TooLarge => Code::TooLarge,
                ErrorCode::Denied => Code::Unreadable,
                ErrorCode::Invalid => Code::Invalid,
                ErrorCode::Unavailable | ErrorCode::OutcomeUnknown => Code::Unavailable,
                ErrorCode::Unsupported => Code::Unsupported,
                ErrorCode::Other => Code::Other,
            };
            Failure::new(code, error.message).into()
        }
        MediaError::Damaged(message) => Failure::new(Code::Unreadable, message).into(),
        MediaError::Unread(error) => error.into(),
    }
}

fn contract_code(code: haversack_host::media::ContractCode) -> &'static str {
    use haversack_host::media::ContractCode as Contract;
    match code {
        Contract::Invalid => "invalid",
        Contract::NotFound => "not-found",
        Contract::Unsupported => "unsupported",
        Contract::Conflict => "conflict",
        Contract::TooLarge => "too-large",
        Contract::Denied => "denied",
        Contract::Unavailable => "unavailable",
        Contract::Other => "other",
    }
}
