//! Headers as real skill files have them, and what broken ones amount to.

use super::*;

fn read(front_matter: &str) -> SkillFile {
    parse(
        format!("---\n{front_matter}\n---\nBody.\n").as_bytes(),
        false,
    )
}

fn lines(file: &SkillFile) -> Vec<(ProblemKind, Option<u32>)> {
    file.findings.iter().map(|f| (f.kind, f.line)).collect()
}

const UNREADABLE: ProblemKind = ProblemKind::Unreadable;

#[test]
fn reads_every_field() {
    let file = read(
        "name: video-tool\ndescription: 'Cuts videos: fast'\nhomepage: https://x.y\nalways: true\nlicense: MIT\n\
         compatibility: Needs ffmpeg\nallowed-tools: Read, Bash(git add *)  Bash(a:*,b)\nmetadata:\n  openclaw:\n    emoji: 🎬\n    \
         requires:\n      bins: [ffmpeg]\n      anyBins: [rg, grep]\n      env: KEY\n      config: [a.b]\n      os: [linux]\n      \
         hostRoles: [execution]\n      capabilities: [shell.exec]\n      anyCapabilities: [text.search]\n    install:\n      \
         - id: brew\n        bins: [ffmpeg]\n      - apt",
    );
    assert_eq!((file.unreadable.as_ref(), lines(&file)), (None, vec![]));
    let list = |items: &[&str]| items.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        file.header,
        SkillHeader {
            name: Some("video-tool".to_owned()),
            description: "Cuts videos: fast".to_owned(),
            homepage: Some("https://x.y".to_owned()),
            always: true,
            license: Some("MIT".to_owned()),
            compatibility: Some("Needs ffmpeg".to_owned()),
            allowed_tools: Some(list(&["Read", "Bash(git add *)", "Bash(a:*,b)"])),
            emoji: Some("🎬".to_owned()),
            requires: Requirements {
                bins: list(&["ffmpeg"]),
                any_bins: list(&["rg", "grep"]),
                env: list(&["KEY"]),
                config: list(&["a.b"]),
                os: list(&["linux"]),
                host_roles: list(&["execution"]),
                capabilities: list(&["shell.exec"]),
                any_capabilities: list(&["text.search"]),
            },
            invalid_requirements: vec![],
            install: list(&[r#"{"id":"brew","bins":["ffmpeg"]}"#, r#""apt""#]),
        }
    );
}

#[test]
fn tools_are_never_widened() {
    for (value, tools, findings) in [
        ("Read", &["Read"][..], 0),
        ("Read,Write  Edit", &["Read", "Write", "Edit"], 0),
        ("\"Bash(git add:*), Read\"", &["Bash(git add:*)", "Read"], 0),
        ("Bash(git: *)", &["Bash(git: *)"], 1),
        ("Agent(a (b, c)) Read", &["Agent(a (b, c))", "Read"], 0),
        ("[Read, \"Bash(a, b)\"]", &["Read", "Bash(a, b)"], 0),
        ("\n  - Read\n  - Write", &["Read", "Write"], 0),
        ("", &[], 0),
        ("[]", &[], 0),
        ("\"\"", &[], 0),
        ("Bash(git", &[], 1),
        ("Bash)git(", &[], 1),
        ("{Read: true}", &[], 1),
        ("[Read, [Write]]", &[], 1),
        ("[Read, ~]", &[], 1),
        ("7", &[], 1),
        ("true", &[], 1),
    ] {
        let file = read(&format!("allowed-tools: {value}"));
        let expected: Vec<_> = tools.iter().map(ToString::to_string).collect();
        assert_eq!(file.header.allowed_tools, Some(expected), "{value}");
        assert_eq!(
            file.findings.len(),
            findings,
            "{value}: {:?}",
            file.findings
        );
    }
    assert_eq!(read("name: x").header.allowed_tools, None);
    // YAML reads these, but as part of another value.
    for swallowed in [
        "a:\n- '\nallowed-tools: Read\n'",
        "a: {b\nallowed-tools: Read\n}",
    ] {
        let file = read(swallowed);
        assert_eq!(file.header.allowed_tools, Some(vec![]), "{swallowed}");
        assert!(file.unreadable.is_some());
    }
    for broken in [
        "---\nallowed-tools: Read\n",
        "---\na: *b\nallowed-tools: x\n---\n",
        "---\n\u{0}\n---\n",
    ] {
        let file = parse(broken.as_bytes(), false);
        assert_eq!(file.header.allowed_tools, Some(vec![]), "{broken:?}");
        assert!(file.unreadable.is_some());
    }
}

#[test]
fn metadata_is_a_map_or_json_text() {
    for metadata in [
        "metadata: {\"openclaw\": {\"requires\": {\"bins\": [\"gh\"]}}}",
        "metadata: '{\"openclaw\": {\"requires\": {\"bins\": [\"gh\"]}}}'",
        "metadata: |\n  {\n    \"openclaw\": {\n      \"requires\": { \"bins\": [\"gh\"] }\n    }\n  }",
        "metadata:\n  clawdbot:\n    requires:\n      bins: gh",
        "metadata:\n  clawdbot: {requires: {bins: [no]}}\n  gsv:\n    requires: {bins: [gh]}",
        "metadata:\n  gsv: ~\n  openclaw: {requires: {bins: [gh]}}",
    ] {
        let file = read(metadata);
        assert_eq!(
            file.header.requires.bins,
            ["gh"],
            "{metadata}: {:?}",
            file.findings
        );
        assert_eq!(lines(&file), [], "{metadata}");
    }
    let file = read(
        "name: x\nmetadata: '{\"openclaw\": {\"emoji\": \"\\ud83d\\udc19\", \"install\": [1, {\"b\": [], \"a\": \",}\",},],},}'",
    );
    assert_eq!(file.header.emoji.as_deref(), Some("🐙"));
    assert_eq!(file.header.install, ["1", r#"{"b":[],"a":",}"}"#]);
    assert_eq!(lines(&file), [(ProblemKind::Repaired, Some(3))]);
    assert_eq!(read("metadata:").header, read("name:").header);
    assert_eq!(
        read("metadata: {other: {requires: {bins: 1}}}").findings,
        []
    );
}

#[test]
fn requirements_are_strictly_typed() {
    for (metadata, line, cause) in [
        ("metadata: 5", 2, "a number"),
        ("metadata: [a]", 2, "a list"),
        ("metadata: '{\"gsv\": '", 2, "nor JSON"),
        ("metadata: '[1]'", 2, "not an object"),
        ("metadata: '{\"gsv\": {}, \"gsv\": {}}'", 2, "stands twice"),
        ("metadata:\n  gsv: yes", 3, "`metadata.gsv` is text"),
        (
            "metadata:\n  gsv:\n    requires: [bins]",
            4,
            "`requires` is a list",
        ),
        (
            "metadata:\n  gsv:\n    requires:\n      bins: {a: b}",
            5,
            "`bins` is a map",
        ),
        (
            "metadata:\n  gsv:\n    requires:\n      bins: 7",
            5,
            "`bins` is a number",
        ),
        (
            "metadata:\n  gsv:\n    requires:\n      bins: [a, [b]]",
            5,
            "`bins` holds a list",
        ),
        (
            "metadata:\n  gsv:\n    requires:\n      env: [a, true]",
            5,
            "`env` holds true or false",
        ),
        (
            "metadata:\n  gsv:\n    requires:\n      env: ['']",
            5,
            "`env` holds text",
        ),
        (
            "metadata:\n  gsv:\n    requires:\n      hostRoles: [worker]",
            5,
            "`worker` in `hostRoles`",
        ),
        (
            "metadata:\n  gsv:\n    requires:\n      capabilities: shell",
            5,
            "`shell` in `capabilities`",
        ),
        (
            "metadata:\n  gsv:\n    requires:\n      anyCapabilities: [shell.exec, x]",
            5,
            "`x` in",
        ),
        (
            "metadata:\n  gsv:\n    requires:\n      anybins: [x]",
            5,
            "`anybins` is not a known",
        ),
    ] {
        let file = read(metadata);
        assert_eq!(file.unreadable, None, "{metadata}");
        let [invalid] = file.header.invalid_requirements.as_slice() else {
            panic!("{metadata}: {:?}", file.findings);
        };
        assert!(
            invalid.message.contains(cause),
            "{metadata}: {}",
            invalid.message
        );
        assert_eq!(
            (invalid.line, lines(&file)),
            (line, vec![(UNREADABLE, Some(line))]),
            "{metadata}"
        );
    }
}

#[test]
fn text_and_flags() {
    let file = read("name: 007\ndescription: true\nhomepage: [x]\nlicense: ''\nalways: perhaps");
    assert_eq!(file.header.name.as_deref(), Some("007"));
    assert_eq!(file.header.description, "true");
    assert_eq!(
        (file.header.homepage.as_ref(), file.header.license.as_ref()),
        (None, None)
    );
    assert_eq!(lines(&file), [(UNREADABLE, Some(4)), (UNREADABLE, Some(6))]);
    assert!(!file.header.always);
    assert!(read("always: 'TRUE'").header.always);
    assert_eq!(read("always: 'no'").findings.len(), 1);
    assert_eq!(read("name: x").header.description, "Body.");
}

#[test]
fn the_first_paragraph_describes() {
    let long = "wörd ".repeat(60);
    for (body, description) in [
        (
            "# Title\n\nFirst  line\n\tsecond.\n\nNext.",
            "First line second.",
        ),
        ("\r\n# Title\r\nText\r\nmore\r\n\r\nNext", "Text more"),
        ("Title\n=====\n\nText", "Text"),
        ("Two\nlines\n---\nText", "Text"),
        ("Text\n# Heading\nmore", "Text"),
        ("#hash is text", "#hash is text"),
        ("#\n####### seven", "####### seven"),
        ("<!-- one\n\ntwo -->\nText <!-- x --> here", "Text here"),
        ("<!-- a --><!-- b -->\n\nText", "Text"),
        ("A\n<!-- x -->\nB", "A B"),
        ("<!-- never closed\n\nText", ""),
        ("```sh\n# not a heading\n<!--\n```\nText", "Text"),
        ("~~~\n```\n~~~~\n\nText", "Text"),
        ("Text\n```\ncode\n```", "Text"),
        ("***\n- - -\n\nText", "Text"),
        ("- item", "- item"),
        ("## A\n\n### B\n", ""),
        ("", ""),
        (
            long.as_str(),
            &format!("{}…", "wörd ".repeat(40).trim_end()),
        ),
        (&"🎮".repeat(200), &"🎮".repeat(200)),
        (&"🎮".repeat(201), &format!("{}…", "🎮".repeat(200))),
    ] {
        let file = parse(body.as_bytes(), false);
        assert_eq!(file.header.description, description, "{body:?}");
        assert_eq!((file.unreadable, file.header.name), (None, None));
    }
}

#[test]
fn what_is_not_utf8_is_unreadable() {
    for (bytes, cut, line, cause) in [
        (&b"---\nname: \xff\n---\n"[..], false, 2, "byte 10 (0xff)"),
        (
            b"---\nname: x\n---\nBody \xe9t\xe9",
            false,
            4,
            "byte 21 (0xe9)",
        ),
        (b"---\nname: x\n---\nBody \xc3", false, 4, "byte 21 (0xc3)"),
        (b"\xff\xfe-\0", false, 1, "byte 0"),
        (b"a\xffb\xc3", true, 1, "byte 1"),
    ] {
        let file = parse(bytes, cut);
        assert_eq!(lines(&file), [(UNREADABLE, Some(line))]);
        assert!(
            file.findings[0].message.contains(cause),
            "{:?}",
            file.findings
        );
        assert!(
            file.unreadable
                .is_some_and(|cause| cause.starts_with("line "))
        );
    }
    // A cut may split a character.
    let file = parse(b"---\nname: x\n---\nBod\xc3", true);
    assert_eq!(
        (file.unreadable, file.header.description.as_str()),
        (None, "Bod")
    );
}

proptest::proptest! {
    #[test]
    fn never_panics_and_never_widens(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60), cut: bool) {
        let _ = parse(&bytes, cut);
        let restricted = [b"---\nallowed-tools: Read\n", bytes.as_slice(), b"\n---\n"].concat();
        proptest::prop_assert!(parse(&restricted, cut).header.allowed_tools.is_some());
    }
}
