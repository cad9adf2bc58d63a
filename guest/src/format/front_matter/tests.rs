//! Every shape that real files have, and every bound.

use proptest::prelude::*;

use super::*;

fn entries(text: &str) -> (String, Vec<Finding>) {
    let read = parse(text);
    match read.block {
        Block::Read(entries) => {
            let map = Node {
                line: 0,
                value: Value::Map(entries),
            };
            (json_of(&map), read.findings)
        }
        other => (format!("{other:?}"), read.findings),
    }
}

/// Loads, with this JSON and without a finding.
#[track_caller]
fn plain(text: &str, json: &str) {
    let (read, findings) = entries(text);
    assert_eq!(
        (read.as_str(), findings.as_slice()),
        (json, [].as_slice()),
        "{text:?}"
    );
}

/// Loads, with this JSON and repairs on these lines.
#[track_caller]
fn repaired(text: &str, json: &str, lines: &[u32]) {
    let (read, findings) = entries(text);
    assert_eq!(read, json, "{text:?}: {findings:?}");
    let found: Vec<_> = findings.iter().map(|f| (f.kind, f.line)).collect();
    let expected: Vec<_> = lines
        .iter()
        .map(|line| (ProblemKind::Repaired, Some(*line)))
        .collect();
    assert_eq!(found, expected, "{text:?}");
}

/// Cannot be read, for a cause on this line.
#[track_caller]
fn refused(text: &str, line: u32, cause: &str) {
    let read = parse(text);
    assert_eq!(read.block, Block::Unreadable, "{text:?}");
    let [finding] = read.findings.as_slice() else {
        panic!("{text:?}: {:?}", read.findings);
    };
    assert!(
        finding.message.contains(cause),
        "{text:?}: {}",
        finding.message
    );
    assert_eq!(
        (finding.kind, finding.line),
        (ProblemKind::Unreadable, Some(line)),
        "{text:?}: {}",
        finding.message
    );
}

#[test]
fn finds_the_block_and_leaves_the_body() {
    for (text, block, body) in [
        ("---\na: 1\n---\nBody\n", Some("a: 1\n"), "Body\n"),
        (
            "---\r\na: 1\r\n---\r\nBody\r\n",
            Some("a: 1\r\n"),
            "Body\r\n",
        ),
        ("\u{feff}---\na: 1\n---\n\n x", Some("a: 1\n"), "\n x"),
        ("--- \t\na: 1\n---\t \nB", Some("a: 1\n"), "B"),
        ("---\n---\nB", Some(""), "B"),
        ("---\n---", Some(""), ""),
        ("---\na: 1\n---", Some("a: 1\n"), ""),
        (
            "---\na: |\n  ---\n  x\n---\n---\n",
            Some("a: |\n  ---\n  x\n"),
            "---\n",
        ),
        ("", None, ""),
        ("Body\n---\n", None, "Body\n---\n"),
        ("\n---\na: 1\n---\n", None, "\n---\na: 1\n---\n"),
        ("----\na: 1\n---\n", None, "----\na: 1\n---\n"),
        ("--- a\n---\n", None, "--- a\n---\n"),
        (" ---\n---\n", None, " ---\n---\n"),
        ("---\na: 1\n", None, ""),
        ("---", None, ""),
    ] {
        let parts = split(text);
        assert_eq!((parts.block, parts.body), (block, body), "{text:?}");
        assert_eq!([parts.head, parts.body].concat(), text);
        assert_eq!(
            parts.unclosed,
            block.is_none() && text.starts_with("---") && parts.body.is_empty()
        );
    }
}

#[test]
fn loads_what_yaml_reads() {
    plain(
        "---\nname: x\ndescription: y\n---\n",
        r#"{"name":"x","description":"y"}"#,
    );
    plain(
        "\u{feff}---\r\nname: x\r\ndescription: |\r\n  a\r\n  b\r\n---\r\n",
        r#"{"name":"x","description":"a\nb\n"}"#,
    );
    plain("---\n---\n", "{}");
    plain("---\n\n# nothing\n\n---\n", "{}");
    plain("---\n~\n---\n", "{}");
    plain(
        "---\n  name: x\n  license: MIT\n---\n",
        r#"{"name":"x","license":"MIT"}"#,
    );
    plain(
        "---\na: \"b: c\"\nd: 'it''s'\ne: It's \"so\"\n---\n",
        r#"{"a":"b: c","d":"it's","e":"It's \"so\""}"#,
    );
    plain("---\nz: 1\ny: 2\nx: 3\n---\n", r#"{"z":1,"y":2,"x":3}"#);
    plain(
        "---\na: http://x.y/z\nb: a:b\n---\n",
        r#"{"a":"http://x.y/z","b":"a:b"}"#,
    );
    plain(
        "---\na: 007\nb: 123456789012345678901234567890\nc: 1.10\nd: True\ne: ~\nf: .inf\n---\n",
        r#"{"a":"007","b":123456789012345678901234567890,"c":1.10,"d":true,"e":null,"f":".inf"}"#,
    );
    plain(
        "---\n1: a\ntrue: b\n~: c\n---\n",
        r#"{"1":"a","true":"b","null":"c"}"#,
    );
    plain(
        "---\na: !!str x\nb: &anchor y\n---\n",
        r#"{"a":"x","b":"y"}"#,
    );
    plain(
        "---\nmetadata: {\"openclaw\": {\"emoji\": \"🎮\", \"n\": [1, 2,],},}\n---\n",
        r#"{"metadata":{"openclaw":{"emoji":"🎮","n":[1,2]}}}"#,
    );
    plain(
        "---\nmetadata:\n  {\n    \"openclaw\":\n      {\n        \"requires\": { \"bins\": [\"gh\"] },\n      },\n  }\n---\n",
        r#"{"metadata":{"openclaw":{"requires":{"bins":["gh"]}}}}"#,
    );
    plain(
        "---\n{name: x, description: y}\n---\n",
        r#"{"name":"x","description":"y"}"#,
    );
    plain("---\na: x\n...\n---\n", r#"{"a":"x"}"#);
}

#[test]
fn repairs_text_that_yaml_trips_over() {
    repaired(
        "---\nname: x\ndescription: Use when: the user asks\n---\n",
        r#"{"name":"x","description":"Use when: the user asks"}"#,
        &[3],
    );
    repaired(
        "---\ndescription: Use when: it's\n  so: or not\n\nname: x\n---\n",
        r#"{"description":"Use when: it's so: or not","name":"x"}"#,
        &[2],
    );
    repaired(
        "---\r\ndescription: a: b\r\n  c: d\r\nname: x\r\n---\r\n",
        r#"{"description":"a: b c: d","name":"x"}"#,
        &[2],
    );
    repaired(
        "---\ndescription: first\n  second: third\n---\n",
        r#"{"description":"first second: third"}"#,
        &[2],
    );
    repaired(
        "---\ndescription: ends with:\nname: x: y\n---\n",
        r#"{"description":"ends with:","name":"x: y"}"#,
        &[2, 3],
    );
    repaired("---\nother: a: b\n---\n", r#"{"other":"a: b"}"#, &[2]);
    repaired(
        "---\ndescription: \"Quoted\" then: more\n---\n",
        r#"{"description":"\"Quoted\" then: more"}"#,
        &[2],
    );
    repaired(
        "---\ndescription: \"Quoted\" then more\n---\n",
        r#"{"description":"\"Quoted\" then more"}"#,
        &[2],
    );
    repaired(
        "---\ndescription: [BETA] tool\n---\n",
        r#"{"description":"[BETA] tool"}"#,
        &[2],
    );
    repaired(
        "---\ndescription: @mention `code`\n---\n",
        r#"{"description":"@mention `code`"}"#,
        &[2],
    );
    repaired(
        "---\ndescription: `code`: x # y\n---\n",
        r##"{"description":"`code`: x # y"}"##,
        &[2],
    );
    repaired(
        "---\ndescription: a: b\n\"homepage\": c\n---\n",
        r#"{"description":"a: b","homepage":"c"}"#,
        &[2],
    );
    repaired(
        "---\nallowed-tools: Bash(git: *)\n---\n",
        r#"{"allowed-tools":"Bash(git: *)"}"#,
        &[2],
    );
    repaired(
        "---\ndescription: a: b\n# note\nname: x\n---\n",
        r#"{"description":"a: b","name":"x"}"#,
        &[2],
    );
}

#[test]
fn repairs_json_under_metadata() {
    let json = r#"{"metadata":{"openclaw":{"emoji":"x","bins":["a"]}},"name":"y"}"#;
    for inline in [
        "metadata: {\n  \"openclaw\": {\n    \"emoji\": \"x\",\n    \"bins\": [\"a\",],\n  },\n}",
        "metadata:\n{\n\"openclaw\": {\n\"emoji\": \"x\",\n\"bins\": [\n\"a\",\n],\n},\n}",
        "metadata:\n\t{\n\t\t\"openclaw\": {\n\t\t\t\"emoji\": \"x\",\n\t\t\t\"bins\": [\"a\"]\n\t\t}\n\t}",
        "metadata: {\"openclaw\":\n\t{\"emoji\": \"x\",\n\t\"bins\": [\"a\"]}}",
    ] {
        for text in [inline.to_owned(), inline.replace('\n', "\r\n")] {
            let (read, findings) = entries(&format!("---\n{text}\nname: y\n---\n"));
            assert_eq!(read, json, "{text:?}: {findings:?}");
        }
    }
    repaired(
        "---\nmetadata: {\"a\": \"\\ud83c\\udfae\"}\n---\n",
        r#"{"metadata":{"a":"🎮"}}"#,
        &[2],
    );
    repaired(
        "---\nname: a: b\nmetadata:\n{\n\"a\": \"{: \\\"}\",\n}\n---\n",
        r#"{"name":"a: b","metadata":{"a":"{: \"}"}}"#,
        &[2, 3],
    );
    refused(
        "---\nname: y\nmetadata: {\"a\": 1\nlicense: x\n---\n",
        4,
        "",
    );
    refused("---\nmetadata: foo: {bar}\n  - x: y\n---\n", 2, "");
}

#[test]
fn refuses_with_line_and_cause() {
    refused("---\nname: x\n", 1, "never closed");
    refused("---\na: &x [1]\nb: *x\n---\n", 3, "alias");
    refused(
        "---\na: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n---\n",
        3,
        "alias",
    );
    refused(
        "---\na: &x [1]\nb: *x\ndescription: c: d\n---\n",
        3,
        "alias",
    );
    refused("---\na: *x\n---\n", 2, "anchor");
    refused("---\n- a\n- b\n---\n", 2, "not a mapping");
    refused("---\njust text\n---\n", 2, "not a mapping");
    refused("---\na: 1\nb: 2\na: 3\n---\n", 4, "line 2");
    refused("---\n1: a\n\"1\": b\n---\n", 3, "line 2");
    refused("---\na: 1\n...\n--- x\nb: 2\n---\n", 4, "more than one");
    refused("---\na: !!int x\n---\n", 2, "tag");
    refused("---\n!!int a: Read\nb: c\n---\n", 2, "tag");
    refused("---\na: !custom x\n---\n", 2, "tag");
    refused("---\n? [a]\n: b\n---\n", 2, "key");
    refused("---\na: x\nb: y\0allowed-tools: z\n---\n", 3, "NUL");
    refused("---\nname: x\n\tallowed-tools: Read\n---\n", 2, "tab");
    refused("---\nname: x\n  allowed-tools: Read\n---\n", 3, "");
    refused("---\ndescription: a: b\n  \"metadata\": c\n---\n", 2, "");
    refused(
        "---\nname: x\nmetadata:\n  note: a: b\n---\n",
        4,
        "mapping values",
    );
    refused(
        "---\nname: x\nallowed-tools: [Read\nlicense: y\n---\n",
        4,
        "",
    );
    refused(
        "---\r\nname: x\r\nmetadata:\r\n  note: a: b\r\n---\r\n",
        4,
        "mapping values",
    );
}

#[test]
fn nests_to_a_bound() {
    // The map of the block is the first level.
    let nested = |levels: usize| {
        let inner = levels - 1;
        format!("---\na: {}{}\n---\n", "[".repeat(inner), "]".repeat(inner))
    };
    assert!(matches!(parse(&nested(64)).block, Block::Read(_)));
    refused(&nested(65), 2, "64 levels");
    refused(&nested(20_000), 2, "");
    let maps: String = (0..65)
        .map(|at| format!("{}a:\n", " ".repeat(at)))
        .collect();
    refused(&format!("---\n{maps}---\n"), 66, "64 levels");
    refused(
        &format!("---\n{}x\n---\n", "- ".repeat(30_000)),
        2,
        "64 levels",
    );
}

#[test]
fn reads_blocks_to_a_bound() {
    let block = |bytes: usize| {
        format!(
            "---\nname: {}\n---\nB",
            "x".repeat(bytes - "name: \n".len())
        )
    };
    assert!(matches!(parse(&block(64 << 10)).block, Block::Read(_)));
    refused(&block((64 << 10) + 1), 2, "65537 bytes");
}

#[test]
fn does_not_slow_down_with_many_keys() {
    let many: String = (0..8_000).map(|at| format!("k{at}:\n")).collect();
    assert!(matches!(
        parse(&format!("---\n{many}---\n")).block,
        Block::Read(_)
    ));
    let many: String = (0..4_000).map(|at| format!("k{at}: a: b\n")).collect();
    assert_eq!(parse(&format!("---\n{many}---\n")).findings.len(), 4_000);
}

fn soup() -> impl Strategy<Value = String> {
    let parts = [
        "---",
        "---\n",
        "--- \r\n",
        "\u{feff}",
        "\n",
        "\r\n",
        "\r",
        "a: ",
        "b",
        ": ",
        "- ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "\"",
        "'",
        "|\n",
        "> ",
        "&x ",
        "*x",
        "!!str ",
        "\t",
        "  ",
        "#",
        "metadata: ",
        "description: ",
        "\\ud83d",
        "é",
        "🎮",
        "\0",
        "...",
        "%TAG",
    ];
    proptest::collection::vec(proptest::sample::select(parts.to_vec()), 0..60)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn never_panics_and_loses_no_byte(text in prop_oneof![soup(), any::<String>(), soup().prop_map(|s| format!("---\n{s}\n---\n"))]) {
        let parts = split(&text);
        prop_assert_eq!([parts.head, parts.body].concat(), text.as_str());
        let read = parse(&text);
        prop_assert_eq!(read.body, &text[read.body_start_bytes..]);
        if read.block == Block::Unreadable {
            prop_assert!(read.findings.iter().any(|f| f.kind == ProblemKind::Unreadable && f.line.is_some()));
            let lines = u32::try_from(text.matches('\n').count() + 1).unwrap();
            prop_assert!(read.findings.iter().all(|f| f.line.unwrap() <= lines));
        }
    }
}
