//! `haversack prompt`: a home's system prompt, its manifest, and two manifests compared.

mod compare;
mod request;

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Shared;
use super::call::Caller;
use super::exit::{Code, Failure};
use super::home::Home;
use super::output::{self, Problem};
use request::RequestOptions;

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  haversack prompt gsv:hera --now 2026-02-20T09:30:00Z
  haversack prompt gsv:hera --session agent:hera:dm:anna --budget hi-boss --sections
  haversack prompt hi-boss:nex --base 'You are Nex.' --days 3 --per-day-max 2000
  haversack prompt gsv:hera --json > before.json
  haversack prompt compare before.json after.json"
)]
pub struct Prompt {
    #[command(subcommand)]
    action: Option<Action>,
    /// Whose
    #[arg(required = true)]
    home: Option<Home>,
    #[command(flatten)]
    request: RequestOptions,
    /// Print a table of the sections instead of the text
    #[arg(long)]
    sections: bool,
    /// Go on where nothing lies in the home yet
    #[arg(long)]
    new: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Name the first section that broke a model's prompt cache
    Compare(compare::Compare),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Answer {
    text: String,
    manifest: Manifest,
    hidden_skills: Vec<Value>,
    problems: Vec<Problem>,
    home_exists: bool,
    cost: Cost,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Manifest {
    length_bytes: u64,
    tokens: u64,
    stable_bytes: u64,
    sections: Vec<Section>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Section {
    title: String,
    key: Option<String>,
    bytes_before: u64,
    bytes_after: u64,
    tokens: u64,
    stability: String,
    cuts: Vec<Cut>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cut {
    rule: String,
    unit: String,
    total: u64,
    kept: u64,
}

#[derive(Debug, Deserialize)]
struct Cost {
    waves: u32,
    requests: u32,
}

impl Prompt {
    pub async fn run(&self, shared: &Shared) -> anyhow::Result<()> {
        match (&self.action, &self.home) {
            (Some(Action::Compare(compare)), _) => compare.run(shared).await,
            (None, Some(home)) => self.assemble(home, shared).await,
            (None, None) => {
                Err(Failure::new(Code::Invalid, "prompt needs a HOME, such as gsv:hera").into())
            }
        }
    }

    async fn assemble(&self, home: &Home, shared: &Shared) -> anyhow::Result<()> {
        let caller = Caller::over_store(shared, Some(&home.system))?;
        let mut request = self.request.to_json(home)?;
        self.request.add_limits(&caller, &mut request).await?;
        let assumed = match request.contains_key("session-key") {
            true => None,
            false => assume_main_session(&caller, home, &mut request).await?,
        };
        let answer = caller
            .call("prompt", "assemble", json!({ "request": request }))
            .await?;
        let read: Answer = serde_json::from_value(answer.clone())?;
        if !read.home_exists && !self.new {
            let message = format!(
                "there is no {home} in {}: `haversack ls` lists the homes there; --new goes on with an empty one",
                caller.location
            );
            return Err(Failure::new(Code::NotFound, message).into());
        }
        if let Some(key) = assumed {
            eprintln!(
                "haversack: no --session given: assuming the main session {key}, which sees MEMORY.md"
            );
        }
        output::problems(&read.problems);
        if shared.json {
            return output::json(&answer);
        }
        if self.sections {
            return print_sections(&read);
        }
        for section in &read.manifest.sections {
            for cut in &section.cuts {
                let key = section.key.as_deref().unwrap_or(&section.title);
                eprintln!(
                    "haversack: cut: {key}: kept {} of {} {} ({})",
                    cut.kept, cut.total, cut.unit, cut.rule
                );
            }
        }
        output::text(&read.text)
    }
}

/// The key of the main session, put into a request that has none; for systems without sessions an empty one.
async fn assume_main_session(
    caller: &Caller,
    home: &Home,
    request: &mut Map<String, Value>,
) -> anyhow::Result<Option<String>> {
    let key = if home.system == "gsv" {
        let main_key = request.get("main-key").cloned().unwrap_or(Value::Null);
        let arguments = json!({ "agent": home.id, "main-key": main_key, "conversation": "main" });
        let session = caller.call("layout", "session-key-of", arguments).await?;
        session["key"].as_str().unwrap_or_default().to_owned()
    } else {
        String::new()
    };
    request.insert("session-key".into(), json!(key));
    Ok((!key.is_empty()).then_some(key))
}

fn print_sections(answer: &Answer) -> anyhow::Result<()> {
    let mut table =
        output::Table::new(&["SECTION", "BYTES", "OF", "TOKENS", "CACHE", "CUT", "FROM"])
            .figures(1)
            .figures(2)
            .figures(3);
    for section in &answer.manifest.sections {
        let cuts: Vec<_> = section
            .cuts
            .iter()
            .map(|cut| format!("{} ({} of {})", cut.rule, cut.kept, cut.total))
            .collect();
        table.row([
            section.title.clone(),
            section.bytes_after.to_string(),
            section.bytes_before.to_string(),
            section.tokens.to_string(),
            section.stability.clone(),
            if cuts.is_empty() {
                "-".to_owned()
            } else {
                cuts.join(", ")
            },
            section.key.clone().unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    table.print()?;
    let manifest = &answer.manifest;
    output::text(&format!(
        "\n{} bytes, about {} tokens, the first {} bytes stable; {} skills hidden; {} waves, {} requests to the store",
        manifest.length_bytes,
        manifest.tokens,
        manifest.stable_bytes,
        answer.hidden_skills.len(),
        answer.cost.waves,
        answer.cost.requests
    ))
}
