//! Shorten one text to an allowance, with a marker where something went. Pure.

use super::marker::{Figures, render};
use super::measure::{Unit, measure, prefix_within, suffix_within};
use super::policy::{Policy, Shape};

/// How one text may be shortened: what is allowed of it now, and what the marker says.
#[derive(Debug, Clone, Copy)]
pub struct Allowance<'a> {
    /// Units that may be kept, the marker included where the policy counts it.
    pub units: u64,
    /// The limit that the marker names; more than `units` when others have spent of it.
    pub limit: u64,
    pub marker: &'a str,
    /// The name that the marker gives the file.
    pub file: &'a str,
    pub daily: bool,
}

/// A shortened text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortened {
    pub text: String,
    /// Units kept, without the marker.
    pub kept: u64,
    /// What was kept, as byte ranges of the text that was given.
    pub ranges: Vec<std::ops::Range<usize>>,
}

/// Shorten `text`, which is over its allowance. Where nothing worth keeping fits, the marker alone stays.
pub fn shorten(text: &str, policy: &Policy, allowance: Allowance<'_>) -> Shortened {
    if allowance.units == 0 || allowance.units < policy.smallest {
        return left_out(text, policy, allowance);
    }
    let shortened = match policy.shape {
        Shape::HeadTail => head_tail(text, policy, allowance),
        Shape::NewestLines if allowance.daily => newest_lines(text, policy.unit, allowance),
        Shape::NewestLines => headings_and_first_lines(text, policy.unit, allowance),
    };
    shortened.unwrap_or_else(|| left_out(text, policy, allowance))
}

fn left_out(text: &str, policy: &Policy, allowance: Allowance<'_>) -> Shortened {
    let total = measure(text, policy.unit);
    let dropped = match policy.shape {
        Shape::HeadTail => total,
        Shape::NewestLines => text.lines().count() as u64,
    };
    let figures = Figures {
        limit: allowance.limit,
        total,
        dropped,
        ..Figures::default()
    };
    Shortened {
        text: render(allowance.marker, allowance.file, figures)
            .trim()
            .to_owned(),
        kept: 0,
        ranges: Vec::new(),
    }
}

/// None when the marker leaves no room.
fn head_tail(text: &str, policy: &Policy, allowance: Allowance<'_>) -> Option<Shortened> {
    let unit = policy.unit;
    let total = measure(text, unit);
    let figures = |head, tail| Figures {
        limit: allowance.limit,
        total,
        head,
        tail,
        dropped: total.saturating_sub(head).saturating_sub(tail),
    };
    let marker = |figures| render(allowance.marker, allowance.file, figures);

    let head_percent = u64::from(policy.head_percent.min(100));
    let share = |room: u64| {
        let head = room.saturating_mul(head_percent) / 100;
        let tail = room.saturating_mul(100 - head_percent) / 100;
        (head, tail)
    };
    let room = if policy.marker_counted {
        // A counted marker's length depends on the figures in it: make room for the longest, and for
        // no more than the figures of that room need where theirs fit too.
        let needed = |width: u64| {
            let (head, tail) = share(allowance.units.saturating_sub(width));
            measure(&marker(figures(head, tail)), unit)
        };
        let widest = measure(&marker(figures(allowance.units, allowance.units)), unit);
        let narrower = needed(widest);
        let width = if needed(narrower) <= narrower {
            narrower
        } else {
            widest
        };
        allowance
            .units
            .checked_sub(width)
            .filter(|room| *room > 0)?
    } else {
        allowance.units
    };
    let (head_room, tail_room) = share(room);
    let mut head_end = prefix_within(text, unit, head_room);
    let mut tail_start = suffix_within(text, unit, tail_room).max(head_end);
    if policy.line_ends {
        head_end = back_to_line_end(text, unit, head_end, allowance.units / 10);
        tail_start = forth_to_line_start(text, unit, tail_start, allowance.units / 10);
    }
    let (head, tail) = (text.get(..head_end)?, text.get(tail_start..)?);
    let (head_units, tail_units) = (measure(head, unit), measure(tail, unit));
    let ranges = [0..head_end, tail_start..text.len()];
    Some(Shortened {
        text: format!("{head}{}{tail}", marker(figures(head_units, tail_units))),
        kept: head_units + tail_units,
        ranges: ranges
            .into_iter()
            .filter(|range| !range.is_empty())
            .collect(),
    })
}

/// The last line end within `slack` units before `end`, else `end`.
fn back_to_line_end(text: &str, unit: Unit, end: usize, slack: u64) -> usize {
    let Some(head) = text.get(..end) else {
        return end;
    };
    let from = suffix_within(head, unit, slack);
    head.get(from..)
        .and_then(|last| last.rfind('\n'))
        .map_or(end, |at| from + at + 1)
}

/// The first line start within `slack` units after `start`, else `start`.
fn forth_to_line_start(text: &str, unit: Unit, start: usize, slack: u64) -> usize {
    let Some(tail) = text.get(start..) else {
        return start;
    };
    if start == 0 || text.get(..start).is_some_and(|head| head.ends_with('\n')) {
        return start;
    }
    let until = prefix_within(tail, unit, slack);
    tail.get(..until)
        .and_then(|first| first.find('\n'))
        .map_or(start, |at| start + at + 1)
}

/// The newest lines stand at the end of a daily file. A last line that alone is too long keeps its end.
fn newest_lines(text: &str, unit: Unit, allowance: Allowance<'_>) -> Option<Shortened> {
    let fits = suffix_within(text, unit, allowance.units);
    let start = forth_to_line_start(text, unit, fits, u64::MAX);
    let start = if start < text.len() { start } else { fits };
    let tail = text.get(start..).filter(|tail| !tail.is_empty())?;
    let kept = measure(tail, unit);
    let figures = Figures {
        limit: allowance.limit,
        total: measure(text, unit),
        head: kept,
        tail: 0,
        dropped: text.get(..start)?.lines().count() as u64,
    };
    Some(Shortened {
        text: format!(
            "{}\n\n{tail}",
            render(allowance.marker, allowance.file, figures)
        ),
        kept,
        ranges: std::iter::once(start..text.len()).collect(),
    })
}

/// Every heading that fits, then the other lines from the top while they fit; a marker for each gap.
fn headings_and_first_lines(text: &str, unit: Unit, allowance: Allowance<'_>) -> Option<Shortened> {
    let lines = lines_with_kind(text);
    let mut left = allowance.units;
    let mut keep = vec![false; lines.len()];
    for headings in [true, false] {
        for (keep, line) in keep
            .iter_mut()
            .zip(&lines)
            .filter(|(_, line)| line.heading == headings)
        {
            let units = text
                .get(line.range.clone())
                .map_or(0, |line| measure(line, unit));
            let Some(rest) = left.checked_sub(units) else {
                break;
            };
            (*keep, left) = (true, rest);
        }
    }
    // Under `tokens` the sum of rounded lines is over the whole, so count what is kept once.
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    for (_, line) in keep.iter().zip(&lines).filter(|(keep, _)| **keep) {
        match ranges
            .last_mut()
            .filter(|last| last.end == line.range.start)
        {
            Some(last) => last.end = line.range.end,
            None => ranges.push(line.range.clone()),
        }
    }
    if ranges.is_empty() {
        return None;
    }
    let kept = ranges
        .iter()
        .filter_map(|range| text.get(range.clone()))
        .map(|part| measure(part, unit))
        .sum();
    let total = measure(text, unit);
    let gap = |from: usize, to: usize| {
        let dropped = text
            .get(from..to)
            .map_or(0, |gap| gap.lines().count() as u64);
        render(
            allowance.marker,
            allowance.file,
            Figures {
                limit: allowance.limit,
                total,
                head: kept,
                tail: 0,
                dropped,
            },
        )
    };
    let mut out = String::new();
    let mut at = 0;
    for range in &ranges {
        if at < range.start {
            out.push_str(&gap(at, range.start));
            out.push('\n');
        }
        out.push_str(text.get(range.clone()).unwrap_or_default());
        at = range.end;
    }
    if at < text.len() {
        if !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&gap(at, text.len()));
        out.push('\n');
    }
    Some(Shortened {
        text: out,
        kept,
        ranges,
    })
}

struct Line {
    range: std::ops::Range<usize>,
    heading: bool,
}

/// Lines with their ends; a `#` inside a fence is no heading.
fn lines_with_kind(text: &str) -> Vec<Line> {
    let mut at = 0;
    let mut fence: Option<char> = None;
    text.split_inclusive('\n')
        .map(|line| {
            let range = at..at + line.len();
            at = range.end;
            let opens = ['`', '~']
                .into_iter()
                .find(|mark| line.trim_start().starts_with(&mark.to_string().repeat(3)));
            let heading = fence.is_none() && line.starts_with('#');
            if opens.is_some() && (fence.is_none() || fence == opens) {
                fence = if fence.is_none() { opens } else { None };
            }
            Line { range, heading }
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // Lists of ranges are what is compared.
mod tests {
    use super::*;
    use crate::transform::truncate::policy::preset;

    fn cut(text: &str, policy: &Policy, units: u64, daily: bool) -> Shortened {
        let marker = if daily {
            &policy.daily_marker
        } else {
            &policy.file_marker
        };
        shorten(
            text,
            policy,
            Allowance {
                units,
                limit: units,
                marker,
                file: "F.md",
                daily,
            },
        )
    }

    #[test]
    fn hi_boss_keeps_the_first_units_and_does_not_count_its_marker() {
        let policy = preset("hi-boss").unwrap();
        let shortened = cut(&"x".repeat(12_001), &policy, 12_000, false);
        let marker = "<<truncated due to internal-space-memory-max-chars=12000>>";
        assert_eq!(
            shortened.text,
            format!("{}\n\n{marker}", "x".repeat(12_000))
        );
        // hi-boss.md, golden: 12,001 units give 12,060.
        assert_eq!(measure(&shortened.text, Unit::Utf16), 12_060);
        assert_eq!(
            (shortened.kept, shortened.ranges),
            (12_000, vec![0..12_000])
        );
    }

    #[test]
    fn a_surrogate_pair_at_the_cut_goes_whole() {
        let policy = preset("hi-boss").unwrap();
        let shortened = cut("ab😀cd", &policy, 3, false);
        assert_eq!((shortened.kept, shortened.ranges), (2, vec![0..2]));
    }

    #[test]
    fn openclaw_keeps_head_and_tail_within_the_limit_marker_included() {
        let policy = preset("openclaw-2026.9").unwrap();
        let text: String = ('a'..='z').cycle().take(20_001).collect();
        let shortened = cut(&text, &policy, 20_000, false);
        let used = measure(&shortened.text, Unit::Utf16);
        assert!((19_990..=20_000).contains(&used), "{used}");
        let [head, tail] = [&shortened.ranges[0], &shortened.ranges[1]];
        assert!(
            shortened.text.starts_with(&text[head.clone()])
                && shortened.text.ends_with(&text[tail.clone()])
        );
        assert_eq!((head.start, tail.end), (0, 20_001));
        assert_eq!(head.len() / 3, tail.len());
        let marker = format!(
            "\n[...truncated, read F.md for full content...]\n…(truncated F.md: kept {}+{} chars of 20001)…\n",
            head.len(),
            tail.len()
        );
        assert!(shortened.text.contains(&marker));
    }

    #[test]
    fn less_than_the_smallest_piece_leaves_only_the_marker() {
        let policy = preset("openclaw-2026.9").unwrap();
        let text = "y".repeat(500);
        assert_eq!(cut(&text, &policy, 63, false).kept, 0);
        assert_eq!(
            cut(&text, &policy, 63, false).text,
            "[...truncated, read F.md for full content...]\n…(truncated F.md: kept 0+0 chars of 500)…"
        );
        // 64 is enough to try, but the marker does not fit into it either.
        assert_eq!(cut(&text, &policy, 64, false).kept, 0);
        assert!(cut(&text, &policy, 200, false).kept > 0);
    }

    #[test]
    fn newest_first_keeps_the_last_whole_lines_of_a_day() {
        let policy = preset("newest-first").unwrap();
        let shortened = cut("one\ntwo\nthree\nfour\n", &policy, 12, true);
        assert_eq!(
            shortened.text,
            "[... 2 lines of F.md left out: kept 11 of 19 characters ...]\n\nthree\nfour\n"
        );
        assert_eq!(shortened.ranges, vec![8..19]);
        // A line that is too long for all keeps its end.
        assert_eq!(cut("0123456789", &policy, 4, true).ranges, vec![6..10]);
    }

    #[test]
    fn newest_first_keeps_headings_and_the_first_lines() {
        let policy = preset("newest-first").unwrap();
        let shortened = cut(
            "# A\none\ntwo\n# B\nthree\n```\n# code\n```\n",
            &policy,
            12,
            false,
        );
        assert_eq!(
            shortened.text,
            "# A\none\n[... 1 lines of F.md left out: kept 12 of 37 characters ...]\n# B\n\
             [... 4 lines of F.md left out: kept 12 of 37 characters ...]\n"
        );
        assert_eq!(shortened.ranges, vec![0..8, 12..16]);
    }

    #[test]
    fn line_ends_are_preferred_within_a_tenth() {
        let policy = Policy {
            line_ends: true,
            head_percent: 50,
            ..preset("hi-boss").unwrap()
        };
        let text = format!("{}\n{}\n{}", "a".repeat(46), "b".repeat(60), "c".repeat(47));
        let shortened = cut(&text, &policy, 100, false);
        assert_eq!(shortened.ranges, vec![0..47, 108..155]);
        let far = format!("{}\n{}", "a".repeat(30), "b".repeat(200));
        assert_eq!(cut(&far, &policy, 100, false).ranges, vec![0..50, 181..231]);
    }
}
