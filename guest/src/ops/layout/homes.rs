//! Which homes a store holds, told from its directories. Spells no key.
//!
//! The directories of a system are listed folded; where a name alone does not tell, one more wave
//! looks into each. Names that break the rule of their system are no homes.

use serde::{Deserialize, Serialize};

use super::contents::{Skipped, read_lists};
use super::{bad_continuation, read_continuation, write_continuation};
use crate::layout::{HomeId, System, gsv, hi_boss, is_fixed_root, moltbot, run_agent, solven};
use crate::limits::{HOMES_PROBED_MAX, LIST_PAGE_MAX, PAGES_PER_CALL_MAX};
use crate::store::{ListRequest, Listing, Metered, Store};
use crate::types::{Cost, Home, Result};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HomesPage {
    pub homes: Vec<Home>,
    /// Where a home would lie and none can be, with the cause.
    pub skipped: Vec<Skipped>,
    pub continue_from: Option<String>,
    pub cost: Cost,
}

/// One directory of homes, in the order in which a call goes through them: by system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Every agent is gsv's, because the caller says so.
    GsvAgents,
    /// Agents with an internal space.
    HiBossAgents,
    /// Agents of either, told apart by the internal space.
    Agents,
    Users,
    /// Users of whom only soft-deleted copies are left.
    DeletedUsers,
    /// Directories that hold project files.
    Projects,
    /// The same, but for the roots of the other systems.
    OtherProjects,
    Threads,
}

impl Source {
    fn all_of(system: Option<System>) -> &'static [Self] {
        use Source::*;
        match system {
            Some(System::Gsv) => &[GsvAgents],
            Some(System::HiBoss) => &[HiBossAgents],
            Some(System::Moltbot) => &[Users, DeletedUsers],
            Some(System::RunAgent) => &[Projects],
            Some(System::Solven) => &[Threads],
            None => &[Agents, Users, DeletedUsers, OtherProjects, Threads],
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::GsvAgents | Self::Agents => gsv::AGENTS_PREFIX,
            Self::HiBossAgents => hi_boss::AGENTS_PREFIX,
            Self::Users => moltbot::USERS_PREFIX,
            Self::DeletedUsers => moltbot::DELETED_PREFIX,
            Self::Projects | Self::OtherProjects => "",
            Self::Threads => solven::THREADS_PREFIX,
        }
    }

    /// Why a directory that cannot be a home is worth telling. Beside projects lies what it likes.
    fn misnamed(self, directory: &str) -> Option<Skipped> {
        let system = match self {
            Self::GsvAgents | Self::Agents => System::Gsv,
            Self::HiBossAgents => System::HiBoss,
            Self::Users | Self::DeletedUsers => System::Moltbot,
            Self::Threads => System::Solven,
            Self::Projects | Self::OtherProjects => return None,
        };
        Some(Skipped {
            key: directory.to_owned(),
            cause: format!(
                "is no {} of {}: {}",
                system.home_field(),
                system.name(),
                system.home_rule()
            ),
        })
    }

    /// What a directory may be the home of; none when it cannot be one.
    fn candidate(self, directory: &str) -> Option<Candidate> {
        let id = directory.strip_prefix(self.prefix())?.strip_suffix('/')?;
        let home = |system| HomeId::new(system, id).ok();
        let folded = |prefix| ListRequest {
            prefix,
            delimiter: true,
            limit: Some(LIST_PAGE_MAX),
            ..ListRequest::default()
        };
        let any = |prefix| ListRequest {
            prefix,
            limit: Some(1),
            ..ListRequest::default()
        };
        let (found, other, probe) = match self {
            Self::GsvAgents => (home(System::Gsv), None, None),
            Self::Users => (home(System::Moltbot), None, None),
            Self::Threads => (home(System::Solven), None, None),
            Self::HiBossAgents | Self::Agents => {
                let boss = home(System::HiBoss);
                let agent = home(System::Gsv).filter(|_| self == Self::Agents);
                // Without a valid name there is no internal space to look for.
                let space = boss.as_ref().and_then(|home| home.prefixes().pop());
                match boss {
                    Some(_) => (boss, agent, space.map(any)),
                    None => (agent, None, None),
                }
            }
            Self::DeletedUsers => {
                let user = home(System::Moltbot);
                let live = user
                    .as_ref()
                    .and_then(|user| user.prefixes().into_iter().next());
                (None, user, live.map(any))
            }
            Self::OtherProjects if is_fixed_root(directory) => (None, None, None),
            Self::Projects | Self::OtherProjects => {
                let project = home(System::RunAgent);
                let probe = project.as_ref().map(|_| folded(directory.to_owned()));
                (project, None, probe)
            }
        };
        (found.is_some() || other.is_some()).then(|| Candidate {
            directory: directory.to_owned(),
            found,
            other,
            probe,
        })
    }

    /// Whether the look into a directory found what it was for.
    fn is_hit(self, listing: &Listing) -> bool {
        match self {
            Self::Projects | Self::OtherProjects => listing
                .entries
                .iter()
                .map(|entry| &entry.key)
                .chain(&listing.prefixes)
                .any(|listed| run_agent::shows_project(listed)),
            // An empty page with a cursor has something behind it.
            _ => !listing.entries.is_empty() || listing.cursor.is_some(),
        }
    }
}

/// A directory, and what it is the home of: `found` without a probe or after a hit, else `other`.
struct Candidate {
    directory: String,
    found: Option<HomeId>,
    other: Option<HomeId>,
    probe: Option<ListRequest>,
}

/// Where a call goes on. `after` and `cursor` are the list's own.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Progress {
    system: Option<String>,
    source: usize,
    after: Option<String>,
    cursor: Option<String>,
}

/// The homes in a store. Each answer is sorted by system and id, and an answer's homes come before
/// those of the next one's within each directory.
pub fn homes(
    store: &dyn Store,
    system: Option<String>,
    continue_from: Option<String>,
) -> Result<HomesPage> {
    let store = Metered::new(store);
    let sources = Source::all_of(system.as_deref().map(System::parse).transpose()?);
    let start = match &continue_from {
        None => Progress {
            system: system.clone(),
            ..Progress::default()
        },
        Some(text) => read_continuation::<Progress>(text)?,
    };
    if start.system != system || start.source >= sources.len() {
        return Err(bad_continuation());
    }
    let mut found = Found::default();
    let next = collect(&store, sources, start, continue_from.is_none(), &mut found)?;
    let mut homes: Vec<Home> = found.homes.iter().map(HomeId::to_home).collect();
    homes.sort_by(|a, b| (&a.system, &a.id).cmp(&(&b.system, &b.id)));
    Ok(HomesPage {
        homes,
        skipped: found.skipped,
        continue_from: next.as_ref().map(write_continuation).transpose()?,
        cost: store.cost(),
    })
}

/// What a call has found so far.
#[derive(Default)]
struct Found {
    homes: Vec<HomeId>,
    skipped: Vec<Skipped>,
}

fn collect(
    store: &Metered<'_>,
    sources: &[Source],
    start: Progress,
    fresh: bool,
    found: &mut Found,
) -> Result<Option<Progress>> {
    // A fresh call asks for the first page of every directory together.
    let mut asked = Vec::new();
    for (index, source) in sources.iter().enumerate().skip(start.source) {
        if index == start.source {
            asked.push(request(*source, &start));
        } else if fresh {
            asked.push(request(*source, &Progress::default()));
        }
    }
    let mut pages = asked.len();
    let mut probes_left = HOMES_PROBED_MAX;
    let mut first_pages = read_lists(store, asked)?.into_iter();

    for (index, source) in sources.iter().enumerate().skip(start.source) {
        let mut progress = Progress {
            system: start.system.clone(),
            source: index,
            ..Progress::default()
        };
        if index == start.source {
            progress = start.clone();
        }
        let mut prefetched = first_pages.next();
        loop {
            let listing = match prefetched.take() {
                Some(listing) => listing,
                None if pages >= PAGES_PER_CALL_MAX => return Ok(Some(progress)),
                None => {
                    pages += 1;
                    let mut lists = read_lists(store, vec![request(*source, &progress)])?;
                    lists.pop().unwrap_or_default()
                }
            };
            let mut candidates = Vec::new();
            let mut misnamed = Vec::new();
            for directory in &listing.prefixes {
                match source.candidate(directory) {
                    Some(candidate) => candidates.push(candidate),
                    None => misnamed.extend(source.misnamed(directory)),
                }
            }
            let probed = probe(
                store,
                *source,
                candidates,
                &mut probes_left,
                &mut found.homes,
            )?;
            if let Probed::All = probed {
                found.skipped.extend(misnamed);
                found
                    .skipped
                    .extend(listing.skipped.into_iter().map(Skipped::from));
            }
            match probed {
                Probed::All => {}
                Probed::UpTo(directory) => {
                    progress.after = Some(behind(&directory));
                    progress.cursor = None;
                    return Ok(Some(progress));
                }
                Probed::None => return Ok(Some(progress)),
            }
            match listing.cursor {
                Some(cursor) => progress.cursor = Some(cursor),
                None => break,
            }
        }
    }
    Ok(None)
}

/// How much of a page a call could look into.
enum Probed {
    All,
    /// Up to and including this directory.
    UpTo(String),
    /// The call's probes were used up by earlier pages.
    None,
}

/// The string after which a list finds what follows a directory: `/` and `0` are neighbours.
fn behind(directory: &str) -> String {
    format!("{}0", directory.trim_end_matches('/'))
}

/// Looks into the candidates in one wave.
fn probe(
    store: &Metered<'_>,
    source: Source,
    candidates: Vec<Candidate>,
    probes_left: &mut usize,
    found: &mut Vec<HomeId>,
) -> Result<Probed> {
    let mut taken: Vec<(Candidate, bool)> = Vec::new();
    let mut wave = Vec::new();
    let mut probed = Probed::All;
    for mut candidate in candidates {
        let request = candidate.probe.take();
        if request.is_some() && *probes_left == 0 {
            probed = match taken.last() {
                Some((last, _)) => Probed::UpTo(last.directory.clone()),
                None => Probed::None,
            };
            break;
        }
        taken.push((candidate, request.is_some()));
        if let Some(request) = request {
            *probes_left -= 1;
            wave.push(request);
        }
    }
    let mut answers = read_lists(store, wave)?.into_iter();
    for (candidate, has_probe) in taken {
        let hit = !has_probe
            || answers
                .next()
                .is_some_and(|listing| source.is_hit(&listing));
        found.extend(if hit {
            candidate.found
        } else {
            candidate.other
        });
    }
    Ok(probed)
}

fn request(source: Source, progress: &Progress) -> ListRequest {
    ListRequest {
        prefix: source.prefix().to_owned(),
        delimiter: true,
        start_after: progress.after.clone(),
        cursor: progress.cursor.clone(),
        limit: Some(LIST_PAGE_MAX),
    }
}
