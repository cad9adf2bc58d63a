//! Changing fields of a run-info.yaml by compare-and-swap, so that of updates at the same time none is lost.

use super::{RunPlace, UpdateRequest, Written, check_value};
use crate::format::run_info::{Fields, Set, edit};
use crate::limits::{NOW_MS_MAX, RUN_FILE_BYTES_MAX};
use crate::ops::projects::YAML;
use crate::protocol::document::{Change, edit as edit_document};
use crate::protocol::request::RequestId;
use crate::store::{Metered, Store};
use crate::transform::redact;
use crate::types::{Error, Result};

pub fn update(store: &dyn Store, request: &UpdateRequest) -> Result<Written> {
    let store = Metered::new(store);
    let place = RunPlace::of(&request.home, &request.task, &request.run)?;
    let id = RequestId::parse(&request.request_id)?;
    let fields = fields(request)?;
    let key = place.info();
    let edited = edit_document(&store, &key, &id, YAML, |current| {
        let Some(body) = current.body else {
            let (task, run) = (&place.task, &place.run);
            return Err(Error::not_found(format!(
                "task {task} has no run {run}; runs.create makes one"
            ))
            .at(&key));
        };
        let fault = |why: String| Error::invalid(format!("{key} was not changed: {why}")).at(&key);
        let text = std::str::from_utf8(body).map_err(|error| {
            let from = error.valid_up_to();
            fault(format!(
                "it is not UTF-8 from byte {from} on; save it as UTF-8"
            ))
        })?;
        let text = edit(text, &fields).map_err(fault)?;
        if text.len() > RUN_FILE_BYTES_MAX {
            let message = format!(
                "{key} would have {} bytes, over {RUN_FILE_BYTES_MAX}",
                text.len()
            );
            return Err(Error::too_large(message).at(&key));
        }
        Ok(Change::Write(text.into_bytes()))
    })?;
    Ok(Written::of(key, &edited, &store))
}

fn fields(request: &UpdateRequest) -> Result<Fields> {
    let mut fields: Fields = Vec::new();
    if let Some(status) = &request.status {
        check_status(status)?;
    }
    let command = (!request.command.is_empty()).then(|| redact::command(&request.command));
    let endpoint = request.backend_endpoint.as_deref().map(redact::endpoint);
    for (name, value) in [
        ("agent", request.agent.as_ref()),
        ("status", request.status.as_ref()),
        ("cwd", request.cwd.as_ref()),
        ("output_path", request.output_path.as_ref()),
        ("backend_provider", request.backend_provider.as_ref()),
        ("backend_model", request.backend_model.as_ref()),
        ("backend_endpoint", endpoint.as_ref()),
        ("commandline", command.as_ref()),
        ("error_summary", request.error_summary.as_ref()),
    ] {
        if let Some(value) = value {
            check_value(name, value)?;
            fields.push((name, Set::Text(value.clone())));
        }
    }
    for (name, number) in [
        ("pid", request.pid.map(i64::from)),
        ("pgid", request.pgid.map(i64::from)),
        ("exit_code", request.exit_code.map(i64::from)),
    ] {
        fields.extend(number.map(|number| (name, Set::Number(number))));
    }
    for (name, ms) in [
        ("start_time", request.start_ms),
        ("end_time", request.end_ms),
    ] {
        if ms.is_some_and(|ms| ms > NOW_MS_MAX) {
            let message = format!("{name} is milliseconds since 1970, before the year 10000");
            return Err(Error::invalid(message));
        }
        fields.extend(ms.map(|ms| (name, Set::Time(Some(ms)))));
    }
    match fields.is_empty() {
        true => Err(Error::invalid(
            "an update without a field; name at least one",
        )),
        false => Ok(fields),
    }
}

fn check_status(status: &str) -> Result<()> {
    let fine =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    let begins = status.starts_with(|first: char| first.is_ascii_lowercase());
    if begins && status.len() <= 64 && status.bytes().all(fine) {
        return Ok(());
    }
    let shown: String = status.chars().take(80).collect();
    Err(Error::invalid(format!(
        "invalid status {shown:?}: 1 to 64 of a-z 0-9 - _, the first a letter, such as running, completed or failed"
    )))
}
