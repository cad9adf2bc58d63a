//! The cuts of hi-boss at their edges, against lengths of its specification.

use super::*;
use crate::transform::truncate::Unit;
use crate::transform::truncate::policy::preset;

fn content(date: Option<&str>, text: &str) -> Content {
    let bytes = text.len() as u64;
    let file = File {
        key: format!("k/{}", date.unwrap_or("long")),
        name: "F.md".to_owned(),
        daily: date.is_some(),
        text: text.to_owned(),
        size_bytes: bytes,
        read_bytes: bytes,
        read_from: 0,
        damaged: false,
    };
    Content::new(date.map(str::to_owned), file).unwrap()
}

fn days(texts: &[String]) -> Vec<Content> {
    let dates = ["2026-02-20", "2026-02-19", "2026-02-18"];
    let days = dates.into_iter().zip(texts);
    days.map(|(date, text)| content(Some(date), text)).collect()
}

fn units(text: &str) -> u64 {
    measure(text, Unit::Utf16)
}

fn hi_boss() -> Policy {
    preset("hi-boss").unwrap()
}

#[test]
fn the_golden_lengths() {
    for (length, expected) in [(11_999, 11_999), (12_000, 12_000), (12_001, 12_060)] {
        let long = content(None, &"m".repeat(length));
        let text = snapshot(Some(&long), &[], &hi_boss())
            .long_term
            .unwrap()
            .text;
        assert_eq!(units(&text), expected, "{length}");
    }
    let both = days(&["a".repeat(4_000), "b".repeat(4_000)]);
    let snapshot = snapshot(None, &both, &hi_boss());
    assert_eq!(units(&snapshot.daily), 8_058);
    assert!(!snapshot.daily.contains("per-day"));
    assert!(snapshot.daily.starts_with("--- 2026-02-20 ---\naaaa"));
    assert!(
        snapshot
            .daily
            .ends_with("b\n\n<<truncated due to internal-space-daily-max-chars=8000>>")
    );
    // 8,000 without two headings and a blank line.
    assert_eq!(snapshot.days[1].cuts[0].kept, 4_000 - 40);
    assert_eq!(snapshot.days[0].cuts, []);
}

#[test]
fn headings_and_markers_of_days_count() {
    // The older day's marker just fits, or does not.
    let policy = Policy {
        daily_limit: Some(100),
        daily_total_limit: Some(19 + 10 + 2 + 19 + 100 + 2 + 65),
        ..hi_boss()
    };
    let marker = "<<truncated due to internal-space-daily-per-day-max-chars=100>>";
    assert_eq!(units(marker), 63);
    for (newest, whole) in [(11, true), (12, true), (13, false)] {
        let both = days(&["a".repeat(newest), "b".repeat(101)]);
        let daily = snapshot(None, &both, &policy).daily;
        assert_eq!(daily.ends_with(marker), whole, "{newest}");
        assert_eq!(daily.contains("daily-max-chars=217"), !whole, "{newest}");
    }
}

#[test]
fn a_short_total_takes_the_oldest_day_first() {
    let policy = |total| Policy {
        total_limit: Some(total),
        ..hi_boss()
    };
    let long = content(None, &"m".repeat(12_001));
    let both = days(&["a".repeat(1_000), "b".repeat(1_000)]);
    for (total, kept) in [
        (14_000, [1_000, 1_000]),
        (13_999, [1_000, 999]),
        (13_000, [1_000, 0]),
        (12_400, [400, 0]),
    ] {
        let snapshot = snapshot(Some(&long), &both, &policy(total));
        let lengths: Vec<u64> = snapshot
            .days
            .iter()
            .map(|day| day.cuts.first().map_or(1_000, |cut| cut.kept))
            .collect();
        assert_eq!(lengths, kept, "{total}");
        let marker = format!("<<truncated due to internal-space-daily-max-chars={total}>>");
        assert_eq!(snapshot.daily.ends_with(&marker), total < 14_000, "{total}");
        assert_eq!(
            snapshot.daily.contains("2026-02-19"),
            kept[1] > 0,
            "{total}"
        );
    }
    let all = snapshot(Some(&long), &both, &policy(9_000));
    assert_eq!(
        all.daily,
        "<<truncated due to internal-space-daily-max-chars=9000>>"
    );
    let text = all.long_term.unwrap().text;
    assert!(text.ends_with("m\n\n<<truncated due to internal-space-memory-max-chars=9000>>"));
}

#[test]
fn a_pair_at_the_cut_goes_whole_and_a_combining_mark_does_not_hold() {
    let policy = Policy {
        file_limit: Some(3),
        ..hi_boss()
    };
    for (text, kept) in [
        ("ab😀c", 2),
        ("a😀bc", 3),
        ("ae\u{301}\u{302}", 3),
        ("abe\u{301}", 3),
    ] {
        let long = content(None, text);
        let cut = &snapshot(Some(&long), &[], &policy).long_term.unwrap().cuts[0];
        assert_eq!(cut.kept, kept, "{text}");
    }
}

#[test]
fn a_fence_is_longer_than_any_run_inside() {
    assert_eq!(fenced(""), "(empty)");
    assert_eq!(fenced("a `b` c"), "```\na `b` c\n```");
    assert_eq!(fenced("```\nx\n```"), "````\n```\nx\n```\n````");
    assert_eq!(fenced("``````"), "```````\n``````\n```````");
    assert_eq!(fenced("a\n"), "```\na\n```");
}

#[test]
fn ranges_are_those_of_the_object() {
    let policy = Policy {
        file_limit: Some(2),
        daily_limit: Some(2),
        ..hi_boss()
    };
    let range = |from, to| KeptRange {
        start_bytes: from,
        end_bytes: to,
    };
    let long = content(None, "\u{feff}\n éxyz\n");
    let both = [content(Some("2026-02-20"), "  abc")];
    let taken = snapshot(Some(&long), &both, &policy);
    assert_eq!(taken.long_term.unwrap().cuts[0].ranges, [range(5, 8)]);
    assert_eq!(taken.days[0].cuts[0].ranges, [range(2, 4)]);
    let newest = Policy {
        daily_limit: Some(3),
        ..preset("newest-first").unwrap()
    };
    let taken = snapshot(None, &[content(Some("2026-02-20"), "  a\nb\nc\n")], &newest);
    assert_eq!(taken.days[0].cuts[0].ranges, [range(4, 7)]);
}

#[test]
fn newest_first_keeps_new_lines_and_every_marker() {
    let policy = Policy {
        daily_limit: Some(12),
        daily_total_limit: Some(18),
        ..preset("newest-first").unwrap()
    };
    let both = days(&["one\ntwo\nthree\nfour".into(), "old\nolder\noldest".into()]);
    assert_eq!(
        snapshot(None, &both, &policy).daily,
        "--- 2026-02-20 ---\n[... 2 lines of F.md left out: kept 10 of 18 characters ...]\n\nthree\nfour\n\n\
         --- 2026-02-19 ---\n[... 2 lines of F.md left out: kept 6 of 16 characters ...]\n\noldest"
    );
}
