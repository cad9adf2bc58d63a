//! The runs of a project as a tree for each task, from the store alone: lists of folders, then every run-info.yaml in
//! waves. A page holds whole tasks, because a task's tree needs all of its runs.

use super::{Fault, Node, Relation, TaskTree, TreeAnswer, TreeRequest, info};
use crate::format::run_info::RunInfo;
use crate::layout::concept::Concept;
use crate::layout::run_agent::{
    Place, ProjectId, RunId, TaskId, project_prefix, runs_prefix, tasks_begin,
};
use crate::limits::{
    SESSION_PROBLEMS_MAX, TREE_RUNS_PER_PAGE, TREE_RUNS_PER_TASK_MAX, TREE_TASKS_PER_PAGE,
};
use crate::ops::problems::Problems;
use crate::ops::projects::{project_of, require_task};
use crate::store::{Answer, ListRequest, Listing, Metered, Request, Store};
use crate::transform::run_tree::{self, Run};
use crate::types::{Error, Problem, ProblemKind, Result};

pub fn tree(store: &dyn Store, request: &TreeRequest) -> Result<TreeAnswer> {
    let store = Metered::new(store);
    let project = project_of(&request.home, Concept::Runs)?;
    let mut page = Page {
        store: &store,
        project: &project,
        problems: Problems::up_to(SESSION_PROBLEMS_MAX),
    };
    let after = request
        .continue_from
        .as_deref()
        .map(TaskId::parse)
        .transpose()?;
    let (tasks, mut next) = match &request.task {
        Some(task) => {
            let task = TaskId::parse(task)?;
            require_task(&store, &project, &task)?;
            (vec![task], None)
        }
        None => page.tasks(after.as_ref())?,
    };
    let mut listed = page.runs(&tasks)?;
    if let Some(last) = tasks.get(listed.len().saturating_sub(1))
        && listed.len() < tasks.len()
    {
        next = Some(last.clone());
    }
    let infos = page.infos(&listed)?;
    let mut infos = infos.into_iter();
    let trees = listed.iter_mut().map(|(task, runs)| {
        let infos: Vec<Option<RunInfo>> = infos.by_ref().take(runs.len()).collect();
        TaskTree {
            task: task.to_string(),
            runs: nodes(runs, infos),
        }
    });
    Ok(TreeAnswer {
        tasks: trees.collect(),
        continue_from: next.map(|task| task.to_string()),
        problems: page.problems.into_told(),
        cost: store.cost(),
    })
}

struct Page<'a> {
    store: &'a Metered<'a>,
    project: &'a ProjectId,
    problems: Problems,
}

impl Page<'_> {
    /// The tasks behind one, as many as a page takes, and the last of them where there are more.
    fn tasks(&mut self, after: Option<&TaskId>) -> Result<(Vec<TaskId>, Option<TaskId>)> {
        let prefix = project_prefix(self.project);
        let folder_of = |task: &TaskId| format!("{prefix}{task}/");
        let mut list = ListRequest {
            prefix: prefix.clone(),
            delimiter: true,
            start_after: Some(tasks_begin(self.project)),
            ..ListRequest::default()
        };
        let mut tasks: Vec<TaskId> = Vec::new();
        loop {
            let listing = self.store.list(list.clone())?;
            for folder in &listing.prefixes {
                let name = folder
                    .strip_prefix(&prefix)
                    .and_then(|name| name.strip_suffix('/'));
                match name.map(TaskId::parse) {
                    // In the order of the list, which has the slash behind the name.
                    Some(Ok(task)) if after.is_none_or(|after| *folder > folder_of(after)) => {
                        tasks.push(task);
                    }
                    Some(Err(_)) if name.is_some_and(|name| name.starts_with("task-")) => {
                        let message = "a folder that is named like a task, and is none by its name";
                        self.skip(folder, message);
                    }
                    _ => {}
                }
            }
            self.skip_skipped(&listing);
            list.cursor = listing.cursor;
            if tasks.len() > TREE_TASKS_PER_PAGE || list.cursor.is_none() {
                break;
            }
        }
        let more = tasks.len() > TREE_TASKS_PER_PAGE;
        tasks.truncate(TREE_TASKS_PER_PAGE);
        let last = tasks.last().filter(|_| more).cloned();
        Ok((tasks, last))
    }

    /// The runs of the first of these tasks, of as many as make a page; one wave for every list page.
    fn runs(&mut self, tasks: &[TaskId]) -> Result<Vec<(TaskId, Vec<RunId>)>> {
        let mut listed: Vec<(TaskId, Vec<RunId>)> = tasks
            .iter()
            .map(|task| (task.clone(), Vec::new()))
            .collect();
        let mut open: Vec<(usize, Option<String>)> =
            (0..tasks.len()).map(|at| (at, None)).collect();
        while !open.is_empty() {
            let wave = open.iter().filter_map(|(at, cursor)| {
                Some(Request::List(ListRequest {
                    prefix: runs_prefix(self.project, tasks.get(*at)?),
                    delimiter: true,
                    cursor: cursor.clone(),
                    ..ListRequest::default()
                }))
            });
            let answers = self.store.read(wave.collect())?;
            let mut further = Vec::new();
            for ((at, _), answer) in open.into_iter().zip(answers) {
                let Some((task, runs)) = listed.get_mut(at) else {
                    continue;
                };
                let prefix = runs_prefix(self.project, task);
                let Answer::Listing(listing) = answer.map_err(|error| error.about(&prefix))? else {
                    continue;
                };
                for folder in &listing.prefixes {
                    let name = folder
                        .strip_prefix(&prefix)
                        .and_then(|name| name.strip_suffix('/'));
                    match name.map(RunId::parse) {
                        Some(Ok(run)) => runs.push(run),
                        _ => self.skip(folder, "a folder among the runs that is none by its name"),
                    }
                }
                if runs.len() > TREE_RUNS_PER_TASK_MAX {
                    return Err(Error::too_large(format!(
                        "task {task} has over {TREE_RUNS_PER_TASK_MAX} runs, which are too many for one tree; \
                         list {prefix} instead, and ask runs.info"
                    ))
                    .at(&prefix));
                }
                self.skip_skipped(&listing);
                further.extend(listing.cursor.map(|cursor| (at, Some(cursor))));
            }
            let kept = fitting(&listed);
            listed.truncate(kept);
            open = further;
            open.retain(|(at, _)| *at < kept);
        }
        Ok(listed)
    }

    /// What every run's file says, in waves of 256.
    fn infos(&mut self, listed: &[(TaskId, Vec<RunId>)]) -> Result<Vec<Option<RunInfo>>> {
        let places = listed
            .iter()
            .flat_map(|(task, runs)| runs.iter().map(move |run| (task, run)));
        let keys = places.map(|(task, run)| {
            let (project, task, run) = (self.project.clone(), task.clone(), run.clone());
            Place::RunInfo { project, task, run }.key()
        });
        let keys: Vec<String> = keys.collect();
        let mut infos = Vec::with_capacity(keys.len());
        for part in keys.chunks(crate::limits::WAVE_REQUESTS_MAX) {
            let wave = part.iter().map(|key| info::request(key)).collect();
            for (key, answer) in part.iter().zip(self.store.read(wave)?) {
                let mut problems = Vec::new();
                let found = match answer {
                    Ok(Answer::Blob(Some(blob))) => info::read(key, blob, &mut problems),
                    Ok(_) => {
                        let message =
                            "is not there; the run stands in the tree without what it would say";
                        problems.push(Problem::new(ProblemKind::Unreadable, key, message));
                        None
                    }
                    Err(error) => {
                        let error = error.about(key);
                        if error.code == crate::types::ErrorCode::Unavailable {
                            return Err(error);
                        }
                        problems.push(Problem::new(ProblemKind::Unreadable, key, error.message));
                        None
                    }
                };
                self.problems.extend(problems);
                infos.push(found);
            }
        }
        Ok(infos)
    }

    fn skip(&mut self, key: &str, message: &str) {
        self.problems
            .push(Problem::new(ProblemKind::Skipped, key, message));
    }

    fn skip_skipped(&mut self, listing: &Listing) {
        for skipped in &listing.skipped {
            self.skip(&skipped.key, &skipped.cause);
        }
    }
}

/// How many of these tasks make a page: at least one.
fn fitting(listed: &[(TaskId, Vec<RunId>)]) -> usize {
    let mut runs = 0;
    let fits = listed.iter().take_while(|(_, of_task)| {
        runs += of_task.len();
        runs <= TREE_RUNS_PER_PAGE
    });
    fits.count().max(1).min(listed.len())
}

fn nodes(runs: &[RunId], infos: Vec<Option<RunInfo>>) -> Vec<Node> {
    let references = runs.iter().zip(&infos).map(|(run, info)| Run {
        id: run.to_string(),
        age: run.age(),
        parent: info.as_ref().and_then(|info| info.parent_run_id.clone()),
        previous: info.as_ref().and_then(|info| info.previous_run_id.clone()),
    });
    let references: Vec<Run<_>> = references.collect();
    let mut infos: Vec<(bool, RunInfo)> = infos
        .into_iter()
        .map(|info| (info.is_none(), info.unwrap_or_default()))
        .collect();
    let name = |at: usize| {
        references
            .get(at)
            .map(|run| run.id.clone())
            .unwrap_or_default()
    };
    let placed = run_tree::tree(&references).into_iter();
    placed
        .map(|node| {
            let (unreadable, info) = infos
                .get_mut(node.index)
                .map(std::mem::take)
                .unwrap_or_default();
            let mut faults: Vec<Fault> = node.faults.into_iter().map(fault).collect();
            faults.extend(unreadable.then_some(Fault::Unreadable));
            Node {
                run: name(node.index),
                depth: node.depth,
                relation: match node.relation {
                    run_tree::Relation::Root => Relation::Root,
                    run_tree::Relation::Child => Relation::Child,
                    run_tree::Relation::Earlier => Relation::Earlier,
                },
                above: node.above.map(name),
                faults,
                parent_run_id: info.parent_run_id,
                previous_run_id: info.previous_run_id,
                agent: info.agent,
                status: info.status,
                start_ms: info.start_ms,
                end_ms: info.end_ms,
                exit_code: info.exit_code,
            }
        })
        .collect()
}

fn fault(fault: run_tree::Fault) -> Fault {
    match fault {
        run_tree::Fault::DanglingParent => Fault::DanglingParent,
        run_tree::Fault::DanglingPrevious => Fault::DanglingPrevious,
        run_tree::Fault::SharedPrevious => Fault::SharedPrevious,
        run_tree::Fault::Cycle => Fault::Cycle,
    }
}
