//! Delays for contenders: the answer to the n-th conflict in a row on a key waits for a random time up
//! to 2^n × 10 ms, at most 1 s, so that they spread out. Knows no store.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::store::{Error, ErrorCode};

/// Keys with a conflict that was not followed by a success. Over this, all are forgotten: too short a
/// delay costs a retry, an endless table memory.
const KEYS_MAX: usize = 4_096;
const FIRST_MS: u64 = 10;
const LONGEST_MS: u64 = 1_000;

#[derive(Default)]
pub struct Backoff {
    conflicts: Mutex<HashMap<String, u32>>,
}

impl Backoff {
    /// Take note of a write's outcome; wait if it was a conflict.
    pub async fn settle<T>(&self, key: &str, outcome: Result<T, Error>) -> Result<T, Error> {
        if let Some(delay) = self.delay(key, &outcome) {
            tokio::time::sleep(delay).await;
        }
        outcome
    }

    fn delay<T>(&self, key: &str, outcome: &Result<T, Error>) -> Option<Duration> {
        let mut conflicts = self
            .conflicts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Ok(_) => {
                conflicts.remove(key);
                None
            }
            Err(error) if error.code == ErrorCode::Conflict => {
                if conflicts.len() >= KEYS_MAX {
                    conflicts.clear();
                }
                let in_a_row = conflicts.entry(key.to_owned()).or_default();
                *in_a_row = in_a_row.saturating_add(1);
                Some(Duration::from_millis(
                    random() % (longest_ms(*in_a_row) + 1),
                ))
            }
            Err(_) => None,
        }
    }
}

fn longest_ms(in_a_row: u32) -> u64 {
    // 2^7 × 10 ms is over the longest already.
    (FIRST_MS << in_a_row.min(7)).min(LONGEST_MS)
}

/// Good enough to spread contenders: the standard library seeds its hashers at random.
pub fn random() -> u64 {
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::check::conflict;

    #[test]
    fn delays_double_up_to_a_second_and_end_with_success() {
        let longest = [1, 2, 3, 6, 7, 100].map(longest_ms);
        assert_eq!(longest, [20, 40, 80, 640, 1_000, 1_000]);

        let backoff = Backoff::default();
        let failed: Result<(), Error> = Err(conflict("a", "no object", None));
        for _ in 0..3 {
            assert!(backoff.delay("a", &failed).is_some());
        }
        assert_eq!(backoff.conflicts.lock().unwrap()["a"], 3);
        assert_eq!(backoff.delay("a", &Ok(())), None);
        assert!(backoff.conflicts.lock().unwrap().is_empty());
    }
}
