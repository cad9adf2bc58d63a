//! `haversack tenant open`: start a user, and say what it has.

use clap::Args;
use haversack_host::hydrate::Placement;
use serde::Deserialize;
use serde_json::{Value, json};

use super::repeatable;
use super::template::Template;
use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::clock;
use crate::commands::home::Home;
use crate::commands::output::{self, Problem, Table};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack tenant open moltbot:user_1
  haversack tenant open moltbot:user_1 --template ./template --workspace

A user that is there is left as it is, and the template is of no use to it. Of two that open a new one at once \
both go on with the same files. Stopped anywhere, run it again.")]
pub struct Open {
    #[command(flatten)]
    pub opening: Opening,
}

/// What starting a user takes.
#[derive(Debug, Args)]
pub struct Opening {
    /// Whose
    pub home: Home,
    #[command(flatten)]
    template: Template,
    /// The workspace too
    #[arg(long)]
    workspace: bool,
    /// The moment, instead of this machine's clock
    #[arg(long, value_name = "MOMENT", value_parser = clock::moment)]
    now: Option<u64>,
}

/// A user that started.
pub struct Opened {
    pub created: bool,
    pub files: Vec<Placement>,
    pub problems: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Page {
    created: bool,
    files: Vec<File>,
    next: Option<String>,
    problems: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    key: String,
    path: String,
    size_bytes: u64,
}

impl Opening {
    /// All pages of it.
    pub async fn open(&self, caller: &Caller) -> anyhow::Result<Opened> {
        let mut request = json!({
            "home": self.home.to_json(),
            "now-ms": self.now.map_or_else(clock::now_ms, Ok)?,
            "template": self.template.read()?,
            "workspace": self.workspace,
        });
        let mut opened = Opened {
            created: false,
            files: Vec::new(),
            problems: Vec::new(),
        };
        loop {
            let arguments = json!({ "request": request });
            let answer = caller.call("tenants", "open", arguments).await;
            let answer = answer.map_err(repeatable)?;
            let page: Page = serde_json::from_value(answer)?;
            opened.created |= page.created;
            opened.problems.extend(page.problems);
            opened
                .files
                .extend(page.files.into_iter().map(|file| Placement {
                    key: file.key,
                    path: file.path,
                    size_bytes: file.size_bytes,
                }));
            match page.next {
                Some(next) => request["cursor"] = json!(next),
                None => return Ok(opened),
            }
        }
    }
}

impl Opened {
    /// Problems, on standard error.
    pub fn tell(&self) -> anyhow::Result<()> {
        let problems: Vec<Problem> = serde_json::from_value(json!(self.problems))?;
        output::problems(&problems);
        Ok(())
    }
}

impl Open {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let home = &self.opening.home;
        let caller = Caller::over_store(shared, Some(&home.system))?;
        let opened = self.opening.open(&caller).await?;
        if shared.json {
            let file = |file: &Placement| json!({ "key": file.key, "path": file.path, "size-bytes": file.size_bytes });
            let files: Vec<Value> = opened.files.iter().map(file).collect();
            return output::json(&json!({
                "created": opened.created, "files": files, "problems": opened.problems
            }));
        }
        opened.tell()?;
        let what = if opened.created { "is new" } else { "is there" };
        output::text(&format!(
            "{home} {what}, with {} files to place",
            opened.files.len()
        ))?;
        if opened.files.is_empty() {
            return Ok(());
        }
        let mut table = Table::new(&["bytes", "below the root", "key"]).figures(0);
        for file in opened.files {
            table.row([file.size_bytes.to_string(), file.path, file.key]);
        }
        table.print()
    }
}
