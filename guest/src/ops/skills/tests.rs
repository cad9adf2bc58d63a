//! The interface over a small store that counts waves and can fail.

mod fake;

use super::*;
use crate::store::{Skipped, StoreErrorCode};
use crate::types::{Error, ErrorCode, ProblemKind};
use fake::Fake;

fn home(id: &str) -> Home {
    Home {
        system: "gsv".to_owned(),
        id: id.to_owned(),
    }
}

fn catalogue_of(store: &Fake) -> Result<CatalogueAnswer> {
    let request = CatalogueRequest {
        user: None,
        home: home("hera"),
        environment: Environment::default(),
    };
    catalogue(store, &request)
}

/// Key, shown or the reasons.
fn seen(answer: &CatalogueAnswer) -> Vec<(&str, Vec<ReasonKind>)> {
    let skills = answer.skills.iter();
    skills
        .map(|skill| {
            let kinds: Vec<_> = skill.reasons.iter().map(|reason| reason.kind).collect();
            assert_eq!(skill.shown, kinds.is_empty());
            (skill.key.as_str(), kinds)
        })
        .collect()
}

fn problems(answer: &CatalogueAnswer) -> Vec<(ProblemKind, &str, Option<u32>)> {
    let problems = answer.problems.iter();
    problems.map(|p| (p.kind, p.key.as_str(), p.line)).collect()
}

#[test]
fn two_waves_and_the_agents_own_first() {
    let store = Fake::of(&[
        (
            "agents/hera/skills/zoo/SKILL.md",
            "---\nname: Zoo\n---\nAnimals.",
        ),
        (
            "agents/hera/skills/both/SKILL.md",
            "---\ndescription: mine\n---\n",
        ),
        ("agents/hera/skills/both/ref/x.md", ""),
        ("agents/nex/skills/other/SKILL.md", ""),
        ("agents/hera/skills/README.md", ""),
        ("skills/both/SKILL.md", "---\nbroken: *x\n---\n"),
        (
            "skills/a/SKILL.md",
            "\u{feff}---\r\ndescription: d\r\n---\r\n",
        ),
    ]);
    let answer = catalogue_of(&store).unwrap();
    assert_eq!(
        seen(&answer),
        [
            ("agents/hera/skills/both/SKILL.md", vec![]),
            ("agents/hera/skills/zoo/SKILL.md", vec![]),
            ("skills/a/SKILL.md", vec![]),
        ]
    );
    assert_eq!(answer.problems, []);
    assert_eq!(answer.skills[0].read_path, "skills/both/SKILL.md");
    assert_eq!(answer.skills[1].name, "Zoo");
    assert_eq!(answer.skills[1].description, "Animals.");
    assert!(
        answer
            .listing
            .starts_with("<available_skills>\n<skill name=\"both\">")
    );
    assert_eq!((answer.cost.waves, answer.cost.requests), (2, 6));
    assert_eq!(
        *store.log.borrow(),
        [
            vec!["list agents/hera/skills/", "list skills/"],
            vec![
                "get agents/hera/skills/both/SKILL.md",
                "get agents/hera/skills/zoo/SKILL.md",
                "get skills/a/SKILL.md",
                "get skills/both/SKILL.md",
            ],
        ]
    );
}

#[test]
fn a_broken_own_skill_hides_the_global_one() {
    let store = Fake::of(&[
        (
            "agents/hera/skills/x/SKILL.md",
            "---\nname: y\n  bad: z: *\nallowed-tools: Read\n",
        ),
        ("skills/x/SKILL.md", "---\nname: x\n---\n"),
        ("skills/y/SKILL.md", "---\nname: y\n---\n"),
    ]);
    let answer = catalogue_of(&store).unwrap();
    use ReasonKind::*;
    assert_eq!(
        seen(&answer),
        [
            ("agents/hera/skills/x/SKILL.md", vec![Unreadable]),
            ("skills/x/SKILL.md", vec![Shadowed]),
            ("skills/y/SKILL.md", vec![]),
        ]
    );
    assert_eq!(answer.skills[0].allowed_tools, Some(vec![]));
    assert_eq!(
        problems(&answer),
        [(
            ProblemKind::Unreadable,
            "agents/hera/skills/x/SKILL.md",
            Some(1)
        )]
    );
    assert!(
        answer
            .listing
            .starts_with("Hidden: 2 (unreadable 1, shadowed 1)\n\n"),
        "{}",
        answer.listing
    );
}

#[test]
fn a_directory_without_a_file_shadows_nothing() {
    let store = Fake::of(&[
        ("agents/hera/skills/x/notes.md", ""),
        ("skills/x/SKILL.md", "---\nname: x\n---\n"),
    ]);
    let answer = catalogue_of(&store).unwrap();
    assert_eq!(seen(&answer), [("skills/x/SKILL.md", vec![])]);
    assert_eq!(
        problems(&answer),
        [(ProblemKind::Skipped, "agents/hera/skills/x/SKILL.md", None)]
    );
    assert_eq!(answer.cost.waves, 2);
}

#[test]
fn store_errors_hide_one_skill_unless_it_may_help_to_wait() {
    let mut store = Fake::of(&[("skills/x/SKILL.md", ""), ("skills/y/SKILL.md", "Text")]);
    store
        .errors
        .insert("skills/x/SKILL.md".to_owned(), StoreErrorCode::Denied);
    store.skipped.push(Skipped {
        key: "skills/link".to_owned(),
        cause: "a symbolic link".to_owned(),
    });
    let answer = catalogue_of(&store).unwrap();
    assert_eq!(
        seen(&answer),
        [
            ("skills/x/SKILL.md", vec![ReasonKind::Unreadable]),
            ("skills/y/SKILL.md", vec![])
        ]
    );
    assert_eq!(
        problems(&answer),
        [
            (ProblemKind::Skipped, "skills/link", None),
            (ProblemKind::Unreadable, "skills/x/SKILL.md", None)
        ]
    );
    store
        .errors
        .insert("skills/x/SKILL.md".to_owned(), StoreErrorCode::Unavailable);
    let error = catalogue_of(&store).unwrap_err();
    assert_eq!(
        (error.code, error.retry_after_ms),
        (ErrorCode::Unavailable, Some(7))
    );
    store.errors = [("skills/".to_owned(), StoreErrorCode::Denied)].into();
    let error = catalogue_of(&store).unwrap_err();
    assert_eq!(
        (error.code, error.key.as_deref()),
        (ErrorCode::Denied, Some("skills/"))
    );
}

#[test]
fn pages_are_waves_of_their_own() {
    let keys: Vec<_> = (0..700)
        .map(|at| format!("skills/s{at:03}/SKILL.md"))
        .collect();
    let mut objects: Vec<_> = keys.iter().map(|key| (key.as_str(), "Text")).collect();
    objects.push(("agents/hera/skills/own/SKILL.md", "Text"));
    let mut store = Fake::of(&objects);
    store.page = 300;
    let answer = catalogue_of(&store).unwrap();
    assert_eq!(answer.skills.len(), 701);
    assert_eq!(answer.cost.waves, 1 + 2 + 3);
    let sizes: Vec<_> = store.log.borrow().iter().map(Vec::len).collect();
    assert_eq!(sizes, [2, 1, 1, 256, 256, 189]);
}

#[test]
fn a_long_file_is_cut_and_reported() {
    let long = format!("---\nname: x\n---\n# T\n\nText\n\n{}", "é".repeat(40_000));
    let open = format!("---\nname: {}\n---\n", "y".repeat(70_000));
    let store = Fake::of(&[
        ("skills/long/SKILL.md", &long),
        ("skills/open/SKILL.md", &open),
    ]);
    let answer = catalogue_of(&store).unwrap();
    assert_eq!(
        seen(&answer),
        [
            ("skills/long/SKILL.md", vec![]),
            ("skills/open/SKILL.md", vec![ReasonKind::Unreadable])
        ]
    );
    assert_eq!(answer.skills[0].size_bytes, long.len() as u64);
    assert_eq!(answer.skills[0].description, "Text");
    use ProblemKind::{Truncated, Unreadable};
    let kinds: Vec<_> = answer.problems.iter().map(|p| p.kind).collect();
    assert_eq!(kinds, [Truncated, Unreadable, Truncated]);
}

#[test]
fn other_systems_and_bad_ids() {
    let store = Fake::of(&[]);
    let ask = |system: &str, id: &str| {
        let home = Home {
            system: system.to_owned(),
            id: id.to_owned(),
        };
        let environment = Environment::default();
        let code = |error: Error| error.code;
        let read = read(&store, &home, "x", None).map_err(code).err();
        let catalogue = catalogue(
            &store,
            &CatalogueRequest {
                home,
                user: None,
                environment,
            },
        );
        assert_eq!(catalogue.map_err(code).err().unwrap(), read.unwrap());
        read.unwrap()
    };
    assert_eq!(ask("solven", "../t1"), ErrorCode::Invalid);
    assert_eq!(ask("hi-boss", "nex"), ErrorCode::Unsupported);
    assert_eq!(ask("run-agent", "p"), ErrorCode::Unsupported);
    assert_eq!(ask("gsv", "../x"), ErrorCode::Invalid);
    assert_eq!(ask("nothing", "x"), ErrorCode::Invalid);
    assert_eq!(store.log.borrow().len(), 0);
}

#[test]
fn reads_by_directory_then_by_name() {
    let mut store = Fake::of(&[
        (
            "agents/hera/skills/x/SKILL.md",
            "\u{feff}---\r\nname: Own X\r\n---\r\nText",
        ),
        ("skills/x/SKILL.md", "global"),
        ("skills/g/SKILL.md", "---\nname: x\nalways: [\n---\n"),
        ("skills/named/SKILL.md", "---\nname: Weather: now\n---\nSun"),
    ]);
    for appends in [false, true] {
        store.appends = appends;
        let answer = read(&store, &home("hera"), "x", None).unwrap();
        assert_eq!(answer.key, "agents/hera/skills/x/SKILL.md");
        assert_eq!(
            (answer.origin, answer.version.as_str()),
            (Origin::Agent, "v30")
        );
        assert_eq!(answer.text, "\u{feff}---\r\nname: Own X\r\n---\r\nText");
        assert_eq!(answer.cost.waves, 1 + u32::from(appends));
    }
    let answer = read(&store, &home("nex"), "x", None).unwrap();
    assert_eq!(
        (answer.origin, answer.text.as_str()),
        (Origin::Global, "global")
    );
    let answer = read(&store, &home("hera"), "Weather: now", None).unwrap();
    assert_eq!(answer.key, "skills/named/SKILL.md");
    assert_eq!(
        read(&store, &home("hera"), "Own X", None).unwrap().key,
        "agents/hera/skills/x/SKILL.md"
    );
    // What cannot be listed can be read: hiding is not a lock.
    assert!(
        read(&store, &home("hera"), "g", None)
            .unwrap()
            .text
            .contains("always: [")
    );
    let error = read(&store, &home("hera"), "weather", None).unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
    assert_eq!(
        error.message,
        "no skill has the directory or name \"weather\"; did you mean Weather: now?"
    );
    let error = read(&store, &home("hera"), "../../etc", None).unwrap_err();
    assert!(
        error.message.contains("`haversack skills list gsv:hera`"),
        "{}",
        error.message
    );
    let error = read(&Fake::of(&[]), &home("hera"), "x", None).unwrap_err();
    assert!(error.message.contains("has none"), "{}", error.message);
    store.errors.insert(
        "agents/hera/skills/x/SKILL.md".to_owned(),
        StoreErrorCode::Denied,
    );
    assert_eq!(
        read(&store, &home("hera"), "x", None).unwrap_err().code,
        ErrorCode::Denied
    );
}

#[test]
fn reads_at_most_a_mebibyte_of_text() {
    let mut store = Fake::of(&[("skills/long/SKILL.md", &format!("x{}", "é".repeat(1 << 19)))]);
    store
        .objects
        .insert("skills/bad/SKILL.md".to_owned(), b"ab\ncd\xff".to_vec());
    let answer = read(&store, &home("hera"), "long", None).unwrap();
    assert_eq!(answer.size_bytes, (1 << 20) + 1);
    let marker = "\n[cut here: 1048575 of the 1048577 bytes of skills/long/SKILL.md are shown]\n";
    assert!(answer.text.ends_with(&format!("éé{marker}")));
    assert_eq!(answer.text.len(), (1 << 20) - 1 + marker.len());
    assert_eq!(answer.problems[0].kind, ProblemKind::Truncated);
    let error = read(&store, &home("hera"), "bad", None).unwrap_err();
    assert_eq!(
        (error.code, error.key.as_deref()),
        (ErrorCode::Invalid, Some("skills/bad/SKILL.md"))
    );
    assert!(error.message.contains("byte 5"), "{}", error.message);
}

#[test]
fn json_forms_are_those_of_the_contract() {
    let request: CatalogueRequest = serde_json::from_str(
        r#"{"home": {"system": "gsv", "id": "hera"}, "environment": {"hosts": [{"id": "a", "role": "execution"}],
            "settings": [{"skill": "x", "requires": {"any-bins": ["a"]}}], "config-json": "{}"}}"#,
    )
    .unwrap();
    assert_eq!(request.environment.hosts.len(), 1);
    for wrong in [
        r#"{"home": {"system": "gsv", "id": "hera"}, "environment": {}, "extra": 1}"#,
        r#"{"home": {"system": "gsv", "id": "hera"}, "environment": {"host": []}}"#,
        r#"{"home": {"system": "gsv", "id": "hera"}, "environment": {"settings": [{"skill": "x", "requires": {"anyBins": []}}]}}"#,
    ] {
        assert!(
            serde_json::from_str::<CatalogueRequest>(wrong).is_err(),
            "{wrong}"
        );
    }
    let store = Fake::of(&[(
        "skills/x/SKILL.md",
        "---\nmetadata: {gsv: {requires: {anyBins: [a]}}}\n---\nT",
    )]);
    let answer = serde_json::to_value(catalogue_of(&store).unwrap()).unwrap();
    let names: Vec<_> = answer["skills"][0]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(
        names,
        [
            "allowed-tools",
            "always",
            "compatibility",
            "description",
            "directory",
            "emoji",
            "homepage",
            "install",
            "key",
            "license",
            "name",
            "origin",
            "read-path",
            "reasons",
            "requires",
            "shown",
            "size-bytes"
        ]
    );
    assert_eq!(answer["skills"][0]["reasons"][0]["kind"], "no-host");
    assert_eq!(answer["skills"][0]["origin"], "global");
    assert_eq!(answer["skills"][0]["requires"]["any-bins"][0], "a");
}
