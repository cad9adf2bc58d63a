//! `haversack run fact`: writing, listing and printing facts.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::create::say;
use super::look::{said, tell};
use super::stamp::Stamp;
use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::change::TextSource;
use crate::commands::home::Home;
use crate::commands::output;

#[derive(Debug, Args)]
pub struct Fact {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write a fact as a new file
    Add(Add),
    /// List the facts of a project, or of a task
    Ls(Ls),
    /// Print a fact
    Show(Show),
}

/// Whose.
#[derive(Debug, Args)]
struct Scope {
    /// The project, as run-agent:PROJECT
    home: Home,
    /// Of this task [default: of the project]
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
}

#[derive(Debug, Args)]
struct Add {
    #[command(flatten)]
    scope: Scope,
    /// The run that found it out
    #[arg(long, value_name = "RUN")]
    run: String,
    #[arg(long, value_name = "TEXT")]
    title: String,
    /// For the name of the file [default: the title]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    text: TextSource,
    #[command(flatten)]
    stamp: Stamp,
}

#[derive(Debug, Args)]
struct Ls {
    #[command(flatten)]
    scope: Scope,
}

#[derive(Debug, Args)]
struct Show {
    /// The project, as run-agent:PROJECT
    home: Home,
    /// The fact's key, as ls prints it
    key: String,
}

impl Fact {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match &self.action {
            Action::Add(add) => add.run(shared).await,
            Action::Ls(ls) => ls.run(shared).await,
            Action::Show(show) => show.run(shared).await,
        }
    }
}

impl Add {
    async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let body = self.text.read()?;
        let caller = Caller::over_store(shared, Some(&self.scope.home.system))?;
        let request = json!({
            "home": self.scope.home.to_json(),
            "task": self.scope.task,
            "run": self.run,
            "title": self.title,
            "name": self.name,
            "body": body,
        });
        let answer = self
            .stamp
            .call(&caller, ("facts", "write"), request)
            .await?;
        say(shared, &answer, &answer["key"])
    }
}

impl Ls {
    async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.scope.home.system))?;
        let mut arguments = json!({ "home": self.scope.home.to_json(), "task": self.scope.task });
        let (mut facts, mut problems) = (Vec::new(), Vec::new());
        loop {
            let mut page = caller.call("facts", "list", arguments.clone()).await?;
            if shared.json {
                problems.extend(page["problems"].as_array().cloned().into_iter().flatten());
            } else {
                tell(&page)?;
            }
            facts.extend(page["facts"].as_array().cloned().into_iter().flatten());
            match page["continue-from"].take() {
                Value::Null => break,
                from => arguments["continue-from"] = from,
            }
        }
        if shared.json {
            return output::json(&json!({ "facts": facts, "problems": problems }));
        }
        let mut table = output::Table::new(&["CREATED", "TITLE", "KEY"]);
        for fact in &facts {
            table.row(["created-at", "title", "key"].map(|name| said(&fact[name])));
        }
        table.print()
    }
}

impl Show {
    async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let arguments = json!({ "home": self.home.to_json(), "key": self.key });
        let answer = caller.call("facts", "read", arguments).await?;
        if shared.json {
            return output::json(&answer);
        }
        output::text(&format!(
            "# {}\n\n{}",
            said(&answer["fact"]["title"]),
            said(&answer["body"])
        ))
    }
}
