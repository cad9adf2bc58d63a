//! `haversack memory ensure`, `read`, `write` and `promote`: MEMORY.md of hi-boss.

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Secrets;
use crate::commands::Shared;
use crate::commands::call::Caller;
use crate::commands::change::{RequestId, TextSource, advised};
use crate::commands::home::Home;
use crate::commands::output::{self, Problem, plain};

/// Lines that one `--line` may name.
const RANGE_LINES_MAX: u32 = 1_000;

#[derive(Debug, Args)]
#[command(after_help = "\
A MEMORY.md that is there stays as it is. A Note.md, as older versions had it, becomes MEMORY.md; where both are \
there and differ, both stay and that is said.

Example:
  haversack memory ensure hi-boss:nex")]
pub struct Ensure {
    /// Whose
    home: Home,
    #[command(flatten)]
    id: RequestId,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haversack memory read hi-boss:nex                        (MEMORY.md)
  haversack memory read hi-boss:nex --json                 (with the version that `write` takes)
  haversack memory read hi-boss:nex --date 2026-02-20 --numbered")]
pub struct Read {
    /// Whose
    home: Home,
    /// A day's file instead of MEMORY.md
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<String>,
    /// Number the lines, as `promote` takes them
    #[arg(long)]
    numbered: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Lines that look like a secret are refused by their number.

Examples:
  haversack memory write hi-boss:nex --file MEMORY.md --version VERSION
  haversack memory write hi-boss:nex --text '- Boss prefers bullets'      (where there is none yet)")]
pub struct Write {
    /// Whose
    home: Home,
    #[command(flatten)]
    text: TextSource,
    /// The version that this replaces, from `memory read --json`; without it there must be no MEMORY.md yet
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    #[command(flatten)]
    secrets: Secrets,
    #[command(flatten)]
    id: RequestId,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The lines are appended to MEMORY.md byte for byte, and stay in the day's file.

Examples:
  haversack memory read hi-boss:nex --date 2026-02-20 --numbered
  haversack memory promote hi-boss:nex 2026-02-20 --line 3 --line 5-7")]
pub struct Promote {
    /// Whose
    home: Home,
    /// The day
    #[arg(value_name = "YYYY-MM-DD")]
    date: String,
    /// A line's number, or a range of them; repeat for more
    #[arg(long, value_name = "N|N-M", required = true, value_parser = lines)]
    line: Vec<Lines>,
    /// The version of the day's file in which the lines were counted [default: any]
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    #[command(flatten)]
    secrets: Secrets,
    #[command(flatten)]
    id: RequestId,
}

#[derive(Debug, Clone)]
struct Lines(std::ops::RangeInclusive<u32>);

fn lines(text: &str) -> Result<Lines, String> {
    let wrong = || format!("{text:?} is no line; write it like 3 or 5-7, from 1 on");
    let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    if first > last || last - first >= RANGE_LINES_MAX {
        return Err(wrong());
    }
    Ok(Lines(first..=last))
}

#[derive(Debug, Deserialize)]
struct Changed {
    key: String,
    changed: bool,
    repeat: bool,
    problems: Vec<Problem>,
}

#[derive(Debug, Deserialize)]
struct Found {
    text: String,
    problems: Vec<Problem>,
}

impl Ensure {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let id = self.id.or_new()?;
        let arguments = json!({ "home": self.home.to_json(), "request-id": id });
        let answer = caller.call("memory", "ensure", arguments).await;
        let mut answer = answer
            .map_err(|error| advised(error, &format!("--request-id {id}"), "run it again"))?;
        answer["request-id"] = json!(id);
        say(shared, &answer, "made", "is there")
    }
}

impl Read {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let arguments = json!({ "home": self.home.to_json(), "date": self.date });
        let answer = caller.call("memory", "read", arguments).await?;
        let found: Found = serde_json::from_value(answer.clone())?;
        output::problems(&found.problems);
        if shared.json {
            return output::json(&answer);
        }
        if !self.numbered {
            return match found.text.is_empty() {
                true => Ok(()),
                false => output::text(&found.text),
            };
        }
        let numbered = (1..).zip(found.text.lines());
        let lines: Vec<String> = numbered
            .map(|(number, line)| format!("{number:>4}  {line}\n"))
            .collect();
        match lines.is_empty() {
            true => Ok(()),
            false => output::text(&lines.concat()),
        }
    }
}

impl Write {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let text = self.text.read()?;
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let request = json!({
            "home": self.home.to_json(),
            "text": text,
            "version": self.version,
            "allow-secrets": self.secrets.allow_secrets,
        });
        let after_conflict = format!(
            "`haversack memory read {} --json` shows it and its version, and --version VERSION replaces that one",
            self.home
        );
        let answer = self
            .id
            .call(&caller, "memory", "write", request, &after_conflict)
            .await?;
        say(shared, &answer, "wrote", "says that already")
    }
}

impl Promote {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let lines: Vec<u32> = self.line.iter().flat_map(|lines| lines.0.clone()).collect();
        let count = lines.len();
        let request = json!({
            "home": self.home.to_json(),
            "date": self.date,
            "lines": lines,
            "version": self.version,
            "allow-secrets": self.secrets.allow_secrets,
        });
        let after_conflict = format!(
            "`haversack memory read {} --date {} --numbered` shows its lines",
            self.home, self.date
        );
        let answer = self
            .id
            .call(&caller, "memory", "promote", request, &after_conflict)
            .await?;
        let what = match count {
            1 => format!("promoted 1 line of {} to", self.date),
            count => format!("promoted {count} lines of {} to", self.date),
        };
        say(shared, &answer, &what, "holds these lines already")
    }
}

fn say(shared: &Shared, answer: &Value, done: &str, unchanged: &str) -> anyhow::Result<()> {
    let changed: Changed = serde_json::from_value(answer.clone())?;
    output::problems(&changed.problems);
    if shared.json {
        return output::json(answer);
    }
    let key = plain(&changed.key);
    output::text(&match (changed.changed, changed.repeat) {
        (true, false) => format!("{done} {key}"),
        (true, true) => format!("{done} {key}: an earlier call had done it"),
        (false, _) => format!("{key} {unchanged}; nothing was changed"),
    })
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn lines_are_numbers_or_ranges() {
        for (text, expected) in [("3", 3..=3), ("5-7", 5..=7), ("1-1000", 1..=1_000)] {
            assert_eq!(lines(text).map(|lines| lines.0), Ok(expected), "{text}");
        }
        for wrong in ["", "x", "7-5", "1-", "-1", "1-1001", "1-2-3"] {
            assert!(lines(wrong).is_err(), "{wrong}");
        }
    }
}
