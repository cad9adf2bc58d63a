//! `media.discard`: named media and orphans that several let go, keep, or only ask about.

use std::collections::BTreeSet;

use haversack_core::ops::media::{DiscardRequest, Named, Session, discard};
use haversack_core::store::Store;
use haversack_host::store::faulty::Random;
use haversack_host::store::memory::{Object, Objects};
use haversack_host::store::{Condition, MemoryStore, check};

use super::session_reader::{KEY, home, keys, says};
use crate::scenario::{Client, Crossing, Outcome, Scenario};
use crate::scheduler::START_MS;

/// Media that are named one by one, two that are only named together, an orphan that is old and one that is
/// not.
const NAMED: [usize; 3] = [0, 1, 2];
const PAIR: [usize; 2] = [3, 4];
const OLD: usize = 5;
const YOUNG: usize = 6;
const ALL: usize = 7;

#[derive(Clone)]
pub struct Discards;

#[derive(Clone, Debug)]
pub struct Operation {
    id: String,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// One that a message names.
    Named(usize),
    /// The same, and nothing is done.
    Dry(usize),
    /// One that somebody wants kept all the same.
    Kept(usize),
    Pair,
    /// Orphans that are old.
    Orphans,
}

/// The media that are there. A pair is there until both are gone.
type Media = BTreeSet<usize>;

fn key(medium: usize) -> String {
    format!("media/{KEY}/00000000-0000-4000-8000-00000000000{medium}.png")
}

fn keys_of(media: &[usize]) -> Named {
    Named {
        messages: Vec::new(),
        keys: media.iter().copied().map(key).collect(),
    }
}

fn request(operation: &Operation) -> DiscardRequest {
    let mut request = DiscardRequest {
        session: Session {
            home: home(),
            session_key: KEY.to_owned(),
        },
        request_id: operation.id.clone(),
        keep: Named::default(),
        discard: Named::default(),
        orphans_before_ms: None,
        dry_run: false,
        continue_from: None,
    };
    match operation.what {
        What::Named(medium) | What::Dry(medium) => {
            request.discard.messages = vec![says("shown", Some(&key(medium)))];
            request.dry_run = matches!(operation.what, What::Dry(_));
        }
        What::Kept(medium) => {
            request.keep = keys_of(&[medium]);
            request.discard = keys_of(&[medium]);
        }
        What::Pair => request.discard = keys_of(&PAIR),
        What::Orphans => {
            request.keep = keys_of(&[NAMED.as_slice(), &PAIR].concat());
            request.orphans_before_ms = Some(START_MS);
        }
    }
    request
}

impl Scenario for Discards {
    type Operation = Operation;
    /// What went, or would go.
    type Answer = Vec<String>;
    type Model = Media;
    type View = Media;

    fn name(&self) -> String {
        "media-discard".to_owned()
    }

    fn covers(&self) -> &'static [&'static str] {
        &["media.discard"]
    }

    fn store(&self) -> MemoryStore {
        let objects = (0..ALL).map(|medium| {
            let mut options = check::plain(Condition::Always);
            let old_ms = START_MS - u64::from(medium == OLD);
            options.metadata = vec![("uploadedAt".to_owned(), old_ms.to_string())];
            (key(medium), Object::new(b"png".to_vec(), options, 0))
        });
        MemoryStore::from_objects(false, objects.collect::<Objects>())
    }

    fn model(&self) -> Media {
        (0..ALL).filter(|medium| *medium != PAIR[1]).collect()
    }

    fn programs(&self, random: &mut Random, callers: usize) -> Vec<Vec<Operation>> {
        let mut program = |caller: usize| -> Vec<Operation> {
            let operation = |number| {
                let medium = *random.pick(&NAMED);
                let what = *random.pick(&[
                    What::Named(medium),
                    What::Dry(medium),
                    What::Kept(medium),
                    What::Pair,
                    What::Orphans,
                ]);
                let id = format!("c{caller}-{number}");
                Operation { id, what }
            };
            (0..4).map(operation).collect()
        };
        (0..callers).map(&mut program).collect()
    }

    fn walk(&self) -> Vec<Operation> {
        let whats = [
            What::Dry(0),
            What::Kept(0),
            What::Named(0),
            What::Dry(0),
            What::Pair,
            What::Orphans,
        ];
        let numbered = whats.into_iter().enumerate();
        numbered
            .map(|(number, what)| Operation {
                id: format!("w{number}"),
                what,
            })
            .collect()
    }

    fn crossings(&self) -> Vec<Crossing<Operation>> {
        let walk = self.walk();
        let cross = |first: usize, second: usize| Crossing {
            before: Vec::new(),
            first: walk[first].clone(),
            second: walk[second].clone(),
        };
        vec![cross(2, 2), cross(2, 0), cross(4, 4), cross(5, 2)]
    }

    fn run(&self, store: &dyn Store, operation: &Operation, _: Client) -> Outcome<Vec<String>> {
        match discard(store, &request(operation)) {
            Ok(answer) if answer.continue_from.is_some() || !answer.problems.is_empty() => {
                Outcome::Wrong(format!("{answer:?}"))
            }
            other => Outcome::of(other.map(|answer| {
                let discarded = answer.discarded.into_iter();
                discarded.map(|medium| medium.key).collect()
            })),
        }
    }

    fn apply(
        &self,
        model: &mut Media,
        operation: &Operation,
        answer: Option<&Vec<String>>,
    ) -> bool {
        let says = |expected: &[usize]| {
            let expected: Vec<String> = expected.iter().copied().map(key).collect();
            answer.is_none_or(|answer| *answer == expected)
        };
        // One that was gone, or went meanwhile by somebody else.
        let at_most = |expected: &[usize]| {
            let expected: Vec<String> = expected.iter().copied().map(key).collect();
            answer.is_none_or(|answer| answer.iter().all(|key| expected.contains(key)))
        };
        match operation.what {
            What::Dry(medium) if model.contains(&medium) => says(&[medium]),
            What::Dry(_) | What::Kept(_) => says(&[]),
            What::Named(medium) => {
                model.remove(&medium);
                at_most(&[medium])
            }
            What::Pair => {
                model.remove(&PAIR[0]);
                at_most(&PAIR)
            }
            What::Orphans => {
                model.remove(&OLD);
                at_most(&[OLD])
            }
        }
    }

    fn look(&self, store: &dyn Store) -> Result<Media, String> {
        let there = keys(store, "media/")?;
        let mut media: Media = (0..ALL)
            .filter(|medium| there.contains(&key(*medium)))
            .collect();
        if media.remove(&PAIR[1]) {
            media.insert(PAIR[0]);
        }
        if !media.contains(&YOUNG) {
            return Err("an orphan went that is too young".to_owned());
        }
        Ok(media)
    }

    fn shown(&self, model: &Media) -> Media {
        model.clone()
    }
}
