//! `haversack systems`: what each system has, and what this version does of it.

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Shared;
use super::call::Caller;
use super::output;

#[derive(Debug, Args)]
pub struct Systems {}

/// A system record of the contract.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct System {
    pub name: String,
    pub home_field: String,
    pub home_rule: String,
    pub concepts: Vec<Concept>,
    pub places: Vec<PlaceKind>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Concept {
    pub name: String,
    pub support: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct PlaceKind {
    pub name: String,
    pub template: String,
    pub description: String,
}

pub async fn systems(caller: &Caller) -> anyhow::Result<Vec<System>> {
    Ok(serde_json::from_value(
        caller.call("layout", "systems", json!({})).await?,
    )?)
}

impl Systems {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let systems = systems(&Caller::without_store(shared)?).await?;
        if shared.json {
            return output::json(&serde_json::to_value(&systems)?);
        }
        let mut headings = vec!["CONCEPT"];
        headings.extend(systems.iter().map(|system| system.name.as_str()));
        let mut table = output::Table::new(&headings);
        let concepts = systems.first().map_or(&[][..], |system| &system.concepts);
        for (at, concept) in concepts.iter().enumerate() {
            let cells = systems.iter().map(|system| {
                match system.concepts.get(at).map(|c| c.support.as_str()) {
                    Some("absent") | None => "-".to_owned(),
                    Some(support) => support.to_owned(),
                }
            });
            table.row(std::iter::once(concept.name.clone()).chain(cells));
        }
        table.print()?;
        let mut rules = String::from("\nIds of homes:\n");
        for system in &systems {
            rules.push_str(&format!(
                "  {}:{}  {}\n",
                system.name,
                system.home_field.to_uppercase(),
                system.home_rule
            ));
        }
        rules.push_str("\n`haversack key SYSTEM:ID` lists the places of a system.\n");
        output::text(&rules)
    }
}
