//! Posting to a bus. The message's id comes of its moment, its process and its request, so that a repeat is the same
//! entry and nothing else has to be remembered.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::{Bus, PostAnswer, PostRequest};
use crate::format::bus::Message;
use crate::format::bus::message::OWN_META;
use crate::format::utc;
use crate::layout::field::{Field, RunId};
use crate::limits::{BUS_BODY_BYTES_MAX, BUS_ITEMS_MAX, RUN_VALUE_BYTES_MAX};
use crate::ops::stamp;
use crate::protocol::log::{Fold, NewEntry};
use crate::protocol::request::RequestId;
use crate::store::{Metered, Store};
use crate::types::{Error, ErrorCode, Problem, ProblemKind, Result};

pub fn post(store: &dyn Store, request: &PostRequest) -> Result<PostAnswer> {
    let store = Metered::new(store);
    let bus = Bus::of(&request.home, request.task.as_deref())?;
    let message = message(&bus, request)?;
    let msg_id = message.msg_id.clone().unwrap_or_default();
    let entry = NewEntry {
        id: msg_id.clone(),
        bytes: message.render().into_bytes(),
    };
    let log = bus.log(&store);
    let appended = log.append(&[entry], request.at_ms)?;
    let mut problems = appended.problems;
    match appended.fold {
        Some(Fold::Done(folded)) => problems.extend(folded.problems),
        // The next append that folds goes on with it.
        Some(Fold::Stopped(error))
            if matches!(error.code, ErrorCode::Conflict | ErrorCode::Unavailable) => {}
        Some(Fold::Stopped(error)) => {
            let key = error.key.clone().unwrap_or_default();
            let message = format!("the message is in, and was not folded: {error}");
            problems.push(Problem::new(ProblemKind::Skipped, key, message));
        }
        Some(Fold::Nothing) | None => {}
    }
    Ok(PostAnswer {
        msg_id,
        repeat: appended.repeat,
        problems,
        cost: store.cost(),
    })
}

fn message(bus: &Bus, request: &PostRequest) -> Result<Message> {
    let id = RequestId::parse(&request.request_id)?;
    check_kind(&request.kind)?;
    check_items(request)?;
    if let Some(run) = &request.run {
        RunId::parse(run)?;
    }
    if request.body.len() > BUS_BODY_BYTES_MAX {
        return Err(Error::too_large(format!(
            "a message of {} bytes, over {BUS_BODY_BYTES_MAX}; write it to a file and post its path",
            request.body.len()
        )));
    }
    let msg_id = msg_id(request, &id)?;
    let issue_id = match (&request.issue, request.kind.as_str()) {
        (Some(issue), _) => Some(issue.clone()),
        (None, "ISSUE") => Some(msg_id.clone()),
        (None, _) => None,
    };
    Ok(Message {
        msg_id: Some(msg_id),
        ts: utc::print_ms(request.at_ms),
        kind: request.kind.clone(),
        project_id: Some(bus.project.to_value()),
        task_id: bus.task.as_ref().map(Field::to_value),
        run_id: request.run.clone(),
        issue_id,
        parents: request
            .parents
            .iter()
            .map(super::Reference::to_parent)
            .collect(),
        links: request.links.clone(),
        meta: request.meta.clone(),
        body: request.body.clone(),
        legacy: false,
    })
}

/// `MSG-YYYYMMDD-HHMMSS-{9 digits of the second}-PID{5}-{4}`. What the clock does not tell, and what parts two messages of one
/// moment, comes of the request.
fn msg_id(request: &PostRequest, id: &RequestId) -> Result<String> {
    stamp::check(request.at_ms, request.at_ns)?;
    let digest = Sha256::digest(id.as_str().as_bytes());
    let number = digest
        .iter()
        .take(7)
        .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let ns = request.at_ns.map_or(number / 10_000 % 1_000_000, u64::from);
    let ns = request.at_ms % 1_000 * 1_000_000 + ns;
    let second = utc::print(request.at_ms).unwrap_or_default();
    let second: String = second.chars().filter(char::is_ascii_digit).collect();
    let (date, time) = second.split_at_checked(8).unwrap_or_default();
    let (pid, part) = (request.pid, number % 10_000);
    Ok(format!("MSG-{date}-{time}-{ns:09}-PID{pid:05}-{part:04}"))
}

fn check_kind(kind: &str) -> Result<()> {
    let fine = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let begins = kind.starts_with(|first: char| first.is_ascii_uppercase());
    if begins && kind.len() <= 64 && kind.bytes().all(fine) {
        return Ok(());
    }
    let shown: String = kind.chars().take(80).collect();
    Err(Error::invalid(format!(
        "invalid type {shown:?}: 1 to 64 of A-Z 0-9 _, the first a letter, such as FACT, QUESTION or ISSUE"
    )))
}

fn check_items(request: &PostRequest) -> Result<()> {
    let parents = request.parents.iter();
    let mut metas = vec![&request.meta];
    metas.extend(parents.map(|parent| &parent.meta));
    let counts = [request.parents.len(), request.links.len()];
    let counts = counts
        .into_iter()
        .chain(metas.iter().map(|meta| meta.len()));
    if counts.into_iter().any(|count| count > BUS_ITEMS_MAX) {
        return Err(Error::too_large(format!(
            "a message has at most {BUS_ITEMS_MAX} parents, links and members of meta each; put more into its body"
        )));
    }
    let mut values: Vec<&String> = request.links.iter().chain(&request.issue).collect();
    for parent in &request.parents {
        if parent.msg_id.is_empty() {
            return Err(Error::invalid(
                "a parent without a msg-id; name the message that it refers to",
            ));
        }
        values.push(&parent.msg_id);
        values.extend(&parent.kind);
    }
    for meta in metas {
        let mut names = BTreeSet::new();
        for (name, value) in meta {
            check_meta_name(name)?;
            if !names.insert(name) {
                return Err(Error::invalid(format!(
                    "meta has {name:?} twice; a message has each name once"
                )));
            }
            values.extend([name, value]);
        }
    }
    // The whole header has to be read again as one block of front matter.
    let bytes: usize = values.iter().map(|value| value.len()).sum();
    if bytes > RUN_VALUE_BYTES_MAX {
        return Err(Error::too_large(format!(
            "links, parents and meta of {bytes} bytes, over {RUN_VALUE_BYTES_MAX}; put them into the body"
        )));
    }
    Ok(())
}

fn check_meta_name(name: &str) -> Result<()> {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic());
    let rule = match begins && name.len() <= 64 && name.bytes().all(fine) {
        true if OWN_META.contains(&name) => {
            "it says how the body stands in the file; take another name"
        }
        true => return Ok(()),
        false => "1 to 64 of A-Z a-z 0-9 _ - ., the first a letter",
    };
    let shown: String = name.chars().take(80).collect();
    Err(Error::invalid(format!(
        "invalid member of meta {shown:?}: {rule}"
    )))
}
