//! run-info.yaml of run-agent: what a run is, and how it stands. Read leniently, printed in the reference's order, and
//! changed field by field so that every other byte stays. Knows no store and no key.

mod edit;

use super::front_matter::Finding;
use super::utc;
use super::yaml::{Mapping, scalar};
use crate::types::ProblemKind;

pub use edit::edit;

/// The number of this format, which is written; readers take any.
pub const FORMAT: u32 = 1;
/// Of a run that has not ended.
pub const NO_EXIT_CODE: i32 = -1;
pub const NO_TIME: &str = "0001-01-01T00:00:00Z";

/// The names in their order, and whether the reference requires them.
const NAMES: [(&str, bool); 23] = [
    ("version", true),
    ("run_id", true),
    ("parent_run_id", true),
    ("previous_run_id", true),
    ("project_id", true),
    ("task_id", true),
    ("agent", true),
    ("pid", true),
    ("pgid", true),
    ("start_time", true),
    ("end_time", true),
    ("exit_code", true),
    ("status", true),
    ("cwd", true),
    ("prompt_path", true),
    ("output_path", true),
    ("stdout_path", true),
    ("stderr_path", true),
    ("backend_provider", false),
    ("backend_model", false),
    ("backend_endpoint", false),
    ("commandline", false),
    ("error_summary", false),
];

/// A value as it is set; how it is printed follows from its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Set {
    Text(String),
    Number(i64),
    /// Milliseconds since 1970; none is the reference's zero.
    Time(Option<u64>),
}

impl Set {
    fn printed(&self) -> String {
        match self {
            Self::Text(text) => scalar(text),
            Self::Number(number) => number.to_string(),
            Self::Time(ms) => ms
                .and_then(utc::print_ms)
                .unwrap_or_else(|| NO_TIME.to_owned()),
        }
    }

    /// As the reader gives it.
    fn read_back(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(_) | Self::Time(_) => self.printed(),
        }
    }
}

/// What is set, by name.
pub type Fields = Vec<(&'static str, Set)>;

/// A new file: every name that the reference requires, and the others where they are set.
pub fn render(fields: &Fields) -> String {
    let mut text = String::new();
    for (name, required) in NAMES {
        let set = fields
            .iter()
            .find(|(set, _)| *set == name)
            .map(|(_, set)| set);
        let printed = match set {
            Some(set) => set.printed(),
            None if required => absent(name).printed(),
            None => continue,
        };
        text.push_str(&format!("{name}: {printed}\n"));
    }
    text
}

/// What stands for a required value that there is not.
fn absent(name: &str) -> Set {
    match name {
        "version" => Set::Number(FORMAT.into()),
        "pid" | "pgid" => Set::Number(0),
        "exit_code" => Set::Number(NO_EXIT_CODE.into()),
        "start_time" | "end_time" => Set::Time(None),
        _ => Set::Text(String::new()),
    }
}

/// What a file says. Empty ids, zero times and what cannot be read are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunInfo {
    pub run_id: Option<String>,
    pub parent_run_id: Option<String>,
    pub previous_run_id: Option<String>,
    pub project_id: Option<String>,
    pub task_id: Option<String>,
    pub agent: Option<String>,
    pub pid: Option<u32>,
    pub pgid: Option<u32>,
    pub start_ms: Option<u64>,
    pub end_ms: Option<u64>,
    pub exit_code: Option<i32>,
    pub status: Option<String>,
    pub cwd: Option<String>,
    pub prompt_path: Option<String>,
    pub output_path: Option<String>,
    pub stdout_path: Option<String>,
    pub stderr_path: Option<String>,
    pub backend_provider: Option<String>,
    pub backend_model: Option<String>,
    pub backend_endpoint: Option<String>,
    pub commandline: Option<String>,
    pub error_summary: Option<String>,
}

/// What a file says, and what is wrong with it; none where it is no YAML at all.
pub fn parse(text: &str) -> (Option<RunInfo>, Vec<Finding>) {
    let read = Mapping::of_file(text);
    let mut findings = read.findings.clone();
    if read.entries.is_none() {
        if findings.is_empty() {
            let message = "it is no YAML of names and values";
            findings.push(Finding::new(ProblemKind::Unreadable, 1, message));
        }
        return (None, findings);
    }
    let mut odd = |name: &str, rule: &str| {
        let line = read.get(name).map(|node| node.line);
        let shown: String = read
            .text(name)
            .unwrap_or_default()
            .chars()
            .take(40)
            .collect();
        let message = format!("{name} is {shown:?}; it should be {rule}");
        findings.push(Finding::new(ProblemKind::Skipped, line, message));
    };
    let time = |name: &str, odd: &mut dyn FnMut(&str, &str)| {
        let text = read.text(name)?;
        let ms = utc::parse(&text);
        if ms.is_none() && !text.starts_with("0001-01-01") {
            odd(name, "a moment as in RFC 3339");
        }
        ms
    };
    let (start_ms, end_ms) = (time("start_time", &mut odd), time("end_time", &mut odd));
    let mut number = |name: &str| {
        let value = read.text(name)?.parse::<i64>();
        if value.is_err() {
            odd(name, "a whole number");
        }
        value.ok()
    };
    let (pid, pgid, exit_code) = (number("pid"), number("pgid"), number("exit_code"));
    let info = RunInfo {
        run_id: read.text("run_id"),
        parent_run_id: read.text("parent_run_id"),
        previous_run_id: read.text("previous_run_id"),
        project_id: read.text("project_id"),
        task_id: read.text("task_id"),
        agent: read.text("agent"),
        pid: pid.and_then(|pid| u32::try_from(pid).ok()),
        pgid: pgid.and_then(|pgid| u32::try_from(pgid).ok()),
        start_ms,
        end_ms,
        exit_code: exit_code.and_then(|code| i32::try_from(code).ok()),
        status: read.text("status"),
        cwd: read.text("cwd"),
        prompt_path: read.text("prompt_path"),
        output_path: read.text("output_path"),
        stdout_path: read.text("stdout_path"),
        stderr_path: read.text("stderr_path"),
        backend_provider: read.text("backend_provider"),
        backend_model: read.text("backend_model"),
        backend_endpoint: read.text("backend_endpoint"),
        commandline: read.text("commandline"),
        error_summary: read.text("error_summary"),
    };
    (Some(info), findings)
}

#[cfg(test)]
mod tests;
