//! `compaction` over a bucket: whole conversations with a model, commits that are stopped anywhere, and what
//! a model is given afterwards.

#[path = "support/bucket.rs"]
mod bucket;
#[path = "support/chat.rs"]
mod chat;
#[path = "support/stopping.rs"]
mod stopping;

use std::cell::Cell;

use bucket::Bucket;
use chat::*;
use haversack_core::limits::*;
use haversack_core::ops::compaction::*;
use haversack_core::types::ErrorCode;
use proptest::prelude::*;
use stopping::Stopping;

fn bucket_with(turns_count: usize, appends: bool) -> (Bucket, Vec<String>) {
    let bucket = Bucket::new(appends);
    let lines = turns("a", turns_count);
    say(&bucket, "a", &lines, NOW_MS - 1_000_000);
    (bucket, lines)
}

#[test]
fn a_whole_conversation() {
    for appends in [false, true] {
        let (bucket, lines) = bucket_with(20, appends);
        let step = begin(&bucket, &begin_request(true, NOW_MS)).unwrap();
        let written = bucket.bytes_sent.get();
        let (prompts, step) = converse(&bucket, step);
        assert!(prompts.len() > 3, "{}", prompts.len());
        assert_eq!(bucket.bytes_sent.get(), written, "asking writes nothing");
        let Next::Ready(ready) = &step.next else {
            panic!("{step:?}")
        };
        let removed = ready.messages as usize;
        assert!(removed > 50 && removed < 100, "{removed}");
        assert_eq!(ready.text, format!("Summary {}.", prompts.len()));
        assert_eq!(ready.tier, Tier::Full);
        // Every message that is removed is shown once, and no other.
        for number in 0..20 {
            let question = format!("  a question {number}\n");
            let shown: usize = prompts
                .iter()
                .map(|prompt| prompt.matches(&question).count())
                .sum();
            assert_eq!(shown, usize::from(number * 5 < removed), "{number}");
        }
        // Each question goes on from the answer before.
        for (index, prompt) in prompts.iter().enumerate() {
            assert_eq!(prompt.contains(&format!("  Summary {index}.\n")), index > 0);
            assert_eq!(prompt.contains(&format!("  - memory {index}\n")), index > 0);
        }
        let answer = commit(&bucket, &commit_request(&step, "r1", NOW_MS)).unwrap();
        let committed = answer.committed.unwrap();
        assert_eq!(committed.removed_messages as usize, removed);
        assert_eq!((committed.part_ms, committed.repeat), (NOW_MS, false));
        // What is removed is archived as it was, what is kept is given as it was.
        let parts = parts(&bucket);
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].0, committed.part_key);
        assert_eq!(parts[0].1, lines[..removed]);
        let (given, repairs) = given(&bucket);
        assert_eq!((&given[1..], repairs), (&lines[removed..], 0));
        assert_eq!(given[0], committed.summary_message);
        assert!(
            given[0]
                .contains(r"[Conversation summary from automatic context compaction]\n\nSummary")
        );
        let memories = String::from_utf8(bucket.bytes(DAY_KEY).unwrap()).unwrap();
        let all: Vec<String> = (1..=prompts.len())
            .map(|n| format!("- memory {n}\n"))
            .collect();
        let header = "### Extracted from context compaction (09:30)\n\n";
        assert_eq!(memories, format!("{header}{}", all.concat()));
        assert_eq!(committed.memory_key.as_deref(), Some(DAY_KEY));
        let after = state(&bucket);
        assert_eq!((after.pending, after.last_part_ms), (None, NOW_MS));
        let objects = bucket.objects.borrow();
        let part = &objects[&committed.part_key].options;
        let metadata: Vec<_> = part
            .metadata
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        let (ms, count) = (NOW_MS.to_string(), removed.to_string());
        assert_eq!(
            metadata,
            [
                ("sessionKey", "agent:hera:main"),
                ("sessionId", after.session_id.as_str()),
                ("agentId", "hera"),
                ("partNumber", &ms),
                ("messageCount", &count),
                ("archivedAt", &ms)
            ]
        );
    }
}

#[test]
fn several_in_a_row_lose_nothing_and_archive_nothing_twice() {
    for (appends, with_model) in [(false, true), (true, false)] {
        let bucket = Bucket::new(appends);
        let mut all = Vec::new();
        for round in 0..5u64 {
            let lines = turns(&format!("r{round}"), 8);
            say(
                &bucket,
                &format!("r{round}"),
                &lines,
                NOW_MS + round * 1_000,
            );
            all.extend(lines);
            // The clock stands still: parts get names of their own all the same.
            let committed = compact(&bucket, &format!("c{round}"), with_model, NOW_MS).unwrap();
            assert_eq!(committed.unwrap().part_ms, NOW_MS + round);
            let (given, repairs) = given(&bucket);
            assert_eq!(repairs, 0);
            let archived = parts(&bucket).into_iter().flat_map(|(_, lines)| lines);
            let whole: Vec<String> = archived.chain(given[1..].iter().cloned()).collect();
            assert_eq!(whole, all, "round {round}");
        }
        assert_eq!(bucket.bytes(DAY_KEY).is_some(), with_model);
    }
}

#[test]
fn without_a_model_the_summary_counts() {
    let (bucket, _) = bucket_with(20, false);
    let step = begin(&bucket, &begin_request(false, NOW_MS)).unwrap();
    let Next::Ready(ready) = &step.next else {
        panic!("{step:?}")
    };
    assert_eq!((ready.tier, &ready.memories), (Tier::Plain, &None));
    let said = format!("Removed here: {} messages in all", ready.messages);
    assert!(ready.text.contains(&said), "{}", ready.text);
    commit(&bucket, &commit_request(&step, "r1", NOW_MS)).unwrap();
    assert_eq!(given(&bucket).1, 0);
    assert_eq!(bucket.bytes(DAY_KEY), None);
}

#[test]
fn it_is_due_over_what_is_usable_and_not_before() {
    let (bucket, lines) = bucket_with(20, false);
    let mut request = begin_request(true, NOW_MS);
    request.force = false;
    let tokens: u64 = facts_of(&lines).iter().map(|facts| facts.tokens).sum();
    for (system_tokens, compact) in [(0, false), (1, true)] {
        let conditions = &mut request.conditions;
        (conditions.window_tokens, conditions.system_tokens) = (tokens + 20_000, system_tokens);
        let verdict = should_compact(&bucket, conditions).unwrap();
        let figures = (
            verdict.compact,
            verdict.messages,
            verdict.tokens,
            verdict.usable_tokens,
        );
        assert_eq!(figures, (compact, 100, tokens + system_tokens, tokens));
        let step = begin(&bucket, &request).unwrap();
        assert_eq!(
            matches!(step.next, Next::Nothing(_)),
            !compact,
            "{:?}",
            step.next
        );
    }
    request.conditions.settings = Some(Settings {
        enabled: false,
        ..Settings::default()
    });
    let step = begin(&bucket, &request).unwrap();
    assert!(matches!(&step.next, Next::Nothing(why) if why.contains("not enabled")));
    assert_eq!(step.state, "");
    let empty = Bucket::new(false);
    assert_eq!(
        should_compact(&empty, &request.conditions)
            .unwrap()
            .messages,
        0
    );
    assert!(matches!(
        begin(&empty, &request).unwrap().next,
        Next::Nothing(_)
    ));
    // One turn alone cannot be cut.
    let (short, _) = bucket_with(1, false);
    let step = begin(&short, &begin_request(true, NOW_MS)).unwrap();
    assert!(matches!(step.next, Next::Nothing(_)));
}

/// One part, one section, one entry, whatever the commit was stopped after.
fn check_done(bucket: &Bucket, lines: &[String], at: usize) {
    let parts = parts(bucket);
    assert_eq!(parts.len(), 1, "stopped after {at}");
    let (given, _) = given(bucket);
    let whole: Vec<&String> = parts[0].1.iter().chain(&given[1..]).collect();
    assert_eq!(
        whole,
        lines.iter().collect::<Vec<_>>(),
        "stopped after {at}"
    );
    let days = bucket.keys("agents/hera/memory/").into_iter();
    let memories: String = days
        .map(|key| String::from_utf8(bucket.bytes(&key).unwrap()).unwrap())
        .collect();
    assert_eq!(
        memories.matches("### Extracted").count(),
        1,
        "stopped after {at}"
    );
    let entries = log_lines(bucket);
    let summaries = entries
        .iter()
        .filter(|(id, _)| id.as_deref() == Some("r1.summary"));
    assert_eq!(summaries.count(), 1, "stopped after {at}");
    assert_eq!(state(bucket).pending, None, "stopped after {at}");
    assert_eq!(
        bucket
            .keys("agents/hera/sessions/")
            .iter()
            .filter(|key| key.contains("/pieces/"))
            .count(),
        0
    );
}

#[test]
fn a_commit_stops_after_any_call_and_a_repeat_finishes_it() {
    for (appends, last_is_done) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut at = 0;
        loop {
            let (bucket, lines) = bucket_with(12, appends);
            let (_, step) = {
                let step = begin(&bucket, &begin_request(true, NOW_MS)).unwrap();
                converse(&bucket, step)
            };
            let before = messages(&bucket);
            let stopping = Stopping {
                inner: &bucket,
                left: Cell::new(at),
                last_is_done,
            };
            let first = commit(&stopping, &commit_request(&step, "r1", NOW_MS));
            let whole = first.is_ok() && !stopping.stopped();
            if first.is_err() && parts(&bucket).is_empty() {
                assert_eq!(
                    messages(&bucket),
                    before,
                    "nothing is dropped before the archive"
                );
            }
            // Again the next day, and the day after.
            for later in [1u64, 2] {
                let now_ms = NOW_MS + later * 86_400_000;
                let again = commit(&bucket, &commit_request(&step, "r1", now_ms)).unwrap();
                let committed = again.committed.unwrap();
                assert!(
                    committed.repeat || (later == 1 && !whole),
                    "stopped after {at}"
                );
                check_done(&bucket, &lines, at);
            }
            if whole {
                assert!(at > 15, "{at} calls");
                break;
            }
            at += 1;
        }
    }
}

#[test]
fn of_two_hosts_one_wins_and_the_other_is_told() {
    let (bucket, lines) = bucket_with(12, false);
    let ready = || {
        let step = begin(&bucket, &begin_request(true, NOW_MS)).unwrap();
        converse(&bucket, step).1
    };
    let (ours, theirs) = (ready(), ready());
    commit(&bucket, &commit_request(&ours, "r1", NOW_MS)).unwrap();
    let error = commit(&bucket, &commit_request(&theirs, "r2", NOW_MS + 1)).unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(error.message.contains("begin again"), "{error}");
    check_done(&bucket, &lines, 0);
    // New messages after the end change nothing of a repeat.
    say(&bucket, "b", &turns("b", 2), NOW_MS + 10);
    let repeat = commit(&bucket, &commit_request(&ours, "r1", NOW_MS + 20)).unwrap();
    assert!(repeat.committed.unwrap().repeat);
}

#[test]
fn a_commit_that_was_given_up_is_taken_over_with_its_part() {
    for at in 4..40 {
        let (bucket, lines) = bucket_with(12, false);
        let step = begin(&bucket, &begin_request(true, NOW_MS)).unwrap();
        let (_, theirs) = converse(&bucket, step);
        let stopping = Stopping {
            inner: &bucket,
            left: Cell::new(at),
            last_is_done: false,
        };
        let first = commit(&stopping, &commit_request(&theirs, "r0", NOW_MS));
        let pending = state(&bucket).pending.is_some();
        let published = messages(&bucket) != lines;
        if first.is_ok() || published || !pending {
            continue;
        }
        say(&bucket, "b", &turns("b", 3), NOW_MS + 10);
        let early = NOW_MS + COMPACTION_LEASE_MS - 1;
        let error = begin(&bucket, &begin_request(true, early)).unwrap_err();
        assert_eq!(
            (error.code, error.retry_after_ms),
            (ErrorCode::Conflict, Some(1))
        );
        let error = commit(&bucket, &commit_request(&theirs, "r1", early)).unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict);
        let committed = compact(&bucket, "r1", true, early + 1).unwrap().unwrap();
        assert_eq!(committed.part_ms, NOW_MS);
        check_done(&bucket, &[lines, turns("b", 3)].concat(), at);
        // Who gave up and comes back is told.
        let error = commit(&bucket, &commit_request(&theirs, "r0", early + 2)).unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict);
    }
}

#[test]
fn what_changed_behind_its_back_is_noticed() {
    let (bucket, _) = bucket_with(12, true);
    let step = begin(&bucket, &begin_request(false, NOW_MS)).unwrap();
    let key = keys(&bucket).head().to_owned();
    let text = String::from_utf8(bucket.bytes(&key).unwrap()).unwrap();
    let before = bucket.keys("");
    for edited in [
        text.replacen("question 1", "question 2", 1),
        text.lines()
            .skip(3)
            .map(|line| format!("{line}\n"))
            .collect(),
        text.lines()
            .take(3)
            .map(|line| format!("{line}\n"))
            .collect(),
    ] {
        bucket.insert(&key, edited.as_bytes());
        let error = commit(&bucket, &commit_request(&step, "r1", NOW_MS)).unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict, "{error}");
        assert_eq!(bucket.keys(""), before);
    }
}

#[test]
fn answers_that_are_none_go_down_the_tiers() {
    let (bucket, _) = bucket_with(20, false);
    let begun = || begin(&bucket, &begin_request(true, NOW_MS)).unwrap();
    let go_on =
        |step: &Step, reply: Reply| resume(&bucket, &session(), &step.state, &reply).unwrap();
    let long = |tag: &str, bytes: usize| {
        let text = "x".repeat(bytes);
        match tag {
            "summary" => format!("<summary>{text}</summary>"),
            _ => format!("<summary>s</summary><memories>{text}</memories>"),
        }
    };
    for (reply, tier) in [
        (Reply::Text(answer(1)), Tier::Full),
        (Reply::Text("No tags.".into()), Tier::Full),
        (Reply::Text(" \n".into()), Tier::Partial),
        (Reply::Text("<summary></summary>".into()), Tier::Partial),
        (Reply::Failed("overloaded".into()), Tier::Partial),
        (
            Reply::Text(long("summary", COMPACTION_SUMMARY_BYTES_MAX)),
            Tier::Full,
        ),
        (
            Reply::Text(long("summary", COMPACTION_SUMMARY_BYTES_MAX + 1)),
            Tier::Partial,
        ),
        (
            Reply::Text(long("memories", COMPACTION_SUMMARY_BYTES_MAX)),
            Tier::Full,
        ),
        (
            Reply::Text(long("memories", COMPACTION_SUMMARY_BYTES_MAX + 1)),
            Tier::Partial,
        ),
    ] {
        let step = go_on(&begun(), reply.clone());
        let Next::Ask(question) = &step.next else {
            panic!("{step:?}")
        };
        assert_eq!(question.tier, tier);
        assert_eq!(question.messages_done == 0, tier == Tier::Partial);
        let told = step
            .problems
            .iter()
            .any(|problem| problem.message.contains("no summary"));
        assert_eq!(told, tier == Tier::Partial);
    }
    // The first answer stands, and only what comes after it is counted.
    let first = go_on(&begun(), Reply::Text(answer(1)));
    let second = go_on(&first, Reply::Failed("down".into()));
    let third = go_on(&second, Reply::Failed("still down".into()));
    let (Next::Ask(question), Next::Ready(ready)) = (&first.next, &third.next) else {
        panic!("{third:?}")
    };
    let left = question.messages_total - question.messages_done;
    let expected = format!("Summary 1.\n\nNo summary of this part");
    assert!(ready.text.starts_with(&expected), "{}", ready.text);
    assert!(
        ready
            .text
            .contains(&format!("Removed here: {left} messages")),
        "{}",
        ready.text
    );
    assert_eq!(ready.tier, Tier::Plain);
    commit(&bucket, &commit_request(&third, "r1", NOW_MS)).unwrap();
    assert_eq!(given(&bucket).1, 0);
}

#[test]
fn memories_of_many_answers_stay_in_bounds() {
    let (bucket, _) = bucket_with(20, false);
    let half = "m".repeat(COMPACTION_SUMMARY_BYTES_MAX / 2 - 1);
    let reply = Reply::Text(format!("<summary>s</summary><memories>{half}</memories>"));
    let mut step = begin(&bucket, &begin_request(true, NOW_MS)).unwrap();
    let mut left_out = 0;
    while let Next::Ask(_) = step.next {
        step = resume(&bucket, &session(), &step.state, &reply).unwrap();
        assert!(step.state.len() < COMPACTION_STATE_BYTES_MAX);
        left_out += step
            .problems
            .iter()
            .filter(|p| p.message.contains("left out: with"))
            .count();
    }
    let Next::Ready(ready) = &step.next else {
        panic!("{step:?}")
    };
    assert_eq!(
        ready.memories.as_ref().unwrap().len(),
        COMPACTION_SUMMARY_BYTES_MAX - 1
    );
    assert!(left_out > 0);
    commit(&bucket, &commit_request(&step, "r1", NOW_MS)).unwrap();
}

#[test]
fn states_that_do_not_fit_are_refused() {
    let (bucket, _) = bucket_with(20, false);
    let asking = begin(&bucket, &begin_request(true, NOW_MS)).unwrap();
    let ready = begin(&bucket, &begin_request(false, NOW_MS)).unwrap();
    let reply = Reply::Text(answer(1));
    let resume_code =
        |session: &Session, state: &str| resume(&bucket, session, state, &reply).unwrap_err().code;
    assert_eq!(resume_code(&session(), &ready.state), ErrorCode::Invalid);
    let commit_code = |step: &Step, id: &str| {
        commit(&bucket, &commit_request(step, id, NOW_MS))
            .unwrap_err()
            .code
    };
    assert_eq!(commit_code(&asking, "r1"), ErrorCode::Invalid);
    assert_eq!(commit_code(&ready, "r 1"), ErrorCode::Invalid);
    let mut other = session();
    other.session_key = "agent:hera:dm:x".into();
    assert_eq!(resume_code(&other, &asking.state), ErrorCode::Invalid);
    other.home.system = "moltbot".into();
    assert_eq!(resume_code(&other, &asking.state), ErrorCode::Unsupported);
    let newer = asking.state.replacen(r#""format":1"#, r#""format":2"#, 1);
    assert_eq!(resume_code(&session(), &newer), ErrorCode::Unsupported);
    for broken in ["", "{}", "[]", &asking.state[..100], r#"{"format":1}"#] {
        assert_eq!(
            resume_code(&session(), broken),
            ErrorCode::Invalid,
            "{broken}"
        );
    }
    let padded =
        |bytes: usize| format!("{}{}", asking.state, " ".repeat(bytes - asking.state.len()));
    assert!(
        resume(
            &bucket,
            &session(),
            &padded(COMPACTION_STATE_BYTES_MAX),
            &reply
        )
        .is_ok()
    );
    let over = padded(COMPACTION_STATE_BYTES_MAX + 1);
    assert_eq!(resume_code(&session(), &over), ErrorCode::TooLarge);
    // Any number in it may be wrong: an error, never a panic.
    let digits: Vec<usize> = (0..asking.state.len())
        .filter(|at| asking.state.as_bytes()[*at].is_ascii_digit())
        .collect();
    for at in digits {
        let mut changed = asking.state.clone();
        changed.replace_range(at..=at, "9");
        let _ = resume(&bucket, &session(), &changed, &reply);
    }
}

/// A turn of a conversation as agents leave it: some whole, some stopped, some with results that are of
/// nothing.
fn turn() -> impl Strategy<Value = Vec<String>> {
    (any::<u32>(), 0u8..8, 0usize..900).prop_map(|(id, kind, length)| {
        let text = "w ".repeat(length);
        let call = |name: &str| format!(r#"{{"type":"toolCall","id":"{name}{id}","name":"Bash","arguments":{{}}}}"#);
        let result = |name: &str| format!(r#"{{"role":"toolResult","toolCallId":"{name}{id}","toolName":"Bash","content":"{text}{id}"}}"#);
        let user = format!(r#"{{"role":"user","content":"{text}{id}"}}"#);
        let asks = format!(r#"{{"role":"assistant","content":[{},{}]}}"#, call("x"), call("y"));
        let says = format!(r#"{{"role":"assistant","content":"{text}{id}!"}}"#);
        match kind {
            0 => vec![user],
            1 => vec![user, says],
            2 => vec![user, asks],
            3 => vec![user, asks, result("y")],
            4 => vec![result("z"), user],
            _ => vec![user, asks, result("y"), result("x"), says],
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_kept_is_valid_and_nothing_is_lost(
        rounds in proptest::collection::vec((proptest::collection::vec(turn(), 1..8), any::<bool>()), 1..5),
        appends: bool,
    ) {
        let bucket = Bucket::new(appends);
        let mut all = Vec::new();
        for (round, (turns, with_model)) in rounds.into_iter().enumerate() {
            let lines = turns.concat();
            say(&bucket, &format!("r{round}"), &lines, NOW_MS + round as u64 * 10_000);
            all.extend(lines);
            let now_ms = NOW_MS + round as u64 * 10_000 + 5_000;
            let committed = compact(&bucket, &format!("c{round}"), with_model, now_ms).unwrap();
            // Whatever is kept, every provider takes it.
            given(&bucket);
            let stands = messages(&bucket);
            let summaries = usize::from(committed.is_some() || stands[0].contains("[Conversation summary"));
            let archived = parts(&bucket).into_iter().flat_map(|(_, lines)| lines);
            let whole: Vec<String> = archived.chain(stands.into_iter().skip(summaries)).collect();
            prop_assert_eq!(&whole, &all);
        }
    }
}

/// Messages that come while the model is asked are kept, also from a clock that is behind.
#[test]
fn messages_that_come_in_between_are_kept() {
    for appends in [false, true] {
        let (bucket, lines) = bucket_with(12, appends);
        let step = begin(&bucket, &begin_request(true, NOW_MS)).unwrap();
        say(&bucket, "late", &turns("late", 1), NOW_MS - 9_000_000);
        let (_, step) = converse(&bucket, step);
        say(&bucket, "later", &turns("later", 1), NOW_MS - 8_000_000);
        commit(&bucket, &commit_request(&step, "r1", NOW_MS)).unwrap();
        say(&bucket, "latest", &turns("latest", 1), NOW_MS - 7_000_000);
        let (given, _) = given(&bucket);
        let whole: Vec<String> = parts(&bucket)
            .remove(0)
            .1
            .into_iter()
            .chain(given[1..].to_vec())
            .collect();
        assert_eq!(
            whole,
            [
                lines,
                turns("late", 1),
                turns("later", 1),
                turns("latest", 1)
            ]
            .concat()
        );
    }
}

/// What another program left in the log is archived as it stands, and said.
#[test]
fn lines_of_other_programs_are_archived_and_reported() {
    let (bucket, lines) = bucket_with(12, true);
    let key = keys(&bucket).head().to_owned();
    let text = String::from_utf8(bucket.bytes(&key).unwrap()).unwrap();
    let strange = "no message at all";
    let bare = r#"{"role":"user","content":"bare"}"#;
    let summary = haversack_core::transform::compaction::summary::message_line("Of old.", 1);
    let mut edited: Vec<&str> = text.lines().collect();
    edited.insert(1, &summary);
    edited.insert(4, strange);
    edited.insert(5, bare);
    bucket.insert(&key, format!("{}\n", edited.join("\n")).as_bytes());
    let step = begin(&bucket, &begin_request(true, NOW_MS)).unwrap();
    assert!(
        step.problems
            .iter()
            .any(|problem| problem.message.contains("no message"))
    );
    let (prompts, step) = converse(&bucket, step);
    // A summary that another program left as a message goes on as one.
    assert!(
        prompts[0].contains("<previous_summary>\n  Of old.\n"),
        "{}",
        prompts[0]
    );
    assert!(!prompts.concat().contains("User:\n  [Conversation summary"));
    let committed = commit(&bucket, &commit_request(&step, "r1", NOW_MS))
        .unwrap()
        .committed
        .unwrap();
    let part = parts(&bucket).remove(0).1;
    assert_eq!(part.len() as u64, committed.removed_messages + 1);
    let expected: Vec<String> = [summary.clone()]
        .into_iter()
        .chain(lines[..2].to_vec())
        .chain([strange.into(), bare.into()])
        .collect();
    assert_eq!(part[..5], expected);
    assert_eq!(given(&bucket).1, 0);
}
