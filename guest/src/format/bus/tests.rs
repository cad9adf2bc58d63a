//! Buses as writers, crashes, hands and enemies leave them.

use proptest::prelude::*;

use super::*;

fn message(id: &str, body: &str) -> Message {
    Message {
        msg_id: Some(id.to_owned()),
        ts: Some("2026-02-20T09:30:00.123Z".to_owned()),
        kind: "FACT".to_owned(),
        project_id: Some("proj".to_owned()),
        body: body.to_owned(),
        ..Message::default()
    }
}

/// As a writer on a store that appends makes it.
fn appended(bus: &[u8], message: &Message) -> Vec<u8> {
    let separator = BusEntries.separator(bus);
    [bus, separator, message.render().as_bytes()].concat()
}

fn bus(messages: &[Message]) -> Vec<u8> {
    messages
        .iter()
        .fold(Vec::new(), |bus, message| appended(&bus, message))
}

/// Messages by id and body, and what is none by its problem.
fn read(bus: &[u8]) -> Vec<Result<(Option<String>, String), String>> {
    let frames = frames(bus);
    let read = frames.iter().map(Message::read);
    read.map(|read| read.map(|(message, _)| (message.msg_id, message.body)))
        .collect()
}

fn said(id: &str, body: &str) -> Result<(Option<String>, String), String> {
    Ok((Some(id.to_owned()), body.to_owned()))
}

#[test]
fn an_entry_as_it_stands() {
    let mut full = message("MSG-2", "Done: yes.\n---\n\\---\nno line end");
    full.task_id = Some("task-1".to_owned());
    full.parents = vec![
        Parent {
            msg_id: "MSG-1".to_owned(),
            ..Parent::default()
        },
        Parent {
            msg_id: "MSG-0".to_owned(),
            kind: Some("answers".to_owned()),
            meta: vec![("why".to_owned(), "a: b".to_owned())],
        },
    ];
    full.links = vec!["https://example.com/#x".to_owned()];
    full.meta = vec![("no".to_owned(), "---\n".to_owned())];
    let bus = bus(&[message("MSG-1", "Tea?\n"), full.clone()]);
    let expected = "---\nmsg_id: MSG-1\nts: 2026-02-20T09:30:00.123Z\ntype: FACT\nproject_id: proj\nmeta:\n  body_bytes: 5\n---\nTea?\n\n\
        ---\nmsg_id: MSG-2\nts: 2026-02-20T09:30:00.123Z\ntype: FACT\nproject_id: proj\ntask_id: task-1\nparents:\n  - MSG-1\n  \
        - msg_id: MSG-0\n    kind: answers\n    meta:\n      why: \"a: b\"\nlinks:\n  - \"https://example.com/#x\"\nmeta:\n  \
        body_bytes: 33\n  escaped: true\n  \"no\": \"---\\n\"\n---\nDone: yes.\n\\---\n\\\\---\nno line end\n";
    assert_eq!(String::from_utf8_lossy(&bus), expected);
    let frames = frames(&bus);
    assert_eq!(Message::read(&frames[1]), Ok((full, Vec::new())));
    assert_eq!(frames[1].bytes.len() + frames[0].bytes.len() + 1, bus.len());
}

#[test]
fn no_body_forges_an_entry() {
    for body in [
        "---\nmsg_id: MSG-F\ntype: FACT\nproject_id: proj\n---\nforged\n",
        "\n---\nmsg_id: MSG-F\ntype: FACT\nproject_id: proj\n---\nforged",
        "msg_id: MSG-F\ntype: FACT\n",
        "msg_id: MSG-F\ntype: FACT\nproject_id: p\n---\nforged\n",
        "\r\n---\r\nmsg_id: MSG-F\r\n---\r\nx",
        "x\r---\rmsg_id: MSG-F\r---\rx",
        "  ---  \n\t---\n\u{feff}---\n\u{a0}---\u{85}",
        "{haversack: torn",
        "{haversack: torn\n",
        "\\{haversack: torn\n",
        "[2026-01-02 10:00:00] FACT: forged\n",
        "",
        "\n",
        "\n\n",
        "---",
        "--",
        "-",
        "\n---",
        "a\n\n\n",
        " \n \n",
        "...\n",
        "\u{feff}",
    ] {
        let three = [
            message("MSG-1", "before"),
            message("MSG-2", body),
            message("MSG-3", "after\n"),
        ];
        for count in 1..=3 {
            let bus = bus(&three[..count]);
            let expected: Vec<_> = three[..count]
                .iter()
                .map(|m| said(m.msg_id.as_deref().unwrap_or_default(), &m.body))
                .collect();
            assert_eq!(read(&bus), expected, "{body:?}");
        }
    }
}

#[test]
fn legacy_lines_a_preamble_and_a_byte_order_mark() {
    let old = "\u{feff}# The bus\n\n[2026-01-02 10:00:00] PROGRESS: half: done\r\n[not one]\n[x] FACT: neither\n";
    let bus = appended(old.as_bytes(), &message("MSG-1", "new\n"));
    assert_eq!(
        read(&bus),
        [Ok((None, "half: done".to_owned())), said("MSG-1", "new\n")]
    );
    assert_eq!(
        BusEntries.entries(&bus)[0].bytes,
        b"[2026-01-02 10:00:00] PROGRESS: half: done\r\n"
    );
    let marked = ["\u{feff}".as_bytes(), &bus[old.len()..]].concat();
    assert_eq!(read(&marked), [said("MSG-1", "new\n")]);
    // A rule of Markdown in the preamble opens nothing for long.
    let ruled = appended(b"# Bus\n\n---\n", &message("MSG-1", "x"));
    assert_eq!(read(&ruled).last(), Some(&said("MSG-1", "x")));
}

#[test]
fn entries_of_other_programs() {
    let bus = b"---\ntype: FACT\nproject_id: p\n---\nline one\n\nline two\n\n---\r\nproject_id: p\r\ntype: INFO\r\nparents: MSG-1\r\n---\r\nx\r\n\r\n\
        ---\ntype: FACT\n---\nno project\n\n---\nmsg_id: [\n---\nbroken\n\n---\nmsg_id: MSG-9\ntype: A\nproject_id: p\nextra: {a: [1]}\nmeta: {n: 7}\n---\n";
    let problems: Vec<_> = read(bus);
    assert_eq!(problems[0], Ok((None, "line one\n\nline two\n".to_owned())));
    assert_eq!(problems[1], Ok((None, "x\r\n".to_owned())));
    assert_eq!(problems[2], Err("its header has no project_id".to_owned()));
    assert!(
        problems[3]
            .as_ref()
            .is_err_and(|why| why.contains("no YAML")),
        "{problems:?}"
    );
    assert_eq!(problems[4], Err("torn: the entry has no end".to_owned()));
    let whole = [bus.as_slice(), b"seven\n"].concat();
    let frames = frames(&whole);
    let (last, _) = Message::read(&frames[4]).unwrap();
    assert_eq!(
        (last.body.as_str(), last.meta),
        ("seven\n", vec![("n".to_owned(), "7".to_owned())])
    );
    let (second, _) = Message::read(&frames[1]).unwrap();
    assert_eq!(second.parents[0].msg_id, "MSG-1");
}

#[test]
fn a_header_that_is_never_closed_hides_nothing_behind_it() {
    let bus = [
        b"---\nmsg_id: MSG-1\ntype: FA\n\n".as_slice(),
        &bus(&[message("MSG-2", "x\n")]),
    ]
    .concat();
    let read = read(&bus);
    assert!(
        read[0]
            .as_ref()
            .is_err_and(|why| why.contains("never closed"))
    );
    assert_eq!(read[1], said("MSG-2", "x\n"));
}

#[test]
fn a_body_that_was_edited_is_given_as_it_stands() {
    let text =
        String::from_utf8(bus(&[message("MSG-1", "one\n"), message("MSG-2", "two\n")])).unwrap();
    for (edited, first) in [
        (
            text.replace("one\n", "one and a half\n"),
            "one and a half\n",
        ),
        (text.replace("one\n", "o\n"), "o\n"),
        (text.replace('\n', "\r\n"), "one\r\n"),
    ] {
        let frames = frames(edited.as_bytes());
        let read: Vec<_> = frames.iter().map(Message::read).collect();
        let (message, notes) = read[0].as_ref().unwrap();
        assert_eq!(message.body, first);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert_eq!(read.len(), 2);
    }
}

/// Every way a crash may end an append: what was there stays, the fragment never comes back, and what follows is
/// read.
#[test]
fn torn_anywhere() {
    let before = [
        message("MSG-1", "first, without an end"),
        message("MSG-2", "second\n\n\n"),
    ];
    for body in ["third\n---\n\nx", "", "{haversack: torn\n"] {
        let third = message("MSG-3", body);
        let (start, whole) = (bus(&before).len(), appended(&bus(&before), &third));
        for cut in start..=whole.len() {
            let torn = &whole[..cut];
            let mut expected = vec![
                said("MSG-1", &before[0].body),
                said("MSG-2", &before[1].body),
            ];
            if cut == whole.len() {
                expected.push(said("MSG-3", body));
            }
            let now: Vec<_> = read(torn).into_iter().filter(Result::is_ok).collect();
            assert_eq!(now, expected, "cut at {cut}");
            // Torn once more, at each byte of the next append.
            let fourth = message("MSG-4", "fourth\n");
            let after = appended(torn, &fourth);
            for again in (cut..after.len()).step_by(3).chain([after.len()]) {
                let end = appended(&after[..again], &message("MSG-5", "fifth"));
                let mut expected = expected.clone();
                if again == after.len() {
                    expected.push(said("MSG-4", "fourth\n"));
                }
                expected.push(said("MSG-5", "fifth"));
                let read = read(&end);
                let fine: Vec<_> = read.iter().filter(|read| read.is_ok()).cloned().collect();
                assert_eq!(fine, expected, "{:?}", String::from_utf8_lossy(&end));
            }
        }
    }
}

#[test]
fn footing_is_at_entries_only() {
    let all = [
        message("MSG-1", "msg_id: x\n"),
        message("MSG-2", "\n\nmsg_id: y"),
        message("MSG-3", "z\n"),
    ];
    let bus = bus(&all);
    let starts: Vec<usize> = frames(&bus)
        .iter()
        .map(|frame| frame.bytes.as_ptr() as usize - bus.as_ptr() as usize)
        .collect();
    for from in 0..bus.len() {
        let footing = BusEntries.footing(&bus[from..]).map(|at| from + at);
        let next = starts.iter().copied().find(|start| *start > from + 1);
        let at_once = starts.iter().copied().find(|start| *start == from + 1);
        assert!(footing == next || footing == at_once.or(next), "{from}");
    }
}

fn any_body() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("---".to_owned()),
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just("\\".to_owned()),
        Just(" ".to_owned()),
        Just("msg_id: MSG-F".to_owned()),
        Just("type: FACT\nproject_id: p".to_owned()),
        Just(TORN.to_owned()),
        Just("\u{feff}".to_owned()),
        "\\PC{0,4}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn every_body_reads_back(bodies in prop::collection::vec(any_body(), 1..5)) {
        let messages: Vec<Message> = bodies.iter().enumerate().map(|(at, body)| message(&format!("MSG-{at}"), body)).collect();
        let bus = bus(&messages);
        let expected: Vec<_> = messages.iter().map(|m| said(m.msg_id.as_deref().unwrap_or_default(), &m.body)).collect();
        prop_assert_eq!(read(&bus), expected.clone());
        // From any byte on, what is found is a tail of it.
        for from in (0..bus.len()).step_by(29) {
            let piece = &bus[from..];
            let found = BusEntries.footing(piece).map(|at| read(&piece[at..])).unwrap_or_default();
            prop_assert_eq!(&found[..], &expected[expected.len() - found.len()..]);
        }
    }

    #[test]
    fn every_value_of_a_header_reads_back(value in "\\PC{0,20}|[\\x01-\\x7f]{1,10}") {
        let mut one = message("MSG-1", "x");
        one.links = vec![value.clone()];
        one.meta = vec![("name".to_owned(), value.clone())];
        one.parents = vec![Parent { msg_id: value.clone(), kind: None, meta: vec![("a".to_owned(), value)] }];
        let bus = bus(&[one.clone(), message("MSG-2", "y")]);
        let frames = frames(&bus);
        prop_assert_eq!(Message::read(&frames[0]), Ok((one, Vec::new())));
        prop_assert_eq!(frames.len(), 2);
    }

    #[test]
    fn nothing_panics(bytes in prop::collection::vec(prop_oneof![Just(b'-'), Just(b'\n'), Just(b'm'), any::<u8>()], 0..60)) {
        for frame in frames(&bytes) {
            let _ = (frame.id(), Message::read(&frame));
        }
        let _ = (BusEntries.separator(&bytes), BusEntries.footing(&bytes));
    }
}
