//! Reading one object whole, in parts that all belong to one version of it. Knows one store at a time.

use sha2::{Digest, Sha256};

use super::unsettled;
use crate::store::check::{VALUE_BYTES_MAX, error};
use crate::store::key::shown;
use crate::store::{
    Answer, Blob, BlobStore, BodyKind, Error, ErrorCode, GetRequest, Range, Request, Span, Stat,
    value,
};

/// What is held of an object at a time.
pub const PART_BYTES: u64 = VALUE_BYTES_MAX;

/// Why an object was not settled.
#[derive(Debug)]
pub enum Problem {
    /// Somebody wrote meanwhile: worth another look. The error is for when there is no more.
    Changed(Error),
    /// The same in the target: worth a look, but not worth writing over.
    Taken(Error),
    /// It is not in the source any more.
    Gone,
    Failed(Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Problem::Failed(error)
    }
}

/// An object, open at its first part.
pub struct Parts<'a> {
    store: &'a dyn BlobStore,
    key: &'a str,
    /// As it was when opened.
    pub stat: Stat,
    at_bytes: u64,
    /// All of it, where that is one part.
    whole: Option<Vec<u8>>,
    /// A part came without a version, so that only a look at the end tells whether all belong together.
    unsure: bool,
}

impl<'a> Parts<'a> {
    /// `size_bytes` is a guess that saves a request; none where nothing lies under the key.
    pub async fn open(
        store: &'a dyn BlobStore,
        key: &'a str,
        size_bytes: u64,
    ) -> Result<Option<Self>, Error> {
        let opened = |stat, whole| Parts {
            store,
            key,
            stat,
            at_bytes: 0,
            whole,
            unsure: false,
        };
        if size_bytes <= PART_BYTES {
            match get(store, key, Range::Whole).await {
                Ok(blob) => {
                    return Ok(
                        blob.map(|Blob { body, stat }| opened(stat, Some(value::into_bytes(body))))
                    );
                }
                // It has grown since it was listed.
                Err(error) if error.code == ErrorCode::TooLarge => {}
                Err(error) => return Err(error),
            }
        }
        let stat = head(store, key).await?;
        Ok(stat.map(|stat| opened(stat, None)))
    }

    /// The next part, never an empty one; none at the end, and only when all parts belong together.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        let size_bytes = self.stat.size_bytes;
        if self.at_bytes == size_bytes {
            return self.end().await.map(|()| None);
        }
        let length_bytes = PART_BYTES.min(size_bytes - self.at_bytes);
        let part = match self.whole.take() {
            Some(whole) => whole,
            None => self.part(length_bytes).await?,
        };
        if part.len() as u64 != length_bytes {
            return Err(self.changed());
        }
        self.at_bytes += length_bytes;
        Ok(Some(part))
    }

    async fn part(&mut self, length_bytes: u64) -> Result<Vec<u8>, Problem> {
        let span = Range::Span(Span {
            start_bytes: self.at_bytes,
            length_bytes,
        });
        let Some(Blob { body, stat }) = get(self.store, self.key, span).await? else {
            return Err(self.changed());
        };
        self.unsure |= stat.version.is_empty();
        let same_version = stat.version.is_empty() || stat.version == self.stat.version;
        if !same_version || stat.size_bytes != self.stat.size_bytes {
            return Err(self.changed());
        }
        Ok(value::into_bytes(body))
    }

    async fn end(&mut self) -> Result<(), Problem> {
        if !std::mem::take(&mut self.unsure) {
            return Ok(());
        }
        match head(self.store, self.key).await? {
            Some(stat) if stat.version == self.stat.version => Ok(()),
            _ => Err(self.changed()),
        }
    }

    fn changed(&self) -> Problem {
        Problem::Changed(unsettled(self.key, "it changed while it was read"))
    }

    /// The SHA-256 of what is left of it; `passed` hears of each part's length.
    pub async fn digest(&mut self, passed: impl Fn(u64)) -> Result<[u8; 32], Problem> {
        let mut hash = Sha256::new();
        while let Some(part) = self.next().await? {
            hash.update(&part);
            passed(part.len() as u64);
        }
        Ok(hash.finalize().into())
    }
}

pub async fn head(store: &dyn BlobStore, key: &str) -> Result<Option<Stat>, Error> {
    match store.read(vec![Request::Head(key.to_owned())]).await.pop() {
        Some(Ok(Answer::Head(stat))) => Ok(stat),
        Some(Err(error)) => Err(error),
        _ => Err(unanswered(&format!("the head of {}", shown(key)))),
    }
}

pub async fn get(store: &dyn BlobStore, key: &str, range: Range) -> Result<Option<Blob>, Error> {
    let get = Request::Get(GetRequest {
        key: key.to_owned(),
        range,
        kind: BodyKind::Binary,
    });
    match store.read(vec![get]).await.pop() {
        Some(Ok(Answer::Blob(blob))) => Ok(blob),
        Some(Err(error)) => Err(error),
        _ => Err(unanswered(&format!("a get of {}", shown(key)))),
    }
}

/// The store broke its contract.
pub fn unanswered(what: &str) -> Error {
    let message = format!(
        "{what} was answered by something else; `haversack store check` shows what else this store does"
    );
    error(ErrorCode::Other, message)
}
