//! The report of test programs with their own harness: a line each, skips with reasons and failures at
//! the end, then the counts. Knows nothing of what is tested.

use std::process::ExitCode;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    Failed(String),
    /// Does not apply, and why.
    Skipped(String),
    /// Skipped for want of a tool: with `HAVERSACK_REQUIRE_TOOLS` set, as in CI, that is a failure.
    NoTool(String),
}

/// Collects verdicts.
#[derive(Default)]
pub struct Table {
    rows: Vec<(String, Verdict, Duration)>,
}

impl Table {
    pub fn add(&mut self, name: impl Into<String>, verdict: Verdict, took: Duration) {
        let name = name.into();
        let required =
            std::env::var_os("HAVERSACK_REQUIRE_TOOLS").is_some_and(|value| value == "1");
        let verdict = match verdict {
            Verdict::NoTool(reason) if required => Verdict::Failed(reason),
            Verdict::NoTool(reason) => Verdict::Skipped(reason),
            other => other,
        };
        let word = match verdict {
            Verdict::Passed => "passed ",
            Verdict::Failed(_) => "FAILED ",
            Verdict::Skipped(_) | Verdict::NoTool(_) => "skipped",
        };
        println!("{word} {name} ({} ms)", took.as_millis());
        self.rows.push((name, verdict, took));
    }

    /// Print what did not pass, then the counts.
    pub fn finish(self) -> ExitCode {
        let (mut passed, mut failed, mut skipped) = (0, 0, 0);
        println!();
        for (name, verdict, _) in &self.rows {
            match verdict {
                Verdict::Passed => passed += 1,
                Verdict::Skipped(reason) | Verdict::NoTool(reason) => {
                    skipped += 1;
                    println!("skipped {name}: {reason}");
                }
                Verdict::Failed(what) => {
                    failed += 1;
                    println!("FAILED  {name}: {what}");
                }
            }
        }
        println!("{passed} passed, {failed} failed, {skipped} skipped");
        if failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

/// Names that the command line asks for (`cargo test --test contract -- NAME`): those containing it.
pub fn wanted(name: &str) -> bool {
    let filters: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()))
}
