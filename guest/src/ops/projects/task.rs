//! A task as it stands: TASK.md, TASK_STATE.md, and whether DONE is there.

use super::{
    MARKDOWN, MarkDoneRequest, ReopenAnswer, SetStateRequest, TaskAnswer, Written, check_text,
    project_of, require_task,
};
use crate::format::text::decode;
use crate::layout::concept::Concept;
use crate::layout::run_agent::{Place, ProjectId, TaskId};
use crate::protocol::document::{Change, edit};
use crate::protocol::request::RequestId;
use crate::store::{Answer, BodyKind, GetRequest, Metered, Range, Request, Store};
use crate::types::{Home, Problem, ProblemKind, Result};

pub fn task(store: &dyn Store, home: &Home, task: &str) -> Result<TaskAnswer> {
    let store = Metered::new(store);
    let place = TaskPlace::of(home, task)?;
    let get = |key: String| {
        Request::Get(GetRequest {
            key,
            range: Range::Whole,
            kind: BodyKind::Text,
        })
    };
    let keys = [place.text(), place.state(), place.done()];
    let wave = vec![
        get(place.text()),
        get(place.state()),
        Request::Head(place.done()),
    ];
    let mut problems = Vec::new();
    let mut texts = Vec::new();
    let mut done = false;
    for (key, answer) in keys.iter().zip(store.read(wave)?) {
        match answer.map_err(|error| error.about(key))? {
            Answer::Head(stat) => done = stat.is_some(),
            Answer::Blob(blob) => texts.push(blob.map(|blob| {
                let decoded = decode(blob.body.into_bytes());
                problems.extend(decoded.damage.map(|(offset, line)| {
                    let message = format!("is not UTF-8 from byte {offset} on; shown with U+FFFD");
                    Problem::new(ProblemKind::Repaired, key, message).on_line(line)
                }));
                decoded.text
            })),
            Answer::Listing(_) => {}
        }
    }
    let mut texts = texts.into_iter();
    let (text, state) = (texts.next().flatten(), texts.next().flatten());
    if text.is_none() && state.is_none() && !done {
        require_task(&store, &place.project, &place.task)?;
    }
    Ok(TaskAnswer {
        text,
        state,
        done,
        problems,
        cost: store.cost(),
    })
}

pub fn set_state(store: &dyn Store, request: &SetStateRequest) -> Result<Written> {
    let store = Metered::new(store);
    let place = TaskPlace::of(&request.home, &request.task)?;
    let id = RequestId::parse(&request.request_id)?;
    check_text("a state", &request.text)?;
    require_task(&store, &place.project, &place.task)?;
    let key = place.state();
    let edited = edit(&store, &key, &id, MARKDOWN, |_| {
        Ok(Change::Write(request.text.clone().into_bytes()))
    })?;
    Ok(Written::of(key, &edited, &store))
}

pub fn mark_done(store: &dyn Store, request: &MarkDoneRequest) -> Result<Written> {
    let store = Metered::new(store);
    let place = TaskPlace::of(&request.home, &request.task)?;
    let id = RequestId::parse(&request.request_id)?;
    require_task(&store, &place.project, &place.task)?;
    let key = place.done();
    let edited = edit(&store, &key, &id, "text/plain", |current| {
        Ok(match current.body {
            Some(_) => Change::Nothing,
            None => Change::Write(Vec::new()),
        })
    })?;
    Ok(Written::of(key, &edited, &store))
}

pub fn reopen(store: &dyn Store, home: &Home, task: &str) -> Result<ReopenAnswer> {
    let store = Metered::new(store);
    let place = TaskPlace::of(home, task)?;
    let key = place.done();
    let was_done = store.head(&key)?.is_some();
    if !was_done {
        require_task(&store, &place.project, &place.task)?;
    } else if let Some(Err(error)) = store.delete(vec![key.clone()])?.pop() {
        return Err(error.about(&key));
    }
    Ok(ReopenAnswer {
        was_done,
        cost: store.cost(),
    })
}

struct TaskPlace {
    project: ProjectId,
    task: TaskId,
}

impl TaskPlace {
    fn of(home: &Home, task: &str) -> Result<Self> {
        Ok(Self {
            project: project_of(home, Concept::Runs)?,
            task: TaskId::parse(task)?,
        })
    }

    fn text(&self) -> String {
        let (project, task) = (self.project.clone(), self.task.clone());
        Place::Task { project, task }.key()
    }

    fn state(&self) -> String {
        let (project, task) = (self.project.clone(), self.task.clone());
        Place::TaskState { project, task }.key()
    }

    fn done(&self) -> String {
        let (project, task) = (self.project.clone(), self.task.clone());
        Place::TaskDone { project, task }.key()
    }
}
