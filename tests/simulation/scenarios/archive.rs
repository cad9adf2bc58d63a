//! Archiving: lines that lie in several objects become one gzip file, piece by piece, and where the scenario
//! says so the objects are deleted once it is known that all is archived.

use haversack_core::format::gzip::decode;
use haversack_core::layout::archive::ArchiveKeys;
use haversack_core::layout::gsv::{AgentId, SessionId};
use haversack_core::protocol::archive::{Progress, RawSource, Run, Target, Totals, archive};
use haversack_core::store::{
    Answer, Body, BodyKind, Condition, GetRequest, ListRequest, Metered, PutOptions, Range,
    Request, Store, StoreError,
};
use haversack_core::types::{Error, ErrorCode, Result as CoreResult};
use haversack_host::store::faulty::Random;
use haversack_host::store::memory::{Object, Objects};
use haversack_host::store::{MemoryStore, check};

use crate::bridge::Bridge;
use crate::scenario::{Client, Crossing, Outcome, Scenario};

/// What is archived: a run an object.
const RUNS: [&str; 3] = ["{\"n\":0}\n{\"n\":1}\n", "{\"n\":2}\n", "{\"n\":3}\n"];
/// Says that all is archived, and the runs may go.
const MARKER: &str = "archived";
const RAW_BYTES_MAX: usize = 1 << 10;
/// Calls of one operation until the archive is done: more than there are pieces.
const CALLS_MAX: usize = 10;

#[derive(Clone)]
pub struct Archive {
    pub name: &'static str,
    /// Whether the runs are deleted afterwards.
    pub clears: bool,
    /// Whether a piece of an earlier archive of something else lies there.
    pub leftover: bool,
}

/// Archive, in calls that stage so many pieces.
#[derive(Clone, Debug)]
pub struct Operation {
    pieces_max: usize,
}

/// What a reader finds.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// All lines that are in the archive or in the runs, in order.
    lines: Vec<String>,
    archived: bool,
}

fn run_key(number: usize) -> String {
    format!("live/{number}")
}

pub fn is_run(key: &str) -> bool {
    key.starts_with("live/")
}

pub fn is_archive(key: &str) -> bool {
    keys().is_ok_and(|keys| keys.archive() == key)
}

pub fn is_piece(key: &str) -> bool {
    let prefix = keys().and_then(|keys| keys.pieces_prefix());
    prefix.is_ok_and(|prefix| key.starts_with(&prefix))
}

fn keys() -> CoreResult<ArchiveKeys> {
    let session = SessionId::parse("0b5a4c9e-6f0d-4b7e-9f43-2a5a5c6d7e8f")?;
    Ok(ArchiveKeys::of_session(&AgentId::parse("hera")?, &session))
}

fn get(store: &dyn Store, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let get = Request::Get(GetRequest {
        key: key.to_owned(),
        range: Range::Whole,
        kind: BodyKind::Binary,
    });
    match store.read(vec![get]).remove(0)? {
        Answer::Blob(blob) => Ok(blob.map(|blob| blob.body.into_bytes())),
        _ => Ok(None),
    }
}

/// The runs as a source: a position is the number of a run.
struct Runs<'a>(&'a dyn Store);

impl RawSource for Runs<'_> {
    fn run_at(&mut self, position: Option<&str>) -> CoreResult<Run> {
        let number: usize = position.map_or(Ok(0), str::parse).unwrap_or_default();
        let key = run_key(number);
        let raw = get(self.0, &key).map_err(|error| error.about(&key))?;
        let gone = || Error::new(ErrorCode::Unavailable, format!("{key} is gone"));
        let raw = raw.ok_or_else(gone)?;
        let next = number + 1;
        Ok(Run {
            entries: raw.iter().filter(|byte| **byte == b'\n').count() as u64,
            raw,
            next: (next < RUNS.len()).then(|| next.to_string()),
        })
    }
}

/// Archive what `source` gives, in calls of so many pieces.
fn archive_all(
    store: &dyn Store,
    origin: &str,
    source: &mut dyn RawSource,
    pieces_max: usize,
    calls_max: usize,
) -> CoreResult<()> {
    let metadata = |totals: &Totals| vec![("entries".to_owned(), totals.entries.to_string())];
    let keys = keys()?;
    let target = Target {
        keys: &keys,
        content_type: "application/gzip",
        origin,
        metadata: &metadata,
    };
    for _ in 0..calls_max {
        let metered = Metered::new(store);
        match archive(&metered, &target, source, pieces_max)? {
            Progress::More { .. } => {}
            Progress::Nothing | Progress::Done(_) => return Ok(()),
        }
    }
    Err(Error::new(ErrorCode::Other, "the archive is not done yet"))
}

/// Once the archive is done and verified: say so, and only then delete what it holds.
fn clear(store: &dyn Store) -> CoreResult<()> {
    let options = PutOptions {
        condition: Condition::Always,
        content_type: None,
        metadata: Vec::new(),
    };
    let marker = Body::Text("yes".to_owned());
    let put = store.put(MARKER, marker, options);
    put.map_err(|error| error.about(MARKER))?;
    let runs = (0..RUNS.len()).map(run_key).collect();
    for answer in store.delete(runs) {
        answer.map_err(|error| error.about("live/"))?;
    }
    Ok(())
}

/// What an earlier archive staged before it was given up.
struct Other;

impl RawSource for Other {
    fn run_at(&mut self, _: Option<&str>) -> CoreResult<Run> {
        Ok(Run {
            raw: b"something else\n".to_vec(),
            entries: 1,
            next: Some("1".to_owned()),
        })
    }
}

impl Scenario for Archive {
    type Operation = Operation;
    type Answer = ();
    type Model = bool;
    type View = View;

    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn store(&self) -> MemoryStore {
        let mut objects = Objects::new();
        for (number, run) in RUNS.iter().enumerate() {
            let options = check::plain(haversack_host::store::Condition::Always);
            let object = Object::new(run.as_bytes().to_vec(), options, 0);
            objects.insert(run_key(number), object);
        }
        let store = MemoryStore::from_objects(false, objects);
        if self.leftover {
            // Ends after one call, with two pieces staged.
            let _ = archive_all(&Bridge::plain(&store), "other", &mut Other, 2, 1);
        }
        store
    }

    fn model(&self) -> bool {
        false
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = || -> Vec<Operation> {
            let operation = |_| Operation {
                pieces_max: 1 + random.below(3),
            };
            (0..2).map(operation).collect()
        };
        (0..callers).map(|_| program()).collect()
    }

    fn walk(&self) -> Vec<Operation> {
        vec![Operation { pieces_max: 1 }, Operation { pieces_max: 3 }]
    }

    fn crossings(&self) -> Vec<Crossing<Operation>> {
        vec![Crossing {
            before: Vec::new(),
            first: Operation { pieces_max: 3 },
            second: Operation { pieces_max: 3 },
        }]
    }

    fn run(&self, store: &dyn Store, operation: &Operation, _: Client) -> Outcome<()> {
        let archived = || -> CoreResult<()> {
            let marker = get(store, MARKER).map_err(|error| error.about(MARKER))?;
            if marker.is_none() {
                archive_all(
                    store,
                    "these",
                    &mut Runs(store),
                    operation.pieces_max,
                    CALLS_MAX,
                )?;
            }
            match self.clears {
                true => clear(store),
                false => Ok(()),
            }
        };
        Outcome::of(archived())
    }

    fn apply(&self, model: &mut bool, _: &Operation, _: Option<&()>) -> bool {
        *model = true;
        true
    }

    fn look(&self, store: &dyn Store) -> Result<View, String> {
        let said = |error: StoreError| error.message;
        let keys = keys().map_err(|error| error.message)?;
        let file = get(store, keys.archive()).map_err(said)?;
        let archived = file.is_some();
        let mut bytes = Vec::new();
        if let Some(file) = file {
            let (raw, summary) = decode(&file, RAW_BYTES_MAX).ok_or("a large archive")?;
            if let Some(damage) = summary.damage {
                return Err(format!("the archive is damaged: {damage}"));
            }
            bytes = raw;
        }
        let mut lines: Vec<String> = text_lines(&bytes);
        for number in 0..RUNS.len() {
            let run = get(store, &run_key(number)).map_err(said)?;
            let missing = text_lines(&run.unwrap_or_default()).into_iter();
            lines.extend(missing.filter(|line| !archived || !bytes_hold(&bytes, line)));
        }
        Ok(View { lines, archived })
    }

    fn shown(&self, model: &bool) -> View {
        View {
            lines: text_lines(RUNS.concat().as_bytes()),
            archived: *model,
        }
    }

    /// Nothing that was staged is left, and what was to be deleted is.
    fn finish(&self, store: &dyn Store) -> Result<(), String> {
        let list = Request::List(ListRequest::default());
        let Ok(Answer::Listing(listing)) = store.read(vec![list]).remove(0) else {
            return Err("no list".to_owned());
        };
        let left = |key: &String| match self.clears {
            true => is_run(key),
            false => is_piece(key),
        };
        let keys = listing.entries.into_iter().map(|entry| entry.key);
        let left: Vec<String> = keys.filter(left).collect();
        match left.is_empty() {
            true => Ok(()),
            false => Err(format!("left over: {left:?}")),
        }
    }
}

fn text_lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().map(str::to_owned).collect()
}

fn bytes_hold(bytes: &[u8], line: &str) -> bool {
    text_lines(bytes).iter().any(|there| there == line)
}
