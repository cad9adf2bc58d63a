//! Back: copy what was moved to where it was, if nothing lies there. What does lie there stays, and where it is
//! something else the copy goes beside it, so that neither is lost.

use std::collections::BTreeMap;

use super::{Done, End, Moving, VERSION, behind, differs, is_refused, own_metadata};
use crate::limits::{MOVING_COMPARED_BYTES_MAX, MOVING_ROUNDS_MAX};
use crate::store::{
    Body, BodyKind, Condition, GetRequest, PutOptions, Range, Source, Stat, metadatum,
};
use crate::types::{Error, ErrorCode, Problem, ProblemKind, Result};

impl Moving<'_> {
    /// Bring everything back, from behind a name on. `beside` is the prefix for what finds its place taken.
    pub fn bring_back(&self, mut after: Option<String>, beside: &str) -> Result<Done> {
        let mut done = Done::default();
        let mut is_first = true;
        loop {
            let Some(batch) = self.budget.batch(self.store, is_first) else {
                done.end = End::After(after.unwrap_or_default());
                return Ok(done);
            };
            is_first = false;
            let (listing, names) =
                self.page(self.copies, after.as_ref(), batch, &mut done.problems)?;
            if !self.bring_batch(names, beside, &mut done)? {
                done.end = End::After(after.unwrap_or_default());
                return Ok(done);
            }
            match behind(self.copies, &listing) {
                Some(last) => after = Some(last),
                None => return Ok(done),
            }
        }
    }

    /// Whether all of these are back.
    fn bring_batch(&self, mut names: Vec<String>, beside: &str, done: &mut Done) -> Result<bool> {
        // Versions that the store said it has made.
        let mut made: BTreeMap<String, String> = BTreeMap::new();
        for _ in 0..=MOVING_ROUNDS_MAX {
            let mut missing = Vec::new();
            let mut refused = Vec::new();
            for pair in self.look(names, &mut refused)? {
                let Some(copy) = pair.copy else {
                    return Err(gone(&format!("{}{}", self.copies, pair.name)));
                };
                match pair.live {
                    None => missing.push((pair.name, copy)),
                    Some(live) => {
                        let is_ours = made.get(&pair.name) == Some(&live.version)
                            && live.size_bytes == copy.size_bytes;
                        if !is_ours && !self.is_same(&pair.name, &live, &copy)? {
                            self.put_beside(&pair.name, &copy, beside, &mut done.problems)?;
                        }
                        done.count([&copy]);
                    }
                }
            }
            if let Some(problem) = refused.pop() {
                return Err(Error::invalid(problem.message).at(problem.key));
            }
            if missing.is_empty() {
                return Ok(true);
            }
            names = Vec::new();
            for (name, copy) in missing {
                if !self.budget.takes(copy.size_bytes) {
                    return Ok(false);
                }
                // Whatever comes of it, the next look tells.
                let to = format!("{}{name}", self.home);
                if let Some(version) = self.copy_back(&name, &copy, &to)? {
                    made.insert(name.clone(), version);
                }
                names.push(name);
            }
        }
        Ok(false)
    }

    /// Copy to a key if nothing lies there, and answer its version; none where something was in the way.
    fn copy_back(&self, name: &str, copy: &Stat, to: &str) -> Result<Option<String>> {
        let from = format!("{}{name}", self.copies);
        let options = PutOptions {
            condition: Condition::IfAbsent,
            content_type: copy.content_type.clone(),
            metadata: own_metadata(copy),
        };
        let source = Source {
            key: from,
            if_match: Some(copy.version.clone()),
        };
        match self.store.concat(vec![source], to, options) {
            Ok(version) => Ok(Some(version)),
            Err(error) if error.is_unsure() => Ok(None),
            Err(error) if is_refused(&error) => {
                let mut error = error.about(to);
                error.message =
                    format!("{}; its copy stays in {}{name}", error.message, self.copies);
                Err(error)
            }
            Err(error) => Err(error.about(to)),
        }
    }

    /// The copy of something whose place is taken goes below `beside`.
    fn put_beside(
        &self,
        name: &str,
        copy: &Stat,
        beside: &str,
        problems: &mut Vec<Problem>,
    ) -> Result<()> {
        let to = format!("{beside}{name}");
        if self.copy_back(name, copy, &to)?.is_none() {
            let there = self.store.head(&to)?;
            if there.is_none_or(|there| there.size_bytes != copy.size_bytes) {
                return Err(differs(&to));
            }
        }
        problems.push(Problem::new(
            ProblemKind::Skipped,
            format!("{}{name}", self.home),
            format!("was written anew and stays; what was moved away is beside it as {to}"),
        ));
        Ok(())
    }

    /// Whether what lies in a copy's place is what was copied.
    fn is_same(&self, name: &str, live: &Stat, copy: &Stat) -> Result<bool> {
        if live.size_bytes != copy.size_bytes {
            return Ok(false);
        }
        let was = metadatum(&copy.metadata, VERSION);
        if was == Some(live.version.as_str()) || copy.version == live.version {
            return Ok(true);
        }
        if live.size_bytes > MOVING_COMPARED_BYTES_MAX {
            return Ok(false);
        }
        let body = |prefix: &str| {
            let found = self.store.get(GetRequest {
                key: format!("{prefix}{name}"),
                range: Range::Whole,
                kind: BodyKind::Binary,
            })?;
            Ok::<_, Error>(found.map(|blob| Body::into_bytes(blob.body)))
        };
        Ok(body(self.home)? == body(self.copies)?)
    }
}

fn gone(key: &str) -> Error {
    Error::new(
        ErrorCode::Unavailable,
        format!("{key} went while it was brought back; try again"),
    )
    .at(key)
}
