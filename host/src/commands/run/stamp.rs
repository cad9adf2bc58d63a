//! The moment and the process from which run-agent makes names, and the id by which a repeat is known.

use clap::Args;
use serde_json::{Value, json};

use crate::commands::call::Caller;
use crate::commands::change::RequestId;

#[derive(Debug, Args)]
pub struct Stamp {
    /// The moment it has, to the nanosecond [default: now]
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    at: Option<jiff::Timestamp>,

    /// The process it has [default: this one]
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,

    #[command(flatten)]
    request_id: RequestId,
}

fn moment(text: &str) -> Result<jiff::Timestamp, String> {
    let moment: jiff::Timestamp = text
        .parse()
        .map_err(|error| format!("{error}; write it like 2026-02-20T09:30:00Z"))?;
    match moment.as_second() {
        ..0 => Err("moments before 1970 are not supported".to_owned()),
        _ => Ok(moment),
    }
}

impl Stamp {
    /// Make a call with the moment, the process and the id in its request.
    pub async fn call(
        &self,
        caller: &Caller,
        (interface, function): (&str, &str),
        mut request: Value,
    ) -> anyhow::Result<Value> {
        let at = self.at.unwrap_or_else(jiff::Timestamp::now);
        request["at-ms"] = json!(at.as_millisecond());
        request["at-ns"] = json!(at.subsec_nanosecond() % 1_000_000);
        request["pid"] = json!(self.pid.unwrap_or_else(std::process::id));
        let again = "try again at another moment";
        self.request_id
            .call(caller, interface, function, request, again)
            .await
    }
}
