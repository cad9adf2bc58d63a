//! What commands that change something share: the text they take, the id by which a repeat is known, and
//! what is said when a call did not come through.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::call::Caller;
use super::clock::now_ms;
use super::exit::{Code, Failure};
use super::read_text;

/// Exactly one of these.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct TextSource {
    /// The text itself
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,

    /// A file with the text
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// The text comes from standard input
    #[arg(value_name = "-", value_parser = dash)]
    stdin: Option<Dash>,
}

#[derive(Debug, Clone)]
struct Dash;

fn dash(text: &str) -> Result<Dash, String> {
    match text {
        "-" => Ok(Dash),
        _ => Err("text is given with --text, with --file, or as `-` on standard input".to_owned()),
    }
}

impl TextSource {
    pub fn read(&self) -> anyhow::Result<String> {
        match (&self.text, &self.file) {
            (Some(text), _) => Ok(text.clone()),
            (None, Some(file)) => read_text(file),
            (None, None) => read_text(Path::new("-")),
        }
    }
}

/// Process ids repeat in containers: a standard map's own random seed does not.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

#[derive(Debug, Args)]
pub struct RequestId {
    /// By this id a repeat of the call is known, and changes nothing [default: a new one, which --json shows]
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
}

impl RequestId {
    /// The given one, else one of this moment and chance.
    pub fn or_new(&self) -> anyhow::Result<String> {
        match &self.request_id {
            Some(id) => Ok(id.clone()),
            None => Ok(format!("cli-{}-{:016x}", now_ms()?, random())),
        }
    }

    pub fn is_given(&self) -> bool {
        self.request_id.is_some()
    }

    /// Make a call that changes something, with the id in its request and in the answer. `after_conflict`
    /// says how to go on when somebody else was there first.
    pub async fn call(
        &self,
        caller: &Caller,
        interface: &str,
        function: &str,
        mut request: Value,
        after_conflict: &str,
    ) -> anyhow::Result<Value> {
        let id = self.or_new()?;
        request["request-id"] = json!(id);
        let flags = repeat_flags(&id, &request);
        let arguments = json!({ "request": request });
        match caller.call(interface, function, arguments).await {
            Ok(mut answer) => {
                answer["request-id"] = json!(id);
                Ok(answer)
            }
            Err(error) => Err(advised(error, &flags, after_conflict)),
        }
    }
}

/// What makes the same call again: the id, and the moment and the process where the call has them.
fn repeat_flags(id: &str, request: &Value) -> String {
    let at_ns = request["at-ns"].as_i64();
    let at = request["at-ms"].as_i64().and_then(|at_ms| {
        let at_ns = i128::from(at_ms) * 1_000_000 + i128::from(at_ns.unwrap_or_default());
        jiff::Timestamp::from_nanosecond(at_ns).ok()
    });
    let at = at.map(|at| format!(" --at {at}")).unwrap_or_default();
    let pid = request["pid"].as_u64().filter(|_| at_ns.is_some());
    let pid = pid.map(|pid| format!(" --pid {pid}")).unwrap_or_default();
    format!("--request-id {id}{at}{pid}")
}

/// The error, and the way out of it.
pub fn advised(error: anyhow::Error, flags: &str, after_conflict: &str) -> anyhow::Error {
    let Some(failure) = error.downcast_ref::<Failure>() else {
        return error;
    };
    match failure.code() {
        Code::Conflict => {
            Failure::new(Code::Conflict, format!("{failure}; {after_conflict}")).into()
        }
        code @ (Code::Unavailable | Code::Other) => {
            let message = format!("{failure}; {flags} repeats this very call");
            Failure::new(code, message).into()
        }
        _ => error,
    }
}

/// The text that ids are made from: the given one, else one that a repeat under the same id has too.
pub fn seed(given: Option<&str>, id: &str) -> String {
    given.map_or_else(|| format!("haversack-cli-{id}"), str::to_owned)
}
