//! Making a project and a task: one object each, create-only.

use super::{
    CreateRequest, CreateTaskRequest, MARKDOWN, TaskCreated, Written, YAML, check_text, folders,
    new_project_of,
};
use crate::layout::concept::Concept;
use crate::layout::run_agent::{Place, TaskId, TaskSlug};
use crate::ops::stamp;
use crate::protocol::document::{Expected, replace};
use crate::protocol::request::RequestId;
use crate::store::{Metered, Store};
use crate::transform::task_slug;
use crate::types::{Error, ErrorCode, Result};

pub fn create(store: &dyn Store, request: &CreateRequest) -> Result<Written> {
    let store = Metered::new(store);
    let project = new_project_of(&request.home, Concept::Runs)?;
    let id = RequestId::parse(&request.request_id)?;
    let text = folders::rendered(&request.folders)?;
    let key = Place::HomeFolders { project }.key();
    let edited = replace(&store, &key, &id, YAML, &Expected::Absent, text.as_bytes());
    let edited = edited.map_err(|mut error| {
        if error.code == ErrorCode::Conflict && error.current.is_some() {
            error.message = format!("{key} is there already: projects.set-folders changes it");
        }
        error
    })?;
    Ok(Written::of(key, &edited, &store))
}

pub fn create_task(store: &dyn Store, request: &CreateTaskRequest) -> Result<TaskCreated> {
    let store = Metered::new(store);
    let project = new_project_of(&request.home, Concept::Runs)?;
    let id = RequestId::parse(&request.request_id)?;
    check_text("a task", &request.text)?;
    let timestamp = stamp::timestamp(request.at_ms, request.at_ns, request.pid)?;
    if request.seed.is_empty() {
        return Err(Error::invalid(
            "the seed is empty; it names a task whose name leaves no letters: pass some random text",
        ));
    }
    let slug = task_slug::slug(&request.name, &request.seed);
    let named = stamp::create(&store, &id, MARKDOWN, request.text.as_bytes(), |number| {
        let slug = TaskSlug::parse(&task_slug::numbered(&slug, number))?;
        let task = TaskId::new(&timestamp, &slug)?;
        let (project, name) = (project.clone(), task.clone());
        let key = Place::Task {
            project,
            task: name,
        }
        .key();
        crate::layout::key::check(&key)?;
        Ok((task, key))
    })?;
    Ok(TaskCreated {
        task: named.name.to_string(),
        key: named.key,
        repeat: named.repeat,
        cost: store.cost(),
    })
}
