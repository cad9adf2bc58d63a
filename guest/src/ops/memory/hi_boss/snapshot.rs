//! The snapshot of memory for a prompt: which files are read, and what is said of those that are not.

use super::super::{Note, SnapshotAnswer, SnapshotRequest};
use crate::layout::hi_boss::{AgentName, Date, Place, memories_prefix, space_prefix};
use crate::limits::{
    MEMORY_DAYS_DEFAULT, MEMORY_DAYS_MAX, MEMORY_DAYS_READ_MAX, MEMORY_REPLACEMENTS_MAX,
};
use crate::ops::load::{get, read_file};
use crate::ops::moment;
use crate::ops::prompt::Budget;
use crate::store::{
    Answer, ListRequest, Listing, Metered, Request, Store, StoreErrorCode, StoreResult,
};
use crate::transform::assemble::assemble;
use crate::transform::memory_snapshot::{Content, parts, snapshot as cut};
use crate::transform::truncate::policy::{Policy, Shape, Spending, preset};
use crate::types::{Error, ErrorCode, Problem, ProblemKind, Result};

/// What was found of an agent's memory.
#[derive(Debug)]
pub(in crate::ops) struct Loaded {
    pub long_term: Option<Content>,
    /// The newest first.
    pub days: Vec<Content>,
    /// Of the files above, in the same order.
    versions: Vec<String>,
    /// Whether anything lies there, be it blank.
    pub exists: bool,
}

pub fn snapshot(store: &dyn Store, request: &SnapshotRequest) -> Result<SnapshotAnswer> {
    let store = Metered::new(store);
    let agent = AgentName::parse(&request.home.id)?;
    if request.session_key.is_some() || request.main_key.is_some() {
        return Err(Error::invalid(
            "hi-boss has no session keys: leave session-key and main-key out",
        ));
    }
    // Days after today count too; the moment is checked all the same.
    moment::day("now-ms", request.now_ms, request.utc_offset_minutes)?;
    let policy = policy_of(request.budget.as_ref(), request.days)?;
    let mut problems = Vec::new();
    let loaded = load(&store, &agent, &policy, &mut problems)?;
    let taken = cut(loaded.long_term.as_ref(), &loaded.days, &policy);
    let text = assemble(parts(loaded.long_term.as_ref(), &loaded.days, &taken).into()).text;
    problems.extend(taken.warnings);
    let contents = loaded.long_term.into_iter().chain(loaded.days);
    let fitted = taken.long_term.into_iter().chain(taken.days);
    let mut notes = Vec::new();
    let mut cuts = Vec::new();
    for ((content, fitted), version) in contents.zip(fitted).zip(loaded.versions) {
        cuts.extend(fitted.cuts);
        notes.push(Note {
            key: content.file.key,
            date: content.date,
            version,
            text: fitted.text,
            size_bytes: content.file.size_bytes,
        });
    }
    Ok(SnapshotAnswer {
        notes,
        text,
        cuts,
        problems,
        cost: store.cost(),
    })
}

/// The policy with every figure: `days` goes before what the policy says of days. For policies of hi-boss' kind the
/// limit of all days is that of one times their number, unless the policy is the caller's and says.
pub(in crate::ops) fn policy_of(budget: Option<&Budget>, days: Option<u32>) -> Result<Policy> {
    let hi_boss = preset("hi-boss")?;
    let mut policy = budget.map_or(Ok(hi_boss.clone()), Budget::policy)?;
    let figure = days.or(policy.daily_files).unwrap_or(MEMORY_DAYS_DEFAULT);
    if figure > MEMORY_DAYS_MAX {
        return Err(Error::invalid(format!(
            "days is {figure}; it must be at most {MEMORY_DAYS_MAX}"
        )));
    }
    let is_own = matches!(budget, Some(Budget::Custom(_)));
    let unsaid = policy.daily_total_limit.is_none() || (days.is_some() && !is_own);
    if unsaid && policy.spending == Spending::OldestDailyFirst {
        let product = |limit: u64| limit.saturating_mul(u64::from(figure));
        policy.daily_total_limit = policy.daily_limit.map(product);
        if policy.daily_total_marker.trim().is_empty() {
            policy.daily_total_marker = match policy.shape {
                Shape::HeadTail => hi_boss.daily_total_marker,
                Shape::NewestLines => policy.daily_marker.clone(),
            };
        }
    }
    policy.daily_files = Some(figure);
    Ok(policy)
}

/// MEMORY.md and the newest days that are not blank and can be read, as many as the policy takes.
pub(in crate::ops) fn load(
    store: &Metered<'_>,
    agent: &AgentName,
    policy: &Policy,
    problems: &mut Vec<Problem>,
) -> Result<Loaded> {
    let wanted = policy.daily_files.unwrap_or(MEMORY_DAYS_DEFAULT) as usize;
    let key = Place::LongTermMemory {
        agent: agent.clone(),
    }
    .key();
    let list = ListRequest {
        prefix: memories_prefix(agent),
        ..ListRequest::default()
    };
    let mut wave = vec![get(key.clone(), false, policy.shape)];
    if wanted > 0 {
        wave.push(Request::List(list.clone()));
    }
    let mut answers = store.read(wave)?.into_iter();
    let mut reading = Reading {
        agent,
        shape: policy.shape,
        problems,
    };
    let mut loaded = Loaded {
        long_term: None,
        days: Vec::new(),
        versions: Vec::new(),
        exists: false,
    };
    if let Some((content, version)) = reading.file(None, key, answers.next(), &mut loaded.exists)? {
        loaded.long_term = Some(content);
        loaded.versions.push(version);
    }
    let mut dates = match answers.next() {
        None => Vec::new(),
        Some(first) => reading.dates(store, list, first, &mut loaded.exists)?,
    };
    let mut looked_at = 0;
    while loaded.days.len() < wanted && !dates.is_empty() && looked_at < MEMORY_DAYS_READ_MAX {
        let missing = wanted - loaded.days.len();
        let count = missing.max(looked_at.min(MEMORY_REPLACEMENTS_MAX));
        let batch = reading.newest(&mut dates, count, MEMORY_DAYS_READ_MAX - looked_at);
        looked_at += batch.looked_at;
        let wave = batch
            .keys
            .iter()
            .map(|(_, key)| get(key.clone(), true, policy.shape));
        let answers = store.read(wave.collect())?;
        for ((date, key), answer) in batch.keys.into_iter().zip(answers) {
            if loaded.days.len() == wanted {
                break;
            }
            let file = reading.file(Some(date), key, Some(answer), &mut loaded.exists)?;
            if let Some((content, version)) = file {
                loaded.days.push(content);
                loaded.versions.push(version);
            }
        }
    }
    if loaded.days.len() < wanted && !dates.is_empty() {
        let message = format!("{looked_at} days were looked at, and the older ones were not");
        let problem = Problem::new(ProblemKind::Skipped, memories_prefix(agent), message);
        reading.problems.push(problem);
    }
    Ok(loaded)
}

/// Days to read next.
struct Batch {
    keys: Vec<(Date, String)>,
    /// Those that are empty included.
    looked_at: usize,
}

struct Reading<'a> {
    agent: &'a AgentName,
    shape: Shape,
    problems: &'a mut Vec<Problem>,
}

impl Reading<'_> {
    /// A file's content and version. None where it is missing, blank or cannot be read: both last ones are said,
    /// but for an empty MEMORY.md, which is how one begins.
    fn file(
        &mut self,
        date: Option<Date>,
        key: String,
        answer: Option<StoreResult<Answer>>,
        exists: &mut bool,
    ) -> Result<Option<(Content, String)>> {
        let blob = match answer {
            Some(Ok(Answer::Blob(Some(blob)))) => blob,
            Some(Ok(_)) => return Ok(None),
            Some(Err(error)) => {
                *exists = true;
                return self.unread(key, error).map(|()| None);
            }
            None => return Err(Error::new(ErrorCode::Other, "the store gave no answer")),
        };
        *exists = true;
        let version = blob.stat.version.clone();
        let prefix = space_prefix(self.agent);
        let is_day = date.is_some();
        let file = read_file(
            key.clone(),
            &prefix,
            is_day,
            self.shape,
            blob,
            self.problems,
        );
        let content = Content::new(date.map(|date| date.to_string()), file);
        if content.is_none() && is_day {
            self.problems.push(empty(key));
        }
        Ok(content.map(|content| (content, version)))
    }

    /// What may be better in a moment fails the call; the rest is said.
    fn unread(&mut self, key: String, error: crate::store::StoreError) -> Result<()> {
        let code = error.code;
        let error = error.about(&key);
        if matches!(
            code,
            StoreErrorCode::Unavailable | StoreErrorCode::OutcomeUnknown
        ) {
            return Err(error);
        }
        let problem = Problem::new(ProblemKind::Unreadable, key, error.message);
        self.problems.push(problem);
        Ok(())
    }

    /// Up to `count` of the newest dates, which stand last; of those without a byte it is only said. No more than
    /// `room` are looked at.
    fn newest(&mut self, dates: &mut Vec<(Date, u64)>, count: usize, room: usize) -> Batch {
        let mut batch = Batch {
            keys: Vec::new(),
            looked_at: 0,
        };
        while batch.keys.len() < count && batch.looked_at < room {
            let Some((date, size_bytes)) = dates.pop() else {
                break;
            };
            batch.looked_at += 1;
            let agent = self.agent.clone();
            let key = Place::DailyMemory { agent, date }.key();
            match size_bytes {
                0 => self.problems.push(empty(key)),
                _ => batch.keys.push((date, key)),
            }
        }
        batch
    }

    /// The dates that have a file, the oldest first, and its size.
    fn dates(
        &mut self,
        store: &Metered<'_>,
        mut request: ListRequest,
        first: StoreResult<Answer>,
        exists: &mut bool,
    ) -> Result<Vec<(Date, u64)>> {
        let mut listing: Listing = match first {
            Ok(Answer::Listing(listing)) => listing,
            Ok(_) => Listing::default(),
            Err(error) => return Err(error.about(&request.prefix)),
        };
        let mut dates = Vec::new();
        loop {
            *exists |= !listing.entries.is_empty() || !listing.skipped.is_empty();
            for entry in listing.entries {
                if let Some(Place::DailyMemory { date, .. }) = Place::parse(&entry.key) {
                    dates.push((date, entry.size_bytes));
                }
            }
            for skipped in listing.skipped {
                let problem = Problem::new(ProblemKind::Skipped, skipped.key, skipped.cause);
                self.problems.push(problem);
            }
            request.cursor = listing.cursor;
            if request.cursor.is_none() {
                return Ok(dates);
            }
            listing = store.list(request.clone())?;
        }
    }
}

fn empty(key: String) -> Problem {
    Problem::new(
        ProblemKind::Skipped,
        key,
        "is empty: an older day takes its place",
    )
}
