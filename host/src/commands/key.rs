//! `haversack key`: where a thing lies.

use clap::Args;
use serde_json::json;

use super::Shared;
use super::call::Caller;
use super::exit::{Code, Failure};
use super::home::Home;
use super::output;
use super::systems::{System, systems};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  haversack key gsv:hera daily-memory date=2026-02-20\n  haversack key run-agent:proj   (lists what there is)"
)]
pub struct Key {
    /// Whose; its id fills the home's field of the place (agent, user, thread, project)
    home: Home,
    /// What; leave it out to list the kinds of this system
    kind: Option<String>,
    /// The place's other fields
    #[arg(value_name = "FIELD=VALUE", value_parser = field)]
    fields: Vec<(String, String)>,
}

fn field(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("a field is NAME=VALUE, such as date=2026-02-20")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Key {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::without_store(shared)?;
        let all = systems(&caller).await?;
        let Some(system) = all.iter().find(|system| system.name == self.home.system) else {
            let names: Vec<_> = all.iter().map(|system| system.name.as_str()).collect();
            let message = format!(
                "there is no system {:?}; there are {}",
                self.home.system,
                names.join(", ")
            );
            return Err(Failure::new(Code::Invalid, message).into());
        };
        let Some(kind) = &self.kind else {
            return list(system, shared);
        };
        let place =
            json!({ "system": system.name, "kind": kind, "fields": self.fields_for(system, kind) });
        let key = caller
            .call("layout", "key-of", json!({ "place": place }))
            .await?;
        if shared.json {
            return output::json(&json!({ "place": place, "key": key }));
        }
        output::text(key.as_str().unwrap_or_default())
    }

    /// The given fields in the order of the template, with the home's own where the template has it.
    fn fields_for(&self, system: &System, kind: &str) -> Vec<(String, String)> {
        let mut fields = self.fields.clone();
        let template = system
            .places
            .iter()
            .find(|place| place.name == kind)
            .map_or("", |place| &place.template);
        let named = |name: &str| template.find(&format!("{{{name}}}"));
        if named(&system.home_field).is_some()
            && !fields.iter().any(|(name, _)| *name == system.home_field)
        {
            fields.push((system.home_field.clone(), self.home.id.clone()));
        }
        fields.sort_by_key(|(name, _)| named(name).unwrap_or(usize::MAX));
        fields
    }
}

fn list(system: &System, shared: &Shared) -> anyhow::Result<()> {
    if shared.json {
        return output::json(&serde_json::to_value(&system.places)?);
    }
    let mut table = output::Table::new(&["KIND", "KEY", "WHAT IT IS"]);
    for place in &system.places {
        table.row([
            place.name.clone(),
            place.template.clone(),
            place.description.clone(),
        ]);
    }
    table.print()
}
