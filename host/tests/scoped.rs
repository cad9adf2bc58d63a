//! A scoped store holds its caller to one prefix: what lies outside cannot be named, listed, read, copied
//! or removed, whatever the caller makes up.

use std::sync::Arc;

use haversack_host::store::{
    Answer, BlobStore, Body, BodyKind, Condition, DiskStore, Error, ErrorCode, GetRequest,
    ListRequest, Listing, MemoryStore, PutOptions, Range, Request, ScopedStore, Source,
};

/// Neighbours that a careless prefix would cover, and one that leads into the store's own folder.
const OUTSIDE: [&str; 6] = [
    "a",
    "ab/secret",
    "b/secret",
    "secret",
    "t/aa",
    "t/ab/secret",
];
const INSIDE: [&str; 3] = ["t/a/one", "t/a/sub/two", "t/a/t/a/three"];

fn options(condition: Condition) -> PutOptions {
    PutOptions {
        condition,
        content_type: None,
        metadata: Vec::new(),
    }
}

fn list(prefix: &str) -> ListRequest {
    ListRequest {
        prefix: prefix.to_owned(),
        delimiter: false,
        start_after: None,
        cursor: None,
        limit: None,
    }
}

async fn put(store: &dyn BlobStore, key: &str, text: &str) -> Result<String, Error> {
    let body = Body::Text(text.to_owned());
    let options = options(Condition::Always);
    store.put(key.to_owned(), body, options).await
}

async fn ask(store: &dyn BlobStore, request: Request) -> Result<Answer, Error> {
    store.read(vec![request]).await.remove(0)
}

async fn get(store: &dyn BlobStore, key: &str) -> Result<Option<String>, Error> {
    let request = Request::Get(GetRequest {
        key: key.to_owned(),
        range: Range::Whole,
        kind: BodyKind::Text,
    });
    match ask(store, request).await? {
        Answer::Blob(None) => Ok(None),
        Answer::Blob(Some(blob)) => match blob.body {
            Body::Text(text) => Ok(Some(text)),
            Body::Binary(bytes) => panic!("binary: {bytes:?}"),
        },
        other => panic!("a get was answered by {other:?}"),
    }
}

async fn page(store: &dyn BlobStore, request: ListRequest) -> Result<Listing, Error> {
    match ask(store, Request::List(request)).await? {
        Answer::Listing(listing) => Ok(listing),
        other => panic!("a list was answered by {other:?}"),
    }
}

/// The whole store, and its part below `t/a`, both with content that says which key it is.
async fn stores(inner: Arc<dyn BlobStore>) -> (Arc<dyn BlobStore>, ScopedStore) {
    for key in OUTSIDE.iter().chain(&INSIDE) {
        put(&*inner, key, key).await.expect("written");
    }
    let scoped = ScopedStore::new(Arc::clone(&inner), "t/a".to_owned()).expect("a prefix");
    (inner, scoped)
}

/// Run on both kinds of store; the directory lives as long as the test.
async fn on_each(test: impl AsyncFn(Arc<dyn BlobStore>, ScopedStore)) {
    let directory = tempfile::tempdir().expect("a directory");
    let disk = DiskStore::open(directory.path()).expect("a store");
    for inner in [
        Arc::new(MemoryStore::new(true)) as Arc<dyn BlobStore>,
        Arc::new(disk),
    ] {
        let (inner, scoped) = stores(inner).await;
        test(Arc::clone(&inner), scoped).await;
        for key in OUTSIDE {
            assert_eq!(
                get(&*inner, key).await.expect("read").as_deref(),
                Some(key),
                "{key} was touched"
            );
        }
    }
}

#[tokio::test]
async fn every_call_that_names_a_key_refuses_what_leads_outside() {
    on_each(async |_, scoped| {
        for key in [
            "..",
            "../ab/secret",
            "../../secret",
            "/secret",
            "/t/ab/secret",
            "sub/../../ab/secret",
            "./../ab/secret",
            "..\\ab\\secret",
            ".haversack/format",
            "",
        ] {
            let body = || Body::Text("x".to_owned());
            let always = || options(Condition::Always);
            let source = Source {
                key: key.to_owned(),
                if_match: None,
            };
            let head = ask(&scoped, Request::Head(key.to_owned())).await;
            let outcomes = [
                get(&scoped, key).await.map(drop),
                head.map(drop),
                put(&scoped, key, "x").await.map(drop),
                scoped.append(key.to_owned(), body(), 0).await.map(drop),
                scoped
                    .concat(vec![source], "copy".to_owned(), always())
                    .await
                    .map(drop),
                scoped
                    .concat(vec![], key.to_owned(), always())
                    .await
                    .map(drop),
                scoped.delete(vec![key.to_owned()]).await.remove(0),
                scoped.upload(key.to_owned(), always()).await.map(drop),
            ];
            for (call, outcome) in outcomes.into_iter().enumerate() {
                let error = outcome.expect_err("refused");
                assert_eq!(error.code, ErrorCode::Invalid, "call {call} of {key:?}");
                assert!(error.message.contains(&format!("{key:?}")), "{error:?}");
            }
        }
        assert_eq!(get(&scoped, "copy").await, Ok(None));
    })
    .await;
}

#[tokio::test]
async fn names_from_outside_mean_something_inside_or_nothing() {
    on_each(async |inner, scoped| {
        for key in OUTSIDE.iter().chain(&["t/a/one", "t/ab"]) {
            assert_eq!(get(&scoped, key).await, Ok(None), "{key}");
        }
        assert_eq!(scoped.delete(vec!["secret".to_owned()]).await, [Ok(())]);
        put(&scoped, "secret", "mine").await.expect("written");
        assert_eq!(
            get(&*inner, "t/a/secret").await,
            Ok(Some("mine".to_owned()))
        );
        assert_eq!(
            get(&scoped, "t/a/three").await,
            Ok(Some("t/a/t/a/three".to_owned()))
        );
    })
    .await;
}

#[tokio::test]
async fn lists_end_at_the_prefix_whatever_prefix_start_or_cursor_says() {
    on_each(async |_, scoped| {
        let keys = |listing: Listing| -> Vec<String> {
            let entries = listing.entries.into_iter().map(|entry| entry.key);
            entries.chain(listing.prefixes).collect()
        };
        let all = ["one", "sub/two", "t/a/three"];
        assert_eq!(keys(page(&scoped, list("")).await.expect("listed")), all);
        for prefix in ["..", "../", "/", "../ab/", "b", ".haversack", "a"] {
            let found = keys(page(&scoped, list(prefix)).await.expect("listed"));
            assert_eq!(found, [""; 0], "below {prefix:?}");
        }
        for start in ["", "../", "/", "\0"] {
            let mut request = list("");
            request.start_after = Some(start.to_owned());
            let found = keys(page(&scoped, request).await.expect("listed"));
            assert!(found.iter().all(|key| all.contains(&key.as_str())));
        }
        let mut folded = list("");
        folded.delimiter = true;
        let found = keys(page(&scoped, folded).await.expect("listed"));
        assert_eq!(found, ["one", "sub/", "t/"]);

        let mut request = list("");
        request.limit = Some(1);
        let cursor = page(&scoped, request).await.expect("listed").cursor;
        let cursor = cursor.expect("a second page");
        assert!(!cursor.contains("t/a/"), "{cursor}");
        let by_hand = ["", "k", "o", "kone", "k../", "ot/", "osecret", "o742f", "x"];
        for cursor in by_hand.into_iter().chain([cursor.as_str()]) {
            let mut request = list("");
            request.cursor = Some(cursor.to_owned());
            match page(&scoped, request).await {
                Ok(page) => {
                    let found = keys(page);
                    assert!(
                        found.iter().all(|key| all.contains(&key.as_str())),
                        "cursor {cursor:?} lists {found:?}"
                    );
                }
                Err(error) => assert_eq!(error.code, ErrorCode::Invalid, "{cursor:?}"),
            }
        }
    })
    .await;
}

#[tokio::test]
async fn the_reserved_name_is_nobodys_inside_either() {
    let inner: Arc<dyn BlobStore> = Arc::new(MemoryStore::new(true));
    put(&*inner, "t/.haversack/x", "x").await.expect("written");
    put(&*inner, "t/seen", "x").await.expect("written");
    let scoped = ScopedStore::new(inner, "t/".to_owned()).expect("a prefix");
    for delimiter in [false, true] {
        let mut request = list("");
        request.delimiter = delimiter;
        let listing = page(&scoped, request).await.expect("listed");
        assert_eq!(listing.entries.len(), 1);
        assert_eq!(listing.prefixes, [""; 0]);
    }
}

#[tokio::test]
async fn errors_name_the_callers_key() {
    on_each(async |_, scoped| {
        let options = options(Condition::IfAbsent);
        let body = Body::Text("x".to_owned());
        let clash = scoped.put("sub/two/x".to_owned(), body.clone(), options.clone());
        let clash = clash.await.expect_err("an object is in the way").message;
        assert!(clash.contains(r#""sub/two/x""#), "{clash}");
        assert!(clash.contains(r#""sub/two""#), "{clash}");
        let taken = scoped.put("one".to_owned(), body, options.clone());
        let taken = taken.await.expect_err("it is there").message;
        assert!(taken.starts_with(r#"key "one": "#), "{taken}");
        let source = Source {
            key: "t/a/gone".to_owned(),
            if_match: None,
        };
        let gone = scoped.concat(vec![source], "copy".to_owned(), options);
        let gone = gone.await.expect_err("no such source").message;
        assert!(gone.contains(r#"key "t/a/gone""#), "{gone}");
    })
    .await;
}

#[test]
fn prefixes_are_keys_that_leave_room() {
    let store = || -> Arc<dyn BlobStore> { Arc::new(MemoryStore::new(true)) };
    let long = |bytes: usize| vec!["p".repeat(200); 6].join("/")[..bytes].to_owned();
    for prefix in [
        "",
        "/",
        "/a",
        "a//",
        "..",
        "a/../b",
        ".haversack",
        ".haversack/x",
        "e\u{301}",
    ] {
        let refused = ScopedStore::new(store(), prefix.to_owned()).map(drop);
        assert_eq!(refused.expect_err(prefix).code, ErrorCode::Invalid);
    }
    let full = ScopedStore::new(store(), long(1_023)).map(drop);
    assert_eq!(full.expect_err("no room").code, ErrorCode::TooLarge);
    let narrow = ScopedStore::new(store(), long(1_022)).expect("room for one byte");
    let described = narrow.describe();
    assert!(described.contains(&("key-bytes-max".to_owned(), "1".to_owned())));
}

#[tokio::test]
async fn the_longest_key_has_its_prefix_in_it() {
    let (inner, scoped) = stores(Arc::new(MemoryStore::new(true))).await;
    let name = vec!["n".repeat(100); 11].join("/");
    put(&scoped, &name[..1_020], "fits").await.expect("fits");
    assert!(
        get(&*inner, &format!("t/a/{}", &name[..1_020]))
            .await
            .is_ok()
    );
    let over = put(&scoped, &name[..1_021], "over")
        .await
        .expect_err("over");
    assert_eq!(over.code, ErrorCode::TooLarge);
    assert!(over.message.contains("over the 1020 that"), "{over:?}");
}

#[tokio::test]
async fn below_a_prefix_that_leaves_little_room_the_checks_of_long_keys_do_not_apply() {
    use haversack_host::contract::{CHECKS, Verdict};
    // The checks' own prefixes take up to 27 bytes with their slash, and a segment of 255 must fit.
    for (scope_bytes, applies) in [(600, true), (900, false)] {
        let scope = vec!["p".repeat(99); 10].join("/")[..scope_bytes - 1].to_owned();
        let inner = Arc::new(MemoryStore::new(true));
        let scoped = ScopedStore::new(inner, scope).expect("a prefix");
        for check in CHECKS
            .iter()
            .filter(|check| check.name.starts_with("keys/"))
        {
            let outcome = check.run(&scoped, "check").await;
            let long = check.name.ends_with("limits");
            match outcome.verdict {
                Verdict::Passed => assert!(applies || !long, "{}", check.name),
                Verdict::Skipped(_) => assert!(!applies && long, "{}", check.name),
                Verdict::Failed(what) => panic!("{}: {what}", check.name),
            }
        }
    }
}
