//! The corpus's own test harness: which cases run, on which adapters, what is printed. Skips are
//! printed with their reason, and a table of adapters comes last.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};

use crate::adapters::{self, Adapter, Slot};
use crate::bless;
use crate::case::Case;
use crate::compare;

/// Cases run on this many threads.
const THREADS: usize = 2;

/// Options of the usual test harness that take a value; all others are ignored.
const OPTIONS_WITH_VALUE: [&str; 6] = [
    "--test-threads",
    "--skip",
    "--format",
    "--color",
    "--logfile",
    "-Z",
];

struct Arguments {
    /// A pair runs when `adapter/case` holds one of these, or when there are none.
    filters: Vec<String>,
    list: bool,
}

enum Verdict {
    Passed,
    Failed(Vec<String>),
    Skipped(String),
}

/// Run what the arguments ask for. The exit code is 1 when something failed.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse(std::env::args().skip(1));
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("conformance: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool> {
    let started = Instant::now();
    let cases = load_cases()?;
    let bless_wanted = std::env::var_os("BLESS").is_some_and(|value| value == "1");
    if arguments.list {
        for case in &cases {
            println!("{}: test", case.name);
        }
        return Ok(true);
    }

    let mut slots = adapters::all();
    if bless_wanted {
        slots.retain(|slot| slot.name == "native");
    }
    let mut jobs = Vec::new();
    for (index, slot) in slots.iter().enumerate() {
        let wanted = |case: &&Case| arguments.wants(slot.name, &case.name);
        jobs.extend(cases.iter().filter(wanted).map(|case| (index, case)));
    }
    let verdicts = run_jobs(&slots, &jobs, bless_wanted);
    report(&slots, &jobs, &verdicts, started)
}

/// Every folder of `tests/cases`, by name.
fn load_cases() -> Result<Vec<Case>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(&root).with_context(|| root.display().to_string())? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort();
    folders.iter().map(|folder| Case::load(folder)).collect()
}

fn run_jobs(slots: &[Slot], jobs: &[(usize, &Case)], bless_wanted: bool) -> Vec<Verdict> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some((slot, case)) = jobs.get(index) else {
                        return;
                    };
                    let verdict = match &slots[*slot].adapter {
                        Ok(adapter) => run_one(adapter.as_ref(), case, bless_wanted),
                        Err(reason) => missing(reason),
                    };
                    if let Ok(mut done) = done.lock() {
                        done.push((index, verdict));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, verdict)| verdict).collect()
}

fn run_one(adapter: &dyn Adapter, case: &Case, bless_wanted: bool) -> Verdict {
    // A panic is the adapter's, or native code's: it fails its case and no other.
    let run = || adapter.run(case);
    let outcome = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => return Verdict::Failed(vec![format!("{error:#}")]),
        Err(_) => return Verdict::Failed(vec!["panicked, see above".to_owned()]),
    };
    if bless_wanted {
        match bless::bless(case, &outcome) {
            Ok(changed) => {
                for file in changed {
                    println!("blessed {}/expected/{file}", case.name);
                }
            }
            Err(error) => return Verdict::Failed(vec![format!("{error:#}")]),
        }
    }
    match compare::differences(case, &outcome) {
        Ok(found) if found.is_empty() => Verdict::Passed,
        Ok(found) => Verdict::Failed(found),
        Err(error) => Verdict::Failed(vec![format!("{error:#}")]),
    }
}

/// A tool that is not there: a skip here, a failure where the environment says so.
fn missing(reason: &str) -> Verdict {
    let required = std::env::var_os("HAVERSACK_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    if required {
        Verdict::Failed(vec![format!("required, but not there: {reason}")])
    } else {
        Verdict::Skipped(reason.to_owned())
    }
}

fn report(
    slots: &[Slot],
    jobs: &[(usize, &Case)],
    verdicts: &[Verdict],
    started: Instant,
) -> Result<bool> {
    let mut counts = vec![[0_usize; 3]; slots.len()];
    for ((slot, case), verdict) in jobs.iter().zip(verdicts) {
        let name = slots[*slot].name;
        match verdict {
            Verdict::Passed => counts[*slot][0] += 1,
            Verdict::Failed(found) => {
                counts[*slot][1] += 1;
                println!("FAILED {name}/{}", case.name);
                for difference in found {
                    println!("    {difference}");
                }
            }
            Verdict::Skipped(_) => counts[*slot][2] += 1,
        }
    }
    // One line for each reason, with the cases that it concerns.
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for ((slot, case), verdict) in jobs.iter().zip(verdicts) {
        if let Verdict::Skipped(reason) = verdict {
            let line = format!("skipped {}: {reason}", slots[*slot].name);
            match reasons.iter_mut().find(|(known, _)| *known == line) {
                Some((_, cases)) => cases.push(&case.name),
                None => reasons.push((line, vec![&case.name])),
            }
        }
    }
    for (line, cases) in reasons {
        let first: Vec<_> = cases.iter().take(3).copied().collect();
        let dots = if cases.len() > 3 { ", …" } else { "" };
        println!("{line} ({} cases: {}{dots})", cases.len(), first.join(", "));
    }

    println!("\n| adapter  | passed | failed | skipped |");
    println!("|----------|-------:|-------:|--------:|");
    for (slot, [passed, failed, skipped]) in slots.iter().zip(&counts) {
        let name = slot.name;
        println!("| {name:<8} | {passed:>6} | {failed:>6} | {skipped:>7} |");
    }
    let total = |column: usize| -> usize { counts.iter().map(|row| row[column]).sum() };
    println!(
        "\n{} passed, {} failed, {} skipped ({:.1} s)",
        total(0),
        total(1),
        total(2),
        started.elapsed().as_secs_f32()
    );
    Ok(total(1) == 0)
}

impl Arguments {
    fn parse(arguments: impl Iterator<Item = String>) -> Self {
        let mut parsed = Self {
            filters: Vec::new(),
            list: false,
        };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            if argument == "--list" {
                parsed.list = true;
            } else if OPTIONS_WITH_VALUE.contains(&argument.as_str()) {
                arguments.next();
            } else if !argument.starts_with('-') {
                parsed.filters.push(argument);
            }
        }
        parsed
    }

    fn wants(&self, adapter: &str, case: &str) -> bool {
        let name = format!("{adapter}/{case}");
        self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_options_are_passed_over() {
        let arguments = ["-q", "--test-threads", "4", "bom", "--nocapture", "--list"];
        let parsed = Arguments::parse(arguments.map(str::to_owned).into_iter());
        assert_eq!(parsed.filters, ["bom"]);
        assert!(parsed.list);
        assert!(parsed.wants("native", "skill-bom"));
        assert!(!parsed.wants("native", "skill-crlf"));
    }
}
