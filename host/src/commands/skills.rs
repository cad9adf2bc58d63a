//! `haversack skills`: what there is, who may see it and why, and the text of one.

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Shared;
use super::call::Caller;
use super::environment::EnvironmentOptions;
use super::exit::{Code, Failure};
use super::home::Home;
use super::output::{self, Problem};

#[derive(Debug, Args)]
pub struct Skills {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List a home's skills, its own and the global ones
    List(List),
    /// Print the text of a skill
    Read {
        /// Whose
        home: Home,
        /// By directory, or by the name in its front matter
        skill: String,
        #[command(flatten)]
        of: OfUser,
    },
}

#[derive(Debug, Args)]
struct OfUser {
    /// Of solven: the user whose skills the thread sees [default: none]
    #[arg(long, value_name = "USER")]
    user: Option<String>,
}

#[derive(Debug, Args)]
struct List {
    /// Whose
    home: Home,
    #[command(flatten)]
    of: OfUser,
    /// Say for each hidden skill why
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    environment: EnvironmentOptions,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Catalogue {
    skills: Vec<Skill>,
    problems: Vec<Problem>,
    home_exists: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Skill {
    name: String,
    directory: String,
    origin: String,
    description: String,
    always: bool,
    shown: bool,
    reasons: Vec<Reason>,
}

#[derive(Debug, Deserialize)]
struct Reason {
    kind: String,
    detail: String,
}

#[derive(Debug, Deserialize)]
struct Text {
    text: String,
    problems: Vec<Problem>,
}

impl Skills {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match &self.action {
            Action::List(list) => list.run(shared).await,
            Action::Read { home, skill, of } => read(shared, home, skill, of).await,
        }
    }
}

impl List {
    async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&self.home.system))?;
        let environment = self.environment.over(Value::Null)?;
        let request = json!({
            "home": self.home.to_json(),
            "user": self.of.user,
            "environment": environment,
        });
        let answer = caller
            .call("skills", "catalogue", json!({ "request": request }))
            .await?;
        let catalogue: Catalogue = serde_json::from_value(answer.clone())?;
        if !catalogue.home_exists {
            let message = format!(
                "there is no {} in {}: `haversack ls` lists the homes there",
                self.home, caller.location
            );
            return Err(Failure::new(Code::NotFound, message).into());
        }
        output::problems(&catalogue.problems);
        if shared.json {
            return output::json(&answer);
        }
        if catalogue.skills.is_empty() {
            return output::text(&format!(
                "{} has no skills in {}",
                self.home, caller.location
            ));
        }
        let mut headings = vec!["SKILL", "FROM", "SHOWN"];
        headings.push(if self.explain { "WHY" } else { "DESCRIPTION" });
        let mut table = output::Table::new(&headings);
        for skill in &catalogue.skills {
            let shown = if skill.shown { "yes" } else { "no" };
            let last = if self.explain {
                why(skill)
            } else {
                shortened(&skill.description)
            };
            table.row([titled(skill), skill.origin.clone(), shown.to_owned(), last]);
        }
        table.print()?;
        let hidden = catalogue.skills.iter().filter(|skill| !skill.shown).count();
        if hidden > 0 && !self.explain {
            eprintln!(
                "haversack: {hidden} hidden; --explain says why, --this-host counts this machine as a host"
            );
        }
        Ok(())
    }
}

/// The directory, by which a skill is found, and its name where that differs.
fn titled(skill: &Skill) -> String {
    if skill.name == skill.directory {
        skill.directory.clone()
    } else {
        format!("{} ({})", skill.directory, skill.name)
    }
}

fn why(skill: &Skill) -> String {
    if skill.reasons.is_empty() {
        return if skill.always { "always" } else { "" }.to_owned();
    }
    let reasons: Vec<_> = skill
        .reasons
        .iter()
        .map(|reason| format!("{}: {}", reason.kind, reason.detail))
        .collect();
    reasons.join("; ")
}

fn shortened(description: &str) -> String {
    const WIDTH: usize = 80;
    if description.chars().count() <= WIDTH {
        return description.to_owned();
    }
    let kept: String = description.chars().take(WIDTH - 1).collect();
    format!("{kept}…")
}

async fn read(shared: &Shared, home: &Home, skill: &str, of: &OfUser) -> anyhow::Result<()> {
    let caller = Caller::over_store(shared, Some(&home.system))?;
    let answer = caller
        .call(
            "skills",
            "read",
            json!({ "home": home.to_json(), "skill": skill, "user": of.user }),
        )
        .await?;
    if shared.json {
        return output::json(&answer);
    }
    let read: Text = serde_json::from_value(answer)?;
    output::problems(&read.problems);
    output::text(&read.text)
}
