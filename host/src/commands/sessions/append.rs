//! `haversack sessions append`: messages from a file or standard input, in pages that one call takes.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::Which;
use super::pages::{PAGE_BYTES_MAX, PAGE_MESSAGES_MAX, messages, named, pages};
use crate::commands::call::Caller;
use crate::commands::change::{RequestId, advised, seed};
use crate::commands::clock::{moment, now_ms};
use crate::commands::exit::{Code, Failure};
use crate::commands::output::{self, Problem, plain};
use crate::commands::{Shared, read_text};

/// A repeat is known as long as a session remembers appends of the one before it.
const PAGES_MAX: usize = 16;
/// How many messages are looked through for an earlier try.
const LOOKED_THROUGH_MAX: usize = PAGES_MAX * PAGE_MESSAGES_MAX + 1_000;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack sessions append gsv:hera --session agent:hera:main examples/conversation.jsonl
  echo '{\"role\":\"user\",\"content\":\"Tea?\"}' | haversack sessions append gsv:hera --session agent:hera:main
  haversack sessions append gsv:hera --session agent:hera:main more.jsonl --request-id import-7

A line that is no JSON object is refused before anything is appended. Over 256 messages or 4 MiB are appended \
in up to 16 pages, each all or none; stopped between them, run it again with the same --request-id. \
Nothing is appended twice then; on a bucket the answer says so only where --at is the same too.")]
pub struct Append {
    #[command(flatten)]
    which: Which,
    /// A file of messages, JSON on one line each; - is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// When it was said [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = moment)]
    at: Option<u64>,
    /// Text that the id of a new session is made from, at least 16 characters [default: from the request id]
    #[arg(long, value_name = "TEXT")]
    seed: Option<String>,
    #[command(flatten)]
    id: RequestId,
}

impl Append {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let text = read_text(&self.file)?;
        let name = named(&self.file);
        let messages = messages(&text, &name)?;
        let pages = pages(&messages);
        if pages.len() > PAGES_MAX {
            let message = format!(
                "{name} has {} messages and {} bytes, over {PAGES_MAX} pages of {PAGE_MESSAGES_MAX} messages or \
                 {PAGE_BYTES_MAX} bytes; append it in several files",
                messages.len(),
                text.len()
            );
            return Err(Failure::new(Code::TooLarge, message).into());
        }
        let caller = Caller::over_store(shared, Some(&self.which.home.system))?;
        let id = self.id.or_new()?;
        let mut request = self.which.to_json();
        let at_ms = self.at.map_or_else(now_ms, Ok)?;
        request["seed"] = json!(seed(self.seed.as_deref(), &id));
        let mut skipped = 0;
        if self.id.is_given() && pages.len() > 1 {
            skipped = self.appended_before(&caller, &id, pages.len()).await?;
        }
        let mut all = json!({ "request-id": id, "appended": 0, "repeated": skipped_messages(&pages, skipped) });
        for (number, page) in pages.iter().enumerate().skip(skipped) {
            request["request-id"] = json!(page_id(&id, number));
            request["messages"] = json!(page);
            // A bucket orders by it, so that no two pages may have the same.
            request["now-ms"] = json!(at_ms.saturating_add(number as u64));
            let answer = caller
                .call("sessions", "append", json!({ "request": request }))
                .await
                .map_err(|error| advised(error, &format!("--request-id {id}"), "run it again"))?;
            let problems: Vec<Problem> = serde_json::from_value(answer["problems"].clone())?;
            output::problems(&problems);
            let count = if answer["repeat"] == true {
                "repeated"
            } else {
                "appended"
            };
            all[count] = json!(all[count].as_u64().unwrap_or_default() + page.len() as u64);
            all["session-id"] = answer["session-id"].clone();
        }
        if shared.json {
            return output::json(&all);
        }
        let session = plain(all["session-id"].as_str().unwrap_or_default());
        let key = plain(&self.which.session);
        if all["repeated"] != 0 {
            let (repeated, of) = (&all["repeated"], messages.len());
            output::text(&format!(
                "an earlier call had appended {repeated} of {of} messages"
            ))?;
        }
        match all["appended"].as_u64() {
            None | Some(0) => Ok(()),
            Some(1) => output::text(&format!("appended 1 message to {key}, session {session}")),
            Some(n) => output::text(&format!(
                "appended {n} messages to {key}, session {session}"
            )),
        }
    }

    /// How many pages before the last one that is there need no repeat: what is far back in a session is not
    /// known by its id any more, and would be appended twice.
    async fn appended_before(
        &self,
        caller: &Caller,
        id: &str,
        pages: usize,
    ) -> anyhow::Result<usize> {
        let mut request = self.which.to_json();
        request["count"] = json!(1_000);
        let mut seen = 0;
        while seen < LOOKED_THROUGH_MAX {
            let answer = caller
                .call("sessions", "history", json!({ "request": request }))
                .await;
            let answer = match answer {
                Err(error) if is_not_found(&error) => return Ok(0),
                answer => answer?,
            };
            let messages = answer["messages"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default();
            let ids = messages.iter().filter_map(|message| message["id"].as_str());
            let last = ids
                .filter_map(|line| {
                    let (request, _) = line.rsplit_once('.')?;
                    (0..pages).find(|number| page_id(id, *number) == request)
                })
                .max();
            if let Some(last) = last {
                return Ok(last);
            }
            seen += messages.len();
            if answer["before"].is_null() {
                break;
            }
            request["before"] = answer["before"].clone();
        }
        Ok(0)
    }
}

pub fn is_not_found(error: &anyhow::Error) -> bool {
    let failure = error.downcast_ref::<Failure>();
    failure.is_some_and(|failure| failure.code() == Code::NotFound)
}

/// The first page has the id itself, so that a short append is known under the caller's own.
fn page_id(id: &str, number: usize) -> String {
    match number {
        0 => id.to_owned(),
        number => format!("{id}-{}", number + 1),
    }
}

fn skipped_messages(pages: &[Vec<&str>], skipped: usize) -> usize {
    pages.iter().take(skipped).map(Vec::len).sum()
}
