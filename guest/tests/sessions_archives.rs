//! What is archived of gsv sessions from outside: after compactions, of logs of many pieces; listed past a
//! page, read back with parts, damaged, without metadata.

#[path = "support/archives.rs"]
mod archives;
#[path = "support/bucket.rs"]
mod bucket;
#[path = "support/talk.rs"]
mod talk;

use archives::{archived, compact};
use bucket::Bucket;
use haversack_core::ops::sessions::live::Live;
use haversack_core::ops::sessions::state::Owner;
use haversack_core::ops::sessions::*;
use haversack_core::protocol::log::Fold;
use haversack_core::store::{Metered, Store};
use haversack_core::types::{ErrorCode, ProblemKind};
use talk::*;

fn now(store: &dyn Store) -> ContextAnswer {
    let session_key = KEY.to_owned();
    context(
        store,
        &ContextRequest {
            home: home(),
            session_key,
        },
    )
    .unwrap()
}

fn said(
    store: &dyn Store,
    session_id: &str,
    parts: bool,
    limit: u32,
) -> (Vec<TranscriptMessage>, usize) {
    let mut all = Vec::new();
    let (mut cursor, mut problems) = (None, 0);
    loop {
        let request = TranscriptRequest {
            home: home(),
            session_id: session_id.to_owned(),
            parts,
            cursor,
            limit: Some(limit),
        };
        let page = transcript(store, &request).unwrap();
        assert!(page.messages.len() <= limit as usize);
        all.extend(page.messages);
        problems += page.problems.len();
        cursor = page.next;
        if cursor.is_none() {
            return (all, problems);
        }
    }
}

fn short(json: &str) -> String {
    name_of(json).replace(
        "[Conversation summary from automatic context compaction]\\n\\n",
        "",
    )
}

#[test]
fn after_compactions_it_is_the_summary_what_was_kept_and_what_came() {
    for bucket in both() {
        for number in 0..10 {
            say(&bucket, number);
        }
        let m = |from: u64, to: u64| -> Vec<String> {
            (from..to).map(|n| text(&format!("m{n}"))).collect()
        };
        compact(&bucket, &m(0, 6), Some("m6.0"), NOW + 20);
        for number in 30..35 {
            say(&bucket, number);
        }
        let expected = [
            "sum1771579800020",
            "m6",
            "m7",
            "m8",
            "m9",
            "m30",
            "m31",
            "m32",
            "m33",
            "m34",
        ];
        let seen: Vec<String> = now(&bucket)
            .messages
            .iter()
            .map(|message| short(&message.json))
            .collect();
        assert_eq!(seen, expected);
        let first_summary = now(&bucket).messages[0].json.clone();
        assert!(now(&bucket).messages[0].is_summary);
        // The second removes the first's summary with the rest, and keeps from m32 on.
        let mut removed = vec![first_summary];
        removed.extend(m(6, 10));
        removed.extend(m(30, 32));
        compact(&bucket, &removed, Some("m32.0"), NOW + 40);
        say(&bucket, 50);
        let expected = ["sum1771579800040", "m32", "m33", "m34", "m50"];
        let seen: Vec<String> = now(&bucket)
            .messages
            .iter()
            .map(|message| short(&message.json))
            .collect();
        assert_eq!(seen, expected);
        assert_eq!(
            read(&bucket, 100, None).unwrap().messages.len(),
            10 + 1 + 5 + 1 + 1
        );
        let done = reset(&bucket, "reset-1").unwrap();
        assert_eq!(done.messages, Some(5));
        let archive = lines(&bucket, done.archive.as_ref().unwrap());
        assert_eq!(
            archive.iter().map(|line| short(line)).collect::<Vec<_>>(),
            expected
        );
        // With its parts it is everything that was said, once, with the summaries marked.
        let session_id = done.archived_session_id.unwrap();
        for limit in [1, 3, 1_000] {
            let (all, problems) = said(&bucket, &session_id, true, limit);
            assert_eq!(problems, 0);
            let plain: Vec<String> = all
                .iter()
                .filter(|m| !m.is_summary)
                .map(|m| short(&m.json))
                .collect();
            let numbers = (0..10).chain(30..35).chain([50]);
            assert_eq!(plain, numbers.map(|n| format!("m{n}")).collect::<Vec<_>>());
            assert_eq!(all.iter().filter(|m| m.is_summary).count(), 2);
            let (archive_only, _) = said(&bucket, &session_id, false, limit);
            assert_eq!(archive_only.len(), 5);
        }
    }
}

#[test]
fn a_compaction_that_keeps_nothing_stands_alone() {
    let bucket = Bucket::new(true);
    say(&bucket, 1);
    compact(&bucket, &[text("m1")], None, NOW + 20);
    assert_eq!(now(&bucket).messages.len(), 1);
    say(&bucket, 30);
    let done = reset(&bucket, "reset-1").unwrap();
    let archive = lines(&bucket, done.archive.as_ref().unwrap());
    assert_eq!(
        archive.iter().map(|line| short(line)).collect::<Vec<_>>(),
        ["sum1771579800020", "m30"]
    );
}

#[test]
fn a_context_has_a_result_for_every_call() {
    let bucket = Bucket::new(false);
    let call = r#"{"role":"assistant","content":[{"type":"toolCall","id":"x","name":"Bash","arguments":{}}]}"#;
    append(
        &bucket,
        &appending("a", &[call.to_owned(), text("m1")], NOW),
    )
    .unwrap();
    let context = now(&bucket);
    assert_eq!(context.messages.len(), 3);
    assert!(context.messages[1].json.contains("No result"));
    assert_eq!(context.messages[1].id, None);
    assert_eq!(context.repairs.len(), 1);
    assert_eq!(
        (context.repairs[0].kind, context.repairs[0].id.as_deref()),
        (RepairKind::NoResult, Some("a.0"))
    );
}

/// Many segments, folds and sealed pieces, one of them left by a fold that lost a race.
#[test]
fn a_long_log_is_archived_from_its_beginning() {
    for bucket in both() {
        let mut expected = Vec::new();
        let count = if bucket.appends { 200 } else { 900 };
        for number in 0..count {
            let name = format!(
                "m{number} {}",
                "x".repeat(if number % 100 == 0 { 30_000 } else { 900 })
            );
            append(
                &bucket,
                &appending(&format!("r{number}"), &[text(&name)], NOW + number),
            )
            .unwrap();
            expected.push(text(&name));
        }
        let session_id = status_of(&bucket).session_id;
        let sealed = bucket.keys(&format!("agents/hera/sessions/{session_id}/old/"));
        assert_eq!(sealed.is_empty(), bucket.appends);
        if let Some(first) = sealed.get(1) {
            let mut lost = first.clone();
            let at = lost.find('-').unwrap() + 30;
            let at = lost[at..]
                .rfind("-")
                .map_or(lost.len() - 8, |dash| at + dash + 1);
            lost.replace_range(at..at + 2, "ff");
            bucket.insert(
                &lost,
                b"{\"id\":\"lost.0\",\"message\":{\"role\":\"user\",\"content\":\"lost\"}}\n",
            );
        }
        let done = reset(&bucket, "reset-1").unwrap();
        let archive = lines(&bucket, done.archive.as_ref().unwrap());
        assert_eq!(archive.len() as u64, count);
        assert_eq!(archive, expected);
        let left = bucket.keys(&format!("agents/hera/sessions/{session_id}"));
        assert_eq!(left.len(), 1, "{left:?}");
    }
}

#[test]
fn without_a_piece_of_the_log_nothing_is_archived_and_nothing_deleted() {
    let bucket = Bucket::new(false);
    for number in 0..400u64 {
        let name = format!("m{number} {}", "x".repeat(900));
        append(
            &bucket,
            &appending(&format!("r{number}"), &[text(&name)], NOW + number),
        )
        .unwrap();
    }
    let (store, owner) = (Metered::new(&bucket), Owner::of(&home(), KEY).unwrap());
    let live = Live::of(&store, &owner, &status_of(&bucket).session_id).unwrap();
    while let Fold::Done(_) = live.log().fold().unwrap() {}
    let sealed = bucket.keys(&live.log().keys.old_prefix());
    for (number, key) in sealed.iter().enumerate() {
        let object = bucket.objects.borrow_mut().remove(key).unwrap();
        let before = bucket.keys("").len();
        let error = reset(&bucket, "reset-1").unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict, "{number}: {error}");
        assert!(error.message.contains("is not there"), "{error}");
        assert!(bucket.keys("").len() >= before);
        bucket.objects.borrow_mut().insert(key.clone(), object);
    }
    assert!(sealed.len() > 1);
    assert_eq!(reset(&bucket, "reset-1").unwrap().messages, Some(400));
}

fn listed(store: &dyn Store, limit: Option<u32>) -> (Vec<SessionItem>, Vec<ProblemKind>) {
    let (mut all, mut problems, mut cursor) = (Vec::new(), Vec::new(), None);
    loop {
        let page = list(
            store,
            &ListRequest {
                home: home(),
                cursor,
                limit,
            },
        )
        .unwrap();
        all.extend(page.sessions);
        problems.extend(page.problems.into_iter().map(|problem| problem.kind));
        cursor = page.next;
        if cursor.is_none() {
            return (all, problems);
        }
    }
}

#[test]
fn a_list_goes_past_a_thousand_and_takes_no_part_for_a_session() {
    let bucket = Bucket::new(false);
    for number in 0..1_100u32 {
        let session = format!("00000000-0000-4000-8000-{number:012}");
        let counts = [
            ("messageCount", "2"),
            ("inputTokens", "3"),
            ("outputTokens", "4"),
            ("totalTokens", "7"),
            ("sessionKey", KEY),
        ];
        archived(&bucket, &session, b"{}", &counts);
        if number % 10 == 0 {
            archived(
                &bucket,
                &format!("{session}-part17000000000{:02}", number % 7),
                b"{}",
                &[("messageCount", "9")],
            );
        }
    }
    say(&bucket, 1);
    for limit in [None, Some(7)] {
        let (all, problems) = listed(&bucket, limit);
        assert_eq!(problems, []);
        let count = |kind| all.iter().filter(|item| item.kind == kind).count();
        assert_eq!(count(SessionKind::Archive), 1_100);
        assert_eq!(count(SessionKind::Part), 110);
        assert_eq!(count(SessionKind::Live), 1);
        let mut keys: Vec<&String> = all.iter().map(|item| &item.key).collect();
        keys.dedup();
        assert_eq!(keys.len(), 1_211);
        let part = all
            .iter()
            .find(|item| item.kind == SessionKind::Part)
            .unwrap();
        assert_eq!((part.messages, part.total_tokens), (Some(9), None));
    }
    for limit in [0, 257] {
        let request = ListRequest {
            home: home(),
            cursor: None,
            limit: Some(limit),
        };
        assert_eq!(
            list(&bucket, &request).unwrap_err().code,
            ErrorCode::Invalid
        );
    }
}

#[test]
fn without_metadata_the_content_is_counted() {
    let bucket = Bucket::new(false);
    let session = "00000000-0000-4000-8000-000000000001";
    let content = [
        text("a"),
        answered("b"),
        "nonsense".to_owned(),
        answered("c"),
    ]
    .join("\n");
    for (metadata, kinds) in [
        (&[][..], vec![ProblemKind::Unreadable]),
        (
            &[("messageCount", "many"), ("inputTokens", "1")][..],
            vec![ProblemKind::Repaired, ProblemKind::Unreadable],
        ),
    ] {
        archived(&bucket, session, content.as_bytes(), metadata);
        let (all, problems) = listed(&bucket, None);
        assert_eq!(problems, kinds);
        assert_eq!(all[0].counts_from, CountsFrom::Content);
        assert_eq!((all[0].messages, all[0].total_tokens), (Some(3), Some(10)));
    }
    let (all, problems) = said(&bucket, session, true, 2);
    assert_eq!((all.len(), problems), (3, 1), "a bad line is told once");
}

#[test]
fn a_damaged_archive_gives_what_it_has() {
    let bucket = Bucket::new(false);
    let session = "00000000-0000-4000-8000-000000000001";
    let content: Vec<String> = (0..5_000)
        .map(|n| text(&format!("m{n} {}", n * 7919 % 1000)))
        .collect();
    let key = archived(&bucket, session, content.join("\n").as_bytes(), &[]);
    let whole = bucket.bytes(&key).unwrap();
    bucket.insert(&key, &whole[..whole.len() / 2]);
    let (all, problems) = said(&bucket, session, false, 1_000);
    assert!(all.len() > 1_000 && all.len() < 5_000, "{}", all.len());
    assert!(problems >= 1);
    bucket.insert(&key, b"no gzip at all");
    assert_eq!(said(&bucket, session, false, 1_000), (vec![], 1));
    let unknown = TranscriptRequest {
        home: home(),
        session_id: "00000000-0000-4000-8000-000000000002".to_owned(),
        parts: true,
        cursor: None,
        limit: None,
    };
    assert_eq!(
        transcript(&bucket, &unknown).unwrap_err().code,
        ErrorCode::NotFound
    );
    for (session_id, cursor, limit) in [
        ("x", None, None),
        (session, Some("y"), None),
        (session, None, Some(1_001)),
    ] {
        let request = TranscriptRequest {
            session_id: session_id.to_owned(),
            cursor: cursor.map(str::to_owned),
            limit,
            ..unknown.clone()
        };
        assert_eq!(
            transcript(&bucket, &request).unwrap_err().code,
            ErrorCode::Invalid
        );
    }
}
