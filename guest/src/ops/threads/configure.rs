//! Setting up the workspace of a thread, once.

use serde::{Deserialize, Serialize};

use crate::format::utc;
use crate::layout::System;
use crate::layout::concept::{Concept, require};
use crate::layout::solven::{Place, ThreadId};
use crate::store::{
    Answer, Body, BodyKind, Condition, GetRequest, Metered, PutOptions, Range, Request, Store,
};
use crate::types::{Cost, Error, Home, Problem, ProblemKind, Result};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ConfigureRequest {
    pub home: Home,
    pub now_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ConfigureAnswer {
    pub configured_ms: Option<u64>,
    pub created: Vec<String>,
    pub problems: Vec<Problem>,
    pub cost: Cost,
}

/// Bytes of a marker that are read: a moment has 20.
const MARKER_BYTES: u64 = 64;

/// What a new shell of the thread reads.
const SHELL: &str = "\
# Set up by haversack. The thread's own Python environment, once there is one.
if [ -f /.venv/bin/activate ]; then
    . /.venv/bin/activate
fi
";

/// The marker is written last, so that a thread which has it has everything.
pub fn configure(store: &dyn Store, request: &ConfigureRequest) -> Result<ConfigureAnswer> {
    let store = Metered::new(store);
    require(System::parse(&request.home.system)?, Concept::Workspace)?;
    let thread = ThreadId::parse(&request.home.id)?;
    let moment = utc::print(request.now_ms).ok_or_else(|| {
        let ms = request.now_ms;
        Error::invalid(format!("now-ms {ms} is no moment that a calendar has"))
    })?;
    let marker = Place::WorkspaceMarker {
        thread: thread.clone(),
    };
    let marker = marker.key();
    let mut answer = ConfigureAnswer {
        configured_ms: Some(request.now_ms - request.now_ms % 1_000),
        created: Vec::new(),
        problems: Vec::new(),
        cost: Cost::default(),
    };
    if !found(&store, &marker, &mut answer)? {
        let shell = Place::ShellConfig {
            thread: thread.clone(),
        };
        let node = Place::NodeConfig {
            thread: thread.clone(),
        };
        let json = format!("{{\n  \"name\": \"{thread}\",\n  \"private\": true\n}}\n");
        let files = [
            (shell.key(), SHELL.to_owned(), "text/plain; charset=utf-8"),
            (node.key(), json, "application/json"),
            (
                marker.clone(),
                format!("{moment}\n"),
                "text/plain; charset=utf-8",
            ),
        ];
        for (key, text, content_type) in files {
            let is_marker = key == marker;
            if create(&store, &key, text, content_type)? {
                answer.created.push(key);
            } else if is_marker {
                found(&store, &key, &mut answer)?;
            }
        }
    }
    answer.cost = store.cost();
    Ok(answer)
}

/// Whether the thread was configured before, and when.
fn found(store: &Metered<'_>, marker: &str, answer: &mut ConfigureAnswer) -> Result<bool> {
    let request = Request::Get(GetRequest {
        key: marker.to_owned(),
        range: Range::Span {
            start_bytes: 0,
            length_bytes: MARKER_BYTES,
        },
        kind: BodyKind::Text,
    });
    let read = store.read(vec![request])?.pop();
    let Some(Answer::Blob(Some(blob))) = read.transpose().map_err(|error| error.about(marker))?
    else {
        return Ok(false);
    };
    let text = String::from_utf8_lossy(blob.body.as_bytes());
    answer.configured_ms = utc::parse(text.trim());
    if answer.configured_ms.is_none() {
        let message = "holds no moment like 2026-11-22T09:00:00Z; the thread counts as configured";
        let problem = Problem::new(ProblemKind::Unreadable, marker, message);
        answer.problems.push(problem);
    }
    Ok(true)
}

/// Put a file where none is; answers whether this call did it, as far as it can tell.
fn create(store: &Metered<'_>, key: &str, text: String, content_type: &str) -> Result<bool> {
    let options = PutOptions {
        condition: Condition::IfAbsent,
        content_type: Some(content_type.to_owned()),
        metadata: Vec::new(),
    };
    match store.put(key, Body::Text(text), options) {
        Ok(_) => Ok(true),
        Err(error) if error.is_unsure() && store.head(key)?.is_some() => Ok(false),
        Err(error) => Err(error.about(key)),
    }
}
