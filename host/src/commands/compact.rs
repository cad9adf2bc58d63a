//! `haversack compact`: the whole conversation of a compaction, with the caller's model in it or without one.

use clap::Args;
use indicatif::ProgressBar;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::Caller;
use super::change::{RequestId, advised};
use super::clock::{self, moment, offset};
use super::model;
use super::output::{self, Problem, plain};
use super::sessions::Which;
use super::{Shared, progress};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack compact gsv:hera --session agent:hera:main --model-command ./ask-a-model --if-needed
  haversack compact gsv:hera --session agent:hera:main --model-command ./ask-a-model --window 32000 --keep-recent 8000
  haversack compact gsv:hera --session agent:hera:main --no-model    (the summary says how much was removed)

Questions go to the model until everything that is removed is summarised; a reply that fails is asked for again with \
less, and at last the summary is made without a model. Then what is removed is archived, memories go to the day's \
file, and from there on the model is given the summary. If the archive fails, nothing changes. The live log keeps \
everything until the session is reset.")]
pub struct Compact {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    model: Model,
    /// Only if the session has more tokens than the window leaves
    #[arg(long)]
    if_needed: bool,
    /// The context window of the model, in tokens
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    window: u64,
    /// Tokens of it that stay free for an answer
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    reserve: u64,
    /// Tokens of newest messages that stay as they are
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    keep_recent: u64,
    /// Tokens of the system prompt, for a session whose provider reports none
    #[arg(long, value_name = "N", default_value_t = 0)]
    system_tokens: u64,
    /// The moment of it, whose day gets the memories [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = moment)]
    at: Option<u64>,
    /// How far local time is from UTC, such as +01:00 or -330 (minutes) [default: UTC]
    #[arg(long, value_name = "OFFSET", value_parser = offset, allow_hyphen_values = true)]
    utc_offset: Option<i32>,
    #[command(flatten)]
    id: RequestId,
}

/// Said by the caller, because a summary without a model is a poor one.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Model {
    /// A program that asks a model: the question comes on its standard input, and its standard output is the reply;
    /// any exit code but 0 means that there is none
    #[arg(long, value_name = "CMD")]
    model_command: Option<String>,
    /// Ask nobody: the summary says how much was removed
    #[arg(long)]
    no_model: bool,
}

#[derive(Debug, Clone, Deserialize)]
struct Verdict {
    compact: bool,
    messages: u64,
    tokens: u64,
    reported: bool,
    #[serde(rename = "usable-tokens")]
    usable_tokens: u64,
}

#[derive(Debug, Deserialize)]
struct Step {
    next: Next,
    state: String,
    problems: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Next {
    Nothing(String),
    Ask(Question),
    Ready(Value),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Question {
    prompt: String,
    messages_done: u64,
    messages_total: u64,
}

#[derive(Debug, Deserialize)]
struct Commit {
    committed: Option<Value>,
    problems: Vec<Value>,
}

#[derive(Debug, Deserialize)]
struct Summary {
    text: String,
    tier: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Committed {
    part_key: String,
    removed_messages: u64,
    first_kept_place: Option<u64>,
    memory_key: Option<String>,
}

/// What a compaction came to.
struct Outcome {
    verdict: Value,
    /// Why nothing was done.
    nothing: Option<String>,
    summary: Value,
    committed: Value,
    questions: u64,
    problems: Vec<Value>,
}

impl Compact {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        let id = self.id.or_new()?;
        let bar = progress::bar(None)?;
        let outcome = self.steps(&caller, &bar, &id).await;
        bar.finish_and_clear();
        let outcome = outcome?;
        if shared.json {
            return output::json(&json!({
                "request-id": id,
                "verdict": outcome.verdict,
                "nothing": outcome.nothing,
                "summary": outcome.summary,
                "committed": outcome.committed,
                "questions": outcome.questions,
                "problems": outcome.problems,
            }));
        }
        self.print(outcome)
    }

    async fn steps(&self, caller: &Caller, bar: &ProgressBar, id: &str) -> anyhow::Result<Outcome> {
        let session = self.which.to_json();
        let conditions = json!({
            "session": session,
            "window-tokens": self.window,
            "system-tokens": self.system_tokens,
            "settings": {
                "enabled": true,
                "reserve-tokens": self.reserve,
                "keep-recent-tokens": self.keep_recent,
                "extract-memories": true,
            },
        });
        let arguments = json!({ "conditions": conditions });
        let verdict = caller
            .call("compaction", "should-compact", arguments)
            .await?;
        let mut outcome = Outcome {
            problems: Vec::new(),
            nothing: None,
            summary: Value::Null,
            committed: Value::Null,
            questions: 0,
            verdict,
        };
        let due = Verdict::deserialize(&outcome.verdict)?;
        if self.if_needed && !due.compact {
            outcome.nothing = Some(format!("it is not needed: {}", said(&due)));
            return Ok(outcome);
        }
        let now_ms = self.at.map_or_else(clock::now_ms, Ok)?;
        let program = self.model.model_command.as_deref();
        let request = json!({
            "conditions": conditions,
            "force": !self.if_needed,
            "with-model": program.is_some(),
            "now-ms": now_ms,
            "utc-offset-minutes": self.utc_offset.unwrap_or(0),
        });
        let mut answer = caller
            .call("compaction", "begin", json!({ "request": request }))
            .await?;
        let state = loop {
            let step: Step = serde_json::from_value(answer)?;
            outcome.problems.extend(step.problems);
            let reply = match (step.next, program) {
                (Next::Nothing(why), _) => {
                    outcome.nothing = Some(why);
                    return Ok(outcome);
                }
                (Next::Ready(summary), _) => {
                    outcome.summary = summary;
                    break step.state;
                }
                (Next::Ask(question), Some(program)) => {
                    let (done, total) = (question.messages_done, question.messages_total);
                    bar.set_message(format!("asking the model: {done} of {total} messages done"));
                    outcome.questions += 1;
                    match model::ask(program, &question.prompt).await? {
                        Ok(text) => json!({ "text": text }),
                        Err(why) => json!({ "failed": why }),
                    }
                }
                (Next::Ask(_), None) => json!({ "failed": "there is no model" }),
            };
            let arguments = json!({ "session": session, "state": step.state, "reply": reply });
            answer = caller.call("compaction", "resume", arguments).await?;
        };
        bar.set_message("archiving");
        while outcome.committed.is_null() {
            // The model may have taken its time: the claim counts from now, and every call extends it.
            let at_ms = self.at.map_or_else(clock::now_ms, Ok)?;
            let request =
                json!({ "session": session, "state": state, "request-id": id, "now-ms": at_ms });
            let answer = caller
                .call("compaction", "commit", json!({ "request": request }))
                .await;
            let answer = answer
                .map_err(|error| advised(error, &format!("--request-id {id}"), "run it again"))?;
            let commit: Commit = serde_json::from_value(answer)?;
            outcome.problems.extend(commit.problems);
            outcome.committed = commit.committed.unwrap_or_default();
        }
        Ok(outcome)
    }

    fn print(&self, outcome: Outcome) -> anyhow::Result<()> {
        let problems: Vec<Problem> = serde_json::from_value(Value::Array(outcome.problems))?;
        output::problems(&problems);
        let key = plain(&self.which.session);
        if let Some(why) = &outcome.nothing {
            return output::text(&format!("{key} stays as it is: {}", plain(why)));
        }
        let verdict: Verdict = serde_json::from_value(outcome.verdict)?;
        let summary: Summary = serde_json::from_value(outcome.summary)?;
        let committed: Committed = serde_json::from_value(outcome.committed)?;
        let removed = committed.removed_messages;
        let kept = verdict.messages.saturating_sub(removed);
        let from = match (summary.tier.as_str(), outcome.questions) {
            ("plain", _) => "without a model".to_owned(),
            (_, 1) => "in 1 question".to_owned(),
            (_, questions) => format!("in {questions} questions"),
        };
        let mut lines = vec![
            format!(
                "{key}: {removed} messages summarised {from}, {kept} kept; before, {}",
                said(&verdict)
            ),
            format!("  archive   {}", plain(&committed.part_key)),
        ];
        if let Some(memory) = &committed.memory_key {
            lines.push(format!("  memories  {}", plain(memory)));
        }
        if let Some(place) = committed.first_kept_place {
            lines.push(format!(
                "  kept      the summary, then the host's own messages from place {place} on"
            ));
        }
        let text = summary
            .text
            .lines()
            .map(|line| format!("  {}", plain(line)));
        lines.push("  summary".to_owned());
        lines.extend(text.map(|line| format!("  {line}")));
        output::text(&lines.join("\n"))
    }
}

fn said(verdict: &Verdict) -> String {
    let counted = if verdict.reported {
        "reported"
    } else {
        "estimated"
    };
    format!(
        "{} messages with {} tokens ({counted}), and {} fit",
        verdict.messages, verdict.tokens, verdict.usable_tokens
    )
}
