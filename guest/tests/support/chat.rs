//! A live session to compact: messages into its log, what a model is given of it, and a model that answers
//! the same every time. Knows no expectation.
#![allow(dead_code)]

use haversack_core::format::gzip;
use haversack_core::format::live_log::{self, SessionLines, What, message_id, message_line};
use haversack_core::format::message::Message;
use haversack_core::format::session_state::SessionState;
use haversack_core::layout::log::LogKeys;
use haversack_core::ops::compaction::*;
use haversack_core::ops::sessions;
use haversack_core::ops::sessions::state::{Owner, load, load_or_create};
use haversack_core::protocol::log::{Log, NewEntry, ReadOptions};
use haversack_core::protocol::request::RequestId;
use haversack_core::store::{Metered, Store};
use haversack_core::transform::compaction::context::{Item, context};
use haversack_core::transform::compaction::pairing::check;
use haversack_core::transform::compaction::{Facts, summary};
use haversack_core::types::{Home, Result};

use super::bucket::Bucket;

pub const NOW_MS: u64 = 1_771_579_800_000;
pub const WINDOW: u64 = 2_000;
pub const DAY_KEY: &str = "agents/hera/memory/2026-02-20.md";

pub fn session() -> Session {
    Session {
        home: Home {
            system: "gsv".into(),
            id: "hera".into(),
        },
        session_key: "agent:hera:main".into(),
    }
}

pub fn owner() -> Owner {
    let session = session();
    Owner::of(&session.home, &session.session_key).unwrap()
}

pub fn state(store: &dyn Store) -> SessionState {
    load(&Metered::new(store), &owner()).unwrap().unwrap()
}

pub fn keys(store: &dyn Store) -> LogKeys {
    owner().log_keys(&state(store).session_id).unwrap()
}

/// Append messages, each under a request of its own, named by `name`.
pub fn say(store: &dyn Store, name: &str, lines: &[String], ms: u64) {
    let metered = Metered::new(store);
    let request = RequestId::parse("first").unwrap();
    let seed = "0123456789abcdef";
    let state = load_or_create(&metered, &owner(), &request, seed, NOW_MS).unwrap();
    let keys = owner().log_keys(&state.session_id).unwrap();
    let log = Log {
        store: &metered,
        keys: &keys,
        format: &SessionLines,
    };
    for (index, line) in lines.iter().enumerate() {
        let id = message_id(&format!("{name}-{index}"), 0);
        let bytes = message_line(&id, line).unwrap();
        log.append(&[NewEntry { id, bytes }], ms + index as u64)
            .unwrap();
    }
}

/// Every line of the live log, in order.
pub fn log_lines(store: &dyn Store) -> Vec<(Option<String>, Vec<u8>)> {
    let metered = Metered::new(store);
    let keys = keys(store);
    let log = Log {
        store: &metered,
        keys: &keys,
        format: &SessionLines,
    };
    let mut lines = Vec::new();
    let mut before = None;
    loop {
        let page = log
            .read(&ReadOptions {
                entries_max: 1_000,
                bytes_max: 1 << 20,
                before,
            })
            .unwrap();
        let entries = page.entries.into_iter().rev();
        lines.extend(entries.map(|entry| (entry.id, entry.content)));
        before = page.before;
        if before.is_none() {
            lines.reverse();
            return lines;
        }
    }
}

/// The messages as they stand: the summary's, then those that are kept.
pub fn messages(store: &dyn Store) -> Vec<String> {
    let lines = log_lines(store);
    let whats: Vec<_> = lines
        .iter()
        .filter_map(|(id, content)| Some((id.clone(), live_log::parse(content).ok()?.what)))
        .collect();
    let last = whats.iter().rev().find_map(|(_, what)| match what {
        What::Compaction(compaction) => Some(compaction.clone()),
        _ => None,
    });
    let from = match &last {
        Some(last) => whats
            .iter()
            .position(|(id, _)| *id == last.first_kept)
            .unwrap(),
        None => 0,
    };
    let summary = last.map(|last| summary::message_line(&last.summary, last.part_ms));
    let kept = whats
        .into_iter()
        .skip(from)
        .filter_map(|(_, what)| match what {
            What::Message(line) => Some(line.to_owned()),
            _ => None,
        });
    summary.into_iter().chain(kept).collect()
}

pub fn facts_of(lines: &[String]) -> Vec<Facts> {
    let facts = |line: &String| Facts::of(&Message::parse(line).unwrap());
    lines.iter().map(facts).collect()
}

/// What a model is given, which every provider takes; and how many repairs that needed.
pub fn given(store: &dyn Store) -> (Vec<String>, usize) {
    let lines = messages(store);
    let context = context(&facts_of(&lines));
    let items = context.items.into_iter().map(|item| match item {
        Item::Message(index) => lines[index].clone(),
        Item::Line(line) => line,
    });
    let given: Vec<String> = items.collect();
    assert_eq!(check(&facts_of(&given)), Ok(()));
    // `sessions.context` says the same.
    let request = sessions::ContextRequest {
        home: session().home,
        session_key: session().session_key,
    };
    let answer = sessions::context(store, &request).unwrap();
    let theirs: Vec<String> = answer
        .messages
        .into_iter()
        .map(|message| message.json)
        .collect();
    assert_eq!(
        (&theirs, answer.repairs.len()),
        (&given, context.repairs.len())
    );
    (given, context.repairs.len())
}

/// Parts by name: key, and the lines in it.
pub fn parts(bucket: &Bucket) -> Vec<(String, Vec<String>)> {
    let keys = bucket.keys("agents/hera/sessions/");
    let keys = keys.into_iter().filter(|key| key.contains("-part"));
    keys.map(|key| {
        let (raw, summary) = gzip::decode(&bucket.bytes(&key).unwrap(), 64 << 20).unwrap();
        assert_eq!((summary.members, summary.damage), (1, None));
        let text = String::from_utf8(raw).unwrap();
        assert!(text.ends_with('\n'));
        (key, text.lines().map(str::to_owned).collect())
    })
    .collect()
}

pub fn begin_request(with_model: bool, now_ms: u64) -> BeginRequest {
    BeginRequest {
        conditions: Conditions {
            session: session(),
            window_tokens: WINDOW,
            system_tokens: 0,
            settings: None,
        },
        force: true,
        with_model,
        now_ms,
        utc_offset_minutes: 0,
    }
}

/// What the model answers to its `number`th question.
pub fn answer(number: usize) -> String {
    format!("<summary>\nSummary {number}.\n</summary>\n<memories>\n- memory {number}\n</memories>")
}

/// Ask until it is ready. The prompts, and the last step.
pub fn converse(store: &dyn Store, mut step: Step) -> (Vec<String>, Step) {
    let mut prompts = Vec::new();
    while let Next::Ask(question) = &step.next {
        prompts.push(question.prompt.clone());
        assert!(step.state.len() < 20_000, "{}", step.state.len());
        let reply = Reply::Text(answer(prompts.len()));
        step = resume(store, &session(), &step.state, &reply).unwrap();
    }
    (prompts, step)
}

pub fn commit_request(step: &Step, id: &str, now_ms: u64) -> CommitRequest {
    CommitRequest {
        session: session(),
        state: step.state.clone(),
        request_id: id.into(),
        now_ms,
    }
}

/// A whole compaction; none when there was nothing to do.
pub fn compact(
    store: &dyn Store,
    id: &str,
    with_model: bool,
    now_ms: u64,
) -> Result<Option<Committed>> {
    let step = begin(store, &begin_request(with_model, now_ms))?;
    if let Next::Nothing(_) = step.next {
        return Ok(None);
    }
    let (_, step) = converse(store, step);
    let answer = commit(store, &commit_request(&step, id, now_ms))?;
    Ok(Some(answer.committed.unwrap()))
}

/// Turns of a working agent: a question, calls and results, an answer.
pub fn turns(name: &str, count: usize) -> Vec<String> {
    let turn = |number: usize| {
        [
            format!(r#"{{"role":"user","content":"{name} question {number}","z":1e400}}"#),
            format!(
                r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"{name}x{number}","name":"Bash","arguments":{{}}}},{{"type":"toolCall","id":"{name}y{number}","name":"Read","arguments":{{}}}}]}}"#
            ),
            format!(
                r#"{{"role":"toolResult","toolCallId":"{name}y{number}","toolName":"Read","content":[{{"type":"text","text":"{}"}}]}}"#,
                "out ".repeat(60)
            ),
            format!(
                r#"{{"role":"toolResult","toolCallId":"{name}x{number}","toolName":"Bash","content":"done"}}"#
            ),
            format!(
                r#"{{"role":"assistant","content":[{{"type":"text","text":"{name} answer {number}"}}]}}"#
            ),
        ]
    };
    (0..count).flat_map(turn).collect()
}

/// A session with so many turns.
pub fn bucket_with(turns_count: usize, appends: bool) -> (Bucket, Vec<String>) {
    let bucket = Bucket::new(appends);
    let lines = turns("a", turns_count);
    say(&bucket, "a", &lines, NOW_MS - 1_000_000);
    (bucket, lines)
}
