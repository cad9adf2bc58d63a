//! run-agent at size: a tree of 10,000 runs, the tail of a bus of 100 MiB, many writers, and the bounds at their edges.
//! What single calls answer is the corpus's.

#[path = "support/bucket.rs"]
#[allow(dead_code)]
mod bucket;

use bucket::Bucket;
use haversack_core::format::bus::{BusEntries, Message};
use haversack_core::format::entries::EntryFormat;
use haversack_core::ops::bus::{PostRequest, ReadRequest, post, read};
use haversack_core::ops::runs::{TreeRequest, UpdateRequest, info, tree, update};
use haversack_core::types::{ErrorCode, Home};

const AT_MS: u64 = 1_771_579_800_000;
const TASK: &str = "task-20260220-0930001230-42-fix";
const BUS: &str = "proj/PROJECT-MESSAGE-BUS.md";

fn home() -> Home {
    Home {
        system: "run-agent".to_owned(),
        id: "proj".to_owned(),
    }
}

fn run_id(number: usize) -> String {
    format!("20260220-0930001234-{number:05}")
}

fn key(run: &str) -> String {
    format!("proj/{TASK}/runs/{run}/run-info.yaml")
}

fn tree_request() -> TreeRequest {
    TreeRequest {
        home: home(),
        task: None,
        continue_from: None,
    }
}

/// Runs in one task, each but the first started by the one before.
fn with_runs(count: usize) -> Bucket {
    let store = Bucket::new(false);
    for number in 0..count {
        let parent = number.checked_sub(1).map(run_id).unwrap_or_default();
        let info = format!("parent_run_id: \"{parent}\"\nagent: claude\n");
        store.insert(&key(&run_id(number)), info.as_bytes());
    }
    store
}

#[test]
fn a_tree_of_ten_thousand_runs_is_pages_and_waves() {
    let store = with_runs(10_000);
    let answer = tree(&store, &tree_request()).unwrap();
    assert_eq!(answer.tasks[0].runs.len(), 10_000);
    assert_eq!(answer.tasks[0].runs[9_999].depth, 9_999);
    assert_eq!((answer.continue_from, answer.problems), (None, Vec::new()));
    // One wave for the tasks, ten pages of runs, and a wave for every 256.
    assert_eq!(answer.cost.waves, 1 + 10 + 10_000_u32.div_ceil(256));
}

#[test]
fn a_task_of_too_many_runs_is_refused_by_its_number() {
    let store = with_runs(20_000);
    assert_eq!(
        tree(&store, &tree_request()).unwrap().tasks[0].runs.len(),
        20_000
    );
    store.insert(&key(&run_id(20_000)), b"agent: x\n");
    let error = tree(&store, &tree_request()).unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
    assert!(error.message.contains("20000"), "{}", error.message);
}

#[test]
fn a_page_holds_whole_tasks() {
    let store = Bucket::new(false);
    for task in 0..257 {
        let key = format!("proj/task-20260220-093000-{task}-x/TASK.md");
        store.insert(&key, b"x");
    }
    let first = tree(&store, &tree_request()).unwrap();
    assert_eq!(first.tasks.len(), 256);
    let next = TreeRequest {
        continue_from: first.continue_from,
        ..tree_request()
    };
    let second = tree(&store, &next).unwrap();
    assert_eq!((second.tasks.len(), second.continue_from), (1, None));
    // Two tasks that are too many runs together are two pages.
    let store = with_runs(6_000);
    for number in 0..6_000 {
        let key = format!(
            "proj/task-20260221-093000-x/runs/{}/run-info.yaml",
            run_id(number)
        );
        store.insert(&key, b"agent: x\n");
    }
    let first = tree(&store, &tree_request()).unwrap();
    assert_eq!(
        (first.tasks.len(), first.continue_from.as_deref()),
        (1, Some(TASK))
    );
    let next = TreeRequest {
        continue_from: first.continue_from,
        ..tree_request()
    };
    assert_eq!(tree(&store, &next).unwrap().tasks[0].runs.len(), 6_000);
}

fn message(number: usize, body: String) -> Message {
    Message {
        msg_id: Some(format!("MSG-{number}")),
        kind: "FACT".to_owned(),
        project_id: Some("proj".to_owned()),
        body,
        ..Message::default()
    }
}

fn read_request(limit: u32) -> ReadRequest {
    ReadRequest {
        home: home(),
        task: None,
        limit: Some(limit),
        before: None,
        since: None,
    }
}

#[test]
fn the_tail_of_a_bus_of_100_mib_reads_under_1_mib() {
    let store = Bucket::new(true);
    let mut bytes = Vec::new();
    let mut number = 0;
    while bytes.len() < 100 << 20 {
        // Bodies that look like entries, so that only the rule finds one.
        let body = format!(
            "msg_id: MSG-F\n{}",
            "words and words\n".repeat(number % 500)
        );
        let entry = message(number, body).render();
        let separator: &[u8] = if bytes.is_empty() { b"" } else { b"\n" };
        bytes.extend_from_slice(separator);
        bytes.extend_from_slice(entry.as_bytes());
        number += 1;
    }
    store.insert(BUS, &bytes);
    let answer = read(&store, &read_request(20)).unwrap();
    let last: Vec<_> = answer
        .messages
        .iter()
        .filter_map(|m| m.msg_id.clone())
        .collect();
    let expected: Vec<_> = (number - 20..number).map(|n| format!("MSG-{n}")).collect();
    assert_eq!(last, expected);
    assert!(answer.cost.bytes_read < 1 << 20, "{:?}", answer.cost);
    assert!(answer.problems.is_empty());
}

fn post_request(id: &str, at_ms: u64, body: String) -> PostRequest {
    PostRequest {
        home: home(),
        task: None,
        request_id: id.to_owned(),
        at_ms,
        at_ns: None,
        pid: 42,
        kind: "FACT".to_owned(),
        run: None,
        issue: None,
        parents: Vec::new(),
        links: Vec::new(),
        meta: Vec::new(),
        body,
    }
}

/// Real races are the simulation's and the command line's; this is about the number, through folds and seals.
#[test]
fn a_thousand_messages_of_ten_writers_are_a_thousand() {
    for appends in [false, true] {
        let store = Bucket::new(appends);
        let mut expected = Vec::new();
        for number in 0..100 {
            for writer in 0..10 {
                let body = format!("{writer} {number}\n---\n{}", "\n".repeat(number % 4));
                let request = post_request(
                    &format!("{writer}-{number}"),
                    AT_MS + number as u64,
                    body.clone(),
                );
                post(&store, &request).unwrap();
                // A repeat is the same message.
                assert!(!appends || writer > 0 || post(&store, &request).unwrap().repeat);
                expected.push(body);
            }
        }
        let answer = read(&store, &read_request(1_000)).unwrap();
        let mut bodies: Vec<String> = answer.messages.into_iter().map(|m| m.body).collect();
        bodies.sort();
        expected.sort();
        assert_eq!(bodies, expected);
        assert_eq!((answer.before, answer.problems), (None, Vec::new()));
        let rotated = store.keys("proj/PROJECT-MESSAGE-BUS/");
        assert_eq!(
            rotated.is_empty(),
            appends,
            "never rotated where the store appends"
        );
    }
}

#[test]
fn a_body_of_1_mib_and_no_byte_more() {
    for appends in [false, true] {
        let store = Bucket::new(appends);
        let body = "---\n".repeat(1 << 18);
        post(&store, &post_request("a", AT_MS, body.clone())).unwrap();
        post(&store, &post_request("b", AT_MS, "short".to_owned())).unwrap();
        let answer = read(&store, &read_request(2)).unwrap();
        assert!(answer.messages.iter().any(|message| message.body == body));
        let error = post(&store, &post_request("c", AT_MS, body + "x")).unwrap_err();
        assert_eq!(error.code, ErrorCode::TooLarge);
    }
}

/// Four messages of one moment, in segments of one bucket and in one file, are read back in pages of one.
#[test]
fn pages_go_back_to_the_first_message() {
    for appends in [false, true] {
        let store = Bucket::new(appends);
        for number in 0..40 {
            let request = post_request(&format!("r{number}"), AT_MS + number, format!("{number}"));
            post(&store, &request).unwrap();
        }
        let mut request = read_request(7);
        let mut bodies = Vec::new();
        loop {
            let page = read(&store, &request).unwrap();
            bodies.extend(page.messages.into_iter().rev().map(|message| message.body));
            request.before = page.before;
            if request.before.is_none() {
                break;
            }
        }
        let expected: Vec<_> = (0..40).rev().map(|number| number.to_string()).collect();
        assert_eq!(bodies, expected);
    }
}

#[test]
fn sixty_updates_lose_nothing() {
    let store = Bucket::new(false);
    let run = run_id(1);
    store.insert(&key(&run), b"agent: claude\nmine: kept\n");
    for number in 0..60_u32 {
        let value = |at: u32| (number % 3 == at).then(|| number.to_string());
        let request = UpdateRequest {
            home: home(),
            task: TASK.to_owned(),
            run: run.clone(),
            request_id: format!("u{number}"),
            agent: value(0),
            pid: Some(number),
            pgid: None,
            start_ms: None,
            end_ms: None,
            exit_code: None,
            status: None,
            cwd: value(1),
            output_path: None,
            backend_provider: None,
            backend_model: None,
            backend_endpoint: None,
            command: Vec::new(),
            error_summary: value(2),
        };
        update(&store, &request).unwrap();
    }
    let found = info(&store, &home(), TASK, &run).unwrap().info;
    let texts = (
        found.agent.as_deref(),
        found.cwd.as_deref(),
        found.error_summary.as_deref(),
    );
    assert_eq!(texts, (Some("57"), Some("58"), Some("59")));
    let text = String::from_utf8(store.bytes(&key(&run)).unwrap()).unwrap();
    assert!(
        text.contains("mine: kept\n") && text.lines().count() == 5,
        "{text}"
    );
}

#[test]
fn a_segment_is_one_whole_entry() {
    let entry = message(1, "x".to_owned()).render();
    let entries = BusEntries.entries(entry.as_bytes());
    assert!(entries.len() == 1 && entries[0].is_ended && entries[0].problem.is_none());
}
