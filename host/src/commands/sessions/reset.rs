//! `haversack sessions reset`: the whole conversation of a reset, with the caller's model in it where there is
//! one. Stopped anywhere, running it again goes on.

use clap::Args;
use indicatif::ProgressBar;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Which;
use crate::commands::call::Caller;
use crate::commands::change::{RequestId, advised, seed};
use crate::commands::clock::{moment, now_ms, offset};
use crate::commands::exit::{Code, Failure};
use crate::commands::model::{self, ModelCommand};
use crate::commands::output::{self, Problem, plain};
use crate::commands::{Shared, progress};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack sessions reset gsv:hera --session agent:hera:main
  haversack sessions reset gsv:hera --session agent:hera:main --model-command './ask-a-model --short'
  haversack sessions reset gsv:hera --session agent:hera:main --keep-media KEY

The key has its new session at once; then the old one is archived, memories are asked of the model and appended to \
the day of the last activity, and media and the old log are deleted. A reply that fails stops it before anything is \
deleted: run it again, or without --model-command to end it without memories.")]
pub struct Reset {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    model: ModelCommand,
    /// The context window of the model, in tokens
    #[arg(
        long,
        value_name = "N",
        default_value_t = 200_000,
        requires = "model_command"
    )]
    window: u64,
    /// The key of a medium that is not deleted; may be given again
    #[arg(long, value_name = "KEY")]
    keep_media: Vec<String>,
    /// The moment of the reset [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = moment)]
    at: Option<u64>,
    /// How far local time is from UTC, such as +01:00 or -330 (minutes) [default: UTC]
    #[arg(long, value_name = "OFFSET", value_parser = offset, allow_hyphen_values = true)]
    utc_offset: Option<i32>,
    /// The id of the new session, a UUID, of a host that keeps its sessions itself (see `mirror`)
    #[arg(long, value_name = "ID")]
    session_id: Option<String>,
    /// Text that the id of the new session is made from, at least 16 characters [default: from the request id]
    #[arg(long, value_name = "TEXT", conflicts_with = "session_id")]
    seed: Option<String>,
    #[command(flatten)]
    id: RequestId,
}

/// An answer of one of the three calls.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Step {
    step: String,
    request_id: String,
    session_id: Option<String>,
    archived_session_id: Option<String>,
    archive: Option<String>,
    messages: Option<u64>,
    ask: Option<String>,
    state: Option<String>,
    deleted_media: u64,
    problems: Vec<Value>,
}

/// What the steps so far came to.
#[derive(Default)]
struct Sum {
    deleted_media: u64,
    questions: u64,
    problems: Vec<Value>,
    archive: Option<String>,
    messages: Option<u64>,
}

impl Reset {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        let bar = progress::bar(None)?;
        let mut sum = Sum::default();
        let last = self.steps(&caller, &bar, &mut sum).await;
        bar.finish_and_clear();
        let last = last?;
        if shared.json {
            return output::json(&json!({
                "step": last.step,
                "request-id": last.request_id,
                "session-id": last.session_id,
                "archived-session-id": last.archived_session_id,
                "archive": sum.archive,
                "messages": sum.messages,
                "questions": sum.questions,
                "deleted-media": sum.deleted_media,
                "problems": sum.problems,
            }));
        }
        let problems: Vec<Problem> =
            serde_json::from_value(Value::Array(std::mem::take(&mut sum.problems)))?;
        output::problems(&problems);
        self.print(&last, &sum)
    }

    async fn steps(
        &self,
        caller: &Caller,
        bar: &ProgressBar,
        sum: &mut Sum,
    ) -> anyhow::Result<Step> {
        let mut request = self.which.to_json();
        let mut id = self.id.or_new()?;
        let mut begin = request.clone();
        begin["session-id"] = json!(self.session_id);
        begin["seed"] = json!(seed(self.seed.as_deref(), &id));
        begin["now-ms"] = json!(self.at.map_or_else(now_ms, Ok)?);
        begin["utc-offset-minutes"] = json!(self.utc_offset.unwrap_or(0));
        begin["keep-media"] = json!(self.keep_media);
        begin["window-tokens"] = json!(self.model.model_command.as_ref().map(|_| self.window));
        let (mut function, mut next) = ("reset-begin", begin.clone());
        loop {
            bar.set_message(match function {
                "reset-begin" => "archiving",
                "reset-resume" => "taking the model's reply",
                _ => "remembering and clearing up",
            });
            next["request-id"] = json!(id);
            let answer = caller
                .call("sessions", function, json!({ "request": next }))
                .await;
            let answer = answer.map_err(|error| match error.downcast_ref::<Failure>() {
                Some(bad) if function == "reset-resume" && bad.code() == Code::Invalid => {
                    no_reply(&bad.to_string(), &id).into()
                }
                _ => advised(error, &format!("--request-id {id}"), "run it again"),
            })?;
            let step: Step = serde_json::from_value(answer)?;
            sum.take(&step);
            id.clone_from(&step.request_id);
            match (step.step.as_str(), &step.ask, &self.model.model_command) {
                ("again", ..) => (function, next) = ("reset-begin", begin.clone()),
                ("ask", Some(question), Some(program)) => {
                    bar.set_message("asking the model");
                    sum.questions += 1;
                    let reply = model::ask(program, question).await?;
                    let reply = reply.and_then(|reply| match reply.trim().is_empty() {
                        true => Err("--model-command answered nothing".to_owned()),
                        false => Ok(reply),
                    });
                    request["reply"] =
                        json!(reply.map_err(|why| no_reply(&why, &step.request_id))?);
                    request["state"] = json!(step.state);
                    (function, next) = ("reset-resume", request.clone());
                }
                ("ask" | "commit", ..) => {
                    next = self.which.to_json();
                    next["state"] = json!(step.state);
                    function = "reset-commit";
                }
                _ => return Ok(step),
            }
        }
    }

    fn print(&self, last: &Step, sum: &Sum) -> anyhow::Result<()> {
        let key = plain(&self.which.session);
        let shown = |text: &Option<String>| plain(text.as_deref().unwrap_or("none"));
        if last.step == "nothing" {
            return output::text(&format!("{key} has no messages; there is nothing to reset"));
        }
        let (old, new) = (shown(&last.archived_session_id), shown(&last.session_id));
        let mut lines = vec![format!("{key} begins anew as session {new}; {old} is over")];
        if let Some(archive) = &sum.archive {
            let count = sum
                .messages
                .map_or_else(|| "?".to_owned(), |n| n.to_string());
            lines.push(format!("  archive   {} ({count} messages)", plain(archive)));
        }
        if sum.questions > 0 {
            lines.push(format!(
                "  memories  asked of the model in {} questions",
                sum.questions
            ));
        }
        if sum.deleted_media > 0 {
            lines.push(format!("  media     {} deleted", sum.deleted_media));
        }
        output::text(&lines.join("\n"))
    }
}

impl Sum {
    fn take(&mut self, step: &Step) {
        self.deleted_media += step.deleted_media;
        self.problems.extend(step.problems.iter().cloned());
        self.archive = step.archive.clone().or(self.archive.take());
        self.messages = step.messages.or(self.messages);
    }
}

/// Nothing is lost by it: the log is there until the commit.
fn no_reply(why: &str, id: &str) -> Failure {
    Failure::new(
        Code::Unavailable,
        format!(
            "{why}; the session is archived and nothing is deleted yet: run it again with --request-id {id}, or without \
             --model-command to end the reset without memories"
        ),
    )
}
