//! The snapshot of hi-boss: long-term memory and the newest days as two texts, and as parts of a prompt (spec:
//! hi-boss). Knows no key; how single texts are cut is decided in `truncate/`.

use super::assemble::Part;
use super::manifest::Stability;
use super::truncate::budget::{File, Fitted, fit, mark_unread};
use super::truncate::cut::{Allowance, shorten};
use super::truncate::marker::{Figures, render};
use super::truncate::measure::{measure, prefix_within};
use super::truncate::policy::{Policy, Shape, Spending};
use super::truncate::{Cut, CutRule, KeptRange};
use crate::format::text::trim;
use crate::types::Problem;

/// What stands where there is no snapshot.
const EMPTY: &str = "(empty)";

/// A file with something in it.
#[derive(Debug, Clone)]
pub struct Content {
    /// Of a day's file.
    pub date: Option<String>,
    /// Its text trimmed as JavaScript does.
    pub file: File,
    /// Bytes that went from the beginning.
    trimmed_bytes: u64,
}

impl Content {
    /// None for a file of white space.
    pub fn new(date: Option<String>, mut file: File) -> Option<Self> {
        let text = trim(&file.text).to_owned();
        let trimmed_bytes = file.text.find(&text)? as u64;
        file.text = text;
        (!file.text.is_empty()).then_some(Self {
            date,
            file,
            trimmed_bytes,
        })
    }

    /// The first `bytes` of the text, where they are in the object.
    fn ranges(&self, bytes: usize) -> Vec<KeptRange> {
        if self.file.damaged || bytes == 0 {
            return Vec::new();
        }
        let start_bytes = self.file.read_from + self.trimmed_bytes;
        vec![KeptRange {
            start_bytes,
            end_bytes: start_bytes + bytes as u64,
        }]
    }

    fn heading(&self) -> String {
        let date = self.date.as_deref().unwrap_or_default();
        format!("--- {date} ---\n")
    }
}

/// Both texts, and what of each file is in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub long_term: Option<Fitted>,
    /// As the days were given.
    pub days: Vec<Fitted>,
    /// The days under their headings; empty where there are none.
    pub daily: String,
    pub warnings: Vec<Problem>,
}

/// The snapshot of `days`, the newest first, under `policy`. Under the policy of hi-boss the days are joined and
/// then cut, as it does; under others each is cut by itself.
pub fn snapshot(long_term: Option<&Content>, days: &[Content], policy: &Policy) -> Snapshot {
    let joins_days = policy.shape == Shape::HeadTail
        && policy.spending == Spending::OldestDailyFirst
        && policy.head_percent == 100
        && !policy.marker_counted;
    match joins_days {
        true => joined(long_term, days, policy),
        false => apart(long_term, days, policy),
    }
}

/// The two parts of the section `## Memory`.
pub fn parts(long_term: Option<&Content>, days: &[Content], snapshot: &Snapshot) -> [Part; 2] {
    let part = |name: &str, text: &str, files: &[&Content], fitted: &[&Fitted]| Part {
        title: format!("Memory > {name}"),
        key: match files {
            [one] => Some(one.file.key.clone()),
            _ => None,
        },
        section: Some("## Memory".to_owned()),
        subsection: Some(format!("### {name}")),
        content: fenced(text),
        bytes_before: files.iter().map(|content| content.file.size_bytes).sum(),
        cuts: fitted.iter().flat_map(|file| file.cuts.clone()).collect(),
        stability: Stability::Stable,
    };
    let all: Vec<&Content> = days.iter().collect();
    let fitted: Vec<&Fitted> = snapshot.days.iter().collect();
    let own: Vec<&Content> = long_term.into_iter().collect();
    let own_fitted: Vec<&Fitted> = snapshot.long_term.iter().collect();
    let text = snapshot
        .long_term
        .as_ref()
        .map_or("", |fitted| &fitted.text);
    [
        part("Long-term memory", text, &own, &own_fitted),
        Part {
            stability: Stability::Volatile,
            ..part("Daily memory", &snapshot.daily, &all, &fitted)
        },
    ]
}

/// In a fence that nothing inside it can close.
fn fenced(text: &str) -> String {
    if text.is_empty() {
        return EMPTY.to_owned();
    }
    let runs = text.split(|character| character != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}")
}

/// Each file by itself.
fn apart(long_term: Option<&Content>, days: &[Content], policy: &Policy) -> Snapshot {
    let order: Vec<&Content> = long_term.into_iter().chain(days.iter().rev()).collect();
    let files: Vec<File> = order.iter().map(|content| content.file.clone()).collect();
    let (mut fitted, warnings) = fit(&files, policy);
    for (content, fitted) in order.iter().zip(&mut fitted) {
        let cuts = fitted.cuts.iter_mut();
        let ranges = cuts
            .filter(|cut| cut.rule != CutRule::ReadLimit)
            .flat_map(|cut| &mut cut.ranges);
        for range in ranges {
            range.start_bytes += content.trimmed_bytes;
            range.end_bytes += content.trimmed_bytes;
        }
    }
    let days_fitted = fitted.split_off(usize::from(long_term.is_some()));
    let days_fitted: Vec<Fitted> = days_fitted.into_iter().rev().collect();
    let blocks: Vec<String> = days
        .iter()
        .zip(&days_fitted)
        .map(|(content, fitted)| content.heading() + &fitted.text)
        .collect();
    Snapshot {
        long_term: fitted.pop(),
        days: days_fitted,
        daily: blocks.join("\n\n"),
        warnings,
    }
}

/// A file on its way through the limits: so far the first `kept_bytes` of it stay.
struct Kept<'a> {
    content: &'a Content,
    kept_bytes: usize,
    /// What the file's own limit made of it.
    text: String,
    rule: Option<(CutRule, u64)>,
}

impl<'a> Kept<'a> {
    /// Under the smallest of a file's own limits.
    fn new(
        content: &'a Content,
        policy: &Policy,
        limits: &[(CutRule, Option<u64>)],
        marker: &str,
    ) -> Self {
        let whole = &content.file.text;
        let limits = limits
            .iter()
            .filter_map(|(rule, limit)| Some((*rule, (*limit)?)));
        let smallest = limits.min_by_key(|(_, limit)| *limit);
        match smallest.filter(|(_, limit)| measure(whole, policy.unit) > *limit) {
            None => {
                let mut fitted = Fitted {
                    text: whole.clone(),
                    cuts: Vec::new(),
                };
                mark_unread(&content.file, &mut fitted);
                Self {
                    content,
                    kept_bytes: whole.len(),
                    text: fitted.text,
                    rule: None,
                }
            }
            Some((rule, limit)) => {
                let allowance = Allowance {
                    units: limit,
                    limit,
                    marker,
                    file: &content.file.name,
                    daily: content.date.is_some(),
                };
                let shortened = shorten(whole, policy, allowance);
                Self {
                    content,
                    kept_bytes: shortened.ranges.first().map_or(0, |range| range.end),
                    text: shortened.text,
                    rule: Some((rule, limit)),
                }
            }
        }
    }

    fn body(&self) -> &'a str {
        let text = &self.content.file.text;
        text.get(..self.kept_bytes).unwrap_or(text)
    }

    fn at_most(&mut self, bytes: usize, rule: CutRule, limit: u64) {
        if bytes < self.kept_bytes {
            self.kept_bytes = bytes;
            self.rule = Some((rule, limit));
        }
    }

    /// What is in the snapshot, with the marker of the rule that bound last.
    fn fitted(self, policy: &Policy) -> Fitted {
        let body = self.body();
        let Some((rule, limit)) = self.rule else {
            let mut fitted = Fitted {
                text: body.to_owned(),
                cuts: Vec::new(),
            };
            mark_unread(&self.content.file, &mut fitted);
            return fitted;
        };
        let text = match rule {
            CutRule::DailyTotalLimit | CutRule::TotalLimit if self.content.date.is_some() => {
                with_marker(body.to_owned(), policy, limit)
            }
            _ => self.text.clone(),
        };
        let cut = Cut {
            key: self.content.file.key.clone(),
            rule,
            unit: policy.unit,
            limit,
            total: measure(&self.content.file.text, policy.unit),
            kept: measure(body, policy.unit),
            ranges: self.content.ranges(self.kept_bytes),
        };
        Fitted {
            text,
            cuts: vec![cut],
        }
    }
}

/// As hi-boss does it: headings and markers of days count towards the limit of all days; the total counts bodies,
/// and takes from the oldest day first.
fn joined(long_term: Option<&Content>, days: &[Content], policy: &Policy) -> Snapshot {
    let long_term = long_term.map(|content| {
        let own = (CutRule::FileLimit, policy.limit_of(&content.file.name));
        let limits = [own, (CutRule::TotalLimit, policy.total_limit)];
        Kept::new(content, policy, &limits, &policy.file_marker)
    });
    let own = [(CutRule::DailyLimit, policy.daily_limit)];
    let mut kept: Vec<Kept<'_>> = days
        .iter()
        .map(|content| Kept::new(content, policy, &own, &policy.daily_marker))
        .collect();
    let spent = long_term
        .as_ref()
        .map_or(0, |kept| measure(kept.body(), policy.unit));
    let short_of = policy
        .total_limit
        .filter(|limit| give_way(&mut kept, limit.saturating_sub(spent), *limit, policy));

    let mut daily = String::new();
    let mut starts = Vec::new();
    for day in &kept {
        if day.kept_bytes > 0 || !matches!(day.rule, Some((CutRule::TotalLimit, _))) {
            daily.push_str(if daily.is_empty() { "" } else { "\n\n" });
            daily.push_str(&day.content.heading());
            starts.push(daily.len());
            daily.push_str(match day.rule {
                Some((CutRule::TotalLimit, _)) => day.body(),
                _ => &day.text,
            });
        } else {
            starts.push(daily.len());
        }
    }
    let over = policy
        .daily_total_limit
        .filter(|limit| measure(&daily, policy.unit) > *limit);
    if let Some(limit) = over {
        let allowance = Allowance {
            units: limit,
            limit,
            marker: &policy.daily_total_marker,
            file: "the days",
            daily: true,
        };
        let shortened = shorten(&daily, policy, allowance);
        let end = shortened.ranges.first().map_or(0, |range| range.end);
        for (day, start) in kept.iter_mut().zip(starts) {
            day.at_most(end.saturating_sub(start), CutRule::DailyTotalLimit, limit);
        }
        daily = shortened.text;
    } else if let Some(limit) = short_of {
        daily = with_marker(daily, policy, limit);
    }
    Snapshot {
        long_term: long_term.map(|kept| kept.fitted(policy)),
        days: kept.into_iter().map(|kept| kept.fitted(policy)).collect(),
        daily,
        warnings: Vec::new(),
    }
}

/// Take from the oldest days what is over `left` units of bodies. Answers whether anything was.
fn give_way(days: &mut [Kept<'_>], left: u64, total: u64, policy: &Policy) -> bool {
    let units = |day: &Kept<'_>| measure(day.body(), policy.unit);
    let sum: u64 = days.iter().map(units).sum();
    let mut excess = sum.saturating_sub(left);
    let binds = excess > 0;
    for day in days.iter_mut().rev() {
        let has = units(day);
        let taken = has.min(excess);
        if taken > 0 {
            let bytes = prefix_within(day.body(), policy.unit, has - taken);
            day.at_most(bytes, CutRule::TotalLimit, total);
        }
        excess -= taken;
    }
    binds
}

/// The marker of all days after what is left of them.
fn with_marker(text: String, policy: &Policy, limit: u64) -> String {
    let figures = Figures {
        limit,
        head: measure(&text, policy.unit),
        ..Figures::default()
    };
    let template = match policy.daily_total_limit {
        Some(_) => &policy.daily_total_marker,
        None => &policy.total_marker,
    };
    let marker = render(template, "the days", figures);
    match text.is_empty() {
        true => marker.trim().to_owned(),
        false => text + &marker,
    }
}

#[cfg(test)]
mod tests;
