//! A fact of run-agent: front matter of four names, all required, and a body of Markdown. Knows no store and no key.

use super::front_matter::{self, Block};
use super::utc;
use super::yaml::{scalar, text_of};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// RFC 3339, as it is written.
    pub created_at: String,
    /// `task` or `project`.
    pub scope: String,
    pub run_id: String,
    pub title: String,
    pub body: String,
}

impl Fact {
    pub fn render(&self) -> String {
        let created_at = match utc::parse(&self.created_at) {
            Some(_) => self.created_at.clone(),
            None => scalar(&self.created_at),
        };
        format!(
            "---\ncreated_at: {created_at}\nscope: {}\nrun_id: {}\ntitle: {}\n---\n{}",
            scalar(&self.scope),
            scalar(&self.run_id),
            scalar(&self.title),
            self.body
        )
    }

    /// The error names what is missing or wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read = front_matter::parse(text);
        let entries = match read.block {
            Block::Read(entries) => entries,
            Block::Absent => {
                return Err(
                    "has no front matter; it needs created_at, scope, run_id and title".to_owned(),
                );
            }
            Block::Unreadable => {
                let causes: Vec<String> = read
                    .findings
                    .into_iter()
                    .map(|found| found.message)
                    .collect();
                return Err(causes.join("; "));
            }
        };
        let mut missing = Vec::new();
        let mut take = |name: &'static str| {
            let found = entries.iter().find(|(there, _)| there == name);
            let value = found.and_then(|(_, node)| text_of(node));
            if value.is_none() {
                missing.push(name);
            }
            value.unwrap_or_default()
        };
        let fact = Self {
            created_at: take("created_at"),
            scope: take("scope"),
            run_id: take("run_id"),
            title: take("title"),
            body: read.body.to_owned(),
        };
        match missing.is_empty() {
            true if fact.scope == "task" || fact.scope == "project" => Ok(fact),
            true => Err(format!(
                "has the scope {:?}; it is task or project",
                fact.scope
            )),
            false => Err(format!(
                "has no {} in its front matter, which a fact needs",
                missing.join(", ")
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_and_what_is_missing_is_named() {
        let fact = Fact {
            created_at: "2026-02-20T09:30:00.000Z".to_owned(),
            scope: "task".to_owned(),
            run_id: "20260220-0930001234-42".to_owned(),
            title: "Tea: green #1".to_owned(),
            body: "\n---\nnot: front matter\n".to_owned(),
        };
        assert_eq!(Fact::parse(&fact.render()), Ok(fact.clone()));
        for name in ["created_at", "scope", "run_id", "title"] {
            let lines = fact.render();
            let without: Vec<&str> = lines
                .lines()
                .filter(|line| !line.starts_with(name))
                .collect();
            let why = Fact::parse(&without.join("\n")).unwrap_err();
            assert!(why.contains(name), "{why}");
        }
        for (text, why) in [
            ("Body", "no front matter"),
            ("---\na: [\n---\n", "cannot be read"),
            (
                "---\ncreated_at: x\nscope: all\nrun_id: r\ntitle: t\n---\n",
                "task or project",
            ),
            (
                "---\ncreated_at: x\nscope: task\nrun_id: \"\"\ntitle: t\n---\n",
                "run_id",
            ),
        ] {
            let found = Fact::parse(text).unwrap_err();
            assert!(found.contains(why), "{found}");
        }
    }
}
