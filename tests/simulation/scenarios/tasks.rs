//! `projects.*` and `facts.write`: a project is made once, tasks and facts that would have the same name are all there,
//! a state is overwritten whole, a task is done.

use std::collections::BTreeSet;

use haversack_core::ops::facts::{WriteRequest, list, write};
use haversack_core::ops::projects::{
    CreateRequest, CreateTaskRequest, HomeFolders, MarkDoneRequest, SetFoldersRequest,
    SetStateRequest, create, create_task, folders, mark_done, reopen, set_folders, set_state, task,
};
use haversack_core::ops::runs::{TreeRequest, tree};
use haversack_core::store::Store;
use haversack_core::types::{Error, ErrorCode, Home};
use haversack_host::store::faulty::Random;
use haversack_host::store::memory::{Object, Objects};
use haversack_host::store::{Condition, MemoryStore, PutOptions};

use crate::scenario::{Client, Crossing, Outcome, Scenario};

const TASK: &str = "task-20260220-0930001230-42-fix";
const AT_MS: u64 = 1_771_579_900_000;

#[derive(Clone, Copy)]
pub struct Tasks {
    /// Whether the task is done to begin with, and is reopened instead of marked: no store deletes under a condition, so
    /// that a repeat of either after the other is done again.
    pub done: bool,
}

#[derive(Clone, Debug)]
pub enum Operation {
    Create { id: String },
    SetFolders { id: String },
    CreateTask { id: String },
    SetState { id: String },
    MarkDone { id: String },
    Reopen,
    WriteFact { id: String },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Settled,
    /// The project is there already.
    Refused,
}

#[derive(Clone, Debug, PartialEq, Default)]
pub struct State {
    root: Option<String>,
    tasks: BTreeSet<String>,
    state: Option<String>,
    done: bool,
    facts: BTreeSet<String>,
    requests: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct View {
    root: Option<String>,
    tasks: Vec<String>,
    state: Option<String>,
    done: bool,
    facts: Vec<String>,
}

fn home() -> Home {
    Home {
        system: "run-agent".to_owned(),
        id: "proj".to_owned(),
    }
}

fn home_folders(root: &str) -> HomeFolders {
    HomeFolders {
        project_root: root.to_owned(),
        source_folders: Vec::new(),
        additional_folders: Vec::new(),
    }
}

fn view(store: &dyn Store) -> Result<View, Error> {
    let request = TreeRequest {
        home: home(),
        task: None,
        continue_from: None,
    };
    let mut tasks = Vec::new();
    for found in tree(store, &request)?.tasks {
        if found.task != TASK {
            tasks.extend(task(store, &home(), &found.task)?.text);
        }
    }
    tasks.sort();
    let known = task(store, &home(), TASK)?;
    let facts = list(store, &home(), None, None)?.facts;
    let mut facts: Vec<String> = facts.into_iter().map(|fact| fact.title).collect();
    facts.sort();
    Ok(View {
        root: folders(store, &home())?
            .folders
            .map(|folders| folders.project_root),
        tasks,
        state: known.state,
        done: known.done,
        facts,
    })
}

impl Scenario for Tasks {
    type Operation = Operation;
    type Answer = Answer;
    type Model = State;
    type View = View;

    fn name(&self) -> String {
        let word = if self.done { "done" } else { "open" };
        format!("tasks-{word}")
    }

    fn covers(&self) -> &'static [&'static str] {
        &[
            "facts.write",
            "projects.create",
            "projects.create-task",
            "projects.mark-done",
            "projects.set-folders",
            "projects.set-state",
        ]
    }

    fn store(&self) -> MemoryStore {
        let mut objects = Objects::new();
        let files = ["TASK.md", "DONE"].into_iter();
        for file in files.take(1 + usize::from(self.done)) {
            let options = PutOptions {
                condition: Condition::Always,
                content_type: None,
                metadata: Vec::new(),
            };
            let key = format!("proj/{TASK}/{file}");
            objects.insert(key, Object::new(Vec::new(), options, 0));
        }
        MemoryStore::from_objects(false, objects)
    }

    fn model(&self) -> State {
        State {
            done: self.done,
            ..State::default()
        }
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = |caller: usize| -> Vec<Operation> {
            let operation = |number| {
                let id = format!("c{caller}-{number}");
                match random.below(6) {
                    0 => Operation::Create { id },
                    1 => Operation::SetFolders { id },
                    2 => Operation::CreateTask { id },
                    3 => Operation::SetState { id },
                    4 if self.done => Operation::Reopen,
                    4 => Operation::MarkDone { id },
                    _ => Operation::WriteFact { id },
                }
            };
            (0..3).map(operation).collect()
        };
        (0..callers).map(&mut program).collect()
    }

    fn walk(&self) -> Vec<Operation> {
        let id = |id: &str| id.to_owned();
        vec![
            Operation::Create { id: id("a") },
            Operation::Create { id: id("b") },
            Operation::SetFolders { id: id("c") },
            Operation::CreateTask { id: id("d") },
            Operation::SetState { id: id("e") },
            match self.done {
                true => Operation::Reopen,
                false => Operation::MarkDone { id: id("f") },
            },
            Operation::WriteFact { id: id("g") },
        ]
    }

    fn crossings(&self) -> Vec<Crossing<Operation>> {
        type Make = fn(String) -> Operation;
        let makes: [Make; 5] = [
            |id| Operation::Create { id },
            |id| Operation::SetFolders { id },
            |id| Operation::CreateTask { id },
            |id| Operation::SetState { id },
            |id| Operation::WriteFact { id },
        ];
        let crossing = |make: Make| Crossing {
            before: Vec::new(),
            first: make("x".to_owned()),
            second: make("y".to_owned()),
        };
        let mut crossings: Vec<_> = makes.into_iter().map(crossing).collect();
        let done = |id: &str| match self.done {
            true => Operation::Reopen,
            false => Operation::MarkDone { id: id.to_owned() },
        };
        crossings.push(Crossing {
            before: Vec::new(),
            first: done("x"),
            second: done("y"),
        });
        crossings
    }

    fn run(&self, store: &dyn Store, operation: &Operation, _: Client) -> Outcome<Answer> {
        let home = home();
        let done = match operation {
            Operation::Create { id } => {
                let request = CreateRequest {
                    home,
                    request_id: id.clone(),
                    folders: home_folders(id),
                };
                match create(store, &request) {
                    Err(error) if error.code == ErrorCode::Conflict => {
                        return Outcome::Done(Answer::Refused);
                    }
                    other => other.map(drop),
                }
            }
            Operation::SetFolders { id } => {
                let request = SetFoldersRequest {
                    home,
                    request_id: id.clone(),
                    version: None,
                    folders: home_folders(id),
                };
                set_folders(store, &request).map(drop)
            }
            Operation::CreateTask { id } => {
                let request = CreateTaskRequest {
                    home,
                    request_id: id.clone(),
                    at_ms: AT_MS,
                    at_ns: None,
                    pid: 42,
                    seed: "seed".to_owned(),
                    name: "same".to_owned(),
                    text: id.clone(),
                };
                create_task(store, &request).map(drop)
            }
            Operation::SetState { id } => {
                let request = SetStateRequest {
                    home,
                    task: TASK.to_owned(),
                    request_id: id.clone(),
                    text: id.clone(),
                };
                set_state(store, &request).map(drop)
            }
            Operation::MarkDone { id } => {
                let request = MarkDoneRequest {
                    home,
                    task: TASK.to_owned(),
                    request_id: id.clone(),
                };
                mark_done(store, &request).map(drop)
            }
            Operation::Reopen => reopen(store, &home, TASK).map(drop),
            Operation::WriteFact { id } => {
                let request = WriteRequest {
                    home,
                    task: None,
                    request_id: id.clone(),
                    at_ms: AT_MS,
                    at_ns: None,
                    pid: 42,
                    run: "20260220-0930000000-1".to_owned(),
                    title: id.clone(),
                    name: Some("same".to_owned()),
                    body: String::new(),
                };
                write(store, &request).map(drop)
            }
        };
        Outcome::of(done.map(|()| Answer::Settled))
    }

    fn renamed(&self, operation: &Operation, attempt: u32) -> Operation {
        let again = |id: &str| format!("{id}-{attempt}");
        match operation {
            Operation::Create { id } => Operation::Create { id: again(id) },
            Operation::SetFolders { id } => Operation::SetFolders { id: again(id) },
            Operation::CreateTask { id } => Operation::CreateTask { id: again(id) },
            Operation::SetState { id } => Operation::SetState { id: again(id) },
            Operation::MarkDone { id } => Operation::MarkDone { id: again(id) },
            Operation::Reopen => Operation::Reopen,
            Operation::WriteFact { id } => Operation::WriteFact { id: again(id) },
        }
    }

    fn apply(&self, model: &mut State, operation: &Operation, answer: Option<&Answer>) -> bool {
        match operation {
            Operation::Create { id } => {
                let mine = model.requests.contains(id);
                let refused = model.root.is_some() && !mine;
                if !refused && !mine {
                    model.requests.insert(id.clone());
                    model.root = Some(id.clone());
                }
                return answer.is_none_or(|answer| (*answer == Answer::Refused) == refused);
            }
            Operation::SetFolders { id } => {
                if model.requests.insert(id.clone()) {
                    model.root = Some(id.clone());
                }
            }
            Operation::CreateTask { id } => {
                model.tasks.insert(id.clone());
            }
            Operation::SetState { id } => {
                if model.requests.insert(id.clone()) {
                    model.state = Some(id.clone());
                }
            }
            Operation::MarkDone { .. } => model.done = true,
            Operation::Reopen => model.done = false,
            Operation::WriteFact { id } => {
                model.facts.insert(id.clone());
            }
        }
        true
    }

    fn look(&self, store: &dyn Store) -> Result<View, String> {
        view(store).map_err(|error| error.message)
    }

    fn shown(&self, model: &State) -> View {
        View {
            root: model.root.clone(),
            tasks: model.tasks.iter().cloned().collect(),
            state: model.state.clone(),
            done: model.done,
            facts: model.facts.iter().cloned().collect(),
        }
    }
}
