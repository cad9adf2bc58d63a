//! Lists of sessions, due ones and media from outside: complete whatever a page holds, in as few waves as they
//! promise, and what makes a session due.

#[path = "support/archives.rs"]
mod archives;
#[path = "support/bucket.rs"]
mod bucket;
#[path = "support/talk.rs"]
mod talk;

use archives::compact;
use bucket::Bucket;
use haversack_core::ops::media::{self, DiscardRequest, Named};
use haversack_core::ops::sessions::*;
use haversack_core::store::{
    Answer, Body, ListRequest as StoreList, Listing, PutOptions, Request, Skipped, Source, Store,
    StoreResult,
};
use haversack_core::transform::reset_policy::ResetPolicy;
use talk::*;

const HOUR_MS: u64 = 3_600_000;

/// How the bucket itself lists.
type Inner<'a> = dyn Fn(StoreList) -> Listing + 'a;

/// A bucket whose lists are changed by `list`.
struct Listed<'a> {
    inner: &'a Bucket,
    list: &'a dyn Fn(&StoreList, &Inner<'_>) -> Listing,
}

impl Store for Listed<'_> {
    fn describe(&self) -> Vec<(String, String)> {
        self.inner.describe()
    }

    fn read(&self, wave: Vec<Request>) -> Vec<StoreResult<Answer>> {
        let inner = |request| match self.inner.read(vec![Request::List(request)]).pop() {
            Some(Ok(Answer::Listing(listing))) => listing,
            other => panic!("{other:?}"),
        };
        let has_list = wave.iter().any(|one| matches!(one, Request::List(_)));
        if !has_list {
            return self.inner.read(wave);
        }
        let answers = wave.into_iter().map(|request| match request {
            Request::List(list) => Ok(Answer::Listing((self.list)(&list, &inner))),
            other => self.inner.read(vec![other]).remove(0),
        });
        answers.collect()
    }

    fn put(&self, key: &str, body: Body, options: PutOptions) -> StoreResult<String> {
        self.inner.put(key, body, options)
    }

    fn append(&self, key: &str, body: Body, at_bytes: u64) -> StoreResult<u64> {
        self.inner.append(key, body, at_bytes)
    }

    fn concat(&self, sources: Vec<Source>, to: &str, options: PutOptions) -> StoreResult<String> {
        self.inner.concat(sources, to, options)
    }

    fn delete(&self, keys: Vec<String>) -> Vec<StoreResult<()>> {
        self.inner.delete(keys)
    }
}

/// Pages of one thing each, of whichever kind, and first of all one of nothing.
fn one_a_page(skipped: &[String], request: &StoreList, inner: &Inner<'_>) -> Listing {
    let Some(after) = &request.cursor else {
        let start = request.start_after.clone();
        return Listing {
            cursor: start.or(Some(request.prefix.clone())),
            ..Listing::default()
        };
    };
    let all = inner(StoreList {
        limit: None,
        ..request.clone()
    });
    let mut behind = skipped.iter();
    let behind = behind.find(|key| key.starts_with(&request.prefix) && *key > after);
    let entry = all.entries.first();
    let keys = [entry.map(|entry| &entry.key), all.prefixes.first(), behind];
    let Some(first) = keys.into_iter().flatten().min().cloned() else {
        return Listing::default();
    };
    let skip = behind.filter(|key| **key == first);
    Listing {
        entries: all.entries.into_iter().filter(|e| e.key == first).collect(),
        prefixes: all.prefixes.into_iter().filter(|p| *p == first).collect(),
        skipped: Vec::from_iter(skip.map(|key| Skipped {
            key: key.clone(),
            cause: "a symbolic link".to_owned(),
        })),
        cursor: Some(first),
    }
}

fn say_in(bucket: &Bucket, number: u64) {
    let request = AppendRequest {
        session_key: format!("agent:hera:dm:{number:03}"),
        ..appending("r", &[text("x")], NOW)
    };
    append(bucket, &request).unwrap();
}

fn listing(cursor: Option<String>) -> ListRequest {
    ListRequest {
        home: home(),
        cursor,
        limit: None,
    }
}

fn due_of_all(policy: ResetPolicy, now_ms: u64, cursor: Option<String>) -> DueRequest {
    DueRequest {
        session_key: None,
        cursor,
        ..asking(policy, now_ms)
    }
}

#[test]
fn a_page_of_only_skipped_things_is_not_the_end() {
    for bucket in both() {
        (0..3).for_each(|number| say_in(&bucket, number));
        let media = [1, 2].map(|number| insert_media(&bucket, number, NOW));
        let skipped = [
            "agents/hera/sessions/agent%3Ahera%3Aa.state.json".to_owned(),
            "agents/hera/sessions/agent%3Ahera%3Adm%3A001.jsonl".to_owned(),
            format!("media/{KEY}/00000000-0000-4000-8000-000000000000.png"),
            format!("media/{KEY}/00000000-0000-4000-8000-000000000001.tmp"),
        ];
        let list_one =
            |request: &StoreList, inner: &Inner<'_>| one_a_page(&skipped, request, inner);
        let store = Listed {
            inner: &bucket,
            list: &list_one,
        };
        let (mut seen, mut problems, mut cursor) = (Vec::new(), 0, None);
        loop {
            let page = list(&store, &listing(cursor)).unwrap();
            seen.extend(page.sessions.into_iter().filter_map(|one| one.session_key));
            problems += page.problems.len();
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        let all = [0, 1, 2].map(|number| format!("agent:hera:dm:{number:03}"));
        assert_eq!((seen, problems), (all.to_vec(), 2));
        let (mut seen, mut problems, mut cursor) = (Vec::new(), 0, None);
        loop {
            let idle = ResetPolicy::Idle { minutes: 1 };
            let page = due(&store, &due_of_all(idle, NOW + HOUR_MS, cursor)).unwrap();
            seen.extend(page.due.into_iter().map(|one| one.session_key));
            problems += page.problems.len();
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!((seen, problems), (all.to_vec(), 2));
        let (mut seen, mut problems, mut continue_from) = (Vec::new(), 0, None);
        loop {
            let request = DiscardRequest {
                session: media::Session {
                    home: home(),
                    session_key: KEY.to_owned(),
                },
                request_id: "d".to_owned(),
                keep: Named::default(),
                discard: Named::default(),
                orphans_before_ms: None,
                dry_run: true,
                continue_from,
            };
            let page = media::discard(&store, &request).unwrap();
            seen.extend(page.kept.into_iter().map(|one| one.key));
            problems += page.problems.len();
            continue_from = page.continue_from;
            if continue_from.is_none() {
                break;
            }
        }
        assert_eq!((seen, problems), (media.to_vec(), 2));
    }
}

/// A name that is passed over in front of a part hides nothing: what was removed does not come back.
#[test]
fn a_skipped_name_hides_no_part() {
    for inner in both() {
        (0..3).for_each(|number| drop(say(&inner, number)));
        compact(&inner, &[text("m0")], Some("m1.0"), NOW + 10);
        let session_id = status_of(&inner).session_id;
        let skipped = [format!("agents/hera/sessions/{session_id}-part!")];
        let list = |request: &StoreList, list: &Inner<'_>| one_a_page(&skipped, request, list);
        let store = Listed {
            inner: &inner,
            list: &list,
        };
        let done = reset(&store, "r").unwrap();
        assert_eq!(done.messages, Some(3), "the summary and two messages");
    }
}

/// A page of the most sessions that fit in.
#[test]
fn a_page_costs_two_waves() {
    let bucket = Bucket::new(true);
    (0..128).for_each(|number| say_in(&bucket, number));
    // 128 logs lie beside as many states.
    let page = list(&bucket, &listing(None)).unwrap();
    assert_eq!((page.sessions.len(), page.next), (128, None));
    assert_eq!(page.cost.waves, 2);
    let idle = ResetPolicy::Idle { minutes: 1 };
    let page = due(&bucket, &due_of_all(idle, NOW, None)).unwrap();
    assert_eq!(
        (page.due, page.cost.waves, page.cost.requests),
        (vec![], 2, 129)
    );
}

/// A state that grows behind the list is read whole all the same.
#[test]
fn a_state_that_grew_since_it_was_listed_is_read_again() {
    let bucket = Bucket::new(true);
    (0..2).for_each(|number| say_in(&bucket, number));
    let grows = |request: &StoreList, inner: &Inner<'_>| {
        let listing = inner(request.clone());
        for entry in &listing.entries {
            if entry.key.ends_with(".state.json") {
                let longer = [b"  ".as_slice(), &bucket.bytes(&entry.key).unwrap()].concat();
                bucket.insert(&entry.key, &longer);
            }
        }
        listing
    };
    let store = Listed {
        inner: &bucket,
        list: &grows,
    };
    let page = list(&store, &listing(None)).unwrap();
    assert_eq!((page.sessions.len(), page.problems), (2, vec![]));
    let idle = ResetPolicy::Idle { minutes: 1 };
    let page = due(&store, &due_of_all(idle, NOW + HOUR_MS, None)).unwrap();
    assert_eq!((page.due.len(), page.problems), (2, vec![]));
}

/// Its new session has no message, and no policy would ever find it.
#[test]
fn a_reset_that_was_left_pending_is_due() {
    for bucket in both() {
        say(&bucket, 7);
        let old = status_of(&bucket).session_id;
        let found = |expected: &[DueSession]| {
            for policy in [ResetPolicy::Manual, ResetPolicy::Idle { minutes: 525_600 }] {
                for request in [asking(policy, NOW), due_of_all(policy, NOW, None)] {
                    assert_eq!(due(&bucket, &request).unwrap().due, expected);
                }
            }
        };
        found(&[]);
        reset_begin(&bucket, &ending("reset-1")).unwrap();
        found(&[DueSession {
            session_key: KEY.to_owned(),
            session_id: old,
            last_activity_ms: NOW + 7,
        }]);
        assert_eq!(
            reset(&bucket, "reset-of-a-cron").unwrap().step,
            ResetStep::Done
        );
        found(&[]);
    }
}

/// A message that says it comes from the year 2100 keeps no session from being due.
#[test]
fn a_message_from_the_future_puts_nothing_off() {
    let ahead = format!(
        r#"{{"role":"user","content":"x","timestamp":{}}}"#,
        4_102_444_800_000u64
    );
    let idle = ResetPolicy::Idle { minutes: 30 };
    for is_mirrored in [false, true] {
        for bucket in both() {
            if is_mirrored {
                let page = MirrorRequest {
                    home: home(),
                    session_key: KEY.to_owned(),
                    session_id: "6f1d2c3b-0000-4000-8000-000000000001".to_owned(),
                    first: 0,
                    messages: vec![ahead.clone()],
                    now_ms: NOW,
                };
                mirror(&bucket, &page).unwrap();
            } else {
                append(&bucket, &appending("a", std::slice::from_ref(&ahead), NOW)).unwrap();
            }
            let asked = |now_ms| due(&bucket, &asking(idle, now_ms)).unwrap().due;
            assert_eq!(asked(NOW + HOUR_MS / 2), []);
            let [found] = asked(NOW + HOUR_MS).try_into().unwrap();
            assert_eq!(found.last_activity_ms, NOW);
        }
    }
}
