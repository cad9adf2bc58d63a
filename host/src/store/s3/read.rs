//! Waves, gets and heads of a bucket. Body, version and metadata come with one request.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::join_all;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore};

use super::bucket::Bucket;
use super::failure::Failure;
use super::stat;
use crate::store::check::{self, VALUE_BYTES_MAX, WAVE_BYTES_MAX, error};
use crate::store::key::shown;
use crate::store::{Answer, Blob, Error, ErrorCode, GetRequest, Range, Request, Span, Stat, value};

/// No object of any bucket reaches here; further numbers are more than some servers can read.
const POSITION_MAX: u64 = 1 << 50;
/// How often an object may change between a get and a head before we say so.
const CHANGES_MAX: usize = 3;

/// What came back for one member of a wave.
enum Got {
    Answer(Answer),
    Blob(String, Blob),
    /// It has this many bytes, and was not read because the wave was full by then.
    Deferred(GetRequest, u64),
}

/// The bytes that one wave has begun to read.
#[derive(Default)]
struct Room {
    taken: AtomicU64,
}

impl Room {
    fn take(&self, bytes: u64) -> bool {
        self.taken.fetch_add(bytes, Ordering::Relaxed) + bytes <= WAVE_BYTES_MAX
    }
}

/// An answer to a get, as far as it was read.
enum Fetched {
    Part(Bytes, Stat),
    /// Too long to read now or ever.
    Unread(Stat),
}

impl Bucket {
    /// All at once, as far as the permits go. Which gets are over the wave's bytes is decided in the
    /// order of the wave, not of the answers, so that the same wave has the same answers.
    pub async fn answer_wave(&self, wave: Vec<Request>) -> Vec<Result<Answer, Error>> {
        let room = Room::default();
        let room = &room;
        let asked = check::answer_each(wave, |request, _| Ok(request));
        let got = join_all(asked.into_iter().map(|request| async move {
            match request? {
                Request::Get(get) => self.get(get, room).await,
                Request::Head(key) => self
                    .head(&key)
                    .await
                    .map(|stat| Got::Answer(Answer::Head(stat))),
                Request::List(list) => self
                    .page(list)
                    .await
                    .map(|page| Got::Answer(Answer::Listing(page))),
            }
        }))
        .await;
        let mut left = WAVE_BYTES_MAX;
        let mut answers = Vec::new();
        for got in got {
            answers.push(match got {
                Ok(got) => self.settle(got, &mut left).await,
                Err(error) => Err(error),
            });
        }
        answers
    }

    async fn settle(&self, got: Got, left: &mut u64) -> Result<Answer, Error> {
        match got {
            Got::Answer(answer) => Ok(answer),
            Got::Blob(key, blob) => {
                check::check_read(&key, value::bytes(&blob.body).len() as u64, left)?;
                Ok(Answer::Blob(Some(blob)))
            }
            Got::Deferred(request, length) => {
                check::check_read(&request.key, length, left)?;
                match self.get(request, &Room::default()).await? {
                    Got::Answer(answer) => Ok(answer),
                    Got::Blob(_, blob) => Ok(Answer::Blob(Some(blob))),
                    // It had room for itself before it changed.
                    Got::Deferred(request, _) => Err(changing(&request.key)),
                }
            }
        }
    }

    async fn get(&self, request: GetRequest, room: &Room) -> Result<Got, Error> {
        let path = self.path(&request.key)?;
        for _ in 0..CHANGES_MAX {
            let fetched = match on_the_wire(&request.range) {
                Some(range) => self.fetch(&path, &range, &request, room).await,
                // Nothing of it is asked for.
                None => match self.stat(&path, &request.key).await? {
                    Some(stat) => Ok(Fetched::Part(Bytes::new(), stat)),
                    None => return Ok(Got::Answer(Answer::Blob(None))),
                },
            };
            match fetched {
                Ok(Fetched::Part(bytes, stat)) => {
                    let body = value::body(bytes.into(), request.kind);
                    return Ok(Got::Blob(request.key, Blob { body, stat }));
                }
                Ok(Fetched::Unread(stat)) => {
                    let (_, length) = value::resolve(&request.range, stat.size_bytes);
                    check::check_read(&request.key, length, &mut VALUE_BYTES_MAX.clone())?;
                    return Ok(Got::Deferred(request, length));
                }
                Err(failure) if failure.is_missing() => return Ok(Got::Answer(Answer::Blob(None))),
                // Past the end, or an empty object: what is there is nothing, unless it grew since.
                Err(failure) if failure.is_out_of_range() => {
                    let Some(stat) = self.stat(&path, &request.key).await? else {
                        return Ok(Got::Answer(Answer::Blob(None)));
                    };
                    if value::resolve(&request.range, stat.size_bytes).1 == 0 {
                        let body = value::body(Vec::new(), request.kind);
                        return Ok(Got::Blob(request.key, Blob { body, stat }));
                    }
                }
                Err(failure) => return Err(failure.error(&about(&request.key))),
            }
        }
        Err(changing(&request.key))
    }

    /// One get; the body is read only when there is room for it.
    async fn fetch(
        &self,
        path: &Path,
        range: &Option<GetRange>,
        request: &GetRequest,
        room: &Room,
    ) -> Result<Fetched, Failure> {
        // Taken once, however often the request is repeated.
        let taken = std::sync::OnceLock::new();
        let taken = &taken;
        self.repeat(|| async move {
            let options = GetOptions {
                range: range.clone(),
                ..GetOptions::default()
            };
            let answer = self.store.get_opts(path, options).await?;
            let stat = stat::of(&answer);
            let (_, length) = value::resolve(&request.range, stat.size_bytes);
            if length > VALUE_BYTES_MAX || !taken.get_or_init(|| room.take(length)) {
                return Ok(Fetched::Unread(stat));
            }
            Ok(Fetched::Part(body(answer).await?, stat))
        })
        .await
    }

    pub async fn head(&self, key: &str) -> Result<Option<Stat>, Error> {
        let path = self.path(key)?;
        self.stat(&path, key).await
    }

    /// What lies at `path`; `key` is for messages.
    pub async fn stat(&self, path: &Path, key: &str) -> Result<Option<Stat>, Error> {
        let head = || async move {
            let options = GetOptions {
                head: true,
                ..GetOptions::default()
            };
            self.store
                .get_opts(path, options)
                .await
                .map(|answer| stat::of(&answer))
        };
        match self.repeat(head).await {
            Ok(stat) => Ok(Some(stat)),
            Err(failure) if failure.is_missing() => Ok(None),
            Err(failure) => Err(failure.error(&about(key))),
        }
    }
}

/// The whole body of an answer; one that ends early is an error.
pub async fn body(answer: object_store::GetResult) -> object_store::Result<Bytes> {
    let expected = answer.range.end - answer.range.start;
    let mut bytes = Vec::with_capacity(expected as usize);
    let mut stream = answer.into_stream();
    while let Some(chunk) = stream.next().await {
        bytes.extend_from_slice(&chunk?);
    }
    if bytes.len() as u64 == expected {
        return Ok(bytes.into());
    }
    Err(object_store::Error::Generic {
        store: "S3",
        source: "the body ended early".into(),
    })
}

/// The range to send, where none is the whole object; outer none when nothing needs to be read. One byte
/// more than may be answered is enough to tell that it is too many.
fn on_the_wire(range: &Range) -> Option<Option<GetRange>> {
    const MOST: u64 = VALUE_BYTES_MAX + 1;
    match range {
        Range::Whole => Some(None),
        Range::Last(0) => None,
        Range::Last(last) => Some(Some(GetRange::Suffix((*last).min(MOST)))),
        Range::Span(Span {
            start_bytes,
            length_bytes,
        }) => {
            let something = *length_bytes > 0 && *start_bytes < POSITION_MAX;
            something.then(|| {
                let end = start_bytes + (*length_bytes).min(MOST);
                Some(GetRange::Bounded(*start_bytes..end))
            })
        }
    }
}

pub fn about(key: &str) -> String {
    format!("key {}", shown(key))
}

fn changing(key: &str) -> Error {
    let message = format!("key {}: it changes while it is read; try again", shown(key));
    error(ErrorCode::Unavailable, message)
}
