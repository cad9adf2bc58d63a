//! A store that is what lies below one prefix of another: nothing outside can be named, listed, read,
//! copied from or written to. Knows prefixes, and nothing of the store inside.

use std::sync::Arc;

use super::check::error;
use super::key::{KEY_BYTES_MAX, RESERVED, check_key, shown};
use super::*;

pub struct ScopedStore {
    inner: Arc<dyn BlobStore>,
    /// With its slash, so that `a` never covers `ab`.
    scope: String,
}

impl ScopedStore {
    /// What lies below `prefix`, a key of its own; a slash at its end may be there or not.
    ///
    /// Refuses a prefix that breaks a rule of keys, or leaves no room for one.
    pub fn new(inner: Arc<dyn BlobStore>, prefix: String) -> Result<ScopedStore, Error> {
        let scope = prefix.strip_suffix('/').unwrap_or(&prefix);
        if let Some((code, rule)) = key::key_problem(scope) {
            let message = format!("the prefix {} cannot be used: {rule}", shown(scope));
            return Err(error(code, message));
        }
        if scope.len() + 1 >= KEY_BYTES_MAX {
            let message = format!(
                "the prefix {} leaves no room for keys, which have up to {KEY_BYTES_MAX} bytes \
                 with it; shorten it",
                shown(scope)
            );
            return Err(error(ErrorCode::TooLarge, message));
        }
        let scope = format!("{scope}/");
        Ok(ScopedStore { inner, scope })
    }

    /// The key inside for a caller's key, which keeps the rules by itself first.
    fn inward(&self, key: &str) -> Result<String, Error> {
        check_key(key)?;
        if key.len() > self.key_bytes_max() {
            let message = format!(
                "key {}: it has {} bytes, over the {} that this store's prefix leaves of \
                 {KEY_BYTES_MAX}; shorten or hash its segments",
                shown(key),
                key.len(),
                self.key_bytes_max()
            );
            return Err(error(ErrorCode::TooLarge, message));
        }
        Ok(format!("{}{key}", self.scope))
    }

    fn key_bytes_max(&self) -> usize {
        KEY_BYTES_MAX - self.scope.len()
    }

    fn request_inward(&self, request: Request) -> Result<Request, Error> {
        Ok(match request {
            Request::Get(get) => Request::Get(GetRequest {
                key: self.inward(&get.key)?,
                ..get
            }),
            Request::Head(key) => Request::Head(self.inward(&key)?),
            // A prefix need not be a key: what it would match outside is never below the scope.
            Request::List(list) => Request::List(ListRequest {
                prefix: format!("{}{}", self.scope, list.prefix),
                start_after: list
                    .start_after
                    .map(|after| format!("{}{after}", self.scope)),
                cursor: list
                    .cursor
                    .map(|cursor| self.cursor_inward(&cursor))
                    .transpose()?,
                ..list
            }),
        })
    }

    /// Cursors that name a key inside name the caller's outside; others are nobody's to look into. The
    /// first letter says which. The list inside has the scope in its prefix, whatever a cursor says.
    fn cursor_outward(&self, cursor: String) -> String {
        match cursor.strip_prefix(&self.scope) {
            Some(key) => format!("k{key}"),
            None => format!("o{cursor}"),
        }
    }

    fn cursor_inward(&self, cursor: &str) -> Result<String, Error> {
        match (cursor.strip_prefix('k'), cursor.strip_prefix('o')) {
            (Some(key), _) => Ok(format!("{}{key}", self.scope)),
            (_, Some(opaque)) => Ok(opaque.to_owned()),
            _ => Err(check::not_a_cursor(cursor)),
        }
    }

    fn answer_outward(&self, answer: Answer) -> Answer {
        let Answer::Listing(listing) = answer else {
            return answer;
        };
        // None for what is not the caller's: the part of the name that the store keeps for itself.
        // Nothing inside a well-made list lies outside the scope; if it did, it would end here too.
        let outward = |key: String| {
            let key = key.strip_prefix(&self.scope)?;
            let first = key.split('/').next();
            (first != Some(RESERVED)).then(|| key.to_owned())
        };
        let entries = listing.entries.into_iter();
        let skipped = listing.skipped.into_iter();
        Answer::Listing(Listing {
            entries: entries
                .filter_map(|entry| {
                    Some(Entry {
                        key: outward(entry.key)?,
                        ..entry
                    })
                })
                .collect(),
            prefixes: listing.prefixes.into_iter().filter_map(outward).collect(),
            skipped: skipped
                .filter_map(|skipped| {
                    // The scope itself, or what leads to it, may be what cannot be listed.
                    let above = self.scope.starts_with(&skipped.key);
                    let key = if above {
                        String::new()
                    } else {
                        outward(skipped.key)?
                    };
                    Some(Skipped { key, ..skipped })
                })
                .collect(),
            cursor: listing.cursor.map(|cursor| self.cursor_outward(cursor)),
        })
    }

    fn error_outward(&self, error: Error) -> Error {
        error_outward(&self.scope, error)
    }
}

/// Keys stand in messages quoted and escaped, so the scope behind a quote is the scope of a key.
fn error_outward(scope: &str, error: Error) -> Error {
    let quoted = format!("{scope:?}");
    let scope = quoted.strip_suffix('"').unwrap_or(&quoted);
    Error {
        message: error.message.replace(scope, "\""),
        ..error
    }
}

impl BlobStore for ScopedStore {
    /// As the store inside, and how long keys may be here.
    fn describe(&self) -> Vec<(String, String)> {
        let mut described = self.inner.describe();
        described.retain(|(name, _)| name != "key-bytes-max");
        described.push(("key-bytes-max".to_owned(), self.key_bytes_max().to_string()));
        described
    }

    fn read(&self, wave: Vec<Request>) -> BoxFuture<'_, Vec<Result<Answer, Error>>> {
        Box::pin(async move {
            let mut inside = Vec::new();
            // Requests that are refused here keep their places among the answers.
            let places: Vec<Result<(), Error>> = wave
                .into_iter()
                .map(|request| self.request_inward(request).map(|it| inside.push(it)))
                .collect();
            let mut answers = self.inner.read(inside).await.into_iter();
            let unanswered = || {
                let message = "the store inside answered fewer requests than it was asked";
                Err(error(ErrorCode::Other, message))
            };
            places
                .into_iter()
                .map(|place| {
                    place?;
                    match answers.next().unwrap_or_else(unanswered) {
                        Ok(answer) => Ok(self.answer_outward(answer)),
                        Err(error) => Err(self.error_outward(error)),
                    }
                })
                .collect()
        })
    }

    fn put(
        &self,
        key: String,
        body: Body,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async move {
            let put = self.inner.put(self.inward(&key)?, body, options).await;
            put.map_err(|error| self.error_outward(error))
        })
    }

    fn append(&self, key: String, body: Body, at_bytes: u64) -> BoxFuture<'_, Result<u64, Error>> {
        Box::pin(async move {
            let key = self.inward(&key)?;
            let appended = self.inner.append(key, body, at_bytes).await;
            appended.map_err(|error| self.error_outward(error))
        })
    }

    fn concat(
        &self,
        sources: Vec<Source>,
        to: String,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async move {
            let to = self.inward(&to)?;
            let inside = |Source { key, if_match }: Source| {
                self.inward(&key).map(|key| Source { key, if_match })
            };
            let sources = sources.into_iter().map(inside).collect::<Result<_, _>>()?;
            let made = self.inner.concat(sources, to, options).await;
            made.map_err(|error| self.error_outward(error))
        })
    }

    fn delete(&self, keys: Vec<String>) -> BoxFuture<'_, Vec<Result<(), Error>>> {
        Box::pin(async move {
            let mut inside = Vec::new();
            let places: Vec<Result<(), Error>> = keys
                .iter()
                .map(|key| self.inward(key).map(|key| inside.push(key)))
                .collect();
            let mut answers = self.inner.delete(inside).await.into_iter();
            places
                .into_iter()
                .map(|place| {
                    place?;
                    let answer = answers.next().unwrap_or_else(|| {
                        let message = "the store inside answered fewer deletes than it was asked";
                        Err(error(ErrorCode::OutcomeUnknown, message))
                    });
                    answer.map_err(|error| self.error_outward(error))
                })
                .collect()
        })
    }

    fn upload(
        &self,
        key: String,
        options: PutOptions,
    ) -> BoxFuture<'_, Result<Box<dyn Upload + '_>, Error>> {
        Box::pin(async move {
            let begun = self.inner.upload(self.inward(&key)?, options).await;
            let inner = begun.map_err(|error| self.error_outward(error))?;
            let scope = &self.scope;
            Ok(Box::new(ScopedUpload { inner, scope }) as Box<dyn Upload>)
        })
    }
}

struct ScopedUpload<'s> {
    inner: Box<dyn Upload + 's>,
    scope: &'s str,
}

impl Upload for ScopedUpload<'_> {
    fn write(&mut self, part: Vec<u8>) -> BoxFuture<'_, Result<(), Error>> {
        let scope = self.scope;
        Box::pin(async move {
            let written = self.inner.write(part).await;
            written.map_err(|error| error_outward(scope, error))
        })
    }

    fn finish<'a>(self: Box<Self>) -> BoxFuture<'a, Result<String, Error>>
    where
        Self: 'a,
    {
        Box::pin(async move {
            let finished = self.inner.finish().await;
            finished.map_err(|error| error_outward(self.scope, error))
        })
    }

    fn abort<'a>(self: Box<Self>) -> BoxFuture<'a, Result<(), Error>>
    where
        Self: 'a,
    {
        Box::pin(async move {
            let aborted = self.inner.abort().await;
            aborted.map_err(|error| error_outward(self.scope, error))
        })
    }
}
