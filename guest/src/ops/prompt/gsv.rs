//! The prompt of a gsv agent: which files are asked for, which sections they become and in what order
//! (gsv reference, "Loading Order"; spec: gsv, Prompt). How sections are joined and cut is decided in
//! `transform/`.

use super::scaffold;
use super::{AssembleAnswer, AssembleRequest, Budget, HiddenSkill, Runtime};
use crate::format::text::trim;
use crate::layout::gsv::{AgentId, Date, Place, SessionKey, WorkspaceFile, agent_prefix};
use crate::layout::skill_home::SkillHome;
use crate::ops::{load, moment, presence, skills};
use crate::store::{Metered, Request, Store};
use crate::transform::assemble::{Part, assemble as join};
use crate::transform::eligibility::Conditions;
use crate::transform::heartbeat;
use crate::transform::manifest::{Manifest, Mode, Stability};
use crate::transform::truncate::budget::{File, Fitted, fit};
use crate::types::{Error, Result};

/// The base prompt when neither session nor configuration has one.
const DEFAULT_BASE: &str = "You are a personal assistant.";

/// What a call is about, checked.
struct Subject {
    agent: AgentId,
    session: SessionKey,
    main: bool,
    today: Date,
    yesterday: Date,
}

/// A file that was found.
struct Found {
    source: Source,
    file: File,
}

/// What a section is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Workspace(WorkspaceFile),
    Yesterday,
    Today,
}

pub(super) fn assemble(store: &dyn Store, request: &AssembleRequest) -> Result<AssembleAnswer> {
    let subject = subject(request)?;
    let policy = request
        .budget
        .clone()
        .unwrap_or(Budget::Preset("none".into()))
        .policy()?;
    let conditions = Conditions::new(&request.environment)?;
    let store = Metered::new(store);

    let sources = sources(subject.main);
    let mut wave: Vec<Request> = sources
        .iter()
        .map(|source| load::get(source.key(&subject), source.daily(), policy.shape))
        .collect();
    let skill_home = SkillHome::Agent(subject.agent.clone());
    wave.extend(skills::list_requests(&skill_home));
    let mut answers = store.read(wave)?.into_iter();
    let prefix = agent_prefix(&subject.agent);
    let mut problems = Vec::new();
    let mut found = Vec::new();
    for source in sources {
        let key = source.key(&subject);
        let blob = load::blob(answers.next(), &key)?;
        found.extend(blob.map(|blob| Found {
            source,
            file: load::read_file(
                key,
                prefix.as_str(),
                source.daily(),
                policy.shape,
                blob,
                &mut problems,
            ),
        }));
    }
    let first_pages = skills::pages_of(&skill_home, answers.collect())?;

    let bootstrap = Source::Workspace(WorkspaceFile::Bootstrap);
    let mode = if found.iter().any(|found| found.source == bootstrap) {
        Mode::Bootstrap
    } else {
        Mode::Normal
    };
    let [own_skills, _] = &first_pages;
    let seen = !found.is_empty() || presence::holds_something(own_skills);
    let catalogue = match mode {
        Mode::Normal => {
            let probe = (!seen).then(|| presence::probe(prefix.clone()));
            let loaded = skills::load(&store, &skill_home, first_pages, probe, &conditions)?;
            Some(loaded)
        }
        Mode::Bootstrap => None,
    };
    let probed = catalogue
        .as_ref()
        .and_then(|catalogue| catalogue.rider.clone());
    let home_exists = seen || presence::exists(probed, &prefix)?;

    let order = order(mode);
    let mut files: Vec<Found> = order
        .iter()
        .filter_map(|wanted| {
            found
                .iter()
                .position(|found| found.source == *wanted)
                .map(|at| found.swap_remove(at))
        })
        .filter(|found| !trim(&found.file.text).is_empty())
        .filter(|found| {
            found.source != Source::Workspace(WorkspaceFile::Heartbeat)
                || !heartbeat::is_empty(&found.file.text)
        })
        .collect();
    let (fitted, warnings) = {
        let plain: Vec<File> = files.iter().map(|found| found.file.clone()).collect();
        fit(&plain, &policy)
    };

    let mut parts = scaffold::parts(request, Some(DEFAULT_BASE));
    parts.extend(
        files
            .drain(..)
            .zip(fitted)
            .map(|(found, fitted)| found.into_part(fitted)),
    );
    if let Some(catalogue) = &catalogue {
        let title = "Skills (Mandatory Scan)";
        parts.push(Part::own(
            title,
            Some(format!("## {title}")),
            catalogue.listing(),
            Stability::Stable,
        ));
    }
    parts.push(Part::own(
        "Runtime",
        Some("## Runtime".into()),
        runtime_lines(&subject, &request.runtime),
        Stability::Volatile,
    ));
    let assembled = join(parts);

    let mut hidden_skills = Vec::new();
    if let Some(catalogue) = catalogue {
        problems.extend(catalogue.problems);
        let hidden = catalogue.skills.into_iter().filter(|skill| !skill.shown);
        hidden_skills.extend(hidden.map(|skill| HiddenSkill {
            directory: skill.directory,
            key: skill.key,
            reasons: skill.reasons,
        }));
    }
    problems.extend(warnings);
    Ok(AssembleAnswer {
        manifest: Manifest {
            home: request.home.clone(),
            session_key: subject.session.to_string(),
            main: subject.main,
            mode,
            today: subject.today.to_string(),
            yesterday: subject.yesterday.to_string(),
            policy: policy.name,
            hash: assembled.hash(),
            length_bytes: assembled.text.len() as u64,
            tokens: assembled.tokens(),
            stable_bytes: assembled.stable_bytes,
            sections: assembled.sections,
        },
        text: assembled.text,
        hidden_skills,
        problems,
        home_exists,
        cost: store.cost(),
    })
}

fn subject(request: &AssembleRequest) -> Result<Subject> {
    let agent = AgentId::parse(&request.home.id)?;
    let session = SessionKey::parse_of(&agent, &request.session_key)?;
    if session.as_str() != request.session_key {
        return Err(Error::invalid(format!(
            "session-key {:?} is not in canonical form, and it decides who sees the long-term memory: write {session}",
            request.session_key
        )));
    }
    if request
        .main_key
        .as_deref()
        .is_some_and(|key| trim(key).is_empty())
    {
        return Err(Error::invalid(
            "main-key is empty: leave it out for `main`, or name what main sessions are called",
        ));
    }
    let main = session.is_main(request.main_key.as_deref());
    let (today, yesterday) = moment::days(request.now_ms, request.utc_offset_minutes)?;
    Ok(Subject {
        agent,
        session,
        main,
        today,
        yesterday,
    })
}

/// Everything that may be asked for. MEMORY.md is not even read outside a main session.
fn sources(main: bool) -> Vec<Source> {
    let mut sources = vec![Source::Workspace(WorkspaceFile::Bootstrap)];
    sources.extend(
        order(Mode::Normal)
            .into_iter()
            .filter(|source| main || *source != Source::Workspace(WorkspaceFile::Memory)),
    );
    sources
}

/// The reference's order of files.
fn order(mode: Mode) -> Vec<Source> {
    use WorkspaceFile::{Agents, Bootstrap, Heartbeat, Identity, Memory, Soul, Tools, User};
    let named = |files: &[WorkspaceFile]| {
        files
            .iter()
            .map(|file| Source::Workspace(*file))
            .collect::<Vec<_>>()
    };
    match mode {
        Mode::Bootstrap => named(&[Bootstrap, Soul, Identity, User]),
        Mode::Normal => {
            let mut order = named(&[Soul, Identity, User, Agents, Memory]);
            order.extend([Source::Yesterday, Source::Today]);
            order.extend(named(&[Tools, Heartbeat]));
            order
        }
    }
}

impl Source {
    fn key(self, subject: &Subject) -> String {
        let agent = subject.agent.clone();
        match self {
            Self::Workspace(file) => Place::WorkspaceFile { agent, file },
            Self::Yesterday => Place::DailyMemory {
                agent,
                date: subject.yesterday,
            },
            Self::Today => Place::DailyMemory {
                agent,
                date: subject.today,
            },
        }
        .key()
    }

    /// The manifest's title, the section's heading, and one below it.
    fn titles(self) -> (&'static str, &'static str, Option<&'static str>) {
        match self {
            Self::Workspace(file) => match file {
                WorkspaceFile::Soul => ("Your Soul", "## Your Soul", None),
                WorkspaceFile::Identity => ("Your Identity", "## Your Identity", None),
                WorkspaceFile::User => ("About Your Human", "## About Your Human", None),
                WorkspaceFile::Agents => {
                    ("Operating Instructions", "## Operating Instructions", None)
                }
                WorkspaceFile::Memory => ("Long-Term Memory", "## Long-Term Memory", None),
                WorkspaceFile::Tools => ("Tool Notes", "## Tool Notes", None),
                WorkspaceFile::Heartbeat => ("Heartbeats", "## Heartbeats", None),
                WorkspaceFile::Bootstrap => (
                    "Commissioning Ceremony (First Run)",
                    "## Commissioning Ceremony (First Run)",
                    None,
                ),
            },
            Self::Yesterday => (
                "Recent Context > Yesterday",
                "## Recent Context",
                Some("### Yesterday"),
            ),
            Self::Today => (
                "Recent Context > Today",
                "## Recent Context",
                Some("### Today"),
            ),
        }
    }

    fn daily(self) -> bool {
        !matches!(self, Self::Workspace(_))
    }
}

impl Found {
    fn into_part(self, fitted: Fitted) -> Part {
        let (title, section, subsection) = self.source.titles();
        Part {
            title: title.to_owned(),
            key: Some(self.file.key),
            section: Some(section.to_owned()),
            subsection: subsection.map(str::to_owned),
            content: fitted.text,
            bytes_before: self.file.size_bytes,
            cuts: fitted.cuts,
            stability: if self.source.daily() {
                Stability::Volatile
            } else {
                Stability::Stable
            },
        }
    }
}

/// What the reference says of the agent, then what the caller gave.
fn runtime_lines(subject: &Subject, runtime: &Runtime) -> String {
    let session = if subject.main { "main" } else { "non-main" };
    let own = [
        ("Agent", subject.agent.to_string()),
        ("Session", session.to_owned()),
        ("Session key", subject.session.to_string()),
    ];
    scaffold::runtime(own.into(), runtime)
}
