//! A store that stops: after so many calls every one fails, as when a host is killed. Knows no protocol.

use std::cell::Cell;

use haversack_core::store::{
    Answer, Body, PutOptions, Request, Source, Store, StoreError, StoreErrorCode, StoreResult,
};

pub struct Stopping<'a> {
    pub inner: &'a dyn Store,
    /// Calls that still work.
    pub left: Cell<usize>,
    /// Whether the call that fails first is still carried out, and only its answer is lost.
    pub last_is_done: bool,
}

impl Stopping<'_> {
    /// Whether this call works, and whether it is carried out.
    fn next(&self) -> (bool, bool) {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        match left {
            0 => (false, false),
            1 => (!self.last_is_done, true),
            _ => (true, true),
        }
    }

    /// Whether it has stopped.
    pub fn stopped(&self) -> bool {
        self.left.get() == 0
    }

    fn call<T>(&self, carry_out: impl FnOnce() -> StoreResult<T>) -> StoreResult<T> {
        let (works, is_done) = self.next();
        let answer = is_done.then(carry_out);
        match answer.filter(|_| works) {
            Some(answer) => answer,
            None => Err(stopped()),
        }
    }
}

fn stopped() -> StoreError {
    StoreError {
        code: StoreErrorCode::Unavailable,
        message: "stopped".to_owned(),
        retry_after_ms: None,
        current: None,
    }
}

impl Store for Stopping<'_> {
    fn describe(&self) -> Vec<(String, String)> {
        self.inner.describe()
    }

    fn read(&self, wave: Vec<Request>) -> Vec<StoreResult<Answer>> {
        match self.next() {
            (true, _) => self.inner.read(wave),
            (false, _) => wave.iter().map(|_| Err(stopped())).collect(),
        }
    }

    fn put(&self, key: &str, body: Body, options: PutOptions) -> StoreResult<String> {
        self.call(|| self.inner.put(key, body, options))
    }

    fn append(&self, key: &str, body: Body, at_bytes: u64) -> StoreResult<u64> {
        self.call(|| self.inner.append(key, body, at_bytes))
    }

    fn concat(&self, sources: Vec<Source>, to: &str, options: PutOptions) -> StoreResult<String> {
        self.call(|| self.inner.concat(sources, to, options))
    }

    fn delete(&self, keys: Vec<String>) -> Vec<StoreResult<()>> {
        let count = keys.len();
        let (works, is_done) = self.next();
        let answers = is_done.then(|| self.inner.delete(keys));
        match answers.filter(|_| works) {
            Some(answers) => answers,
            None => (0..count).map(|_| Err(stopped())).collect(),
        }
    }
}
