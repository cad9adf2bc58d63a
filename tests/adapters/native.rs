//! Calls the core's Rust functions directly, over the recording memory store.

use anyhow::{Context, Result};
use haversack_core::ops::{
    bus, compaction, documents, facts, files, layout, media, memory, messages, projects, prompt,
    retention, runs, sessions, skills, tenants, threads,
};
use haversack_core::store::Store;
use haversack_core::types;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::Adapter;
use crate::case::{Case, Outcome};
use crate::memory::MemoryStore;

pub struct Native;

impl Adapter for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn run(&self, case: &Case) -> Result<Outcome> {
        let store = MemoryStore::of(case);
        let mut answers: Vec<Value> = Vec::new();
        for (index, call) in case.calls.iter().enumerate() {
            let args = call.args_after(&answers)?;
            let answer = make_call(&store, &call.call, args);
            answers.push(answer.with_context(|| format!("call {}, {}", index + 1, call.call))?);
        }
        Ok(Outcome {
            answers,
            store_after: store.objects(),
            store_calls: store.calls(),
        })
    }
}

/// One call by name. Errors when there is no such function, or the arguments do not fit it.
fn make_call(store: &dyn Store, call: &str, args: Value) -> Result<Value> {
    let mut a = Arguments::of(args)?;
    let answer = match call {
        "bus.post" => settled(bus::post(store, &a.take("request")?)),
        "bus.read" => settled(bus::read(store, &a.take("request")?)),
        "compaction.should-compact" => {
            settled(compaction::should_compact(store, &a.take("conditions")?))
        }
        "compaction.begin" => settled(compaction::begin(store, &a.take("request")?)),
        "compaction.resume" => {
            let (session, state): (_, String) = (a.take("session")?, a.take("state")?);
            let reply = a.take("reply")?;
            settled(compaction::resume(store, &session, &state, &reply))
        }
        "compaction.commit" => settled(compaction::commit(store, &a.take("request")?)),
        "documents.set-member" => {
            let (document, pointer): (String, String) = (a.take("document")?, a.take("pointer")?);
            let value: String = a.take("value")?;
            settled(documents::set_member(&document, &pointer, &value))
        }
        "facts.write" => settled(facts::write(store, &a.take("request")?)),
        "facts.list" => {
            let (home, task): (_, Option<String>) = (a.take("home")?, a.take("task")?);
            let from: Option<String> = a.take("continue-from")?;
            settled(facts::list(store, &home, task.as_deref(), from.as_deref()))
        }
        "facts.read" => {
            let (home, key): (_, String) = (a.take("home")?, a.take("key")?);
            settled(facts::read(store, &home, &key))
        }
        "files.list" => {
            let (viewer, directory): (_, String) = (a.take("viewer")?, a.take("directory")?);
            let from = a.take("continue-from")?;
            settled(files::list(store, &viewer, &directory, from))
        }
        "files.read" => {
            let (viewer, path): (_, String) = (a.take("viewer")?, a.take("path")?);
            settled(files::read(store, &viewer, &path, a.take("start-bytes")?))
        }
        "files.read-lines" => settled(files::read_lines(store, &a.take("request")?)),
        "files.write" => settled(files::write(store, &a.take("request")?)),
        "files.edit" => settled(files::edit(store, &a.take("request")?)),
        "files.rename" => settled(files::rename(store, &a.take("request")?)),
        "files.remove" => settled(files::remove(store, &a.take("request")?)),
        "files.glob" => {
            let (viewer, pattern): (_, String) = (a.take("viewer")?, a.take("pattern")?);
            let from = a.take("continue-from")?;
            settled(files::glob(store, &viewer, &pattern, from))
        }
        "files.grep" => settled(files::grep(store, &a.take("request")?)),
        "layout.systems" => sure(layout::systems()),
        "layout.key-of" => settled(layout::key_of(&a.take("place")?)),
        "layout.place-of" => {
            let (system, key): (String, String) = (a.take("system")?, a.take("key")?);
            settled(layout::place_of(&system, &key))
        }
        "layout.homes" => settled(layout::homes(
            store,
            a.take("system")?,
            a.take("continue-from")?,
        )),
        "layout.contents" => settled(layout::contents(
            store,
            &a.take("home")?,
            a.take("continue-from")?,
        )),
        "layout.session-key-of" => {
            let (agent, main_key): (String, Option<String>) =
                (a.take("agent")?, a.take("main-key")?);
            let conversation = a.take("conversation")?;
            settled(layout::session_key_of(
                &agent,
                main_key.as_deref(),
                &conversation,
            ))
        }
        "layout.view-key" => {
            let (view, path): (_, String) = (a.take("view")?, a.take("path")?);
            settled(layout::view_key(&view, &path))
        }
        "layout.view-path" => {
            let (view, key): (_, String) = (a.take("view")?, a.take("key")?);
            settled(layout::view_path(&view, &key))
        }
        "media.plan" => {
            let items: Vec<media::Item> = a.take("items")?;
            settled(media::plan(&a.take("origin")?, &items))
        }
        "media.plan-message" => {
            let message: String = a.take("message")?;
            settled(media::plan_message(&a.take("origin")?, &message))
        }
        "media.hydrate" => {
            let messages: Vec<String> = a.take("messages")?;
            settled(media::hydrate(store, &a.take("session")?, &messages))
        }
        "media.discard" => settled(media::discard(store, &a.take("request")?)),
        "memory.append" => settled(memory::append(store, &a.take("request")?)),
        "memory.snapshot" => settled(memory::snapshot(store, &a.take("request")?)),
        "memory.ensure" => {
            let (home, id): (_, String) = (a.take("home")?, a.take("request-id")?);
            settled(memory::ensure(store, &home, &id))
        }
        "memory.read" => {
            let (home, date): (_, Option<String>) = (a.take("home")?, a.take("date")?);
            settled(memory::read(store, &home, date.as_deref()))
        }
        "memory.write" => settled(memory::write(store, &a.take("request")?)),
        "memory.promote" => settled(memory::promote(store, &a.take("request")?)),
        "memory.prune" => settled(memory::prune(store, &a.take("request")?)),
        "memory.backup-files" => {
            let (home, from): (_, Option<String>) = (a.take("home")?, a.take("continue-from")?);
            settled(memory::backup_files(store, &home, from.as_deref()))
        }
        "messages.append" => settled(messages::append(store, &a.take("request")?)),
        "messages.history" => settled(messages::history(store, &a.take("request")?)),
        "messages.refresh" => settled(messages::refresh(store, &a.take("request")?)),
        "projects.create" => settled(projects::create(store, &a.take("request")?)),
        "projects.folders" => settled(projects::folders(store, &a.take("home")?)),
        "projects.set-folders" => settled(projects::set_folders(store, &a.take("request")?)),
        "projects.create-task" => settled(projects::create_task(store, &a.take("request")?)),
        "projects.task" => {
            let (home, task): (_, String) = (a.take("home")?, a.take("task")?);
            settled(projects::task(store, &home, &task))
        }
        "projects.set-state" => settled(projects::set_state(store, &a.take("request")?)),
        "projects.mark-done" => settled(projects::mark_done(store, &a.take("request")?)),
        "projects.reopen" => {
            let (home, task): (_, String) = (a.take("home")?, a.take("task")?);
            settled(projects::reopen(store, &home, &task))
        }
        "runs.create" => settled(runs::create(store, &a.take("request")?)),
        "runs.update" => settled(runs::update(store, &a.take("request")?)),
        "runs.info" => {
            let (home, task): (_, String) = (a.take("home")?, a.take("task")?);
            let run: String = a.take("run")?;
            settled(runs::info(store, &home, &task, &run))
        }
        "runs.tree" => settled(runs::tree(store, &a.take("request")?)),
        "prompt.assemble" => settled(prompt::assemble(store, &a.take("request")?)),
        "prompt.compare" => sure(prompt::compare(&a.take("before")?, &a.take("after")?)),
        "prompt.presets" => sure(prompt::presets()),
        "retention.end" => settled(retention::end(store, &a.take("request")?)),
        "retention.plan" => settled(retention::plan(store, &a.take("request")?)),
        "retention.apply" => settled(retention::apply(store, &a.take("request")?)),
        "retention.purge" => settled(retention::purge(store, &a.take("request")?)),
        "retention.renew" => settled(retention::renew(store, &a.take("request")?)),
        "retention.restore" => settled(retention::restore(store, &a.take("request")?)),
        "sessions.append" => settled(sessions::append(store, &a.take("request")?)),
        "sessions.mirror" => settled(sessions::mirror(store, &a.take("request")?)),
        "sessions.history" => settled(sessions::history(store, &a.take("request")?)),
        "sessions.context" => settled(sessions::context(store, &a.take("request")?)),
        "sessions.status" => settled(sessions::status(store, &a.take("request")?)),
        "sessions.list" => settled(sessions::list(store, &a.take("request")?)),
        "sessions.due" => settled(sessions::due(store, &a.take("request")?)),
        "sessions.reset-begin" => settled(sessions::reset_begin(store, &a.take("request")?)),
        "sessions.reset-resume" => settled(sessions::reset_resume(store, &a.take("request")?)),
        "sessions.reset-commit" => settled(sessions::reset_commit(store, &a.take("request")?)),
        "sessions.transcript" => settled(sessions::transcript(store, &a.take("request")?)),
        "skills.catalogue" => settled(skills::catalogue(store, &a.take("request")?)),
        "skills.read" => {
            let (home, skill): (_, String) = (a.take("home")?, a.take("skill")?);
            let user: Option<String> = a.take("user")?;
            settled(skills::read(store, &home, &skill, user.as_deref()))
        }
        "threads.configure" => settled(threads::configure(store, &a.take("request")?)),
        "tenants.open" => settled(tenants::open(store, &a.take("request")?)),
        "tenants.status" => settled(tenants::status(store, &a.take("request")?)),
        "tenants.touch" => settled(tenants::touch(store, &a.take("request")?)),
        "tenants.tiers" => sure(tenants::tiers()),
        "tenants.admit" => settled(tenants::admit(store, &a.take("request")?)),
        "tenants.usage" => settled(tenants::usage(store, &a.take("request")?)),
        "threads.sandbox" => settled(threads::sandbox(store, &a.take("request")?)),
        _ => anyhow::bail!("native has no function {call}"),
    }?;
    a.finish()?;
    Ok(answer)
}

/// The arguments of a call by parameter name.
struct Arguments(Map<String, Value>);

impl Arguments {
    fn of(args: Value) -> Result<Self> {
        match args {
            Value::Null => Ok(Self(Map::new())),
            Value::Object(members) => Ok(Self(members)),
            other => anyhow::bail!("arguments are an object, not {other}"),
        }
    }

    /// The next parameter; one that is left out is none where the type allows it.
    fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<T> {
        let value = self.0.remove(name).unwrap_or(Value::Null);
        serde_json::from_value(value).with_context(|| format!("argument {name}"))
    }

    fn finish(self) -> Result<()> {
        match self.0.keys().next() {
            Some(name) => anyhow::bail!("no parameter is called {name}"),
            None => Ok(()),
        }
    }
}

/// The answer of a function that can fail.
fn settled<T: Serialize>(result: types::Result<T>) -> Result<Value> {
    match result {
        Ok(value) => sure(value),
        Err(error) => Ok(json!({ "error": serde_json::to_value(error)? })),
    }
}

/// The answer of a function that cannot fail.
fn sure<T: Serialize>(value: T) -> Result<Value> {
    Ok(json!({ "ok": serde_json::to_value(value)? }))
}
