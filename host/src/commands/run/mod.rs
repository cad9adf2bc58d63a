//! `haversack run`: projects, tasks and runs of run-agent. What each subcommand takes; what it does stands in the
//! files beside.

mod change;
mod create;
mod fact;
pub mod look;
pub mod stamp;

use clap::{Args, Subcommand};

use super::Shared;
use super::home::Home;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack run create-project run-agent:proj --root /srv/proj --source '/srv/proj/src=the code'
  haversack run create-task run-agent:proj 'Fix the bug' --text 'Tea is cold.'
  haversack run start run-agent:proj TASK --agent claude --text 'Fix it.' -- claude -p
  haversack run update run-agent:proj TASK RUN --status completed --exit-code 0 --end 2026-02-20T09:40:00Z
  haversack run tree run-agent:proj
  haversack run done run-agent:proj TASK
  haversack run fact add run-agent:proj --run RUN --title 'Tea is green' --text 'As everybody knows.'

The store is ~/run-agent unless --store says otherwise. Names carry the moment and the process: a repeat of a call \
that got no answer needs --request-id, --at and --pid, which the message says.")]
pub struct Run {
    #[command(subcommand)]
    action: Action,
}

/// Which task.
#[derive(Debug, Args)]
struct Task {
    /// The project, as run-agent:PROJECT
    home: Home,
    /// The task's folder, as create-task prints it
    task: String,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a project: its home-folders.md
    CreateProject(create::CreateProject),
    /// Print which folders a project works in
    Folders(look::Folders),
    /// Make a task: its folder and TASK.md
    CreateTask(create::CreateTask),
    /// Print what a task is and how it stands
    Task(look::ShowTask),
    /// Overwrite TASK_STATE.md
    State(change::State),
    /// Mark a task as done, or reopen it
    Done(change::Done),
    /// Make a run: its folder, prompt.md and run-info.yaml; nothing is executed
    Start(Box<create::Start>),
    /// Change fields of a run's run-info.yaml
    Update(Box<change::Update>),
    /// Print what a run's run-info.yaml says
    Show(look::Show),
    /// Print the runs of a project's tasks as trees
    Tree(look::Tree),
    /// Write, list and print facts
    Fact(fact::Fact),
}

impl Run {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match &self.action {
            Action::CreateProject(create) => create.run(shared).await,
            Action::Folders(folders) => folders.run(shared).await,
            Action::CreateTask(create) => create.run(shared).await,
            Action::Task(task) => task.run(shared).await,
            Action::State(state) => state.run(shared).await,
            Action::Done(done) => done.run(shared).await,
            Action::Start(start) => start.run(shared).await,
            Action::Update(update) => update.run(shared).await,
            Action::Show(show) => show.run(shared).await,
            Action::Tree(tree) => tree.run(shared).await,
            Action::Fact(fact) => fact.run(shared).await,
        }
    }
}
