//! Places and keys are inverse for every kind of every system, over generated ids; hostile strings
//! never panic; no path leaves a view.

use haversack_core::layout::view::View;
use haversack_core::layout::{Place, System, home_prefixes, key, key_of, place_of};
use haversack_core::ops::layout::{Conversation, Room, session_key_of};
use proptest::prelude::*;
use proptest::sample::select;

/// Values of a field, by what its type is called.
fn values_of(what: &str) -> BoxedStrategy<String> {
    let segment = || "[^/\\\\\\pC]{1,12}".prop_filter("a segment", |s| s != "." && s != "..");
    match what {
        "agent id" => "[A-Za-z0-9][A-Za-z0-9_-]{0,12}".boxed(),
        "agent name" => "[A-Za-z0-9]{1,5}(-[A-Za-z0-9]{1,3}){0,2}".boxed(),
        "user id" | "thread id" => "[A-Za-z0-9][A-Za-z0-9_-]{0,12}"
            .prop_filter("reserved", |s| s != "system" && s != "user")
            .boxed(),
        "session id" | "media id" => {
            "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}".boxed()
        }
        "workspace file" => select(vec!["SOUL.md", "MEMORY.md", "BOOTSTRAP.md", "AGENTS.md"])
            .prop_map(str::to_owned)
            .boxed(),
        "media extension" => select(vec!["jpg", "docx", "m4a", "bin"])
            .prop_map(str::to_owned)
            .boxed(),
        "date" => (0u16..=9999, 1u8..=12, 1u8..=28)
            .prop_map(|(y, m, d)| format!("{y:04}-{m:02}-{d:02}"))
            .boxed(),
        "epoch" => (0u64..=253_402_300_799_999)
            .prop_map(|ms| ms.to_string())
            .boxed(),
        "gsv session key" | "session key of a state file" => {
            "agent:[A-Za-z0-9][A-Za-z0-9_-]{0,8}(:[a-z0-9+_@.-]{1,8}){1,4}".boxed()
        }
        "moltbot session key" => "[A-Za-z0-9_.-]{1,20}"
            .prop_filter("dots", |s| s != "." && !s.contains(".."))
            .boxed(),
        "deletion timestamp" => (2000u16..2100, 1u8..=12, 1u8..=28, 0u8..24, 0u8..60)
            .prop_map(|(y, mo, d, h, m)| format!("{y}{mo:02}{d:02}T{h:02}{m:02}59Z"))
            .boxed(),
        "archive name" => prop_oneof!["archive", "part[0-9]{1,15}"].boxed(),
        "piece name" => "[pj][0-9]{6}".boxed(),
        "segment hash" => "[0-9a-f]{24}".boxed(),
        "segment time" => "[0-9]{13}".boxed(),
        "line number" => "[0-9]{12}".boxed(),
        "project id" => prop_oneof![
            "[a-zA-Z_$äжか][a-zA-Z0-9_$é]{0,10}"
                .prop_filter("reserved", |s| !matches!(s.as_str(), "_" | "do" | "if")),
            "[a-z0-9]{1,4}(-[a-z0-9]{1,4}){1,3}",
        ]
        .boxed(),
        "run timestamp" => stamp(true).boxed(),
        "run id" => stamp(false).boxed(),
        "task id" => (stamp(true), "[A-Za-zé][A-Za-z0-9é .-]{0,10}")
            .prop_map(|(stamp, slug)| format!("task-{stamp}-{slug}"))
            .boxed(),
        "fact name" => "[A-Za-zé][A-Za-z0-9é .-]{0,10}".boxed(),
        "skill directory" => segment().boxed(),
        // Often the name of something more specific.
        "path" => prop_oneof![
            prop::collection::vec(segment(), 1..4).prop_map(|segments| segments.join("/")),
            select(vec![
                "SKILL.md",
                "MEMORY.md",
                "memory/2026-02-20.md",
                "skills/x/SKILL.md",
                "meta.json",
                "home-folders.md",
                "DONE",
                "prompt.md",
                ".venv/x",
                ".ticket",
                "system/SKILL.md",
            ])
            .prop_map(str::to_owned),
        ]
        .boxed(),
        other => panic!("no values for {other}"),
    }
}

/// Two systems have a session key and two types a timestamp: tell them apart by system.
fn name_of(system: System, what: &'static str) -> &'static str {
    match (system, what) {
        (System::Gsv, "timestamp") => "epoch",
        (System::RunAgent, "timestamp") => "run timestamp",
        (System::Gsv, "session key") => "gsv session key",
        (System::Moltbot, "session key") => "moltbot session key",
        _ => what,
    }
}

/// A timestamp of run-agent in any form that readers take; `bare` allows one without a process.
fn stamp(bare: bool) -> impl Strategy<Value = String> {
    let ends = if bare {
        vec!["", "-42", "-42-7"]
    } else {
        vec!["-42", "-42-7"]
    };
    (
        select(vec!["", "run_"]),
        (1u16..=9999, 1u8..=12, 1u8..=28, 0u8..24, 0u8..60),
        select(vec!["", "123", "1234"]),
        select(ends),
    )
        .prop_map(|(prefix, (y, mo, d, h, m), fraction, end)| {
            format!("{prefix}{y:04}{mo:02}{d:02}-{h:02}{m:02}07{fraction}{end}")
        })
}

fn places_of(system: System) -> BoxedStrategy<Place> {
    let kinds: Vec<usize> = (0..system.kinds().len()).collect();
    select(kinds)
        .prop_flat_map(move |index| {
            let kind = &system.kinds()[index];
            let values: Vec<_> = kind
                .fields
                .iter()
                .map(|field| values_of(name_of(system, field.what)))
                .collect();
            values.prop_map(move |values| {
                let names = kind.fields.iter().map(|field| field.name.to_owned());
                let mut place = Place {
                    system: system.name().to_owned(),
                    kind: kind.name.to_owned(),
                    fields: names.zip(values).collect(),
                };
                if kind.name == "session-state" {
                    // The key is one of the agent's own.
                    let agent = place.fields[0].1.clone();
                    let rest = place.fields[1].1.splitn(3, ':').nth(2).map(str::to_owned);
                    place.fields[1].1 = format!("agent:{agent}:{}", rest.unwrap());
                }
                place
            })
        })
        .boxed()
}

fn any_place() -> BoxedStrategy<Place> {
    select(System::ALL.to_vec())
        .prop_flat_map(places_of)
        .boxed()
}

/// Strings that look like keys and go wrong anywhere.
fn hostile() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        select(vec![
            "agents",
            "hera",
            "sessions",
            "skills",
            "media",
            "agent:hera:main",
            "users",
            "deleted",
            "threads",
            "system",
            "internal_space",
            "memories",
            "memory",
            "task-",
            "runs",
            "-part",
            "%",
            "%3A",
            ".state.json",
            ".jsonl.gz",
            "{agent}",
            "FACT-",
            "..",
            ".",
            "",
            "\u{0}",
            "\u{feff}",
            "20260220-093000",
            "2026-02-20.md",
            "SKILL.md",
            "/",
            "//",
            "\\",
            ":",
            "-",
            "é",
            "\u{202e}",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    (
        prop::collection::vec(part, 0..9),
        select(vec!["/", "", "-", ":"]),
    )
        .prop_map(|(parts, joint)| parts.join(joint))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_place_and_its_key_are_inverse(place in any_place()) {
        let system = System::parse(&place.system).unwrap();
        match key_of(&place) {
            Ok(key) => {
                prop_assert_eq!(place_of(system, &key).unwrap(), place);
                key::check(&key).unwrap();
            }
            // Only ever because a more specific kind has the key.
            Err(error) => {
                let key = error.key.clone().unwrap();
                let specific = place_of(system, &key).unwrap();
                prop_assert!(place.fields.iter().any(|(name, _)| name == "path"));
                prop_assert!(
                    error.message.contains(&format!("place {}", specific.kind)),
                    "{}", error.message
                );
                prop_assert_eq!(key_of(&specific).unwrap(), key);
            }
        }
    }

    #[test]
    fn a_key_and_its_place_are_inverse(key in hostile()) {
        for system in System::ALL {
            if let Ok(place) = place_of(system, &key) {
                prop_assert_eq!(key_of(&place).unwrap(), key.clone());
            }
        }
    }

    #[test]
    fn hostile_values_never_panic(
        place in any_place(),
        value in hostile(),
        at in 0usize..4,
    ) {
        let mut place = place;
        if let Some(field) = place.fields.get_mut(at) {
            field.1 = value;
        }
        if let Ok(key) = key_of(&place) {
            let system = System::parse(&place.system).unwrap();
            prop_assert_eq!(place_of(system, &key).unwrap(), place);
        }
    }

    #[test]
    fn a_homes_prefixes_cover_no_other_home(
        system in select(System::ALL.to_vec()),
        id in "[a-z][a-z0-9]{0,3}",
        more in "[a-z0-9]{1,3}",
    ) {
        let (Ok(mine), Ok(other)) =
            (home_prefixes(system, &id), home_prefixes(system, &format!("{id}{more}")))
        else {
            // A reserved word of Java.
            return Ok(());
        };
        for prefix in &mine {
            prop_assert!(other.iter().all(|other| !other.starts_with(prefix)));
            prop_assert!(prefix.ends_with(['/', ':']));
        }
    }

    #[test]
    fn session_keys_are_canonical_whatever_goes_in(
        agent in "[A-Za-z0-9][A-Za-z0-9_-]{0,8}",
        tokens in prop::array::uniform3(".{0,12}"),
    ) {
        let [channel, kind, peer] = tokens;
        let room = Conversation::Room(Room { channel, kind, peer });
        let key = session_key_of(&agent, None, &room).unwrap();
        let parsed = haversack_core::layout::session_key::SessionKey::parse(&key.key).unwrap();
        prop_assert_eq!(parsed.as_str(), &key.key);
        prop_assert_eq!(parsed.agent().as_str(), agent);
        prop_assert!(!key.main && !key.key.contains('/'));
        prop_assert_eq!(key.key.split(':').count(), 5);
    }

    #[test]
    fn no_path_leaves_the_view(
        segments in prop::collection::vec(
            prop_oneof![
                select(vec![
                    "..", ".", "", ".solven", "skills", "system", "user", "ada", "bob", ".ticket",
                    "threads", "t1", "t2", "T-9", "x", ".haversack",
                ]).prop_map(str::to_owned),
                "\\PC{1,4}",
            ],
            0..8,
        ),
        has_user in any::<bool>(),
        has_ticket in any::<bool>(),
    ) {
        let view = View::parse("t1", has_user.then_some("ada"), has_ticket.then_some("T-9")).unwrap();
        let path = format!("/{}", segments.join("/"));
        let Ok(mapped) = view.key_of(&path) else {
            return Ok(());
        };
        let key = format!("{}/", mapped.key);
        let mount = view.mounts().into_iter().find(|mount| key.starts_with(&mount.prefix));
        let mount = mount.expect("inside a mount");
        prop_assert_eq!(mount.writable, mapped.writable);
        prop_assert!(!mapped.path.split('/').any(|segment| segment == ".." || segment == "."));
        // The way back, unless the path is a mount itself.
        if key.len() > mount.prefix.len() {
            let back = view.path_of(&mapped.key).unwrap();
            prop_assert_eq!(&back.key, &mapped.key);
            prop_assert_eq!(view.key_of(&back.path).unwrap(), back);
        }
    }

    #[test]
    fn view_strings_never_panic(path in hostile(), key in hostile(), id in hostile()) {
        let view = View::parse("t1", Some("ada"), None).unwrap();
        let _ = view.key_of(&path);
        let _ = view.path_of(&key);
        let _ = View::parse(&id, Some(&id), Some(&id));
        let _ = haversack_core::layout::session_key::SessionKey::parse(&id);
    }
}
