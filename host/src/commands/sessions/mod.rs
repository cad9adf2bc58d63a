//! `haversack sessions`: live sessions, their archives, and the way from one to the other. What each
//! subcommand takes; what it does stands in the files beside this one.

mod append;
mod look;
mod mirror;
mod pages;
mod reset;
mod survey;
mod transcript;

pub use append::is_not_found;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::Shared;
use super::home::Home;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack sessions append gsv:hera --session agent:hera:main examples/conversation.jsonl
  haversack sessions history gsv:hera --session agent:hera:main
  haversack sessions due gsv:hera --daily 4
  haversack sessions reset gsv:hera --session agent:hera:main --model-command ./ask-a-model
  haversack sessions ls gsv:hera
  haversack sessions transcript gsv:hera SESSION-ID --parts

A session key (agent:hera:main) has one live session at a time; a reset archives it and begins the next \
one. What `append` has acknowledged is in exactly one of them.")]
pub struct Sessions {
    #[command(subcommand)]
    action: Action,
}

/// Which live session.
#[derive(Debug, Args)]
pub struct Which {
    /// Whose
    pub home: Home,
    /// The session's key, such as agent:hera:main
    #[arg(long, value_name = "KEY")]
    pub session: String,
}

impl Which {
    /// What requests about one session begin with.
    pub fn to_json(&self) -> Value {
        json!({ "home": self.home.to_json(), "session-key": self.session })
    }
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Append messages, JSON on one line each; the first one begins a session
    Append(append::Append),
    /// Pass the messages of a session that its host keeps itself, JSON on one line each
    Mirror(mirror::Mirror),
    /// Print the newest messages of a live session
    History(look::History),
    /// Print what a model would be given now: the last summary, and what came after it
    Context(look::Look),
    /// Print what is known of a live session
    Status(survey::Status),
    /// List live sessions, archives and what compactions removed
    Ls(survey::Ls),
    /// List the sessions that a policy says are to be reset
    Due(survey::Due),
    /// Archive a session, remember what is worth it, and begin the next one
    Reset(reset::Reset),
    /// Print the messages of an archived session, JSON on one line each
    Transcript(transcript::Transcript),
}

impl Sessions {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match &self.action {
            Action::Append(append) => append.run(shared).await,
            Action::Mirror(mirror) => mirror.run(shared).await,
            Action::History(history) => history.run(shared).await,
            Action::Context(look) => look.context(shared).await,
            Action::Status(status) => status.run(shared).await,
            Action::Ls(ls) => ls.run(shared).await,
            Action::Due(due) => due.run(shared).await,
            Action::Reset(reset) => reset.run(shared).await,
            Action::Transcript(transcript) => transcript.run(shared).await,
        }
    }
}
