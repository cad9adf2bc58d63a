//! The store as `ops/` and `protocol/` use it: it counts what a call costs, keeps waves within the limits
//! that every store promises, and reads one thing at a time where one is all there is. Knows no layout.

use std::cell::Cell;

use super::{
    Answer, Blob, Body, GetRequest, ListRequest, Listing, PutOptions, Range, Request, Source, Stat,
    Store, StoreResult,
};
use crate::limits::{DELETE_KEYS_MAX, WAVE_BYTES_MAX, WAVE_REQUESTS_MAX};
use crate::types::{Cost, Error, ErrorCode};

/// A store that counts, and keeps waves within the limits that every store promises.
pub struct Metered<'a> {
    inner: &'a dyn Store,
    cost: Cell<Cost>,
}

impl<'a> Metered<'a> {
    pub fn new(inner: &'a dyn Store) -> Self {
        Self {
            inner,
            cost: Cell::default(),
        }
    }

    /// What the calls so far cost.
    pub fn cost(&self) -> Cost {
        self.cost.get()
    }

    /// Read `wave`, in as few waves as the limits allow, answers in order.
    ///
    /// Errors only when the host answers with another number or case of answers than was asked for,
    /// which is the host's bug: a synchronous transpile of an asynchronous host shows itself so.
    pub fn read(&self, wave: Vec<Request>) -> Result<Vec<StoreResult<Answer>>, Error> {
        let mut answers = Vec::with_capacity(wave.len());
        let mut rest = wave.into_iter().peekable();
        while rest.peek().is_some() {
            let mut part = Vec::new();
            let mut bytes = 0;
            while let Some(request) = rest.next_if(|request| {
                part.is_empty()
                    || (part.len() < WAVE_REQUESTS_MAX
                        && bytes_at_most(request).saturating_add(bytes) <= WAVE_BYTES_MAX)
            }) {
                bytes = bytes_at_most(&request).saturating_add(bytes);
                part.push(request);
            }
            answers.extend(self.read_one_wave(part)?);
        }
        Ok(answers)
    }

    /// One object, or the asked-for part of it; none when it is missing.
    pub fn get(&self, request: GetRequest) -> Result<Option<Blob>, Error> {
        let key = request.key.clone();
        match self.read_one(Request::Get(request))? {
            Ok(Answer::Blob(blob)) => Ok(blob),
            Ok(_) => Ok(None),
            Err(error) => Err(error.about(&key)),
        }
    }

    /// Everything about one object but its bytes; none when it is missing.
    pub fn head(&self, key: &str) -> Result<Option<Stat>, Error> {
        match self.read_one(Request::Head(key.to_owned()))? {
            Ok(Answer::Head(stat)) => Ok(stat),
            Ok(_) => Ok(None),
            Err(error) => Err(error.about(key)),
        }
    }

    /// One page of a list. A store may give a page of nothing and a cursor: then it is asked on, so that a
    /// page without an item is the end.
    pub fn list(&self, mut request: ListRequest) -> Result<Listing, Error> {
        loop {
            let listing = match self.read_one(Request::List(request.clone()))? {
                Ok(Answer::Listing(listing)) => listing,
                Ok(_) => Listing::default(),
                Err(error) => return Err(error.about(&request.prefix)),
            };
            if listing.cursor.is_none() || listing.last_key().is_some() {
                return Ok(listing);
            }
            request.cursor = listing.cursor;
        }
    }

    /// The first pages of several lists, in one wave as long as none of them is empty and has a cursor.
    pub fn lists(&self, requests: Vec<ListRequest>) -> Result<Vec<Listing>, Error> {
        let wave = requests.iter().cloned().map(Request::List).collect();
        let answers = self.read(wave)?.into_iter().zip(requests);
        let listing = |(answer, mut request): (StoreResult<Answer>, ListRequest)| match answer {
            Ok(Answer::Listing(listing)) => {
                if listing.cursor.is_none() || listing.last_key().is_some() {
                    return Ok(listing);
                }
                request.cursor = listing.cursor;
                self.list(request)
            }
            Ok(_) => Ok(Listing::default()),
            Err(error) => Err(error.about(&request.prefix)),
        };
        answers.map(listing).collect()
    }

    /// Everything below a prefix, page by page, until `take` fails. Whoever cannot bound the number of pages
    /// takes [`Metered::list`] and lets its caller continue.
    pub fn each_page(
        &self,
        prefix: &str,
        mut take: impl FnMut(Listing) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut request = ListRequest {
            prefix: prefix.to_owned(),
            ..ListRequest::default()
        };
        loop {
            let mut listing = self.list(request.clone())?;
            request.cursor = listing.cursor.take();
            take(listing)?;
            if request.cursor.is_none() {
                return Ok(());
            }
        }
    }

    fn read_one(&self, request: Request) -> Result<StoreResult<Answer>, Error> {
        let answer = self.read(vec![request])?.pop();
        answer.ok_or_else(|| Error::new(ErrorCode::Other, "the store gave no answer"))
    }

    /// Write an object whole and answer its version.
    pub fn put(&self, key: &str, body: Body, options: PutOptions) -> StoreResult<String> {
        self.count_write(body.as_bytes().len());
        self.inner.put(key, body, options)
    }

    /// Add to the end of an object of exactly `at_bytes`, and answer its new size.
    pub fn append(&self, key: &str, body: Body, at_bytes: u64) -> StoreResult<u64> {
        self.count_write(body.as_bytes().len());
        self.inner.append(key, body, at_bytes)
    }

    /// Make one object of several; its bytes pass by the core and are not counted.
    pub fn concat(
        &self,
        sources: Vec<Source>,
        to: &str,
        options: PutOptions,
    ) -> StoreResult<String> {
        self.count_write(0);
        self.inner.concat(sources, to, options)
    }

    /// Delete objects, an answer each in order; a request for each 1,000.
    ///
    /// Errors only when the host answers with another number of answers.
    pub fn delete(&self, keys: Vec<String>) -> Result<Vec<StoreResult<()>>, Error> {
        let mut answers = Vec::with_capacity(keys.len());
        let mut keys = keys.into_iter().peekable();
        while keys.peek().is_some() {
            let part: Vec<String> = keys.by_ref().take(DELETE_KEYS_MAX).collect();
            let expected = part.len();
            self.count_write(0);
            let part = self.inner.delete(part);
            if part.len() != expected {
                return Err(Error::new(
                    ErrorCode::Other,
                    format!(
                        "the host's blob store answered a delete of {expected} keys with {} \
                         answers; is an asynchronous store bound to a synchronous build?",
                        part.len()
                    ),
                ));
            }
            answers.extend(part);
        }
        Ok(answers)
    }

    /// Whether the store takes `append`.
    pub fn appends(&self) -> bool {
        let described = self.inner.describe();
        described
            .iter()
            .any(|(name, value)| name == "append" && value == "yes")
    }

    fn count_write(&self, bytes: usize) {
        let mut cost = self.cost.get();
        cost.waves += 1;
        cost.requests += 1;
        cost.bytes_written += bytes as u64;
        self.cost.set(cost);
    }

    fn read_one_wave(&self, wave: Vec<Request>) -> Result<Vec<StoreResult<Answer>>, Error> {
        let expected: Vec<_> = wave.iter().map(kind_of_request).collect();
        let mut cost = self.cost.get();
        cost.waves += 1;
        cost.requests += u32::try_from(wave.len()).unwrap_or(u32::MAX);
        let answers = self.inner.read(wave);
        let fits = answers.len() == expected.len()
            && answers
                .iter()
                .zip(&expected)
                .all(|(answer, kind)| answer.as_ref().map_or(true, |a| kind_of_answer(a) == *kind));
        if !fits {
            return Err(Error::new(
                ErrorCode::Other,
                format!(
                    "the host's blob store answered a wave of {} requests with {} answers or with \
                     answers of another kind; is an asynchronous store bound to a synchronous build?",
                    expected.len(),
                    answers.len()
                ),
            ));
        }
        for answer in answers.iter().flatten() {
            if let Answer::Blob(Some(blob)) = answer {
                cost.bytes_read += blob.body.as_bytes().len() as u64;
            }
        }
        self.cost.set(cost);
        Ok(answers)
    }
}

fn kind_of_request(request: &Request) -> u8 {
    match request {
        Request::Get(_) => 0,
        Request::Head(_) => 1,
        Request::List(_) => 2,
    }
}

fn kind_of_answer(answer: &Answer) -> u8 {
    match answer {
        Answer::Blob(_) => 0,
        Answer::Head(_) => 1,
        Answer::Listing(_) => 2,
    }
}

fn bytes_at_most(request: &Request) -> u64 {
    match request {
        Request::Get(get) => match get.range {
            Range::Whole => crate::limits::VALUE_BYTES_MAX,
            Range::Span { length_bytes, .. } => length_bytes,
            Range::Last(bytes) => bytes,
        },
        Request::Head(_) | Request::List(_) => 0,
    }
}
