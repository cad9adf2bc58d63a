//! Memory of a gsv agent: MEMORY.md and `memory/{date}.md` (spec: gsv, Compaction and Prompt).

use super::day;
use super::text::check_text;
use super::{AppendAnswer, AppendRequest, Note, SnapshotAnswer, SnapshotRequest};
use crate::format::text::trim;
use crate::layout::gsv::{
    AgentId, Date, Place, SessionKey, WorkspaceFile, agent_prefix, memory_prefix,
};
use crate::limits::{MEMORY_DAYS_DEFAULT, MEMORY_DAYS_MAX};
use crate::ops::load::{blob, get, read_file};
use crate::ops::moment;
use crate::protocol::request::RequestId;
use crate::store::{Metered, Store};
use crate::transform::memory_section;
use crate::transform::truncate::budget::{File, fit};
use crate::transform::truncate::policy::{Policy, preset};
use crate::types::{Error, Problem, ProblemKind, Result};

pub fn append(store: &dyn Store, request: &AppendRequest) -> Result<AppendAnswer> {
    append_section(&Metered::new(store), request)
}

pub fn append_section(store: &Metered<'_>, request: &AppendRequest) -> Result<AppendAnswer> {
    let agent = AgentId::parse(&request.home.id)?;
    let id = RequestId::parse(&request.request_id)?;
    let date = moment::day("at-ms", request.at_ms, request.utc_offset_minutes)?;
    check_text(&request.text)?;
    let key = Place::DailyMemory { agent, date }.key();
    let section = memory_section::section(&request.text, request.at_ms, request.utc_offset_minutes);
    day::append(store, key, &id, &section, |file| {
        memory_section::append(file, &section)
    })
}

pub fn snapshot(store: &dyn Store, request: &SnapshotRequest) -> Result<SnapshotAnswer> {
    let store = Metered::new(store);
    let agent = AgentId::parse(&request.home.id)?;
    let (today, _) = moment::days(request.now_ms, request.utc_offset_minutes)?;
    let days = request.days.unwrap_or(MEMORY_DAYS_DEFAULT);
    if days > MEMORY_DAYS_MAX {
        return Err(Error::invalid(format!(
            "days is {days}; it must be at most {MEMORY_DAYS_MAX}"
        )));
    }
    let policy = match &request.budget {
        Some(budget) => budget.policy()?,
        None => preset("none")?,
    };
    let mut problems = Vec::new();
    let mut wanted = Vec::new();
    if is_main(&agent, request)? {
        let file = WorkspaceFile::Memory;
        let place = Place::WorkspaceFile {
            agent: agent.clone(),
            file,
        };
        wanted.push((None, place.key()));
    }
    let dates = newest_days(&store, &agent, today, days as usize, &mut problems)?;
    wanted.extend(dates.into_iter().map(|date| {
        let agent = agent.clone();
        (Some(date), Place::DailyMemory { agent, date }.key())
    }));
    let wave = wanted
        .iter()
        .map(|(date, key)| get(key.clone(), date.is_some(), policy.shape));
    let answers = store.read(wave.collect())?;
    let mut files = Vec::new();
    let mut about = Vec::new();
    for ((date, key), answer) in wanted.into_iter().zip(answers) {
        if let Some(blob) = blob(Some(answer), &key)? {
            let version = blob.stat.version.clone();
            let prefix = agent_prefix(&agent);
            let file = read_file(
                key,
                &prefix,
                date.is_some(),
                policy.shape,
                blob,
                &mut problems,
            );
            if !trim(&file.text).is_empty() {
                files.push(file);
                about.push((date, version));
            }
        }
    }
    Ok(fitted(files, about, &policy, problems, &store))
}

/// The notes under the policy, and as one text.
fn fitted(
    files: Vec<File>,
    about: Vec<(Option<Date>, String)>,
    policy: &Policy,
    mut problems: Vec<Problem>,
    store: &Metered<'_>,
) -> SnapshotAnswer {
    let (fitted, warnings) = fit(&files, policy);
    problems.extend(warnings);
    let mut notes = Vec::new();
    let mut cuts = Vec::new();
    for ((file, (date, version)), fitted) in files.into_iter().zip(about).zip(fitted) {
        cuts.extend(fitted.cuts);
        notes.push(Note {
            key: file.key,
            date: date.map(|date| date.to_string()),
            version,
            text: fitted.text,
            size_bytes: file.size_bytes,
        });
    }
    SnapshotAnswer {
        text: text_of(&notes),
        notes,
        cuts,
        problems,
        cost: store.cost(),
    }
}

/// The headings are those of the prompt.
fn text_of(notes: &[Note]) -> String {
    let mut blocks = Vec::new();
    let mut recent = false;
    for note in notes {
        match &note.date {
            None => blocks.push("## Long-Term Memory".to_owned()),
            Some(date) => {
                if !recent {
                    blocks.push("## Recent Context".to_owned());
                    recent = true;
                }
                blocks.push(format!("### {date}"));
            }
        }
        blocks.push(note.text.clone());
    }
    blocks.join("\n\n")
}

fn is_main(agent: &AgentId, request: &SnapshotRequest) -> Result<bool> {
    match &request.session_key {
        None => Ok(true),
        Some(key) => {
            let session = SessionKey::parse_of(agent, key)?;
            Ok(session.is_main(request.main_key.as_deref()))
        }
    }
}

/// The newest dates up to `today` that have a file, the oldest first.
fn newest_days(
    store: &Metered<'_>,
    agent: &AgentId,
    today: Date,
    days: usize,
    problems: &mut Vec<Problem>,
) -> Result<Vec<Date>> {
    if days == 0 {
        return Ok(Vec::new());
    }
    let prefix = memory_prefix(agent);
    let mut dates = Vec::new();
    store.each_page(&prefix, |listing| {
        for entry in listing.entries {
            if let Some(Place::DailyMemory { date, .. }) = Place::parse(&entry.key)
                && date <= today
            {
                dates.push(date);
            }
        }
        for skipped in listing.skipped {
            let problem = Problem::new(ProblemKind::Skipped, skipped.key, skipped.cause);
            problems.push(problem);
        }
        let surplus = dates.len().saturating_sub(days);
        dates.drain(..surplus);
        Ok(())
    })?;
    Ok(dates)
}
