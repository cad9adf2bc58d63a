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

/// What a command does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Write,
    Edit,
    Move,
    Remove,
}

impl Change {
    fn function(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Move => "rename",
            Self::Remove => "remove",
        }
    }

    /// How to go on when somebody else was there first. `look` shows what there is.
    fn after_conflict(self, look: &str) -> String {
        match self {
            Self::Write => {
                format!("{look}: --version VERSION replaces that one, --any whatever there is")
            }
            Self::Edit => {
                format!("{look}; without --version the edit applies to whatever there is")
            }
            Self::Move => "choose another path, or remove what is there first".to_owned(),
            Self::Remove => look.to_owned(),
        }
    }

    fn done(self, path: &str, from: &str) -> String {
        match self {
            Self::Write => format!("wrote {path}"),
            Self::Edit => format!("edited {path}"),
            Self::Move => format!("moved {from} to {path}"),
            Self::Remove => format!("removed {path}"),
        }
    }

    /// Why there was nothing to do.
    fn unchanged(self) -> &'static str {
        match self {
            Self::Write | Self::Edit => "says that already",
            Self::Move => "is as it was",
            Self::Remove => "is no file here",
        }
    }
}

/// Make the change, and say in one line what was done.
pub async fn run(
    change: Change,
    shared: &Shared,
    viewer: &Viewer,
    id: &RequestId,
    mut request: Value,
) -> anyhow::Result<()> {
    let text = |member: &str| request[member].as_str().unwrap_or_default().to_owned();
    let (path, from) = (text("path"), plain(&text("from")));
    let look = format!(
        "`haversack files cat {} {path} --json` shows it and its version",
        viewer.home
    );
    let caller = Caller::over_store(shared, Some(&viewer.home.system))?;
    request["viewer"] = viewer.to_json();
    let after_conflict = change.after_conflict(&look);
    let answer = id
        .call(
            &caller,
            "files",
            change.function(),
            request,
            &after_conflict,
        )
        .await?;
    if shared.json {
        return output::json(&answer);
    }
    let changed: Changed = serde_json::from_value(answer)?;
    let path = plain(&changed.path);
    let done = change.done(&path, &from);
    output::text(&match (changed.changed, changed.repeat) {
        (true, false) => done,
        (true, true) => format!("{done}: an earlier call had done it"),
        (false, _) => format!("{path} {}; nothing was changed", change.unchanged()),
    })
}
