//! What the retention of one user takes: calls, one after the other, until it is settled. Stopped anywhere, the same
//! command goes on.

use std::time::Duration;

use indicatif::ProgressBar;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::call::Caller;
use crate::commands::clock::now_ms;
use crate::commands::exit::{Code, Failure};

/// A call that the store was too busy for is made again so often.
const TRIES_MAX: u32 = 5;
const AGAIN: Duration = Duration::from_millis(1_200);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Step {
    step: String,
    why: String,
    objects: u64,
    size_bytes: u64,
    problems: Vec<Value>,
    continue_from: Option<String>,
    retry_after_ms: Option<u64>,
}

/// How it ended.
#[derive(Debug, Default)]
pub struct Settled {
    /// `done`, `kept` or `blocked`; `wait` where the caller did not want to.
    pub step: String,
    pub why: String,
    pub state: String,
    pub to: Option<String>,
    /// Objects that were looked at; one that is moved counts twice, when copied and when deleted.
    pub objects: u64,
    pub size_bytes: u64,
    pub problems: Vec<Value>,
    pub retry_after_ms: u64,
}

/// One thing that is done to a user.
pub struct Steps<'a> {
    pub caller: &'a Caller,
    pub bar: &'a ProgressBar,
    pub function: &'static str,
    /// Whether to wait for a lease of another.
    pub waits: bool,
}

impl Steps<'_> {
    /// Call until it is settled. `request` has everything but the time and where to go on.
    pub async fn run(&self, mut request: Value) -> anyhow::Result<Settled> {
        let mut settled = Settled::default();
        let mut tries = 0;
        loop {
            request["now-ms"] = json!(now_ms()?);
            let arguments = json!({ "request": request });
            let answer = match self
                .caller
                .call("retention", self.function, arguments)
                .await
            {
                Ok(answer) => answer,
                Err(error) if is_busy(&error) && tries < TRIES_MAX => {
                    tries += 1;
                    tokio::time::sleep(AGAIN).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            tries = 0;
            settled.state = answer["state"].as_str().unwrap_or_default().to_owned();
            settled.to = answer["to"].as_str().map(str::to_owned);
            let step: Step = serde_json::from_value(answer)?;
            settled.objects += step.objects;
            settled.size_bytes += step.size_bytes;
            settled.problems.extend(step.problems);
            (settled.step, settled.why) = (step.step, step.why);
            settled.retry_after_ms = step.retry_after_ms.unwrap_or_default();
            match settled.step.as_str() {
                "again" => request["continue-from"] = json!(step.continue_from),
                "wait" if self.waits => {
                    self.bar.set_message(settled.why.clone());
                    tokio::time::sleep(Duration::from_millis(settled.retry_after_ms)).await;
                    continue;
                }
                _ => return Ok(settled),
            }
            let Settled { state, objects, .. } = &settled;
            self.bar.set_message(format!("{state}, {objects} objects"));
        }
    }
}

fn is_busy(error: &anyhow::Error) -> bool {
    let failure = error.downcast_ref::<Failure>();
    failure.is_some_and(|failure| failure.code() == Code::Unavailable)
}
