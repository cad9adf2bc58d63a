//! Writing, editing, moving and deleting a file, and what is said of it.

use serde::Deserialize;
use serde_json::Value;

use super::Viewer;
use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::change::RequestId;
use crate::commands::output::{self, plain};

#[derive(Debug, Deserialize)]
struct Changed {
    path: String,
    changed: bool,
    repeat: bool,
}

pub async fn write(
    shared: &Shared,
    viewer: &Viewer,
    id: &RequestId,
    request: Value,
) -> anyhow::Result<()> {
    let path = text(&request, "path");
    let after_conflict = format!(
        "`haversack files cat {} {path} --json` shows it and its version: --version VERSION replaces that \
         one, --any whatever there is",
        viewer.home
    );
    let answer = call(shared, viewer, id, ("write", request), &after_conflict).await?;
    say(
        shared,
        answer,
        |path| format!("wrote {path}"),
        "says that already",
    )
}

pub async fn edit(
    shared: &Shared,
    viewer: &Viewer,
    id: &RequestId,
    request: Value,
) -> anyhow::Result<()> {
    let path = text(&request, "path");
    let after_conflict = format!(
        "`haversack files cat {} {path} --json` shows it and its version; without --version the edit \
         applies to whatever there is",
        viewer.home
    );
    let answer = call(shared, viewer, id, ("edit", request), &after_conflict).await?;
    say(
        shared,
        answer,
        |path| format!("edited {path}"),
        "says that already",
    )
}

pub async fn mv(
    shared: &Shared,
    viewer: &Viewer,
    id: &RequestId,
    request: Value,
) -> anyhow::Result<()> {
    let from = text(&request, "from");
    let after_conflict = "choose another path, or remove what is there first";
    let answer = call(shared, viewer, id, ("rename", request), after_conflict).await?;
    let done = |path: &str| format!("moved {} to {path}", plain(&from));
    say(shared, answer, done, "is as it was")
}

pub async fn rm(
    shared: &Shared,
    viewer: &Viewer,
    id: &RequestId,
    request: Value,
) -> anyhow::Result<()> {
    let path = text(&request, "path");
    let after_conflict = format!(
        "`haversack files cat {} {path} --json` shows it and its version",
        viewer.home
    );
    let answer = call(shared, viewer, id, ("remove", request), &after_conflict).await?;
    say(
        shared,
        answer,
        |path| format!("removed {path}"),
        "is no file here",
    )
}

fn text(request: &Value, member: &str) -> String {
    request[member].as_str().unwrap_or_default().to_owned()
}

async fn call(
    shared: &Shared,
    viewer: &Viewer,
    id: &RequestId,
    (function, mut request): (&str, Value),
    after_conflict: &str,
) -> anyhow::Result<Value> {
    let caller = Caller::over_store(shared, Some(&viewer.home.system))?;
    request["viewer"] = viewer.to_json();
    id.call(&caller, "files", function, request, after_conflict)
        .await
}

/// One line of what was done, or why there was nothing to do.
fn say(
    shared: &Shared,
    answer: Value,
    done: impl FnOnce(&str) -> String,
    unchanged: &str,
) -> anyhow::Result<()> {
    if shared.json {
        return output::json(&answer);
    }
    let changed: Changed = serde_json::from_value(answer)?;
    let path = plain(&changed.path);
    output::text(&match (changed.changed, changed.repeat) {
        (true, false) => done(&path),
        (true, true) => format!("{}: an earlier call had done it", done(&path)),
        (false, _) => format!("{path} {unchanged}; nothing was changed"),
    })
}
