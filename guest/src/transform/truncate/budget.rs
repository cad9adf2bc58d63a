//! Share a policy's limits out among the files of a prompt, and shorten what is over. Pure.

use super::cut::{Allowance, shorten};
use super::measure::{Unit, measure};
use super::policy::{Policy, Spending};
use super::{Cut, CutRule, KeptRange};
use crate::limits::WORKSPACE_FILE_BYTES_MAX;
use crate::types::{Problem, ProblemKind};

/// A file that may go into a prompt. Files come in prompt order; of daily files the older first.
#[derive(Debug, Clone)]
pub struct File {
    pub key: String,
    /// The name by which limits and markers know it: `USER.md`, `memory/2026-02-20.md`.
    pub name: String,
    pub daily: bool,
    pub text: String,
    /// The object's size; more than was read when it is over the read limit.
    pub size_bytes: u64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Where in the object they begin.
    pub read_from: u64,
    /// Not UTF-8, so offsets in `text` are none in the object.
    pub damaged: bool,
}

/// What of a file goes into the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    pub text: String,
    pub cuts: Vec<Cut>,
}

struct Share {
    size: u64,
    allowed: u64,
    /// The limit that allows no more.
    rule: Option<(CutRule, u64)>,
    /// The smallest limit of its own, for warnings.
    own_limit: Option<u64>,
}

impl Share {
    fn at_most(&mut self, allowed: u64, rule: CutRule, limit: u64) {
        if allowed < self.allowed {
            self.allowed = allowed;
            self.rule = Some((rule, limit));
        }
    }
}

/// Apply `policy` to `files`, answers in order, and warn of files that come near a limit.
pub fn fit(files: &[File], policy: &Policy) -> (Vec<Fitted>, Vec<Problem>) {
    let shares = shares(files, policy);
    let fitted = files
        .iter()
        .zip(&shares)
        .map(|(file, share)| fit_one(file, share, policy))
        .collect();
    (fitted, warnings(files, &shares, policy))
}

fn shares(files: &[File], policy: &Policy) -> Vec<Share> {
    let mut shares: Vec<Share> = files
        .iter()
        .map(|file| {
            // Without limits nobody asks how long a file is.
            let size = if policy.limits_nothing() {
                0
            } else {
                measure(&file.text, policy.unit)
            };
            let (own_limit, rule) = if file.daily {
                (policy.daily_limit, CutRule::DailyLimit)
            } else {
                (policy.limit_of(&file.name), CutRule::FileLimit)
            };
            let mut share = Share {
                size,
                allowed: size,
                rule: None,
                own_limit,
            };
            if let Some(limit) = own_limit {
                share.at_most(limit, rule, limit);
            }
            share
        })
        .collect();
    // Indices of the daily files, the newest first.
    let newest_first: Vec<usize> = (0..files.len())
        .rev()
        .filter(|at| files.get(*at).is_some_and(|file| file.daily))
        .collect();
    if let Some(days) = policy.daily_files {
        for at in newest_first.iter().skip(days as usize) {
            limit_to(&mut shares, *at, 0, CutRule::DailyFiles, u64::from(days));
        }
    }
    if let Some(limit) = policy.daily_total_limit {
        spend(
            &mut shares,
            newest_first.iter().copied(),
            limit,
            CutRule::DailyTotalLimit,
        );
    }
    if let Some(limit) = policy.total_limit {
        if policy.spending == Spending::OldestDailyFirst {
            let sum: u64 = shares.iter().map(|share| share.allowed).sum();
            let mut excess = sum.saturating_sub(limit);
            for at in newest_first.iter().rev() {
                let allowed = shares.get(*at).map_or(0, |share| share.allowed);
                let taken = allowed.min(excess);
                limit_to(
                    &mut shares,
                    *at,
                    allowed - taken,
                    CutRule::TotalLimit,
                    limit,
                );
                excess -= taken;
            }
        }
        let order = 0..shares.len();
        spend(&mut shares, order, limit, CutRule::TotalLimit);
    }
    shares
}

fn limit_to(shares: &mut [Share], at: usize, allowed: u64, rule: CutRule, limit: u64) {
    if let Some(share) = shares.get_mut(at) {
        share.at_most(allowed, rule, limit);
    }
}

fn spend(shares: &mut [Share], order: impl Iterator<Item = usize>, limit: u64, rule: CutRule) {
    let mut left = limit;
    for at in order {
        limit_to(shares, at, left, rule, limit);
        left -= shares.get(at).map_or(0, |share| share.allowed.min(left));
    }
}

fn fit_one(file: &File, share: &Share, policy: &Policy) -> Fitted {
    let mut fitted = Fitted {
        text: file.text.clone(),
        cuts: Vec::new(),
    };
    if let Some((rule, limit)) = share.rule {
        let allowance = Allowance {
            units: share.allowed,
            limit,
            marker: marker_of(rule, file, policy),
            file: &file.name,
            daily: file.daily,
        };
        let shortened = shorten(&file.text, policy, allowance);
        let range = |range: &std::ops::Range<usize>| KeptRange {
            start_bytes: file.read_from + range.start as u64,
            end_bytes: file.read_from + range.end as u64,
        };
        let in_object = shortened.ranges.iter().filter(|_| !file.damaged);
        fitted.cuts.push(Cut {
            key: file.key.clone(),
            rule,
            unit: policy.unit,
            limit,
            total: share.size,
            kept: shortened.kept,
            ranges: in_object.map(range).collect(),
        });
        fitted.text = shortened.text;
    }
    mark_unread(file, &mut fitted);
    fitted
}

/// Say what the read limit left out of a file, in the text and as a cut.
pub(crate) fn mark_unread(file: &File, fitted: &mut Fitted) {
    if file.read_bytes >= file.size_bytes {
        return;
    }
    let which = if file.read_from == 0 { "first" } else { "last" };
    let marker = format!(
        "[... {} is {} bytes long; only the {which} {} were read ...]",
        file.name, file.size_bytes, file.read_bytes
    );
    if file.read_from == 0 {
        fitted.text.push_str("\n\n");
        fitted.text.push_str(&marker);
    } else {
        fitted.text.insert_str(0, &format!("{marker}\n\n"));
    }
    fitted.cuts.insert(
        0,
        Cut {
            key: file.key.clone(),
            rule: CutRule::ReadLimit,
            unit: Unit::Bytes,
            limit: WORKSPACE_FILE_BYTES_MAX,
            total: file.size_bytes,
            kept: file.read_bytes,
            ranges: vec![KeptRange {
                start_bytes: file.read_from,
                end_bytes: file.read_from + file.read_bytes,
            }],
        },
    );
}

/// Daily text that gives way to a total says so with the daily marker (spec: hi-boss); a file that is
/// left out by the number of files says so with the marker of one day.
fn marker_of<'a>(rule: CutRule, file: &File, policy: &'a Policy) -> &'a str {
    match rule {
        CutRule::ReadLimit | CutRule::FileLimit => &policy.file_marker,
        CutRule::DailyLimit | CutRule::DailyFiles => &policy.daily_marker,
        CutRule::DailyTotalLimit => &policy.daily_total_marker,
        CutRule::TotalLimit => {
            let daily_says_so = file.daily && policy.spending == Spending::OldestDailyFirst;
            match policy.daily_total_limit {
                Some(_) if daily_says_so => &policy.daily_total_marker,
                _ => &policy.total_marker,
            }
        }
    }
}

fn warnings(files: &[File], shares: &[Share], policy: &Policy) -> Vec<Problem> {
    if policy.warn_percent == 0 {
        return Vec::new();
    }
    let near = |size: u64, limit: u64| {
        size.saturating_mul(100) >= limit.saturating_mul(u64::from(policy.warn_percent))
    };
    let mut problems: Vec<Problem> = files
        .iter()
        .zip(shares)
        .filter(|(_, share)| share.rule.is_none())
        .filter_map(|(file, share)| {
            let limit = share.own_limit.filter(|limit| near(share.size, *limit))?;
            Some(Problem::new(
                ProblemKind::NearLimit,
                &file.key,
                format!(
                    "{} of {limit} ({}): it will be cut soon",
                    share.size, policy.name
                ),
            ))
        })
        .collect();
    let spent: u64 = shares.iter().map(|share| share.allowed).sum();
    let short = shares
        .iter()
        .any(|share| matches!(share.rule, Some((CutRule::TotalLimit, _))));
    if let Some(limit) = policy
        .total_limit
        .filter(|limit| !short && near(spent, *limit))
    {
        problems.push(Problem::new(
            ProblemKind::NearLimit,
            "",
            format!(
                "all files together: {spent} of {limit} ({}); they will be cut soon",
                policy.name
            ),
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::truncate::policy::{Shape, preset};

    fn file(name: &str, length: usize) -> File {
        let text = "x".repeat(length);
        let bytes = text.len() as u64;
        File {
            key: format!("agents/a/{name}"),
            name: name.into(),
            daily: name.starts_with("memory/"),
            text,
            size_bytes: bytes,
            read_bytes: bytes,
            read_from: 0,
            damaged: false,
        }
    }

    /// Name, rule and kept units of every cut.
    fn cuts(files: &[File], policy: &Policy) -> Vec<(String, CutRule, u64)> {
        let (fitted, _) = fit(files, policy);
        let name = |cut: &Cut| cut.key.trim_start_matches("agents/a/").to_owned();
        fitted
            .iter()
            .flat_map(|f| &f.cuts)
            .map(|cut| (name(cut), cut.rule, cut.kept))
            .collect()
    }

    #[test]
    fn limits_at_their_edges() {
        let policy = preset("hi-boss").unwrap();
        for (length, expected) in [(11_999, None), (12_000, None), (12_001, Some(12_000))] {
            let kept = cuts(&[file("MEMORY.md", length)], &policy)
                .first()
                .map(|cut| cut.2);
            assert_eq!(kept, expected, "{length}");
        }
        for (length, expected) in [(3_999, None), (4_000, None), (4_001, Some(4_000))] {
            let kept = cuts(&[file("memory/2026-02-20.md", length)], &policy)
                .first()
                .map(|cut| cut.2);
            assert_eq!(kept, expected, "{length}");
        }
    }

    #[test]
    fn the_newest_day_is_served_first() {
        let policy = Policy {
            daily_total_limit: Some(5_000),
            ..preset("hi-boss").unwrap()
        };
        let files = [
            file("memory/2026-02-19.md", 4_000),
            file("memory/2026-02-20.md", 4_000),
        ];
        assert_eq!(
            cuts(&files, &policy),
            [(
                "memory/2026-02-19.md".into(),
                CutRule::DailyTotalLimit,
                1_000
            )]
        );
        let one = Policy {
            daily_files: Some(1),
            ..policy
        };
        assert_eq!(
            cuts(&files, &one),
            [("memory/2026-02-19.md".into(), CutRule::DailyFiles, 0)]
        );
        let (fitted, _) = fit(&files, &one);
        assert_eq!(
            fitted[0].text,
            "<<truncated due to internal-space-daily-per-day-max-chars=1>>"
        );
    }

    #[test]
    fn a_short_total_takes_the_oldest_day_first_under_hi_boss() {
        let policy = preset("hi-boss").unwrap();
        let files = [
            file("MEMORY.md", 12_000),
            file("memory/2026-02-19.md", 4_000),
            file("memory/2026-02-20.md", 4_000),
            file("TOOLS.md", 1_000),
        ];
        assert_eq!(
            cuts(&files, &policy),
            [("memory/2026-02-19.md".into(), CutRule::TotalLimit, 3_000)]
        );
        let (fitted, _) = fit(&files, &policy);
        assert!(
            fitted[1]
                .text
                .ends_with("<<truncated due to internal-space-daily-max-chars=20000>>")
        );
    }

    #[test]
    fn a_total_is_spent_in_prompt_order() {
        let policy = Policy {
            total_limit: Some(10_000),
            ..preset("openclaw-2026.9").unwrap()
        };
        let files = [
            file("SOUL.md", 9_950),
            file("USER.md", 40),
            file("AGENTS.md", 500),
        ];
        // AGENTS.md would get 10 units, which is under 64: left out, and said so.
        assert_eq!(
            cuts(&files, &policy),
            [("AGENTS.md".into(), CutRule::TotalLimit, 0)]
        );
    }

    #[test]
    fn a_warning_from_85_percent_on() {
        let policy = preset("openclaw-2026.9").unwrap();
        for (length, warned) in [(3_399, 0), (3_400, 1), (4_000, 1), (4_001, 0)] {
            assert_eq!(
                fit(&[file("USER.md", length)], &policy).1.len(),
                warned,
                "{length}"
            );
        }
        let files = ["SOUL.md", "AGENTS.md", "TOOLS.md"].map(|name| file(name, 16_999));
        assert_eq!(fit(&files, &policy).1.len(), 0);
        let files = ["SOUL.md", "AGENTS.md", "TOOLS.md"].map(|name| file(name, 17_000));
        assert_eq!(fit(&files, &policy).1.len(), 4);
    }

    #[test]
    fn what_was_not_read_is_marked_too() {
        let policy = preset("none").unwrap();
        let big = File {
            size_bytes: 2_000_000,
            ..file("SOUL.md", 1 << 20)
        };
        let (fitted, _) = fit(&[big], &policy);
        assert!(fitted[0].text.ends_with(
            "\n\n[... SOUL.md is 2000000 bytes long; only the first 1048576 were read ...]"
        ));
        assert_eq!(
            (fitted[0].cuts[0].rule, fitted[0].cuts[0].kept),
            (CutRule::ReadLimit, 1 << 20)
        );
    }

    #[test]
    fn nothing_over_its_allowance_is_left_uncut_whatever_the_policy() {
        for shape in [Shape::HeadTail, Shape::NewestLines] {
            for unit in [Unit::Bytes, Unit::Characters, Unit::Utf16, Unit::Tokens] {
                for limit in [0, 1, 5, 30, 200] {
                    let policy = Policy {
                        unit,
                        shape,
                        file_limit: Some(limit),
                        ..preset("hi-boss").unwrap()
                    };
                    let text = "# Día 日\nline one 😀\n\nmore text here\n".repeat(9);
                    let size_bytes = text.len() as u64;
                    let files = [File {
                        text,
                        size_bytes,
                        read_bytes: size_bytes,
                        ..file("SOUL.md", 0)
                    }];
                    let (fitted, _) = fit(&files, &policy);
                    for cut in &fitted[0].cuts {
                        assert!(
                            cut.kept <= limit + u64::from(unit == Unit::Tokens),
                            "{policy:?} {cut:?}"
                        );
                        assert!(
                            fitted[0].text.contains("SOUL.md")
                                || fitted[0].text.contains("truncated")
                        );
                    }
                    assert_eq!(
                        fitted[0].cuts.is_empty(),
                        measure(&files[0].text, unit) <= limit
                    );
                }
            }
        }
    }
}
