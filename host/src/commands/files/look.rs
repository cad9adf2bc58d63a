//! Listing, reading and searching a workspace, page after page.

use std::io::Write;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Viewer;
use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::exit::{Code, Failure};
use crate::commands::memory::check_home;
use crate::commands::output::{self, Problem, plain};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    path: String,
    size_bytes: u64,
    writable: bool,
}

#[derive(Debug, Deserialize)]
struct Match {
    path: String,
    line: u32,
    text: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Part {
    version: String,
    text: String,
    next_bytes: Option<u64>,
    problems: Vec<Problem>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Lines {
    text: String,
    next_line: Option<u32>,
    problems: Vec<Problem>,
}

pub async fn ls(shared: &Shared, viewer: &Viewer, directory: &str) -> anyhow::Result<()> {
    let caller = Caller::over_store(shared, Some(&viewer.home.system))?;
    let mut arguments = json!({ "viewer": viewer.to_json(), "directory": directory });
    let mut all = json!({ "files": [], "directories": [], "problems": [] });
    let (mut files, mut anything) = (false, false);
    loop {
        let page = caller.call("files", "list", arguments.clone()).await?;
        let has = |name: &str| page[name].as_array().is_some_and(|list| !list.is_empty());
        files |= has("files");
        anything |= files || has("directories") || has("problems");
        let next = gather(&mut all, page, shared.json, |page| {
            for directory in page["directories"].as_array().into_iter().flatten() {
                let directory = plain(directory.as_str().unwrap_or_default());
                output::text(&format!("{:>10}  {directory}", "-"))?;
            }
            print_files(page)
        })?;
        match next {
            Value::Null => break,
            next => arguments["continue-from"] = next,
        }
    }
    if !files && directory.trim_matches('/').is_empty() {
        check_home(&caller, &viewer.home).await?;
    } else if !anything {
        let message = format!(
            "there is no directory {directory} here: `haversack files ls {}` lists what there is",
            viewer.home
        );
        return Err(Failure::new(Code::NotFound, message).into());
    }
    finish(shared, all)
}

pub async fn glob(shared: &Shared, viewer: &Viewer, pattern: &str) -> anyhow::Result<()> {
    let caller = Caller::over_store(shared, Some(&viewer.home.system))?;
    let mut arguments = json!({ "viewer": viewer.to_json(), "pattern": pattern });
    let mut all = json!({ "files": [], "problems": [] });
    loop {
        let page = caller.call("files", "glob", arguments.clone()).await?;
        match gather(&mut all, page, shared.json, print_files)? {
            Value::Null => break,
            next => arguments["continue-from"] = next,
        }
    }
    finish(shared, all)
}

pub async fn grep(shared: &Shared, viewer: &Viewer, mut request: Value) -> anyhow::Result<()> {
    let caller = Caller::over_store(shared, Some(&viewer.home.system))?;
    let mut all = json!({ "matches": [], "problems": [] });
    loop {
        let arguments = json!({ "request": request });
        let page = caller.call("files", "grep", arguments).await?;
        let next = gather(&mut all, page, shared.json, |page| {
            let matches: Vec<Match> = serde_json::from_value(page["matches"].clone())?;
            for Match { path, line, text } in matches {
                output::text(&format!("{}:{line}:{}", plain(&path), plain(&text)))?;
            }
            Ok(())
        })?;
        match next {
            Value::Null => break,
            next => request["continue-from"] = next,
        }
    }
    finish(shared, all)
}

/// Take a page: into `all` for JSON, else printed at once, so that a workspace of any size needs no more
/// memory than a page. Answers where the next one begins.
fn gather(
    all: &mut Value,
    mut page: Value,
    json: bool,
    print: impl FnOnce(&Value) -> anyhow::Result<()>,
) -> anyhow::Result<Value> {
    let next = page["continue-from"].take();
    if !json {
        let problems: Vec<Problem> = serde_json::from_value(page["problems"].take())?;
        output::problems(&problems);
        print(&page)?;
        return Ok(next);
    }
    if let Value::Object(lists) = all {
        for (name, list) in lists {
            if let (Value::Array(list), Value::Array(more)) = (list, page[name].take()) {
                list.extend(more);
            }
        }
    }
    Ok(next)
}

fn finish(shared: &Shared, all: Value) -> anyhow::Result<()> {
    match shared.json {
        true => output::json(&all),
        false => Ok(()),
    }
}

fn print_files(page: &Value) -> anyhow::Result<()> {
    let files: Vec<File> = serde_json::from_value(page["files"].clone())?;
    for file in files {
        let note = if file.writable { "" } else { "  (read-only)" };
        let path = plain(&file.path);
        output::text(&format!("{:>10}  {path}{note}", file.size_bytes))?;
    }
    Ok(())
}

/// Text goes out byte for byte, without a line end of our own.
pub async fn cat(shared: &Shared, viewer: &Viewer, path: &str, start: u64) -> anyhow::Result<()> {
    let caller = Caller::over_store(shared, Some(&viewer.home.system))?;
    let mut arguments = json!({ "viewer": viewer.to_json(), "path": path, "start-bytes": start });
    let mut version = None;
    loop {
        let answer = caller.call("files", "read", arguments.clone()).await?;
        if shared.json {
            return output::json(&answer);
        }
        let part: Part = serde_json::from_value(answer)?;
        output::problems(&part.problems);
        if version.as_ref().is_some_and(|first| *first != part.version) {
            let message = format!("{path} was changed while it was printed: run it again");
            return Err(Failure::new(Code::Conflict, message).into());
        }
        let mut out = std::io::stdout().lock();
        out.write_all(part.text.as_bytes())?;
        out.flush()?;
        drop(out);
        match part.next_bytes {
            None => return Ok(()),
            Some(next) => arguments["start-bytes"] = json!(next),
        }
        version = Some(part.version);
    }
}

/// Lines behind their numbers; where there are more, how to go on.
pub async fn lines(shared: &Shared, viewer: &Viewer, request: Value) -> anyhow::Result<()> {
    let caller = Caller::over_store(shared, Some(&viewer.home.system))?;
    let arguments = json!({ "request": request });
    let answer = caller.call("files", "read-lines", arguments).await?;
    if shared.json {
        return output::json(&answer);
    }
    let lines: Lines = serde_json::from_value(answer)?;
    output::problems(&lines.problems);
    let mut out = std::io::stdout().lock();
    out.write_all(lines.text.as_bytes())?;
    out.flush()?;
    if let Some(next) = lines.next_line {
        eprintln!("haversack: there are more lines; --from-line {next} goes on");
    }
    Ok(())
}
