//! Logs that many append to, fold and read: on a bucket from nothing, on a bucket with a file from
//! elsewhere, and as the single file of a store that appends.

use std::collections::BTreeSet;

use haversack_core::format::entries::JsonLines;
use haversack_core::layout::field::Field;
use haversack_core::layout::log::LogKeys;
use haversack_core::protocol::log::{Fold, Log, NewEntry, Page, ReadOptions};
use haversack_core::store::{Metered, Store};
use haversack_core::types::{Error, Result as CoreResult};
use haversack_host::store::faulty::Random;
use haversack_host::store::memory::{Object, Objects};
use haversack_host::store::{Condition, MemoryStore, check};

use crate::scenario::{Client, Crossing, Outcome, Scenario};
use crate::scheduler::START_MS;

/// Folds that find everything quiet need at most so many rounds.
const FOLDS_MAX: usize = 10;

/// What lies there before.
#[derive(Clone, Copy, PartialEq)]
pub enum Begin {
    Nothing,
    /// A file of the reference with two whole lines.
    Foreign,
    /// The same, and a line that a crash has cut short.
    Torn,
}

#[derive(Clone, Copy)]
pub struct Logs {
    pub name: &'static str,
    pub appends: bool,
    pub begin: Begin,
}

#[derive(Clone, Debug)]
pub enum Operation {
    /// Entries with these ids, of a message of that time, or of the time by the client's clock: then another
    /// client that makes the same request gives it another name.
    Append {
        ids: Vec<String>,
        ms: Option<u64>,
    },
    Fold,
    Read,
}

/// What a read answers, sorted; nothing for the rest.
type Answer = Option<Vec<String>>;

const FOREIGN: [&str; 2] = ["f0", "f1"];
const TORN: &str = "{\"id\":\"cut";

fn line(id: &str) -> String {
    format!("{{\"id\":\"{id}\",\"text\":\"of {id}\"}}")
}

fn keys() -> CoreResult<LogKeys> {
    let (user, session) = (Field::from_value("user_1")?, Field::from_value("main")?);
    Ok(LogKeys::messages(&user, &session))
}

/// Whether a key is the log's head.
pub fn is_head(key: &str) -> bool {
    key.ends_with(".jsonl") && !key.contains("/new/") && !key.contains("/old/")
}

/// Whether a key is a segment.
pub fn is_segment(key: &str) -> bool {
    key.contains("/new/")
}

/// The name of a segment whose hash is replaced by a number, as if names were merely free ones.
pub fn numbered(key: &str, number: u32) -> Option<String> {
    let (stem, _) = key.rsplit_once('-').filter(|_| is_segment(key))?;
    Some(format!("{stem}-{number:024}.jsonl"))
}

/// Call `act` with the log in `store`.
fn with_log<T>(store: &dyn Store, act: impl FnOnce(&Log<'_>) -> CoreResult<T>) -> CoreResult<T> {
    let metered = Metered::new(store);
    let keys = keys()?;
    act(&Log {
        store: &metered,
        keys: &keys,
        format: &JsonLines,
    })
}

fn page(log: &Log<'_>, entries_max: usize, before: Option<String>) -> CoreResult<Page> {
    log.read(&ReadOptions {
        entries_max,
        bytes_max: 8 << 20,
        before,
    })
}

/// The contents of a page; an error where it lacks something.
fn contents(page: Page) -> Result<Vec<String>, String> {
    if !page.problems.is_empty() {
        return Err(format!("problems: {:?}", page.problems));
    }
    let text = |content: Vec<u8>| String::from_utf8_lossy(&content).into_owned();
    Ok(page
        .entries
        .into_iter()
        .map(|entry| text(entry.content))
        .collect())
}

/// The same from the end in pages of two; what every page held is told where one fails.
fn paged(log: &Log<'_>) -> CoreResult<Result<Vec<String>, String>> {
    let mut pages: Vec<Vec<String>> = Vec::new();
    let mut before = None;
    loop {
        let asked = before.take();
        let mut newest = page(log, 2, asked.clone())?;
        before = newest.before.take();
        match contents(newest) {
            Ok(entries) if entries.is_empty() && asked.is_some() => {
                let what = format!("after {pages:?} nothing lies before {asked:?}");
                return Ok(Err(what));
            }
            Ok(entries) => pages.push(entries),
            Err(what) => return Ok(Err(what)),
        }
        if before.is_none() {
            return Ok(Ok(pages.into_iter().rev().flatten().collect()));
        }
    }
}

impl Logs {
    fn append_ids(random: &mut Random, caller: usize, number: usize) -> Operation {
        let entries = 1 + random.below(2);
        Operation::Append {
            ids: (0..entries)
                .map(|entry| format!("c{caller}-{number}-{entry}"))
                .collect(),
            // Few times, so that several messages have the same, and later ones have earlier ones.
            ms: random
                .chance(768)
                .then(|| START_MS + random.below(3) as u64),
        }
    }
}

impl Scenario for Logs {
    type Operation = Operation;
    type Answer = Answer;
    type Model = BTreeSet<String>;
    type View = Vec<String>;

    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn store(&self) -> MemoryStore {
        let mut objects = Objects::new();
        if self.begin != Begin::Nothing
            && let Ok(keys) = keys()
        {
            let mut text: String = FOREIGN.map(|id| line(id) + "\n").concat();
            if self.begin == Begin::Torn {
                text.push_str(TORN);
            }
            let object = Object::new(text.into_bytes(), check::plain(Condition::Always), 0);
            objects.insert(keys.head().to_owned(), object);
        }
        MemoryStore::from_objects(self.appends, objects)
    }

    fn model(&self) -> BTreeSet<String> {
        let mut model = BTreeSet::new();
        if self.begin != Begin::Nothing {
            model.extend(FOREIGN.map(line));
        }
        if self.begin == Begin::Torn {
            model.insert(TORN.to_owned());
        }
        model
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = |caller: usize| -> Vec<Operation> {
            let operation = |number| match random.below(7) {
                0 => Operation::Read,
                1..=3 => Operation::Fold,
                _ => Self::append_ids(random, caller, number),
            };
            (0..5).map(operation).collect()
        };
        (0..callers).map(&mut program).collect()
    }

    /// Long enough that the head is sealed.
    fn walk(&self) -> Vec<Operation> {
        let append = |id: &str| Operation::Append {
            ids: vec![id.to_owned()],
            ms: Some(START_MS),
        };
        vec![
            append("a"),
            append("b"),
            Operation::Fold,
            append("c"),
            Operation::Fold,
            append("d"),
            Operation::Fold,
            Operation::Append {
                ids: vec!["e0".to_owned(), "e1".to_owned()],
                ms: None,
            },
            Operation::Read,
            Operation::Fold,
        ]
    }

    fn crossings(&self) -> Vec<Crossing<Operation>> {
        let walk = self.walk();
        let append = |id: &str| Operation::Append {
            ids: vec![id.to_owned()],
            ms: Some(START_MS - 1),
        };
        let mut crossings = Vec::new();
        // With no head, a head, and a head that is full; a single file is always the same.
        let states = if self.appends { 1 } else { 3 };
        for before in [2, 4, 6].into_iter().take(states) {
            for (first, second) in [
                (Operation::Fold, Operation::Fold),
                (Operation::Read, Operation::Fold),
                (Operation::Fold, append("x")),
                (Operation::Fold, append("a")),
                (append("x"), append("y")),
            ] {
                let before = walk[..before].to_vec();
                crossings.push(Crossing {
                    before,
                    first,
                    second,
                });
            }
        }
        crossings
    }

    fn run(&self, store: &dyn Store, operation: &Operation, client: Client) -> Outcome<Answer> {
        match operation {
            Operation::Append { ids, ms } => {
                let entry = |id: &String| NewEntry {
                    id: id.clone(),
                    bytes: (line(id) + "\n").into_bytes(),
                };
                let entries: Vec<_> = ids.iter().map(entry).collect();
                let ms = ms.unwrap_or(client.made_ms);
                let appended = with_log(store, |log| log.append(&entries, ms));
                Outcome::of(appended.map(|_| None))
            }
            Operation::Fold => Outcome::of(with_log(store, |log| log.fold()).map(|_| None)),
            Operation::Read => match with_log(store, |log| page(log, 1_000, None)) {
                Ok(page) => match contents(page) {
                    Ok(mut contents) => {
                        contents.sort();
                        Outcome::Done(Some(contents))
                    }
                    Err(what) => Outcome::Wrong(what),
                },
                Err(error) => Outcome::of(Err(error)),
            },
        }
    }

    fn renamed(&self, operation: &Operation, attempt: u32) -> Operation {
        match operation {
            Operation::Append { ids, ms } => Operation::Append {
                ids: ids.iter().map(|id| format!("{id}-{attempt}")).collect(),
                ms: *ms,
            },
            other => other.clone(),
        }
    }

    fn apply(
        &self,
        model: &mut BTreeSet<String>,
        operation: &Operation,
        answer: Option<&Answer>,
    ) -> bool {
        match operation {
            Operation::Append { ids, .. } => {
                model.extend(ids.iter().map(|id| line(id)));
                true
            }
            Operation::Fold => true,
            Operation::Read => match answer {
                Some(Some(read)) => read.iter().eq(model.iter()),
                _ => true,
            },
        }
    }

    fn look(&self, store: &dyn Store) -> Result<Vec<String>, String> {
        let said = |error: Error| error.message;
        let page = with_log(store, |log| page(log, 1_000, None)).map_err(said)?;
        let mut contents = contents(page)?;
        contents.sort();
        Ok(contents)
    }

    fn shown(&self, model: &BTreeSet<String>) -> Vec<String> {
        model.iter().cloned().collect()
    }

    /// Pages say the same as one page; and when nobody appends any more, folds come to an end, keep the
    /// order, and leave no segment.
    fn finish(&self, store: &dyn Store) -> Result<(), String> {
        let said = |error: Error| error.message;
        with_log(store, |log| {
            let whole = page(log, 1_000, None).map(contents)?;
            // Two requests for one message under two times are two segments until a fold: only then is a
            // page sure to know of both.
            let once = |entries: Vec<String>| {
                let mut seen = BTreeSet::new();
                let new = |entry: &String| seen.insert(entry.clone());
                entries.into_iter().filter(new).collect::<Vec<_>>()
            };
            let before = paged(log)?.map(once);
            if whole != before {
                return Ok(Err(format!("read whole {whole:?}, in pages {before:?}")));
            }
            if self.appends {
                return Ok(Ok(()));
            }
            for _ in 0..FOLDS_MAX {
                let fold = log.fold()?;
                let now = page(log, 1_000, None).map(contents)?;
                if now != whole {
                    return Ok(Err(format!("{whole:?} became {now:?} by {fold:?}")));
                }
                if fold == Fold::Nothing {
                    let paged = paged(log)?;
                    return Ok(match paged == whole {
                        true => Ok(()),
                        false => Err(format!(
                            "all folded, read whole {whole:?}, in pages {paged:?}"
                        )),
                    });
                }
            }
            Ok(Err(format!("{FOLDS_MAX} folds left something to fold")))
        })
        .map_err(said)?
    }
}
