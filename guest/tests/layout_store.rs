//! `layout.homes` and `layout.contents` over a store: what they find, in how many waves and pages.

mod support;

use haversack_core::ops::layout::{ContentsPage, contents, homes};
use haversack_core::types::{ErrorCode, Home};
use support::MemoryStore;

fn home(text: &str) -> Home {
    let (system, id) = text.split_once(':').unwrap();
    Home {
        system: system.to_owned(),
        id: id.to_owned(),
    }
}

/// All homes of a store, page by page, and the number of calls.
fn all_homes(store: &MemoryStore, system: Option<&str>) -> (Vec<String>, usize) {
    let mut found = Vec::new();
    let mut from = None;
    for call in 1.. {
        let page = homes(store, system.map(str::to_owned), from).unwrap();
        found.extend(
            page.homes
                .iter()
                .map(|home| format!("{}:{}", home.system, home.id)),
        );
        from = page.continue_from;
        if from.is_none() {
            return (found, call);
        }
    }
    unreachable!()
}

fn mixed() -> MemoryStore {
    MemoryStore::with_keys([
        "agents/hera/SOUL.md",
        "agents/nex/internal_space/MEMORY.md",
        "agents/nex/other",
        "agents/no good/SOUL.md",
        "agents/o_o/internal_space/MEMORY.md",
        "deleted/user_1/20260220T093000Z/meta.json",
        "deleted/user_9/20260220T093000Z/meta.json",
        "media/agent:hera:main/x",
        "my-proj/task-20260220-0930001234-42-fix-bug/DONE",
        "proj/home-folders.md",
        "proj2/FACT-20260220-0930001234-42-a.md",
        "skills/x/SKILL.md",
        "src/main.rs",
        "threads/t1/a",
        "users/user_1/meta.json",
    ])
}

#[test]
fn directories_tell_the_systems_apart() {
    let store = mixed();
    let (found, calls) = all_homes(&store, None);
    assert_eq!(
        found,
        [
            "gsv:hera",
            // Its name breaks hi-boss's rule, and it is not hidden for that.
            "gsv:o_o",
            "hi-boss:nex",
            "moltbot:user_1",
            "moltbot:user_9",
            "run-agent:my-proj",
            "run-agent:proj",
            "run-agent:proj2",
            "solven:t1",
        ]
    );
    assert_eq!(calls, 1);
    // The five directories together, then one look into each kind.
    assert_eq!(*store.waves.borrow(), [5, 2, 2, 4]);
}

#[test]
fn a_named_system_lists_its_own() {
    let of = |system| all_homes(&mixed(), Some(system)).0;
    assert_eq!(of("gsv"), ["gsv:hera", "gsv:nex", "gsv:o_o"]);
    assert_eq!(of("hi-boss"), ["hi-boss:nex"]);
    assert_eq!(of("moltbot"), ["moltbot:user_1", "moltbot:user_9"]);
    assert_eq!(
        of("run-agent"),
        ["run-agent:my-proj", "run-agent:proj", "run-agent:proj2"]
    );
    assert_eq!(of("solven"), ["solven:t1"]);
    let error = homes(&mixed(), Some("gsvv".into()), None).unwrap_err();
    assert_eq!(error.code, ErrorCode::Invalid);
    assert!(
        error
            .message
            .contains("gsv, moltbot, run-agent, solven, hi-boss")
    );
    assert_eq!(
        all_homes(&MemoryStore::with_keys(Vec::<String>::new()), None),
        (vec![], 1)
    );
}

#[test]
fn every_home_comes_once_whatever_the_pages() {
    let mut keys: Vec<String> = (0..700)
        .flat_map(|n| {
            let space = if n % 3 == 0 { "internal_space/" } else { "" };
            // Names whose neighbours sort around the slash.
            [
                format!("agents/a{n}/{space}x"),
                format!("agents/a{n}-b/{space}x"),
            ]
        })
        .collect();
    keys.extend((0..300).map(|n| format!("p{n}/home-folders.md")));
    keys.extend((0..2_500).map(|n| format!("users/u{n}/meta.json")));
    keys.sort();
    for page_max in [1_000, 97] {
        let mut store = MemoryStore::with_keys(&keys);
        store.page_max = page_max;
        let (mut found, calls) = all_homes(&store, None);
        assert!(calls > 1);
        let count = found.len();
        found.sort();
        found.dedup();
        assert_eq!(
            (found.len(), count),
            (1_400 + 300 + 2_500, 4_200),
            "pages of {page_max}"
        );
        assert!(store.waves.borrow().iter().all(|requests| *requests <= 256));
    }
}

#[test]
fn a_call_stays_within_its_pages() {
    let mut store = MemoryStore::with_keys((0..2_000).map(|n| format!("threads/t{n}/x")));
    store.page_max = 100;
    let page = homes(&store, Some("solven".into()), None).unwrap();
    assert_eq!((page.homes.len(), page.cost.requests), (800, 8));
    let next = homes(&store, Some("solven".into()), page.continue_from.clone()).unwrap();
    assert_eq!(next.homes.len(), 800);
    for (system, from) in [
        (Some("gsv"), page.continue_from),
        (None, Some("{}x".into())),
    ] {
        let error = homes(&store, system.map(str::to_owned), from).unwrap_err();
        assert_eq!(error.code, ErrorCode::Invalid);
        assert!(error.message.contains("begin anew"), "{}", error.message);
    }
}

fn all_contents(store: &MemoryStore, id: &str) -> (Vec<String>, Vec<ContentsPage>) {
    let mut pages = Vec::new();
    let mut from = None;
    loop {
        let page = contents(store, &home(id), from).unwrap();
        from = page.continue_from.clone();
        pages.push(page);
        if from.is_none() {
            break;
        }
    }
    let keys = pages
        .iter()
        .flat_map(|page| &page.items)
        .map(|item| item.key.clone())
        .collect();
    (keys, pages)
}

#[test]
fn contents_are_a_homes_own_and_typed() {
    let store = MemoryStore::with_keys([
        "agents/hera/SOUL.md",
        "agents/hera/memory/2026-02-20.md",
        "agents/hera2/SOUL.md",
        "media/agent:hera2:main/0b6f3a52-8d3c-4b53-9a5e-0c6b9f1f7a10.jpg",
        "media/agent:hera:main/0b6f3a52-8d3c-4b53-9a5e-0c6b9f1f7a10.jpg",
        "media/agent:hera:main/notes",
        "skills/x/SKILL.md",
    ]);
    let (keys, pages) = all_contents(&store, "gsv:hera");
    let kinds: Vec<_> = pages
        .iter()
        .flat_map(|page| &page.items)
        .map(|item| item.place.as_ref().map(|place| place.kind.as_str()))
        .collect();
    assert_eq!(
        keys,
        [
            "agents/hera/SOUL.md",
            "agents/hera/memory/2026-02-20.md",
            "media/agent:hera:main/0b6f3a52-8d3c-4b53-9a5e-0c6b9f1f7a10.jpg",
            "media/agent:hera:main/notes",
        ]
    );
    assert_eq!(
        kinds,
        [
            Some("workspace-file"),
            Some("daily-memory"),
            Some("media"),
            None
        ]
    );
    // Both roots in one wave.
    assert_eq!(*store.waves.borrow(), [2]);
}

#[test]
fn contents_go_on_where_they_stopped() {
    let mut keys: Vec<_> = (0..2_345)
        .map(|n| format!("users/u/workspace/{n:05}"))
        .collect();
    keys.extend((0..30).map(|n| format!("deleted/u/20260220T093000Z/{n:02}")));
    for page_max in [1_000, 100, 7] {
        let mut store = MemoryStore::with_keys(&keys);
        store.page_max = page_max;
        let (found, pages) = all_contents(&store, "moltbot:u");
        assert_eq!(found, keys);
        assert!(pages.iter().all(|page| page.cost.requests <= 8));
    }
}

#[test]
fn what_is_not_there_says_how_to_go_on() {
    let store = mixed();
    let error = contents(&store, &home("gsv:her"), None).unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(error.message.contains("haversack ls"), "{}", error.message);
    assert!(error.message.contains("agents/her/"), "{}", error.message);

    let error = contents(&store, &home("gsv:no good"), None).unwrap_err();
    assert_eq!(error.code, ErrorCode::Invalid);
    assert!(
        error.message.contains("A-Z a-z 0-9 _ -"),
        "{}",
        error.message
    );

    for from in ["", "x", "{\"home\":\"gsv:nex\",\"root\":0,\"cursor\":null}"] {
        let error = contents(&store, &home("gsv:hera"), Some(from.into())).unwrap_err();
        assert_eq!(error.code, ErrorCode::Invalid);
    }
    let far = "{\"home\":\"gsv:hera\",\"root\":2,\"cursor\":null}";
    assert!(contents(&store, &home("gsv:hera"), Some(far.into())).is_err());
}

#[test]
fn a_store_that_refuses_is_an_error_that_names_the_prefix() {
    let store = mixed();
    store.denied.set(Some("agents/"));
    let error = homes(&store, None, None).unwrap_err();
    assert_eq!(
        (error.code, error.key.as_deref()),
        (ErrorCode::Denied, Some("agents/"))
    );
    store.denied.set(Some("agents/hera/"));
    let error = contents(&store, &home("gsv:hera"), None).unwrap_err();
    assert_eq!(error.key.as_deref(), Some("agents/hera/"));
}
