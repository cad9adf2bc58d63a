//! Away: copy everything and delete nothing; then, looking at each once more, delete what has a copy.

use std::collections::BTreeMap;

use super::{
    BYTES, Done, End, Moving, Pair, VERSION, behind, differs, is_copy_of, is_refused, own_metadata,
};
use crate::limits::{CONCAT_CONDITION_BYTES_MAX, MOVING_ROUNDS_MAX};
use crate::store::{Condition, PutOptions, Source, Stat};
use crate::types::{Problem, ProblemKind, Result};

/// What came of a batch.
#[derive(Default)]
struct Settled {
    /// By the last look: these have a copy of what they are.
    copied: Vec<(String, Stat)>,
    /// These have none yet.
    left: usize,
    problems: Vec<Problem>,
}

impl Moving<'_> {
    /// Copy what has no copy yet, from behind a name on.
    pub fn copy(&self, mut after: Option<String>) -> Result<Done> {
        let mut done = Done::default();
        let mut is_first = true;
        loop {
            let Some(batch) = self.budget.batch(self.store, is_first) else {
                done.end = End::After(after.unwrap_or_default());
                return Ok(done);
            };
            is_first = false;
            let (listing, names) =
                self.page(self.home, after.as_ref(), batch, &mut done.problems)?;
            let settled = self.settle(names)?;
            done.count(settled.copied.iter().map(|(_, stat)| stat));
            if !settled.problems.is_empty() {
                done.problems.extend(settled.problems);
                done.end = End::Blocked;
                return Ok(done);
            }
            if settled.left > 0 {
                done.end = End::After(after.unwrap_or_default());
                return Ok(done);
            }
            match behind(self.home, &listing) {
                Some(last) => after = Some(last),
                None => return Ok(done),
            }
        }
    }

    /// Delete what has a copy of what it is now; what changed is copied first.
    pub fn empty(&self) -> Result<Done> {
        let mut done = Done::default();
        let mut is_first = true;
        loop {
            let Some(batch) = self.budget.batch(self.store, is_first) else {
                done.end = End::After(String::new());
                return Ok(done);
            };
            is_first = false;
            let (names, skipped) = self.first_names(batch)?;
            if names.is_empty() {
                done.problems.extend(skipped);
                return Ok(done);
            }
            let settled = self.settle(names)?;
            let keys: Vec<String> = settled
                .copied
                .iter()
                .map(|(name, _)| format!("{}{name}", self.home))
                .collect();
            for (key, answer) in keys.iter().zip(self.store.delete(keys.clone())?) {
                answer.map_err(|error| error.about(key))?;
            }
            done.count(settled.copied.iter().map(|(_, stat)| stat));
            if !settled.problems.is_empty() {
                done.problems.extend(settled.problems);
                done.end = End::Blocked;
                return Ok(done);
            }
            if settled.left > 0 {
                done.end = End::After(String::new());
                return Ok(done);
            }
        }
    }

    /// The first names, none only where there are none; and what on the way there is no object.
    pub(super) fn first_names(&self, batch: u32) -> Result<(Vec<String>, Vec<Problem>)> {
        let (mut after, mut problems) = (None, Vec::new());
        loop {
            // One more, because what stays is listed too.
            let (listing, mut names) =
                self.page(self.home, after.as_ref(), batch + 1, &mut problems)?;
            after = behind(self.home, &listing);
            if !names.is_empty() || after.is_none() {
                names.truncate(batch as usize);
                return Ok((names, problems));
            }
        }
    }

    /// Copy what has no copy; the last thing done is a look at all of them.
    fn settle(&self, mut names: Vec<String>) -> Result<Settled> {
        let mut settled = Settled::default();
        // Versions that the store said it has copied.
        let mut made: BTreeMap<String, String> = BTreeMap::new();
        for round in 1.. {
            let mut missing = Vec::new();
            settled.copied.clear();
            for Pair { name, live, copy } in self.look(names, &mut settled.problems)? {
                let Some(live) = live else {
                    // Gone by other means: nothing to do.
                    continue;
                };
                match copy {
                    Some(copy) if is_copy_of(&copy, &live) => settled.copied.push((name, live)),
                    _ if made.get(&name) == Some(&live.version) => {
                        return Err(differs(&format!("{}{name}", self.copies)));
                    }
                    copy => missing.push((name, live, copy)),
                }
            }
            settled.left = missing.len();
            if missing.is_empty() || round > MOVING_ROUNDS_MAX {
                break;
            }
            names = settled
                .copied
                .iter()
                .map(|(name, _)| name.clone())
                .collect();
            let before = names.len();
            let mut is_spent = false;
            for (name, live, copy) in missing {
                is_spent = is_spent || !self.budget.takes(live.size_bytes);
                if is_spent {
                    continue;
                }
                match self.copy_one(&name, &live, copy.as_ref())? {
                    Ok(is_made) => {
                        if is_made {
                            made.insert(name.clone(), live.version);
                        }
                        names.push(name);
                    }
                    Err(problem) => settled.problems.push(problem),
                }
            }
            if names.len() == before {
                // Nothing was tried: another look would show the same. What is deleted next was looked at just now,
                // unless refused copies lie in between.
                break;
            }
            if is_spent {
                // What was copied is verified by the next call.
                names.truncate(before);
                settled.copied = self.still_copied(names)?;
                break;
            }
        }
        Ok(settled)
    }

    /// Those that still have a copy of what they are.
    fn still_copied(&self, names: Vec<String>) -> Result<Vec<(String, Stat)>> {
        let pairs = self.look(names, &mut Vec::new())?.into_iter();
        let copied = pairs.filter_map(|pair| {
            let (live, copy) = (pair.live?, pair.copy?);
            is_copy_of(&copy, &live).then_some((pair.name, live))
        });
        Ok(copied.collect())
    }

    /// Whether the store copied this version; false where something was in the way, and the next look tells. A
    /// problem where it never will.
    fn copy_one(
        &self,
        name: &str,
        live: &Stat,
        copy: Option<&Stat>,
    ) -> Result<std::result::Result<bool, Problem>> {
        let (from, to) = (
            format!("{}{name}", self.home),
            format!("{}{name}", self.copies),
        );
        let is_large = live.size_bytes > CONCAT_CONDITION_BYTES_MAX;
        if is_large && copy.is_some() {
            let message = format!(
                "changed after it was copied, and over {CONCAT_CONDITION_BYTES_MAX} bytes no store replaces a copy \
                 safely; `renew` and `end` begin anew"
            );
            return Ok(Err(Problem::new(ProblemKind::Unreadable, from, message)));
        }
        let mut metadata = own_metadata(live);
        metadata.push((VERSION.to_owned(), live.version.clone()));
        metadata.push((BYTES.to_owned(), live.size_bytes.to_string()));
        let options = PutOptions {
            condition: match is_large {
                true => Condition::IfAbsent,
                false => Condition::Always,
            },
            content_type: live.content_type.clone(),
            metadata,
        };
        let source = Source {
            key: from.clone(),
            if_match: Some(live.version.clone()),
        };
        match self.store.concat(vec![source], &to, options) {
            Ok(_) => Ok(Ok(true)),
            Err(error) if error.is_unsure() => Ok(Ok(false)),
            Err(error) if is_refused(&error) => Ok(Err(self.refused(name, &error))),
            Err(error) => Err(error.about(&to)),
        }
    }
}
