//! Printing projects, tasks, runs and their trees.

use clap::Args;
use serde_json::{Value, json};

use super::Task;
use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::clock::written;
use crate::commands::home::Home;
use crate::commands::output::{self, Problem, plain};

#[derive(Debug, Args)]
pub struct Folders {
    /// The project, as run-agent:PROJECT
    home: Home,
}

impl Folders {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let arguments = json!({ "home": self.home.to_json() });
        let answer = caller.call("projects", "folders", arguments).await?;
        if shared.json {
            return output::json(&answer);
        }
        tell(&answer)?;
        let folders = &answer["folders"];
        if folders.is_null() {
            eprintln!(
                "haversack: {} has no home-folders.md that can be read",
                self.home
            );
            return Ok(());
        }
        let mut table = output::Table::new(&["WHAT", "PATH", "DESCRIPTION"]);
        table.row([
            "root".to_owned(),
            said(&folders["project-root"]),
            String::new(),
        ]);
        for (name, list) in [
            ("source", "source-folders"),
            ("additional", "additional-folders"),
        ] {
            for folder in folders[list].as_array().into_iter().flatten() {
                table.row([
                    name.to_owned(),
                    said(&folder["path"]),
                    said(&folder["description"]),
                ]);
            }
        }
        table.print()
    }
}

#[derive(Debug, Args)]
pub struct ShowTask {
    #[command(flatten)]
    task: Task,
}

impl ShowTask {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.task.home.system))?;
        let arguments = json!({ "home": self.task.home.to_json(), "task": self.task.task });
        let answer = caller.call("projects", "task", arguments).await?;
        if shared.json {
            return output::json(&answer);
        }
        tell(&answer)?;
        let done = if answer["done"] == true {
            "done"
        } else {
            "open"
        };
        output::text(&format!("{}: {done}\n", plain(&self.task.task)))?;
        for (name, text) in [("Task", "text"), ("State", "state")] {
            if let Some(text) = answer[text].as_str() {
                output::text(&format!("\n## {name}\n\n{text}"))?;
            }
        }
        Ok(())
    }
}

#[derive(Debug, Args)]
pub struct Show {
    #[command(flatten)]
    task: Task,
    /// The run, as start and tree print it
    run: String,
}

impl Show {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.task.home.system))?;
        let home = self.task.home.to_json();
        let arguments = json!({ "home": home, "task": self.task.task, "run": self.run });
        let answer = caller.call("runs", "info", arguments).await?;
        if shared.json {
            return output::json(&answer);
        }
        tell(&answer)?;
        let members = answer["info"].as_object().into_iter().flatten();
        for (name, value) in members.filter(|(_, value)| !value.is_null()) {
            let value = match value.as_u64().filter(|_| name.ends_with("-ms")) {
                Some(ms) => written(ms),
                None => said(value),
            };
            let name = name.strip_suffix("-ms").unwrap_or(name);
            output::text(&format!("{name:<16}  {}", plain(&value)))?;
        }
        Ok(())
    }
}

#[derive(Debug, Args)]
pub struct Tree {
    /// The project, as run-agent:PROJECT
    home: Home,
    /// Only this task
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
}

impl Tree {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let mut request = json!({ "home": self.home.to_json(), "task": self.task });
        let (mut tasks, mut problems) = (Vec::new(), Vec::new());
        loop {
            let arguments = json!({ "request": request });
            let mut page = caller.call("runs", "tree", arguments).await?;
            if shared.json {
                problems.extend(page["problems"].as_array().cloned().into_iter().flatten());
            } else {
                tell(&page)?;
            }
            for task in page["tasks"].as_array().into_iter().flatten() {
                if !shared.json {
                    print_task(task)?;
                }
                tasks.push(task.clone());
            }
            match page["continue-from"].take() {
                Value::Null => break,
                from => request["continue-from"] = from,
            }
        }
        if shared.json {
            return output::json(&json!({ "tasks": tasks, "problems": problems }));
        }
        if tasks.is_empty() {
            eprintln!("haversack: {} has no tasks", self.home);
        }
        Ok(())
    }
}

fn print_task(task: &Value) -> anyhow::Result<()> {
    output::text(&plain(&said(&task["task"])))?;
    for node in task["runs"].as_array().into_iter().flatten() {
        // A chain as long as a task may have would fill the screen with blanks.
        let depth = usize::try_from(node["depth"].as_u64().unwrap_or_default())?.min(40);
        let mut words = vec![said(&node["run"])];
        for name in ["agent", "status"] {
            words.extend(node[name].as_str().map(str::to_owned));
        }
        let ended = !node["end-ms"].is_null();
        words.extend(ended.then(|| format!("exit {}", node["exit-code"])));
        if node["relation"] == "earlier" {
            words.push("(restarted)".to_owned());
        }
        let faults = node["faults"].as_array().into_iter().flatten();
        words.extend(faults.map(|fault| format!("[{}]", said(fault))));
        output::text(&format!(
            "{}{}",
            "  ".repeat(depth + 1),
            plain(&words.join("  "))
        ))?;
    }
    Ok(())
}

/// The problems of an answer, on standard error.
pub fn tell(answer: &Value) -> anyhow::Result<()> {
    let problems: Vec<Problem> = serde_json::from_value(answer["problems"].clone())?;
    output::problems(&problems);
    Ok(())
}

/// Text without its quotes.
pub fn said(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
