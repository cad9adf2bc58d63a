//! Every path that the references and spec pages name, both ways, and what is refused with which rule.

use haversack_core::layout::{Place, System, key_of, place_of};
use haversack_core::ops::layout::{
    Conversation, Dm, DmScope, View, session_key_of, systems, view_key, view_path,
};
use haversack_core::types::ErrorCode;

const UUID: &str = "0b6f3a52-8d3c-4b53-9a5e-0c6b9f1f7a10";

/// `system kind key`, one line each; `{u}` is a UUID, `{h}` a hash of a segment.
const KEYS: &str = "
gsv workspace-file agents/hera/AGENTS.md
gsv workspace-file agents/hera/SOUL.md
gsv workspace-file agents/hera/IDENTITY.md
gsv workspace-file agents/hera/USER.md
gsv workspace-file agents/hera/MEMORY.md
gsv workspace-file agents/hera/TOOLS.md
gsv workspace-file agents/hera/HEARTBEAT.md
gsv workspace-file agents/hera/BOOTSTRAP.md
gsv daily-memory agents/hera/memory/2026-02-20.md
gsv agent-file agents/hera/memory/2026-02-30.md
gsv agent-file agents/hera/memory/sub/2026-02-20.md
gsv archive agents/hera/sessions/{u}.jsonl.gz
gsv archive-part agents/hera/sessions/{u}-part1708300000000.jsonl.gz
gsv agent-file agents/hera/sessions/{u}-part01.jsonl.gz
gsv archive-piece agents/hera/sessions/0b5a4c9e-6f0d-4b7e-9f43-2a5a5c6d7e8f/pieces/part1700000000000/p000001.deflate
gsv session-state agents/hera/sessions/agent%3Ahera%3Amain.state.json
gsv agent-file agents/hera/sessions/agent%3anex%3Amain.state.json
gsv log agents/hera/sessions/{u}.jsonl
gsv log-segment agents/hera/sessions/{u}/new/1708300000000-{h}.jsonl
gsv sealed-log agents/hera/sessions/{u}/old/000000000256-{h}.jsonl
gsv skill agents/hera/skills/pdf/SKILL.md
gsv skill-file agents/hera/skills/pdf/scripts/run.py
gsv skill-file agents/hera/skills/pdf/sub/SKILL.md
gsv agent-file agents/hera/skills/README.md
gsv agent-file agents/hera/soul.md
gsv global-skill skills/pdf/SKILL.md
gsv global-skill-file skills/pdf/references/a.md
gsv global-skills-file skills/README.md
gsv media media/agent:hera:main/{u}.jpg
gsv media media/agent:hera:whatsapp:dm:+49170@x/{u}.docx

moltbot config users/user_abc123/config/clawdbot.json
moltbot config-file users/user_abc123/config/other.json
moltbot messages users/user_abc123/sessions/main/messages.jsonl
moltbot message-segment users/user_abc123/sessions/main/messages/new/1706572800000-{h}.jsonl
moltbot sealed-messages users/user_abc123/sessions/a.b-c_d/messages/old/000000000000-{h}.jsonl
moltbot session-metadata users/user_abc123/sessions/main/metadata.json
moltbot user-file users/user_abc123/sessions/a..b/metadata.json
moltbot workspace-file users/user_abc123/workspace/src/main.rs
moltbot skill users/user_abc123/skills/pdf/SKILL.md
moltbot skill-file users/user_abc123/skills/pdf/run.sh
moltbot user-file users/user_abc123/skills/list.json
moltbot user-meta users/user_abc123/meta.json
moltbot user-file users/user_abc123/notes.txt
moltbot deleted-file deleted/user_abc123/20260220T093000Z/meta.json
moltbot deleted-file deleted/user_abc123/20260220T093000Z/sessions/main/messages.jsonl

run-agent project-bus proj/PROJECT-MESSAGE-BUS.md
run-agent project-bus-segment proj/PROJECT-MESSAGE-BUS/new/1706572800000-{h}.md
run-agent sealed-project-bus proj/PROJECT-MESSAGE-BUS/old/000000000012-{h}.md
run-agent home-folders proj/home-folders.md
run-agent fact proj/FACT-20260220-0930001234-42-build-tool.md
run-agent fact my-proj/FACT-20260220-093000-42-7-Name with spaces.md
run-agent project-file proj/FACT-x.md
run-agent task proj/task-20260220-0930001234-42-fix-bug/TASK.md
run-agent task-state proj/task-20260220-0930001234-42-fix-bug/TASK_STATE.md
run-agent task-done proj/task-20260220-0930001234-42-fix-bug/DONE
run-agent task-bus proj/task-20260220-093000-fix-bug/TASK-MESSAGE-BUS.md
run-agent task-bus-segment proj/task-20260220-0930001234-42-fix-bug/TASK-MESSAGE-BUS/new/1706572800000-{h}.md
run-agent sealed-task-bus proj/task-20260220-0930001234-42-fix-bug/TASK-MESSAGE-BUS/old/000000000012-{h}.md
run-agent task-facts proj/task-20260220-0930001234-42-fix-bug/TASK-FACTS-20260220-0930001234-42.md
run-agent run-info proj/task-20260220-0930001234-42-fix-bug/runs/20260220-0930001234-42/run-info.yaml
run-agent run-prompt proj/task-20260220-0930001234-42-fix-bug/runs/20260220-0930001234-42-2/prompt.md
run-agent run-output proj/task-20260220-0930001234-42-fix-bug/runs/20260220-093000123-42/output.md
run-agent run-stdout proj/task-20260220-0930001234-42-fix-bug/runs/20260220-093000-42/agent-stdout.txt
run-agent run-stderr proj/task-20260220-0930001234-42-fix-bug/runs/run_20260220-093000-42/agent-stderr.txt
run-agent run-file proj/task-20260220-0930001234-42-fix-bug/runs/20260220-0930001234-42/a/b
run-agent task-file proj/task-20260220-0930001234-42-fix-bug/runs/latest
run-agent task-file проект/task-20260220-0930001234-42-fix-bug/notes.md
run-agent project-file $p/readme.md

solven workspace-marker threads/t1/.workspace_configured
solven shell-config threads/t1/.bashrc
solven node-config threads/t1/package.json
solven python-file threads/t1/.venv/bin/python
solven node-module-file threads/t1/node_modules/left-pad/index.js
solven skills-link threads/t1/.solven/skills/system
solven ticket-link threads/t1/.ticket
solven thread-file threads/t1/analysis.py
solven thread-file threads/t1/home/user/package.json
solven thread-file threads/t1/.ticketx
solven system-skill skills/system/pdf/SKILL.md
solven system-skill-file skills/system/pdf/a/b
solven system-skills-file skills/system/README.md
solven user-skill skills/ada/pdf/SKILL.md
solven user-skill-file skills/ada/pdf/a/b
solven user-skills-file skills/ada/README.md

hi-boss long-term-memory agents/nex-2/internal_space/MEMORY.md
hi-boss daily-memory agents/nex/internal_space/memories/2026-02-11.md
hi-boss legacy-note agents/nex/internal_space/Note.md
hi-boss space-file agents/nex/internal_space/memories/2026-02-31.md
hi-boss space-file agents/nex/internal_space/drafts/a.md
";

#[test]
fn every_path_of_the_references_both_ways() {
    let mut seen = Vec::new();
    for line in KEYS.lines().filter(|line| !line.is_empty()) {
        let line = line
            .replace("{u}", UUID)
            .replace("{h}", "0123456789abcdef01234567");
        let mut parts = line.splitn(3, ' ');
        let mut next = || parts.next().unwrap();
        let (system, kind, key) = (next(), next(), next());
        let place = place_of(System::parse(system).unwrap(), key).unwrap();
        assert_eq!(
            (place.system.as_str(), place.kind.as_str()),
            (system, kind),
            "{key}"
        );
        assert_eq!(key_of(&place).unwrap(), key);
        seen.push((system.to_owned(), kind.to_owned()));
    }
    for system in systems() {
        for place in system.places {
            let pair = (system.name.clone(), place.name);
            assert!(seen.contains(&pair), "no example of {pair:?}");
        }
    }
}

#[test]
fn what_a_layout_does_not_name_is_not_found() {
    for (system, key) in [
        (System::Gsv, "agents/hera"),
        (System::Gsv, "agents/a b/SOUL.md"),
        (
            System::Gsv,
            "media/agent:hera:Main/0b6f3a52-8d3c-4b53-9a5e-0c6b9f1f7a10.jpg",
        ),
        (
            System::Gsv,
            "media/agent:hera:main/0b6f3a52-8d3c-4b53-9a5e-0c6b9f1f7a10.exe",
        ),
        (System::Gsv, "media/agent:hera:main/x.jpg"),
        (System::Gsv, "users/u/meta.json"),
        (System::Moltbot, "users/-u/meta.json"),
        (System::Moltbot, "deleted/u/20260230T093000Z/meta.json"),
        (System::Moltbot, "deleted/u/20260220T093000Z"),
        (System::RunAgent, "class/home-folders.md"),
        (System::RunAgent, "My-Proj/home-folders.md"),
        (System::RunAgent, "file"),
        (System::Solven, "skills/user/x/SKILL.md"),
        (System::Solven, "threads/.x/a"),
        (System::HiBoss, "agents/nex/SOUL.md"),
        (System::HiBoss, "agents/nex_1/internal_space/MEMORY.md"),
        (System::HiBoss, "agents/nex--1/internal_space/MEMORY.md"),
    ] {
        assert_eq!(
            place_of(system, key).unwrap_err().code,
            ErrorCode::NotFound,
            "{key}"
        );
    }
    for key in ["", "/a", "a/../b", "agents/hera/", ".haversack/x"] {
        assert_eq!(
            place_of(System::Gsv, key).unwrap_err().code,
            ErrorCode::Invalid,
            "{key}"
        );
    }
}

fn place(system: &str, kind: &str, fields: &[(&str, &str)]) -> Place {
    Place {
        system: system.to_owned(),
        kind: kind.to_owned(),
        fields: fields
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
    }
}

#[test]
fn refusals_name_the_rule() {
    let long = "x".repeat(65);
    for (place, part) in [
        (
            place("gsvv", "archive", &[]),
            "gsv, moltbot, run-agent, solven, hi-boss",
        ),
        (place("gsv", "diary", &[]), "workspace-file, daily-memory"),
        (
            place("gsv", "daily-memory", &[("agent", "hera")]),
            "needs field date",
        ),
        (
            place("gsv", "global-skill", &[("name", "x"), ("agent", "a")]),
            "no field",
        ),
        (
            place("gsv", "global-skill", &[("name", "x"), ("name", "x")]),
            "only once",
        ),
        (
            place("gsv", "global-skill", &[("name", "a/b")]),
            "one segment",
        ),
        (
            place("gsv", "global-skill", &[("name", "..")]),
            "one segment",
        ),
        (
            place(
                "gsv",
                "daily-memory",
                &[("agent", &long), ("date", "2026-02-20")],
            ),
            "1 to 64",
        ),
        (
            place(
                "gsv",
                "daily-memory",
                &[("agent", "a"), ("date", "2026-2-20")],
            ),
            "YYYY-MM-DD",
        ),
        (
            place(
                "gsv",
                "daily-memory",
                &[("agent", "a"), ("date", "2025-02-29")],
            ),
            "calendar",
        ),
        (
            place("gsv", "workspace-file", &[("agent", "a"), ("file", "X.md")]),
            "SOUL.md",
        ),
        (
            place("gsv", "archive", &[("agent", "a"), ("session", "x")]),
            "UUID",
        ),
        (
            place(
                "gsv",
                "session-state",
                &[("agent", "a"), ("key", "agent:b:main")],
            ),
            "one of this agent",
        ),
        (
            place(
                "gsv",
                "session-state",
                &[("agent", "a"), ("key", "agent:a:Main")],
            ),
            "which is agent:a:main",
        ),
        (
            place(
                "gsv",
                "media",
                &[
                    ("session", "agent:a:main"),
                    ("id", UUID),
                    ("extension", "exe"),
                ],
            ),
            "one of jpg",
        ),
        (
            place(
                "gsv",
                "agent-file",
                &[("agent", "a"), ("path", "memory/2026-02-20.md")],
            ),
            "place daily-memory",
        ),
        (
            place(
                "gsv",
                "agent-file",
                &[("agent", "a"), ("path", "../b/SOUL.md")],
            ),
            "without `.`, `..`",
        ),
        (
            place(
                "gsv",
                "agent-file",
                &[("agent", "a"), ("path", &["x"; 600].join("/"))],
            ),
            "at most 1024 bytes",
        ),
        (place("moltbot", "user-meta", &[("user", "_u")]), "1 to 128"),
        (
            place("moltbot", "messages", &[("user", "u"), ("session", "a..b")]),
            "`..`",
        ),
        (
            place(
                "moltbot",
                "deleted-file",
                &[("user", "u"), ("deletion", "2026"), ("path", "x")],
            ),
            "YYYYMMDDTHHMMSSZ",
        ),
        (
            place("run-agent", "home-folders", &[("project", "1x")]),
            "Java identifier",
        ),
        (
            place("run-agent", "home-folders", &[("project", "while")]),
            "no reserved word",
        ),
        (
            place(
                "run-agent",
                "task-done",
                &[("project", "p"), ("task", "task-x")],
            ),
            "task-{timestamp}-{slug}",
        ),
        (
            place(
                "run-agent",
                "fact",
                &[
                    ("project", "p"),
                    ("timestamp", "20260220-093000"),
                    ("name", "7"),
                ],
            ),
            "begins with a letter",
        ),
        (
            place(
                "run-agent",
                "project-file",
                &[("project", "p"), ("path", "home-folders.md")],
            ),
            "place home-folders",
        ),
        (
            place("solven", "user-skill", &[("user", "system"), ("name", "x")]),
            "not `system`",
        ),
        (
            place("solven", "shell-config", &[("thread", "a/b")]),
            "1 to 128",
        ),
        (
            place("hi-boss", "long-term-memory", &[("agent", "a--b")]),
            "single hyphens",
        ),
    ] {
        let error = key_of(&place).unwrap_err();
        assert_eq!(error.code, ErrorCode::Invalid);
        assert!(error.message.contains(part), "{place:?}: {}", error.message);
    }
}

#[test]
fn fields_come_in_any_order_and_go_out_in_the_templates() {
    let mixed = place(
        "gsv",
        "daily-memory",
        &[("date", "2026-02-20"), ("agent", "hera")],
    );
    let key = key_of(&mixed).unwrap();
    let names: Vec<_> = place_of(System::Gsv, &key)
        .unwrap()
        .fields
        .into_iter()
        .collect();
    assert_eq!(
        names,
        [
            ("agent".into(), "hera".into()),
            ("date".into(), "2026-02-20".into())
        ]
    );
}

#[test]
fn tables_are_consistent() {
    for system in System::ALL {
        for kind in system.kinds() {
            let in_template: Vec<_> = kind
                .template
                .split('{')
                .skip(1)
                .filter_map(|part| part.split_once('}'))
                .collect();
            let names: Vec<_> = in_template.iter().map(|(name, _)| *name).collect();
            let fields: Vec<_> = kind.fields.iter().map(|field| field.name).collect();
            assert_eq!(names, fields, "{}", kind.template);
            // Two fields side by side would have no place to be parted at.
            let last = in_template.len() - 1;
            assert!(
                in_template
                    .iter()
                    .take(last)
                    .all(|(_, literal)| !literal.is_empty())
            );
            assert!(!kind.description().is_empty() && !kind.description().contains("  "));
        }
    }
}

#[test]
fn json_names_are_those_of_the_contract() {
    let json = r#"{"system":"gsv","kind":"global-skill","fields":[["name","x"]]}"#;
    let place: Place = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&place).unwrap(), json);
    assert!(serde_json::from_str::<Place>(r#"{"system":"gsv","kind":"x","more":1}"#).is_err());

    for (json, conversation) in [
        (r#""main""#, Conversation::Main),
        (r#"{"cron":"x"}"#, Conversation::Cron("x".into())),
        (
            r#"{"dm":{"scope":"per-account-channel-peer","channel":"c","account":"a","peer":"p"}}"#,
            Conversation::Dm(Dm {
                scope: DmScope::PerAccountChannelPeer,
                channel: "c".into(),
                account: "a".into(),
                peer: "p".into(),
            }),
        ),
    ] {
        assert_eq!(
            serde_json::from_str::<Conversation>(json).unwrap(),
            conversation
        );
    }
    let view: View = serde_json::from_str(r#"{"thread":"t1"}"#).unwrap();
    assert_eq!(view_key(&view, "/a").unwrap().key, "threads/t1/a");
    assert_eq!(view_path(&view, "threads/t1/a").unwrap().path, "/a");
    let concepts = serde_json::to_string(&systems()).unwrap();
    assert!(concepts.contains(r#"{"name":"shared-memory","support":"non-goal"}"#));
    assert!(concepts.contains(r#""home-field":"project""#));
}

#[test]
fn session_keys_say_whether_they_are_main() {
    let main = session_key_of("hera", Some("Home"), &Conversation::Main).unwrap();
    assert_eq!((main.key.as_str(), main.main), ("agent:hera:home", true));
    let cron = session_key_of("hera", None, &Conversation::Cron("main".into())).unwrap();
    assert_eq!(
        (cron.key.as_str(), cron.main),
        ("agent:hera:cron:main", false)
    );
    assert!(session_key_of("he ra", None, &Conversation::Main).is_err());
    let long = Conversation::Cron("x".repeat(300));
    assert!(session_key_of("hera", None, &long).is_err());
}
