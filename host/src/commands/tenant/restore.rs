//! `haversack tenant renew` and `restore`: a user keeps, or gets back, everything.

use clap::Args;
use serde_json::{Value, json};

use super::steps::Steps;
use crate::commands::call::Caller;
use crate::commands::change::{RequestId, advised};
use crate::commands::exit::{Code, Failure};
use crate::commands::home::Home;
use crate::commands::output::{self, Problem};
use crate::commands::{Shared, progress};

#[derive(Debug, Args)]
#[command(after_help = "\
A sweep that is deleting ends: renew waits until its lease is over, two minutes at most, and brings back what it \
moved. Interrupted, run it again.

Examples:
  haversack tenant renew moltbot:user_1")]
pub struct Renew {
    /// Who
    user: Home,
    #[command(flatten)]
    id: RequestId,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The subscription stays ended: after the term the next sweep deletes the user again, unless it is renewed. Interrupted, \
run it again.

Examples:
  haversack tenant restore moltbot:user_1
  haversack tenant restore moltbot:user_1 --retention-days 14")]
pub struct Restore {
    /// Who
    user: Home,
    /// Days that the data stay from now on
    #[arg(long, value_name = "DAYS", default_value_t = 90)]
    retention_days: u32,
    #[command(flatten)]
    id: RequestId,
}

impl Renew {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        bring_back(shared, &self.user, &self.id, "renew", Value::Null).await
    }
}

impl Restore {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let days = json!(self.retention_days);
        bring_back(shared, &self.user, &self.id, "restore", days).await
    }
}

async fn bring_back(
    shared: &Shared,
    user: &Home,
    id: &RequestId,
    function: &'static str,
    retention_days: Value,
) -> anyhow::Result<()> {
    let caller = Caller::over_store(shared, Some(&user.system))?;
    let id = id.or_new()?;
    let request = json!({
        "home": user.to_json(),
        "request-id": id,
        "retention-days": retention_days,
    });
    let bar = progress::bar(None)?;
    let steps = Steps {
        caller: &caller,
        bar: &bar,
        function,
        waits: true,
    };
    let settled = tokio::select! {
        settled = steps.run(request) => settled,
        _ = tokio::signal::ctrl_c() => {
            let message = format!("stopped; `haversack tenant {function} {user}` goes on with it");
            Err(Failure::new(Code::Unavailable, message).into())
        }
    };
    bar.finish_and_clear();
    let settled = settled.map_err(|error| {
        let flags = format!("--request-id {id}");
        match error.downcast_ref::<Failure>().map(Failure::code) {
            // It says itself what to do.
            Some(Code::Conflict) => error,
            _ => advised(error, &flags, ""),
        }
    })?;
    if shared.json {
        return output::json(&json!({
            "step": settled.step,
            "state": settled.state,
            "why": settled.why,
            "objects": settled.objects,
            "size-bytes": settled.size_bytes,
            "problems": settled.problems,
            "request-id": id,
        }));
    }
    let problems: Vec<Problem> = serde_json::from_value(Value::Array(settled.problems))?;
    output::problems(&problems);
    let objects = match settled.objects {
        0 => String::new(),
        1 => ", 1 object".to_owned(),
        objects => format!(", {objects} objects"),
    };
    output::text(&format!(
        "{user} is {}: {}{objects}",
        settled.state, settled.why
    ))
}
