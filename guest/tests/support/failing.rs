//! A store that stops after so many calls, as a host that is killed: the calls behind do nothing. The last
//! call before may or may not have had its effect.

use std::cell::Cell;

use haversack_core::store::{
    Answer, Body, PutOptions, Request, Source, Store, StoreError, StoreErrorCode, StoreResult,
};

pub struct Failing<'a> {
    pub inner: &'a dyn Store,
    /// Calls that still go through.
    pub left: Cell<usize>,
    /// Whether the first call behind has its effect and loses its answer.
    pub loses_an_answer: bool,
}

fn stopped<T>() -> StoreResult<T> {
    Err(StoreError {
        code: StoreErrorCode::Unavailable,
        message: "stopped".to_owned(),
        retry_after_ms: None,
        current: None,
    })
}

impl Failing<'_> {
    fn goes<T>(&self, write: impl FnOnce() -> StoreResult<T>) -> StoreResult<T> {
        match self.left.get() {
            0 => stopped(),
            left => {
                self.left.set(left - 1);
                let answer = write();
                if left == 1 && self.loses_an_answer {
                    return stopped();
                }
                answer
            }
        }
    }
}

impl Store for Failing<'_> {
    fn describe(&self) -> Vec<(String, String)> {
        self.inner.describe()
    }

    fn read(&self, wave: Vec<Request>) -> Vec<StoreResult<Answer>> {
        let count = wave.len();
        match self.goes(|| Ok(self.inner.read(wave))) {
            Ok(answers) => answers,
            Err(_) => (0..count).map(|_| stopped()).collect(),
        }
    }

    fn put(&self, key: &str, body: Body, options: PutOptions) -> StoreResult<String> {
        self.goes(|| self.inner.put(key, body, options))
    }

    fn append(&self, key: &str, body: Body, at_bytes: u64) -> StoreResult<u64> {
        self.goes(|| self.inner.append(key, body, at_bytes))
    }

    fn concat(&self, sources: Vec<Source>, to: &str, options: PutOptions) -> StoreResult<String> {
        self.goes(|| self.inner.concat(sources, to, options))
    }

    fn delete(&self, keys: Vec<String>) -> Vec<StoreResult<()>> {
        let count = keys.len();
        let deleted = self.goes(|| Ok(self.inner.delete(keys)));
        match deleted {
            Ok(answers) => answers,
            Err(_) => (0..count).map(|_| stopped()).collect(),
        }
    }
}
