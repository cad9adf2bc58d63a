//! Documents as other programs leave them; one member changes, every other byte stays.

use proptest::prelude::*;

use super::*;

/// The document with this value there, to the byte.
#[track_caller]
fn sets(document: &str, pointer: &str, value: &str, expected: &str) {
    assert_eq!(
        set_member(document, pointer, value).as_deref(),
        Ok(expected),
        "{document:?} {pointer}"
    );
}

#[track_caller]
fn refuses(document: &str, pointer: &str, value: &str, code: ErrorCode, cause: &str) {
    let error = set_member(document, pointer, value).unwrap_err();
    assert_eq!(error.code, code, "{}", error.message);
    assert!(error.message.contains(cause), "{}", error.message);
}

#[test]
fn replaces_a_value_and_nothing_else() {
    let document = "\u{feff}{\r\n\t \"big\" : 12345678901234567890,\r\n\r\n  \"x\":1e400 ,\"u\": {\"k\":1, \"k\" :2},\r\n   \"x\" : [ 0,{\"y\": -0.0e1}],\"é\\u0041\":\"\\ud800\\/\" }\r\n\r\n";
    sets(
        document,
        "/big",
        "7",
        &document.replace("12345678901234567890", "7"),
    );
    sets(
        document,
        "/u/k",
        "\"v\"",
        &document.replace(":2}", ":\"v\"}"),
    );
    sets(
        document,
        "/x/1/y",
        "null",
        &document.replace("-0.0e1", "null"),
    );
    sets(
        document,
        "/éA",
        "[]",
        &document.replace("\"\\ud800\\/\"", "[]"),
    );
    sets(
        document,
        "/x",
        " {\n}\n",
        &document.replace("[ 0,{\"y\": -0.0e1}]", " {\n}\n"),
    );
    sets(
        r#"{"a/b":1,"m~n":2,"":3}"#,
        "/a~1b",
        "0",
        r#"{"a/b":0,"m~n":2,"":3}"#,
    );
    sets(
        r#"{"a/b":1,"m~n":2,"":3}"#,
        "/m~0n",
        "0",
        r#"{"a/b":1,"m~n":0,"":3}"#,
    );
    sets(
        r#"{"a/b":1,"m~n":2,"":3}"#,
        "/",
        "0",
        r#"{"a/b":1,"m~n":2,"":0}"#,
    );
    sets(r#"{"~1":1}"#, "/~01", "0", r#"{"~1":0}"#);
}

#[test]
fn adds_as_the_neighbours_are() {
    for (document, expected) in [
        (r#"{"a":1}"#, r#"{"a":1,"new":true}"#),
        (r#"{ "a": 1 }"#, r#"{ "a": 1, "new": true }"#),
        (r#"{"a": 1, "b": 2}"#, r#"{"a": 1, "b": 2, "new": true}"#),
        ("{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"new\": true\n}\n"),
        (
            "{\r\n\t\"a\" : 1,\r\n\t\"b\" : {}\r\n}",
            "{\r\n\t\"a\" : 1,\r\n\t\"b\" : {},\r\n\t\"new\" : true\r\n}",
        ),
        (
            "{ \"a\":1\n, \"b\":2\n}",
            "{ \"a\":1\n, \"b\":2\n, \"new\":true\n}",
        ),
        ("{}", r#"{"new":true}"#),
        ("{ }", r#"{ "new":true }"#),
        ("{\n}", "{\n  \"new\":true\n}"),
        ("{\r\n}\r\n", "{\r\n  \"new\":true\r\n}\r\n"),
        ("\u{feff} {\"a\":[]}", "\u{feff} {\"a\":[],\"new\":true}"),
    ] {
        sets(document, "/new", "true", expected);
    }
    sets(
        "{\n    \"a\": {}\n}",
        "/a/b",
        "1",
        "{\n    \"a\": {\n        \"b\": 1\n    }\n}",
    );
    sets("{\"a\": {}}", "/a/b", "1", "{\"a\": {\"b\": 1}}");
    sets(
        "{\n \"a\": {\n  \"b\": {\n  }\n }\n}",
        "/a/b/c",
        "1",
        "{\n \"a\": {\n  \"b\": {\n   \"c\": 1\n  }\n }\n}",
    );
    sets(
        "{\n  \"l\": [\n    {}\n  ]\n}",
        "/l/0/x",
        "1",
        "{\n  \"l\": [\n    {\n      \"x\": 1\n    }\n  ]\n}",
    );
    sets(
        "[0,{\"a\":1}]",
        "/1/\u{e9}\"\n",
        "2",
        "[0,{\"a\":1,\"\u{e9}\\\"\\n\":2}]",
    );
}

#[test]
fn refuses_with_place_and_rule() {
    use ErrorCode::{Invalid, NotFound, TooLarge};
    refuses("{\n  \"a\": 1,\n}", "/a", "1", Invalid, "line 3 column 1");
    refuses("{\"a\":1} x", "/a", "1", Invalid, "line 1 column 9");
    refuses("", "/a", "1", Invalid, "line 1 column 0");
    refuses("{}", "/a", "{,}", Invalid, "the value is not JSON");
    refuses("{}", "/a", "\u{feff}1", Invalid, "the value is not JSON");
    refuses("{}", "/a", "1 2", Invalid, "the value is not JSON");
    refuses("{}", "", "1", Invalid, "empty");
    refuses("{}", "a", "1", Invalid, "begin with `/`");
    refuses("{}", "/a~2", "1", Invalid, "`~0`");
    refuses("{}", "/~~01", "1", Invalid, "`~0`");
    refuses("{}", "/a~", "1", Invalid, "`~0`");
    refuses("{}", "/a/b", "1", NotFound, "`/a` is not");
    refuses("{\"a\":1}", "/a/b", "1", Invalid, "`/a` is a number");
    refuses("{\"a\":1}", "/a/b/c", "1", Invalid, "a number");
    refuses("{\"a\":[1]}", "/a/0", "1", Invalid, "an array");
    refuses("{\"a\":[{}]}", "/a/1/x", "1", NotFound, "`/a/1`");
    refuses("{\"a\":[{}]}", "/a/-/x", "1", Invalid, "0, 1, 2");
    refuses("{\"a\":[{}]}", "/a/00/x", "1", Invalid, "0, 1, 2");
    refuses("{\"a\":[{}]}", "/a//x", "1", Invalid, "0, 1, 2");
    refuses(
        "{\"a\":[{}]}",
        "/a/99999999999999999999999/x",
        "1",
        Invalid,
        "0, 1, 2",
    );
    refuses("true", "/a", "1", Invalid, "the document is true or false");
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(set_member("{}", "/a", &nested(126)).is_ok());
    refuses("{}", "/a", &nested(127), TooLarge, "127");
    refuses(
        &format!("{{\"a\":{}}}", nested(127)),
        "/a",
        "1",
        TooLarge,
        "127",
    );
    refuses(
        &format!("{{\"a\":{}}}", nested(100_000)),
        "/a",
        "1",
        TooLarge,
        "127",
    );
    refuses(&" ".repeat(8 << 20), "/a", "1", TooLarge, "8388608");
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        "[a\"\\\\{}é]{0,4}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 30, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[ab/~]{0,2}", inner, 0..4)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn agrees_with_a_parse(document in json(), name in "[ab/~]{0,2}", inner in proptest::option::of("[ab01]{1}"), value in json(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&document).unwrap() } else { document.to_string() };
        let names: Vec<String> = inner.into_iter().chain([name.clone()]).collect();
        let pointer = pointer_of(&names);
        let parent = document.pointer(&pointer_of(&names[..names.len() - 1]));
        let answer = set_member(&text, &pointer, &value.to_string());
        match parent {
            Some(serde_json::Value::Object(_)) => {
                let mut expected = document.clone();
                let parent = expected.pointer_mut(&pointer_of(&names[..names.len() - 1])).unwrap();
                parent[name.as_str()] = value;
                let answer = answer.unwrap();
                prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&answer).unwrap(), expected.clone());
                if pretty && document.pointer(&pointer).is_some_and(|old| !old.is_object() && !old.is_array()) {
                    prop_assert_eq!(answer.lines().count() >= text.lines().count(), true);
                }
            }
            _ => prop_assert!(answer.is_err()),
        }
    }

    #[test]
    fn never_panics(document in "[{}\\[\\]\",:a1 \\\\\n]{0,40}", pointer in "[/~01a]{0,6}", value in "[{}\\[\\]\",:1]{0,5}") {
        let _ = set_member(&document, &pointer, &value);
    }
}

#[test]
fn brackets_in_strings_are_no_depth_wherever_the_string_ends() {
    let many = "[".repeat(JSON_DEPTH_MAX + 1);
    for length in 0..24 {
        let text = "x".repeat(length);
        for within in [
            format!(r#"["{text}\"{many}",1]"#),
            format!(r#"{{"{many}{text}\\":"{many}"}}"#),
        ] {
            assert_eq!(check_depth("it", &within, 0), Ok(()), "{within}");
        }
        for outside in [
            format!(r#"["{text}\\",{many}"#),
            format!(r#"["{text}",{many}"#),
            format!(r#"["{text}\"\\\\",{many}"#),
        ] {
            assert!(check_depth("it", &outside, 0).is_err(), "{outside}");
        }
    }
}
