//! Files as the reference, people and other programs write them.

use proptest::prelude::*;

use super::*;

fn text(text: &str) -> Set {
    Set::Text(text.to_owned())
}

fn new() -> Fields {
    vec![
        ("run_id", text("20260220-0930001234-42")),
        ("project_id", text("proj")),
        ("agent", text("claude")),
        ("pid", Set::Number(42)),
        ("start_time", Set::Time(Some(1_771_579_800_123))),
        ("status", text("running")),
    ]
}

#[test]
fn a_new_file_has_every_required_name_in_order() {
    let printed = render(&new());
    let expected = "version: 1\nrun_id: \"20260220-0930001234-42\"\nparent_run_id: \"\"\nprevious_run_id: \"\"\nproject_id: proj\n\
        task_id: \"\"\nagent: claude\npid: 42\npgid: 0\nstart_time: 2026-02-20T09:30:00.123Z\nend_time: 0001-01-01T00:00:00Z\n\
        exit_code: -1\nstatus: running\ncwd: \"\"\nprompt_path: \"\"\noutput_path: \"\"\nstdout_path: \"\"\nstderr_path: \"\"\n";
    assert_eq!(printed, expected);
    let (info, findings) = parse(&printed);
    let info = info.unwrap();
    assert_eq!(
        (info.pid, info.exit_code, info.end_ms),
        (Some(42), Some(-1), None)
    );
    assert_eq!(info.start_ms, Some(1_771_579_800_123));
    assert_eq!((info.parent_run_id, findings), (None, Vec::new()));
}

#[test]
fn reading_is_lenient() {
    let (info, findings) =
        parse("pid: many\nend_time: soon\nextra: {a: [1]}\nagent: 'x'\nexit_code: 0\n");
    let info = info.unwrap();
    assert_eq!(
        (info.agent.as_deref(), info.exit_code, info.pid),
        (Some("x"), Some(0), None)
    );
    let lines: Vec<_> = findings.iter().map(|finding| finding.line).collect();
    assert_eq!(lines, [Some(2), Some(1)]);
    assert_eq!(parse("a: [\n").0, None);
    assert_eq!(parse("").0.map(|info| info.agent), Some(None));
    assert_eq!(parse("- a\n").0, None);
    assert!(
        parse("\u{feff}---\nagent: x\n---\n")
            .0
            .is_some_and(|info| info.agent.is_some())
    );
}

#[test]
fn an_edit_keeps_every_other_byte() {
    let fields = vec![
        ("exit_code", Set::Number(0)),
        ("error_summary", text("a: b\nc")),
    ];
    for (before, after) in [
        (
            "# mine\nrun_id: x   # odd\nexit_code: -1\nstatus: |\n  running\n\nextra:\n  - 1\n",
            "# mine\nrun_id: x   # odd\nexit_code: 0\nstatus: |\n  running\nerror_summary: \"a: b\\nc\"\n\nextra:\n  - 1\n",
        ),
        (
            "exit_code:\n  -1\r\nzzz: 1",
            "exit_code: 0\r\nerror_summary: \"a: b\\nc\"\r\nzzz: 1",
        ),
        (
            "zzz: 1",
            "exit_code: 0\nerror_summary: \"a: b\\nc\"\nzzz: 1",
        ),
        (
            "---\nzzz: 1\n---\n",
            "---\nexit_code: 0\nerror_summary: \"a: b\\nc\"\nzzz: 1\n---\n",
        ),
        (
            "zzz: 1\nstatus: x",
            "exit_code: 0\nzzz: 1\nstatus: x\nerror_summary: \"a: b\\nc\"\n",
        ),
    ] {
        let edited = edit(before, &fields);
        assert_eq!(edited.as_deref(), Ok(after));
        assert_eq!(edit(after, &fields).as_deref(), Ok(after));
    }
}

#[test]
fn what_cannot_be_edited_says_so() {
    let fields = vec![("exit_code", Set::Number(0))];
    for (text, why) in [
        ("a: [\n", "line"),
        ("{exit_code: 1, a: 2}\n", "a line"),
        ("\"exit_code\": 1\n", "a line"),
    ] {
        let error = edit(text, &fields).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

proptest! {
    #[test]
    fn every_value_is_set_and_read(value in "\\PC{0,30}|[\\x01-\\x7f]{0,10}", code in any::<i32>()) {
        let fields = vec![("cwd", text(&value)), ("exit_code", Set::Number(code.into()))];
        let edited = edit(&render(&new()), &fields).unwrap();
        let (info, findings) = parse(&edited);
        let info = info.unwrap();
        prop_assert_eq!(info.cwd.unwrap_or_default(), value);
        prop_assert_eq!(info.exit_code, Some(code));
        prop_assert!(findings.is_empty());
    }

    #[test]
    fn nothing_panics(text in "\\PC{0,40}|[a-z:\n -]{0,60}") {
        let _ = (parse(&text), edit(&text, &new()));
    }
}
