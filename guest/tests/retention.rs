//! Retention at its limits: what a sweep over many users costs, a user of many objects, objects that no store
//! replaces. What stops and races bring is the simulation's.

#[path = "support/bucket.rs"]
mod bucket;

use bucket::Bucket;
use haversack_core::limits::*;
use haversack_core::ops::retention::*;
use haversack_core::types::Home;

const NOW_MS: u64 = 1_771_579_800_000;
const META: &str = "users/a/meta.json";
const OVER: &str =
    r#"{"userId":"a","subscriptionStatus":"expired","retentionExpiresAt":"2026-01-01T00:00:00Z"}"#;

fn plan_request(continue_from: Option<String>) -> PlanRequest {
    PlanRequest {
        system: "moltbot".to_owned(),
        now_ms: NOW_MS,
        retention_days: None,
        grace_days: None,
        continue_from,
    }
}

fn request(now_ms: u64, budget: u32, continue_from: Option<String>) -> StepRequest {
    StepRequest {
        home: Home {
            system: "moltbot".to_owned(),
            id: "a".to_owned(),
        },
        request_id: "s1".to_owned(),
        now_ms,
        retention_days: None,
        grace_days: None,
        budget_requests: Some(budget),
        continue_from,
    }
}

fn over(objects: impl IntoIterator<Item = (String, Vec<u8>)>) -> Bucket {
    let bucket = Bucket::new(false);
    bucket.insert(META, OVER.as_bytes());
    for (key, bytes) in objects {
        bucket.insert(&format!("users/a/{key}"), &bytes);
    }
    bucket
}

/// Call until it is settled; the answers, of which none costs more than `cost_max` requests.
fn all(
    bucket: &Bucket,
    id: &str,
    call: fn(
        &dyn haversack_core::store::Store,
        &StepRequest,
    ) -> haversack_core::types::Result<StepAnswer>,
    (mut now_ms, budget, cost_max): (u64, u32, u32),
) -> Vec<StepAnswer> {
    let mut answers: Vec<StepAnswer> = Vec::new();
    loop {
        let from = answers
            .last()
            .and_then(|answer| answer.continue_from.clone());
        let request = StepRequest {
            request_id: id.to_owned(),
            ..request(now_ms, budget, from)
        };
        let answer = call(bucket, &request).unwrap();
        assert!(answer.cost.requests <= cost_max, "{answer:?}");
        let is_over = answer.step != Step::Again;
        now_ms += 1_000;
        answers.push(answer);
        assert!(answers.len() < 10_000);
        if is_over {
            return answers;
        }
    }
}

#[test]
fn a_sweep_over_ten_thousand_users_costs_one_get_each_plus_list_pages() {
    let bucket = Bucket::new(false);
    for number in 0..10_000 {
        let document = format!(r#"{{"userId":"user_{number}","subscriptionStatus":"active"}}"#);
        bucket.insert(
            &format!("users/user_{number}/meta.json"),
            document.as_bytes(),
        );
        bucket.insert(&format!("users/user_{number}/workspace/notes.md"), b"notes");
    }
    let (mut users, mut pages, mut requests, mut waves) = (0, 0, 0, 0);
    let mut from = None;
    loop {
        let page = plan(&bucket, &plan_request(from)).unwrap();
        assert!(page.users.len() <= LIST_PAGE_MAX as usize && page.problems.is_empty());
        assert!(page.users.iter().all(|user| user.action == Action::Keep));
        users += page.users.len();
        pages += 1;
        requests += page.cost.requests;
        waves += page.cost.waves;
        from = page.continue_from;
        if from.is_none() {
            break;
        }
    }
    assert_eq!((users, pages, requests), (10_000, 10, 10_010));
    // A list, and its gets in waves of 256.
    assert_eq!(
        waves,
        10 * (1 + 1_000_u32.div_ceil(WAVE_REQUESTS_MAX as u32))
    );
    assert_eq!(bucket.bytes_sent.get(), 0);
}

#[test]
fn a_user_of_1001_objects_moves_and_comes_back_in_calls_of_a_budget() {
    for budget in [
        RETENTION_REQUESTS_DEFAULT,
        RETENTION_REQUESTS_MIN,
        RETENTION_REQUESTS_MAX,
    ] {
        let files = (0..1_001).map(|n| {
            (
                format!("workspace/{n:04}"),
                format!("file {n}").into_bytes(),
            )
        });
        let bucket = over(files);
        let before = bucket.keys("users/a/");
        // A batch that was begun is ended: its list and its five requests an object, and the claim.
        let cost_max = budget.max(RETENTION_REQUESTS_MIN) + 8;
        let moved = all(&bucket, "s1", apply, (NOW_MS, budget, cost_max));
        assert_eq!(moved.last().unwrap().step, Step::Done);
        assert_eq!(bucket.keys("users/a/"), [META]);
        assert_eq!(bucket.keys("deleted/a/").len(), 1_001);
        // Each object is copied once and deleted once.
        let objects: u32 = moved.iter().map(|answer| answer.objects).sum();
        assert_eq!(objects, 2 * 1_001);
        let later = NOW_MS + 40_000_000;
        let back = all(&bucket, "r1", renew, (later, budget, cost_max));
        assert_eq!(back.last().unwrap().step, Step::Done);
        assert!(bucket.keys("users/a/") == before);
        assert_eq!(
            bucket.bytes("users/a/workspace/1000").unwrap(),
            b"file 1000"
        );
        // No body passes through here but meta.json.
        assert!(bucket.bytes_sent.get() < 600 * moved.len() as u64 + 10_000);
    }
}

#[test]
fn a_purge_deletes_a_thousand_at_once() {
    let bucket = over([]);
    for number in 0..1_001 {
        bucket.insert(&format!("deleted/a/20250101T000000Z/{number}"), b"x");
    }
    let document = OVER.replace(
        '}',
        r#","state":"deleted","to":"deleted/a/20250101T000000Z"}"#,
    );
    bucket.insert(META, document.as_bytes());
    let answers = all(&bucket, "p1", purge, (NOW_MS, RETENTION_REQUESTS_MIN, 16));
    let counts: Vec<u32> = answers.iter().map(|answer| answer.objects).collect();
    assert_eq!(counts, [1_001, 0]);
    assert_eq!(bucket.keys(""), [META]);
}

#[test]
fn an_object_over_64_mib_that_changes_blocks_its_user_and_loses_nothing() {
    for (size, expected) in [
        (CONCAT_CONDITION_BYTES_MAX as usize, Step::Done),
        (CONCAT_CONDITION_BYTES_MAX as usize + 1, Step::Blocked),
    ] {
        let bucket = over([("workspace/large".to_owned(), vec![b'x'; size])]);
        let first = apply(&bucket, &request(NOW_MS, 400, None)).unwrap();
        bucket.insert("users/a/workspace/large", &vec![b'y'; size]);
        let mut from = first.continue_from;
        let last = loop {
            let answer = apply(&bucket, &request(NOW_MS + 1_000, 400, from)).unwrap();
            if answer.step != Step::Again {
                break answer;
            }
            from = answer.continue_from;
        };
        assert_eq!(last.step, expected, "{last:?}");
        let place = match expected {
            Step::Done => "deleted/a/20260220T093000Z/workspace/large",
            _ => "users/a/workspace/large",
        };
        assert_eq!(bucket.bytes(place).unwrap().first(), Some(&b'y'));
        assert_eq!(last.problems.is_empty(), expected == Step::Done);
    }
}

#[test]
fn one_call_copies_a_gibibyte_and_not_more() {
    assert_eq!(RETENTION_COPIED_BYTES_MAX, 16 * (64 << 20));
    let budget = haversack_core::protocol::moving::Budget::new(400);
    let taken = (0..17).filter(|_| budget.takes(64 << 20)).count();
    assert_eq!(taken, 16);
    let budget = haversack_core::protocol::moving::Budget::new(400);
    assert!(
        budget.takes(5 << 30),
        "a single one is copied whatever its size"
    );
    assert!(!budget.takes(1));
}

#[test]
fn budgets_have_limits() {
    let bucket = over([]);
    for budget in [RETENTION_REQUESTS_MIN - 1, RETENTION_REQUESTS_MAX + 1] {
        assert!(apply(&bucket, &request(NOW_MS, budget, None)).is_err());
    }
    for budget in [RETENTION_REQUESTS_MIN, RETENTION_REQUESTS_MAX] {
        assert!(apply(&bucket, &request(NOW_MS, budget, None)).is_ok());
    }
}

#[test]
fn a_document_of_64_kib_is_read_and_one_byte_more_is_told() {
    for (size, action) in [
        (USER_META_BYTES_MAX as usize, Action::SoftDelete),
        (USER_META_BYTES_MAX as usize + 1, Action::Attend),
    ] {
        let bucket = over([]);
        let document = format!("{OVER}{}", " ".repeat(size - OVER.len()));
        bucket.insert(META, document.as_bytes());
        let page = plan(&bucket, &plan_request(None)).unwrap();
        assert_eq!(page.users[0].action, action, "{size}");
    }
}
